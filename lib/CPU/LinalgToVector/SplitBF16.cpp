//===- SplitBF16.cpp - Vectors of even and odd elements -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/SplitBF16.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

std::pair<Value, Value> attn::loadSplit(OpBuilder &b, Location loc,
                                        Value buffer, ValueRange indices,
                                        int64_t width) {
  auto bits = VectorType::get(width, b.getI32Type());
  auto wide = VectorType::get(width, b.getF32Type());
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(bits, APInt(32, value)));
  };
  Value narrow = vector::LoadOp::create(
      b, loc, VectorType::get(2 * width, b.getBF16Type()), buffer, indices);
  Value pairs = vector::BitCastOp::create(b, loc, bits, narrow);
  Value even = arith::ShLIOp::create(b, loc, pairs, constant(16));
  Value odd = arith::AndIOp::create(b, loc, pairs, constant(0xffff0000));
  return {vector::BitCastOp::create(b, loc, wide, even),
          vector::BitCastOp::create(b, loc, wide, odd)};
}

std::pair<Value, Value> attn::splitLanes(OpBuilder &b, Location loc,
                                         Value first, Value second) {
  int64_t width = cast<VectorType>(first.getType()).getDimSize(0);
  SmallVector<int64_t> even, odd;
  for (int64_t lane = 0; lane < width; ++lane) {
    even.push_back(2 * lane);
    odd.push_back(2 * lane + 1);
  }
  return {vector::ShuffleOp::create(b, loc, first, second, even),
          vector::ShuffleOp::create(b, loc, first, second, odd)};
}

std::pair<Value, Value> attn::joinLanes(OpBuilder &b, Location loc, Value even,
                                        Value odd) {
  int64_t width = cast<VectorType>(even.getType()).getDimSize(0);
  SmallVector<int64_t> first, second;
  for (int64_t lane = 0; lane < width; ++lane) {
    int64_t source = lane / 2 + lane % 2 * width;
    first.push_back(source);
    second.push_back(source + width / 2);
  }
  return {vector::ShuffleOp::create(b, loc, even, odd, first),
          vector::ShuffleOp::create(b, loc, even, odd, second)};
}
