//===- RegionVectorization.cpp - Regions over the lanes of a tile ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/AttnToVector/RegionVectorization.h"
#include "dialect/AttnOps.h"
#include "lib/CPU/AttnToVector/Exp2.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using arith::CmpIPredicate;

/// No batch, sequence or position by itself is larger: memory ends before, and
/// offsets do (A5).
static constexpr uint64_t kMaxCount = uint64_t(1) << 57;

static Value getYielded(Region &region) {
  return cast<YieldOp>(region.front().getTerminator()).getValue();
}

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
  if (dependence.hasSameQuotients())
    invariant[arguments.key] = LaneValue::uniform(tile.firstKey, count);
  for (auto [argument, capture] : llvm::zip(arguments.captures, captures))
    invariant[argument] = LaneValue::uniform(capture);
  if (arguments.score)
    findScaledTanh();
  findTables();
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
    if (isDivision(&op) && dependence.onLane(op.getOperand(1)))
      getExistingLanes();
    auto load = dyn_cast<memref::LoadOp>(op);
    if (!load || !dependence.onLane(load.getResult()) ||
        (isOnRow(op) && !inRows.contains(&op)))
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
  buildReciprocals();
  buildTables();
}

void RegionVectorizer::evaluateRow(TileRow at) {
  Bound count = {kMaxCount, 2 * kGuardedPosition, /*nonNegative=*/true};
  Value row = b.addI(at.first, at.offset);
  Value key = b.addI(tile.firstKey, row);
  current[dependence.getArguments().key] = LaneValue::uniform(key, count);
  for (Value value : tabulated)
    current[value] = readTable(value, at);
  for (Operation &op : region.front().without_terminator())
    if (inRows.contains(&op) && !deferred.contains(&op))
      evaluate(&op, row);
}

