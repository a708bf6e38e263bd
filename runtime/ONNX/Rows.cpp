//===- Rows.cpp - Rotary positions, norms and caches ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RotaryEmbedding and RMSNormalization of operator set 23 and TensorScatter of
// 24, https://onnx.ai/onnx/operators/.
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/AttentionVariant.h"
#include "runtime/ONNX/Nodes.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace attn;
using namespace attn::onnx;

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

Value attn::onnx::createRotation(Builder &b, const Rotation &rotation) {
  auto type =
      llvm::cast<mlir::FloatType>(typeOf(rotation.input).getElementType());
  mlir::FloatType sumType = getAccumulationType(type);
  auto widen = [&](Value table) {
    bool isNarrow = typeOf(table).getElementType().getIntOrFloatBitWidth() < 32;
    return isNarrow ? convertFloats(b, table, sumType) : table;
  };
  Value cosine = widen(rotation.cosine), sine = widen(rotation.sine);
  Value positions = rotation.positions;
  if (typeOf(cosine).getRank() == 3) {
    // One row of a table for each token.
    Sizes sizes = sizesOf(b, cosine);
    sizes.pop_back();
    Value rows = toIndex(b, sizes[1]);
    positions = computeElements(
        b, {}, sizes, b.getI64Type(),
        [&](OpBuilder &body, Location loc, ValueRange) {
          Value first = mlir::arith::MulIOp::create(
              body, loc, mlir::linalg::IndexOp::create(body, loc, 0), rows);
          Value row = mlir::arith::AddIOp::create(
              body, loc, first, mlir::linalg::IndexOp::create(body, loc, 1));
          return mlir::arith::IndexCastOp::create(body, loc, body.getI64Type(),
                                                  row);
        });
    cosine = collapse(b, cosine, {{0, 1}, {2}});
    sine = collapse(b, sine, {{0, 1}, {2}});
  }
  Value empty = createEmpty(b, sizesOf(b, rotation.input), type);
  auto pairing = rotation.interleaved ? mlir::attn::RopePairing::Interleaved
                                      : mlir::attn::RopePairing::HalfSplit;
  return mlir::attn::RopeOp::create(b, mlir::TypeRange(empty.getType()),
                                    rotation.input, cosine, sine, empty,
                                    rotation.offset, positions, pairing)
      .getResult(0);
}

LogicalResult attn::onnx::checkTables(const NodeImport &at, Value cosine,
                                      Value sine,
                                      ArrayRef<std::int64_t> shape) {
  for (auto [name, table] : {std::pair(StringRef("cos_cache"), cosine),
                             std::pair(StringRef("sin_cache"), sine)}) {
    RankedTensorType type = typeOf(table);
    bool fits =
        type.getRank() == std::int64_t(shape.size()) &&
        llvm::isa<mlir::FloatType>(type.getElementType()) &&
        isStatic(type.getShape().back()) &&
        llvm::all_of(llvm::zip_equal(type.getShape(), shape), [](auto sizes) {
          return mayAgree(std::get<0>(sizes), std::get<1>(sizes));
        });
    if (!fits || type.getElementType() != typeOf(cosine).getElementType())
      return at.error(name) << "expected a table of half the rotary size, "
                            << formatType(RankedTensorType::get(
                                   shape, typeOf(cosine).getElementType()))
                            << ", got " << formatType(type);
  }
  return success();
}

static LogicalResult importRotaryEmbedding(NodeImport &at) {
  FailureOr<mlir::FloatType> type = at.floats(0, "X");
  FailureOr<bool> interleaved = at.flag("interleaved");
  FailureOr<std::int64_t> heads = at.integer("num_heads", 0);
  FailureOr<std::int64_t> rotated = at.integer("rotary_embedding_dim", 0);
  if (failed(type) || failed(interleaved) || failed(heads) || failed(rotated))
    return failure();
  Value x = at.input(0);
  RankedTensorType shape = typeOf(x);
  bool hasHeads = shape.getRank() == 4;
  if (!hasHeads && shape.getRank() != 3)
    return at.error("X") << "expected rank 3 or 4, got " << formatType(shape);
  if (!hasHeads) {
    std::int64_t size = shape.getDimSize(2);
    if (*heads < 1)
      return at.error() << "attribute 'num_heads': expected a positive number "
                           "of heads for an input of rank 3";
    if (!isStatic(size) || size == 0 || size % *heads != 0)
      return at.error("X") << "expected a static last size that " << *heads
                           << " heads divide, got " << formatType(shape);
    x = splitHeads(at.b, x, *heads);
    shape = typeOf(x);
  }
  std::int64_t size = shape.getDimSize(3);
  if (!isStatic(size) || !isStatic(shape.getDimSize(1)) || size == 0 ||
      shape.getDimSize(1) == 0)
    return at.error("X") << "expected static heads and head size, got "
                         << formatType(shape);
  std::int64_t rotary = *rotated == 0 ? size : *rotated;
  if (rotary < 2 || rotary % 2 != 0 || rotary > size)
    return at.error() << "expected an even rotary size of up to " << size
                      << ", got " << rotary;
  Rotation rotation = {.input = x,
                       .cosine = at.input(1),
                       .sine = at.input(2),
                       .positions = at.input(3),
                       .interleaved = *interleaved};
  constexpr std::int64_t dynamic = mlir::ShapedType::kDynamic;
  SmallVector<std::int64_t> table = {shape.getDimSize(0), shape.getDimSize(2),
                                     rotary / 2};
  if (Value positions = rotation.positions) {
    RankedTensorType given = typeOf(positions);
    if (given.getRank() != 2 || !given.getElementType().isInteger(64) ||
        !mayAgree(given.getDimSize(0), shape.getDimSize(0)) ||
        !mayAgree(given.getDimSize(1), shape.getDimSize(2)))
      return at.error("position_ids")
             << "expected int64 of shape (batch, tokens), got "
             << formatType(given);
    table = {dynamic, rotary / 2};
  }
  if (failed(checkTables(at, rotation.cosine, rotation.sine, table)))
    return failure();
  if (typeOf(rotation.cosine).getElementType().isF64() && !type->isF64())
    return at.error("cos_cache")
           << "expected elements of " << *type << ", got f64";
  Value output = createRotation(at.b, rotation);
  at.setOutput(0, hasHeads ? output : mergeHeads(at.b, output));
  return success();
}

