//===- VectorToLanes.cpp - Vectors of a workgroup to its lanes
//-------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Walks a launch from top to bottom and emits, in front of every operation with
// vectors, what one lane does of it. A vector is a list of scalars of the lane:
//
//   fragment (M, N)    element (2 * n + h) * 2 + e  is row h, column (n, e)
//   row slice (M)      element h
//   column slice (N)   element 2 * n + e
//
// Nothing is computed across lanes but reductions, products and copies to
// workgroup memory.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Passes.h"
#include "lib/Conversion/VectorToLanes/LaneMemory.h"
#include "lib/Conversion/VectorToLanes/LaneProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Utils/VectorUtils.h"
#include "mlir/IR/Matchers.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DISTRIBUTETOLANES
#include "lib/Conversion/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

bool isVector(Value value) { return isa<VectorType>(value.getType()); }

bool hasVectors(Operation *op) {
  return llvm::any_of(op->getOperands(), isVector) ||
         llvm::any_of(op->getResults(), isVector);
}

enum class Layout { Fragment, Rows, Columns };

/// The layout of vectors of a type, in a workgroup of tiles of `rows` rows.
std::optional<Layout> findLayout(VectorType type, int64_t rows) {
  ArrayRef<int64_t> shape = type.getShape();
  if (type.isScalable())
    return std::nullopt;
  if (shape == ArrayRef{rows} || shape == ArrayRef<int64_t>{rows, 1})
    return Layout::Rows;
  if (shape.size() != 2 || shape[1] % 8 != 0)
    return std::nullopt;
  if (shape[0] == rows)
    return Layout::Fragment;
  if (shape[0] == 1)
    return Layout::Columns;
  return std::nullopt;
}

class Distribution {
public:
  Distribution(gpu::LaunchOp launch, OpBuilder &builder, int64_t numThreads)
      : launch(launch), b(launch.getLoc(), builder), numThreads(numThreads),
        numRows(numThreads / kLanesOfWarp * kRowsOfWarp), memory(launch) {}

  LogicalResult run() {
    Block &body = launch.getBody().front();
    b.setInsertionPointToStart(&body);
    index = emitLaneIndex(b, launch);
    Operation *first =
        b.getInsertionPoint() == body.end() ? nullptr : &*b.getInsertionPoint();
    if (failed(convert(body, first)))
      return failure();
    for (Operation *op : llvm::reverse(done))
      op->erase();
    memory.setSize();
    return success();
  }

private:
  LogicalResult convert(Block &block, Operation *first = nullptr) {
    Block::iterator at = first ? first->getIterator() : block.begin();
    for (Operation &op :
         llvm::make_early_inc_range(llvm::make_range(at, block.end())))
      if (failed(convert(&op)))
        return failure();
    return success();
  }

