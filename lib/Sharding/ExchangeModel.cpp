//===- ExchangeModel.cpp - How long ways to exchange keys take ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The same as scripts/rank_model.py, which says more of it, with one link for
// all ranks:
//
//   ring     each rank begins with a block when it is there and the one before
//            is done, and the next one is on its way meanwhile. Each pair of
//            pieces that see each other is an attention, which is merged with
//            the state before it
//   gather   keys and values of all, one after the other, and then the most
//            that any rank computes
//   ulysses  query, key, value and output, one after the other, and an equal
//            share of all that is computed
//
// Of ranks of one machine, a core that computes copies what comes, too.
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/ExchangeModel.h"
#include "dialect/Plan/Target.h"
#include "lib/Sharding/Annotations.h"

#include <vector>

using namespace mlir;
using namespace mlir::attn;

namespace {
/// What does not depend on how keys are exchanged.
struct Sizes {
  explicit Sizes(AttentionOp op) {
    auto sizeOf = [](ShapedType type, int64_t dim) {
      int64_t size = type.getDimSize(dim);
      return ShapedType::isDynamic(size) ? 1.0 : double(size);
    };
    ShapedType query = op.getQueryType(), key = op.getKeyType();
    auto value = cast<ShapedType>(op.getValue().getType());
    double batch = sizeOf(query, kBatch), heads = sizeOf(query, kHeads),
           keyHeads = sizeOf(key, kHeads),
           bytes = query.getElementTypeBitWidth() / 8.0;
    double ofKey = sizeOf(key, kElements), ofValue = sizeOf(value, kElements);
    // Outputs and log-sum-exps in the type of sums, read and written.
    bytesOfState = 2 * batch * heads * (ofValue + 1) *
                   op.getAccumulationType().getWidth() / 8.0;
    flopsOfPair = 2 * batch * heads * (ofKey + ofValue);
    bytesOfKeyRow = bytes * batch * keyHeads * (ofKey + ofValue);
    bytesOfQueryRow = bytes * batch * heads * (ofKey + ofValue);
    queries = double(getKnownRows(query));
    keys = double(getKnownRows(key));
  }
  /// Of queries, of their outputs too.
  double flopsOfPair, bytesOfKeyRow, bytesOfQueryRow;
  /// What is merged of a query.
  double bytesOfState;
  double queries, keys;
};
} // namespace

static double computeRing(const Sizes &sizes, const RankLoads &loads,
                          const RankSpeeds &speeds) {
  int64_t ranks = loads.numRanks;
  std::vector<double> done(size_t(ranks), 0), there(size_t(ranks), 0);
  for (int64_t step = 0; step < ranks; ++step) {
    std::vector<double> begin(done), next(size_t(ranks), 0);
    for (size_t rank = 0; rank < begin.size(); ++rank)
      begin[rank] = std::max(begin[rank], there[rank]);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      auto self = size_t(rank);
      const RankLoads::Load &load =
          loads.get(rank, (rank + ranks - step) % ranks);
      done[self] = begin[self] +
                   double(load.pairs) * sizes.flopsOfPair / speeds.flops +
                   double(load.pieces) * speeds.kernel;
      // In the order of the rows, a rank's own keys come first.
      if (step > 0 || loads.isZigzag)
        done[self] += double(load.queries) * sizes.bytesOfState / speeds.memory;
      if (step > 0 && load.pieces > 0)
        done[self] += speeds.step;
      if (step + 1 == ranks)
        continue;
      auto sender = size_t((rank + ranks - step - 1) % ranks);
      double rows = double(loads.get(rank, int64_t(sender)).rows);
      if (rows == 0)
        continue;
      double copied = rows * sizes.bytesOfKeyRow / speeds.bandwidth,
             end =
                 std::max(begin[self], begin[sender]) + speeds.latency + copied;
      if (speeds.isShared)
        done[self] += copied;
      next[self] = std::max(next[self], end);
      next[sender] = std::max(next[sender], end);
    }
    there = std::move(next);
  }
  return *llvm::max_element(done);
}

ExchangeTimes attn::computeExchangeTimes(AttentionOp op, const RankLoads &loads,
                                         const RankSpeeds &speeds) {
  Sizes sizes(op);
  int64_t ranks = loads.numRanks;
  double most = 0, all = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    double pairs = 0;
    for (int64_t keeper = 0; keeper < ranks; ++keeper)
      pairs += double(loads.get(rank, keeper).pairs);
    most = std::max(most, pairs);
    all += pairs;
  }
  double others = double(ranks - 1) / double(ranks);
  auto timeOf = [&](int exchanges, double bytes) {
    if (ranks == 1)
      return 0.0;
    return exchanges * (speeds.latency + speeds.step) +
           bytes * others / speeds.bandwidth;
  };
  auto compute = [&](double pairs) {
    return pairs * sizes.flopsOfPair / speeds.flops;
  };
  double ofKeys = sizes.keys * sizes.bytesOfKeyRow,
         ofQueries = sizes.queries * sizes.bytesOfQueryRow;
  return {computeRing(sizes, loads, speeds),
          timeOf(2, ofKeys) + compute(most) +
              (loads.isZigzag ? 2 : 1) * speeds.kernel,
          timeOf(4, (ofKeys + ofQueries) / double(ranks)) +
              compute(all / double(ranks)) + speeds.kernel,
          ofKeys};
}

RankSpeeds attn::getRankSpeeds(AttentionOp op, LinkAttr link) {
  TargetAttr target = getTarget(op);
  double flops = 1e9 * double(target.getLaneGflops() * target.getLanes());
  if (op.getElementType().isBF16() && target.hasPairs())
    flops *= target.getBf16Tiles() ? 4 : 2;
  return {flops,
          1e-9 * double(target.getKernelNs()),
          1e9 * double(target.getMemoryGbs()),
          1e-9 * double(link.getLatencyNs()),
          1e6 * double(link.getBandwidthMbs()),
          1e-9 * double(link.getStepNs()),
          link.getShared()};
}
