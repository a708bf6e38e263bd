# How the targets of this project are compiled and linked.

# A designated initializer leaves out what keeps its default.
add_compile_options(-Wall -Wextra -Wno-unused-parameter
  -Wno-missing-designated-field-initializers)

# The build type "Sanitize" keeps assertions, and names in stack traces. It does
# not optimise: most of what its tests wait for is in LLVM, which is optimised, so
# that compiling would take more than it saves them.
set(CMAKE_CXX_FLAGS_SANITIZE "-O0 -fno-omit-frame-pointer")
if(ATTN_LINE_NUMBERS)
  string(APPEND CMAKE_CXX_FLAGS_SANITIZE " -gline-tables-only")
endif()
if(ATTN_SANITIZERS)
  add_compile_options(-fsanitize=${ATTN_SANITIZERS} -fno-sanitize-recover=all)
  # `function` reads the bytes before a called function, which generated code
  # lacks. AddressSanitizer finds what most of the others would, at each of the
  # many places where MLIR's headers read memory: they take a third of the time
  # of compiling. What is left is arithmetic, bounds, and control that falls off
  # an end.
  add_compile_options(-fno-sanitize=alignment,bool,enum,function,null
    -fno-sanitize=nonnull-attribute,object-size,pointer-overflow
    -fno-sanitize=returns-nonnull-attribute,vptr)
  add_link_options(-fsanitize=${ATTN_SANITIZERS})
endif()
if(ATTN_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
# Executables as libraries, so that they can share precompiled headers.
add_compile_options(-fPIC)
if(ATTN_SANITIZERS)
  add_library(AttnSanitizerOptions OBJECT cmake/SanitizerOptions.cpp)
endif()

separate_arguments(ATTN_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})

# attn_add_library(NAME sources... [LINK targets...]) adds a static library that
# may include the project's headers by path from the top ("dialect/AttnOps.h")
# and the host API as "attn/engine.h". It does not see MLIR. Installed headers lie
# where AttnInstall.cmake puts them.
function(attn_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/attn-compiler>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  attn_merge_sources(${name})
  attn_reuse_headers(${name} AttnHostHeaders)
endfunction()

# attn_add_executable(NAME sources... [LINK targets...]) adds an executable that
# may include what a library may.
function(attn_add_executable name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
    ${PROJECT_SOURCE_DIR}/runtime/include)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(ATTN_SANITIZERS)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:AttnSanitizerOptions>)
  endif()
  attn_merge_sources(${name})
  attn_reuse_headers(${name} AttnHostHeaders)
endfunction()

# attn_merge_sources(NAME) compiles a target's sources, with ATTN_MERGE_SOURCES, all at
# once, so that what they share of MLIR's headers is parsed, instantiated and
# instrumented once: in batches of 12, lib/CPU takes a third longer. So names that a file
# keeps to itself are its own in the whole target, except where
# attn_keep_sources_apart(NAME) says that they are not.
function(attn_merge_sources name)
  if(ATTN_MERGE_SOURCES)
    set_target_properties(${name} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()
function(attn_keep_sources_apart name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()

# attn_use_mlir(NAME) makes MLIR's and LLVM's headers and libMLIR.so, libLLVM.so
# available. Code that includes LLVM is compiled without exceptions, as LLVM is.
function(attn_use_mlir name)
  set_target_properties(${name} PROPERTIES ATTN_USES_MLIR ON)
  target_include_directories(${name} SYSTEM PUBLIC
    ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${name} PUBLIC ${ATTN_LLVM_DEFINITIONS})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  attn_reuse_headers(${name} AttnMLIRHeaders)
endfunction()
