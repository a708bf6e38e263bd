//===- LaneContractions.cpp - Contractions of matrices by lanes -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/VectorToLanes/Conversions.h"
#include "lib/GPU/VectorToLanes/LaneTransfers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Products of matrices by warps
//===----------------------------------------------------------------------===//

namespace {

/// Factors of f16 or bf16. N and K are multiples of 16.
struct ProductFactors {
  /// (M, K) as a fragment, or as pairs of one where products are transposed, or
  /// in workgroup memory.
  SmallVector<Value> lhsElements, lhsPairs;
  Value lhs;
  /// In workgroup memory: (N, K) if it is transposed, else (K, N).
  Value rhs;
  bool isTransposed = false;
};

/// Products of mma.sync m16n8k16, whose second factor ldmatrix loads for two of
/// them at a time, 16 columns of 16 rows, and for all rows of a warp. Where
/// they are transposed, it is their first factor, of one of them.
class ProductEmitter {
public:
  ProductEmitter(LaneValues &lanes, const ProductFactors &factors)
      : lanes(lanes), b(lanes.b), factors(factors),
        rhsType(cast<MemRefType>(factors.rhs.getType())),
        element(rhsType.getElementType()) {
    auto [ofLhs, ofRhs] = emitOffsets();
    rhs = emitView(factors.rhs, ofRhs);
    if (factors.lhs)
      lhs = emitView(factors.lhs, ofLhs);
  }

  /// Adds the product to `sums`, a fragment (M, N) of f32.
  SmallVector<Value> emit(ArrayRef<Value> sums) {
    SmallVector<Value> results(sums);
    int64_t columns = int64_t(sums.size()) / lanes.getElementsOfBlock() * 8;
    int64_t depth = rhsType.getDimSize(factors.isTransposed ? 1 : 0);
    for (int64_t k = 0; k < depth; k += 16) {
      if (lanes.isTransposed) {
        emitTransposed(k, results);
        continue;
      }
      SmallVector<SmallVector<Value>> first;
      for (int64_t row = 0; row < lanes.laneRows; row += 2)
        first.push_back(getRows(row, k));
      for (int64_t n = 0; n < columns; n += 16) {
        Value tiles = loadRhs(n, k);
        for (int64_t half : {0, 1})
          for (auto [i, rows] : llvm::enumerate(first)) {
            int64_t pair = lanes.getPair(2 * int64_t(i), n / 8 + half);
            multiply(rows, getRegisters(tiles, {2 * half, 2 * half + 1}),
                     MutableArrayRef(results).slice(pair, 4));
          }
      }
    }
    return results;
  }

private:
  /// What 16 rows of the second factor, and as many elements of each row of the
  /// first one, add to all sums.
  void emitTransposed(int64_t k, MutableArrayRef<Value> sums) {
    SmallVector<Value> rows;
    if (factors.lhs)
      rows = getRegisters(load(lhs, 0, k, /*transpose=*/false), {0, 2});
    else
      for (Value pair : ArrayRef(factors.lhsPairs).slice(k / 8, 2))
        rows.push_back(toRegister(pair));
    constexpr int64_t kSums = 4, kColumns = 16;
    for (int64_t n = 0; !sums.empty(); n += kColumns) {
      multiply(getRegisters(loadRhs(n, k), {0, 1, 2, 3}), rows,
               sums.take_front(kSums));
      sums = sums.drop_front(kSums);
    }
  }

  /// Some of the matrices that ldmatrix has loaded.
  SmallVector<Value> getRegisters(Value tiles, ArrayRef<int64_t> numbers) {
    return llvm::map_to_vector(numbers, [&](int64_t number) {
      return toRegister(vector::ExtractOp::create(b, tiles, number));
    });
  }

  /// The four registers of a first factor: the lane's rows `row` and `row + 1`
  /// of columns k to k + 7, then of the next eight.
  SmallVector<Value> getRows(int64_t row, int64_t k) {
    SmallVector<Value> result;
    if (factors.lhs)
      return getRegisters(load(lhs, 8 * row, k, /*transpose=*/false),
                          {0, 1, 2, 3});
    for (int64_t columns : {k / 8, k / 8 + 1})
      for (int64_t half : {0, 1})
        result.push_back(toRegister(vector::FromElementsOp::create(
            b, VectorType::get({2}, element),
            ArrayRef(factors.lhsElements)
                .slice(lanes.getPair(row + half, columns), 2))));
    return result;
  }

