//===- VectorizeDots.cpp - Products of rows with few rows -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// C[m,n] += A[m,k] * B[n,k] with few n: both operands are contiguous along k,
// so that vectors are of k, and what is left in their lanes is summed at the
// end, for as many sums at once as a vector has lanes. A comes from memory: of
// each row, a step reads 64 bytes, a line, or a few if it is one row's alone.
// The elements that are left, of rows of no whole vectors, are those of a
// vector whose others are 0.
//
// Of i8 and i32, an instruction multiplies four elements of A for each lane, as
// unsigned, with as many of B. So A is taken to have 128 more in each element,
// and the sum of a row of B, 128 times, is subtracted in the end.
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/CPU/LinalgToVector/Lanes.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"
#include "lib/Memory/PrefetchShares.h"
#include "lib/Plan/BlockKeys.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

class DotLoops {
public:
  DotLoops(OpBuilder &b, linalg::LinalgOp op, int64_t width)

      : b(op.getLoc(), b), a(op.getDpsInputOperand(0)->get()),
        rhs(op.getDpsInputOperand(1)->get()), c(op.getDpsInitOperand(0)->get()),
        type(cast<MemRefType>(c.getType()).getElementType()), width(width),
        numColumns(cast<MemRefType>(c.getType()).getDimSize(1)),
        paddedColumns(llvm::PowerOf2Ceil(numColumns)),
        length(cast<MemRefType>(rhs.getType()).getDimSize(1)),
        mostRows(getMost(c, 0)), ofIntegers(type.isInteger()),
        depth(ofIntegers ? 4 * width : width), whole(length / depth * depth) {
    if (mostRows > 0)
      shares = PrefetchShares(op);
    if (ofIntegers)
      return;
    Type typeOfA = cast<MemRefType>(a.getType()).getElementType();
    int64_t bits = typeOfA.getIntOrFloatBitWidth();
    vectorsPerStep = std::max<int64_t>(1, 32 / bits);
    if (!shares.empty() && bits > 8 &&
        CacheModel(getTarget(op))
            .readsRowsInTurn(length * bits / 8,
                             countProducts(typeOfA, numColumns))) {
      rowsTogether = 1;
      vectorsPerStep = 2 * mostVectors; // One row's alone leave little to do.
    }
    while (whole % (vectorsPerStep * width) != 0 && vectorsPerStep > 1)
      vectorsPerStep /= 2;
    isSplit = canSplit(typeOfA) && vectorsPerStep % 2 == 0;
  }

  void emit() {
    if (isSplit)
      splitRows();
    if (ofIntegers)
      excess = emitExcess();
    Value numRows = memref::DimOp::create(b, c, 0);
    int64_t rowsPerBlock = width / paddedColumns;
    if (mostRows > 0)
      rowsPerBlock =
          std::min(rowsPerBlock, int64_t(llvm::bit_floor(uint64_t(mostRows))));
    Value rest = b.rem(numRows, rowsPerBlock);
    Value end = b.sub(numRows, rest);
    emitLoop(b.index(0), end, rowsPerBlock);
    if (rowsPerBlock > 1)
      emitLoop(end, numRows, 1);
    shares.erase();
  }

private:
  Value add(Value value, int64_t addend) {
    if (addend == 0)
      return value;
    return b.add(value, addend);
  }

  /// Replaces B by a copy in the order of split vectors.
  void splitRows() {
    Value copy = allocateForThread(b, b.getLoc(),
                                   MemRefType::get({numColumns, length}, type));
    for (int64_t row = 0; row < numColumns; ++row) {
      b.loop(0, whole, 2 * width, [&](Value k) {
        Value i = b.index(row), next = add(k, width);
        auto [even, odd] = splitLanes(b, load(rhs, i, k), load(rhs, i, next));
        vector::StoreOp::create(b, even, copy, ValueRange{i, k});
        vector::StoreOp::create(b, odd, copy, ValueRange{i, next});
      });
      if (whole < length) {
        Value at[] = {b.index(row), b.index(whole)};
        auto rest = VectorType::get(length - whole, type);
        vector::StoreOp::create(b, vector::LoadOp::create(b, rest, rhs, at),
                                copy, at);
      }
    }
    rhs = copy;
  }

