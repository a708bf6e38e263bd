//===- AttentionVariant.cpp - What attention nodes have in common ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/AttentionVariant.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <cmath>
#include <limits>
#include <utility>

using namespace attn;
using namespace attn::onnx;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;
using mlir::attn::AttentionOp;
using mlir::attn::Position;
using mlir::attn::RegionBuilder;

namespace {

/// What code of scores and masks reads beside positions: the values outside of
/// a region, or the arguments that stand for them in it.
struct Captures {
  Value offset, mask, maskLength, lengths;
  SmallVector<Value> own; ///< Of the variant's own code.

  SmallVector<Value *> list() {
    SmallVector<Value *> result;
    for (Value *value : {&offset, &mask, &maskLength, &lengths})
      if (*value)
        result.push_back(value);
    for (Value &value : own)
      result.push_back(&value);
    return result;
  }
};

/// Writes the code of scores and masks, in regions and over whole tensors.
class ScoreWriter {
public:
  ScoreWriter(const AttentionVariant &variant, mlir::FloatType sumType)
      : variant(variant), sumType(sumType) {}

  bool hasScore() const {
    return variant.softcap != 0 || variant.score || variant.bias;
  }
  bool hasMask() const {
    return variant.causal || variant.left >= 0 || variant.right >= 0 ||
           variant.lengths || variant.boolean || variant.bias || variant.mask;
  }

  Captures findScoreCaptures() const {
    Captures captures;
    if (variant.bias) {
      captures.mask = variant.bias;
      captures.offset = variant.offset;
    }
    captures.own = variant.scoreCaptures;
    return captures;
  }
  Captures findMaskCaptures(Builder &b) const {
    Captures captures;
    captures.lengths = variant.lengths;
    captures.own = variant.maskCaptures;
    if (Value mask = getMask()) {
      captures.mask = mask;
      captures.offset = variant.offset;
      RankedTensorType type = typeOf(mask);
      if (variant.padsMask && type.getRank() > 0)
        captures.maskLength = toIndex(b, sizeOf(b, mask, type.getRank() - 1));
    }
    return captures;
  }

  Value writeCap(RegionBuilder at, Value s) const {
    if (variant.softcap == 0)
      return s;
    Value cap = mlir::arith::ConstantOp::create(
        at.builder, at.loc, at.builder.getFloatAttr(sumType, variant.softcap));
    return mlir::attn::buildSoftcap(at, s, cap);
  }

  /// The score after the cap.
  Value writeScore(RegionBuilder at, Value s, const Position &position,
                   const Captures &captures) const {
    if (variant.score)
      s = variant.score(at, s, position, captures.own);
    if (variant.bias)
      s = mlir::attn::buildBias(at, s, findRow(at, position, captures),
                                captures.mask);
    return s;
  }

  Value writeMask(RegionBuilder at, const Position &position,
                  const Captures &captures) const {
    Value keep;
    auto add = [&](Value next) {
      keep = keep ? mlir::arith::AndIOp::create(at.builder, at.loc, keep, next)
                  : next;
    };
    if (variant.causal)
      add(mlir::attn::buildCausal(at, position));
    if (variant.left >= 0 || variant.right >= 0)
      add(mlir::attn::buildSlidingWindow(at, position, variant.left,
                                         variant.right));
    if (captures.lengths)
      add(mlir::attn::buildKeyPadding(at, position, captures.lengths));
    if (captures.maskLength)
      add(mlir::arith::CmpIOp::create(at.builder, at.loc, CmpIPredicate::slt,
                                      position.j, captures.maskLength));
    if (captures.mask)
      add(writeTensorMask(at, findRow(at, position, captures), captures.mask));
    if (variant.mask)
      add(variant.mask(at, position, captures.own));
    return keep;
  }

private:
  Value getMask() const {
    return variant.boolean ? variant.boolean : variant.bias;
  }

