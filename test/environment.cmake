# Makes a Python environment of REQUIREMENTS, unless it is there as they say.

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
  COMMAND_ERROR_IS_FATAL ANY)
file(COPY ${REQUIREMENTS} DESTINATION ${ENVIRONMENT})
