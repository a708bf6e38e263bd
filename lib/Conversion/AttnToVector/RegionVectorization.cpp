//===- RegionVectorization.cpp - Regions over the lanes of a tile ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToVector/RegionVectorization.h"
#include "dialect/AttnOps.h"
#include "lib/Conversion/AttnToLinalg/RegionEvaluation.h"
#include "lib/Conversion/AttnToVector/Exp2.h"

#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using arith::CmpIPredicate;

/// No batch, sequence or position by itself is larger: memory ends before, and
/// offsets do (A5).
static constexpr uint64_t kMaxCount = uint64_t(1) << 57;

RegionVectorizer::RegionVectorizer(Region &region,
                                   const RegionDependence &dependence,
                                   const ScoreTile &tile, ValueRange captures,
                                   LaneArithmetic &arithmetic, LaneBuilder &b)
    : region(region), dependence(dependence), tile(tile),
      arithmetic(arithmetic), b(b), tiles(b, tile, dependence, captures) {
  const RegionArguments &arguments = dependence.getArguments();
  Bound count = {kMaxCount, 2 * kGuardedPosition, /*nonNegative=*/true};
  Bound position = {uint64_t(AttentionOp::kMaxOffset) + kMaxCount,
                    2 * kGuardedPosition, /*nonNegative=*/false};
  invariant[arguments.batch] = LaneValue::uniform(tile.batch, count);
  invariant[arguments.head] = LaneValue::uniform(tile.head, count);
  invariant[arguments.position] = LaneValue::affine(tile.position, 1, position);
  for (auto [argument, capture] : llvm::zip(arguments.captures, captures))
    invariant[argument] = LaneValue::uniform(capture);
}

LaneValue RegionVectorizer::get(Value value) const {
  auto found = current.find(value);
  return found != current.end() ? found->second : invariant.lookup(value);
}

bool RegionVectorizer::isOnRow(Operation &op) const {
  return dependence.onRow(op.getResult(0));
}

void RegionVectorizer::prepare() {
  for (Operation &op : region.front().without_terminator()) {
    auto load = dyn_cast<memref::LoadOp>(op);
    if (!load || !dependence.onLane(load.getResult()))
      continue;
    switch (dependence.getForm(load)) {
    case LoadForm::PerLane:
      buffers[load] = tiles.buildPerLane(load);
      break;
    case LoadForm::Transposed:
      buffers[load] = tiles.buildTransposed(load);
      break;
    case LoadForm::PerElement:
      buffers[load] = tiles.buildPerElement(load);
      break;
    case LoadForm::Contiguous:
    case LoadForm::Gather:
      getExistingLanes();
      break;
    }
  }
  for (Operation &op : region.front().without_terminator())
    if (!isOnRow(op))
      evaluate(&op, nullptr);
  invariant.insert(current.begin(), current.end());
  current.clear();
}

void RegionVectorizer::evaluateRow(Value row) {
  Bound count = {kMaxCount, 2 * kGuardedPosition, /*nonNegative=*/true};
  Value key = b.createOrFold<arith::AddIOp>(tile.firstKey, row);
  current[dependence.getArguments().key] = LaneValue::uniform(key, count);
  for (Operation &op : region.front().without_terminator())
    if (isOnRow(op))
      evaluate(&op, row);
}

static Value getYielded(Region &region) {
  return cast<YieldOp>(region.front().getTerminator()).getValue();
}

Pieces RegionVectorizer::evaluateMask(Value row) {
  current.clear();
  evaluateRow(row);
  return arithmetic.toVectors(get(getYielded(region)));
}

Pieces RegionVectorizer::evaluateScore(Value row, ArrayRef<Value> scores,
                                       double factor) {
  current.clear();
  Value score = dependence.getArguments().score;
  current[score] = LaneValue::varying(score.getType(), Pieces(scores));
  evaluateRow(row);
  return multiply(getYielded(region), factor);
}

void RegionVectorizer::evaluate(Operation *op, Value row) {
  Value result = op->getResult(0);
  bool uniform = llvm::all_of(op->getOperands(), [&](Value operand) {
    return get(operand).isUniform();
  });
  if (uniform)
    return evaluateUniform(op);
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    current[result] = evaluateLoad(load, row);
    return;
  }
  for (auto form :
       {&RegionVectorizer::evaluateAffine, &RegionVectorizer::evaluateCast,
        &RegionVectorizer::evaluateNarrow,
        &RegionVectorizer::evaluateFunction}) {
    FailureOr<LaneValue> value = (this->*form)(op);
    if (failed(value))
      continue;
    current[result] = *value;
    return;
  }
  current[result] = evaluateElementwise(op);
}