  /// Pairs of bf16 are i32 to mma.sync.
  Value toRegister(Value pair) {
    if (element.isF16())
      return pair;
    return LLVM::BitcastOp::create(b, b.getI32Type(), pair);
  }

  Value loadRhs(int64_t n, int64_t k) {
    if (factors.isTransposed)
      return load(rhs, n, k, /*transpose=*/false);
    return load(rhs, k, n, /*transpose=*/true);
  }

  Value load(Value memory, int64_t row, int64_t column, bool transpose) {
    return nvgpu::LdMatrixOp::create(
        b, VectorType::get({4, 2}, element), memory,
        ValueRange{b.index(row), b.index(column)}, transpose,
        /*numTiles=*/4);
  }

  /// Where the rows of both factors begin whose addresses this lane has. Found
  /// at the start of the launch, for the products of all branches: in them,
  /// each would be a sum of its own, which no pass hoists.
  std::pair<Value, Value> emitOffsets() {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(lanes.index.lane);
    // Lanes 8 * i to 8 * i + 7 have the addresses of the rows of matrix i.
    Value eight = b.index(8), two = b.index(2);
    Value row = b.rem(lanes.index.lane, eight);
    Value matrix = b.div(lanes.index.lane, eight);
    Value inner = b.mul(b.rem(matrix, two), eight);
    Value outer = b.mul(b.div(matrix, two), eight);
    auto getOffset = [&](Value tile, Value row, Value column) {
      auto [strides, offset] =
          cast<MemRefType>(tile.getType()).getStridesAndOffset();
      return b.add(b.mul(row, strides[0]), column);
    };
    // Of what is the first operand of products, matrix 1 is along their rows,
    // of the second one along k. An order of its own would take copies.
    Value alongK = lanes.isTransposed ? outer : inner,
          alongN = lanes.isTransposed ? inner : outer;
    Value ofLhs,
        ofRhs = factors.isTransposed
                    ? getOffset(factors.rhs, b.add(alongN, row), alongK)
                    : getOffset(factors.rhs, b.add(alongK, row), alongN);
    Value warp = b.div(lanes.index.thread, kLanesOfWarp);
    Value rowOfLhs = b.add(b.mul(warp, lanes.warpRows), b.add(inner, row));
    if (factors.lhs)
      ofLhs = getOffset(factors.lhs, rowOfLhs, outer);
    return {ofLhs, ofRhs};
  }

  /// A view of a tile that begins with an element of it.
  Value emitView(Value tile, Value offset) {
    auto type = cast<MemRefType>(tile.getType());
    auto [strides, ofTile] = type.getStridesAndOffset();
    // What no iteration changes is the first term, which is added to the
    // pointer before a loop.
    offset = b.add(
        offset, memref::ExtractStridedMetadataOp::create(b, tile).getOffset());
    auto layout =
        StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, strides);
    auto own = MemRefType::get(type.getShape(), type.getElementType(), layout,
                               type.getMemorySpace());
    return memref::ReinterpretCastOp::create(
        b, own, tile, OpFoldResult(offset),
        getAsIndexOpFoldResult(b.getContext(), type.getShape()),
        getAsIndexOpFoldResult(b.getContext(), strides));
  }

