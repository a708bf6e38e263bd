# Parsing headers is half of the time that a file takes. They are parsed once,
# except where ccache is used, which precompiled headers would keep from sharing
# results among clones; such builds show what a file forgets to include.

# attn_precompile_headers(NAME headers... [LINK targets...] [OPTIONS options...])
# adds a library of no code, whose precompiled headers others reuse. They must be
# compiled with the same options.
function(attn_precompile_headers name)
  cmake_parse_arguments(ARG "" "" "LINK;OPTIONS" ${ARGN})
  if(ATTN_CCACHE AND NOT ATTN_SANITIZERS)
    return()
  endif()
  add_library(${name} STATIC ${PROJECT_SOURCE_DIR}/cmake/PrecompiledHeaders.cpp)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
    ${PROJECT_SOURCE_DIR}/runtime/include)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# attn_reuse_headers(NAME HEADERS) compiles a target with the precompiled headers
# of another, in place of those that an earlier call named.
function(attn_reuse_headers name headers)
  if(TARGET ${headers})
    set_target_properties(${name} PROPERTIES
      PRECOMPILE_HEADERS_REUSE_FROM ${headers})
  endif()
endfunction()

# What files without MLIR include most.
set(ATTN_HOST_HEADERS
  <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint>
  <cstring> <fstream> <functional> <limits> <map> <memory> <mutex>
  <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view>
  <thread> <unordered_map> <variant> <vector>
  <attn/engine.h>)
attn_precompile_headers(AttnHostHeaders ${ATTN_HOST_HEADERS})

attn_precompile_headers(AttnMLIRHeaders
  <dialect/AttnOps.h>
  <llvm/ExecutionEngine/Orc/LLJIT.h>
  <llvm/IR/Module.h>
  <mlir/Dialect/Affine/IR/AffineOps.h>
  <mlir/Dialect/Bufferization/IR/Bufferization.h>
  <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/LLVMIR/NVVMDialect.h>
  <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/IR/PatternMatch.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
  <mlir/Transforms/DialectConversion.h>
  OPTIONS -fno-exceptions)
if(TARGET AttnMLIRHeaders)
  target_include_directories(AttnMLIRHeaders SYSTEM PRIVATE
    ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(AttnMLIRHeaders PRIVATE ${ATTN_LLVM_DEFINITIONS})
  if(ATTN_COMPILER)
    target_include_directories(AttnMLIRHeaders PRIVATE ${ATTN_COMPILER})
  else()
    add_dependencies(AttnMLIRHeaders AttnDialectIncGen)
  endif()
endif()
