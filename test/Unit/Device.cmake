# What runs kernels on GPUs, on a driver without one, and what compiles them.

add_library(AttnMockCUDADriver SHARED MockCUDADriver.cpp MockImages.cpp)
target_include_directories(AttnMockCUDADriver PRIVATE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/runtime/include)
attn_add_unittest(AttnCUDADeviceTests CUDADeviceTest.cpp
  LINK AttnCUDA AttnMockCUDADriver GTest::gmock THREADS)
target_compile_definitions(AttnCUDADeviceTests PRIVATE
  ATTN_MOCK_DRIVER="$<TARGET_FILE:AttnMockCUDADriver>")
attn_add_unittest(AttnJITDeviceTests JITDeviceTest.cpp
  LINK attn AttnMockCUDADriver GTest::gmock)
target_compile_definitions(AttnJITDeviceTests PRIVATE
  ATTN_MOCK_DRIVER="$<TARGET_FILE:AttnMockCUDADriver>")
attn_add_unittest(AttnDeviceKernelsTests DeviceKernelsTest.cpp
  LINK AttnCodegen AttnMockCUDADriver GTest::gmock)
attn_use_mlir(AttnDeviceKernelsTests)
target_compile_definitions(AttnDeviceKernelsTests PRIVATE
  ATTN_MOCK_DRIVER="$<TARGET_FILE:AttnMockCUDADriver>")
attn_add_unittest(AttnDeviceCompilerTests
  DeviceCompilerTest.cpp PtxasTest.cpp
  LINK AttnCUDA AttnDeviceCompiler GTest::gmock)
attn_use_mlir(AttnDeviceCompilerTests)
# What it compiles, other tests do with sanitizers.
if(NOT ATTN_SANITIZERS)
  # Reads machine code as text, and so needs no tools of NVIDIA's.
  attn_add_library(AttnDeviceCode DeviceCode.cpp)
  attn_use_mlir(AttnDeviceCode)
  attn_add_unittest(AttnDeviceCodeTests DeviceCodeTest.cpp LINK AttnDeviceCode
    OPTIMISED)
  attn_add_unittest(AttnKernelTableTests KernelTable.cpp KernelTableTest.cpp
    LINK AttnDeviceCode AttnDeviceCompiler AttnDeviceDialects AttnKernelDialects
      AttnPipelines
    NIGHTLY)
  attn_use_mlir(AttnKernelTableTests)
  # NVIDIA's assembler and disassembler, from PyPI, where that can be reached.
  set(device_tools ${PROJECT_BINARY_DIR}/test/device-tools)
  set(device_requirements ${PROJECT_SOURCE_DIR}/test/device-requirements.txt)
  add_test(NAME device-tools COMMAND ${CMAKE_COMMAND}
    -D PYTHON=${Python3_EXECUTABLE} -D ENVIRONMENT=${device_tools}
    -D REQUIREMENTS=${device_requirements} -D IS_OPTIONAL=ON
    -P ${PROJECT_SOURCE_DIR}/test/environment.cmake)
  # Where there are none, machine code is left out, and ctest says so.
  set_tests_properties(device-tools PROPERTIES FIXTURES_SETUP device-tools
    SKIP_REGULAR_EXPRESSION "cannot install")
  target_compile_definitions(AttnKernelTableTests PRIVATE
    ATTN_DEVICE_TOOLS="${device_tools}"
    ATTN_DEVICE_REQUIREMENTS="test/device-requirements.txt")
  set_tests_properties(AttnKernelTableTests PROPERTIES COST 1000
    FIXTURES_REQUIRED device-tools)
  # Of them, what the table itself says, that it sees what is slow, and f16.
  add_test(NAME kernel-table COMMAND AttnKernelTableTests
    --gtest_filter=KernelTable.*:*/f16_64:*/f16_128)
  set_tests_properties(kernel-table PROPERTIES FIXTURES_REQUIRED device-tools)
  add_dependencies(attn-gate-tests AttnKernelTableTests)
  add_custom_target(update-kernel-table
    COMMAND AttnKernelTableTests
      ${CMAKE_CURRENT_SOURCE_DIR}/Inputs/gpu-kernels.csv
    VERBATIM)
endif()
