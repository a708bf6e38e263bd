# Fails if COMPILER finds an error in SOURCE without its mistakes, or with them
# more or fewer errors than there are, or says not of each what SOURCE wants.

set(compile ${COMPILER} -std=c++20 -fsyntax-only -I ${INCLUDE} ${SOURCE})
execute_process(COMMAND ${compile} ERROR_VARIABLE message RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(SEND_ERROR "expected no error, got\n${message}")
endif()

execute_process(COMMAND ${compile} -DMISTAKES ERROR_VARIABLE message)
file(STRINGS ${SOURCE} mistakes REGEX "^// SAYS: ")
list(LENGTH mistakes expected)
string(REGEX MATCHALL "error: " errors "${message}")
list(LENGTH errors count)
if(NOT count EQUAL expected)
  message(SEND_ERROR "expected ${expected} errors, got ${count}:\n${message}")
endif()
foreach(mistake IN LISTS mistakes)
  string(REPLACE "// SAYS: " "" says "${mistake}")
  string(FIND "${message}" "${says}" place)
  if(place LESS 0)
    message(SEND_ERROR "expected '${says}', got\n${message}")
  endif()
endforeach()
