# Makes a Python environment of REQUIREMENTS, unless it is there as they say. If it
# IS_OPTIONAL, only says that it cannot be made.

set(stamp ${ENVIRONMENT}/requirements.txt)
if(EXISTS ${stamp})
  file(READ ${stamp} installed)
  file(READ ${REQUIREMENTS} required)
  if(installed STREQUAL required)
    return()
  endif()
endif()
execute_process(COMMAND ${PYTHON} -m venv --clear ${ENVIRONMENT}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${ENVIRONMENT}/bin/pip install --quiet
  --disable-pip-version-check --no-compile --only-binary :all: --no-deps -r ${REQUIREMENTS}
  RESULT_VARIABLE result)
if(result EQUAL 0)
  file(COPY_FILE ${REQUIREMENTS} ${stamp})
elseif(IS_OPTIONAL)
  message(WARNING "cannot install ${REQUIREMENTS}")
else()
  message(FATAL_ERROR "cannot install ${REQUIREMENTS}")
endif()
