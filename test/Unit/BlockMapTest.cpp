//===- BlockMapTest.cpp - The blocks of pictures and of kernels -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the sizes of blocks in block maps to those of the loops that the CPU
// pipeline makes.
//
//===----------------------------------------------------------------------===//

#include "lib/BlockMap/BlockMap.h"
#include "dialect/AttnOps.h"
#include "examples/variants/gallery.h"
#include "lib/Plan/Plan.h"
#include "lib/Registration/Registration.h"
#include "test/Execution/Covering.h"
#include "test/Execution/Random.h"
#include "test/Unit/PipelinePasses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace mlir;
using ::attn::Attention, ::attn::ElementType;
using mlir::attn::AttentionOp, mlir::attn::OnlineAttentionOp;
using mlir::attn::BlockMap, mlir::attn::BlockMapOptions;

namespace {

constexpr int64_t kManyQueries = 300, kKeys = 500;

struct Target {
  const char *name;
  const char *parameters;
};

const std::vector<Target> kTargets = {
    {"256", "vector_bits = 256"},
    {"512", "vector_bits = 512"},
    {"512_bf16_dot", "vector_bits = 512, bf16_dot = true"},
    {"512_bf16_tiles", "vector_bits = 512, bf16_dot = true, bf16_tiles = true"},
    {"512_large_l1", "vector_bits = 512, l1_bytes = 131072"},
};

/// The variants of the gallery that are one attn.attention.
std::vector<std::pair<const char *, Attention>>
listVariants(const Attention &base) {
  using namespace ::attn::gallery;
  return {{"plain", base},
          {"causal", causalMask(base)},
          {"window", window(base)},
          {"dilated", dilated(base)},
          {"stridedSparse", stridedSparse(base)},
          {"globalAndLocal", globalAndLocal(base)},
          {"sinkAndWindow", sinkAndWindow(base)},
          {"logSparse", logSparse(base)},
          {"blockDiagonal", blockDiagonal(base)},
          {"chunked", chunked(base)},
          {"neighborhood2D", neighborhood2D(base)},
          {"disc", disc(base)},
          {"prefix", prefix(base)},
          {"documents", documents(base)},
          {"crossAttention", crossAttention(base)},
          {"perHeadWindow", perHeadWindow(base)},
          {"perHeadStride", perHeadStride(base)},
          {"keyRanges", keyRanges(base)},
          {"tree", tree(base)},
          {"ringStep", ringStep(base)},
          {"linearBias", linearBias(base)},
          {"logarithmicBias", logarithmicBias(base)},
          {"relativeBias", relativeBias(base)},
          {"cappedScores", cappedScores(base)},
          {"hashMask", hashMask(base)},
          {"axial2D", axial2D(base)},
          {"scaledDistance", scaledDistance(base)},
          {"selectedBlocks", selectedBlocks(base)},
          {"logBuckets", logBuckets(base)},
          {"segmentBias", segmentBias(base)},
          {"forgettingGate", forgettingGate(base)},
          {"prunedForgettingGate", prunedForgettingGate(base)},
          {"scalableSoftmax", scalableSoftmax(base)},
          {"powerDecay", powerDecay(base)},
          {"distanceDecay", distanceDecay(base)},
          {"headTemperature", headTemperature(base)},
          {"multiQueryDecode", multiQueryDecode(base)},
          {"learnedSink", learnedSink(base)},
          {"differentialHalf", differentialHalf(base)},
          {"packed", packed(base)}};
}

struct Sizes {
  int64_t queries, keys;
  bool operator==(const Sizes &) const = default;
};

void PrintTo(const Sizes &sizes, std::ostream *os) {
  *os << sizes.queries << " queries x " << sizes.keys << " keys";
}

/// Queries of a head in the tiles around every attn.attention.
std::vector<int64_t> findTiles(ModuleOp module) {
  std::vector<int64_t> tiles;
  module.walk([&](AttentionOp op) {
    mlir::attn::PlanAttr plan = mlir::attn::getPlan(op);
    ASSERT_TRUE(plan);
    // A tile that finds its sequence is in no loop of its own.
    int64_t rows = plan.getRows();
    if (auto loop = dyn_cast<scf::ForallOp>(op->getParentOp()))
      rows = getConstantIntValue(loop.getMixedStep().back()).value_or(0);
    tiles.push_back(rows / plan.getHeads());
  });
  return tiles;
}

/// The steps of the loops over blocks of keys.
std::vector<int64_t> findBlocks(ModuleOp module) {
  std::vector<int64_t> blocks;
  module.walk([&](OnlineAttentionOp op) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    ASSERT_TRUE(loop);
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    ASSERT_TRUE(step);
    blocks.push_back(*step);
  });
  return blocks;
}

