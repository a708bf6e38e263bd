//===- BlockRangeLowering.cpp - attn.block_range as vector code -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   for rows of blocks, in parallel           all dimensions but the last
//     for blocks of the row                   the last dimension
//       for elements of the block             vectors, then single elements
//         low = min(low, element), high = max(high, element)
//

#include "lib/CPU/AttnToVector/AttnToVector.h"
#include "lib/CPU/AttnToVector/CapturedTiles.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// A thread gets rows with at least about this many elements, which take some
/// microseconds.
constexpr int64_t kElementsPerThread = 1 << 16;

class BlockRangeLowering {
public:
  BlockRangeLowering(BlockRangeOp op, TargetAttr target)
      : b(op, target, 1), isFlag(isOfFlags(op.getTable())),
        table(viewAsBytes(b, op.getTable())), low(viewAsBytes(b, op.getLow())),
        high(viewAsBytes(b, op.getHigh())), blocks(op.getBlocks()),
        type(cast<MemRefType>(table.getType())),
        elementType(type.getElementType()), comparedType(elementType),
        rank(type.getRank()) {
    if (isFloat() && getWidth() < 32)
      comparedType = b.getF32Type();
    if (type.isLastDimUnitStride() && !elementType.isIndex() &&
        hasVectorLayout(elementType)) {
      // Powers of two that divide a block.
      int64_t width =
          target.getVectorBits() / comparedType.getIntOrFloatBitWidth();
      lanes = std::min(int64_t(llvm::bit_floor(uint64_t(width))),
                       blocks.back() & -blocks.back());
    }
  }

  void lower() {
    Value one = b.index(1), elements = getSize(rank - 1), rows = one;
    for (int64_t dim = 0; dim + 1 < rank; ++dim) {
      counts.push_back(b.createOrFold<memref::DimOp>(low, dim));
      rows = b.mulI(rows, counts.back());
      elements = b.mulI(elements, blocks[dim]);
    }
    Value step = b.divUI(b.index(kElementsPerThread), b.maxSI(elements, one));
    step = b.maxSI(step, one);
    auto threads = b.create<scf::ForallOp>(
        ArrayRef<OpFoldResult>{b.getIndexAttr(0)}, ArrayRef<OpFoldResult>{rows},
        ArrayRef<OpFoldResult>{step}, ValueRange(),
        /*mapping=*/std::nullopt);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(threads.getBody());
    Value first = threads.getInductionVar(0);
    Value end = b.minSI(rows, b.addI(first, step));
    b.loop(first, end, 1, [&](Value row) { lowerRow(row); });
  }

private:
  /// The elements [begin, end) of a dimension.
  struct Range {
    Value begin, end;
  };

  static bool isOfFlags(Value memref) {
    return cast<MemRefType>(memref.getType()).getElementType().isInteger(1);
  }

  Value getSize(int64_t dim) {
    return b.createOrFold<memref::DimOp>(table, dim);
  }

  Range getBlock(int64_t dim, Value number) {
    Value size = b.index(blocks[dim]);
    Value begin = b.mulI(number, size);
    Value end = b.addI(begin, size);
    return {begin, b.minSI(end, getSize(dim))};
  }

  void lowerRow(Value row) {
    SmallVector<Value> numbers(counts.size());
    SmallVector<Range> ranges(counts.size());
    for (int64_t dim = rank - 2; dim >= 0; --dim) {
      numbers[dim] = b.remUI(row, counts[dim]);
      row = b.divUI(row, counts[dim]);
      ranges[dim] = getBlock(dim, numbers[dim]);
    }
    Value blocksOfRow = b.createOrFold<memref::DimOp>(low, rank - 1);
    numbers.push_back(nullptr);
    ranges.emplace_back();
    b.loop(0, blocksOfRow, 1, [&](Value number) {
      numbers.back() = number;
      ranges.back() = getBlock(rank - 1, number);
      lowerBlock(numbers, ranges);
    });
  }

