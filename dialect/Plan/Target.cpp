//===- Target.cpp - The machine of a module -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Nothing if `value` is one of `choices`; else what was expected.
static std::string checkChoice(int64_t value, ArrayRef<int64_t> choices) {
  if (llvm::is_contained(choices, value))
    return {};
  std::string all = llvm::join(
      llvm::map_range(choices.drop_back(),
                      [](int64_t each) { return Twine(each).str(); }),
      ", ");
  return all + " or " + Twine(choices.back()).str();
}

static std::string checkRange(int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high)
    return {};
  return (Twine(low) + " to " + Twine(high)).str();
}

LogicalResult
TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                   int64_t vectorBits, int64_t vectorRegisters, bool scalef,
                   bool bf16Dot, bool bf16Tiles, bool i8Dot,
                   bool quantizeQueries, int64_t cores, int64_t l1Bytes,
                   int64_t l2Bytes, int64_t lineBytes, int64_t pageBytes,
                   int64_t memoryNs, int64_t memoryGbs, int64_t l3Ns,
                   int64_t fetchLevel, int64_t laneGflops, int64_t kernelNs,
                   int64_t gpuMultiprocessors, int64_t gpuSharedBytes, bool) {
  constexpr int64_t kMostBytes = int64_t(1) << 40;
  struct Parameter {
    StringRef name;
    int64_t value;
    std::string expected;
  };
  for (const Parameter &parameter : {
           Parameter{"vector_bits", vectorBits,
                     checkChoice(vectorBits, {128, 256, 512})},
           Parameter{"vector_registers", vectorRegisters,
                     checkChoice(vectorRegisters, {8, 16, 32})},
           Parameter{"cores", cores, checkRange(cores, 1, 1 << 20)},
           Parameter{"l1_bytes", l1Bytes,
                     checkRange(l1Bytes, 4096, kMostBytes)},
           Parameter{"l2_bytes", l2Bytes, checkRange(l2Bytes, 0, kMostBytes)},
           Parameter{"line_bytes", lineBytes,
                     checkChoice(lineBytes, {32, 64, 128, 256})},
           Parameter{"page_bytes", pageBytes,
                     checkRange(pageBytes, 4096, kMostBytes)},
           Parameter{"memory_ns", memoryNs, checkRange(memoryNs, 1, 10000)},
           Parameter{"memory_gbs", memoryGbs, checkRange(memoryGbs, 1, 10000)},
           Parameter{"l3_ns", l3Ns, checkRange(l3Ns, 1, 10000)},
           Parameter{"fetch_level", fetchLevel,
                     checkChoice(fetchLevel, {1, 2})},
           Parameter{"lane_gflops", laneGflops,
                     checkRange(laneGflops, 1, 1000)},
           Parameter{"kernel_ns", kernelNs,
                     checkRange(kernelNs, 0, 1000000000)},
           Parameter{"gpu_multiprocessors", gpuMultiprocessors,
                     checkRange(gpuMultiprocessors, 1, 1 << 16)},
           Parameter{"gpu_shared_bytes", gpuSharedBytes,
                     checkRange(gpuSharedBytes, 1 << 10, 1 << 30)},
       })
    if (!parameter.expected.empty())
      return emitError() << parameter.name << ": expected "
                         << parameter.expected << ", got " << parameter.value;
  return success();
}

TargetAttr attn::parseTarget(StringRef parameters, MLIRContext *context) {
  return dyn_cast_or_null<TargetAttr>(
      parseAttribute(("#attn.target<" + parameters + ">").str(), context));
}

TargetAttr attn::getTarget(Operation *op) {
  for (Operation *around = op; around; around = around->getParentOp())
    if (auto target =
            around->getAttrOfType<TargetAttr>(TargetAttr::kModuleAttr))
      return target;
  return parseTarget("", op->getContext());
}