//===----------------------------------------------------------------------===//
// RMSNormalization
//===----------------------------------------------------------------------===//

static LogicalResult importRMSNormalization(NodeImport &at) {
  FailureOr<mlir::FloatType> type = at.floats(0, "X");
  FailureOr<mlir::FloatType> scaleType = at.floats(1, "scale");
  RankedTensorType shape = typeOf(at.input(0));
  std::int64_t rank = shape.getRank();
  if (failed(type) || failed(scaleType))
    return failure();
  FailureOr<std::int64_t> axis = at.axis("axis", -1, rank);
  FailureOr<double> epsilon = at.number("epsilon", 1e-5F);
  FailureOr<std::int64_t> stash = at.integer("stash_type", 1);
  if (failed(axis) || failed(epsilon) || failed(stash))
    return failure();
  if (DataType(*stash) != DataType::f32)
    return at.error() << "attribute 'stash_type': expected 1, float, got "
                      << *stash;
  if (*epsilon <= 0)
    return at.error() << "attribute 'epsilon': expected a positive number, got "
                      << *epsilon;
  mlir::FloatType sumType = getAccumulationType(*type);
  if (scaleType->getWidth() > sumType.getWidth())
    return at.error("scale") << "expected elements of up to " << sumType
                             << ", got " << *scaleType;
  // Rows of (batch, heads, tokens, elements), of which some may be missing.
  std::int64_t outer = *axis, elements = 1;
  for (std::int64_t size : shape.getShape().drop_front(outer)) {
    if (!isStatic(size) || size == 0)
      return at.error("X") << "expected static positive sizes from axis "
                           << outer << " on, got " << formatType(shape);
    elements *= size;
  }
  if (outer > 3 || (outer == 3 && (!isStatic(shape.getDimSize(1)) ||
                                   shape.getDimSize(1) == 0)))
    return at.error("X") << "expected at most two dimensions before axis "
                         << outer << ", or three of which the second is "
                         << "static, got " << formatType(shape);
  Builder &b = at.b;
  Value scale = at.input(1);
  RankedTensorType scaleShape = typeOf(scale);
  std::int64_t missing = rank - scaleShape.getRank();
  bool fits = missing >= 0;
  for (std::int64_t dim = 0; fits && dim < scaleShape.getRank(); ++dim) {
    std::int64_t size = scaleShape.getDimSize(dim);
    fits = size == 1 ||
           (missing + dim >= outer && size == shape.getDimSize(missing + dim));
  }
  if (!fits)
    return at.error("scale") << "expected what broadcasts to the dimensions "
                                "from axis "
                             << outer << " on of " << formatType(shape)
                             << ", got " << formatType(scaleShape);

  // What is missing of the four is 1.
  Value rows = at.input(0);
  Sizes sizes = sizesOf(b, rows);
  OpFoldResult one = b.getIndexAttr(1), last = b.getIndexAttr(elements);
  Sizes four = outer == 0   ? Sizes{one, one, one, last}
               : outer == 1 ? Sizes{one, one, sizes[0], last}
               : outer == 2 ? Sizes{sizes[0], one, sizes[1], last}
                            : Sizes{sizes[0], sizes[1], sizes[2], last};
  rows = reshape(b, rows, four);

  // The weight of each element, with those that broadcast written out.
  Sizes inner(sizes.begin() + outer, sizes.end());
  while (typeOf(scale).getRank() > std::int64_t(inner.size()))
    scale = reshape(b, scale, ArrayRef(sizesOf(b, scale)).drop_front());
  if (typeOf(scale).getShape() != shape.getShape().drop_front(outer))
    scale = computeElements(
        b, scale, inner, *scaleType,
        [](OpBuilder &, Location, ValueRange element) { return element[0]; });
  scale = reshape(b, scale, last);

  Value empty = createEmpty(b, four, *type);
  Value output = mlir::attn::HeadNormOp::create(
                     b, mlir::TypeRange(empty.getType()), rows, scale, empty,
                     b.getF64FloatAttr(*epsilon), mlir::IntegerAttr())
                     .getResult(0);
  output = reshape(b, output, sizes, four);
  at.setOutput(0, output);
  return success();
}

