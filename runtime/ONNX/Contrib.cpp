//===- Contrib.cpp - Attention of ONNX Runtime's operators ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GroupQueryAttention and MultiHeadAttention of com.microsoft,
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/AttentionVariant.h"
#include "runtime/ONNX/Nodes.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace attn;
using namespace attn::onnx;
using mlir::arith::CmpIPredicate;

/// Reads a number of heads, which has to be given.
static FailureOr<std::int64_t> readHeads(NodeImport &at, StringRef name) {
  FailureOr<std::int64_t> heads = at.integer(name, 0);
  if (failed(heads))
    return failure();
  if (*heads < 1)
    return at.error() << "attribute '" << name
                      << "': expected a positive number of heads";
  return heads;
}

/// Columns of the last dimension of `(B, S, columns)`.
static Value sliceColumns(Builder &b, Value tensor, std::int64_t first,
                          std::int64_t count) {
  Sizes sizes = sizesOf(b, tensor);
  Sizes offsets(sizes.size(), b.getIndexAttr(0));
  Sizes strides(sizes.size(), b.getIndexAttr(1));
  offsets.back() = b.getIndexAttr(first);
  sizes.back() = b.getIndexAttr(count);
  return mlir::tensor::ExtractSliceOp::create(b, tensor, offsets, sizes,
                                              strides);
}

/// Checks the sizes of a tensor; -1 and dynamic ones fit to all.
static bool hasShape(Value tensor, ArrayRef<std::int64_t> shape) {
  RankedTensorType type = typeOf(tensor);
  if (type.getRank() != std::int64_t(shape.size()))
    return false;
  for (auto [size, expected] : llvm::zip_equal(type.getShape(), shape))
    if (expected != -1 && !mayAgree(size, expected))
      return false;
  return true;
}

/// Reads the scale, of which 0 is the default.
static LogicalResult readScale(NodeImport &at, AttentionVariant &variant) {
  FailureOr<double> scale = at.number("scale", 0);
  if (failed(scale))
    return failure();
  if (double factor = *scale; factor != 0)
    variant.scale = factor;
  return success();
}

