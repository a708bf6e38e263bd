//===- RankLoads.cpp - What ranks compute and receive ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/RankLoads.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/SymbolicNumber.h"
#include "lib/Sharding/Annotations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kTilesOfPiece = 4;

int64_t attn::getKnownRows(ShapedType type) {
  int64_t rows = type.getDimSize(kRows);
  return ShapedType::isDynamic(rows) ? kUnknownRows : rows;
}

template <typename Op>
TileSight<Op>::TileSight(Op op, int64_t numRanks)
    : op(op), numRanks(numRanks), numPieces(2 * numRanks),
      numQueries(getKnownRows(op.getQueryType())),
      numKeys(getKnownRows(op.getKeyType())) {
  int64_t count = numPieces * kTilesOfPiece;
  for (int64_t tile = 0; tile < count; ++tile) {
    int64_t begin = numQueries * tile / count,
            end = numQueries * (tile + 1) / count, middle = (begin + end) / 2;
    tiles.push_back(
        {end - begin, ask(middle, std::min(middle + 1, end)), ask(begin, end)});
  }
}

template <typename Op>
int64_t TileSight<Op>::getOwner(int64_t piece, bool isZigzag) const {
  if (!isZigzag)
    return piece / 2;
  return std::min(piece, numPieces - 1 - piece);
}

/// In the order of the rows, a rank has one piece, of which only rows that see
/// something are computed.
template <typename Op>
void TileSight<Op>::countPieces(bool isZigzag, RankLoads &loads) const {
  int64_t count = isZigzag ? numPieces : numRanks;
  auto ownerOf = [&](int64_t piece) {
    return isZigzag ? getOwner(piece, isZigzag) : piece;
  };
  int64_t tilesOfPiece = int64_t(tiles.size()) / count;
  for (int64_t ofKeys = 0; ofKeys < count; ++ofKeys)
    for (int64_t ofQueries = 0; ofQueries < count; ++ofQueries) {
      KeySpan keys{numKeys * ofKeys / count, numKeys * (ofKeys + 1) / count};
      int64_t all = 0, seeing = 0;
      for (const Tile &tile : ArrayRef(tiles).slice(
               size_t(ofQueries * tilesOfPiece), size_t(tilesOfPiece))) {
        all += tile.rows;
        if (tile.ofAll.cut(keys).size() > 0)
          seeing += tile.rows;
      }
      if (seeing == 0)
        continue;
      RankLoads::Load &load = loads.get(ownerOf(ofQueries), ownerOf(ofKeys));
      load.pieces += 1;
      load.queries += isZigzag ? all : seeing;
    }
}

template <typename Op> RankLoads TileSight<Op>::getLoads(bool isZigzag) const {
  RankLoads result(numRanks, isZigzag);
  countPieces(isZigzag, result);
  for (int64_t ofKeys = 0; ofKeys < numPieces; ++ofKeys) {
    KeySpan piece{numKeys * ofKeys / numPieces,
                  numKeys * (ofKeys + 1) / numPieces};
    int64_t keeper = getOwner(ofKeys, isZigzag);
    SmallVector<KeySpan> seen(size_t(numRanks),
                              KeySpan{std::numeric_limits<int64_t>::max(), 0});
    for (auto [number, tile] : llvm::enumerate(tiles)) {
      int64_t querier = getOwner(int64_t(number) / kTilesOfPiece, isZigzag);
      result.get(querier, keeper).pairs +=
          tile.rows * tile.ofMiddle.cut(piece).size();
      if (KeySpan keys = tile.ofAll.cut(piece); keys.size() > 0) {
        KeySpan &all = seen[size_t(querier)];
        all = {std::min(all.begin, keys.begin), std::max(all.end, keys.end)};
      }
    }
    for (int64_t querier = 0; querier < numRanks; ++querier)
      result.get(querier, keeper).rows += seen[size_t(querier)].size();
  }
  return result;
}

/// The keys that some rows see.
template <typename Op>
typename TileSight<Op>::KeySpan TileSight<Op>::ask(int64_t begin, int64_t end) {
  if (!op.hasMask() || op.isPacked() || begin >= end)
    return {0, begin < end ? numKeys : 0};
  int64_t offset = op.getBottomRight() ? numKeys - numQueries : 0;
  APInt known;
  if (op.getOffset() && matchPattern(op.getOffset(), m_ConstantInt(&known)))
    offset = known.getSExtValue();
  OpBuilder b(op);
  EmittedCode code(b);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, op.getLoc(), value);
  };
  Value zero = constant(0);
  VisibleKeys keys =
      emitVisibleKeys(b, op.getLoc(), op.getMask(), zero, zero,
                      {constant(offset + begin), constant(offset + end - 1)},
                      constant(numKeys), op.getMaskCaptures());
  auto read = [](Value bound, int64_t otherwise) {
    APInt value;
    return matchPattern(bound, m_ConstantInt(&value)) ? value.getSExtValue()
                                                      : otherwise;
  };
  KeySpan result{read(keys.begin, 0), read(keys.end, numKeys)};
  code.eraseAllBut({});
  return result;
}

template class attn::TileSight<AttentionOp>;
template class attn::TileSight<AttentionBackwardOp>;
