# Fails if EXECUTABLE loads MLIR or LLVM.

file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${EXECUTABLE}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing)
if(NOT libraries MATCHES "libattn-runtime")
  message(FATAL_ERROR "expected ${EXECUTABLE} to load libattn-runtime, got ${libraries}")
endif()
if("${libraries};${missing}" MATCHES "LLVM|MLIR|libattn\\.so")
  message(FATAL_ERROR "expected no MLIR and no LLVM, got ${libraries};${missing}")
endif()