  void emitLoop(Value lower, Value upper, int64_t numRows) {
    int64_t together = std::min(numRows, rowsTogether);
    shares.cut(b, b.index(int64_t(llvm::divideCeil(mostRows, together)) *
                          (whole / stepSize())));
    b.loop(lower, upper, numRows, [&](Value row) {
      SmallVector<Value> rows, products;
      for (int64_t i = 0; i < numRows; ++i)
        rows.push_back(add(row, i));
      for (int64_t i = 0; i < numRows; i += together)
        products.append(
            emitProducts(ArrayRef(rows).slice(size_t(i), size_t(together))));
      emitStores(rows, sumLanes(products));
    });
  }

  /// A vector of products for each row and column, in this order.
  SmallVector<Value> emitProducts(ArrayRef<Value> rows) {
    SmallVector<Value> zeros(rows.size() * numColumns,
                             b.zero(VectorType::get(width, type)));
    auto emitStep = [&](Value k, ValueRange so) {
      SmallVector<Value> sums(so);
      for (int64_t first = 0; first < vectorsPerStep; first += mostVectors) {
        SmallVector<SmallVector<Value>> ofA;
        for (Value row : rows)
          ofA.push_back(loadVectors(row, add(k, first * depth)));
        if (first == 0)
          emitShare(rows, k);
        for (size_t i = 0; i < ofA.front().size(); ++i)
          for (int64_t column = 0; column < numColumns; ++column) {
            Value y = load(rhs, b.index(column), add(k, (first + i) * depth));
            for (auto [row, x] : llvm::enumerate(ofA)) {
              Value &sum = sums[row * numColumns + column];
              sum = multiplyAndAdd(x[i], y, sum);
            }
          }
      }
      return sums;
    };
    SmallVector<Value> sums = b.loop(0, whole, stepSize(), zeros, emitStep);
    if (whole < length)
      for (int64_t column = 0; column < numColumns; ++column) {
        Value y = loadRest(rhs, b.index(column));
        for (auto [i, row] : llvm::enumerate(rows)) {
          Value &sum = sums[i * numColumns + column];
          sum = multiplyAndAdd(loadRest(a, row), y, sum);
        }
      }
    return sums;
  }

  /// Fetches the share of the step of a block of rows at `k`.
  void emitShare(ArrayRef<Value> rows, Value k) {
    Value block = b.div(rows.front(), int64_t(rows.size())),
          step = b.div(k, stepSize()), first = b.mul(block, whole / stepSize());
    shares.emit(b, b.add(first, step));
  }
  /// Elements of a row that a step multiplies.
  int64_t stepSize() const { return vectorsPerStep * depth; }

  Value multiplyAndAdd(Value x, Value y, Value sum) {
    if (!ofIntegers)
      return vector::FMAOp::create(b, x, y, sum);
    StringRef name = width == 16 ? "llvm.x86.avx512.vpdpbusd.512"
                                 : "llvm.x86.avx512.vpdpbusd.256";
    return LLVM::CallIntrinsicOp::create(
               b, sum.getType(), b.getStringAttr(name), ValueRange{sum, x, y})
        .getResult(0);
  }

  /// 128 in each element, as unsigned numbers: the sign bit of signed ones.
  Value bias() {
    auto lanes = VectorType::get(depth, b.getI8Type());
    return arith::ConstantOp::create(
        b, lanes, DenseElementsAttr::get(lanes, b.getI8IntegerAttr(-128)));
  }

  /// 128 times the sum of each row of B, in the lanes that products with it end
  /// up in.
  Value emitExcess() {
    SmallVector<Value> zeros(numColumns, b.zero(VectorType::get(width, type)));
    Value ofA = bias();
    return sumLanes(
        b.loop(0, length, depth, zeros, [&](Value k, ValueRange so) {
          SmallVector<Value> sums;
          for (auto [column, sum] : llvm::enumerate(so))
            sums.push_back(multiplyAndAdd(
                ofA, load(rhs, b.index(int64_t(column)), k), sum));
          return sums;
        }));
  }