  void lowerBlock(ValueRange numbers, ArrayRef<Range> ranges) {
    SmallVector<Value> state = {largest(comparedType), smallest(comparedType)};
    if (lanes > 1) {
      VectorType vector = VectorType::get(lanes, comparedType);
      state.append({largest(vector), smallest(vector)});
    }
    state = lowerElements({}, ranges, state);
    if (lanes > 1) {
      using vector::CombiningKind;
      state[0] =
          b.create<vector::ReductionOp>(isFloat() ? CombiningKind::MINIMUMF
                                        : isFlag  ? CombiningKind::MINUI
                                                  : CombiningKind::MINSI,
                                        state[2], state[0]);
      state[1] =
          b.create<vector::ReductionOp>(isFloat() ? CombiningKind::MAXIMUMF
                                        : isFlag  ? CombiningKind::MAXUI
                                                  : CombiningKind::MAXSI,
                                        state[3], state[1]);
    }
    for (auto [out, value] : {std::pair(low, state[0]), {high, state[1]}}) {
      // Any number that is not 0 is true.
      if (isFlag)
        value = b.create<arith::MinUIOp>(value, b.integer(elementType, 1));
      if (comparedType != elementType) // Which it came from.
        value = b.create<arith::TruncFOp>(elementType, value);
      b.create<memref::StoreOp>(value, out, numbers);
    }
  }

  /// The state is low and high of single elements, then of lanes.
  SmallVector<Value> lowerElements(ArrayRef<Value> outer,
                                   ArrayRef<Range> ranges, ValueRange state) {
    Range range = ranges[outer.size()];
    SmallVector<Value> indices(outer);
    indices.emplace_back();
    if (int64_t(indices.size()) < rank)
      return b.loop(range.begin, range.end, 1, state,
                    [&](Value i, ValueRange carried) {
                      indices.back() = i;
                      return lowerElements(indices, ranges, carried);
                    });

    Value whole = range.begin;
    SmallVector<Value> vectors(state.drop_front(2));
    if (lanes > 1) {
      Value count = b.subI(range.end, range.begin);
      Value rest = b.remUI(count, lanes);
      whole = b.subI(range.end, rest);
      VectorType vector = VectorType::get(lanes, elementType);
      vectors = b.loop(
          range.begin, whole, lanes, vectors, [&](Value i, ValueRange carried) {
            indices.back() = i;
            return include(b.create<vector::LoadOp>(vector, table, indices),
                           carried);
          });
    }
    SmallVector<Value> result = b.loop(
        whole, range.end, 1, state.take_front(2),
        [&](Value i, ValueRange carried) {
          indices.back() = i;
          return include(b.create<memref::LoadOp>(table, indices), carried);
        });
    result.append(vectors);
    return result;
  }

  SmallVector<Value> include(Value element, ValueRange state) {
    if (comparedType != elementType)
      element = b.create<arith::ExtFOp>(state[0].getType(), element);
    if (isFloat())
      return {b.create<arith::MinimumFOp>(state[0], element),
              b.create<arith::MaximumFOp>(state[1], element)};
    if (isFlag)
      return {b.create<arith::MinUIOp>(state[0], element),
              b.create<arith::MaxUIOp>(state[1], element)};
    return {b.create<arith::MinSIOp>(state[0], element),
            b.create<arith::MaxSIOp>(state[1], element)};
  }

  unsigned getWidth() {
    return elementType.isIndex() ? IndexType::kInternalStorageBitWidth
                                 : elementType.getIntOrFloatBitWidth();
  }
  bool isFloat() const { return isa<FloatType>(elementType); }
  Value largest(Type type) {
    if (isFloat())
      return b.number(type, std::numeric_limits<double>::infinity());
    return b.integer(type, isFlag ? -1 : llvm::maxIntN(getWidth()));
  }
  Value smallest(Type type) {
    if (isFloat())
      return b.number(type, -std::numeric_limits<double>::infinity());
    return b.integer(type, isFlag ? 0 : llvm::minIntN(getWidth()));
  }

  LaneBuilder b;
  /// Of i1, elements are bytes.
  bool isFlag;
  Value table, low, high;
  ArrayRef<int64_t> blocks;
  MemRefType type;
  Type elementType;
  Type comparedType; ///< f32 for narrower floats.
  int64_t rank, lanes = 1;
  /// Blocks in each dimension but the last.
  SmallVector<Value> counts;
};

} // namespace

LogicalResult attn::lowerBlockRange(BlockRangeOp op, TargetAttr target) {
  for (Value operand : op->getOperands())
    if (!isa<MemRefType>(operand.getType()))
      return op.emitOpError()
             << "is lowered on memrefs only, got " << operand.getType();
  BlockRangeLowering(op, target).lower();
  op.erase();
  return success();
}