//===----------------------------------------------------------------------===//
// Uniform values
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getConstant(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

/// The bound of an integer that the op computes, if it does not wrap.
Bound RegionVectorizer::getBound(Operation *op) {
  Type type = op->getResult(0).getType();
  if (std::optional<int64_t> constant = getConstant(op->getResult(0)))
    return Bound::ofConstant(*constant);
  auto bound = [&](unsigned operand) {
    return get(op->getOperand(operand)).bound;
  };
  if (isa<arith::AddIOp, index::AddOp>(op))
    return bound(0) + bound(1);
  if (isa<arith::SubIOp, index::SubOp>(op)) {
    Bound difference = bound(0) + bound(1);
    difference.nonNegative = false;
    return difference;
  }
  if (isa<arith::MulIOp, index::MulOp>(op))
    return bound(0) * bound(1);
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return bound(0).join(bound(1));
  if (isa<arith::SelectOp>(op))
    return bound(1).join(bound(2));
  if (isa<math::AbsIOp>(op)) {
    Bound absolute = bound(0);
    absolute.nonNegative = true;
    return absolute;
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, index::CastSOp>(op)) {
    Type from = op->getOperand(0).getType();
    if (isPositionType(from) && isPositionType(type))
      return bound(0);
    if (from.isIntOrFloat() && from.getIntOrFloatBitWidth() < 64) {
      uint64_t limit = uint64_t(1) << (from.getIntOrFloatBitWidth() - 1);
      return {limit, limit, false};
    }
  }
  return {};
}

/// A bound counts only as long as nothing wraps.
static Bound dropWrapping(Bound bound) {
  constexpr uint64_t kEnd = uint64_t(1) << 63;
  if (bound.always >= kEnd) {
    bound.always = Bound::kUnknown;
    bound.nonNegative = false;
  }
  if (bound.guarded >= kEnd)
    bound.guarded = Bound::kUnknown;
  return bound;
}

void RegionVectorizer::evaluateUniform(Operation *op) {
  if (auto attribute = dyn_cast<arith::ConstantOp>(op)) {
    current[op->getResult(0)] =
        LaneValue::uniform(b.constant(attribute.getValue()), getBound(op));
    return;
  }
  Operation *copy = b.clone(*op);
  for (OpOperand &operand : copy->getOpOperands())
    operand.set(get(operand.get()).scalar);
  dropPromises(copy);
  Bound bound = dropWrapping(getBound(op));
  for (auto [original, result] :
       llvm::zip(op->getResults(), copy->getResults()))
    current[original] = LaneValue::uniform(result, bound);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Pieces RegionVectorizer::getExistingLanes() {
  if (!existingLanes.empty())
    return existingLanes;
  Value count = b.create<arith::IndexCastOp>(b.getI32Type(), tile.numQueries);
  Value counts =
      b.create<vector::BroadcastOp>(b.getPieceType(b.getI32Type()), count);
  for (int64_t piece = 0; piece < b.getNumPieces(); ++piece)
    existingLanes.push_back(b.create<arith::CmpIOp>(
        CmpIPredicate::slt, b.laneNumbers(piece, 1, b.getI32Type()), counts));
  return existingLanes;
}

LaneValue RegionVectorizer::evaluateLoad(memref::LoadOp load, Value row) {
  switch (dependence.getForm(load)) {
  case LoadForm::PerLane:
    return readTile(load, buffers.lookup(load), {});
  case LoadForm::Transposed:
  case LoadForm::PerElement:
    return readTile(load, buffers.lookup(load), row);
  case LoadForm::Contiguous:
    return loadContiguous(load);
  case LoadForm::Gather:
    return gather(load);
  }
  llvm_unreachable("unknown form of load");
}

LaneValue RegionVectorizer::readTile(memref::LoadOp load, Value buffer,
                                     ValueRange row) {
  Type stored = cast<MemRefType>(buffer.getType()).getElementType();
  Type type = load.getType();
  Pieces pieces = b.load(buffer, row, stored);
  if (type == stored || type.isIndex() || isa<FloatType>(type))
    return LaneValue::varying(type, std::move(pieces));
  VectorType vector = b.getPieceType(stored);
  for (Value &piece : pieces)
    if (type.isInteger(1))
      piece = b.create<arith::CmpIOp>(CmpIPredicate::ne, piece,
                                      b.integer(vector, 0));
    else
      piece = b.create<arith::TruncIOp>(b.getPieceType(type), piece);
  return LaneValue::varying(type, std::move(pieces));
}

LaneValue RegionVectorizer::loadContiguous(memref::LoadOp load) {
  Type type = load.getType();
  SmallVector<Value> indices;
  for (Value index : load.getIndices())
    indices.push_back(get(index).scalar);
  VectorType vector = b.getPieceType(type);
  Value none = b.constant(cast<TypedAttr>(b.getZeroAttr(vector)));
  Value first = indices.back();
  Pieces pieces;
  for (auto [piece, mask] : llvm::enumerate(getExistingLanes())) {
    indices.back() = b.createOrFold<arith::AddIOp>(
        first, b.index(int64_t(piece) * b.getWidth()));
    pieces.push_back(b.create<vector::MaskedLoadOp>(
        vector, get(load.getMemRef()).scalar, indices, mask, none));
  }
  return LaneValue::varying(type, std::move(pieces));
}

LaneValue RegionVectorizer::gather(memref::LoadOp load) {
  Type type = load.getType();
  SmallVector<Value> offsets;
  for (Value index : load.getIndices().drop_back())
    offsets.push_back(get(index).scalar);
  offsets.push_back(b.index(0));
  LaneValue last = get(load.getIndices().back());
  Pieces indices = arithmetic.isNarrow(last) ? arithmetic.toNarrowVectors(last)
                                             : arithmetic.toVectors(last);
  VectorType vector = b.getPieceType(type);
  Value none = b.constant(cast<TypedAttr>(b.getZeroAttr(vector)));
  Pieces pieces;
  for (auto [index, mask] : llvm::zip(indices, getExistingLanes()))
    pieces.push_back(b.create<vector::GatherOp>(
        vector, get(load.getMemRef()).scalar, offsets, index, mask, none));
  return LaneValue::varying(type, std::move(pieces));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static std::optional<CmpIPredicate> getPredicate(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate();
  if (auto compare = dyn_cast<index::CmpOp>(op))
    return arith::symbolizeCmpIPredicate(
        index::stringifyIndexCmpPredicate(compare.getPred()));
  return std::nullopt;
}

FailureOr<LaneValue> RegionVectorizer::evaluateAffine(Operation *op) {
  SmallVector<LaneValue, 2> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  if (llvm::any_of(operands, [](const LaneValue &value) {
        return value.isVarying() || !isPositionType(value.type);
      }))
    return failure();
  auto checked = [](LaneValue value) {
    value.bound = dropWrapping(value.bound);
    return value;
  };
  if (isa<arith::AddIOp, index::AddOp>(op))
    return checked(arithmetic.addAffine(operands[0], operands[1], 1));
  if (isa<arith::SubIOp, index::SubOp>(op))
    return checked(arithmetic.addAffine(operands[0], operands[1], -1));
  if (isa<arith::MulIOp, index::MulOp>(op)) {
    // Strides are small, so that they are exact.
    constexpr int64_t kMaxFactor = 1 << 16;
    for (unsigned side : {0, 1}) {
      std::optional<int64_t> factor = getConstant(operands[side].scalar);
      const LaneValue &other = operands[1 - side];
      if (factor && *factor != 0 && std::abs(*factor) <= kMaxFactor &&
          std::abs(other.stride) <= kMaxFactor)
        return checked(arithmetic.multiplyAffine(other, *factor));
    }
    return failure();
  }
  Type type = op->getResult(0).getType();
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, index::CastSOp,
          index::CastUOp>(op) &&
      isPositionType(type)) {
    LaneValue value = operands[0];
    if (value.type != type)
      value.scalar = b.createOrFold<arith::IndexCastOp>(type, value.scalar);
    value.type = type;
    return value;
  }
  if (std::optional<CmpIPredicate> predicate = getPredicate(op))
    return arithmetic.compareAffine(*predicate, operands[0], operands[1]);
  return failure();
}

/// Whether an op on i64 gives the low half of its result on the low halves, if
/// all operands and the result fit them.
static bool hasNarrowForm(Operation *op,
                          function_ref<bool(Value)> nonNegative) {
  auto allNonNegative = [&] {
    return llvm::all_of(op->getOperands(), nonNegative);
  };
  if (isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(op))
    return allNonNegative();
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op)) {
    std::optional<int64_t> amount = getConstant(op->getOperand(1));
    return amount && *amount >= 0 && *amount < 32 &&
           (isa<arith::ShRSIOp>(op) || allNonNegative());
  }
  // Sign extension keeps the order of unsigned numbers too.
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, index::AddOp,
             index::SubOp, index::MulOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
             arith::MaxUIOp, arith::DivSIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::RemSIOp, arith::SelectOp, math::AbsIOp,
             arith::CmpIOp, index::CmpOp>(op);
}