  /// The next vectors of a row of A that a step multiplies.
  SmallVector<Value> loadVectors(Value row, Value k) {
    if (isSplit) {
      auto [even, odd] = loadSplit(b, a, {row, k}, width);
      return {even, odd};
    }
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < std::min(vectorsPerStep, mostVectors); ++i)
      vectors.push_back(load(a, row, add(k, i * depth)));
    if (ofIntegers)
      for (Value &elements : vectors)
        elements = arith::XOrIOp::create(b, elements, bias());
    return vectors;
  }

  Value load(Value buffer, Value row, Value k) {
    Type from = cast<MemRefType>(buffer.getType()).getElementType();
    Value lanes = vector::LoadOp::create(b, VectorType::get(depth, from),
                                         buffer, ValueRange{row, k});
    return from == type || ofIntegers ? lanes : widenLanes(b, lanes, type);
  }

  /// The elements of a row that are left, beside zeros.
  Value loadRest(Value buffer, Value row) {
    Type from = cast<MemRefType>(buffer.getType()).getElementType();
    auto part = VectorType::get(length - whole, from);
    Value rest = vector::LoadOp::create(b, part, buffer,
                                        ValueRange{row, b.index(whole)});
    if (from != type)
      rest = widenLanes(b, rest, type);
    return vector::InsertStridedSliceOp::create(
        b, rest, b.zero(VectorType::get(width, type)), ArrayRef<int64_t>{0},
        ArrayRef<int64_t>{1});
  }

  /// One vector with the sum of the lanes of vector `row * numColumns + column`
  /// in lane `row * paddedColumns + column`.
  Value sumLanes(ArrayRef<Value> products) {
    SmallVector<Value> vectors;
    for (auto [i, product] : llvm::enumerate(products)) {
      vectors.push_back(product);
      if ((int64_t(i) + 1) % numColumns == 0)
        vectors.append(paddedColumns - numColumns, product); // Of no meaning.
    }
    int64_t group = 1; // Lanes that hold the sums of different vectors.
    for (; vectors.size() > 1; group *= 2) {
      SmallVector<Value> merged;
      for (size_t i = 0; i < vectors.size(); i += 2)
        merged.push_back(merge(vectors[i], vectors[i + 1], group));
      vectors = merged;
    }
    Value sums = vectors.front();
    for (; group < width; group *= 2)
      sums = merge(sums, sums, group);
    return sums;
  }

  /// Adds groups of lanes two by two, and puts sums of x before sums of y: of
  /// each 128 bits those of the first half to those of the second, as registers
  /// are unpacked; then each of these to the next, two of x before two of y.
  /// Other pairs would take shuffles of any lanes, which cost more.
  Value merge(Value x, Value y, int64_t group) {
    int64_t part = 128 / int64_t(type.getIntOrFloatBitWidth());
    SmallVector<int64_t> first, second;
    auto append = [&](int64_t number, int64_t lane, int64_t distance,
                      int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        first.push_back(number * width + lane + i);
        second.push_back(number * width + lane + distance + i);
      }
    };
    if (group < part) {
      for (int64_t lane = 0; lane < width; lane += part)
        for (int64_t i = 0; i < part / 2; i += group)
          for (int64_t number : {0, 1})
            append(number, lane + i, part / 2, group);
    } else {
      for (int64_t number : {0, 1})
        for (int64_t lane = 0; lane < width; lane += 2 * part)
          append(number, lane, part, part);
    }
    return add(vector::ShuffleOp::create(b, x, y, first),
               vector::ShuffleOp::create(b, x, y, second));
  }

  Value add(Value x, Value y) {
    if (ofIntegers)
      return b.add(x, y);
    return arith::AddFOp::create(b, x, y);
  }

  void emitStores(ArrayRef<Value> rows, Value sums) {
    if (ofIntegers)
      sums = b.sub(sums, excess);
    auto rowType = VectorType::get(numColumns, type);
    for (auto [i, row] : llvm::enumerate(rows)) {
      Value part = vector::ExtractStridedSliceOp::create(
          b, sums, ArrayRef<int64_t>{int64_t(i) * paddedColumns},
          ArrayRef<int64_t>{numColumns}, ArrayRef<int64_t>{1});
      SmallVector<Value> indices = {row, b.index(0)};
      Value before = vector::LoadOp::create(b, rowType, c, indices);
      vector::StoreOp::create(b, add(before, part), c, indices);
    }
  }

  /// Vectors of a row of A that are in registers at once. More would spill.
  static constexpr int64_t mostVectors = 2;

  IndexBuilder b;
  Value a, rhs, c;
  Type type;
  int64_t width;
  int64_t numColumns, paddedColumns, length;
  int64_t mostRows; ///< 0: any number.
  PrefetchShares shares;
  /// Rows of A that are read beside each other. Enough sums for none to wait
  /// for another, and no more streams than a processor's own prefetchers
  /// follow.
  int64_t rowsTogether = 4;
  bool ofIntegers;
  int64_t depth;              ///< Elements of a row in a vector.
  int64_t whole;              ///< Elements of a row in whole vectors.
  Value excess;               ///< In the sums of integers.
  int64_t vectorsPerStep = 1; ///< Of a row of A.
  bool isSplit = false;       ///< They are the even and the odd elements.
};

} // namespace