  LogicalResult convert(Operation *op) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return convertLoop(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return convertWhile(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return convertBranch(branch);
    if (isa<scf::YieldOp, scf::ConditionOp>(op)) {
      op->setOperands(flatten(op->getOperands()));
      return success();
    }
    if (auto alloca = dyn_cast<memref::AllocaOp>(op))
      return convertAlloca(alloca);
    if (op->getNumRegions() > 0)
      return op->emitOpError("has no form for lanes of a GPU");
    if (!hasVectors(op))
      return success();
    done.push_back(op);
    for (Value operand : op->getOperands())
      if (isVector(operand) && !isKnown(operand))
        return op->emitOpError("uses a vector that has no form for lanes of a "
                               "GPU");
    return convertVectors(op);
  }

  LogicalResult convertVectors(Operation *op) {
    if (auto read = dyn_cast<vector::TransferReadOp>(op);
        read && isShared(read))
      return convertSharedRead(read);
    for (Type type : op->getResultTypes())
      if (auto vector = dyn_cast<VectorType>(type);
          vector && !getLayout(vector) && !isa<vector::StepOp>(op))
        return op->emitOpError("has no layout in lanes for ")
               << vector << ", in tiles of " << numRows << " rows";
    if (isa<arith::ConstantOp>(op))
      return success();
    if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
      return convertBroadcast(broadcast);
    if (auto cast = dyn_cast<vector::ShapeCastOp>(op))
      return convertShapeCast(cast);
    if (auto step = dyn_cast<vector::StepOp>(op))
      return convertStep(step);
    if (auto reduction = dyn_cast<vector::MultiDimReductionOp>(op))
      return convertReduction(reduction);
    if (auto product = dyn_cast<vector::ContractionOp>(op))
      return convertProduct(product);
    if (auto read = dyn_cast<vector::TransferReadOp>(op))
      return convertRead(read);
    if (auto write = dyn_cast<vector::TransferWriteOp>(op))
      return convertWrite(write);
    if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
      return convertElementwise(op);
    return reject(op);
  }

  static LogicalResult reject(Operation *op) {
    return op->emitOpError("has no form for lanes of a GPU");
  }

  //===--------------------------------------------------------------------===//
  // Loops and branches
  //===--------------------------------------------------------------------===//

  SmallVector<Value> flatten(ValueRange values) {
    SmallVector<Value> result;
    for (Value value : values) {
      if (isVector(value))
        llvm::append_range(result, get(value));
      else
        result.push_back(value);
    }
    return result;
  }

  SmallVector<Type> flattenTypes(TypeRange types) {
    SmallVector<Type> result;
    for (Type type : types) {
      if (auto vector = dyn_cast<VectorType>(type))
        result.append(getNumElements(vector), vector.getElementType());
      else
        result.push_back(type);
    }
    return result;
  }

  /// What was one value each is now one or several.
  void assign(ValueRange from, ValueRange to) {
    for (Value value : from) {
      auto vector = dyn_cast<VectorType>(value.getType());
      int64_t count = vector ? getNumElements(vector) : 1;
      if (vector)
        lanes[value] = SmallVector<Value>(to.take_front(count));
      else
        value.replaceAllUsesWith(to.front());
      to = to.drop_front(count);
    }
  }

  bool haveLayouts(Operation *op, TypeRange types) {
    return llvm::all_of(types, [&](Type type) {
      auto vector = dyn_cast<VectorType>(type);
      return !vector || getLayout(vector);
    });
  }

  /// Moves what a region of one block holds to one with scalars as arguments.
  void moveBody(Block &from, Block &to, unsigned leading = 0) {
    for (unsigned i = 0; i < leading; ++i)
      from.getArgument(i).replaceAllUsesWith(to.getArgument(i));
    assign(from.getArguments().drop_front(leading),
           to.getArguments().drop_front(leading));
    to.getOperations().splice(to.end(), from.getOperations());
  }

  LogicalResult convertLoop(scf::ForOp loop) {
    if (!haveLayouts(loop, loop.getResultTypes()))
      return reject(loop);
    auto lanesLoop =
        scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(),
                           loop.getStep(), flatten(loop.getInitArgs()));
    if (lanesLoop.getNumResults() == 0)
      lanesLoop.getBody()->getTerminator()->erase();
    done.push_back(loop);
    moveBody(*loop.getBody(), *lanesLoop.getBody(), /*leading=*/1);
    assign(loop.getResults(), lanesLoop.getResults());
    return convert(*lanesLoop.getBody());
  }

  LogicalResult convertWhile(scf::WhileOp loop) {
    if (!haveLayouts(loop, loop.getResultTypes()) ||
        !haveLayouts(loop, loop.getInits().getTypes()))
      return reject(loop);
    auto lanesLoop = scf::WhileOp::create(
        b, flattenTypes(loop.getResultTypes()), flatten(loop.getInits()));
    done.push_back(loop);
    for (auto [from, to] :
         llvm::zip(loop->getRegions(), lanesLoop->getRegions())) {
      SmallVector<Type> types = flattenTypes(from.front().getArgumentTypes());
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(&to, {}, types,
                    SmallVector<Location>(types.size(), loop.getLoc()));
      moveBody(from.front(), to.front());
    }
    assign(loop.getResults(), lanesLoop.getResults());
    if (failed(convert(*lanesLoop.getBeforeBody())))
      return failure();
    return convert(*lanesLoop.getAfterBody());
  }