/// Whether an op may leave i32 although its operands fit.
static bool mayGrow(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, index::AddOp,
             index::SubOp, index::MulOp, math::AbsIOp>(op);
}

FailureOr<LaneValue> RegionVectorizer::evaluateNarrow(Operation *op) {
  Type type = op->getResult(0).getType();
  bool onPositions = llvm::any_of(op->getOperands(), [&](Value operand) {
    return isPositionType(operand.getType());
  });
  if (!onPositions || !hasNarrowForm(op, [&](Value operand) {
        return get(operand).bound.nonNegative;
      }))
    return failure();
  for (Value operand : op->getOperands())
    if (isPositionType(operand.getType()) && !arithmetic.isNarrow(get(operand)))
      return failure();
  Bound bound = dropWrapping(getBound(op));
  if (mayGrow(op) && bound.guarded > uint64_t(INT32_MAX))
    return failure();
  SmallVector<Pieces> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isPositionType(operand.getType())
                           ? arithmetic.toNarrowVectors(get(operand))
                           : arithmetic.toVectors(get(operand)));
  Type element = isPositionType(type) ? Type(b.getI32Type()) : type;
  return LaneValue::varying(type, buildPieces(op, operands, element), bound);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename Op>
static Pieces convert(LaneBuilder &b, Pieces pieces, Type type) {
  for (Value &piece : pieces)
    piece = b.create<Op>(b.getPieceType(type), piece);
  return pieces;
}

