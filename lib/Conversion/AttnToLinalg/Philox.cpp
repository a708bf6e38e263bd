//===- Philox.cpp - Philox-4x32-10 as scalar code -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToLinalg/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

std::array<Value, 4> attn::buildPhilox(OpBuilder &builder, Location loc,
                                       std::array<Value, 4> counter,
                                       std::array<Value, 2> key) {
  constexpr int kRounds = 10;
  constexpr uint32_t kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
  auto constant = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(int32_t(value)));
  };
  auto xorOf = [&](Value lhs, Value rhs) -> Value {
    return arith::XOrIOp::create(builder, loc, lhs, rhs);
  };
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0)
      for (int word = 0; word < 2; ++word)
        key[word] = arith::AddIOp::create(builder, loc, key[word],
                                          constant(kWeyl[word]));
    auto first = arith::MulUIExtendedOp::create(builder, loc, counter[0],
                                                constant(kMultipliers[0]));
    auto second = arith::MulUIExtendedOp::create(builder, loc, counter[2],
                                                 constant(kMultipliers[1]));
    counter = {
        xorOf(xorOf(second.getHigh(), counter[1]), key[0]), second.getLow(),
        xorOf(xorOf(first.getHigh(), counter[3]), key[1]), first.getLow()};
  }
  return counter;
}