  void multiply(ArrayRef<Value> first, ArrayRef<Value> second,
                MutableArrayRef<Value> sums) {
    Type f32 = b.getF32Type();
    auto type =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
    auto kind = element.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
    Value product = NVVM::MmaOp::create(
        b, type, first, second, ArrayRef<Value>(sums), {16, 8, 16},
        /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
        std::array{kind, kind},
        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = LLVM::ExtractValueOp::create(b, product, int64_t(i));
  }

  LaneValues &lanes;
  IndexBuilder &b;
  const ProductFactors &factors;
  MemRefType rhsType;
  Type element;
  /// Views of the factors that begin with the first row whose address this lane
  /// has; that of the first one is null if it is in registers.
  Value lhs, rhs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Products of matrices by warpgroups
//===----------------------------------------------------------------------===//

/// The descriptor of a matrix in panels (PTX ISA 8.5, 9.7.15.5.1.2), from a
/// multiple of eight rows on: where it begins, and how far panels, and eight
/// rows of one, are apart. All are in units of 16 bytes.
static Value emitDescriptor(IndexBuilder &b, Value panels,
                            Value firstRow = nullptr) {
  constexpr int64_t kUnit = 16, kBytesOfRow = 128, kSwizzle128 = 1;
  int64_t rows = cast<MemRefType>(panels.getType()).getDimSize(1);
  int64_t ofPanel = rows * kBytesOfRow / kUnit;
  constexpr int64_t kOfEightRows = 8 * kBytesOfRow / kUnit;
  auto parts = memref::ExtractStridedMetadataOp::create(b, panels);
  Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(b, panels);
  Value address = b.add(pointer, b.mul(parts.getOffset(), 2));
  if (firstRow)
    address = b.add(address, b.mul(firstRow, kBytesOfRow));
  // Of workgroup memory, addresses have 18 bits.
  Value begin = b.bitAnd(b.div(address, b.index(kUnit)), b.index(0x3fff));
  begin = arith::IndexCastOp::create(b, b.getI64Type(), begin);
  Value rest = arith::ConstantIntOp::create(
      b, ofPanel << 16 | kOfEightRows << 32 | kSwizzle128 << 62, 64);
  return arith::OrIOp::create(b, begin, rest);
}

/// What each step of 16 along K adds to the descriptor of a matrix (rows, K),
/// in units of 16 bytes: 32 bytes of a row of a panel.
static SmallVector<int64_t> findStepsOfRows(int64_t rows, int64_t depth) {
  SmallVector<int64_t> steps;
  for (int64_t k = 0; k < depth; k += kRowsOfWarp)
    steps.push_back(k / kElementsOfPanel * rows * 8 + k % kElementsOfPanel / 8);
  return steps;
}

/// Adds the product of a fragment (M, K), or of a matrix in panels, and a
/// matrix in panels, (N, K) if it is transposed, to a fragment of f32, if that
/// is not 0.
static SmallVector<Value>
emitWarpgroupProduct(LaneValues &lanes, ArrayRef<Value> lhs, Value lhsPanels,
                     Value panels, ValueRange sums, bool isTransposed) {
  IndexBuilder &b = lanes.b;
  auto type = cast<MemRefType>(panels.getType());
  int64_t rows = type.getDimSize(1),
          size = type.getDimSize(0) * type.getDimSize(2);
  int64_t depth = isTransposed ? size : rows,
          columns = isTransposed ? rows : size;
  SmallVector<Value> pairs;
  SmallVector<int64_t> steps;
  if (isTransposed)
    steps = findStepsOfRows(rows, depth);
  for (int64_t k = 0; k < depth; k += kRowsOfWarp) {
    if (!isTransposed)
      steps.push_back(8 * k); // 16 rows of 128 bytes.
    if (lhsPanels)
      continue;
    for (int64_t n : {k / 8, k / 8 + 1})
      for (int64_t row : {0, 1})
        llvm::append_range(pairs,
                           lanes.pair(lhs.slice(lanes.getPair(row, n), 2)));
  }
  DenseI64ArrayAttr lhsSteps;
  if (lhsPanels) {
    lhsSteps = b.getDenseI64ArrayAttr(findStepsOfRows(lanes.numRows, depth));
    Value warpgroup = b.div(lanes.index.thread, b.index(kThreadsOfWarpgroup));
    pairs = {emitDescriptor(b, lhsPanels, b.mul(warpgroup, 4 * kRowsOfWarp))};
  }
  SmallVector<Type> types(columns / 2, b.getF32Type());
  auto product = WarpgroupMmaOp::create(
      b, TypeRange(types), ValueRange(pairs), emitDescriptor(b, panels), sums,
      b.getI64IntegerAttr(columns), b.getDenseI64ArrayAttr(steps),
      isTransposed ? UnitAttr() : b.getUnitAttr(), lhsSteps,
      lhsPanels ? TypeAttr::get(type.getElementType()) : TypeAttr());
  return SmallVector<Value>(WarpgroupWaitOp::create(b, TypeRange(types),
                                                    product.getResults(),
                                                    /*pending=*/0)
                                .getResults());
}

/// Elements of f32 that a lane loads at once where they are neighbours.
static constexpr int64_t kChunk = 4;

/// Chunks are aligned where each row begins with one: workgroup memory does.
static bool hasAlignedChunks(Value memory) {
  auto [strides, offset] =
      cast<MemRefType>(memory.getType()).getStridesAndOffset();
  return strides[0] != ShapedType::kDynamic && strides[0] % kChunk == 0;
}

/// `count` elements of a row.
static SmallVector<Value> loadNeighbours(IndexBuilder &b, Value memory,
                                         Value row, Value column,
                                         int64_t count) {
  if (count == 1)
    return {memref::LoadOp::create(b, memory, ValueRange{row, column})};
  constexpr unsigned kBytes = 4 * kChunk;
  Value chunk = vector::LoadOp::create(
      b, VectorType::get({count}, b.getF32Type()), memory,
      ValueRange{row, column}, /*nontemporal=*/false, llvm::MaybeAlign(kBytes));
  return llvm::map_to_vector(llvm::seq(count), [&](int64_t i) -> Value {
    return vector::ExtractOp::create(b, chunk, i);
  });
}

/// Products of f32, without matrix units: `lhs` (M, K) is in workgroup memory,
/// too, and each lane adds up its own elements.
static SmallVector<Value> emitScalarProduct(LaneValues &lanes, Value lhs,
                                            Value rhs, ArrayRef<Value> sums,
                                            bool isTransposed) {
  IndexBuilder &b = lanes.b;
  int64_t depth = cast<MemRefType>(lhs.getType()).getDimSize(1);
  bool hasChunks =
      hasAlignedChunks(lhs) && (!isTransposed || hasAlignedChunks(rhs));
  int64_t step = hasChunks ? kChunk : 1;
  SmallVector<Value> rows = lanes.rows();
  // Nobody has what is computed of rows that memory lacks.
  if (int64_t numRows = cast<MemRefType>(lhs.getType()).getDimSize(0);
      lanes.isTransposed && numRows < kRowsOfTranspose)
    for (Value &row : rows)
      row = b.min(row, numRows - 1);
  SmallVector<Value> columns =
      lanes.columns(int64_t(sums.size()) / lanes.getElementsOfBlock() * 8);
  return b.loop(0, depth, step, sums, [&](Value k, ValueRange carried) {
    SmallVector<SmallVector<Value>> first;
    for (Value row : rows)
      first.push_back(loadNeighbours(b, lhs, row, k, step));
    SmallVector<Value> results(carried);
    for (auto [i, column] : llvm::enumerate(columns)) {
      SmallVector<Value> second;
      if (isTransposed)
        second = loadNeighbours(b, rhs, column, k, step);
      else
        for (int64_t e = 0; e < step; ++e)
          second.push_back(
              memref::LoadOp::create(b, rhs, ValueRange{b.add(k, e), column}));
      for (auto [row, factors] : llvm::enumerate(first))
        for (auto [x, y] : llvm::zip_equal(factors, second)) {
          Value &sum = results[lanes.getElement(int64_t(row), int64_t(i))];
          sum = LLVM::FMAOp::create(b, x, y, sum);
        }
    }
    return results;
  });
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

bool attn::isShared(vector::TransferReadOp read) {
  return isWorkgroup(read.getBase()) && !read->use_empty() &&
         llvm::all_of(read->getUses(), [](OpOperand &use) {
           return isa<vector::ContractionOp>(use.getOwner()) &&
                  use.getOperandNumber() < 2;
         });
}

/// Whether memory lacks rows of a tile, but none that somebody has: lanes have
/// other numbers for the 0 of those.
static bool hasRowsOfLanes(vector::TransferReadOp read, LaneValues &lanes) {
  auto memory = cast<MemRefType>(read.getBase().getType());
  auto launch = read->getParentOfType<gpu::LaunchOp>();
  return lanes.isTransposed && memory.getElementType().isF32() &&
         !memory.isDynamicDim(0) && launch &&
         getMostRows(launch).value_or(kRowsOfWarp) <= memory.getDimSize(0) &&
         llvm::all_of(read->getUses(), [](OpOperand &use) {
           return use.getOperandNumber() == 0;
         });
}

LogicalResult attn::convertSharedRead(vector::TransferReadOp read,
                                      LaneValues &lanes) {
  VectorType type = read.getVectorType();
  if (type.getRank() != 2 || type.getDimSize(0) % 16 != 0 ||
      type.getDimSize(1) % 16 != 0 || !isZero(read.getIndices()) ||
      !isSimple(read) || read.getBase().getType().getRank() != 2 ||
      !(read.isDimInBounds(0) || hasRowsOfLanes(read, lanes)) ||
      !read.isDimInBounds(1) ||
      !(type.getElementType().isF16() || type.getElementType().isBF16() ||
        type.getElementType().isF32()))
    return rejectForLanes(read);
  lanes.shared[read.getResult()] = read.getBase();
  return success();
}

LogicalResult attn::convertToLanes(ReadPanelsOp read, LaneValues &lanes) {
  bool isFactor = llvm::all_of(read->getUses(), [](OpOperand &use) {
    return isa<vector::ContractionOp>(use.getOwner()) &&
           use.getOperandNumber() < 2;
  });
  if (!isFactor || lanes.numThreads % kThreadsOfWarpgroup != 0)
    return rejectForLanes(read);
  lanes.shared[read.getResult()] = read.getPanels();
  return success();
}

/// Whether the second factor is (columns, contracted); nothing for another
/// contraction.
static std::optional<bool> findTranspose(vector::ContractionOp op) {
  AffineExpr m, n, k;
  bindDims(op.getContext(), m, n, k);
  auto maps = [&](ArrayRef<ArrayRef<AffineExpr>> indices) {
    return AffineMap::inferFromExprList(indices, op.getContext());
  };
  SmallVector<AffineMap> own = op.getIndexingMapsArray();
  if (own == maps({{m, k}, {n, k}, {m, n}}))
    return true;
  if (own == maps({{m, k}, {k, n}, {m, n}}))
    return false;
  return std::nullopt;
}

/// Writes a fragment of f32 to workgroup memory, where products read it. Rows
/// are 16 bytes longer than their elements, so that lanes read different banks.
static Value storeFirstFactor(Value vector, LaneValues &lanes) {
  IndexBuilder &b = lanes.b;
  auto type = cast<VectorType>(vector.getType());
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  int64_t rows = lanes.isTransposed ? kRowsOfTranspose : type.getDimSize(0),
          columns = type.getDimSize(1);
  Value buffer =
      lanes.allocate(MemRefType::get({rows, columns + 4}, type.getElementType(),
                                     MemRefLayoutAttrInterface{}, space));
  Value memory = memref::SubViewOp::create(
      b, buffer, b.zeros(2),
      getAsIndexOpFoldResult(b.getContext(), ArrayRef({rows, columns})),
      b.ones(2));
  // What it held before may still be read.
  lanes.emitBarrier();
  Value zeros[] = {b.index(0), b.index(0)};
  emitFragmentStore(lanes, lanes.get(vector), memory, zeros);
  lanes.emitBarrier();
  return memory;
}

LogicalResult attn::convertToLanes(vector::ContractionOp op,
                                   LaneValues &lanes) {
  auto type = dyn_cast<VectorType>(op.getResultType());
  Value memory = lanes.shared.lookup(op.getRhs());
  std::optional<bool> isTransposed = findTranspose(op);
  if (!memory || !isTransposed || !type || !type.getElementType().isF32() ||
      op.getKind() != vector::CombiningKind::ADD ||
      getElementTypeOrSelf(op.getLhs()) != getElementTypeOrSelf(op.getRhs()))
    return rejectForLanes(op);
  if (cast<MemRefType>(memory.getType()).getRank() > 2) {
    Value lhsPanels = lanes.shared.lookup(op.getLhs());
    if (lanes.laneRows != 2 || !lanes.isKnown(op.getLhs()) ||
        (lhsPanels && cast<MemRefType>(lhsPanels.getType()).getRank() < 3))
      return rejectForLanes(op);
    SmallVector<Value> sums;
    if (!matchPattern(op.getAcc(), m_AnyZeroFloat()))
      sums = lanes.get(op.getAcc());
    SmallVector<Value> lhs;
    if (!lhsPanels)
      lhs = lanes.get(op.getLhs());
    lanes.set(op, emitWarpgroupProduct(lanes, lhs, lhsPanels, memory, sums,
                                       *isTransposed));
    return success();
  }
  Value first = lanes.shared.lookup(op.getLhs());
  if (first && cast<MemRefType>(first.getType()).getRank() > 2)
    return rejectForLanes(op);
  if (getElementTypeOrSelf(op.getLhs()).isF32()) {
    if (!first)
      first = storeFirstFactor(op.getLhs(), lanes);
    lanes.set(op, emitScalarProduct(lanes, first, memory,
                                    lanes.get(op.getAcc()), *isTransposed));
    return success();
  }
  ProductFactors factors;
  factors.rhs = memory;
  factors.isTransposed = *isTransposed;
  factors.lhs = first;
  if (auto found = lanes.factors.find(op.getLhs());
      found != lanes.factors.end())
    factors.lhsPairs = found->second;
  else if (!first && lanes.isTransposed)
    factors.lhsPairs = lanes.toFactor(lanes.get(op.getLhs()));
  else if (!first)
    factors.lhsElements = lanes.get(op.getLhs());
  lanes.set(op, ProductEmitter(lanes, factors).emit(lanes.get(op.getAcc())));
  return success();
}
