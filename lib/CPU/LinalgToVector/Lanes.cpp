//===- Lanes.cpp - Widening and rearranging vectors -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/Lanes.h"
#include "dialect/Shared/Float8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isNarrow(Type type) {
  return isa<Float16Type, BFloat16Type>(type) || isFloat8(type) ||
         type.isSignlessInteger(8);
}

Value attn::widenLanes(ImplicitLocOpBuilder &b, Value vector, Type type) {
  auto from = cast<VectorType>(vector.getType());
  auto to = VectorType::get(from.getShape(), type);
  if (isa<IntegerType>(from.getElementType()))
    return arith::SIToFPOp::create(b, to, vector);
  return arith::ExtFOp::create(b, to, vector);
}

bool attn::canSplit(Type type) { return type.isBF16() || isFloat8(type); }

/// Of floats of 8 bits.
static std::pair<Value, Value> splitFloat8(ImplicitLocOpBuilder &b,
                                           Value elements) {
  auto type = cast<VectorType>(elements.getType());
  int64_t width = type.getNumElements() / 2;
  auto pair = VectorType::get(width, b.getI16Type());
  Value pairs = vector::BitCastOp::create(b, pair, elements);
  auto widen = [&](Value bits) {
    bits =
        arith::TruncIOp::create(b, VectorType::get(width, b.getI8Type()), bits);
    return widenLanes(
        b,
        arith::BitcastOp::create(
            b, VectorType::get(width, type.getElementType()), bits),
        b.getF32Type());
  };
  Value eight = arith::ConstantOp::create(
      b, DenseElementsAttr::get(pair, b.getI16IntegerAttr(8)));
  return {widen(pairs), widen(arith::ShRUIOp::create(b, pairs, eight))};
}

std::pair<Value, Value> attn::loadSplit(ImplicitLocOpBuilder &b, Value buffer,
                                        ValueRange indices, int64_t width) {
  if (Type type = cast<MemRefType>(buffer.getType()).getElementType();
      isFloat8(type))
    return splitFloat8(
        b, vector::LoadOp::create(b, VectorType::get(2 * width, type), buffer,
                                  indices));
  auto bits = VectorType::get(width, b.getI32Type());
  auto wide = VectorType::get(width, b.getF32Type());
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(bits, APInt(32, value)));
  };
  Value narrow = vector::LoadOp::create(
      b, VectorType::get(2 * width, b.getBF16Type()), buffer, indices);
  Value pairs = vector::BitCastOp::create(b, bits, narrow);
  Value even = arith::ShLIOp::create(b, pairs, constant(16));
  Value odd = arith::AndIOp::create(b, pairs, constant(0xffff0000));
  return {vector::BitCastOp::create(b, wide, even),
          vector::BitCastOp::create(b, wide, odd)};
}

std::pair<Value, Value> attn::splitLanes(ImplicitLocOpBuilder &b, Value first,
                                         Value second) {
  int64_t width = cast<VectorType>(first.getType()).getDimSize(0);
  SmallVector<int64_t> even, odd;
  for (int64_t lane = 0; lane < width; ++lane) {
    even.push_back(2 * lane);
    odd.push_back(2 * lane + 1);
  }
  return {vector::ShuffleOp::create(b, first, second, even),
          vector::ShuffleOp::create(b, first, second, odd)};
}

std::pair<Value, Value> attn::joinLanes(ImplicitLocOpBuilder &b, Value even,
                                        Value odd) {
  int64_t width = cast<VectorType>(even.getType()).getDimSize(0);
  SmallVector<int64_t> first, second;
  for (int64_t lane = 0; lane < width; ++lane) {
    int64_t source = lane / 2 + lane % 2 * width;
    first.push_back(source);
    second.push_back(source + width / 2);
  }
  return {vector::ShuffleOp::create(b, even, odd, first),
          vector::ShuffleOp::create(b, even, odd, second)};
}

/// One vector of the parts, whose number is a power of two, in order.
static Value concatenate(ImplicitLocOpBuilder &b, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    int64_t size = cast<VectorType>(parts[0].getType()).getNumElements();
    auto mask = llvm::to_vector(llvm::seq<int64_t>(0, 2 * size));
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] =
          vector::ShuffleOp::create(b, parts[2 * i], parts[2 * i + 1], mask);
    parts.resize(parts.size() / 2);
  }
  return parts.front();
}

/// To interleave registers that are `stride` apart exchanges one bit of their
/// number with one of a unit's place in its part.
void attn::transposeParts(ImplicitLocOpBuilder &b, MutableArrayRef<Value> rows,
                          int64_t unit) {
  auto size = int64_t(rows.size());
  int64_t width = cast<VectorType>(rows[0].getType()).getNumElements();
  int64_t half = size / 2 * unit;
  SmallVector<int64_t> low, high;
  auto append = [unit](SmallVector<int64_t> &mask, int64_t first) {
    llvm::append_range(mask, llvm::seq(first, first + unit));
  };
  for (int64_t part = 0; part < width; part += size * unit)
    for (int64_t i = part; i < part + half; i += unit) {
      append(low, i);
      append(low, width + i);
      append(high, i + half);
      append(high, width + i + half);
    }
  for (int64_t stride = size / 2; stride > 0; stride /= 2)
    for (int64_t i = 0; i < size; ++i) {
      if (i & stride)
        continue;
      Value lhs = rows[i], rhs = rows[i + stride];
      rows[i] = vector::ShuffleOp::create(b, lhs, rhs, low);
      rows[i + stride] = vector::ShuffleOp::create(b, lhs, rhs, high);
    }
}

/// Part k of register i is loaded from row k * size + i, for i from 0 to
/// `size`; then squares of `size` are transposed in each part.
SmallVector<Value> attn::loadTransposed(ImplicitLocOpBuilder &b, int64_t size,
                                        int64_t width,
                                        function_ref<Value(int64_t)> load) {
  SmallVector<Value> rows;
  for (int64_t i = 0; i < size; ++i) {
    SmallVector<Value> parts;
    for (int64_t k = i; k < width; k += size)
      parts.push_back(load(k));
    rows.push_back(concatenate(b, std::move(parts)));
  }
  transposeParts(b, rows, /*unit=*/1);
  return rows;
}
