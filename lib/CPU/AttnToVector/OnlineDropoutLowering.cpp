//===- OnlineDropoutLowering.cpp - attn.online_dropout as vector code -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The four words of one counter belong to four keys, which are four rows of the
// tile, and counters differ in the position from lane to lane: a counter in
// each lane gives four rows of factors, and nothing moves between lanes.
//
//   words   lane 0    lane 1    ...
//   row j   c0 of p   c0 of p+1
//   row j+1 c1 of p   c1 of p+1
//   row j+2 c2 of p   c2 of p+1
//   row j+3 c3 of p   c3 of p+1
//
// A word is the low half of an i64, and what the high half holds does not
// matter: one instruction multiplies two of them (vpmuludq), and the result is
// the low word of the product as it is, and the high one after a shift. Of f32,
// even and odd lanes are two vectors, whose words come together at the end.
//
// Three of a counter's words are the same in all lanes, and so are some of the
// next rounds: they are computed as scalars. A factor of 0 leaves the sign of a
// weight, by which a position is known to be hidden.
//

#include "dialect/Shared/Philox.h"
#include "lib/CPU/AttnToVector/AttnToVector.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <array>

using namespace mlir;
using namespace mlir::attn;

namespace {

class DropoutLowering {
public:
  DropoutLowering(OnlineDropoutOp op, TargetAttr target)
      : op(op), weights(cast<MemRefType>(op.getWeights().getType())),
        b(op, target, weights.getDimSize(1), weights.getElementTypeBitWidth()),
        i64(b.getI64Type()),
        isHalved(weights.getElementType().isF32() && b.getWidth() % 2 == 0),
        words(VectorType::get(b.getWidth() / (isHalved ? 2 : 1), i64)) {}

  void lower() {
    if (rate() > 0) {
      prepare();
      b.loop(0, b.getNumLanes(), b.getWidth(),
             [&](Value lane) { lowerPiece(lane); });
    }
    op.erase();
  }

private:
  /// Of i64, in all lanes or in each.
  using Counter = std::array<Value, 4>;

  double rate() { return op.getRate().convertToDouble(); }

  /// The words that are the same in all counters, and the keys of all rounds.
  void prepare() {
    line = b.createOrFold<arith::IndexCastOp>(i64, op.getLine());
    call = b.createOrFold<arith::ExtUIOp>(i64, op.getCall());
    Value key[2] = {op.getSeed(), b.createOrFold<arith::ShRUIOp>(
                                      op.getSeed(), b.integer(i64, 32))};
    for (int round = 0; round < kPhiloxRounds; ++round)
      for (int word : {0, 1}) {
        keys[size_t(round)][size_t(word)] = key[word];
        key[word] = b.addI(key[word], b.integer(i64, kPhiloxGrowth[word]));
      }
  }

  /// The rows of a piece that begins at a lane: groups of four, of which the
  /// first may begin before the tile and the last end after it.
  void lowerPiece(Value lane) {
    SmallVector<Value> positions = buildPositions(lane);
    Value begin = b.subI(b.index(0), b.remUI(op.getFirstKey(), 4));
    b.loop(begin, op.getNumKeys(), 4, [&](Value row) {
      Value key = b.addI(op.getFirstKey(), row);
      Value group = b.createOrFold<arith::IndexCastOp>(i64, b.divUI(key, 4));
      std::array<Value, 4> factors = buildFactors(group, positions);
      auto multiply = [&](int64_t i) {
        Value at = b.addI(row, i);
        Value weight =
            b.create<vector::LoadOp>(factors[size_t(i)].getType(),
                                     op.getWeights(), ValueRange{at, lane});
        b.create<vector::StoreOp>(
            b.create<arith::MulFOp>(weight, factors[size_t(i)]),
            op.getWeights(), ValueRange{at, lane});
      };
      // Negative rows are large unsigned numbers.
      auto isBelow = [&](Value number, Value bound) {
        return b.compareI(arith::CmpIPredicate::ult, number, bound);
      };
      int64_t lastWhole = std::max<int64_t>(0, weights.getDimSize(0) - 3);
      b.branch(
          isBelow(row, b.index(lastWhole)),
          [&]() -> SmallVector<Value> {
            for (int64_t i = 0; i < 4; ++i)
              multiply(i);
            return {};
          },
          [&]() -> SmallVector<Value> {
            for (int64_t i = 0; i < 4; ++i) {
              Value at = b.addI(row, i);
              b.branch(
                  isBelow(at, op.getNumKeys()),
                  [&]() -> SmallVector<Value> {
                    multiply(i);
                    return {};
                  },
                  [] { return SmallVector<Value>(); });
            }
            return {};
          });
    });
  }

