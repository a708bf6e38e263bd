//===- MultiTokenPanels.cpp - attn.multi_token_attention by panels --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The fast form of the lowering: parallel tiles of some rows of the output and
// the heads that are mixed with each other. Each computes panels
// (heads, rows, visible keys) in f32, whose rows are computed by vectors: keys
// are lanes. A convolution is one elementwise operation on as many shifted
// views of its input as it has taps, so that its sums stay in registers.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Analysis/MaskAnalysis.h"
#include "lib/Conversion/AttnToLinalg/PositionCode.h"
#include "lib/Conversion/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

#include <numeric>

namespace mlir::attn {
#define GEN_PASS_DEF_MULTITOKENTOPANELS
#include "lib/Conversion/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Keys that are computed together, which panels are padded to: four registers
/// of 512 bits.
constexpr int64_t kKeys = 64;
/// Taps that one operation sums at most, so that it stays of a size that is
/// compiled quickly.
constexpr int64_t kMostTaps = 72;

/// Whether a region has a value everywhere and loads nothing, so that it can be
/// evaluated for vectors.
bool isPlain(Region &region) {
  if (region.empty())
    return true;
  return llvm::all_of(region.front().without_terminator(), [](Operation &op) {
    return isa<arith::ConstantOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
               arith::DivFOp, arith::NegFOp, arith::CmpFOp, arith::CmpIOp,
               arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp,
               arith::OrIOp, arith::XOrIOp, arith::SelectOp, arith::IndexCastOp,
               math::TanhOp>(op);
  });
}

/// Why an op is left to the reference lowering; empty if it is not.
StringRef findObstacle(MultiTokenAttentionOp op) {
  if (op->getNumResults() == 0)
    return "it works on memrefs";
  // Upstream has slices of such a dimension invalid.
  for (ShapedType type : {op.getQueryType(), op.getKeyType(),
                          cast<ShapedType>(op.getOutput().getType())})
    if (llvm::is_contained(type.getShape(), 0))
      return "it is empty";
  if (op.getElementType().isF64())
    return "its element type is f64";
  if (op.hasDropout())
    return "it has dropout";
  if (!isPlain(op.getScore()) || !isPlain(op.getMask()))
    return "a region loads or may be undefined";
  return "";
}

/// The rows and keys of a tile.
struct Tile {
  Value batch, group;
  Value firstHead;
  Value first;      ///< Row of the query that panel row 0 is; may be negative.
  Value position;   ///< Position of panel row 0.
  Value begin, end; ///< Visible keys.
  Value width;      ///< Columns of a panel, a multiple of kKeys.
};

/// Emits the lowering of one op.
class PanelLowering : PositionCode<MultiTokenAttentionOp> {
public:
  PanelLowering(MultiTokenAttentionOp op, OpBuilder &builder, int64_t tileRows)
      : PositionCode(builder, op), op(op), before(op.getStagesBefore()),
        after(op.getStagesAfter()), f32(builder.getF32Type()),
        heads(std::lcm(before.getNumMixedHeads(), after.getNumMixedHeads())),
        tileRows(tileRows), halo(before.getQueryHalo() + after.getQueryHalo()),
        rows(tileRows + halo) {}

