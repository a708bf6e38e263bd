//===- DecomposeLayer.cpp - A layer as the ops that it is made of ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/NamedMasksAndScores.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/OperandGroups.h"
#include "lib/Layer/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DECOMPOSELAYER
#include "lib/Layer/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the ops that one layer is made of.
class LayerBuilder {
public:
  LayerBuilder(MultiHeadAttentionOp op, RewriterBase &rewriter)
      : op(op), b(op.getLoc(), rewriter), caches(op.getOuts().size() - 1) {
    for (auto [number, cache] : llvm::enumerate(op.getOuts().drop_front()))
      caches[number] = cache;
  }

  /// Returns the op's results.
  SmallVector<Value> emit() {
    // Before what it is checked against is written.
    after = op.hasCache() ? emitLengthsAfter() : Value();
    Value query, key, value;
    if (op.isFused()) {
      SmallVector<Value> all =
          project(op.getInput(), op.getQkv(),
                  {emptyRows(op.getInput(), op.getQueryHeads(), keySize()),
                   emptyRows(op.getInput(), numKeyHeads(), keySize()),
                   emptyRows(op.getInput(), numKeyHeads(), valueSize())});
      query = all[0], key = all[1], value = all[2];
    } else {
      query = project(op.getInput(), op.getQuery(),
                      {emptyRows(op.getInput(), numHeads(), keySize())})[0];
    }
    if (op.hasMemory()) {
      key = op.getMemory()[0], value = op.getMemory()[1];
    } else if (!op.isFused()) { // L3
      Value source = op.getSource() ? op.getSource() : op.getInput();
      key = project(source, op.getKey(),
                    {emptyRows(source, numKeyHeads(), keySize())})[0];
      value = project(source, op.getValue(),
                      {emptyRows(source, numKeyHeads(), valueSize())})[0];
    }
    Value gate;
    if (!op.getGate().empty()) // L7
      gate =
          project(op.getInput(), op.getGate(),
                  {emptyRows(op.getInput(), numHeads(), op.getGateSize())})[0];
    query = prepare(query, 0);
    if (!op.hasMemory())
      key = prepare(key, 1);
    if (op.hasCache()) {
      key = cache(key, 0);
      value = cache(value, 1);
    }
    Value rows = attend(query, key, value);
    if (op.getOutputNorm())
      rows = normalise(rows, op.getOutputNorm(), op.getLayerAttr());
    if (gate)
      rows = applyGate(rows, gate);
    SmallVector<Value> results = {emitOutput(rows)};
    llvm::append_range(results, caches);
    return results;
  }

private:
  int64_t numHeads() { return int64_t(op.getQueryHeads()); }
  int64_t numKeyHeads() { return int64_t(op.getKeyValueHeads()); }
  int64_t keySize() { return int64_t(op.getKeySize()); }
  int64_t valueSize() { return int64_t(op.getValueSize()); }

  /// Heads of the tokens of `(B, S, features)`.
  Value emptyRows(Value tokens, int64_t heads, int64_t size) {
    return b.empty({b.size(tokens, 0), b.getIndexAttr(heads), b.size(tokens, 1),
                    b.getIndexAttr(size)},
                   op.getElementType());
  }
  /// A tensor of the type and the sizes of `value`.
  Value emptyLike(Value value) {
    return b.empty(b.sizes(value), op.getElementType());
  }

  SmallVector<Value> project(Value input, OperandRange operands,
                             ArrayRef<Value> outs) {
    ProjectionMap map = MultiHeadAttentionOp::getMap(operands, "");
    return SmallVector<Value>(
        ProjectionOp::create(b, TypeRange(ValueRange(outs)), input, map.weight,
                             outs, map.scales, map.bias)
            .getResults());
  }

  Value normalise(Value rows, Value weight, IntegerAttr layer) { // L4
    return HeadNormOp::create(b, rows.getType(), rows, weight, emptyLike(rows),
                              op.getEpsilonAttr(), layer)
        .getResult(0);
  }

  /// Queries, 0, or keys, 1, as the attention has them.
  Value prepare(Value rows, unsigned number) {
    if (!op.getNorms().empty())
      rows = normalise(rows, op.getNorms()[number], /*layer=*/IntegerAttr());
    return rotate(rows);
  }

