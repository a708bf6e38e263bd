//===- EmulatedAttentionTest.cpp - Attention, and mutations of it ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The kernel that the GPU pipeline makes of attention, with copies in stages,
// and the same with what orders them taken away.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EmulatorTesting.h"
#include "test/Execution/WarpgroupTesting.h"

#include "attn/element_type.h"

#include "mlir/IR/BuiltinOps.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace attn;
using namespace attn::test;

namespace {

constexpr std::int64_t numHeads = 2, numQueries = 70, numKeys = 266;

/// What the pipeline makes of attention.
struct LoweredAttention {
  std::string kernels;
  std::vector<unsigned> arguments; ///< Of the function, for the kernel.
  emulator::LaunchOptions launch;
};

/// As `plan` says, for a GPU as `target` says.
LoweredAttention lower(std::int64_t headSize, const std::string &plan,
                       const std::string &target) {
  std::string text = R"(
!queries = tensor<1x2xQUERIESxHEADxf16>
!keys = tensor<1x2xKEYSxHEADxf16>
module attributes {attn.target = #attn.target<TARGET>} {
func.func @attend(%query: !queries, %key: !keys, %value: !keys) -> !queries {
  %init = tensor.empty() : !queries
  %output = attn.attention ins(%query, %key, %value : !queries, !keys, !keys)
      outs(%init : !queries) {attn.plan = #attn.plan<PLAN>}
  return %output : !queries
}
})";
  text = replaceAll(text, "TARGET", target);
  text = replaceAll(text, "PLAN", plan);
  text = replaceAll(text, "QUERIES", std::to_string(numQueries));
  text = replaceAll(text, "KEYS", std::to_string(numKeys));
  text = replaceAll(text, "HEAD", std::to_string(headSize));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = lowerForGPU(text, context);
  LoweredAttention result;
  if (!module)
    return result;
  module->walk([&](mlir::gpu::LaunchFuncOp launch) {
    for (mlir::Value operand : launch.getKernelOperands()) {
      auto argument = mlir::dyn_cast<mlir::BlockArgument>(operand);
      EXPECT_TRUE(argument) << "an operand that the host computes";
      result.arguments.push_back(argument ? argument.getArgNumber() : 0);
    }
    result.launch = readLaunch(launch);
  });
  llvm::raw_string_ostream os(result.kernels);
  (*module->getOps<mlir::gpu::GPUModuleOp>().begin())->print(os);
  return result;
}

/// Of so many rows of a warp.
LoweredAttention lower(std::int64_t headSize, int warpRows = 16) {
  return lower(headSize, "lanes = " + std::to_string(warpRows),
               "vector_bits = 256");
}

/// As for sm_90a.
LoweredAttention lowerForWarpgroups(std::int64_t headSize) {
  return lower(headSize, "warpgroups = true",
               "gpu_multiprocessors = 1, gpu_shared_bytes = 233472, "
               "gpu_warpgroups = true");
}

/// As for sm_80: two warps, whose workgroup has room for one block of keys.
LoweredAttention lowerInTurns() {
  return lower(128, "rows = 32, lanes = 16, keys = 64",
               "gpu_multiprocessors = 108, gpu_shared_bytes = 167936");
}

std::vector<double> computeAttention(const std::vector<f16> &query,
                                     const std::vector<f16> &key,
                                     const std::vector<f16> &value,
                                     std::int64_t headSize) {
  std::vector<double> output(query.size());
  for (std::int64_t q = 0; q < numHeads * numQueries; ++q) {
    std::vector<double> scores(numKeys);
    std::int64_t firstKey = q / numQueries * numKeys;
    for (std::int64_t j = 0; j < numKeys; ++j)
      for (std::int64_t d = 0; d < headSize; ++d)
        scores[j] += double(float(query[q * headSize + d])) *
                     double(float(key[(firstKey + j) * headSize + d]));
    double maximum = *std::max_element(scores.begin(), scores.end()), sum = 0;
    for (std::int64_t j = 0; j < numKeys; ++j) {
      double weight =
          std::exp((scores[j] - maximum) / std::sqrt(double(headSize)));
      sum += weight;
      for (std::int64_t d = 0; d < headSize; ++d)
        output[q * headSize + d] +=
            weight * double(float(value[(firstKey + j) * headSize + d]));
    }
    for (std::int64_t d = 0; d < headSize; ++d)
      output[q * headSize + d] /= sum;
  }
  return output;
}

/// Inputs of a call.
struct Factors {
  std::vector<f16> query, key;
};
using MakeFactors = Factors(std::int64_t headSize, std::uint64_t seed);

Factors makeFactors(std::int64_t headSize, std::uint64_t seed) {
  return {makeNumbers<f16>(numHeads * numQueries * headSize, seed),
          makeNumbers<f16>(numHeads * numKeys * headSize, seed + 100)};
}

/// Runs attention with numbers, and a schedule, that the seed decides. Key and
/// value begin `shift` elements after an aligned address.
RunKernel runWith(const LoweredAttention &attention, std::int64_t headSize,
                  std::int64_t shift = 0, MakeFactors make = makeFactors) {
  return [&attention, headSize, shift,
          make](const jit::EmulatedKernel &kernel,
                std::uint64_t seed) -> std::string {
    auto [query, key] = make(headSize, seed);
    auto value = makeNumbers<f16>(numHeads * numKeys * headSize, seed + 200);
    std::vector<f16> output(query.size());
    std::vector<double> expected =
        computeAttention(query, key, value, headSize);
    key.insert(key.begin(), shift, f16(0.0f));
    value.insert(value.begin(), shift, f16(0.0f));
    KernelArguments arguments;
    for (unsigned argument : attention.arguments) {
      std::vector<f16> *buffers[] = {&query, &key, &value, &output};
      bool isKey = argument == 1 || argument == 2;
      arguments.addMemRef(*buffers[argument],
                          {1, numHeads, isKey ? numKeys : numQueries, headSize},
                          "argument " + std::to_string(argument),
                          /*isWritable=*/argument == 3, isKey ? shift : 0);
    }
    emulator::LaunchOptions options = attention.launch;
    options.seed = seed;
    if (Status status = arguments.launch(kernel, options); !status)
      return status.error().message;
    std::vector<float> floats(output.begin(), output.end());
    return compare(floats, expected, 2e-3);
  };
}

TEST(EmulatedAttention, TwoStages) {
  LoweredAttention attention = lower(64);
  expectRight(attention.kernels, "attend_kernel", runWith(attention, 64));
}

TEST(EmulatedAttention, FourStages) {
  LoweredAttention attention = lower(16);
  expectRight(attention.kernels, "attend_kernel", runWith(attention, 16));
}

/// Warps of 32 rows, of which the last tile has few. Queries of the longer
/// heads are read from workgroup memory. Of 104 elements, which end with
/// zeros, half of the threads copy the 32 keys of a block.
TEST(EmulatedAttention, TallWarps) {
  for (std::int64_t headSize : {40, 64, 104, 128}) {
    SCOPED_TRACE(headSize);
    LoweredAttention attention = lower(headSize, /*warpRows=*/32);
    expectRight(attention.kernels, "attend_kernel",
                runWith(attention, headSize));
  }
}

TEST(EmulatedAttention, TallWarpsOfRowsThatAreNotAligned) {
  LoweredAttention attention = lower(64, /*warpRows=*/32);
  expectRight(attention.kernels, "attend_kernel", runWith(attention, 64, 3));
}

/// Queries of long heads are read from workgroup memory too.
TEST(EmulatedAttention, LongHeads) {
  LoweredAttention attention = lower(256);
  expectRight(attention.kernels, "attend_kernel", runWith(attention, 256));
}

TEST(EmulatedAttention, RowsThatAreNotAligned) {
  LoweredAttention attention = lower(16);
  expectRight(attention.kernels, "attend_kernel", runWith(attention, 16, 3));
}

/// Scores of up to 2^33 in magnitude, of which those of a row are equal. As
/// exponents they are rounded by hundreds: far enough for weights that are all
/// 0, so that nothing is infinite, and the result is wrong.
Factors makeLargeFactors(std::int64_t headSize, std::uint64_t seed) {
  Factors factors;
  for (f16 number : makeNumbers<f16>(numHeads * numQueries, seed)) {
    float bounded = std::clamp(float(number), -2.0f, 2.0f);
    factors.query.insert(factors.query.end(), headSize, f16(30000 * bounded));
  }
  factors.key.assign(numHeads * numKeys * headSize, f16(60000.0f));
  return factors;
}

TEST(EmulatedAttention, LargeScoresOfTallWarps) {
  LoweredAttention attention = lower(64, /*warpRows=*/32);
  expectRight(attention.kernels, "attend_kernel",
              runWith(attention, 64, /*shift=*/0, makeLargeFactors));
}

TEST(EmulatedAttention, LargeScores) {
  LoweredAttention attention = lower(64);
  expectRight(attention.kernels, "attend_kernel",
              runWith(attention, 64, 0, makeLargeFactors));
}

/// Scores that rise from one block of 64 keys to the next, by up to 7, or fall:
/// rows of a warp are rescaled in other blocks than their neighbours, or never.
Factors makeRisingFactors(std::int64_t headSize, std::uint64_t seed) {
  Factors factors;
  for (f16 number : makeNumbers<f16>(numHeads * numQueries, seed))
    factors.query.insert(factors.query.end(), headSize,
                         f16(std::clamp(float(number), -1.0f, 1.0f)));
  for (std::int64_t j = 0; j < numHeads * numKeys; ++j) {
    float score = 7.0f * float(j % numKeys / 64);
    factors.key.insert(factors.key.end(), headSize,
                       f16(score / std::sqrt(float(headSize))));
  }
  return factors;
}

TEST(EmulatedAttention, RisingScores) {
  for (int warpRows : {16, 32}) {
    SCOPED_TRACE(warpRows);
    LoweredAttention attention = lower(64, warpRows);
    expectRight(attention.kernels, "attend_kernel",
                runWith(attention, 64, 0, makeRisingFactors));
  }
}

TEST(EmulatedAttention, CatchesMissingWait) {
  LoweredAttention attention = lower(64);
  expectCaught(
      replaceAll(attention.kernels, "nvvm.cp.async.wait.group 0\n", "\n"),
      "attend_kernel", runWith(attention, 64), "has not been waited for");
}

TEST(EmulatedAttention, CatchesWaitForTooFew) {
  LoweredAttention attention = lower(16);
  expectCaught(replaceAll(attention.kernels, "nvvm.cp.async.wait.group 2",
                          "nvvm.cp.async.wait.group 3"),
               "attend_kernel", runWith(attention, 16),
               "has not been waited for");
}

TEST(EmulatedAttention, CatchesMissingBarrier) {
  LoweredAttention attention = lower(64);
  std::string wait = "nvvm.cp.async.wait.group 0\n    ";
  expectCaught(replaceAll(attention.kernels, wait + "nvvm.barrier0\n", wait),
               "attend_kernel", runWith(attention, 64),
               "which nothing has written");
}

TEST(EmulatedAttention, CatchesMissingGroup) {
  LoweredAttention attention = lower(64);
  expectCaught(
      replaceAll(attention.kernels, "nvvm.cp.async.commit.group\n", "\n"),
      "attend_kernel", runWith(attention, 64), "has not been waited for");
}

TEST(EmulatedAttention, CatchesTooLittleMemory) {
  LoweredAttention attention = lower(64);
  attention.launch.dynamicSharedBytes /= 2;
  expectCaught(attention.kernels, "attend_kernel", runWith(attention, 64),
               "is out of bounds");
}

TEST(EmulatedAttention, CatchesWrongTranspose) {
  LoweredAttention attention = lower(64);
  expectCaught(replaceAll(attention.kernels, "layout = #nvvm.mma_layout<col>",
                          "layout = #nvvm.mma_layout<row>"),
               "attend_kernel", runWith(attention, 64), "wrong at");
}

//===----------------------------------------------------------------------===//
// Keys and values in turns
//===----------------------------------------------------------------------===//

/// The last block has few keys.
TEST(EmulatedAttention, Turns) {
  LoweredAttention attention = lowerInTurns();
  EXPECT_EQ(attention.launch.block.x, 64u);
  EXPECT_EQ(attention.launch.dynamicSharedBytes, 2u * 64 * (128 + 8) * 2);
  for (std::int64_t shift : {0, 3})
    expectRight(attention.kernels, "attend_kernel",
                runWith(attention, 128, shift));
}

/// Weights are computed before it is known what they have to be relative to.
TEST(EmulatedAttention, LargeAndRisingScoresInTurns) {
  LoweredAttention attention = lowerInTurns();
  for (MakeFactors *make : {makeLargeFactors, makeRisingFactors})
    expectRight(attention.kernels, "attend_kernel",
                runWith(attention, 128, 0, make));
}

/// In front of keys, behind them, and in front of values; the first one is
/// that of the loop as a whole.
TEST(EmulatedAttention, CatchesMissingBarriersOfTurns) {
  LoweredAttention attention = lowerInTurns();
  auto expect = [&](int number, const char *message) {
    expectCaught(replaceLine(attention.kernels, "nvvm.barrier0", number),
                 "attend_kernel", runWith(attention, 128), message);
  };
  expect(1, "which nothing has written");
  expect(2, "nvvm.cp.async.shared.global: shared store of 16 bytes");
  expect(3, "which an asynchronous copy writes that has not been waited for");
}

/// Of keys, and of values, for which the next keys are not waited for.
TEST(EmulatedAttention, CatchesMissingWaitsOfTurns) {
  LoweredAttention attention = lowerInTurns();
  const char *message =
      "which an asynchronous copy writes that has not been waited for";
  expectCaught(replaceLine(attention.kernels, "nvvm.cp.async.wait.group 0", 0),
               "attend_kernel", runWith(attention, 128), message);
  expectCaught(replaceAll(attention.kernels, "nvvm.cp.async.wait.group 1",
                          "nvvm.cp.async.wait.group 2"),
               "attend_kernel", runWith(attention, 128), message);
}

//===----------------------------------------------------------------------===//
// Warpgroups
//===----------------------------------------------------------------------===//

TEST(EmulatedAttention, Warpgroups) {
  for (std::int64_t headSize : {50, 64, 128}) {
    SCOPED_TRACE(headSize);
    LoweredAttention attention = lowerForWarpgroups(headSize);
    expectRight(attention.kernels, "attend_kernel",
                runWith(attention, headSize));
  }
}

TEST(EmulatedAttention, WarpgroupsOfRowsThatAreNotAligned) {
  LoweredAttention attention = lowerForWarpgroups(64);
  expectRight(attention.kernels, "attend_kernel", runWith(attention, 64, 3));
}

TEST(EmulatedAttention, WarpgroupsOfLargeAndRisingScores) {
  LoweredAttention attention = lowerForWarpgroups(64);
  for (MakeFactors *make : {makeLargeFactors, makeRisingFactors})
    expectRight(attention.kernels, "attend_kernel",
                runWith(attention, 64, /*shift=*/0, make));
}

/// Expects every `message` of kernels of warpgroups in which `from` is `to`.
void expectWarpgroupsCaught(const std::string &from, const std::string &to,
                            const std::vector<std::string> &messages,
                            std::int64_t headSize = 64,
                            std::int64_t shift = 0) {
  LoweredAttention attention = lowerForWarpgroups(headSize);
  std::string mutated = replaceAll(attention.kernels, from, to);
  for (const std::string &message : messages)
    expectCaught(mutated, "attend_kernel", runWith(attention, headSize, shift),
                 message);
}

/// Copies that are asynchronous and those that are not are written alike.
TEST(EmulatedAttention, CatchesMissingFenceOfWarpgroups) {
  for (std::int64_t shift : {0, 3})
    expectWarpgroupsCaught(std::string(proxyFence) + "\n", "\n",
                           {"with no fence.proxy.async after what thread"}, 64,
                           shift);
}

/// Producers, whose code comes first, wait until a stage is empty, consumers
/// until it is full. Heads of 128 elements have fewer stages than there are
/// blocks.
TEST(EmulatedAttention, CatchesMissingWaitsForStages) {
  LoweredAttention attention = lowerForWarpgroups(128);
  const char *wait = "nvvm.mbarrier.try_wait.parity";
  auto expect = [&](int number, const char *message) {
    expectCaught(replaceLine(attention.kernels, wait, number), "attend_kernel",
                 runWith(attention, 128), message);
  };
  expect(0, "which an asynchronous copy writes that has not been waited for");
  expect(-1, "which nothing has written");
}

/// Of copies, of what producers store themselves where rows are not aligned,
/// and of consumers.
TEST(EmulatedAttention, CatchesMissingArrivalsAtStages) {
  LoweredAttention attention = lowerForWarpgroups(128);
  for (auto [arrive, number] : {std::pair("nvvm.cp.async.mbarrier.arrive", 0),
                                std::pair("nvvm.mbarrier.arrive", 0),
                                std::pair("nvvm.mbarrier.arrive", -1)})
    expectCaught(replaceLine(attention.kernels, arrive, number),
                 "attend_kernel", runWith(attention, 128), "deadlock");
}

TEST(EmulatedAttention, CatchesBarriersThatAreNotInitialized) {
  LoweredAttention attention = lowerForWarpgroups(128);
  expectCaught(replaceLine(attention.kernels, "nvvm.mbarrier.init", 0),
               "attend_kernel", runWith(attention, 128), "mbarrier");
}

/// Of scores, and of the output. What is not a number is computed again.
TEST(EmulatedAttention, CatchesMorePendingProducts) {
  expectWarpgroupsCaught("pending 1", "pending 2", {"wrong at 0:"});
  expectWarpgroupsCaught("pending 0", "pending 1",
                         {"attn.warpgroup_mma: the last product that this has "
                          "begun has not been waited for"});
}

/// How far eight rows, and panels, are apart, in units of 16 bytes.
TEST(EmulatedAttention, CatchesWrongDescriptor) {
  auto getFields = [](std::uint64_t ofPanel, std::uint64_t ofEightRows) {
    std::uint64_t swizzle = 1;
    return "constant(" +
           std::to_string(ofPanel << 16 | ofEightRows << 32 | swizzle << 62) +
           " : i64)";
  };
  expectWarpgroupsCaught(getFields(1024, 64), getFields(1024, 32),
                         {"wrong at"});
  expectWarpgroupsCaught(getFields(1024, 64), getFields(512, 64), {"wrong at"},
                         /*headSize=*/128);
}

/// Of keys, and of values.
TEST(EmulatedAttention, CatchesWrongMajor) {
  const char *message =
      "which an asynchronous copy writes that has not been waited for";
  expectWarpgroupsCaught(") columns 128", ") transposed columns 128",
                         {message});
  expectWarpgroupsCaught(" transposed sums(", " sums(", {message});
}

} // namespace