  Value writeTensorMask(RegionBuilder at, const Position &row,
                        Value mask) const {
    // Of whatever type.
    Value element = mlir::attn::buildBoolean(at, row, mask);
    if (variant.boolean)
      return element;
    Value hidden = mlir::arith::ConstantOp::create(
        at.builder, at.loc,
        at.builder.getFloatAttr(element.getType(),
                                -std::numeric_limits<double>::infinity()));
    // A NaN is not hidden.
    return mlir::arith::CmpFOp::create(at.builder, at.loc, CmpFPredicate::UNE,
                                       element, hidden);
  }

  /// The place of a position in tensors by rows.
  static Position findRow(RegionBuilder at, const Position &position,
                          const Captures &captures) {
    if (!captures.offset)
      return position;
    Position row = position;
    bool isTensor = llvm::isa<RankedTensorType>(captures.offset.getType());
    Value offset = mlir::attn::buildIndex(
        at, captures.offset, isTensor ? ValueRange(position.b) : ValueRange());
    row.p = mlir::arith::SubIOp::create(at.builder, at.loc, position.p, offset);
    return row;
  }

  const AttentionVariant &variant;
  mlir::FloatType sumType;
};

} // namespace

/// Makes the block of a region, with arguments for `captures`, which they
/// replace.
static mlir::Block &createBlock(Builder &b, mlir::Region &region,
                                ArrayRef<StringRef> names,
                                mlir::FloatType sumType, Captures &captures) {
  mlir::Block &block = region.emplaceBlock();
  for (StringRef name : names)
    block.addArgument(name == "s" ? Type(sumType) : b.getIndexType(),
                      mlir::NameLoc::get(b.getStringAttr(name), b.getLoc()));
  for (Value *capture : captures.list())
    *capture = block.addArgument(capture->getType(), capture->getLoc());
  b.setInsertionPointToEnd(&block);
  return block;
}

/// Erases captures that the code of a region does not read.
static void eraseUnused(mlir::MutableOperandRange captures,
                        mlir::Block &block) {
  unsigned first = block.getNumArguments() - captures.size();
  for (unsigned i = captures.size(); i-- > 0;) {
    if (!block.getArgument(first + i).use_empty())
      continue;
    block.eraseArgument(first + i);
    captures.erase(i);
  }
}

static SmallVector<Value> valuesOf(Captures &captures) {
  return llvm::map_to_vector(captures.list(),
                             [](Value *value) { return *value; });
}

AttentionResult attn::onnx::createAttention(Builder &b,
                                            const AttentionVariant &variant,
                                            bool wantsLogSumExp) {
  auto type =
      llvm::cast<mlir::FloatType>(typeOf(variant.query).getElementType());
  mlir::FloatType sumType = getAccumulationType(type);
  Sizes sizes = sizesOf(b, variant.query);
  sizes[3] = sizeOf(b, variant.value, 3);
  SmallVector<Value> outs = {createEmpty(b, sizes, type)};
  if (wantsLogSumExp)
    outs.push_back(createEmpty(b, ArrayRef(sizes).drop_back(), sumType));

  ScoreWriter writer(variant, sumType);
  Captures scoreCaptures = writer.findScoreCaptures();
  Captures maskCaptures = writer.findMaskCaptures(b);
  auto op =
      AttentionOp::create(b, variant.query, variant.key, variant.value, outs);
  if (variant.scale)
    op.setStaticScaleAttr(b.getF64FloatAttr(*variant.scale));
  if (variant.offset)
    op.getOffsetMutable().assign(variant.offset);
  if (variant.sink)
    op.getSinkMutable().assign(variant.sink);
  OpBuilder::InsertionGuard guard(b);
  RegionBuilder at = {b, b.getLoc()};
  if (writer.hasScore()) {
    op.getScoreCapturesMutable().assign(valuesOf(scoreCaptures));
    mlir::Block &block = createBlock(
        b, op.getScore(), {"s", "b", "h", "p", "j"}, sumType, scoreCaptures);
    auto args = block.getArguments();
    Value s =
        writer.writeScore(at, writer.writeCap(at, args[0]),
                          {args[1], args[2], args[3], args[4]}, scoreCaptures);
    mlir::attn::YieldOp::create(b, s);
    eraseUnused(op.getScoreCapturesMutable(), block);
  }
  if (writer.hasMask()) {
    op.getMaskCapturesMutable().assign(valuesOf(maskCaptures));
    mlir::Block &block = createBlock(b, op.getMask(), {"b", "h", "p", "j"},
                                     sumType, maskCaptures);
    auto args = block.getArguments();
    mlir::attn::YieldOp::create(
        b, writer.writeMask(at, {args[0], args[1], args[2], args[3]},
                            maskCaptures));
    eraseUnused(op.getMaskCapturesMutable(), block);
  }
  return {op.getResult(0), wantsLogSumExp ? op.getResult(1) : Value()};
}