  /// The position in each lane of each vector of words.
  SmallVector<Value> buildPositions(Value lane) {
    Value first =
        b.createOrFold<arith::IndexCastOp>(i64, b.addI(op.getPosition(), lane));
    SmallVector<Value> positions;
    for (int64_t half = 0; half < (isHalved ? 2 : 1); ++half) {
      SmallVector<int64_t> numbers;
      for (int64_t i = 0; i < words.getDimSize(0); ++i)
        numbers.push_back(isHalved ? 2 * i + half : i);
      positions.push_back(b.create<arith::AddIOp>(
          b.create<vector::BroadcastOp>(words, first),
          b.constant(DenseElementsAttr::get(words, ArrayRef(numbers)))));
    }
    return positions;
  }

  /// What the weights of four keys are multiplied by.
  std::array<Value, 4> buildFactors(Value group, ArrayRef<Value> positions) {
    SmallVector<Counter> random;
    for (Value position : positions)
      random.push_back(buildPhilox({group, position, line, call}));
    std::array<Value, 4> factors;
    for (size_t i = 0; i < 4; ++i) {
      SmallVector<Value> halves;
      for (const Counter &counter : random)
        halves.push_back(counter[i]);
      factors[i] = buildFactor(halves);
    }
    return factors;
  }

  Value buildFactor(ArrayRef<Value> halves) {
    int64_t least = getLeastKeptWord(rate());
    VectorType type = b.getPieceType(weights.getElementType());
    Value isKept;
    if (isHalved) {
      VectorType packed = b.getPieceType(b.getI32Type());
      SmallVector<int64_t> lanes;
      for (int64_t i = 0; i < b.getWidth(); i += 2)
        lanes.append({i, b.getWidth() + i});
      Value all = b.create<vector::ShuffleOp>(
          b.create<vector::BitCastOp>(packed, halves[0]),
          b.create<vector::BitCastOp>(packed, halves[1]), lanes);
      // The least word may be 2^32, which no word is.
      isKept = b.create<arith::CmpIOp>(
          arith::CmpIPredicate::ugt, all,
          b.integer(packed, int32_t(uint32_t(least - 1))));
    } else {
      isKept =
          b.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, takeLow(halves[0]),
                                  b.integer(words, least - 1));
    }
    return b.create<arith::SelectOp>(
        isKept, b.number(type, 1.0 / (1.0 - rate())), b.number(type, 0.0));
  }

  //===--------------------------------------------------------------------===//
  // Philox-4x32-10
  //===--------------------------------------------------------------------===//

  Counter buildPhilox(Counter c) {
    for (const std::array<Value, 2> &key : keys) {
      Value first = multiply(c[0], kPhiloxMultipliers[0]),
            second = multiply(c[2], kPhiloxMultipliers[1]);
      // What does not wait for the products is combined first.
      c = {xorOf(xorOf(c[1], key[0]), takeHigh(second)), second,
           xorOf(xorOf(c[3], key[1]), takeHigh(first)), first};
    }
    for (Value &word : c)
      word = toLanes(word);
    return c;
  }

  Value takeLow(Value word) {
    return b.andI(word, b.integer(word.getType(), 0xFFFFFFFF));
  }
  Value takeHigh(Value product) {
    return b.createOrFold<arith::ShRUIOp>(product,
                                          b.integer(product.getType(), 32));
  }
  Value multiply(Value word, uint32_t factor) {
    return b.mulI(takeLow(word), b.integer(word.getType(), factor));
  }
  Value xorOf(Value lhs, Value rhs) {
    if (isa<VectorType>(lhs.getType()) || isa<VectorType>(rhs.getType())) {
      lhs = toLanes(lhs);
      rhs = toLanes(rhs);
    }
    return b.createOrFold<arith::XOrIOp>(lhs, rhs);
  }
  Value toLanes(Value word) {
    if (isa<VectorType>(word.getType()))
      return word;
    return b.create<vector::BroadcastOp>(words, word);
  }

  OnlineDropoutOp op;
  MemRefType weights;
  LaneBuilder b;
  Type i64;
  bool isHalved;    ///< Even and odd lanes are apart.
  VectorType words; ///< As many as a piece, or half of it, has lanes.
  Value line, call;
  std::array<std::array<Value, 2>, kPhiloxRounds> keys;
};

} // namespace

LogicalResult attn::lowerOnlineDropout(OnlineDropoutOp op, TargetAttr target) {
  auto type = dyn_cast<MemRefType>(op.getWeights().getType());
  if (!type ||
      !(type.getElementType().isF32() || type.getElementType().isF64()) ||
      !type.isLastDimUnitStride())
    return op.emitOpError() << "is lowered on memrefs of f32 or f64 whose last "
                               "dimension is contiguous only, got "
                            << op.getWeights().getType();
  DropoutLowering(op, target).lower();
  return success();
}