/// Whether `op`, a sum of products, has that form.
static bool isDots(linalg::LinalgOp op, const ContractionTarget &target) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (op.getNumLoops() != 3 || op.getNumDpsInputs() != 2 ||
      !llvm::all_of(maps, [](AffineMap map) {
        return map.isProjectedPermutation() && map.getNumResults() == 2;
      }))
    return false;
  unsigned m = maps[2].getDimPosition(0), n = maps[2].getDimPosition(1),
           k = 3 - m - n;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  if (iterators[k] != utils::IteratorType::reduction)
    return false;
  auto is = [](AffineMap map, unsigned row, unsigned column) {
    return map.getDimPosition(0) == row && map.getDimPosition(1) == column;
  };
  auto a = cast<MemRefType>(op.getDpsInputOperand(0)->get().getType());
  auto b = cast<MemRefType>(op.getDpsInputOperand(1)->get().getType());
  auto c = cast<MemRefType>(op.getDpsInitOperand(0)->get().getType());
  int64_t width = target.registers.getWidth(c.getElementTypeBitWidth());
  bool ofIntegers = c.getElementType().isInteger(32) && target.i8Dot &&
                    (width == 8 || width == 16);
  bool ofF64 = c.getElementType().isF64();
  auto isVector = [&](MemRefType type) {
    Type element = type.getElementType();
    return isContiguousAlongRows(type) &&
           (ofIntegers ? element.isInteger(8)
            : ofF64    ? element.isF64()
                       : element.isF32() || isNarrow(element));
  };
  int64_t columns = c.getDimSize(1), length = b.getDimSize(1),
          depth = ofIntegers ? 4 * width : width;
  return is(maps[0], m, k) && is(maps[1], n, k) && isVector(a) && isVector(b) &&
         isContiguousAlongRows(c) &&
         (ofIntegers || ofF64 || c.getElementType().isF32()) &&
         !ShapedType::isDynamic(columns) && columns >= 1 && columns <= width &&
         !ShapedType::isDynamic(length) && length >= depth &&
         (length % depth == 0 || !ofIntegers);
}

LogicalResult attn::vectorizeDots(RewriterBase &rewriter, linalg::LinalgOp op,
                                  const ContractionTarget &target) {
  if (!isDots(op, target))
    return failure();
  rewriter.setInsertionPoint(op);
  auto c = cast<MemRefType>(op.getDpsInitOperand(0)->get().getType());
  DotLoops(rewriter, op, target.registers.getWidth(c.getElementTypeBitWidth()))
      .emit();
  rewriter.eraseOp(op);
  return success();
}