/// Sums of products over the last of six loops, whose first five are those of
/// the result's dimensions. Operands have the dimensions of the loops that are
/// named.
static Value createGroupedSums(Builder &b, Value lhs,
                               ArrayRef<unsigned> lhsLoops, Value rhs,
                               ArrayRef<unsigned> rhsLoops,
                               ArrayRef<OpFoldResult> sizes,
                               mlir::FloatType sumType) {
  auto map = [&](ArrayRef<unsigned> loops) {
    return mlir::AffineMap::getMultiDimMapWithTargets(6, loops, b.getContext());
  };
  return sumProducts(b, lhs, map(lhsLoops), rhs, map(rhsLoops), sizes, sumType);
}

/// `dot(query[b,h,i,:], key[b,h/G,j,:])` of all positions, in `sumType`.
static Value createProducts(Builder &b, Value query, Value key,
                            mlir::FloatType sumType) {
  std::int64_t heads = typeOf(key).getDimSize(1);
  std::int64_t group = typeOf(query).getDimSize(1) / heads;
  Sizes sizes = sizesOf(b, query);
  query = expand(b, query, {{0}, {1, 2}, {3}, {4}},
                 {sizes[0], b.getIndexAttr(heads), b.getIndexAttr(group),
                  sizes[2], sizes[3]});
  Sizes result = {sizes[0], b.getIndexAttr(heads), b.getIndexAttr(group),
                  sizes[2], sizeOf(b, key, 2)};
  // Loops: batch, key/value head, query head of it, query, key, element.
  Value products = createGroupedSums(b, query, {0, 1, 2, 3, 5}, key,
                                     {0, 1, 4, 5}, result, sumType);
  return collapse(b, products, {{0}, {1, 2}, {3}, {4}});
}

/// A mask of `length` keys, with what masks them after its own.
static Value padMask(Builder &b, Value mask, OpFoldResult length) {
  RankedTensorType type = typeOf(mask);
  std::int64_t last = type.getRank() - 1;
  mlir::TypedAttr hidden = b.getBoolAttr(false);
  if (auto element = llvm::dyn_cast<mlir::FloatType>(type.getElementType()))
    hidden = b.getFloatAttr(element, -std::numeric_limits<double>::infinity());
  SmallVector<OpFoldResult> low(std::size_t(last + 1), b.getIndexAttr(0));
  SmallVector<OpFoldResult> high = low;
  high.back() = subtract(b, length, sizeOf(b, mask, last));
  SmallVector<std::int64_t> shape(type.getShape());
  shape.back() =
      mlir::getConstantIntValue(length).value_or(mlir::ShapedType::kDynamic);
  return mlir::tensor::PadOp::create(
      b, RankedTensorType::get(shape, type.getElementType()), mask, low, high,
      mlir::arith::ConstantOp::create(b, hidden).getResult());
}