FailureOr<LaneValue> RegionVectorizer::evaluateCast(Operation *op) {
  Type type = op->getResult(0).getType();
  LaneValue value = get(op->getOperand(0));
  bool fromPosition = isPositionType(value.type);
  bool toPosition = isPositionType(type);
  Type i32 = b.getI32Type();
  bool isUnsigned =
      isa<arith::IndexCastUIOp, arith::ExtUIOp, index::CastUOp>(op);
  if (isUnsigned ||
      isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, index::CastSOp>(
          op)) {
    if (fromPosition && toPosition) {
      value.type = type;
      return value;
    }
    if (fromPosition) { // Keeps the low bits.
      bool affine = !value.isVarying();
      if (affine) // Modulo 2^32, whatever the bounds.
        value.bound = Bound::ofConstant(0);
      Pieces pieces = affine || arithmetic.isNarrow(value)
                          ? arithmetic.toNarrowVectors(value)
                          : arithmetic.toVectors(value);
      if (pieces.front().getType() != b.getPieceType(type))
        pieces = convert<arith::TruncIOp>(b, pieces, type);
      return LaneValue::varying(type, std::move(pieces));
    }
    if (!toPosition)
      return failure();
    unsigned width = value.type.getIntOrFloatBitWidth();
    uint64_t limit = uint64_t(1) << (isUnsigned ? width : width - 1);
    Bound bound = {limit, limit, isUnsigned};
    Pieces pieces = arithmetic.toVectors(value);
    if (width == 32 && isUnsigned)
      return LaneValue::varying(
          type, convert<arith::ExtUIOp>(b, pieces, b.getI64Type()), bound);
    if (width < 32)
      pieces = isUnsigned ? convert<arith::ExtUIOp>(b, pieces, i32)
                          : convert<arith::ExtSIOp>(b, pieces, i32);
    return LaneValue::varying(type, std::move(pieces), bound);
  }
  bool isSigned = isa<arith::SIToFPOp>(op);
  if (isSigned || isa<arith::UIToFPOp>(op)) {
    if (!fromPosition || !arithmetic.isNarrow(value) ||
        !(isSigned || value.bound.nonNegative))
      return failure();
    Pieces pieces = arithmetic.toNarrowVectors(value);
    return LaneValue::varying(type, convert<arith::SIToFPOp>(b, pieces, type));
  }
  // f16 and bf16 that were widened when they were loaded.
  if (isa<arith::ExtFOp>(op) && value.isVarying() && type.isF32() &&
      value.pieces.front().getType() == b.getPieceType(type))
    return LaneValue::varying(type, value.pieces);
  return failure();
}

//===----------------------------------------------------------------------===//
// Floating point, and everything else
//===----------------------------------------------------------------------===//

