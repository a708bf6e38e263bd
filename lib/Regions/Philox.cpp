//===- Philox.cpp - Philox-4x32-10 as scalar code -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/Philox.h"

#include "dialect/Shared/Philox.h"

using namespace mlir;
using namespace mlir::attn;

/// Four random words from a counter of four and a key of two.
static std::array<Value, 4> buildPhilox(IndexBuilder &b,
                                        std::array<Value, 4> counter,
                                        std::array<Value, 2> key) {
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  };
  auto xorOf = [&](Value lhs, Value rhs) -> Value {
    return arith::XOrIOp::create(b, lhs, rhs);
  };
  for (int round = 0; round < kPhiloxRounds; ++round) {
    if (round > 0)
      for (int word = 0; word < 2; ++word)
        key[word] = b.add(key[word], constant(kPhiloxGrowth[word]));
    auto first = arith::MulUIExtendedOp::create(
        b, counter[0], constant(kPhiloxMultipliers[0]));
    auto second = arith::MulUIExtendedOp::create(
        b, counter[2], constant(kPhiloxMultipliers[1]));
    counter = {
        xorOf(xorOf(second.getHigh(), counter[1]), key[0]), second.getLow(),
        xorOf(xorOf(first.getHigh(), counter[3]), key[1]), first.getLow()};
  }
  return counter;
}

std::array<Value, 2> attn::buildPhiloxKey(IndexBuilder &b, Value seed) {
  Value width = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
  Value high = arith::ShRUIOp::create(b, seed, width);
  Type i32 = b.getI32Type();
  return {arith::TruncIOp::create(b, i32, seed),
          arith::TruncIOp::create(b, i32, high)};
}

Value attn::buildIsKept(IndexBuilder &b, double rate, std::array<Value, 2> key,
                        Value column, Value row, Value line, Value call) {
  auto toI32 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI32Type(), value);
  };
  Value block = b.div(column, 4), lane = b.rem(column, 4);
  std::array<Value, 4> words =
      buildPhilox(b, {toI32(block), toI32(row), toI32(line), call}, key);
  Value word = words[3];
  for (int64_t candidate : {2, 1, 0})
    word = b.select(b.isEqual(lane, candidate), words[candidate], word);
  // As i64, because the threshold may be 2^32.
  Value wide = arith::ExtUIOp::create(b, b.getI64Type(), word);
  Value threshold =
      arith::ConstantOp::create(b, b.getI64IntegerAttr(getLeastKeptWord(rate)));
  return b.compare(arith::CmpIPredicate::uge, wide, threshold);
}
