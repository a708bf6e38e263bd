//===- RegionDerivative.cpp - Derivatives of score regions ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/RegionDerivative.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numbers>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Arithmetic of one float type. Operations that are trivial are folded.
struct Numbers {
  OpBuilder &b;
  Location loc;
  Type type;

  Value real(double value) const {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  Value add(Value x, Value y) const {
    return b.createOrFold<arith::AddFOp>(loc, x, y);
  }
  Value sub(Value x, Value y) const {
    return b.createOrFold<arith::SubFOp>(loc, x, y);
  }
  Value mul(Value x, Value y) const {
    if (matchPattern(x, m_OneFloat()))
      return y;
    return b.createOrFold<arith::MulFOp>(loc, x, y);
  }
  Value div(Value x, Value y) const {
    return b.createOrFold<arith::DivFOp>(loc, x, y);
  }
  Value neg(Value x) const { return b.createOrFold<arith::NegFOp>(loc, x); }
  Value square(Value x) const { return mul(x, x); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) const {
    return b.createOrFold<arith::CmpFOp>(loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) const {
    return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
  }
  template <typename Op> Value call(Value x) const {
    return b.createOrFold<Op>(loc, x);
  }
  /// factor / sqrt(radicand).
  Value overRoot(double factor, Value radicand) const {
    return div(real(factor), call<math::SqrtOp>(radicand));
  }
};

} // namespace

/// The share of the first of two operands in their maximum, or minimum: one
/// half where they are equal.
static Value emitShare(const Numbers &n, arith::CmpFPredicate isChosen, Value x,
                       Value y) {
  Value otherwise = n.select(n.compare(arith::CmpFPredicate::OEQ, x, y),
                             n.real(0.5), n.real(0.0));
  return n.select(n.compare(isChosen, x, y), n.real(1.0), otherwise);
}

/// x^(y-1), of y - 1 that need be no constant.
static Value emitPowerBelow(const Numbers &n, Value x, Value y) {
  return n.b.createOrFold<math::PowFOp>(n.loc, x, n.sub(y, n.real(1.0)));
}

/// The derivatives of one operation on floats (G3): for each operand that is a
/// float, a value of its type, null if it is 0. Fails, without a message, if it
/// has no derivative.
static FailureOr<SmallVector<Value>> emitPartials(OpBuilder &builder,
                                                  Operation *op) {
  using arith::CmpFPredicate;
  using Partials = FailureOr<SmallVector<Value>>;
  Numbers n{builder, op->getLoc(),
            op->getNumResults() ? op->getResult(0).getType() : Type()};
  Value x = op->getNumOperands() > 0 ? op->getOperand(0) : Value(),
        y = op->getNumOperands() > 1 ? op->getOperand(1) : Value(),
        result = op->getNumResults() > 0 ? op->getResult(0) : Value();
  auto one = [&] { return n.real(1.0); };
  auto of = [](auto... partials) -> Partials {
    return SmallVector<Value>{partials...};
  };
  return llvm::TypeSwitch<Operation *, Partials>(op)
      // arith
      .Case<arith::AddFOp>([&](auto) { return of(one(), one()); })
      .Case<arith::SubFOp>([&](auto) { return of(one(), n.real(-1.0)); })
      .Case<arith::MulFOp>([&](auto) { return of(y, x); })
      .Case<arith::DivFOp>(
          [&](auto) { return of(n.div(one(), y), n.neg(n.div(result, y))); })
      .Case<arith::RemFOp>([&](auto) {
        return of(one(), n.neg(n.call<math::TruncOp>(n.div(x, y))));
      })
      .Case<arith::NegFOp>([&](auto) { return of(n.real(-1.0)); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        return of(emitShare(n, CmpFPredicate::OGT, x, y),
                  emitShare(n, CmpFPredicate::OGT, y, x));
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return of(emitShare(n, CmpFPredicate::OLT, x, y),
                  emitShare(n, CmpFPredicate::OLT, y, x));
      })
      // math
      .Case<math::FmaOp>([&](auto) { return of(y, x, one()); })
      .Case<math::AbsFOp>([&](auto) {
        Value zero = n.real(0.0);
        Value negative = n.select(n.compare(CmpFPredicate::OLT, x, zero),
                                  n.real(-1.0), zero);
        return of(
            n.select(n.compare(CmpFPredicate::OGT, x, zero), one(), negative));
      })
      .Case<math::CopySignOp>([&](auto) {
        // The sign of the result beside that of the first operand.
        Value same = n.mul(n.b.createOrFold<math::CopySignOp>(n.loc, one(), x),
                           n.b.createOrFold<math::CopySignOp>(n.loc, one(), y));
        return of(same, Value());
      })
      .Case<math::CeilOp, math::FloorOp, math::RoundOp, math::RoundEvenOp,
            math::TruncOp>([&](auto) { return of(Value()); })
      .Case<math::ClampFOp>([&](math::ClampFOp clamp) {
        Value low =
            n.compare(CmpFPredicate::OGE, clamp.getValue(), clamp.getMin());
        Value high =
            n.compare(CmpFPredicate::OLE, clamp.getValue(), clamp.getMax());
        Value zero = n.real(0.0);
        return of(n.select(low, n.select(high, one(), zero), zero),
                  n.select(low, zero, one()),
                  n.select(low, n.select(high, zero, one()), zero));
      })
      .Case<math::SqrtOp>([&](auto) { return of(n.div(n.real(0.5), result)); })
      .Case<math::RsqrtOp>(
          [&](auto) { return of(n.div(n.mul(n.real(-0.5), result), x)); })
      .Case<math::CbrtOp>(
          [&](auto) { return of(n.div(n.real(1.0 / 3.0), n.square(result))); })
      .Case<math::ExpOp>([&](auto) { return of(result); })
      .Case<math::Exp2Op>(
          [&](auto) { return of(n.mul(result, n.real(std::numbers::ln2))); })
      .Case<math::ExpM1Op>([&](auto) { return of(n.add(result, one())); })
      .Case<math::LogOp>([&](auto) { return of(n.div(one(), x)); })
      .Case<math::Log2Op>(
          [&](auto) { return of(n.div(n.real(std::numbers::log2e), x)); })
      .Case<math::Log10Op>(
          [&](auto) { return of(n.div(n.real(std::numbers::log10e), x)); })
      .Case<math::Log1pOp>(
          [&](auto) { return of(n.div(one(), n.add(x, one()))); })
      .Case<math::PowFOp>([&](auto) {
        // PyTorch's: 0 for the base where the exponent is 0, and for the
        // exponent where the base is.
        Value zero = n.real(0.0);
        Value ofBase = n.select(n.compare(CmpFPredicate::OEQ, y, zero), zero,
                                n.mul(y, emitPowerBelow(n, x, y)));
        Value ofExponent =
            n.select(n.compare(CmpFPredicate::OEQ, result, zero), zero,
                     n.mul(result, n.call<math::LogOp>(x)));
        return of(ofBase, ofExponent);
      })
      .Case<math::FPowIOp>([&](math::FPowIOp power) {
        Value exponent = n.b.createOrFold<arith::SIToFPOp>(n.loc, n.type, y);
        Value unit = arith::ConstantOp::create(
            n.b, n.loc, n.b.getIntegerAttr(y.getType(), 1));
        Value below = n.b.createOrFold<arith::SubIOp>(n.loc, y, unit);
        Value zero = n.real(0.0);
        Value partial =
            n.mul(exponent, n.b.createOrFold<math::FPowIOp>(n.loc, x, below));
        return of(n.select(n.compare(CmpFPredicate::OEQ, exponent, zero), zero,
                           partial),
                  Value());
      })
      .Case<math::SinOp>([&](auto) { return of(n.call<math::CosOp>(x)); })
      .Case<math::CosOp>(
          [&](auto) { return of(n.neg(n.call<math::SinOp>(x))); })
      .Case<math::TanOp>(
          [&](auto) { return of(n.add(one(), n.square(result))); })
      .Case<math::AsinOp>(
          [&](auto) { return of(n.overRoot(1.0, n.sub(one(), n.square(x)))); })
      .Case<math::AcosOp>(
          [&](auto) { return of(n.overRoot(-1.0, n.sub(one(), n.square(x)))); })
      .Case<math::AtanOp>(
          [&](auto) { return of(n.div(one(), n.add(one(), n.square(x)))); })
      .Case<math::Atan2Op>([&](auto) {
        Value sum = n.add(n.square(x), n.square(y));
        return of(n.div(y, sum), n.neg(n.div(x, sum)));
      })
      .Case<math::SinhOp>([&](auto) { return of(n.call<math::CoshOp>(x)); })
      .Case<math::CoshOp>([&](auto) { return of(n.call<math::SinhOp>(x)); })
      .Case<math::TanhOp>(
          [&](auto) { return of(n.sub(one(), n.square(result))); })
      .Case<math::AsinhOp>(
          [&](auto) { return of(n.overRoot(1.0, n.add(n.square(x), one()))); })
      .Case<math::AcoshOp>(
          [&](auto) { return of(n.overRoot(1.0, n.sub(n.square(x), one()))); })
      .Case<math::AtanhOp>(
          [&](auto) { return of(n.div(one(), n.sub(one(), n.square(x)))); })
      .Case<math::ErfOp>([&](auto) {
        Value density = n.call<math::ExpOp>(n.neg(n.square(x)));
        return of(n.mul(density, n.real(2.0 * std::numbers::inv_sqrtpi)));
      })
      .Case<math::ErfcOp>([&](auto) {
        Value density = n.call<math::ExpOp>(n.neg(n.square(x)));
        return of(n.mul(density, n.real(-2.0 * std::numbers::inv_sqrtpi)));
      })
      .Default([](Operation *) -> Partials { return failure(); });
}

/// Of a float type.
static Value createReal(OpBuilder &b, Location loc, Type type, double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

FailureOr<SmallVector<Value>>
attn::emitScalarTangents(OpBuilder &b, Operation *op,
                         function_ref<Value(Value)> tangentOf) {
  SmallVector<Value> none(op->getNumResults());
  // What depends on nothing that moves does not, and neither do integers.
  if (llvm::none_of(op->getOperands(), tangentOf) ||
      !isa<FloatType>(op->getResult(0).getType()))
    return none;
  b.setInsertionPointAfter(op);
  Location loc = op->getLoc();
  Value result = op->getResult(0);
  Numbers n{b, loc, result.getType()};
  auto withFirst = [&](Value tangent) -> SmallVector<Value> {
    Operation *copy = b.clone(*op);
    copy->setOperand(0, tangent);
    return {copy->getResult(0)};
  };
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    // Of the operand that is chosen alone.
    auto orZero = [&](Value value) {
      Value tangent = tangentOf(value);
      return tangent ? tangent : n.real(0.0);
    };
    return SmallVector<Value>{n.select(select.getCondition(),
                                       orZero(select.getTrueValue()),
                                       orZero(select.getFalseValue()))};
  }
  if (isa<arith::ExtFOp, arith::TruncFOp, memref::LoadOp, tensor::ExtractOp>(
          op))
    return withFirst(tangentOf(op->getOperand(0)));
  if (auto both = dyn_cast<math::SincosOp>(op)) {
    Value x = tangentOf(both.getOperand());
    return SmallVector<Value>{n.mul(both.getCos(), x),
                              n.neg(n.mul(both.getSin(), x))};
  }
  FailureOr<SmallVector<Value>> partials = emitPartials(b, op);
  if (failed(partials))
    return op->emitError("'") << op->getName() << "' has no derivative";
  Value sum;
  for (auto [operand, partial] : llvm::zip(op->getOperands(), *partials)) {
    Value x = tangentOf(operand);
    if (!x || !partial)
      continue;
    Value product = n.mul(x, partial);
    sum = sum ? n.add(sum, product) : product;
  }
  return SmallVector<Value>{sum};
}

namespace {

/// Carries derivatives along the operations of one block.
class Derivation {
public:
  explicit Derivation(OpBuilder &builder) : b(builder) {}

