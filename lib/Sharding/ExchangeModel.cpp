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
//            is done, and the next one is on its way meanwhile
//   gather   keys and values of all, one after the other, and then the most
//            that any rank computes
//   ulysses  query, key, value and output, one after the other, and an equal
//            share of all that is computed
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/ExchangeModel.h"
#include "dialect/Plan/Target.h"
#include "lib/Sharding/Annotations.h"

#include <vector>

using namespace mlir;
using namespace mlir::attn;

/// What a core of the target does of attention, in a nanosecond, for each lane
/// of f32: a fifth of what two multiplications and additions would be.
static constexpr double kOperationsOfLane = 6;
/// A block of keys of another rank besides what it computes, and any other
/// exchange besides its messages, until ranks that wait have come together.
static constexpr double kSecondsOfStep = 20e-6;

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
    flopsOfPair = 2 * batch * heads * (ofKey + ofValue);
    bytesOfKeyRow = bytes * batch * keyHeads * (ofKey + ofValue);
    bytesOfQueryRow = bytes * batch * heads * (ofKey + ofValue);
    queries = double(getKnownRows(query));
    keys = double(getKnownRows(key));
  }
  /// Of queries, of their outputs too.
  double flopsOfPair, bytesOfKeyRow, bytesOfQueryRow;
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
      double pairs =
          double(loads.get(rank, (rank + ranks - step) % ranks).pairs);
      done[self] = begin[self] + pairs * sizes.flopsOfPair / speeds.flops;
      if (step > 0 && pairs > 0)
        done[self] += kSecondsOfStep;
      if (step + 1 == ranks)
        continue;
      auto sender = size_t((rank + ranks - step - 1) % ranks);
      double rows = double(loads.get(rank, int64_t(sender)).rows);
      if (rows == 0)
        continue;
      double end = std::max(begin[self], begin[sender]) + speeds.latency +
                   rows * sizes.bytesOfKeyRow / speeds.bandwidth;
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
    return exchanges * (speeds.latency + kSecondsOfStep) +
           bytes * others / speeds.bandwidth;
  };
  auto compute = [&](double pairs) {
    return pairs * sizes.flopsOfPair / speeds.flops;
  };
  double ofKeys = sizes.keys * sizes.bytesOfKeyRow,
         ofQueries = sizes.queries * sizes.bytesOfQueryRow;
  return {computeRing(sizes, loads, speeds), timeOf(2, ofKeys) + compute(most),
          timeOf(4, (ofKeys + ofQueries) / double(ranks)) +
              compute(all / double(ranks)),
          ofKeys};
}

RankSpeeds attn::getRankSpeeds(AttentionOp op, LinkAttr link) {
  TargetAttr target = getTarget(op);
  double flops = 1e9 * kOperationsOfLane * double(target.getLanes());
  if (op.getElementType().isBF16() && target.hasPairs())
    flops *= target.getBf16Tiles() ? 4 : 2;
  return {flops, 1e-9 * double(link.getLatencyNs()),
          1e6 * double(link.getBandwidthMbs())};
}
