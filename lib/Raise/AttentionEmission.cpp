//===- AttentionEmission.cpp - The op that an attention is ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Raise/AttentionEmission.h"

#include "dialect/AttnOps.h"
#include "lib/Raise/Arrangement.h"
#include "lib/Raise/ScoreGraph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <utility>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Computes terms in a region of an attention.
class RegionEmitter {
public:
  /// `score` is the region's first argument, if it is that of a score.
  RegionEmitter(OpBuilder &builder, Location loc, Terms &terms,
                const AttentionMatch &match, Type accumulationType,
                MutableOperandRange captures, Value score, ValueRange position)
      : b(builder), loc(loc), terms(terms), graph(terms, match.product),
        accumulationType(accumulationType), captures(std::move(captures)),
        score(score) {
    components[0] = {match.batch, position[0]};
    components[1] = {match.getQueryHeads(), position[1]};
    components[2] = {match.queries, position[2]};
    components[3] = {match.keys, position[3]};
  }

  /// Null if an index cannot be computed. Floats that are narrower than the
  /// type of scores are of that type.
  Value emit(Term term);

private:
  /// Axes that an index of the region counts.
  struct Component {
    AxisList axes;
    Value index;
  };

  Type widen(Type type) const {
    auto floatType = dyn_cast<FloatType>(type);
    bool isNarrow = floatType && floatType.getWidth() <
                                     accumulationType.getIntOrFloatBitWidth();
    return isNarrow ? accumulationType : type;
  }
  Value widen(Value value) {
    Type type = widen(value.getType());
    return type == value.getType() ? value
                                   : arith::ExtFOp::create(b, loc, type, value);
  }
  Value capture(Value operand);
  Value emitConstant(TypedAttr constant);
  Value emitElement(const Term &element);
  Value emitScalar(const Term &scalar);
  Value emitIndex(const AxisList &axes);
  Value emitRun(const Component &component, size_t first, size_t count);

  OpBuilder &b;
  Location loc;
  Terms &terms;
  ScoreGraph graph;
  Type accumulationType; ///< Of scores.
  MutableOperandRange captures;
  Value score;
  Component components[4];
  DenseMap<Value, Value> captured;
  DenseMap<std::pair<Value, const Frame *>, Value> emitted;
};

} // namespace

Value RegionEmitter::capture(Value operand) {
  Value &argument = captured[operand];
  if (!argument) {
    captures.append(operand);
    argument = b.getInsertionBlock()->addArgument(operand.getType(), loc);
  }
  return argument;
}

Value RegionEmitter::emitConstant(TypedAttr constant) {
  if (auto number = dyn_cast<FloatAttr>(constant)) {
    auto type = cast<FloatType>(widen(number.getType()));
    llvm::APFloat value = number.getValue();
    bool losesInfo = false;
    value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &losesInfo);
    constant = b.getFloatAttr(type, value);
  }
  return arith::ConstantOp::create(b, loc, constant);
}

/// The index that `count` axes of a component are, from the given one on.
Value RegionEmitter::emitRun(const Component &component, size_t first,
                             size_t count) {
  AxisList inner(llvm::drop_begin(component.axes, first + count)),
      own(ArrayRef(component.axes).slice(first, count));
  Value index = component.index;
  auto divide = [&](const AxisList &axes, auto emitOp) {
    int64_t size = terms.axes.getSize(axes);
    if (ShapedType::isDynamic(size) || size == 0)
      return false;
    index = emitOp(arith::ConstantIndexOp::create(b, loc, size));
    return true;
  };
  if (!inner.empty() && !divide(inner, [&](Value size) -> Value {
        return arith::DivSIOp::create(b, loc, index, size);
      }))
    return nullptr;
  if (first != 0 && !divide(own, [&](Value size) -> Value {
        return arith::RemSIOp::create(b, loc, index, size);
      }))
    return nullptr;
  return index;
}