//===----------------------------------------------------------------------===//
// TensorScatter
//===----------------------------------------------------------------------===//

/// The sizes `(batch, ..., tokens at the axis, ...)` as those of a cache.
static Sizes toCache(Builder &b, ArrayRef<OpFoldResult> sizes,
                     std::int64_t axis) {
  auto product = [&](ArrayRef<OpFoldResult> some) {
    OpFoldResult result = b.getIndexAttr(1);
    for (OpFoldResult size : some)
      result = multiply(b, result, size);
    return result;
  };
  auto place = std::size_t(axis);
  return {sizes[0], product(sizes.slice(1, place - 1)), sizes[place],
          product(sizes.drop_front(place + 1))};
}

static LogicalResult importTensorScatter(NodeImport &at) {
  static constexpr StringRef names[] = {"past_cache", "update"};
  FailureOr<std::string> mode = at.text("mode", "linear");
  RankedTensorType cache = typeOf(at.input(0)), update = typeOf(at.input(1));
  std::int64_t rank = cache.getRank();
  FailureOr<std::int64_t> axis = at.axis("axis", -2, rank);
  if (failed(mode) || failed(axis))
    return failure();
  if (*mode != "linear" && *mode != "circular")
    return at.error() << "attribute 'mode': expected 'linear' or 'circular', "
                         "got "
                      << quote(*mode);
  if (*axis == 0)
    return at.error() << "attribute 'axis': expected one after the batch";
  for (auto [name, type] :
       {std::pair(names[0], cache), std::pair(names[1], update)}) {
    bool fits = type.getRank() == rank &&
                type.getElementType() == cache.getElementType() &&
                llvm::isa<mlir::FloatType>(type.getElementType());
    for (std::int64_t dim = 0; fits && dim < rank; ++dim)
      if (dim == 0)
        fits = mayAgree(type.getDimSize(0), cache.getDimSize(0));
      else if (dim != *axis)
        fits = isStatic(type.getDimSize(dim)) && type.getDimSize(dim) > 0 &&
               type.getDimSize(dim) == cache.getDimSize(dim);
    if (!fits)
      return at.error(name)
             << "expected floats, and static sizes but for the batch and axis "
             << *axis << " that are those of " << formatType(cache) << ", got "
             << formatType(type);
  }
  std::int64_t rows = update.getDimSize(*axis),
               capacity = cache.getDimSize(*axis);
  if (isStatic(rows) && isStatic(capacity) && rows > capacity)
    return at.error("update")
           << "expected up to " << capacity << " rows, got " << rows;
  Builder &b = at.b;
  Value indices = at.input(2);
  if (!indices) {
    indices =
        createFilled(b, sizeOf(b, at.input(0), 0), b.getI64IntegerAttr(0));
  } else if (RankedTensorType type = typeOf(indices);
             type.getRank() != 1 || !type.getElementType().isInteger(64) ||
             !mayAgree(type.getDimSize(0), cache.getDimSize(0))) {
    return at.error("write_indices")
           << "expected int64 of shape (batch), got " << formatType(type);
  }
  Sizes sizes = sizesOf(b, at.input(0));
  Sizes four = toCache(b, sizes, *axis);
  Value destination = reshape(b, at.input(0), four);
  Value added =
      reshape(b, at.input(1), toCache(b, sizesOf(b, at.input(1)), *axis));
  Value result = mlir::attn::CacheAppendOp::create(
                     b, mlir::TypeRange(destination.getType()), added,
                     destination, indices, /*counts=*/Value(),
                     /*sequences=*/Value(), /*table=*/Value(),
                     /*ring=*/*mode == "circular")
                     .getResult(0);
  at.setOutput(0, reshape(b, result, sizes, four));
  return success();
}

ArrayRef<Operator> attn::onnx::getRowOperators() {
  static const Operator operators[] = {
      {"", "RotaryEmbedding", 23, newestOpset, 3, 4, 1, importRotaryEmbedding},
      {"", "RMSNormalization", 23, newestOpset, 2, 2, 1,
       importRMSNormalization},
      {"", "TensorScatter", 24, newestOpset, 2, 3, 1, importTensorScatter}};
  return operators;
}
