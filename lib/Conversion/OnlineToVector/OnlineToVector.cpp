//===- OnlineToVector.cpp - Tiles of online attention as vectors ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A workgroup computes a tile of M queries, and all of its vectors are the
// workgroup's:
//
//   query (M, Dk), O (M, Dv)   f16 or bf16, f32   vector<MxD>
//   m, l                       f32                vector<M>
//   key, value (N, D)          f16 or bf16        vector.transfer_read of a
//   block
//
//   S = query * key^T                             vector.contract
//   S = score(scale * S), -inf where hidden       elementwise
//   m' = max(m, rows of S), P = exp(S - m'), l' = c * l + sums of P
//   O = c * O + P * value                         vector.contract
//
// Types of tensors are changed in place, operation by operation, from the ones
// that make a tile to those that use it.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/MatrixUnits.h"
#include "lib/Conversion/OnlineToVector/RegionToVector.h"
#include "lib/Conversion/Passes.h"
#include "lib/Transforms/BlockFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numbers>

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTONLINETOVECTOR
#include "lib/Conversion/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rows and columns of what matrix units multiply.
constexpr int64_t kUnit = 16;

bool isVector(Value value) { return isa<VectorType>(value.getType()); }

VectorType vectorOf(ArrayRef<int64_t> shape, Type element) {
  return VectorType::get(shape, element);
}

//===----------------------------------------------------------------------===//
// A block of keys
//===----------------------------------------------------------------------===//

/// Emits the attention of one block of keys, whose query and state are vectors.
class BlockEmitter {
public:
  BlockEmitter(OnlineAttentionOp op, OpBuilder &builder, int64_t keys)
      : op(op), b(op.getLoc(), builder), f32(b.getF32Type()),
        rows(cast<VectorType>(op.getQuery().getType()).getDimSize(0)),
        keys(keys), state(op.getOuts()) {}