  LogicalResult convertBranch(scf::IfOp branch) {
    if (!haveLayouts(branch, branch.getResultTypes()))
      return reject(branch);
    auto lanesBranch = scf::IfOp::create(
        b, flattenTypes(branch.getResultTypes()), branch.getCondition(),
        /*addThenBlock=*/true, /*addElseBlock=*/branch.elseBlock() != nullptr);
    done.push_back(branch);
    for (auto [from, to] :
         llvm::zip(branch->getRegions(), lanesBranch->getRegions())) {
      if (from.empty())
        continue;
      Block &block = to.front();
      block.clear();
      moveBody(from.front(), block);
      if (failed(convert(block)))
        return failure();
    }
    assign(branch.getResults(), lanesBranch.getResults());
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  std::optional<Layout> getLayout(VectorType type) {
    return findLayout(type, numRows);
  }
  int64_t getNumElements(VectorType type) {
    switch (*getLayout(type)) {
    case Layout::Rows:
      return 2;
    case Layout::Columns:
      return type.getDimSize(1) / 4;
    case Layout::Fragment:
      return type.getDimSize(1) / 2;
    }
    llvm_unreachable("a layout");
  }

  /// Whether a vector was converted, or can be where it is used.
  bool isKnown(Value vector) {
    SplatElementsAttr splat;
    return lanes.contains(vector) || shared.contains(vector) ||
           vector.getDefiningOp<vector::StepOp>() ||
           (matchPattern(vector, m_Constant(&splat)) &&
            getLayout(cast<VectorType>(vector.getType())));
  }

  /// The lane's elements of a vector that was converted, or of a constant,
  /// which may stand before the launch.
  SmallVector<Value> get(Value vector) {
    if (auto found = lanes.find(vector); found != lanes.end())
      return found->second;
    SplatElementsAttr splat;
    bool isConstant = matchPattern(vector, m_Constant(&splat));
    assert(isConstant && "expected a converted vector");
    (void)isConstant;
    Value scalar = arith::ConstantOp::create(
        b, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
    return SmallVector<Value>(
        getNumElements(cast<VectorType>(vector.getType())), scalar);
  }

  LogicalResult convertElementwise(Operation *op) {
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (!type)
      return reject(op);
    SmallVector<Value> results;
    for (int64_t i = 0, end = getNumElements(type); i < end; ++i) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(isVector(operand) ? get(operand)[i] : operand);
      OperationState state(op->getLoc(), op->getName(), operands,
                           {type.getElementType()},
                           op->getDiscardableAttrDictionary().getValue());
      state.propertiesAttr = op->getPropertiesAsAttribute();
      results.push_back(b.create(state)->getResult(0));
    }
    lanes[op->getResult(0)] = std::move(results);
    return success();
  }

  LogicalResult convertBroadcast(vector::BroadcastOp op) {
    auto type = cast<VectorType>(op.getType());
    int64_t count = getNumElements(type);
    auto from = dyn_cast<VectorType>(op.getSource().getType());
    if (!from) {
      lanes[op].assign(count, op.getSource());
      return success();
    }
    if (from == type) {
      lanes[op] = get(op.getSource());
      return success();
    }
    // A vector of rank 1 would have an element for each column.
    if (from.getRank() != 2 || getLayout(type) != Layout::Fragment)
      return reject(op);
    SmallVector<Value> source = get(op.getSource());
    bool isRows = getLayout(from) == Layout::Rows;
    SmallVector<Value> results;
    for (int64_t i = 0; i < count; ++i)
      results.push_back(isRows ? source[i / 2 % 2] : source[i / 4 * 2 + i % 2]);
    lanes[op] = std::move(results);
    return success();
  }

  LogicalResult convertShapeCast(vector::ShapeCastOp op) {
    auto from = cast<VectorType>(op.getSource().getType());
    auto to = cast<VectorType>(op.getType());
    if (auto step = op.getSource().getDefiningOp<vector::StepOp>();
        step && getLayout(to) == Layout::Columns) {
      lanes[op] = columns(to.getDimSize(1));
      return success();
    }
    if (getLayout(from) != Layout::Rows || getLayout(to) != Layout::Rows)
      return reject(op);
    lanes[op] = get(op.getSource());
    return success();
  }

  /// Of rows. One of columns is what its cast to `1xN` asks for.
  LogicalResult convertStep(vector::StepOp op) {
    if (getLayout(op.getType()))
      lanes[op] = {row(0), row(1)};
    else if (!llvm::all_of(op->getUsers(), llvm::IsaPred<vector::ShapeCastOp>))
      return reject(op);
    return success();
  }

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value row(int64_t half) {
    return arith::AddIOp::create(b, index.firstRow, constant(8 * half));
  }
  SmallVector<Value> columns(int64_t count) {
    SmallVector<Value> result;
    for (int64_t first = 0; first < count; first += 8)
      for (int64_t e = 0; e < 2; ++e)
        result.push_back(
            arith::AddIOp::create(b, index.firstColumn, constant(first + e)));
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Reductions
  //===--------------------------------------------------------------------===//

  Value combine(vector::CombiningKind kind, Value x, Value y) {
    return vector::makeArithReduction(b, b.getLoc(), kind, x, y);
  }

  LogicalResult convertReduction(vector::MultiDimReductionOp op) {
    auto source = cast<VectorType>(op.getSource().getType());
    if (getLayout(source) != Layout::Fragment)
      return reject(op);
    vector::CombiningKind kind = op.getKind();
    SmallVector<Value> elements = get(op.getSource());
    if (ArrayRef<int64_t> dims = op.getReductionDims(); dims.size() == 2) {
      // Of all threads, a barrier does it.
      if (!source.getElementType().isInteger(1) ||
          kind != vector::CombiningKind::AND)
        return reject(op);
      Value all = elements.front();
      for (Value element : ArrayRef(elements).drop_front())
        all = combine(kind, all, element);
      Type i32 = b.getI32Type();
      Value vote = NVVM::BarrierOp::create(
                       b, TypeRange{i32}, Value(), Value(),
                       NVVM::BarrierReductionAttr::get(
                           b.getContext(), NVVM::BarrierReduction::AND),
                       arith::ExtUIOp::create(b, i32, all))
                       .getResult(0);
      Value zero = arith::ConstantIntOp::create(b, i32, 0);
      Value isTrue =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, vote, zero);
      op.getDest().replaceAllUsesWith(combine(kind, isTrue, op.getAcc()));
      return success();
    } else if (dims != ArrayRef<int64_t>{1}) {
      return reject(op);
    }
    SmallVector<Value> results;
    for (int64_t half : {0, 1}) {
      SmallVector<Value> own;
      for (auto [i, element] : llvm::enumerate(elements))
        if (int64_t(i) / 2 % 2 == half)
          own.push_back(element);
      Value value = combinePairwise(kind, own);
      // Four lanes have the row.
      for (int32_t offset : {1, 2}) {
        Value other = gpu::ShuffleOp::create(b, value, offset, kLanesOfWarp,
                                             gpu::ShuffleMode::XOR)
                          .getShuffleResult();
        value = combine(kind, value, other);
      }
      results.push_back(combine(kind, value, get(op.getAcc())[half]));
    }
    lanes[op.getDest()] = std::move(results);
    return success();
  }

  /// In a tree, for sums that do not wait for each other.
  Value combinePairwise(vector::CombiningKind kind,
                        MutableArrayRef<Value> values) {
    while (values.size() > 1) {
      size_t half = values.size() / 2;
      for (size_t i = 0; i < half; ++i)
        values[i] = combine(kind, values[i], values[values.size() - 1 - i]);
      values = values.drop_back(half);
    }
    return values.front();
  }

  //===--------------------------------------------------------------------===//
  // Products
  //===--------------------------------------------------------------------===//

  /// Whether a read is of rows that products contract as their second factor.
  static bool isShared(vector::TransferReadOp read) {
    return !read->use_empty() &&
           llvm::all_of(read->getUses(), [](OpOperand &use) {
             return isa<vector::ContractionOp>(use.getOwner()) &&
                    use.getOperandNumber() == 1;
           });
  }

  LogicalResult convertSharedRead(vector::TransferReadOp read) {
    VectorType type = read.getVectorType();
    if (type.getRank() != 2 || type.getDimSize(0) % 16 != 0 ||
        type.getDimSize(1) % 16 != 0 || !isZero(read.getIndices()) ||
        !isSimple(read) || read.getBase().getType().getRank() != 2 ||
        !(type.getElementType().isF16() || type.getElementType().isBF16()))
      return reject(read);
    // Rows of whole 16 bytes, 16 more apart, are in different banks.
    Value memory = this->memory.allocate(
        type.getShape(), type.getDimSize(1) + 8, type.getElementType());
    gpu::BarrierOp::create(b);
    emitSharedCopy(b, index, numThreads, read.getBase(), memory);
    gpu::BarrierOp::create(b);
    shared[read.getResult()] = memory;
    return success();
  }

  LogicalResult convertProduct(vector::ContractionOp op) {
    auto type = dyn_cast<VectorType>(op.getResultType());
    Value memory = shared.lookup(op.getRhs());
    std::optional<bool> isTransposed = findTranspose(op);
    if (!memory || !isTransposed || !type || !type.getElementType().isF32() ||
        op.getKind() != vector::CombiningKind::ADD ||
        getElementTypeOrSelf(op.getLhs()) != getElementTypeOrSelf(op.getRhs()))
      return reject(op);
    lanes[op] = emitProduct(b, index, get(op.getLhs()), memory,
                            get(op.getAcc()), *isTransposed);
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

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  static bool isZero(ValueRange indices) {
    return llvm::all_of(
        indices, [](Value value) { return matchPattern(value, m_Zero()); });
  }
  static bool isWorkgroup(Value memory) {
    return gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(
        cast<MemRefType>(memory.getType()));
  }
  /// No mask, and dimensions of memory in their order.
  template <typename Transfer> static bool isSimple(Transfer op) {
    return isa<MemRefType>(op.getBase().getType()) && !op.getMask() &&
           op.getPermutationMap().isMinorIdentity();
  }

  LogicalResult convertAlloca(memref::AllocaOp op) {
    if (!isWorkgroup(op) || op.getType().getRank() != 2 ||
        !op.getType().hasStaticShape())
      return op.emitOpError("is not of workgroup memory");
    op.replaceAllUsesWith(memory.allocate(op.getType().getShape(),
                                          op.getType().getDimSize(1),
                                          op.getType().getElementType()));
    done.push_back(op);
    return success();
  }

  /// Whether each of the two rows is in memory; null if it is for certain.
  template <typename Transfer>
  Value exists(Transfer op, int64_t dim, Value row) {
    if (op.isDimInBounds(0))
      return {};
    Value count = b.createOrFold<memref::DimOp>(op.getBase(), dim);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, count);
  }

  /// Indices with those of an element of the vector added to the last ones.
  SmallVector<Value> offset(ValueRange indices, ArrayRef<Value> more) {
    SmallVector<Value> result(indices);
    for (auto [i, value] : llvm::enumerate(more)) {
      Value &index = result[result.size() - more.size() + i];
      index = matchPattern(index, m_Zero())
                  ? value
                  : Value(arith::AddIOp::create(b, index, value));
    }
    return result;
  }

  LogicalResult convertRead(vector::TransferReadOp read) {
    VectorType type = read.getVectorType();
    auto memory = dyn_cast<MemRefType>(read.getBase().getType());
    if (!memory || read.getMask())
      return reject(read);
    Layout layout = *getLayout(type);
    if (layout == Layout::Rows)
      return convertRowRead(read);
    if (!isSimple(read) || !read.isDimInBounds(1))
      return reject(read);
    if (layout == Layout::Columns) {
      if (!read.isDimInBounds(0))
        return reject(read);
      SmallVector<Value> results;
      for (Value column : columns(type.getDimSize(1)))
        results.push_back(memref::LoadOp::create(
            b, read.getBase(),
            offset(read.getIndices(), {constant(0), column})));
      lanes[read] = std::move(results);
      return success();
    }
    // Where a row is missing, another is read and not used.
    if (!isZero(read.getIndices()))
      return reject(read);
    int64_t count = type.getDimSize(1) / 8, dim = memory.getRank() - 2;
    auto pair = VectorType::get({2}, type.getElementType());
    SmallVector<Value> results(getNumElements(type));
    for (int64_t half : {0, 1}) {
      Value number = row(half);
      Value isThere = exists(read, dim, number);
      if (isThere)
        number = arith::SelectOp::create(b, isThere, number, constant(0));
      for (int64_t n = 0; n < count; ++n) {
        Value column =
            arith::AddIOp::create(b, index.firstColumn, constant(8 * n));
        Value loaded =
            vector::LoadOp::create(b, pair, read.getBase(),
                                   offset(read.getIndices(), {number, column}));
        for (int64_t e : {0, 1}) {
          Value element = vector::ExtractOp::create(b, loaded, e);
          if (isThere)
            element =
                arith::SelectOp::create(b, isThere, element, read.getPadding());
          results[(2 * n + half) * 2 + e] = element;
        }
      }
    }
    lanes[read] = std::move(results);
    return success();
  }

  /// A column of a matrix in workgroup memory.
  LogicalResult convertRowRead(vector::TransferReadOp read) {
    if (!isWorkgroup(read.getBase()) || !read.isDimInBounds(0) ||
        read.getPermutationMap() != AffineMap::get(2, 0, b.getAffineDimExpr(0)))
      return reject(read);
    SmallVector<Value> results;
    for (int64_t half : {0, 1})
      results.push_back(memref::LoadOp::create(
          b, read.getBase(),
          ValueRange{arith::AddIOp::create(b, read.getIndices()[0], row(half)),
                     read.getIndices()[1]}));
    lanes[read] = std::move(results);
    return success();
  }

  LogicalResult convertWrite(vector::TransferWriteOp write) {
    VectorType type = write.getVectorType();
    std::optional<Layout> layout = getLayout(type);
    if (!isSimple(write) || !layout || *layout == Layout::Columns ||
        !isZero(write.getIndices()))
      return reject(write);
    auto memory = cast<MemRefType>(write.getBase().getType());
    bool isRows = *layout == Layout::Rows;
    if (isRows ? type.getRank() != 1 : !write.isDimInBounds(1))
      return reject(write);
    SmallVector<Value> elements = get(write.getVector());
    // What the memory held before may still be read.
    if (isWorkgroup(write.getBase()))
      gpu::BarrierOp::create(b);
    for (int64_t half : {0, 1}) {
      Value number = row(half);
      Value condition =
          exists(write, memory.getRank() - type.getRank(), number);
      // One of the four lanes that have the row.
      if (isRows)
        condition =
            condition
                ? Value(arith::AndIOp::create(b, condition, index.isLeader))
                : index.isLeader;
      OpBuilder::InsertionGuard guard(b);
      if (condition) {
        auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
        b.setInsertionPointToStart(branch.thenBlock());
      }
      if (isRows) {
        memref::StoreOp::create(b, elements[half], write.getBase(),
                                offset(write.getIndices(), {number}));
        continue;
      }
      auto pair = VectorType::get({2}, type.getElementType());
      for (int64_t n = 0; n < type.getDimSize(1) / 8; ++n) {
        int64_t first = (2 * n + half) * 2;
        Value column =
            arith::AddIOp::create(b, index.firstColumn, constant(8 * n));
        Value both = vector::FromElementsOp::create(
            b, pair, ValueRange{elements[first], elements[first + 1]});
        vector::StoreOp::create(b, both, write.getBase(),
                                offset(write.getIndices(), {number, column}));
      }
    }
    if (isWorkgroup(write.getBase()))
      gpu::BarrierOp::create(b);
    return success();
  }

  gpu::LaunchOp launch;
  ImplicitLocOpBuilder b;
  int64_t numThreads, numRows;
  WorkgroupMemory memory;
  LaneIndex index;
  DenseMap<Value, SmallVector<Value>> lanes; ///< Of vectors.
  DenseMap<Value, Value> shared;             ///< Copies, by the vector read.
  SmallVector<Operation *> done;             ///< To be erased, users last.
};

struct DistributeToLanes
    : attn::impl::DistributeToLanesBase<DistributeToLanes> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    getOperation()->walk([&](gpu::LaunchOp launch) {
      APInt threads;
      if (!matchPattern(launch.getBlockSizeOperandValues().x,
                        m_ConstantInt(&threads)) ||
          threads.getSExtValue() % kLanesOfWarp != 0) {
        launch.emitOpError("expected a constant number of threads that is a "
                           "multiple of ")
            << kLanesOfWarp;
        return signalPassFailure();
      }
      if (failed(Distribution(launch, builder, threads.getSExtValue()).run()))
        signalPassFailure();
    });
  }
};

} // namespace