  /// Returns the op's results.
  SmallVector<Value> emit() {
    zero = index(0);
    scale = emitScale();
    for (Value *operand :
         {&before.kernel, &before.mixing, &after.kernel, &after.mixing})
      if (*operand)
        *operand = emitConverted(*operand, f32);
    numKeys = dim(op.getKey(), 2);
    numQueries = dim(op.getQuery(), 2);
    Value numRows = dim(op.getOutput(), 2);
    Value past = subtract(numQueries, numRows); // T2
    SmallVector<OpFoldResult> lower(3, b.getIndexAttr(0)),
        upper = {OpFoldResult(dim(op.getQuery(), 0)),
                 b.getIndexAttr(op.getNumQueryHeads() / heads),
                 OpFoldResult(numRows)},
        steps = {b.getIndexAttr(1), b.getIndexAttr(1),
                 b.getIndexAttr(tileRows)};
    auto loop = scf::ForallOp::create(b, loc, lower, upper, steps, op.getOuts(),
                                      /*mapping=*/std::nullopt);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> ivs(loop.getInductionVars());
    Tile tile;
    tile.batch = ivs[0];
    tile.group = ivs[1];
    tile.firstHead = arith::MulIOp::create(b, loc, ivs[1], index(heads));
    tile.first = subtract(add(past, ivs[2]), index(halo));
    tile.position = add(
        op.createFirstPosition(b, tile.batch, numQueries, numKeys), tile.first);
    emitKeys(tile);
    Value count = arith::MinUIOp::create(b, loc, subtract(numRows, ivs[2]),
                                         index(tileRows));
    auto [output, logSumExp] = emitTile(tile);
    ValueRange outs = loop.getRegionIterArgs();
    insertParallel(loop, output, outs[0],
                   {tile.batch, tile.firstHead, ivs[2], b.getIndexAttr(0)},
                   {b.getIndexAttr(1), b.getIndexAttr(heads), count,
                    b.getIndexAttr(op.getValueType().getDimSize(3))});
    if (op.getLogSumExp())
      insertParallel(loop, logSumExp, outs[1],
                     {tile.batch, tile.firstHead, ivs[2]},
                     {b.getIndexAttr(1), b.getIndexAttr(heads), count});
    return loop.getResults();
  }

private:
  using Stages = MultiTokenAttentionOp::Stages;

  /// The keys that some row of the tile may see.
  void emitKeys(Tile &tile) {
    tile.begin = zero;
    tile.end = numKeys;
    if (op.hasMask() && op.getMask().getArgument(1).use_empty()) {
      Value last = add(tile.position, index(rows - 1));
      VisibleKeys keys =
          emitVisibleKeys(b, loc, op.getMask(), tile.batch, zero,
                          {tile.position, last}, numKeys, op.getMaskCaptures());
      tile.begin = keys.begin;
      tile.end = keys.end;
    }
    Value count = subtract(tile.end, tile.begin);
    Value blocks = arith::CeilDivUIOp::create(b, loc, count, index(kKeys));
    tile.width = arith::MulIOp::create(b, loc, blocks, index(kKeys));
  }

