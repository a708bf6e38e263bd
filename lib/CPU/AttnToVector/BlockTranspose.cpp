//===- BlockTranspose.cpp - Transposing blocks in registers ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// In words of 32 bits. Quarter k of a register (128 bits, four words) is loaded
// from row 4k + i, for i = 0 to 3; then 4x4 words are transposed in each
// quarter, which gives one column of words per register. Most of the work is
// thus in loads that insert a quarter, which need no shuffle unit. Elements
// that are smaller than a word are taken apart at the end.
//

#include "lib/CPU/AttnToVector/BlockTranspose.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kQuarterBits = 128;
static constexpr int64_t kQuarterWords = 4;

bool attn::canTransposeBlocks(LaneBuilder &b, Type elementType) {
  int64_t width = b.getWidth();
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return (width == 4 || width == 8 || width == 16) &&
         (bits == 8 || bits == 16 || bits == 32);
}

int64_t attn::getBlockColumns(Type elementType) {
  return kQuarterBits / elementType.getIntOrFloatBitWidth();
}

static Value shuffle(LaneBuilder &b, Value lhs, Value rhs,
                     ArrayRef<int64_t> mask) {
  return b.create<vector::ShuffleOp>(lhs, rhs, mask);
}

/// One register of the quarters, in order.
static Value concatenate(LaneBuilder &b, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    int64_t words = cast<VectorType>(parts[0].getType()).getNumElements();
    auto mask = llvm::to_vector(llvm::seq<int64_t>(0, 2 * words));
    SmallVector<Value> joined;
    for (size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(shuffle(b, parts[i], parts[i + 1], mask));
    parts = std::move(joined);
  }
  return parts.front();
}

/// Words of two registers, `pattern` in each quarter: 0 to 3 from the first
/// register, 4 to 7 from the second.
static Value shuffleQuarters(LaneBuilder &b, Value lhs, Value rhs,
                             ArrayRef<int64_t> pattern) {
  int64_t width = b.getWidth();
  SmallVector<int64_t> mask;
  for (int64_t quarter = 0; quarter < width; quarter += kQuarterWords)
    for (int64_t word : pattern)
      mask.push_back(quarter + (word < kQuarterWords
                                    ? word
                                    : word - kQuarterWords + width));
  return shuffle(b, lhs, rhs, mask);
}

/// 4x4 words in each quarter of four registers.
static Pieces transposeQuarters(LaneBuilder &b, ArrayRef<Value> rows) {
  Value low01 = shuffleQuarters(b, rows[0], rows[1], {0, 4, 1, 5});
  Value high01 = shuffleQuarters(b, rows[0], rows[1], {2, 6, 3, 7});
  Value low23 = shuffleQuarters(b, rows[2], rows[3], {0, 4, 1, 5});
  Value high23 = shuffleQuarters(b, rows[2], rows[3], {2, 6, 3, 7});
  return {shuffleQuarters(b, low01, low23, {0, 1, 4, 5}),
          shuffleQuarters(b, low01, low23, {2, 3, 6, 7}),
          shuffleQuarters(b, high01, high23, {0, 1, 4, 5}),
          shuffleQuarters(b, high01, high23, {2, 3, 6, 7})};
}

/// Element `part` of each word, widened to 32 bits. The first one is in the low
/// bits.
static Value takePart(LaneBuilder &b, Value words, Type elementType,
                      int64_t part) {
  VectorType vector = cast<VectorType>(words.getType());
  auto constant = [&](int64_t value) { return b.integer(vector, value); };
  auto shiftLeft = [&](Value value, int64_t amount) -> Value {
    return amount == 0 ? value
                       : b.create<arith::ShLIOp>(value, constant(amount));
  };
  VectorType floats = b.getPieceType(b.getF32Type());
  unsigned bits = elementType.getIntOrFloatBitWidth();
  if (bits == 8)
    return b.create<arith::AndIOp>(words, constant(int64_t(0xff) << 8 * part));
  if (elementType.isF32())
    return b.create<arith::BitcastOp>(floats, words);
  if (bits == 32)
    return words;
  if (elementType.isBF16()) {
    Value high =
        part == 0
            ? shiftLeft(words, 16)
            : b.create<arith::AndIOp>(words, constant(int64_t(0xffff0000)));
    return b.create<arith::BitcastOp>(floats, high);
  }
  Value low = part == 0 ? words : b.create<arith::ShRUIOp>(words, constant(16));
  Value half = b.create<arith::TruncIOp>(b.getPieceType(b.getI16Type()), low);
  if (!isa<FloatType>(elementType))
    return b.create<arith::ExtSIOp>(vector, half);
  half = b.create<arith::BitcastOp>(b.getPieceType(elementType), half);
  return b.create<arith::ExtFOp>(floats, half);
}

Pieces attn::buildTransposedBlock(LaneBuilder &b, Type elementType,
                                  function_ref<Value(int64_t)> load) {
  int64_t bits = elementType.getIntOrFloatBitWidth();
  auto quarter = VectorType::get(kQuarterWords, b.getI32Type());
  Pieces rows, result;
  for (int64_t i = 0; i < kQuarterWords; ++i) {
    SmallVector<Value> parts;
    for (int64_t k = 0; k < b.getWidth(); k += kQuarterWords)
      parts.push_back(b.create<vector::BitCastOp>(quarter, load(k + i)));
    rows.push_back(concatenate(b, std::move(parts)));
  }
  for (Value words : transposeQuarters(b, rows))
    for (int64_t part = 0; part < 32 / bits; ++part)
      result.push_back(takePart(b, words, elementType, part));
  return result;
}