Pieces RegionVectorizer::evaluateMask(TileRow row) {
  current.clear();
  evaluateRow(row);
  return arithmetic.toVectors(get(getYielded(region)));
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
        &RegionVectorizer::evaluateNear, &RegionVectorizer::evaluateNarrow,
        &RegionVectorizer::evaluateFunction,
        &RegionVectorizer::evaluateDivision}) {
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

void RegionVectorizer::evaluateUniform(Operation *op) {
  if (auto attribute = dyn_cast<arith::ConstantOp>(op)) {
    current[op->getResult(0)] =
        LaneValue::uniform(b.constant(attribute.getValue()), getBound(op));
    return;
  }
  Bound bound = getBound(op);
  if (isa<arith::FloorDivSIOp>(op) &&
      get(op->getOperand(0)).bound.nonNegative &&
      get(op->getOperand(1)).bound.nonNegative) {
    Value quotient = b.create<arith::DivUIOp>(get(op->getOperand(0)).scalar,
                                              get(op->getOperand(1)).scalar);
    current[op->getResult(0)] = LaneValue::uniform(quotient, bound);
    return;
  }
  Operation *copy = b.clone(*op);
  for (OpOperand &operand : copy->getOpOperands())
    operand.set(get(operand.get()).scalar);
  dropPromises(copy);
  for (auto [original, result] :
       llvm::zip(op->getResults(), copy->getResults()))
    current[original] = LaneValue::uniform(result, bound);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Pieces RegionVectorizer::getExistingLanes() {
  if (existingLanes.empty())
    existingLanes = buildExistingLanes(tile.numQueries);
  return existingLanes;
}

/// Whether the number of a lane is less than `count`.
Pieces RegionVectorizer::buildExistingLanes(Value count) {
  Value narrow = b.create<arith::IndexCastOp>(b.getI32Type(), count);
  Value counts =
      b.create<vector::BroadcastOp>(b.getPieceType(b.getI32Type()), narrow);
  Pieces pieces;
  for (int64_t piece = 0; piece < b.getNumPieces(); ++piece)
    pieces.push_back(b.create<arith::CmpIOp>(
        CmpIPredicate::slt, b.laneNumbers(piece, 1, b.getI32Type()), counts));
  return pieces;
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
    indices.back() = b.addI(first, int64_t(piece) * b.getWidth());
    pieces.push_back(b.create<vector::MaskedLoadOp>(
        vector, get(load.getMemRef()).scalar, indices, mask, none));
  }
  return LaneValue::varying(type, std::move(pieces));
}

LaneValue RegionVectorizer::gather(memref::LoadOp load) {
  Type type = load.getType();
  MemRefType buffer = load.getMemRefType();
  Value memory = get(load.getMemRef()).scalar;
  // What is inside a dense buffer of this size is found by words.
  bool isSmall = buffer.hasStaticShape() && buffer.getLayout().isIdentity() &&
                 buffer.getNumElements() <= std::numeric_limits<int32_t>::max();
  auto toIndices = [&](const LaneValue &index, bool fitsWords) {
    if (arithmetic.isNarrow(index) && fitsWords)
      return arithmetic.toNarrowVectors(index);
    Pieces pieces = arithmetic.toVectors(index);
    if (fitsWords)
      for (Value &piece : pieces)
        piece =
            b.create<arith::TruncIOp>(b.getPieceType(b.getI32Type()), piece);
    return pieces;
  };
  // The indices that are the same in all lanes say where to count from.
  SmallVector<Value> origin(load.getIndices().size(), b.index(0));
  SmallVector<std::pair<unsigned, LaneValue>> varying;
  for (auto [dim, operand] : llvm::enumerate(load.getIndices())) {
    LaneValue index = get(operand);
    if (index.isUniform())
      origin[dim] = index.scalar;
    else
      varying.emplace_back(unsigned(dim), index);
  }
  Pieces indices;
  if (varying.size() == 1 && varying.front().first + 1 == origin.size()) {
    const LaneValue &last = varying.front().second;
    indices = toIndices(last, isSmall || arithmetic.isNarrow(last));
  } else {
    auto metadata = b.create<memref::ExtractStridedMetadataOp>(memory);
    SmallVector<OpFoldResult> strides = metadata.getConstifiedMixedStrides();
    Type word = isSmall ? b.getI32Type() : b.getI64Type();
    VectorType piece = b.getPieceType(word);
    for (const auto &[dim, index] : varying) {
      Value stride =
          getValueOrCreateConstantIndexOp(b, b.getLoc(), strides[dim]);
      stride = b.create<vector::BroadcastOp>(
          piece, b.create<arith::IndexCastOp>(word, stride));
      for (auto [number, part] : llvm::enumerate(toIndices(index, isSmall))) {
        Value offset = b.create<arith::MulIOp>(part, stride);
        if (number == indices.size())
          indices.push_back(offset);
        else
          indices[number] = b.create<arith::AddIOp>(indices[number], offset);
      }
    }
  }
  VectorType vector = b.getPieceType(type);
  Value none = b.constant(cast<TypedAttr>(b.getZeroAttr(vector)));
  Pieces pieces;
  for (auto [index, mask] : llvm::zip(indices, getExistingLanes()))
    pieces.push_back(
        b.create<vector::GatherOp>(vector, memory, origin, index, mask, none));
  return LaneValue::varying(type, std::move(pieces));
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

void RegionVectorizer::findScaledTanh() {
  if (!getYielded(region).getType().isF32()) // Its error is that of f32.
    return;
  auto isDeferrable = [&](Operation *op) {
    return op && op->getResult(0).hasOneUse() && isOnRow(*op) &&
           dependence.onLane(op->getResult(0)) &&
           !dependence.onDistance(op->getResult(0));
  };
  SmallVector<Operation *> products;
  Value factored = getYielded(region);
  double factor = 1;
  while (auto product = factored.getDefiningOp<arith::MulFOp>()) {
    APFloat constant(0.0f);
    unsigned side = 0;
    while (side < 2 &&
           !matchPattern(product->getOperand(side), m_ConstantFloat(&constant)))
      ++side;
    double number = constant.convertToDouble();
    factor *= number;
    if (side == 2 || !isModerate(number) || !isModerate(factor) ||
        !isDeferrable(product))
      return;
    products.push_back(product);
    factored = product->getOperand(1 - side);
  }
  auto tanh = factored.getDefiningOp<math::TanhOp>();
  if (!isDeferrable(tanh))
    return;
  scaledTanh = tanh;
  tanhFactor = factor;
  deferred.insert(tanh);
  deferred.insert_range(products);
}

std::optional<RegionVectorizer::Cap> RegionVectorizer::getCap() const {
  if (!scaledTanh)
    return std::nullopt;
  double inner = 1;
  math::TanhOp tanh = scaledTanh;
  if (stripDivisor(tanh.getOperand(), inner) != dependence.getArguments().score)
    return std::nullopt;
  return Cap{inner, tanhFactor};
}

Pieces RegionVectorizer::evaluateScore(TileRow row, ArrayRef<Value> scores) {
  current.clear();
  Value score = dependence.getArguments().score;
  current[score] = LaneValue::varying(score.getType(), Pieces(scores));
  evaluateRow(row);
  if (!scaledTanh)
    return arithmetic.toVectors(get(getYielded(region)));
  double inner = 1;
  Value operand = stripDivisor(scaledTanh.getOperand(), inner);
  return buildTanh(b, arithmetic.toVectors(get(operand)), tile.isInOrder, inner,
                   tanhFactor);
}

FailureOr<LaneValue> RegionVectorizer::evaluateFunction(Operation *op) {
  Type type = op->getResult(0).getType();
  if (!isa<math::ExpOp, math::Exp2Op, math::TanhOp>(op))
    return failure();
  double inner = 1;
  Value operand = op->getOperand(0);
  if (!isa<math::Exp2Op>(op))
    operand = stripDivisor(operand, inner);
  Pieces pieces = arithmetic.toVectors(get(operand));
  auto tanh = dyn_cast<math::TanhOp>(op);
  if (tanh && bitEnumContainsAll(tanh.getFastmath(), arith::FastMathFlags::afn))
    return LaneValue::varying(type,
                              buildTanh(b, pieces, tile.isInOrder, inner));
  for (Value &piece : pieces)
    piece = tanh                   ? buildTanhOfLanes(b, piece, inner)
            : isa<math::ExpOp>(op) ? buildExp(b, piece, inner)
                                   : buildExp2(b, piece);
  return LaneValue::varying(type, std::move(pieces));
}

LaneValue RegionVectorizer::evaluateElementwise(Operation *op) {
  SmallVector<Pieces> operands;
  for (Value operand : op->getOperands())
    operands.push_back(arithmetic.toVectors(get(operand)));
  Type type = op->getResult(0).getType();
  Type element = type.isIndex() ? Type(b.getI64Type()) : type;
  if (isDivision(op) && dependence.onLane(op->getOperand(1)))
    operands[1] = replaceMissing(operands[1], element);
  return LaneValue::varying(
      type,
      isDivisionByVariable(op)
          ? divideElements(op, operands[0], operands[1], element)
          : buildPieces(op, operands, element),
      getBound(op));
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