  Value rotate(Value rows) { // L5
    if (op.getRope().empty())
      return rows;
    return RopeOp::create(b, rows.getType(), rows, op.getRope()[0],
                          op.getRope()[1], emptyLike(rows),
                          op.getPositions() ? Value() : getOffset(),
                          op.getPositions(), *op.getPairing())
        .getResult(0);
  }

  /// The position of the first token (L5).
  Value getOffset() { return op.hasCache() ? op.getLengths() : op.getOffset(); }

  /// The number of rows of each sequence with the new ones, of i64, which no
  /// sum of numbers that caches can have overflows (L6).
  Value emitLengthsAfter() {
    Value lengths = op.getLengths(), counts = op.getCounts();
    Type integer = b.getI64Type();
    Value count = arith::IndexCastOp::create(
        b, integer, b.createOrFold<tensor::DimOp>(op.getInput(), 1));
    SmallVector<Value> inputs = {lengths};
    if (counts)
      inputs.push_back(counts);
    SmallVector<AffineMap> maps(inputs.size() + 1, b.getMultiDimIdentityMap(1));
    return b.generic(inputs, b.empty(b.sizes(lengths), integer), maps,
                     [&](ValueRange e) -> Value {
                       Value length = b.convert(e[0], integer);
                       return arith::AddIOp::create(
                           b, length,
                           counts ? b.convert(e[1], integer) : count);
                     });
  }

  /// Appends to cache `number`, and reads all of it (L6).
  Value cache(Value rows, unsigned number) {
    bool isQuantized = caches.size() == 4;
    SmallVector<Value> outs = {caches[number]};
    if (isQuantized)
      outs.push_back(caches[number + 2]);
    auto append = CacheAppendOp::create(
        b, TypeRange(ValueRange(outs)), rows, outs, op.getLengths(),
        op.getCounts(), /*sequences=*/Value(), op.getTable(), op.getRing());
    caches[number] = append->getResult(0);
    Value scales;
    if (isQuantized)
      scales = caches[number + 2] = append->getResult(1);
    auto stored = cast<RankedTensorType>(append->getResult(0).getType());
    Value size = op.getSize() ? op.getSize() : emitCapacity(outs[0]);
    auto lengths = cast<RankedTensorType>(after.getType());
    auto type =
        RankedTensorType::get({lengths.getDimSize(0), numKeyHeads(),
                               ShapedType::kDynamic, stored.getDimSize(3)},
                              op.getElementType());
    return CacheReadOp::create(b, type, append->getResult(0), scales, after,
                               op.getTable(), size, op.getRing());
  }

  Value emitCapacity(Value cache) {
    Value rows = b.index(b.size(cache, 2));
    return op.getTable() ? b.mul(b.size(op.getTable(), 1), rows) : rows;
  }

  Value attend(Value query, Value key, Value value) { // L8
    Value rows = emptyRows(op.getInput(), numHeads(), valueSize());
    auto attention = AttentionOp::create(b, query, key, value, rows);
    attention.setStaticScaleAttr(op.getStaticScaleAttr());
    if (Value offset = getOffset())
      attention.getOffsetMutable().assign(offset);
    if (op.isPacked()) {
      attention.getCumulativeQueryMutable().assign(op.getSequences()[0]);
      attention.getCumulativeKeyMutable().assign(op.getSequences()[1]);
    }
    if (op.getCounts())
      attention.getCountsMutable().assign(op.getCounts());
    if (op.getSink())
      attention.getSinkMutable().assign(op.getSink());
    if (op.hasDropout() && !op.getProbabilityRate()->isZero()) { // L9
      attention.setDropoutRateAttr(op.getProbabilityRateAttr());
      attention.getDropoutSeedMutable().assign(op.getDropoutSeed());
      attention.getDropoutCallMutable().assign(op.getDropoutCall());
    }
    attention.getScoreCapturesMutable().assign(op.getScoreCaptures());
    attention.getMaskCapturesMutable().assign(op.getMaskCaptures());
    attention.getScore().takeBody(op.getScore());
    attention.getMask().takeBody(op.getMask());
    // No token comes after the last position that is stored.
    if (op.hasCache() && !isCausal(attention.getMask()))
      hidePadding(attention);
    return attention.getResult(0);
  }