/// The index of a dimension that runs over `axes`.
Value RegionEmitter::emitIndex(const AxisList &axes) {
  AxisList rest = terms.axes.resolve(axes);
  Value index;
  while (!rest.empty()) {
    // As many axes as follow each other in one component.
    Value run;
    size_t count = 0;
    for (Component &component : components) {
      component.axes = terms.axes.resolve(component.axes);
      auto *found = llvm::find(component.axes, rest.front());
      if (found == component.axes.end())
        continue;
      ArrayRef<Axis> following(found, component.axes.end());
      while (count < std::min(following.size(), rest.size()) &&
             following[count] == rest[count])
        ++count;
      run = emitRun(component, size_t(found - component.axes.begin()), count);
      break;
    }
    if (!run)
      return nullptr;
    if (index) {
      int64_t size =
          terms.axes.getSize(AxisList(ArrayRef(rest).take_front(count)));
      if (ShapedType::isDynamic(size))
        return nullptr;
      Value factor = arith::ConstantIndexOp::create(b, loc, size);
      index = arith::MulIOp::create(b, loc, index, factor);
      run = arith::AddIOp::create(b, loc, index, run);
    }
    index = run;
    rest.erase(rest.begin(), rest.begin() + ptrdiff_t(count));
  }
  return index ? index : arith::ConstantIndexOp::create(b, loc, 0);
}

Value RegionEmitter::emitElement(const Term &element) {
  SmallVector<Value> indices;
  for (const AxisList &dim : element.dims) {
    indices.push_back(emitIndex(dim));
    if (!indices.back())
      return nullptr;
  }
  return widen(
      tensor::ExtractOp::create(b, loc, capture(element.value), indices));
}

Value RegionEmitter::emitScalar(const Term &scalar) {
  Operation *op = scalar.getScalarOp();
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return emitIndex(scalar.frame->loops[index.getDim()]);
  SmallVector<Value> operands;
  for (unsigned number = 0; number < op->getNumOperands(); ++number) {
    operands.push_back(emit(scalar.getOperand(number)));
    if (!operands.back())
      return nullptr;
  }
  Type type = widen(op->getResult(0).getType());
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    // Scores that were narrower are not rounded to it.
    auto from = cast<FloatType>(operands[0].getType());
    auto to = cast<FloatType>(type);
    if (from == to)
      return operands[0];
    if (from.getWidth() < to.getWidth())
      return arith::ExtFOp::create(b, loc, to, operands[0]);
    return arith::TruncFOp::create(b, loc, to, operands[0]);
  }
  OperationState state(loc, op->getName(), operands, type, op->getAttrs());
  return b.create(state)->getResult(0);
}

Value RegionEmitter::emit(Term term) {
  term = terms.view(term);
  if (graph.isProduct(term))
    return score;
  if (TypedAttr constant = terms.getConstant(term))
    return emitConstant(constant);
  if (term.isElement()) {
    ScoreGraph::Facts facts = graph.getFacts(term);
    if (facts.tensor && !facts.product)
      return emitElement(term);
    term = terms.enter(term);
    if (graph.isProduct(term))
      return score;
  }
  if (!term.frame)
    return widen(capture(term.value));
  Value &known = emitted[{term.value, term.frame}];
  if (known)
    return known;
  Value value = emitScalar(term);
  // Emission may have moved it.
  emitted[{term.value, term.frame}] = value;
  return value;
}

/// The opposite of a condition.
static Value emitNot(OpBuilder &b, Location loc, Value condition) {
  if (auto compare = condition.getDefiningOp<arith::CmpIOp>())
    return arith::CmpIOp::create(b, loc,
                                 arith::invertPredicate(compare.getPredicate()),
                                 compare.getLhs(), compare.getRhs());
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  return arith::XOrIOp::create(b, loc, condition, yes);
}

