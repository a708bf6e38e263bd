//===- Attention.cpp - Attention of ONNX's own operators ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention of the operator sets 23 to 27,
// https://onnx.ai/onnx/operators/onnx__Attention.html. 25 has windows.
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/AttentionVariant.h"
#include "runtime/ONNX/Nodes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace attn;
using namespace attn::onnx;

namespace {
enum Input : unsigned { Q, K, V, Mask, PastKey, PastValue, Lengths };
enum Output : unsigned { Y, PresentKey, PresentValue, Scores };

/// Imports one node; the functions are called in the order in which they stand.
class AttentionImport {
public:
  explicit AttentionImport(NodeImport &at) : at(at) {}

  LogicalResult run() {
    if (failed(readHeads()) ||
        failed(prependPast(at, variant, PastKey, PresentKey)) ||
        failed(readNumbers()) || failed(readMask()) || failed(readLengths()) ||
        failed(readPrecision()))
      return failure();
    FailureOr<std::int64_t> mode = at.integer("qk_matmul_output_mode", 0);
    if (failed(mode))
      return failure();
    if (*mode < 0 || *mode > 3)
      return at.error() << "attribute 'qk_matmul_output_mode': expected 0 to "
                           "3, got "
                        << *mode;
    auto stage = ScoreStage(*mode);
    bool wantsScores = at.wantsOutput(Scores);
    AttentionResult result = createAttention(
        at.b, variant, wantsScores && stage == ScoreStage::probabilities);
    if (wantsScores)
      at.setOutput(Scores, createScores(at.b, variant, stage, result.logSumExp,
                                        elementType));
    Value output = convertFloats(at.b, result.output, elementType);
    at.setOutput(Y, hasHeads ? output : mergeHeads(at.b, output));
    return success();
  }

private:
  /// Query, key and value by heads.
  LogicalResult readHeads() {
    static constexpr StringRef names[] = {"Q", "K", "V"};
    std::int64_t rank = typeOf(at.input(Q)).getRank();
    if (rank != 3 && rank != 4)
      return at.error("Q") << "expected rank 3 or 4, got "
                           << formatType(typeOf(at.input(Q)));
    for (unsigned i : {K, V})
      if (failed(at.rank(i, names[i], rank)))
        return failure();
    FailureOr<std::optional<std::int64_t>> queryHeads =
        at.integer("q_num_heads");
    FailureOr<std::optional<std::int64_t>> keyHeads =
        at.integer("kv_num_heads");
    if (failed(queryHeads) || failed(keyHeads))
      return failure();
    hasHeads = rank == 4;
    Value *values[] = {&variant.query, &variant.key, &variant.value};
    for (unsigned i : {Q, K, V}) {
      std::optional<std::int64_t> heads = i == Q ? *queryHeads : *keyHeads;
      StringRef attribute = i == Q ? "q_num_heads" : "kv_num_heads";
      *values[i] = at.input(i);
      RankedTensorType type = typeOf(at.input(i));
      if (hasHeads) {
        if (heads && *heads != type.getDimSize(1))
          return at.error(names[i])
                 << "expected " << *heads << " heads, as '" << attribute
                 << "' says, got " << formatType(type);
        continue;
      }
      if (!heads || *heads < 1)
        return at.error() << "attribute '" << attribute
                          << "': expected a positive number of heads for "
                             "inputs of rank 3";
      std::int64_t size = type.getDimSize(2);
      if (mlir::ShapedType::isDynamic(size) || size == 0 || size % *heads != 0)
        return at.error(names[i])
               << "expected a static last size that " << *heads
               << " heads divide, got " << formatType(type);
      *values[i] = splitHeads(at.b, at.input(i), *heads);
    }
    if (failed(checkAttention(at, variant.query, variant.key, variant.value,
                              names)))
      return failure();
    elementType =
        llvm::cast<mlir::FloatType>(typeOf(variant.query).getElementType());
    return success();
  }

  LogicalResult readNumbers() {
    FailureOr<std::optional<double>> scale = at.number("scale");
    FailureOr<double> softcap = at.number("softcap", 0);
    FailureOr<bool> causal = at.flag("is_causal");
    if (failed(scale) || failed(softcap) || failed(causal))
      return failure();
    // Queries and keys are multiplied by its root.
    if (scale->value_or(0) < 0)
      return at.error() << "attribute 'scale': expected a number of at least "
                           "0, got "
                        << **scale;
    if (*softcap < 0)
      return at.error() << "attribute 'softcap': expected a positive number, "
                           "or 0 for none, got "
                        << *softcap;
    variant.scale = *scale;
    variant.softcap = *softcap;
    variant.causal = *causal;
    if (at.version < 25)
      return success();
    for (auto [name, size] :
         {std::pair(StringRef("left_window_size"), &variant.left),
          std::pair(StringRef("right_window_size"), &variant.right)}) {
      FailureOr<std::int64_t> window = at.integer(name, -1);
      if (failed(window))
        return failure();
      constexpr std::int64_t most = std::int64_t(1) << 61;
      if (*window < -1 || *window > most)
        return at.error() << "attribute '" << name
                          << "': expected -1, or a size of up to 2^61, got "
                          << *window;
      *size = *window;
    }
    return success();
  }