  /// Whether `j <= p` is one of the conditions of a mask.
  static bool isCausal(Region &mask) {
    if (mask.empty())
      return false;
    Value p = mask.getArgument(2), j = mask.getArgument(3);
    SmallVector<Value> conditions(mask.front().getTerminator()->getOperands());
    while (!conditions.empty()) {
      Value condition = conditions.pop_back_val();
      if (auto both = condition.getDefiningOp<arith::AndIOp>())
        llvm::append_range(conditions, both->getOperands());
      auto compare = condition.getDefiningOp<arith::CmpIOp>();
      if (compare && compare.getPredicate() == arith::CmpIPredicate::sle &&
          compare.getLhs() == j && compare.getRhs() == p)
        return true;
    }
    return false;
  }

  /// Hides the positions behind each sequence's last (L6).
  void hidePadding(AttentionOp attention) {
    OpBuilder::InsertionGuard guard(b);
    Region &mask = attention.getMask();
    bool isNew = mask.empty();
    if (isNew)
      b.createBlock(&mask, mask.end(), SmallVector<Type>(4, b.getIndexType()),
                    SmallVector<Location>(4, b.getLoc()));
    attention.getMaskCapturesMutable().append(after);
    Block &block = mask.front();
    Value lengths = block.addArgument(after.getType(), b.getLoc());
    Position at{block.getArgument(0), block.getArgument(1),
                block.getArgument(2), block.getArgument(3)};
    if (isNew) {
      Value keep = buildKeyPadding({b, b.getLoc()}, at, lengths);
      YieldOp::create(b, keep);
      return;
    }
    Operation *yield = block.getTerminator();
    b.setInsertionPoint(yield);
    Value keep = buildKeyPadding({b, b.getLoc()}, at, lengths);
    yield->setOperand(0, arith::AndIOp::create(b, yield->getOperand(0), keep));
  }

  /// `rows * sigmoid(gate)`, where a gate of one element is that of its head.
  Value applyGate(Value rows, Value gate) { // L7
    FloatType sums = AttentionOp::getAccumulationType(op.getElementType());
    SmallVector<AffineExpr> exprs;
    for (unsigned dim : {0, 1, 2, 3})
      exprs.push_back(b.getAffineDimExpr(dim));
    AffineMap identity = b.getMultiDimIdentityMap(4);
    if (op.getGateSize() == 1)
      exprs[3] = b.getAffineConstantExpr(0);
    AffineMap ofGate = AffineMap::get(4, 0, exprs, b.getContext());
    auto body = [&](ValueRange e) -> Value {
      Value one = b.real(sums, 1.0);
      Value power = b.exp(arith::NegFOp::create(b, b.convert(e[1], sums)));
      Value gated = b.divF(b.convert(e[0], sums), b.addF(one, power));
      return b.convert(gated, op.getElementType());
    };
    return b.generic({rows, gate}, emptyLike(rows),
                     {identity, ofGate, identity}, body);
  }

  Value emitOutput(Value rows) { // L9
    Value out = op.getOuts()[0];
    bool drops = op.hasDropout() && !op.getOutputRate()->isZero();
    Value output =
        project(rows, op.getOutput(), {drops ? emptyLike(out) : out})[0];
    if (!drops)
      return output;
    return DropoutOp::create(b, out.getType(), output, out, op.getDropoutSeed(),
                             op.getDropoutCall(), op.getOutputRateAttr())
        .getResult(0);
  }

  MultiHeadAttentionOp op;
  IndexBuilder b;
  SmallVector<Value> caches; ///< Of keys, of values, and scales of both.
  Value after; ///< Lengths of the sequences with the new tokens, if cached.
};

} // namespace

namespace {
struct DecomposeLayer : attn::impl::DecomposeLayerBase<DecomposeLayer> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](MultiHeadAttentionOp op) {
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, LayerBuilder(op, rewriter).emit());
    });
  }
};
} // namespace