Value attn::onnx::createScores(Builder &b, AttentionVariant variant,
                               ScoreStage stage, Value logSumExp,
                               mlir::FloatType type) {
  // Where code of regions may read beyond a mask, whole tensors may not.
  if (std::exchange(variant.padsMask, false))
    for (Value *mask : {&variant.boolean, &variant.bias})
      if (*mask && typeOf(*mask).getRank() > 0)
        *mask = padMask(b, *mask, sizeOf(b, variant.key, 2));
  mlir::FloatType sumType = getAccumulationType(
      llvm::cast<mlir::FloatType>(typeOf(variant.query).getElementType()));
  ScoreWriter writer(variant, sumType);
  Captures scoreCaptures = writer.findScoreCaptures();
  Captures maskCaptures = writer.findMaskCaptures(b);
  double scale = variant.scale.value_or(
      1.0 / std::sqrt(double(typeOf(variant.query).getDimSize(3))));
  Value products = createProducts(b, variant.query, variant.key, sumType);
  Sizes sizes = sizesOf(b, products);

  // Row statistics have no dimension of keys.
  if (logSumExp)
    logSumExp = expand(b, logSumExp, {{0}, {1}, {2, 3}},
                       {sizes[0], sizes[1], sizes[2], b.getIndexAttr(1)});
  SmallVector<Value> inputs = {products};
  if (logSumExp)
    inputs.push_back(logSumExp);
  return computeElements(
      b, inputs, sizes, type,
      [&](OpBuilder &body, Location loc, ValueRange elements) {
        RegionBuilder at = {body, loc};
        auto number = [&](double value) {
          return mlir::arith::ConstantOp::create(
              body, loc, body.getFloatAttr(sumType, value));
        };
        Value s =
            mlir::arith::MulFOp::create(body, loc, elements[0], number(scale));
        if (stage == ScoreStage::scaled)
          return convertFloat(body, loc, s, type);
        s = writer.writeCap(at, s);
        if (stage == ScoreStage::capped)
          return convertFloat(body, loc, s, type);
        auto index = [&](std::int64_t loop) -> Value {
          return mlir::linalg::IndexOp::create(body, loc, loop);
        };
        Position position = {index(0), index(1), index(2), index(3)};
        if (variant.offset) {
          bool isTensor = llvm::isa<RankedTensorType>(variant.offset.getType());
          Value offset = mlir::attn::buildIndex(
              at, variant.offset,
              isTensor ? ValueRange(position.b) : ValueRange());
          position.p =
              mlir::arith::AddIOp::create(body, loc, position.p, offset);
        }
        s = writer.writeScore(at, s, position, scoreCaptures);
        Value hidden = number(-std::numeric_limits<double>::infinity());
        if (stage == ScoreStage::probabilities) {
          Value difference =
              mlir::arith::SubFOp::create(body, loc, s, elements[1]);
          s = mlir::math::ExpOp::create(body, loc, difference);
          hidden = number(0);
        }
        Value keep = writer.hasMask()
                         ? writer.writeMask(at, position, maskCaptures)
                         : Value();
        if (keep)
          s = mlir::arith::SelectOp::create(body, loc, keep, s, hidden);
        if (stage == ScoreStage::probabilities) {
          // Nothing of a row that sees no key.
          Value sees = mlir::arith::CmpFOp::create(
              body, loc, CmpFPredicate::UNE, elements[1],
              number(-std::numeric_limits<double>::infinity()));
          s = mlir::arith::SelectOp::create(body, loc, sees, s, number(0));
        }
        return convertFloat(body, loc, s, type);
      });
}

Value attn::onnx::createWeightedSums(Builder &b, Value weights, Value values) {
  auto type = llvm::cast<mlir::FloatType>(typeOf(weights).getElementType());
  std::int64_t heads = typeOf(values).getDimSize(1);
  std::int64_t group = typeOf(weights).getDimSize(1) / heads;
  Sizes sizes = sizesOf(b, weights);
  weights = expand(b, weights, {{0}, {1, 2}, {3}, {4}},
                   {sizes[0], b.getIndexAttr(heads), b.getIndexAttr(group),
                    sizes[2], sizes[3]});
  Sizes result = {sizes[0], b.getIndexAttr(heads), b.getIndexAttr(group),
                  sizes[2], sizeOf(b, values, 3)};
  // Loops: batch, key/value head, query head of it, query, element, key.
  Value sums = createGroupedSums(b, weights, {0, 1, 2, 3, 5}, values,
                                 {0, 1, 5, 4}, result, type);
  return collapse(b, sums, {{0}, {1, 2}, {3}, {4}});
}

