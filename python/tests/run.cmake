# Builds a wheel of the tree SOURCE, installs it below SCRATCH in an environment of
# its own, and runs its tests there; with TORCH, those of PyTorch and transformers
# too. The wheel has the library of the build folder BUILD, if one is named, and
# otherwise builds it.

file(REMOVE_RECURSE ${SCRATCH})

function(run)
  execute_process(COMMAND ${ARGN}
    WORKING_DIRECTORY ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(tests ${SOURCE}/python/tests)
set(requirements ${tests}/requirements.txt)
set(ignored --ignore ${tests}/test_torch.py)
if(TORCH)
  set(requirements ${tests}/requirements-torch.txt)
  set(ignored)
endif()

file(MAKE_DIRECTORY ${SCRATCH})
set(settings)
if(BUILD)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
  set(settings --config-settings cmake.define.Attn_ROOT=${SCRATCH}/prefix)
endif()
run(${PYTHON} -m venv venv)
set(python ${SCRATCH}/venv/bin/python)
set(pip ${python} -m pip --disable-pip-version-check --quiet)
run(${pip} wheel ${SOURCE} --no-deps --wheel-dir wheel ${settings})
file(GLOB wheel ${SCRATCH}/wheel/*.whl)
run(${pip} install ${wheel} --requirement ${requirements})
run(${python} -m pytest -q -p no:cacheprovider ${tests} ${ignored})
