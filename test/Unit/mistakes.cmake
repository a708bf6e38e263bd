# Fails if COMPILER takes a mistake in SOURCE, or says of it more than one error,
# or not what SOURCE wants it to; or if there is an error without a mistake.

file(STRINGS ${SOURCE} lines REGEX "^#(el)?if MISTAKE == |^// SAYS: ")
foreach(line IN LISTS lines)
  if(line MATCHES "MISTAKE == ([0-9]+)")
    set(mistake ${CMAKE_MATCH_1})
    set(says "")
    if(mistake)
      continue()
    endif()
  else()
    string(REPLACE "// SAYS: " "" says "${line}")
  endif()
  execute_process(
    COMMAND ${COMPILER} -std=c++20 -fsyntax-only -DMISTAKE=${mistake} -I ${INCLUDE} ${SOURCE}
    ERROR_VARIABLE message RESULT_VARIABLE status)
  string(REGEX MATCHALL "error: " errors "${message}")
  list(LENGTH errors count)
  string(FIND "${message}" "${says}" place)
  if(mistake EQUAL 0)
    if(NOT status EQUAL 0)
      message(SEND_ERROR "expected no error, got\n${message}")
    endif()
  elseif(NOT count EQUAL 1 OR place LESS 0)
    message(SEND_ERROR "mistake ${mistake}: expected one error, and '${says}', got\n${message}")
  endif()
endforeach()