/// Whether products with a number may be reassociated.
static bool isModerate(double number) {
  return std::abs(number) > 0x1p-60 && std::abs(number) < 0x1p60;
}

/// A constant that a value is divided by, for functions that do not jump where
/// the quotient is rounded differently.
static Value stripDivisor(Value value, double &factor) {
  auto division = value.getDefiningOp<arith::DivFOp>();
  APFloat divisor(0.0f);
  if (!division || !matchPattern(division.getRhs(), m_ConstantFloat(&divisor)))
    return value;
  double number = divisor.convertToDouble();
  if (!isModerate(number))
    return value;
  factor = 1 / number;
  return division.getLhs();
}

/// A value that was built, times a factor; built anew where the factor can be
/// part of it.
Pieces RegionVectorizer::multiply(Value value, double factor) {
  if (auto product = value.getDefiningOp<arith::MulFOp>()) {
    APFloat constant(0.0f);
    for (unsigned side : {0, 1})
      if (matchPattern(product->getOperand(side), m_ConstantFloat(&constant)) &&
          isModerate(constant.convertToDouble()))
        return multiply(product->getOperand(1 - side),
                        factor * constant.convertToDouble());
  }
  Pieces pieces;
  if (auto tanh = value.getDefiningOp<math::TanhOp>();
      tanh && !get(tanh.getOperand()).isUniform()) {
    double inner = 1;
    Value operand = stripDivisor(tanh.getOperand(), inner);
    for (Value piece : arithmetic.toVectors(get(operand)))
      pieces.push_back(buildTanh(b, piece, inner, factor));
    return pieces;
  }
  for (Value piece : arithmetic.toVectors(get(value)))
    pieces.push_back(
        b.create<arith::MulFOp>(piece, b.number(piece.getType(), factor)));
  return pieces;
}

FailureOr<LaneValue> RegionVectorizer::evaluateFunction(Operation *op) {
  Type type = op->getResult(0).getType();
  if (!isa<math::ExpOp, math::Exp2Op, math::TanhOp>(op))
    return failure();
  double factor = 1;
  Value operand = op->getOperand(0);
  if (isa<math::TanhOp>(op))
    operand = stripDivisor(operand, factor);
  Pieces pieces = arithmetic.toVectors(get(operand));
  for (Value &piece : pieces) {
    if (isa<math::TanhOp>(op))
      piece = buildTanh(b, piece, factor);
    else
      piece = isa<math::ExpOp>(op) ? buildExp(b, piece) : buildExp2(b, piece);
  }
  return LaneValue::varying(type, std::move(pieces));
}

LaneValue RegionVectorizer::evaluateElementwise(Operation *op) {
  SmallVector<Pieces> operands;
  for (Value operand : op->getOperands())
    operands.push_back(arithmetic.toVectors(get(operand)));
  Type type = op->getResult(0).getType();
  Type element = type.isIndex() ? Type(b.getI64Type()) : type;
  return LaneValue::varying(type, buildPieces(op, operands, element),
                            dropWrapping(getBound(op)));
}

/// The name of the op on vectors: index has no vectors.
static StringRef getVectorOpName(Operation *op) {
  if (isa<index::AddOp>(op))
    return arith::AddIOp::getOperationName();
  if (isa<index::SubOp>(op))
    return arith::SubIOp::getOperationName();
  if (isa<index::MulOp>(op))
    return arith::MulIOp::getOperationName();
  return op->getName().getStringRef();
}

Pieces RegionVectorizer::buildPieces(Operation *op, ArrayRef<Pieces> operands,
                                     Type elementType) {
  VectorType vector = b.getPieceType(elementType);
  std::optional<CmpIPredicate> predicate = getPredicate(op);
  Pieces pieces;
  for (int64_t piece = 0; piece < b.getNumPieces(); ++piece) {
    SmallVector<Value> arguments;
    for (const Pieces &operand : operands)
      arguments.push_back(operand[size_t(piece)]);
    if (predicate) {
      pieces.push_back(
          b.create<arith::CmpIOp>(*predicate, arguments[0], arguments[1]));
      continue;
    }
    OperationState state(op->getLoc(), getVectorOpName(op), arguments, vector,
                         op->getDialect()->getNamespace() == "index"
                             ? ArrayRef<NamedAttribute>()
                             : op->getAttrs());
    Operation *created = b.create(state);
    dropPromises(created);
    pieces.push_back(created->getResult(0));
  }
  return pieces;
}