LogicalResult attn::onnx::checkAttention(const NodeImport &at, Value query,
                                         Value key, Value value,
                                         ArrayRef<StringRef> names) {
  RankedTensorType types[] = {typeOf(query), typeOf(key), typeOf(value)};
  for (auto [name, type] : llvm::zip_equal(names, types)) {
    auto element = llvm::dyn_cast<mlir::FloatType>(type.getElementType());
    if (!element)
      return at.error(name) << "expected floats, got " << formatType(type);
    if (element != types[0].getElementType())
      return at.error(name) << "expected elements of " << names[0] << "'s type "
                            << types[0].getElementType() << ", got " << element;
    for (std::int64_t dim : {1, 3})
      if (std::int64_t size = type.getDimSize(dim);
          mlir::ShapedType::isDynamic(size) || size < 1 || size > 4096)
        return at.error(name)
               << "expected a static number of heads and a head size of 1 to "
                  "4096, got "
               << formatType(type) << " (batch, heads, tokens, head size)";
    if (!mayAgree(type.getDimSize(0), types[0].getDimSize(0)))
      return at.error(name) << "expected a batch of " << types[0].getDimSize(0)
                            << ", got " << type.getDimSize(0);
  }
  auto [q, k, v] = types;
  if (k.getDimSize(3) != q.getDimSize(3))
    return at.error(names[1])
           << "expected a head size of " << q.getDimSize(3) << " as of "
           << names[0] << ", got " << k.getDimSize(3);
  if (v.getDimSize(1) != k.getDimSize(1))
    return at.error(names[2])
           << "expected " << k.getDimSize(1) << " heads as of " << names[1]
           << ", got " << v.getDimSize(1);
  if (q.getDimSize(1) % k.getDimSize(1) != 0)
    return at.error(names[0])
           << "expected a number of heads that is a multiple of "
           << k.getDimSize(1) << ", those of " << names[1] << ", got "
           << q.getDimSize(1);
  if (!mayAgree(k.getDimSize(2), v.getDimSize(2)))
    return at.error(names[2])
           << "expected " << k.getDimSize(2) << " tokens as of " << names[1]
           << ", got " << v.getDimSize(2);
  return success();
}

FailureOr<std::array<Value, 2>> onnx::readPast(const NodeImport &at,
                                               const AttentionVariant &variant,
                                               unsigned first) {
  static constexpr StringRef names[] = {"past_key", "past_value"};
  std::array<Value, 2> past = {at.input(first), at.input(first + 1)};
  if (static_cast<bool>(past[0]) != static_cast<bool>(past[1]))
    return at.error() << "expected both of 'past_key' and 'past_value', or "
                         "none";
  if (!past[0])
    return past;
  for (auto [name, value, rows] :
       llvm::zip_equal(names, past, std::array{variant.key, variant.value})) {
    RankedTensorType type = typeOf(value), own = typeOf(rows);
    if (type.getRank() != 4 || type.getElementType() != own.getElementType() ||
        !mayAgree(type.getDimSize(0), own.getDimSize(0)) ||
        type.getDimSize(1) != own.getDimSize(1) ||
        type.getDimSize(3) != own.getDimSize(3))
      return at.error(name)
             << "expected the batch, heads, head size and type of "
             << formatType(own) << ", got " << formatType(type);
  }
  if (std::int64_t keys = typeOf(past[0]).getDimSize(2),
      rows = typeOf(past[1]).getDimSize(2);
      !mayAgree(keys, rows))
    return at.error(names[1])
           << "expected " << keys << " tokens as of 'past_key', got " << rows;
  return past;
}

LogicalResult onnx::prependPast(NodeImport &at, AttentionVariant &variant,
                                unsigned past, unsigned present) {
  FailureOr<std::array<Value, 2>> rows = readPast(at, variant, past);
  if (failed(rows))
    return failure();
  if (Value keys = rows->front())
    variant.offset = toIndex(at.b, sizeOf(at.b, keys, 2));
  Value *own[] = {&variant.key, &variant.value};
  for (unsigned i : {0U, 1U}) {
    if (Value before = (*rows)[i])
      *own[i] = concatenate(at.b, 2, {before, *own[i]});
    if (at.wantsOutput(present + i))
      at.setOutput(present + i, *own[i]);
  }
  return success();
}
