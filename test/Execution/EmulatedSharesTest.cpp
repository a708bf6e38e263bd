//===- EmulatedSharesTest.cpp - Warps that share the keys of one query ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel that computes a part of the keys of few queries, as it is lowered
// for a GPU, executed on the emulator, and the same with planted faults.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EmulatorTesting.h"

#include "mlir/IR/BuiltinOps.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace attn;
using namespace attn::test;

namespace {

constexpr std::int64_t rowCount = 4, keyCount = 300, headSize = 64;

/// The kernel of the one part that all keys are, and how it is launched.
struct Lowered {
  std::string kernels;
  emulator::LaunchOptions launch;
  /// Of its memrefs: queries, keys and values, and O, m and l.
  std::vector<std::vector<std::int64_t>> shapes;
};

/// As for sm_80.
Lowered lower() {
  const char *text = R"(
!queries = tensor<1x4x1x64xf16>
!keys = tensor<1x1x300x64xf16>
module attributes {attn.target = #attn.target<gpu_multiprocessors = 108, gpu_shared_bytes = 167936>} {
func.func @attend(%query: !queries, %key: !keys, %value: !keys) -> !queries {
  %init = tensor.empty() : !queries
  %output = attn.attention ins(%query, %key, %value : !queries, !keys, !keys)
      outs(%init : !queries)
      {attn.plan = #attn.plan<rows = 64, lanes = 16, keys = 64, chunk = 512, heads = 4>}
  return %output : !queries
}
})";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = lowerForGPU(text, context);
  Lowered result;
  if (!module)
    return result;
  module->walk([&](mlir::gpu::LaunchFuncOp launch) {
    if (!result.shapes.empty())
      return; // The merge of parts.
    for (mlir::Value operand : launch.getKernelOperands())
      result.shapes.push_back(
          mlir::cast<mlir::MemRefType>(operand.getType()).getShape().vec());
    result.launch = readLaunch(launch);
  });
  llvm::raw_string_ostream os(result.kernels);
  (*module->getOps<mlir::gpu::GPUModuleOp>().begin())->print(os);
  return result;
}

/// Runs the kernel with numbers, and a schedule, that the seed decides, and
/// compares what its states say with attention.
std::string runLowered(const Lowered &lowered,
                       const jit::EmulatedKernel &kernel, std::uint64_t seed) {
  auto query = makeNumbers<f16>(rowCount * headSize, seed),
       key = makeNumbers<f16>(keyCount * headSize, seed + 100),
       value = makeNumbers<f16>(keyCount * headSize, seed + 200);
  std::vector<f16> *inputs[] = {&query, &key, &value};
  std::vector<float> states[] = {std::vector<float>(rowCount * headSize),
                                 std::vector<float>(rowCount),
                                 std::vector<float>(rowCount)};
  KernelArguments arguments;
  std::size_t input = 0, state = 0;
  for (const auto &shape : lowered.shapes) {
    std::string name = "operand " + std::to_string(input + state);
    if (shape.empty()) // Where the queries begin, to see if that is aligned.
      arguments.addMemRef(query, shape, name, /*isWritable=*/false);
    else if (input < std::size(inputs))
      arguments.addMemRef(*inputs[input++], shape, name, /*isWritable=*/false);
    else
      arguments.addMemRef(states[state++], shape, name);
  }
  emulator::LaunchOptions options = lowered.launch;
  options.seed = seed;
  if (Status status = arguments.launch(kernel, options); !status)
    return status.error().message;
  std::vector<double> expected(rowCount * headSize);
  std::vector<float> actual(rowCount * headSize);
  for (std::int64_t row = 0; row < rowCount; ++row) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < keyCount; ++j) {
      double score = 0.0;
      for (std::int64_t d = 0; d < headSize; ++d)
        score += double(float(query[row * headSize + d])) *
                 double(float(key[j * headSize + d]));
      double weight = std::exp(score / std::sqrt(double(headSize)));
      sum += weight;
      for (std::int64_t d = 0; d < headSize; ++d)
        expected[row * headSize + d] +=
            weight * double(float(value[j * headSize + d]));
    }
    for (std::int64_t d = 0; d < headSize; ++d) {
      expected[row * headSize + d] /= sum;
      actual[row * headSize + d] =
          states[0][row * headSize + d] / states[2][row];
    }
  }
  return compare(actual, expected, 2e-3);
}

} // namespace

/// Four warps, with 128, 128, 44 and no keys, whose states are where keys were.
TEST(EmulatedShares, Right) {
  Lowered lowered = lower();
  EXPECT_EQ(lowered.launch.block.x, 32u);
  EXPECT_EQ(lowered.launch.block.y, 4u);
  EXPECT_EQ(lowered.launch.dynamicSharedBytes, 4u * 2 * 64 * (64 + 8) * 2);
  expectRight(lowered.kernels, "attend_kernel",
              std::bind_front(runLowered, lowered));
}

/// Barriers of all warps are in front of states, and behind each of the three.
TEST(EmulatedShares, CatchesMissingBarriers) {
  Lowered lowered = lower();
  RunKernel run = std::bind_front(runLowered, lowered);
  expectCaught(replaceLine(lowered.kernels, "nvvm.barrier0", 0),
               "attend_kernel", run, "shared store of 4 bytes");
  std::string text = lowered.kernels;
  for (int number : {3, 2, 1})
    text = replaceLine(text, "nvvm.barrier0", number);
  expectCaught(text, "attend_kernel", run, "shared load of 4 bytes");
}

/// Of one warp alone, in the loop, as lanes copy for each other.
TEST(EmulatedShares, CatchesMissingBarriersOfWarps) {
  Lowered lowered = lower();
  RunKernel run = std::bind_front(runLowered, lowered);
  for (int number : {1, 2, 3})
    expectCaught(replaceLine(lowered.kernels, "nvvm.bar.warp.sync", number),
                 "attend_kernel", run, "shared ");
}

/// Warps in each other's memory.
TEST(EmulatedShares, CatchesSharedMemory) {
  Lowered lowered = lower();
  expectCaught(replaceAll(lowered.kernels, "18432 : index", "9216 : index"),
               "attend_kernel", std::bind_front(runLowered, lowered),
               "shared ");
}
