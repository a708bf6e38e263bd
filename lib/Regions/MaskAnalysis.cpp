//===- MaskAnalysis.cpp - Which blocks of keys a mask keeps ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/MaskAnalysis.h"
#include "dialect/AttnOps.h"
#include "lib/Regions/RegionAnalysis.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// There are at most this many rows.
constexpr int64_t kMaxRows = int64_t(1) << 60;
constexpr int64_t kMaxOffset = AttentionOp::kMaxOffset; // A5

IntegerInterval readPositions(SymbolicArithmetic &numbers, IndexRange range) {
  auto read = [&](Value end) {
    return numbers.read(end, -kMaxOffset, kMaxOffset + kMaxRows);
  };
  return {read(range.low), read(range.high)};
}

IntegerInterval readRow(SymbolicArithmetic &numbers, Value row) {
  return numbers.read(row, 0, kMaxRows);
}

RegionAnalysis analyzeTile(SymbolicArithmetic &numbers,
                           KeySetArithmetic &keySets, Region &region,
                           const RegionTile &tile, IntegerInterval keys) {
  RegionAnalysis analysis(numbers, keySets);
  analysis.analyze(region,
                   {readRow(numbers, tile.batch), readRow(numbers, tile.head),
                    readPositions(numbers, tile.positions), keys},
                   tile.captures);
  return analysis;
}

/// Of `keys`, which end before `end`.
VisibleKeys emitKeys(SymbolicArithmetic &numbers, Region &mask,
                     const RegionTile &tile, IntegerInterval keys,
                     SymbolicNumber end) {
  if (mask.empty())
    return {numbers.toIndex(keys.low), numbers.toIndex(end)};
  EmittedCode code(numbers.getBuilder());
  KeySetArithmetic sets(numbers, keys.low, end);
  RegionFact kept = analyzeTile(numbers, sets, mask, tile, keys).getYielded();
  KeySet visible = sets.unite(kept.canBeTrue, kept.undefined);
  // An empty set may lie anywhere.
  SymbolicNumber low = numbers.min(visible.low, end);
  SymbolicNumber high = numbers.max(visible.high, low);
  VisibleKeys result{numbers.toIndex(low), numbers.toIndex(high),
                     kept.canBeTrue.hasGaps};
  code.eraseAllBut({result.begin, result.end});
  return result;
}

} // namespace

BlockVerdict mlir::attn::emitBlockVerdict(OpBuilder &builder, Location loc,
                                          Region &mask,
                                          const RegionTile &tile) {
  EmittedCode code(builder);
  SymbolicArithmetic numbers(builder, loc);
  if (mask.empty())
    return {numbers.toI1(false), numbers.toI1(true)};
  IntegerInterval keys(numbers.read(tile.keys.low, 0, kMaxRows),
                       numbers.read(tile.keys.high, 0, kMaxRows));
  KeySetArithmetic sets(numbers, keys.low, *numbers.add(keys.high, 1));
  RegionFact kept = analyzeTile(numbers, sets, mask, tile, keys).getYielded();
  SymbolicFlag isDefined = sets.isEmpty(kept.undefined);
  auto isNever = [&](const KeySet &keys) {
    return numbers.toI1(numbers.both(isDefined, sets.isEmpty(keys)));
  };
  BlockVerdict verdict{isNever(kept.canBeTrue), isNever(kept.canBeFalse)};
  code.eraseAllBut({verdict.isEmpty, verdict.isFull});
  return verdict;
}

VisibleKeys mlir::attn::emitVisibleKeys(OpBuilder &builder, Location loc,
                                        Region &mask, Value batch, Value head,
                                        IndexRange positions, Value keyCount,
                                        ValueRange captures) {
  SymbolicArithmetic numbers(builder, loc);
  SymbolicNumber end = numbers.read(keyCount, 0, kMaxRows);
  return emitKeys(numbers, mask,
                  {batch, head, positions, /*keys=*/{}, captures},
                  {0, *numbers.add(end, -1)}, end);
}

VisibleKeys mlir::attn::emitVisibleKeys(OpBuilder &builder, Location loc,
                                        Region &mask, const RegionTile &tile) {
  SymbolicArithmetic numbers(builder, loc);
  IntegerInterval keys(numbers.read(tile.keys.low, 0, kMaxRows),
                       numbers.read(tile.keys.high, 0, kMaxRows));
  return emitKeys(numbers, mask, tile, keys, *numbers.add(keys.high, 1));
}

SmallVector<Operation *>
mlir::attn::findUnknownConditions(OpBuilder &builder, Location loc,
                                  Region &mask, ValueRange captures) {
  Block any;
  auto getAny = [&] { return any.addArgument(builder.getIndexType(), loc); };
  EmittedCode code(builder);
  RegionTile tile{
      getAny(), getAny(), {getAny(), getAny()}, {getAny(), getAny()}, captures};
  SymbolicArithmetic numbers(builder, loc);
  IntegerInterval keys(numbers.read(tile.keys.low, 0, kMaxRows),
                       numbers.read(tile.keys.high, 0, kMaxRows));
  KeySetArithmetic sets(numbers, keys.low, *numbers.add(keys.high, 1));
  RegionAnalysis analysis = analyzeTile(numbers, sets, mask, tile, keys);
  SmallVector<Operation *> unknown = analysis.findUnknownConditions(mask);
  code.eraseAllBut({});
  return unknown;
}

Value mlir::attn::emitIsDefined(OpBuilder &builder, Location loc,
                                Region &region, const RegionTile &tile,
                                Operation **unproven) {
  EmittedCode code(builder);
  SymbolicArithmetic numbers(builder, loc);
  if (region.empty())
    return numbers.toI1(true);
  IntegerInterval keys(numbers.read(tile.keys.low, 0, kMaxRows),
                       numbers.read(tile.keys.high, 0, kMaxRows));
  KeySetArithmetic sets(numbers, keys.low, *numbers.add(keys.high, 1));
  RegionAnalysis analysis = analyzeTile(numbers, sets, region, tile, keys);
  if (unproven)
    *unproven = analysis.getUnprovenOperation();
  Value isDefined =
      numbers.toI1(sets.isEmpty(analysis.getUndefinedOperations()));
  code.eraseAllBut(isDefined);
  return isDefined;
}