/// A bias that broadcasts in its first two dimensions.
static LogicalResult readBias(NodeImport &at, unsigned index,
                              AttentionVariant &variant) {
  Value bias = at.input(index);
  if (!bias)
    return success();
  RankedTensorType query = typeOf(variant.query), type = typeOf(bias);
  bool fits =
      type.getRank() == 4 && type.getElementType() == query.getElementType() &&
      (type.getDimSize(0) == 1 ||
       mayAgree(type.getDimSize(0), query.getDimSize(0))) &&
      (type.getDimSize(1) == 1 || type.getDimSize(1) == query.getDimSize(1)) &&
      mayAgree(type.getDimSize(2), query.getDimSize(2));
  if (!fits)
    return at.error("attention_bias")
           << "expected (batch or 1, heads or 1, queries, keys) of "
           << query.getElementType() << ", got " << formatType(type);
  variant.bias = bias;
  return success();
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

namespace {
class GroupQueryImport {
public:
  explicit GroupQueryImport(NodeImport &at) : at(at), b(at.b) {}

  LogicalResult run() {
    if (failed(checkQuantization()) || failed(readInputs()) ||
        failed(readLengths()) || failed(rotate()) || failed(appendToCache()) ||
        failed(readNumbers()) || failed(readSink()) ||
        failed(readBias(at, Bias, variant)))
      return failure();
    variant.padsMask = static_cast<bool>(variant.bias);
    variant.causal = true;
    at.setOutput(0, mergeHeads(b, createAttention(b, variant).output));
    return success();
  }

private:
  enum Input : unsigned {
    Query,
    Key,
    Value_,
    PastKey,
    PastValue,
    LastPositions,
    Total,
    Cosine,
    Sine,
    Positions,
    Bias,
    Sink,
    KeyScale,
    ValueScale
  };

  /// Scales of a whole cache, or of its columns, are not those of attn's caches
  /// of i8, which have one for each row.
  LogicalResult checkQuantization() {
    FailureOr<std::int64_t> bits = at.integer("kv_cache_bit_width", 0);
    if (failed(bits))
      return failure();
    for (StringRef name : {"k_quant_type", "v_quant_type"}) {
      FailureOr<std::string> quantized = at.text(name, "NONE");
      if (failed(quantized))
        return failure();
      if (*quantized != "NONE")
        return at.error() << "attribute '" << name << "': a cache of " << *bits
                          << " bits with scales " << *quantized
                          << " is not imported, only 'NONE'; attn.cache_append "
                             "has caches of i8 with a scale for each row";
    }
    for (auto [input, name] : {std::pair(KeyScale, StringRef("k_scale")),
                               std::pair(ValueScale, StringRef("v_scale"))})
      if (at.input(input))
        return at.error(name) << "expected none without a quantized cache";
    return success();
  }

  LogicalResult readInputs() {
    FailureOr<std::int64_t> heads = readHeads(at, "num_heads");
    FailureOr<std::int64_t> groups = readHeads(at, "kv_num_heads");
    if (failed(heads) || failed(groups) || failed(at.rank(Query, "query", 3)))
      return failure();
    Value inputs[] = {at.input(Query), at.input(Key), at.input(Value_)};
    if (static_cast<bool>(inputs[1]) != static_cast<bool>(inputs[2]))
      return at.error() << "expected both of 'key' and 'value', or none";
    RankedTensorType type = typeOf(inputs[0]);
    std::int64_t size = type.getDimSize(2);
    std::int64_t all = inputs[1] ? *heads : *heads + 2 * *groups;
    if (!isStatic(size) || size == 0 || size % all != 0)
      return at.error("query") << "expected a static last size that " << all
                               << " heads divide, got " << formatType(type);
    if (!inputs[1]) {
      std::int64_t each = size / all;
      Value packed = inputs[0];
      inputs[0] = sliceColumns(b, packed, 0, each * *heads);
      inputs[1] = sliceColumns(b, packed, each * *heads, each * *groups);
      inputs[2] =
          sliceColumns(b, packed, each * (*heads + *groups), each * *groups);
    }
    static constexpr StringRef names[] = {"query", "key", "value"};
    for (unsigned i : {1U, 2U})
      if (RankedTensorType own = typeOf(inputs[i]);
          own.getRank() != 3 || !isStatic(own.getDimSize(2)) ||
          own.getDimSize(2) == 0 || own.getDimSize(2) % *groups != 0 ||
          !mayAgree(own.getDimSize(1), type.getDimSize(1)))
        return at.error(names[i])
               << "expected (batch, tokens of the query, columns of " << *groups
               << " heads), got " << formatType(own);
    variant.query = splitHeads(b, inputs[0], *heads);
    variant.key = splitHeads(b, inputs[1], *groups);
    variant.value = splitHeads(b, inputs[2], *groups);
    return checkAttention(at, variant.query, variant.key, variant.value, names);
  }

  /// How many tokens of each sequence there were before, and are.
  LogicalResult readLengths() {
    std::int64_t batch = typeOf(variant.query).getDimSize(0);
    Value last = at.input(LastPositions), total = at.input(Total);
    Type i32 = b.getI32Type();
    if (!hasShape(last, {batch}) || typeOf(last).getElementType() != i32)
      return at.error("seqlens_k") << "expected int32 of shape (batch), got "
                                   << formatType(typeOf(last));
    if ((!hasShape(total, {}) && !hasShape(total, {1})) ||
        !typeOf(total).hasStaticShape() ||
        typeOf(total).getElementType() != i32)
      return at.error("total_sequence_length")
             << "expected one int32, got " << formatType(typeOf(total));
    Value one = mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
    variant.lengths = computeElements(
        b, last, sizesOf(b, last), i32,
        [&](OpBuilder &body, Location loc, ValueRange elements) {
          return mlir::arith::AddIOp::create(body, loc, elements[0], one)
              .getResult();
        });
    if (!at.input(PastKey))
      return success();
    // A prompt starts anew, whatever the cache holds.
    Value tokens = mlir::arith::IndexCastOp::create(
        b, i32, toIndex(b, sizeOf(b, variant.query, 2)));
    SmallVector<Value> place;
    if (typeOf(total).getRank() == 1)
      place.push_back(mlir::arith::ConstantIndexOp::create(b, 0));
    Value isPrompt = mlir::arith::CmpIOp::create(
        b, CmpIPredicate::eq, tokens,
        mlir::tensor::ExtractOp::create(b, total, place).getResult());
    Value zero = mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    variant.offset = computeElements(
        b, variant.lengths, sizesOf(b, last), i32,
        [&](OpBuilder &body, Location loc, ValueRange elements) {
          Value before =
              mlir::arith::SubIOp::create(body, loc, elements[0], tokens);
          return mlir::arith::SelectOp::create(body, loc, isPrompt, zero,
                                               before)
              .getResult();
        });
    return success();
  }

  LogicalResult rotate() {
    FailureOr<bool> rotates = at.flag("do_rotary");
    FailureOr<bool> interleaved = at.flag("rotary_interleaved");
    if (failed(rotates) || failed(interleaved))
      return failure();
    if (!*rotates) {
      if (at.input(Cosine) || at.input(Sine) || at.input(Positions))
        return at.error() << "expected no tables and positions without "
                             "'do_rotary'";
      return success();
    }
    Rotation rotation = {.cosine = at.input(Cosine),
                         .sine = at.input(Sine),
                         .offset = variant.offset,
                         .interleaved = *interleaved};
    if (!rotation.cosine || !rotation.sine)
      return at.error() << "expected 'cos_cache' and 'sin_cache' for "
                           "'do_rotary'";
    RankedTensorType query = typeOf(variant.query);
    std::int64_t pairs = typeOf(rotation.cosine).getShape().empty()
                             ? 0
                             : typeOf(rotation.cosine).getShape().back();
    if (failed(checkTables(at, rotation.cosine, rotation.sine,
                           {mlir::ShapedType::kDynamic, pairs})))
      return failure();
    if (pairs < 1 || 2 * pairs > query.getDimSize(3))
      return at.error("cos_cache")
             << "expected up to " << query.getDimSize(3) / 2 << " columns, got "
             << pairs;
    if (Value positions = at.input(Positions)) {
      if (!hasShape(positions, {query.getDimSize(0), query.getDimSize(2)}) ||
          !typeOf(positions).getElementType().isInteger(64))
        return at.error("position_ids")
               << "expected int64 of shape (batch, tokens), got "
               << formatType(typeOf(positions));
      rotation.positions = positions;
      rotation.offset = {};
    }
    for (Value *rows : {&variant.query, &variant.key}) {
      rotation.input = *rows;
      *rows = createRotation(b, rotation);
    }
    return success();
  }

  LogicalResult appendToCache() {
    FailureOr<std::array<Value, 2>> pasts = readPast(at, variant, PastKey);
    if (failed(pasts))
      return failure();
    Value *rows[] = {&variant.key, &variant.value};
    for (unsigned i : {0U, 1U}) {
      if (Value past = (*pasts)[i]) {
        // In a cache of a fixed size, or one that grows by the new tokens.
        if (!at.wantsOutput(1 + i) ||
            !at.isDeclaredAlike(1 + i, PastKey + i, 2))
          past = pad(past, sizeOf(b, *rows[i], 2));
        *rows[i] = mlir::attn::CacheAppendOp::create(
                       b, mlir::TypeRange(past.getType()), *rows[i], past,
                       variant.offset, /*counts=*/Value(),
                       /*sequences=*/Value(), /*table=*/Value(), /*ring=*/false)
                       .getResult(0);
      }
      if (at.wantsOutput(1 + i))
        at.setOutput(1 + i, *rows[i]);
    }
    return success();
  }

  /// A cache with room for more rows, which are 0.
  Value pad(Value cache, OpFoldResult rows) {
    RankedTensorType type = typeOf(cache);
    SmallVector<std::int64_t> shape(type.getShape());
    std::optional<std::int64_t> more = mlir::getConstantIntValue(rows);
    shape[2] = isStatic(shape[2]) && more ? shape[2] + *more
                                          : mlir::ShapedType::kDynamic;
    Sizes low(4, b.getIndexAttr(0)), high = low;
    high[2] = rows;
    Value zero = mlir::arith::ConstantOp::create(
        b, b.getFloatAttr(type.getElementType(), 0));
    return mlir::tensor::PadOp::create(
        b, RankedTensorType::get(shape, type.getElementType()), cache, low,
        high, zero);
  }

  LogicalResult readNumbers() {
    FailureOr<double> softcap = at.number("softcap", 0);
    FailureOr<std::int64_t> window = at.integer("local_window_size", -1);
    FailureOr<std::int64_t> shown = at.integer("qk_output", 0);
    if (failed(softcap) || failed(window) || failed(shown) ||
        failed(readScale(at, variant)))
      return failure();
    if (*softcap < 0)
      return at.error() << "attribute 'softcap': expected a positive number, "
                           "or 0 for none, got "
                        << *softcap;
    constexpr std::int64_t most = std::int64_t(1) << 61;
    if (*window != -1 && (*window < 1 || *window > most))
      return at.error() << "attribute 'local_window_size': expected -1, or a "
                           "size from 1 to 2^61, got "
                        << *window;
    if (*shown != 0)
      return at.error() << "attribute 'qk_output': scores are not imported";
    variant.softcap = *softcap;
    // The query is one of the window.
    variant.left = *window == -1 ? -1 : *window - 1;
    return success();
  }

  LogicalResult readSink() {
    FailureOr<std::int64_t> smooth = at.integer("smooth_softmax", 0);
    if (failed(smooth))
      return failure();
    std::int64_t heads = typeOf(variant.query).getDimSize(1);
    Type element = typeOf(variant.query).getElementType();
    if (Value sink = at.input(Sink)) {
      if (!hasShape(sink, {heads}) || !typeOf(sink).hasStaticShape() ||
          typeOf(sink).getElementType() != element)
        return at.error("head_sink")
               << "expected " << heads << " of " << element << ", got "
               << formatType(typeOf(sink));
      variant.sink = sink;
    } else if (*smooth > 0) {
      // As if there was one more score, of 0.
      variant.sink = createFilled(b, Sizes{b.getIndexAttr(heads)},
                                  b.getFloatAttr(element, 0));
    }
    return success();
  }

  NodeImport &at;
  Builder &b;
  AttentionVariant variant;
};
} // namespace

static LogicalResult importGroupQueryAttention(NodeImport &at) {
  for (unsigned index : {5U, 6U})
    if (!at.input(index))
      return at.error() << "expected 'seqlens_k' and 'total_sequence_length'";
  return GroupQueryImport(at).run();
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

namespace {
class MultiHeadImport {
public:
  explicit MultiHeadImport(NodeImport &at) : at(at), b(at.b) {}

  LogicalResult run() {
    if (failed(readInputs()) ||
        failed(prependPast(at, variant, PastKey, /*present=*/1)) ||
        failed(readScale(at, variant)) || failed(readPadding()) ||
        failed(readBias(at, Bias, variant)))
      return failure();
    FailureOr<bool> causal = at.flag("unidirectional");
    if (failed(causal))
      return failure();
    variant.causal = *causal;
    at.setOutput(0, mergeHeads(b, createAttention(b, variant).output));
    return success();
  }

private:
  enum Input : unsigned {
    Query,
    Key,
    Value_,
    ProjectionBias,
    Padding,
    Bias,
    PastKey,
    PastValue
  };

  /// One of what the fourth dimension of a packed `(B, S, H, n, D)` holds, by
  /// heads.
  Value unpack(Value packed, std::int64_t part) {
    Sizes sizes = sizesOf(b, packed);
    Sizes offsets(5, b.getIndexAttr(0)), strides(5, b.getIndexAttr(1));
    offsets[3] = b.getIndexAttr(part);
    sizes[3] = b.getIndexAttr(1);
    Value slice = mlir::tensor::ExtractSliceOp::create(b, packed, offsets,
                                                       sizes, strides);
    sizes.erase(sizes.begin() + 3);
    return transpose(b, reshape(b, slice, sizes), {0, 2, 1, 3});
  }

  LogicalResult checkPacked(unsigned index, StringRef name, std::int64_t parts,
                            std::int64_t heads) {
    RankedTensorType type = typeOf(at.input(index));
    bool fits = type.getRank() == 5 && type.getDimSize(2) == heads &&
                type.getDimSize(3) == parts && isStatic(type.getDimSize(4)) &&
                type.getDimSize(4) > 0;
    if (!fits)
      return at.error(name)
             << "expected (batch, tokens, " << heads << ", " << parts
             << ", head size), got " << formatType(type);
    if (at.input(ProjectionBias))
      return at.error("bias") << "it is not imported for packed inputs";
    return success();
  }

  LogicalResult readInputs() {
    static constexpr StringRef names[] = {"query", "key", "value"};
    FailureOr<std::int64_t> heads = readHeads(at, "num_heads");
    if (failed(heads))
      return failure();
    Value *values[] = {&variant.query, &variant.key, &variant.value};
    unsigned first = 0; // Of those that are not packed.
    if (!at.input(Key)) {
      if (at.input(Value_))
        return at.error("value") << "expected a key beside it";
      if (failed(checkPacked(Query, "query", 3, *heads)))
        return failure();
      for (; first < 3; ++first)
        *values[first] = unpack(at.input(Query), first);
    }
    for (; first < 3; ++first) {
      if (first == Key && !at.input(Value_)) {
        if (failed(checkPacked(Key, "key", 2, *heads)))
          return failure();
        variant.key = unpack(at.input(Key), 0);
        variant.value = unpack(at.input(Key), 1);
        break;
      }
      Value input = at.input(first);
      RankedTensorType type = typeOf(input);
      // Keys and values of cross attention may lie by heads.
      if (first > 0 && type.getRank() == 4) {
        if (type.getDimSize(1) != *heads)
          return at.error(names[first])
                 << "expected " << *heads << " heads, got " << formatType(type);
        *values[first] = input;
        continue;
      }
      std::int64_t size = type.getRank() == 3 ? type.getDimSize(2) : 0;
      if (!isStatic(size) || size == 0 || size % *heads != 0)
        return at.error(names[first])
               << "expected rank 3 and a static last size that " << *heads
               << " heads divide, got " << formatType(type);
      *values[first] = input;
    }
    if (failed(addBias(names)))
      return failure();
    for (Value *value : values)
      if (typeOf(*value).getRank() == 3)
        *value = splitHeads(b, *value, *heads);
    return checkAttention(at, variant.query, variant.key, variant.value, names);
  }

  /// Adds the biases of three projections, one after the other in one tensor.
  LogicalResult addBias(ArrayRef<StringRef> names) {
    Value bias = at.input(ProjectionBias);
    if (!bias)
      return success();
    auto type =
        llvm::dyn_cast<mlir::FloatType>(typeOf(variant.query).getElementType());
    std::int64_t columns = 0;
    Value *values[] = {&variant.query, &variant.key, &variant.value};
    for (auto [name, value] : llvm::zip_equal(names, values)) {
      if (typeOf(*value).getRank() != 3)
        return at.error(name) << "expected rank 3 beside a bias, got "
                              << formatType(typeOf(*value));
      columns += typeOf(*value).getDimSize(2);
    }
    if (!type || !hasShape(bias, {columns}) || !typeOf(bias).hasStaticShape() ||
        llvm::any_of(values,
                     [&](Value *value) {
                       return typeOf(*value).getElementType() != type;
                     }) ||
        typeOf(bias).getElementType() != type)
      return at.error("bias") << "expected " << columns
                              << " floats of the type of query, key and value, "
                                 "got "
                              << formatType(typeOf(bias));
    std::int64_t first = 0;
    for (Value *value : values) {
      std::int64_t count = typeOf(*value).getDimSize(2);
      Value own = sliceColumns(b, bias, first, count);
      first += count;
      mlir::FloatType sumType = getAccumulationType(type);
      *value = computeElements(
          b, {*value, own}, sizesOf(b, *value), type,
          [&](OpBuilder &body, Location loc, ValueRange elements) {
            Value sum = mlir::arith::AddFOp::create(
                body, loc, convertFloat(body, loc, elements[0], sumType),
                convertFloat(body, loc, elements[1], sumType));
            return convertFloat(body, loc, sum, type);
          });
    }
    return success();
  }

  /// Integers that are 0 where a key is padding; a number is added to its score
  /// then.
  LogicalResult readPadding() {
    FailureOr<double> added = at.number("mask_filter_value", -10000);
    if (failed(added))
      return failure();
    Value padding = at.input(Padding);
    if (!padding)
      return success();
    std::int64_t batch = typeOf(variant.query).getDimSize(0);
    std::int64_t queries = typeOf(variant.query).getDimSize(2);
    std::int64_t keys = typeOf(variant.key).getDimSize(2);
    bool hasRows = hasShape(padding, {batch, queries, keys});
    bool isLength = typeOf(padding).getRank() == 1 && isStatic(batch) &&
                    typeOf(padding).getDimSize(0) == batch;
    if (!typeOf(padding).getElementType().isInteger(32) ||
        (!hasRows && !isLength && !hasShape(padding, {batch, keys})))
      return at.error("key_padding_mask")
             << "expected int32 of shape (batch, keys), (batch, queries, keys) "
                "or (batch) of a static batch, got "
             << formatType(typeOf(padding));
    variant.scoreCaptures.push_back(padding);
    if (variant.offset && hasRows)
      variant.scoreCaptures.push_back(variant.offset);
    variant.score = [added = *added, isLength,
                     hasRows](mlir::attn::RegionBuilder at, Value s,
                              const mlir::attn::Position &position,
                              ValueRange captures) -> Value {
      OpBuilder &b = at.builder;
      Value row = position.p;
      if (captures.size() > 1)
        row = mlir::arith::SubIOp::create(b, at.loc, row, captures[1]);
      SmallVector<Value> place = {position.b};
      if (hasRows)
        place.push_back(row);
      if (!isLength)
        place.push_back(position.j);
      Value number =
          mlir::tensor::ExtractOp::create(b, at.loc, captures[0], place);
      Value isPadding;
      if (isLength) {
        Value length = mlir::arith::IndexCastOp::create(
            b, at.loc, b.getIndexType(), number);
        isPadding = mlir::arith::CmpIOp::create(b, at.loc, CmpIPredicate::sge,
                                                position.j, length);
      } else {
        Value zero =
            mlir::arith::ConstantOp::create(b, at.loc, b.getI32IntegerAttr(0));
        isPadding = mlir::arith::CmpIOp::create(b, at.loc, CmpIPredicate::eq,
                                                number, zero);
      }
      Value term = mlir::arith::ConstantOp::create(
          b, at.loc, b.getFloatAttr(s.getType(), added));
      Value sum = mlir::arith::AddFOp::create(b, at.loc, s, term);
      return mlir::arith::SelectOp::create(b, at.loc, isPadding, sum, s);
    };
    return success();
  }

  NodeImport &at;
  Builder &b;
  AttentionVariant variant;
};
} // namespace

static LogicalResult importMultiHeadAttention(NodeImport &at) {
  return MultiHeadImport(at).run();
}

ArrayRef<Operator> attn::onnx::getContribOperators() {
  static const Operator operators[] = {
      {microsoftDomain, "GroupQueryAttention", 1, 1, 1, 14, 3,
       importGroupQueryAttention},
      {microsoftDomain, "MultiHeadAttention", 1, 1, 1, 8, 3,
       importMultiHeadAttention}};
  return operators;
}
