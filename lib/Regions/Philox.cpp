//===- Philox.cpp - Philox-4x32-10 as scalar code -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Regions/Philox.h"

#include "dialect/Shared/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

/// Four random words from a counter of four and a key of two.
static std::array<Value, 4> buildPhilox(OpBuilder &builder, Location loc,
                                        std::array<Value, 4> counter,
                                        std::array<Value, 2> key) {
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(int32_t(value)));
  };
  auto xorOf = [&](Value lhs, Value rhs) -> Value {
    return arith::XOrIOp::create(builder, loc, lhs, rhs);
  };
  for (int round = 0; round < attn::kPhiloxRounds; ++round) {
    if (round > 0)
      for (int word = 0; word < 2; ++word)
        key[word] = arith::AddIOp::create(builder, loc, key[word],
                                          constant(attn::kPhiloxGrowth[word]));
    auto first = arith::MulUIExtendedOp::create(
        builder, loc, counter[0], constant(attn::kPhiloxMultipliers[0]));
    auto second = arith::MulUIExtendedOp::create(
        builder, loc, counter[2], constant(attn::kPhiloxMultipliers[1]));
    counter = {
        xorOf(xorOf(second.getHigh(), counter[1]), key[0]), second.getLow(),
        xorOf(xorOf(first.getHigh(), counter[3]), key[1]), first.getLow()};
  }
  return counter;
}

std::array<Value, 2> attn::buildPhiloxKey(OpBuilder &builder, Location loc,
                                          Value seed) {
  Value width =
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  Value high = arith::ShRUIOp::create(builder, loc, seed, width);
  Type i32 = builder.getI32Type();
  return {arith::TruncIOp::create(builder, loc, i32, seed),
          arith::TruncIOp::create(builder, loc, i32, high)};
}

Value attn::buildIsKept(OpBuilder &builder, Location loc, double rate,
                        std::array<Value, 2> key, Value column, Value row,
                        Value line, Value call) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto toI32 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      value);
  };
  Value block = arith::DivUIOp::create(builder, loc, column, index(4));
  Value lane = arith::RemUIOp::create(builder, loc, column, index(4));
  std::array<Value, 4> words = buildPhilox(
      builder, loc, {toI32(block), toI32(row), toI32(line), call}, key);
  Value word = words[3];
  for (int64_t candidate : {2, 1, 0}) {
    Value isLane = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         lane, index(candidate));
    word =
        arith::SelectOp::create(builder, loc, isLane, words[candidate], word);
  }
  // As i64, because the threshold may be 2^32.
  Value wide = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), word);
  Value threshold = arith::ConstantOp::create(
      builder, loc, builder.getI64IntegerAttr(getLeastKeptWord(rate)));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, wide,
                               threshold);
}
