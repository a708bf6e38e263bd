# Installs the build folder BUILD below SCRATCH, then builds and runs the host
# programs in SOURCE as a user of the package would, and the compiler in
# examples/dialect.

file(REMOVE_RECURSE ${SCRATCH})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${SCRATCH}/build
  -D CMAKE_BUILD_TYPE=Release
  -D CMAKE_CXX_COMPILER=${COMPILER}
  -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/host)
run(${SCRATCH}/build/static_host)
run(${CMAKE_COMMAND} -D EXECUTABLE=${SCRATCH}/build/static_host
  -P ${SOURCE}/../Static/libraries.cmake)

run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/../../examples/dialect
  -B ${SCRATCH}/dialect
  -D CMAKE_CXX_COMPILER=${COMPILER}
  -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --build ${SCRATCH}/dialect)
run(${CMAKE_CTEST_COMMAND} --test-dir ${SCRATCH}/dialect --output-on-failure)