  void set(Value value, Value derivative) { derivatives[value] = derivative; }
  /// Derivatives are with respect to `variable`.
  void setVariable(Value variable) {
    set(variable, createReal(b, variable.getLoc(), variable.getType(),
                             /*value=*/1.0));
  }

  LogicalResult visit(Operation *op) {
    FailureOr<SmallVector<Value>> found = emitScalarTangents(
        b, op, [&](Value value) { return derivatives.lookup(value); });
    if (failed(found))
      return failure();
    for (auto [result, derivative] : llvm::zip(op->getResults(), *found))
      if (derivative)
        set(result, derivative);
    return success();
  }

  /// That of a value, 0 if it does not depend on the variable.
  Value get(Value value) {
    if (Value found = derivatives.lookup(value))
      return found;
    return createReal(b, value.getLoc(), value.getType(), /*value=*/0.0);
  }

private:
  OpBuilder &b;
  DenseMap<Value, Value> derivatives;
};

} // namespace

/// Yields `value` of a block, and drops what nothing uses then.
static void yieldInstead(Block &block, Value value) {
  auto yield = cast<YieldOp>(block.getTerminator());
  yield.getValueMutable().assign(value);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Goes over the operations of `region`, of which `mapping` has the copies in
/// `derivative`, and yields the derivative of what it yields instead.
static LogicalResult derive(Region &region, Region &derivative,
                            const IRMapping &mapping, OpBuilder &builder,
                            Derivation &derivation) {
  SmallVector<Operation *> ops =
      llvm::map_to_vector(region.front().without_terminator(),
                          [&](Operation &op) { return mapping.lookup(&op); });
  for (Operation *op : ops)
    if (failed(derivation.visit(op)))
      return failure();
  Block &block = derivative.front();
  builder.setInsertionPoint(block.getTerminator());
  yieldInstead(block,
               derivation.get(cast<YieldOp>(block.getTerminator()).getValue()));
  return success();
}

LogicalResult attn::differentiateRegion(Region &region, Value variable,
                                        Region &derivative) {
  IRMapping mapping;
  region.cloneInto(&derivative, mapping);
  OpBuilder builder(variable.getContext());
  builder.setInsertionPointToStart(&derivative.front());
  Value ofCopy = mapping.lookup(variable);
  if (Operation *op = ofCopy.getDefiningOp())
    builder.setInsertionPointAfter(op);
  Derivation derivation(builder);
  derivation.setVariable(ofCopy);
  return derive(region, derivative, mapping, builder, derivation);
}

LogicalResult attn::differentiateAlong(Region &region, ArrayRef<unsigned> along,
                                       Region &derivative) {
  IRMapping mapping;
  region.cloneInto(&derivative, mapping);
  OpBuilder builder(region.getContext());
  Derivation derivation(builder);
  for (unsigned number : along) {
    BlockArgument argument = derivative.getArgument(number);
    derivation.set(argument, derivative.addArgument(argument.getType(),
                                                    argument.getLoc()));
  }
  return derive(region, derivative, mapping, builder, derivation);
}

LogicalResult ScoreSlopes::prepare(AttentionTangentOp op) {
  if (!op.hasScore())
    return success();
  Region &score = op.getScore();
  SmallVector<unsigned> captures;
  for (int64_t number : op.getOfCaptures())
    captures.push_back(AttentionTangentOp::kNumScoreArguments +
                       unsigned(number));
  return failure(
      failed(differentiateRegion(score, score.getArgument(0), ofProduct)) ||
      failed(differentiateAlong(score, captures, ofCaptures)));
}

FailureOr<Value> attn::emitDerivative(OpBuilder &builder, Block &body,
                                      ValueRange arguments, unsigned number) {
  IRMapping mapping;
  mapping.map(body.getArguments().take_front(arguments.size()), arguments);
  Derivation derivation(builder);
  derivation.setVariable(arguments[number]);
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    LogicalResult derived = derivation.visit(copy);
    builder.setInsertionPointToEnd(copy->getBlock());
    if (failed(derived))
      return failure();
  }
  return derivation.get(mapping.lookup(body.getTerminator()->getOperand(0)));
}

void attn::copyYielding(Region &region, Value value, Region &copy) {
  IRMapping mapping;
  region.cloneInto(&copy, mapping);
  yieldInstead(copy.front(), mapping.lookup(value));
}

std::optional<double> attn::getConstantYield(Region &region) {
  auto yield = cast<YieldOp>(region.front().getTerminator());
  APFloat number(0.0);
  if (!matchPattern(yield.getValue(), m_ConstantFloat(&number)))
    return std::nullopt;
  return number.convertToDouble();
}

SmallVector<Value> attn::findVariables(BlockArgument argument) {
  if (!isa<ShapedType>(argument.getType()))
    return {argument};
  SmallVector<Value> loads;
  for (Operation &op : argument.getOwner()->without_terminator())
    if (op.getNumOperands() > 0 && op.getOperand(0) == argument &&
        isa<tensor::ExtractOp, memref::LoadOp>(op))
      loads.push_back(op.getResult(0));
  return loads;
}