/// Makes the block of a region, with arguments for a position before those for
/// captures.
static Block *createBlock(OpBuilder &b, Location loc, Region &region,
                          FloatType scoreType) {
  SmallVector<Type> types(AttentionOp::kNumMaskArguments, b.getIndexType());
  if (scoreType)
    types.insert(types.begin(), scoreType);
  return b.createBlock(&region, region.end(), types,
                       SmallVector<Location>(types.size(), loc));
}

static LogicalResult emitScore(OpBuilder &b, Terms &terms,
                               const AttentionMatch &match, AttentionOp op) {
  Term score = terms.view(match.score);
  ScoreGraph graph(terms, match.product);
  if (graph.isProduct(score) || graph.isProduct(terms.enter(score)))
    return success();
  OpBuilder::InsertionGuard guard(b);
  FloatType type = op.getAccumulationType();
  Block *block = createBlock(b, op.getLoc(), op.getScore(), type);
  SmallVector<Value> position(llvm::drop_begin(block->getArguments()));
  RegionEmitter emitter(b, op.getLoc(), terms, match, type,
                        op.getScoreCapturesMutable(), block->getArgument(0),
                        position);
  Value value = emitter.emit(score);
  if (!value)
    return failure();
  if (value.getType() != type)
    value = arith::TruncFOp::create(b, op.getLoc(), type, value);
  YieldOp::create(b, op.getLoc(), value);
  return success();
}

static LogicalResult emitMask(OpBuilder &b, Terms &terms,
                              const AttentionMatch &match, AttentionOp op) {
  if (match.keeps.empty())
    return success();
  OpBuilder::InsertionGuard guard(b);
  Location loc = op.getLoc();
  Block *block = createBlock(b, loc, op.getMask(), nullptr);
  SmallVector<Value> position(block->getArguments());
  RegionEmitter emitter(b, loc, terms, match, op.getAccumulationType(),
                        op.getMaskCapturesMutable(), Value(), position);
  Value all;
  // They were found from the last one to the first.
  for (const KeepTerm &keep : llvm::reverse(match.keeps)) {
    Value value = emitter.emit(keep.condition);
    if (!value)
      return failure();
    if (keep.isNegated)
      value = emitNot(b, loc, value);
    all = all ? arith::AndIOp::create(b, loc, all, value) : value;
  }
  YieldOp::create(b, loc, all);
  return success();
}

FailureOr<Value> attn::emitAttention(OpBuilder &b, Terms &terms,
                                     const AttentionMatch &match) {
  Location loc = match.result.tensor.getLoc();
  const Axes &axes = terms.axes;
  auto arrangeOperand = [&](const TensorAxes &operand, const AxisList &heads,
                            const AxisList &rows, const AxisList &columns) {
    return arrange(b, loc, axes, operand.tensor, operand.dims,
                   {match.batch, heads, rows, columns});
  };
  AxisList heads = match.getQueryHeads();
  Value query =
      arrangeOperand(match.query, heads, match.queries, match.keySize);
  Value key =
      arrangeOperand(match.key, match.keyHeads, match.keys, match.keySize);
  Value value =
      arrangeOperand(match.value, match.keyHeads, match.keys, match.valueSize);
  AxisLists resultDims = {match.batch, heads, match.queries, match.valueSize};
  SmallVector<OpFoldResult> sizes;
  for (const AxisList &dim : resultDims)
    sizes.push_back(axes.createSize(b, loc, dim));
  Value init = tensor::EmptyOp::create(b, loc, sizes,
                                       getElementTypeOrSelf(query.getType()));
  auto op = AttentionOp::create(b, loc, query, key, value, ValueRange(init));
  op.setStaticScaleAttr(b.getF64FloatAttr(match.scale));
  if (failed(emitScore(b, terms, match, op)) ||
      failed(emitMask(b, terms, match, op))) {
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        terms.visit(producer);
    op.erase();
    return failure();
  }
  Value result =
      arrange(b, loc, axes, op.getResult(0), resultDims, match.result.dims);
  return b.createOrFold<tensor::CastOp>(loc, match.result.tensor.getType(),
                                        result);
}