  FailureOr<SmallVector<Value>> emit() {
    BlockFacts facts = emitBlockFacts(b, op);
    if (!matchPattern(facts.isDefined, m_One()))
      return op.emitOpError(
          "is not lowered for a GPU where its 'score' or 'mask' region may be "
          "undefined, as one that loads from a tensor or divides may be");
    numKeys = b.createOrFold<tensor::DimOp>(op.getKey(), 0);
    if (!facts.isEmpty)
      return emitSteps(facts);
    auto block = scf::IfOp::create(b, TypeRange(state), facts.isEmpty,
                                   /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block.thenBlock());
    scf::YieldOp::create(b, state);
    b.setInsertionPointToStart(block.elseBlock());
    FailureOr<SmallVector<Value>> after = emitSteps(facts);
    if (failed(after))
      return failure();
    scf::YieldOp::create(b, *after);
    return SmallVector<Value>(block.getResults());
  }

private:
  FailureOr<SmallVector<Value>> emitSteps(const BlockFacts &facts) {
    FailureOr<Value> scores = emitScores(facts);
    if (failed(scores))
      return failure();
    Value maximum = state[1];
    Value next = vector::MultiDimReductionOp::create(
        b, *scores, maximum, {false, true}, vector::CombiningKind::MAXIMUMF);
    // The difference of equal infinities would be NaN, here and of scores.
    auto isEqual = [&](Value x, Value y) -> Value {
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
    };
    Value correction = arith::SelectOp::create(
        b, isEqual(maximum, next), real(1.0, {rows}),
        emitExp(arith::SubFOp::create(b, maximum, next)));
    Value origin = arith::SelectOp::create(
        b, isEqual(next, real(-kInfinity, {rows})), real(0.0, {rows}), next);
    Value weights =
        emitExp(arith::SubFOp::create(b, *scores, overKeys(origin)));
    Value sum = vector::MultiDimReductionOp::create(
        b, weights, arith::MulFOp::create(b, state[2], correction),
        {false, true}, vector::CombiningKind::ADD);
    return SmallVector<Value>{emitAccumulator(*scores, weights, correction),
                              next, sum};
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  FailureOr<Value> emitScores(const BlockFacts &facts) {
    AffineExpr q, j, d;
    bindDims(b.getContext(), q, j, d);
    Value scores = contract(op.getQuery(), read(op.getKey()),
                            real(0.0, {rows, keys}), {{q, d}, {j, d}, {q, j}});
    if (op.getScale())
      scores = arith::MulFOp::create(
          b, scores, broadcastTo(b, b.getLoc(), op.getScale(), {rows, keys}));
    if (op.hasScore()) {
      SmallVector<Value> arguments = {scores};
      llvm::append_range(arguments, positions());
      llvm::append_range(arguments, op.getScoreCaptures());
      FailureOr<Value> changed =
          vectorizeBody(b, op.getScoreRegion().front(), arguments);
      if (failed(changed))
        return failure();
      scores = broadcastTo(b, b.getLoc(), *changed, {rows, keys});
    }
    return emitVisible(facts, scores);
  }

  /// -inf where a key is hidden, or not there (A10: after the score).
  FailureOr<Value> emitVisible(const BlockFacts &facts, Value scores) {
    Value isShort =
        b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, numKeys,
                                      arith::ConstantIndexOp::create(b, keys));
    Value isPartial = b.createOrFold<arith::OrIOp>(facts.isPartial, isShort);
    if (matchPattern(isPartial, m_Zero()))
      return scores;
    auto choice = scf::IfOp::create(b, scores.getType(), isPartial,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    Value number = column();
    Value keep =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number,
                              broadcastTo(b, b.getLoc(), numKeys, {1, keys}));
    keep = broadcastTo(b, b.getLoc(), keep, {rows, keys});
    if (op.hasMask()) {
      SmallVector<Value> arguments = positions();
      llvm::append_range(arguments, op.getMaskCaptures());
      FailureOr<Value> mask =
          vectorizeBody(b, op.getMaskRegion().front(), arguments);
      if (failed(mask))
        return failure();
      keep = arith::AndIOp::create(
          b, keep, broadcastTo(b, b.getLoc(), *mask, {rows, keys}));
    }
    Value visible = arith::SelectOp::create(b, keep, scores,
                                            real(-kInfinity, {rows, keys}));
    scf::YieldOp::create(b, visible);
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, scores);
    return choice.getResult(0);
  }

  /// What regions see as b, h, p and j.
  SmallVector<Value> positions() {
    auto indices = [&](ArrayRef<int64_t> shape, Value first) -> Value {
      int64_t size = shape[0] * shape[1];
      Value steps = vector::ShapeCastOp::create(
          b, vectorOf(shape, b.getIndexType()),
          vector::StepOp::create(b, vectorOf({size}, b.getIndexType())));
      return arith::AddIOp::create(b, steps,
                                   broadcastTo(b, b.getLoc(), first, shape));
    };
    return {op.getBatch(), op.getHead(), indices({rows, 1}, op.getPosition()),
            indices({1, keys}, op.getFirstKey())};
  }

  Value column() {
    return vector::ShapeCastOp::create(
        b, vectorOf({1, keys}, b.getIndexType()),
        vector::StepOp::create(b, vectorOf({keys}, b.getIndexType())));
  }

  //===--------------------------------------------------------------------===//
  // Output
  //===--------------------------------------------------------------------===//

  /// `c * O + P * value`.
  Value emitAccumulator(Value scores, Value weights, Value correction) {
    auto type = cast<VectorType>(state[0].getType());
    Value corrected = arith::MulFOp::create(
        b, state[0], broadcastTo(b, b.getLoc(), correction, type.getShape()));
    auto product = [&]() -> Value {
      AffineExpr q, d, j;
      bindDims(b.getContext(), q, d, j);
      // Matrix units multiply numbers of one type.
      Type element = getElementTypeOrSelf(op.getValue());
      Value narrow =
          arith::TruncFOp::create(b, vectorOf({rows, keys}, element), weights);
      return contract(narrow, read(op.getValue()), corrected,
                      {{q, j}, {j, d}, {q, d}});
    };
    if (matchPattern(op.getExact(), m_Zero()))
      return product();
    auto choice = scf::IfOp::create(b, type, op.getExact(),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    scf::YieldOp::create(b, emitExactSum(scores, weights, corrected));
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, product());
    return choice.getResult(0);
  }

  /// Leaves out the products with hidden positions, key by key.
  Value emitExactSum(Value scores, Value weights, Value corrected) {
    auto type = cast<VectorType>(corrected.getType());
    Value hidden = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, scores,
                                         real(-kInfinity, {rows, keys}));
    Value marked =
        arith::SelectOp::create(b, hidden, real(-1.0, {rows, keys}), weights);
    auto space = gpu::AddressSpaceAttr::get(
        b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
    Value memory = memref::AllocaOp::create(
        b,
        MemRefType::get({rows, keys}, f32, MemRefLayoutAttrInterface{}, space));
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value one = arith::ConstantIndexOp::create(b, 1);
    vector::TransferWriteOp::create(b, marked, memory, ValueRange{zero, zero},
                                    std::array{true, true});
    auto loop = scf::ForOp::create(b, zero, numKeys, one, corrected);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value key = loop.getInductionVar(), before = loop.getRegionIterArg(0);
    AffineMap columns = AffineMap::get(2, 0, b.getAffineDimExpr(0));
    Value weight = vector::TransferReadOp::create(
        b, vectorOf({rows}, f32), memory, ValueRange{zero, key},
        realScalar(f32, 0.0), columns, std::array{true});
    weight = broadcastTo(b, b.getLoc(), weight, type.getShape());
    auto values = cast<RankedTensorType>(op.getValue().getType());
    Value value = vector::TransferReadOp::create(
        b, vectorOf({1, values.getDimSize(1)}, values.getElementType()),
        op.getValue(), ValueRange{key, zero},
        realScalar(values.getElementType(), 0.0), std::array{true, true});
    value = arith::ExtFOp::create(b, vectorOf({1, values.getDimSize(1)}, f32),
                                  value);
    value = broadcastTo(b, b.getLoc(), value, type.getShape());
    Value sum = arith::AddFOp::create(b, before,
                                      arith::MulFOp::create(b, weight, value));
    Value isHidden = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, weight,
                                           real(0.0, type.getShape()));
    Value after = arith::SelectOp::create(b, isHidden, before, sum);
    scf::YieldOp::create(b, after);
    return loop.getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Vectors
  //===--------------------------------------------------------------------===//

  /// The rows of a block, with 0 after the last.
  Value read(Value matrix) {
    auto type = cast<RankedTensorType>(matrix.getType());
    Value zero = arith::ConstantIndexOp::create(b, 0);
    return vector::TransferReadOp::create(
        b, vectorOf({keys, type.getDimSize(1)}, type.getElementType()), matrix,
        ValueRange{zero, zero}, realScalar(type.getElementType(), 0.0),
        std::array{type.getDimSize(0) == keys, true});
  }

  Value contract(Value lhs, Value rhs, Value sums,
                 ArrayRef<ArrayRef<AffineExpr>> indices) {
    return vector::ContractionOp::create(b, lhs, rhs, sums, indices,
                                         {vector::IteratorType::parallel,
                                          vector::IteratorType::parallel,
                                          vector::IteratorType::reduction});
  }

  Value overKeys(Value ofRows) {
    return broadcastTo(b, b.getLoc(), ofRows, {rows, keys});
  }

  /// e^x = 2^(x log2(e)), of differences, which may overflow to -inf only.
  Value emitExp(Value x) {
    auto shape = cast<VectorType>(x.getType()).getShape();
    return math::Exp2Op::create(
        b, arith::MulFOp::create(b, x, real(std::numbers::log2e, shape)));
  }

  Value realScalar(Type type, double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value real(double value, ArrayRef<int64_t> shape) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vectorOf(shape, f32),
                                  b.getFloatAttr(f32, value).getValue()));
  }

  OnlineAttentionOp op;
  ImplicitLocOpBuilder b;
  FloatType f32;
  int64_t rows, keys;
  SmallVector<Value> state; ///< Accumulator, maximum and sum.
  Value numKeys;
};

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