  LogicalResult readMask() {
    Value mask = at.input(Mask);
    if (!mask)
      return success();
    RankedTensorType type = typeOf(mask);
    bool isBoolean = type.getElementType().isInteger(1);
    if (!isBoolean && type.getElementType() != elementType)
      return at.error("attn_mask")
             << "expected elements of bool or " << elementType << ", got "
             << formatType(type);
    if (type.getRank() > 4)
      return at.error("attn_mask")
             << "expected a rank of up to 4, got " << formatType(type);
    std::int64_t sizes[] = {typeOf(variant.query).getDimSize(0),
                            typeOf(variant.query).getDimSize(1),
                            typeOf(variant.query).getDimSize(2),
                            typeOf(variant.key).getDimSize(2)};
    // From 24 on, one that is shorter than the keys hides the rest.
    bool mayBeShort = at.version >= 24;
    for (std::int64_t dim = 0; dim < type.getRank(); ++dim) {
      std::int64_t target = 4 - type.getRank() + dim;
      std::int64_t size = type.getDimSize(dim), expected = sizes[target];
      bool fits = size == 1 || mayAgree(size, expected);
      if (target == 3 && mayBeShort && !fits)
        fits = size < expected;
      // The padding is not known to be none.
      if (target == 3 && mayBeShort &&
          (size != expected || mlir::ShapedType::isDynamic(size)))
        variant.padsMask = true;
      if (!fits)
        return at.error("attn_mask")
               << "expected what broadcasts to (batch, heads, queries, keys), "
               << formatType(
                      RankedTensorType::get(sizes, type.getElementType()))
               << ", got " << formatType(type);
    }
    (isBoolean ? variant.boolean : variant.bias) = mask;
    return success();
  }

  /// Of caches that are filled outside of the node.
  LogicalResult readLengths() {
    Value lengths = at.input(Lengths);
    if (!lengths)
      return success();
    if (at.version < 24)
      return at.error() << "expected at most 6 inputs before operator set 24";
    if (at.input(PastKey) || at.wantsOutput(PresentKey) ||
        at.wantsOutput(PresentValue))
      return at.error("nonpad_kv_seqlen")
             << "expected no past or present keys and values beside it";
    RankedTensorType type = typeOf(lengths);
    std::int64_t batch = typeOf(variant.query).getDimSize(0);
    if (type.getRank() != 1 || !type.getElementType().isInteger(64) ||
        !mayAgree(type.getDimSize(0), batch))
      return at.error("nonpad_kv_seqlen")
             << "expected int64 of shape (batch), "
             << formatType(RankedTensorType::get(batch, at.b.getI64Type()))
             << ", got " << formatType(type);
    variant.lengths = lengths;
    if (!variant.causal && variant.left < 0 && variant.right < 0)
      return success();
    Value queries = mlir::arith::IndexCastOp::create(
        at.b, at.b.getI64Type(), toIndex(at.b, sizeOf(at.b, variant.query, 2)));
    variant.offset = computeElements(
        at.b, lengths, sizesOf(at.b, lengths), at.b.getI64Type(),
        [&](OpBuilder &b, Location loc, ValueRange elements) {
          return mlir::arith::SubIOp::create(b, loc, elements[0], queries);
        });
    return success();
  }

  /// Sums have at least the precision of f32, and so do softmaxes.
  LogicalResult readPrecision() {
    FailureOr<std::int64_t> precision =
        at.integer("softmax_precision", std::int64_t(DataType::f32));
    if (failed(precision))
      return failure();
    switch (DataType(*precision)) {
    case DataType::f16:
    case DataType::bf16:
    case DataType::f32:
      return success();
    case DataType::f64:
      for (Value *value : {&variant.query, &variant.key, &variant.value})
        *value = convertFloats(at.b, *value, at.b.getF64Type());
      return success();
    default:
      return at.error() << "attribute 'softmax_precision': expected 1, 10, 11 "
                           "or 16, a type of floats, got "
                        << *precision;
    }
  }

  NodeImport &at;
  AttentionVariant variant;
  mlir::FloatType elementType;
  bool hasHeads = false;
};
} // namespace

static LogicalResult importAttention(NodeImport &at) {
  return AttentionImport(at).run();
}

ArrayRef<Operator> attn::onnx::getAttentionOperators() {
  static const Operator operators[] = {
      {"", "Attention", 23, newestOpset, 3, 7, 4, importAttention}};
  return operators;
}