class BlockMaps
    : public testing::TestWithParam<std::tuple<Target, ElementType, int64_t>> {
protected:
  static void SetUpTestSuite() { mlir::attn::registerAllPasses(); }

  void SetUp() override {
    DialectRegistry registry;
    mlir::attn::registerKernelDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
    passes = ::attn::test::listPasses();
  }

  /// Of the kernel: if it does not know the number of queries, first of its
  /// forms for few.
  std::vector<Sizes> findKernelSizes(ModuleOp kernel) {
    llvm::ArrayRef<std::string> all(passes);
    std::size_t tiling = ::attn::test::findPass(passes, "attn-tile-attention"),
                blocking = ::attn::test::findPass(passes, "attn-tile-keys");
    std::vector<Sizes> sizes;
    if (failed(::attn::test::runPasses(kernel, all.take_front(tiling + 1))))
      return sizes;
    std::vector<int64_t> tiles = findTiles(kernel);
    if (failed(::attn::test::runPasses(
            kernel, all.slice(tiling + 1, blocking - tiling))))
      return sizes;
    std::vector<int64_t> blocks = findBlocks(kernel);
    EXPECT_EQ(tiles.size(), blocks.size());
    for (auto [queries, keys] : llvm::zip(tiles, blocks))
      sizes.push_back({queries, keys});
    return sizes;
  }

  /// Of the block map for a number of queries.
  Sizes findShownSizes(ModuleOp module, int64_t length) {
    BlockMapOptions options = {.keyLength = kKeys};
    module.walk([&](AttentionOp op) {
      if (op.isPacked() || op.getQueryType().isDynamicDim(2))
        options.queryLength = length;
      if (op.getOffset() && !matchPattern(op.getOffset(), m_Constant()))
        options.offset = 0;
    });
    FailureOr<std::vector<BlockMap>> maps =
        mlir::attn::computeBlockMaps(module, options);
    if (failed(maps))
      return {};
    return {maps->front().queryBlock, maps->front().keyBlock};
  }

  void check(const Attention &attention) {
    auto text = attention.text();
    ASSERT_TRUE(text.ok()) << text.error().message;
    auto module = parseSourceString<ModuleOp>(*text, &context);
    ASSERT_TRUE(module);
    ::attn::test::setTarget(*module, std::get<0>(GetParam()).parameters);
    OwningOpRef<ModuleOp> kernel = module->clone();
    std::vector<Sizes> sizes = findKernelSizes(*kernel);
    bool isOpen = attention.queryLength == ::attn::dynamic;
    SmallVector<int64_t> few;
    if (isOpen)
      module->walk([&](AttentionOp op) {
        few = mlir::attn::planFewQueries(op, mlir::attn::Device::CPU);
      });
    // Rows that are left after whole tiles are in one of their own.
    bool hasRest = false;
    module->walk([&](AttentionOp op) {
      auto plan = mlir::attn::planAttention(op, mlir::attn::Device::CPU);
      hasRest = succeeded(plan) && plan->getRest();
    });
    if (hasRest && sizes.size() > 1)
      sizes.pop_back();
    ASSERT_EQ(sizes.size(), few.size() + 1);
    EXPECT_EQ(
        findShownSizes(*module, isOpen ? kManyQueries : attention.queryLength),
        sizes.back());
    for (auto [length, ofForm] : llvm::zip(few, sizes))
      EXPECT_EQ(findShownSizes(*module, length), ofForm);
  }

  MLIRContext context;
  std::vector<std::string> passes;
};

TEST_P(BlockMaps, HaveTheKernelsSizes) {
  auto [target, type, headSize] = GetParam();
  Attention base = {
      .type = type, .queryHeads = 8, .keyValueHeads = 2, .headSize = headSize};
  auto ofTarget = std::ranges::find(kTargets, target.name, &Target::name);
  auto turn = std::size_t(ofTarget - kTargets.begin()) + std::size_t(type);
  for (auto &[name, variant] : listVariants(base)) {
    // Each with every target and in every type, but not with both in all pairs.
    if (turn++ % 3 && !::attn::test::runsAllCases())
      continue;
    SCOPED_TRACE(name);
    check(variant);
  }
}

/// Of few queries, those of a group are rows of one head or not, in tiles with
/// other layouts.
TEST_P(BlockMaps, HaveTheKernelsSizesForFewQueries) {
  auto [target, type, headSize] = GetParam();
  for (int64_t length : {1, 2, 3, 4, 8, 9, 16, 17, 33, 300})
    for (int64_t keyHeads : {2, 8})
      for (bool isCausal : {false, true}) {
        SCOPED_TRACE(std::to_string(length) + " queries, " +
                     std::to_string(keyHeads) + " heads, mask " +
                     std::to_string(isCausal));
        Attention attention = {.type = type,
                               .queryHeads = 8,
                               .keyValueHeads = keyHeads,
                               .headSize = headSize,
                               .queryLength = length};
        check(isCausal ? ::attn::gallery::causalMask(attention) : attention);
      }
}

/// Heads in pairs are padded.
TEST_P(BlockMaps, HaveTheKernelsSizesForOddHeads) {
  auto [target, type, headSize] = GetParam();
  for (int64_t length : {::attn::dynamic, int64_t(12)})
    for (int64_t valueSize : {headSize, headSize - 1})
      check({.type = type,
             .queryHeads = 2,
             .headSize = headSize - 1,
             .valueHeadSize = valueSize,
             .queryLength = length});
}

std::string
nameOf(const testing::TestParamInfo<std::tuple<Target, ElementType, int64_t>>
           &info) {
  auto [target, type, headSize] = info.param;
  const char *element = type == ElementType::f32   ? "f32"
                        : type == ElementType::f16 ? "f16"
                                                   : "bf16";
  return std::string(target.name) + "_" + element + "_" +
         std::to_string(headSize);
}

INSTANTIATE_TEST_SUITE_P(All, BlockMaps,
                         testing::ValuesIn(::attn::test::coverPairs(
                             kTargets,
                             std::vector{ElementType::f32, ElementType::f16,
                                         ElementType::bf16},
                             std::vector<int64_t>{64, 128})),
                         nameOf);

} // namespace