class TileConverter {
public:
  explicit TileConverter(MLIRContext *context) : b(context) {}

  LogicalResult convert(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(convert(&op)))
        return failure();
    return success();
  }

private:
  LogicalResult convert(Operation *op) {
    b.setInsertionPoint(op);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return convertLoop(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return convertWhile(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return convertBranch(branch);
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return convertFill(fill);
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      return convertElementwise(generic);
    if (auto pad = dyn_cast<tensor::PadOp>(op))
      return convertPad(pad);
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return convertSlice(slice);
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      return convertInsert(insert);
    if (auto online = dyn_cast<OnlineAttentionOp>(op))
      return convertBlock(online);
    if (auto finite = dyn_cast<AllFiniteOp>(op))
      return convertAllFinite(finite);
    if (auto copy = dyn_cast<linalg::CopyOp>(op);
        copy && isVector(copy.getInputs()[0])) {
      replace(op, copy.getInputs()[0]);
      return success();
    }
    if (isa<AttnDialect>(op->getDialect()))
      return op->emitOpError("has no lowering for a GPU");
    if (!isa<scf::YieldOp, scf::ConditionOp>(op) &&
        llvm::any_of(op->getOperands(), isVector) &&
        llvm::none_of(op->getResultTypes(), llvm::IsaPred<VectorType>))
      return op->emitOpError("has no form for vectors of a tile on a GPU");
    return success();
  }

  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  static void takeTypes(ValueRange to, ValueRange from) {
    for (auto [value, source] : llvm::zip_equal(to, from))
      value.setType(source.getType());
  }

  LogicalResult convertLoop(scf::ForOp loop) {
    takeTypes(loop.getRegionIterArgs(), loop.getInitArgs());
    takeTypes(loop.getResults(), loop.getInitArgs());
    return convert(*loop.getBody());
  }

  LogicalResult convertWhile(scf::WhileOp loop) {
    takeTypes(loop.getBeforeArguments(), loop.getInits());
    if (failed(convert(*loop.getBeforeBody())))
      return failure();
    takeTypes(loop.getAfterArguments(), loop.getConditionOp().getArgs());
    takeTypes(loop.getResults(), loop.getConditionOp().getArgs());
    return convert(*loop.getAfterBody());
  }

  LogicalResult convertBranch(scf::IfOp branch) {
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        if (failed(convert(block)))
          return failure();
    if (branch.getNumResults() > 0)
      takeTypes(branch.getResults(), branch.thenYield().getOperands());
    return success();
  }

  /// Whether a tensor is of a tile, and not in memory.
  static bool isTile(Value value) {
    return isVector(value) || value.getDefiningOp<tensor::EmptyOp>();
  }

  LogicalResult convertFill(linalg::FillOp fill) {
    auto type = cast<ShapedType>(fill.getOutputs()[0].getType());
    if (!isTile(fill.getOutputs()[0]) || !type.hasStaticShape())
      return success();
    Value value =
        broadcastTo(b, fill.getLoc(), fill.getInputs()[0], type.getShape());
    replace(fill, value);
    return success();
  }

  /// Of parallel loops over a tile, with inputs of all of it or of its rows.
  LogicalResult convertElementwise(linalg::GenericOp op) {
    auto type = cast<ShapedType>(op.getOutputs()[0].getType());
    bool isVectorized = llvm::any_of(op->getOperands(), isVector);
    if (!isVectorized)
      return success();
    if (op.getNumResults() != 1 || !type.hasStaticShape() ||
        op.getNumParallelLoops() != op.getNumLoops() ||
        !isTile(op.getOutputs()[0]))
      return op.emitOpError("has no form for vectors of a tile on a GPU");
    Location loc = op.getLoc();
    SmallVector<Value> arguments;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      Value value = operand.get();
      bool isRows = map.getNumResults() == 1 && map.isFunctionOfDim(0);
      if (!isVector(value)) {
        // The output, of which only the shape counts.
        if (!op.getMatchingBlockArgument(&operand).use_empty())
          return op.emitOpError("reads a tensor that is not of the tile");
        value = arith::ConstantOp::create(
            b, loc,
            b.getZeroAttr(vectorOf(type.getShape(), type.getElementType())));
      } else if (!map.isIdentity() && !isRows) {
        return op.emitOpError("has no form for vectors of a tile on a GPU");
      }
      arguments.push_back(broadcastTo(b, loc, value, type.getShape()));
    }
    FailureOr<Value> result = vectorizeBody(b, *op.getBlock(), arguments);
    if (failed(result))
      return failure();
    replace(op, broadcastTo(b, loc, *result, type.getShape()));
    return success();
  }

  /// Rows of memory, and of 0 up to a whole tile.
  LogicalResult convertPad(tensor::PadOp pad) {
    auto type = pad.getResultType();
    if (!type.hasStaticShape() || !pad.getConstantPaddingValue())
      return pad.emitOpError("has no form for vectors of a tile on a GPU");
    Value zero = arith::ConstantIndexOp::create(b, pad.getLoc(), 0);
    SmallVector<bool> inBounds(type.getRank(), true);
    inBounds[0] = pad.getSourceType().getDimSize(0) == type.getDimSize(0);
    replace(pad, vector::TransferReadOp::create(
                     b, pad.getLoc(),
                     vectorOf(type.getShape(), type.getElementType()),
                     pad.getSource(), SmallVector<Value>(type.getRank(), zero),
                     pad.getConstantPaddingValue(), inBounds));
    return success();
  }

  /// Of a vector, all of it, or its first rows for an insertion.
  LogicalResult convertSlice(tensor::ExtractSliceOp slice) {
    if (!isVector(slice.getSource()))
      return success();
    if (!llvm::all_of(slice.getMixedOffsets(), isZeroInteger) ||
        !slice.hasUnitStride())
      return slice.emitOpError("has no form for vectors of a tile on a GPU");
    slice.getResult().replaceAllUsesWith(slice.getSource());
    slice.erase();
    return success();
  }

  /// The first rows of a vector, as many as the destination has.
  LogicalResult convertInsert(tensor::InsertSliceOp insert) {
    if (!isVector(insert.getSource()))
      return success();
    Value destination = insert.getDest();
    if (isVector(destination) &&
        insert.getStaticSizes() ==
            cast<VectorType>(destination.getType()).getShape()) {
      replace(insert, insert.getSource());
      return success();
    }
    auto vector = cast<VectorType>(insert.getSource().getType());
    auto type = dyn_cast<RankedTensorType>(destination.getType());
    if (!type || type.getRank() < vector.getRank() ||
        !llvm::all_of(insert.getMixedOffsets(), isZeroInteger) ||
        !insert.hasUnitStride())
      return insert.emitOpError("has no form for vectors of a tile on a GPU");
    Value zero = arith::ConstantIndexOp::create(b, insert.getLoc(), 0);
    SmallVector<bool> inBounds(vector.getRank(), true);
    inBounds[0] = type.getDimSize(type.getRank() - vector.getRank()) ==
                  vector.getDimSize(0);
    auto write = vector::TransferWriteOp::create(
        b, insert.getLoc(), insert.getSource(), destination,
        SmallVector<Value>(type.getRank(), zero), inBounds);
    replace(insert, write.getResult());
    return success();
  }

  LogicalResult convertBlock(OnlineAttentionOp op) {
    if (!isForMatrixUnits(op))
      return op.emitOpError("is lowered for a GPU in f16 and bf16 only, got ")
             << getElementTypeOrSelf(op.getKey());
    for (Value operand : {op.getKey(), op.getValue()})
      if (int64_t size = cast<ShapedType>(operand.getType()).getDimSize(1);
          size % kUnit != 0)
        return op.emitOpError("is lowered for a GPU for head sizes that are "
                              "multiples of ")
               << kUnit << " only, got " << size;
    FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, {op.getKey(), 0}, /*stopCondition=*/nullptr,
        /*closedUB=*/true);
    if (failed(bound))
      return op.emitOpError("expected a constant bound of the number of keys: "
                            "tile the keys first");
    int64_t keys = llvm::alignTo(std::max<int64_t>(1, *bound), kUnit);
    FailureOr<SmallVector<Value>> state = BlockEmitter(op, b, keys).emit();
    if (failed(state))
      return failure();
    op->replaceAllUsesWith(*state);
    op.erase();
    return success();
  }

  /// No element times 0 is anything but 0.
  LogicalResult convertAllFinite(AllFiniteOp op) {
    auto type = dyn_cast<VectorType>(op.getSource().getType());
    if (!type)
      return op.emitOpError("has no form for vectors of a tile on a GPU");
    Location loc = op.getLoc();
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    Value product = arith::MulFOp::create(b, loc, op.getSource(), zero);
    Value finite =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, product, zero);
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    replace(op,
            vector::MultiDimReductionOp::create(
                b, loc, finite, yes, SmallVector<bool>(type.getRank(), true),
                vector::CombiningKind::AND));
    return success();
  }

  OpBuilder b;
};

struct ConvertOnlineToVector
    : attn::impl::ConvertOnlineToVectorBase<ConvertOnlineToVector> {
  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](OnlineAttentionOp op) {
      auto loop = op->getParentOfType<scf::ForallOp>();
      if (!loop) {
        op.emitOpError("is lowered for a GPU in an 'scf.forall' only");
        return WalkResult::interrupt();
      }
      if (!llvm::is_contained(loops, loop))
        loops.push_back(loop);
      return WalkResult::advance();
    });
    TileConverter converter(&getContext());
    for (scf::ForallOp loop : loops)
      if (failed(converter.convert(*loop.getBody())))
        return signalPassFailure();
    auto result = getOperation()->walk([](Operation *op) {
      if (!isa_and_present<AttnDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitOpError("has no lowering for a GPU");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