  /// Output (heads, tileRows, Dv) and log-sum-exp (heads, tileRows).
  std::pair<Value, Value> emitTile(const Tile &tile) {
    Value scores = emitScores(tile, emitDots(tile));
    Value panel = scores;
    if (before.kernel || before.mixing)
      panel = emitStages(tile, before, panel, scores, -kInfinity);
    auto [weights, inverse, logSumExp] = emitSoftmax(tile, panel);
    bool scaleLast = !after.kernel && !after.mixing;
    if (!scaleLast) {
      weights = map({weights, inverse}, panelLike(tile), [&](ValueRange x) {
        return arith::MulFOp::create(b, loc, x[0], x[1]).getResult();
      });
      weights = emitStages(tile, after, weights, scores, 0.0);
    }
    Value output = emitOutput(tile, weights, scores);
    Box tail{{b.getIndexAttr(0), b.getIndexAttr(halo)},
             {b.getIndexAttr(heads), b.getIndexAttr(tileRows)}};
    Value factors = extract(inverse, tail);
    output =
        map({output, factors},
            empty(tensor::getMixedSizes(b, loc, output), op.getElementType()),
            [&](ValueRange x) {
              Value sum = x[0];
              if (scaleLast)
                sum = arith::MulFOp::create(b, loc, sum, x[1]);
              return convert(sum, op.getElementType());
            });
    return {output, extract(logSumExp, tail)};
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// The products of query and key rows, 0 for rows and keys that are not
  /// there.
  Value emitDots(const Tile &tile) {
    int64_t size = op.getQueryType().getDimSize(3);
    // The rows of the query that are there.
    Value low = arith::MaxSIOp::create(b, loc, tile.first, zero);
    Value high = arith::MinSIOp::create(b, loc, add(tile.first, index(rows)),
                                        numQueries);
    Value count = subtract(high, low), skipped = subtract(low, tile.first);
    return loop(zero, index(heads), panelLike(tile),
                [&](Value c, ValueRange panels) {
                  Value head = add(tile.firstHead, c);
                  Value query = emitConverted(
                      extractRows(op.getQuery(), tile.batch, head, low, count),
                      f32);
                  Value all = fill(
                      empty({b.getIndexAttr(rows), b.getIndexAttr(size)}, f32),
                      0.0);
                  all = insert(query, all,
                               {{skipped, b.getIndexAttr(0)},
                                {count, b.getIndexAttr(size)}});
                  Value blocks =
                      arith::DivUIOp::create(b, loc, tile.width, index(kKeys));
                  return loop(zero, blocks, panels,
                              [&](Value block, ValueRange panels) {
                                Value column = arith::MulIOp::create(
                                    b, loc, block, index(kKeys));
                                return SmallVector<Value>{emitBlock(
                                    tile, all, head, c, column, panels[0])};
                              });
                })
        .front();
  }

  Value emitBlock(const Tile &tile, Value query, Value head, Value c,
                  Value column, Value panel) {
    int64_t size = op.getQueryType().getDimSize(3);
    Value first = add(tile.begin, column);
    Value count =
        arith::MinUIOp::create(b, loc, subtract(numKeys, first), index(kKeys));
    Value key =
        extractRows(op.getKey(), tile.batch, emitKeyHead(head), first, count);
    Value keys =
        fill(empty({b.getIndexAttr(size), b.getIndexAttr(kKeys)}, f32), 0.0);
    key = emitConverted(key, f32);
    Box part{{b.getIndexAttr(0), b.getIndexAttr(0)},
             {b.getIndexAttr(size), count}};
    Value transposed =
        linalg::TransposeOp::create(b, loc, key, extract(keys, part),
                                    ArrayRef<int64_t>{1, 0})
            ->getResult(0);
    keys = insert(transposed, keys, part);
    Value block =
        fill(empty({b.getIndexAttr(rows), b.getIndexAttr(kKeys)}, f32), 0.0);
    block = linalg::MatmulOp::create(b, loc, block.getType(),
                                     ValueRange{query, keys}, block)
                .getResult(0);
    return insert(
        block, panel,
        {{c, b.getIndexAttr(0), column},
         {b.getIndexAttr(1), b.getIndexAttr(rows), b.getIndexAttr(kKeys)}});
  }

  /// Scores after the regions, -inf where hidden.
  Value emitScores(const Tile &tile, Value dots) {
    return map(dots, panelLike(tile), [&](ValueRange elements) -> Value {
      auto at = [&](int64_t dim, Value first) {
        return arith::AddIOp::create(
                   b, loc, linalg::IndexOp::create(b, loc, dim), first)
            .getResult();
      };
      Value h = at(0, tile.firstHead), row = at(1, tile.first),
            p = at(1, tile.position), j = at(2, tile.begin);
      SmallVector<Value> position = {tile.batch, h, p, j};
      Value score = arith::MulFOp::create(b, loc, elements[0], scale);
      if (op.hasScore()) {
        SmallVector<Value> arguments = {score};
        llvm::append_range(arguments, position);
        llvm::append_range(arguments, op.getScoreCaptures());
        score = evaluateRegion(b, op.getScore(), arguments).value;
      }
      Value keep = compare(arith::CmpIPredicate::slt, j, tile.end);
      // T4: rows before the first; unsigned for both ends.
      keep = arith::AndIOp::create(
          b, loc, keep, compare(arith::CmpIPredicate::ult, row, numQueries));
      if (op.hasMask()) {
        SmallVector<Value> arguments(position);
        llvm::append_range(arguments, op.getMaskCaptures());
        keep = arith::AndIOp::create(
            b, loc, keep, evaluateRegion(b, op.getMask(), arguments).value);
      }
      return arith::SelectOp::create(b, loc, keep, score, minusInfinity());
    });
  }

  //===--------------------------------------------------------------------===//
  // Stages
  //===--------------------------------------------------------------------===//

  /// What the stages make of a panel; `hidden` where the score is -inf (T5).
  Value emitStages(const Tile &tile, Stages stages, Value panel, Value scores,
                   double hidden) {
    if (stages.kernel)
      panel = emitConvolution(tile, stages, panel, scores,
                              stages.mixing ? 0.0 : hidden);
    else if (hidden != 0.0)
      panel = hide(tile, panel, scores, 0.0);
    if (stages.mixing)
      panel = emitMixing(tile, stages, panel, scores, hidden);
    return panel;
  }

  Value hide(const Tile &tile, Value panel, Value scores, double value) {
    return map({panel, scores}, panelLike(tile), [&](ValueRange x) {
      return select(x[1], real(f32, value), x[0]);
    });
  }

  Value emitConvolution(const Tile &tile, Stages stages, Value panel,
                        Value scores, double hidden) {
    int64_t queries = stages.getQueryHalo(), keys = stages.getKeyHalo();
    int64_t cq = queries + 1, ck = 2 * keys + 1;
    bool mixes = cast<ShapedType>(stages.kernel.getType()).getRank() == 4;
    int64_t mixed = mixes ? stages.getNumMixedHeads() : 1;
    // T4, T5: with 0 around it and where it is hidden.
    Value padded =
        fill(empty({b.getIndexAttr(heads), b.getIndexAttr(rows + queries),
                    OpFoldResult(add(tile.width, index(2 * keys)))},
                   f32),
             0.0);
    Box inner{
        {b.getIndexAttr(0), b.getIndexAttr(queries), b.getIndexAttr(keys)},
        {b.getIndexAttr(heads), b.getIndexAttr(rows), tile.width}};
    Value visible =
        map({panel, scores}, extract(padded, inner),
            [&](ValueRange x) { return select(x[1], real(f32, 0.0), x[0]); });
    padded = insert(visible, padded, inner);
    return loop(zero, index(heads), panelLike(tile),
                [&](Value c, ValueRange panels) {
                  Value first = arith::SubIOp::create(
                      b, loc, c,
                      arith::RemUIOp::create(b, loc, c, index(mixed)));
                  Value result;
                  SmallVector<Value> views, weights;
                  int64_t done = 0, taps = mixed * cq * ck;
                  for (int64_t e = 0; e < mixed; ++e)
                    for (int64_t a = 0; a < cq; ++a)
                      for (int64_t k = 0; k < ck; ++k) {
                        views.push_back(extractMatrix(
                            tile, padded, add(first, index(e)),
                            b.getIndexAttr(a), b.getIndexAttr(k)));
                        SmallVector<Value> at = {add(tile.firstHead, c)};
                        if (mixes)
                          at.push_back(index(e));
                        at.append({index(a), index(k)});
                        weights.push_back(tensor::ExtractOp::create(
                            b, loc, stages.kernel, at));
                        bool isLast = ++done == taps;
                        if (int64_t(views.size()) < kMostTaps && !isLast)
                          continue;
                        result = emitSums(tile, views, weights, result,
                                          isLast ? matrixOf(tile, scores, c)
                                                 : Value(),
                                          hidden);
                        views.clear();
                        weights.clear();
                      }
                  return SmallVector<Value>{
                      insertMatrix(tile, result, panels[0], c)};
                })
        .front();
  }

  Value emitMixing(const Tile &tile, Stages stages, Value panel, Value scores,
                   double hidden) {
    int64_t mixed = stages.getNumMixedHeads();
    return loop(zero, index(heads), panelLike(tile),
                [&](Value c, ValueRange panels) {
                  Value place = arith::RemUIOp::create(b, loc, c, index(mixed));
                  Value first = subtract(c, place);
                  Value group = arith::DivUIOp::create(
                      b, loc, add(tile.firstHead, c), index(mixed));
                  SmallVector<Value> views, weights;
                  for (int64_t e = 0; e < mixed; ++e) {
                    views.push_back(
                        matrixOf(tile, panel, add(first, index(e))));
                    weights.push_back(tensor::ExtractOp::create(
                        b, loc, stages.mixing,
                        ValueRange{group, index(e), place}));
                  }
                  Value result = emitSums(tile, views, weights, nullptr,
                                          matrixOf(tile, scores, c), hidden);
                  return SmallVector<Value>{
                      insertMatrix(tile, result, panels[0], c)};
                })
        .front();
  }

  /// The sum of (rows, width) matrices times factors and of `start`, and
  /// `hidden` where the score is -inf, if scores are given.
  Value emitSums(const Tile &tile, ArrayRef<Value> matrices,
                 ArrayRef<Value> factors, Value start, Value scores,
                 double hidden) {
    SmallVector<Value> inputs(matrices);
    if (start)
      inputs.push_back(start);
    if (scores)
      inputs.push_back(scores);
    Value destination =
        empty({b.getIndexAttr(rows), OpFoldResult(tile.width)}, f32);
    return map(inputs, destination, [&](ValueRange x) {
      Value sum = start ? x[matrices.size()] : Value();
      for (auto [number, factor] : llvm::enumerate(factors))
        sum =
            sum ? math::FmaOp::create(b, loc, x[number], factor, sum)
                      .getResult()
                : arith::MulFOp::create(b, loc, x[number], factor).getResult();
      return scores ? select(x[inputs.size() - 1], real(f32, hidden), sum)
                    : sum;
    });
  }

  //===--------------------------------------------------------------------===//
  // Softmax and output
  //===--------------------------------------------------------------------===//

  struct Softmax {
    Value weights;   ///< exp(s - m), a panel.
    Value inverse;   ///< (heads, rows): 1 / sum, 0 for an empty row (T7).
    Value logSumExp; ///< (heads, rows)
  };

  Softmax emitSoftmax(const Tile &tile, Value panel) {
    SmallVector<OpFoldResult> sizes = {b.getIndexAttr(heads),
                                       b.getIndexAttr(rows)};
    Value largest = emitRowSums<arith::MaximumFOp>(panel, -kInfinity);
    SmallVector<Value> inputs = {largest};
    if (op.getSink()) { // A6
      Value sink = tensor::ExtractSliceOp::create(
          b, loc, op.getSink(), ArrayRef<OpFoldResult>{tile.firstHead},
          ArrayRef<OpFoldResult>{b.getIndexAttr(heads)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
      inputs.push_back(emitConverted(sink, f32));
    }
    Value zeroReal = real(f32, 0.0);
    Value maximum = map(inputs, empty(sizes, f32), [&](ValueRange x) {
      Value m = x[0];
      if (op.getSink())
        m = arith::MaximumFOp::create(b, loc, m, x[1]);
      return select(m, zeroReal, m);
    });
    Value weights = map({panel, maximum}, panelLike(tile), [&](ValueRange x) {
      return math::ExpOp::create(b, loc,
                                 arith::SubFOp::create(b, loc, x[0], x[1]))
          .getResult();
    });
    Value sum = emitRowSums<arith::AddFOp>(weights, 0.0);
    auto total = [&](ValueRange x) -> Value {
      if (!op.getSink())
        return x[2];
      Value own = math::ExpOp::create(
          b, loc, arith::SubFOp::create(b, loc, x[3], x[1]));
      return arith::AddFOp::create(b, loc, x[2], own);
    };
    inputs = {largest, maximum, sum};
    if (op.getSink())
      inputs.push_back(emitConverted(
          tensor::ExtractSliceOp::create(
              b, loc, op.getSink(), ArrayRef<OpFoldResult>{tile.firstHead},
              ArrayRef<OpFoldResult>{b.getIndexAttr(heads)},
              ArrayRef<OpFoldResult>{b.getIndexAttr(1)}),
          f32));
    Value inverse = map(inputs, empty(sizes, f32), [&](ValueRange x) {
      Value quotient = arith::DivFOp::create(b, loc, real(f32, 1.0), total(x));
      return select(x[0], zeroReal, quotient);
    });
    Value lse = map(inputs, empty(sizes, f32), [&](ValueRange x) {
      Value log = arith::AddFOp::create(b, loc, x[1],
                                        math::LogOp::create(b, loc, total(x)));
      return select(x[0], op.getSink() ? x[3] : minusInfinity(), log);
    });
    return {weights, inverse, lse};
  }

  /// All keys of each row combined: (heads, rows).
  template <typename Combine> Value emitRowSums(Value panel, double initial) {
    AffineExpr c, r, j;
    bindDims(b.getContext(), c, r, j);
    Value init = fill(empty({b.getIndexAttr(heads), b.getIndexAttr(rows)}, f32),
                      initial);
    return linalg::GenericOp::create(
               b, loc, init.getType(), panel, init,
               AffineMap::inferFromExprList(
                   {ArrayRef<AffineExpr>{c, r, j}, {c, r}}, b.getContext()),
               {utils::IteratorType::parallel, utils::IteratorType::parallel,
                utils::IteratorType::reduction},
               [&](OpBuilder &, Location, ValueRange x) {
                 linalg::YieldOp::create(
                     b, loc, Combine::create(b, loc, x[1], x[0]).getResult());
               })
        .getResult(0);
  }

  /// Sums over the keys that are not hidden: (heads, tileRows, Dv).
  Value emitOutput(const Tile &tile, Value weights, Value scores) {
    int64_t size = op.getValueType().getDimSize(3);
    Value count = subtract(tile.end, tile.begin);
    Value outputs = empty(
        {b.getIndexAttr(heads), b.getIndexAttr(tileRows), b.getIndexAttr(size)},
        f32);
    return loop(zero, index(heads), outputs,
                [&](Value c, ValueRange outputs) {
                  Value head = add(tile.firstHead, c);
                  Value value = emitConverted(
                      extractRows(op.getValue(), tile.batch, emitKeyHead(head),
                                  tile.begin, count),
                      f32);
                  auto tail = [&](Value panel) {
                    return extractBox(
                        panel,
                        {{c, b.getIndexAttr(halo), b.getIndexAttr(0)},
                         {b.getIndexAttr(1), b.getIndexAttr(tileRows), count}},
                        {tileRows, ShapedType::kDynamic});
                  };
                  Value p = tail(weights), s = tail(scores);
                  Value finite =
                      AllFiniteOp::create(b, loc, b.getI1Type(), value);
                  auto start = [&] {
                    return fill(
                        empty({b.getIndexAttr(tileRows), b.getIndexAttr(size)},
                              f32),
                        0.0);
                  };
                  Value sums =
                      scf::IfOp::create(
                          b, loc, finite,
                          [&](OpBuilder &, Location) {
                            Value zeros = start();
                            scf::YieldOp::create(b, loc,
                                                 linalg::MatmulOp::create(
                                                     b, loc, zeros.getType(),
                                                     ValueRange{p, value},
                                                     zeros)
                                                     .getResult(0));
                          },
                          [&](OpBuilder &, Location) {
                            scf::YieldOp::create(
                                b, loc, emitExactSums(p, s, value, start()));
                          })
                          .getResult(0);
                  return SmallVector<Value>{
                      insert(sums, outputs[0],
                             {{c, b.getIndexAttr(0), b.getIndexAttr(0)},
                              {b.getIndexAttr(1), b.getIndexAttr(tileRows),
                               b.getIndexAttr(size)}})};
                })
        .front();
  }

  /// T5: whatever a hidden value row holds.
  Value emitExactSums(Value weights, Value scores, Value value, Value sums) {
    AffineExpr r, j, d;
    bindDims(b.getContext(), r, j, d);
    SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
        {ArrayRef<AffineExpr>{r, j}, {r, j}, {j, d}, {r, d}}, b.getContext());
    return linalg::GenericOp::create(
               b, loc, sums.getType(), ValueRange{scores, weights, value}, sums,
               maps,
               {utils::IteratorType::parallel, utils::IteratorType::reduction,
                utils::IteratorType::parallel},
               [&](OpBuilder &, Location, ValueRange x) {
                 Value sum = arith::AddFOp::create(
                     b, loc, x[3], arith::MulFOp::create(b, loc, x[1], x[2]));
                 linalg::YieldOp::create(b, loc, select(x[0], x[3], sum));
               })
        .getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Panels
  //===--------------------------------------------------------------------===//

  Value panelLike(const Tile &tile) {
    return empty(
        {b.getIndexAttr(heads), b.getIndexAttr(rows), OpFoldResult(tile.width)},
        f32);
  }
  Value extractBox(Value panel, const Box &box, ArrayRef<int64_t> shape) {
    SmallVector<OpFoldResult> strides(box.sizes.size(), b.getIndexAttr(1));
    return tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(shape, f32), panel, box.offsets,
        box.sizes, strides);
  }
  /// (rows, width) of one head.
  Value extractMatrix(const Tile &tile, Value panel, Value head,
                      OpFoldResult row, OpFoldResult column) {
    return extractBox(panel,
                      {{head, row, column},
                       {b.getIndexAttr(1), b.getIndexAttr(rows), tile.width}},
                      {rows, ShapedType::kDynamic});
  }
  Value matrixOf(const Tile &tile, Value panel, Value head) {
    return extractMatrix(tile, panel, head, b.getIndexAttr(0),
                         b.getIndexAttr(0));
  }
  Value insertMatrix(const Tile &tile, Value matrix, Value panel, Value head) {
    return insert(matrix, panel,
                  {{head, b.getIndexAttr(0), b.getIndexAttr(0)},
                   {b.getIndexAttr(1), b.getIndexAttr(rows), tile.width}});
  }
  Value extractRows(Value source, Value batch, Value head, Value row,
                    Value count) {
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<OpFoldResult> offsets = {batch, head, row, b.getIndexAttr(0)},
                              sizes = {b.getIndexAttr(1), b.getIndexAttr(1),
                                       count,
                                       b.getIndexAttr(type.getDimSize(3))},
                              strides(4, b.getIndexAttr(1));
    return tensor::ExtractSliceOp::create(
        b, loc,
        RankedTensorType::get({ShapedType::kDynamic, type.getDimSize(3)},
                              type.getElementType()),
        source, offsets, sizes, strides);
  }
  void insertParallel(scf::ForallOp loop, Value source, Value destination,
                      SmallVector<OpFoldResult> offsets,
                      SmallVector<OpFoldResult> sizes) {
    // The rows that there are.
    SmallVector<OpFoldResult> partOffsets(sizes.size() - 1, b.getIndexAttr(0)),
        partSizes(llvm::drop_begin(sizes)),
        ones(sizes.size(), b.getIndexAttr(1));
    Value part = extract(source, {partOffsets, partSizes});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(b, loc, part, destination, offsets,
                                          sizes, ones);
  }

  Value emitKeyHead(Value head) { // A3
    return arith::DivUIOp::create(b, loc, head, index(op.getGroupSize()));
  }
  /// `hidden` where `score` is -inf.
  Value select(Value score, Value hidden, Value otherwise) {
    return arith::SelectOp::create(b, loc, isEqual(score, minusInfinity()),
                                   hidden, otherwise);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  }
  Value emitConverted(Value tensor, FloatType type) {
    if (cast<ShapedType>(tensor.getType()).getElementType() == type)
      return tensor;
    return map(tensor, empty(tensor::getMixedSizes(b, loc, tensor), type),
               [&](ValueRange x) { return convert(x[0], type); });
  }

  MultiTokenAttentionOp op;
  Stages before, after;
  FloatType f32;
  int64_t heads; ///< That are mixed with each other.
  int64_t tileRows;
  int64_t halo; ///< Rows before those of the output that they depend on.
  int64_t rows; ///< Of a panel.
  Value zero, scale, numKeys, numQueries;
};

struct MultiTokenToPanels
    : attn::impl::MultiTokenToPanelsBase<MultiTokenToPanels> {
  using MultiTokenToPanelsBase::MultiTokenToPanelsBase;

  void runOnOperation() override {
    if (tileRows < 1) {
      getOperation()->emitError("expected tiles of at least 1 row, got ")
          << int64_t(tileRows);
      return signalPassFailure();
    }
    SmallVector<MultiTokenAttentionOp> ops;
    getOperation()->walk([&](MultiTokenAttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (MultiTokenAttentionOp op : ops) {
      if (StringRef obstacle = findObstacle(op); !obstacle.empty()) {
        op.emitRemark() << "is lowered by the reference path, because "
                        << obstacle;
        continue;
      }
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, PanelLowering(op, rewriter, tileRows).emit());
    }
  }
};

} // namespace
