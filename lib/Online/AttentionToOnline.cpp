//===- AttentionToOnline.cpp - A tile of queries to its online form -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   query (n, Dk)  --scale, pad with 0-->  (L, Dk)  --transpose-->  (Dk, L)
//   in pairs:      --pad with 0-->  (L, Dk/2, 2)  --transpose-->  (Dk/2, L, 2)
//   for matrix units:  --pad with 0-->  (L, Dk)
//   attn.online_attention over all keys, from an empty state or the sink
//   O (Dv, L)  --divide by l, transposed-->  (L, Dv)  --first n rows-->  output
//
// n is the dynamic number of queries of a ragged tile, at most L.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/KnownSizes.h"
#include "lib/Online/OnlineQuery.h"
#include "lib/Online/OnlineTensors.h"
#include "lib/Online/Passes.h"
#include "lib/Online/SharedOperands.h"
#include "lib/Online/TilePrefetch.h"
#include "lib/Online/VisibleRange.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTENTIONTOONLINE
#include "lib/Online/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Emits the online form of one op.
class OnlineForm : OnlineTensors {
public:
  OnlineForm(AttentionOp op, OpBuilder &builder, OnlineLayout layout,
             int64_t numRows, int64_t lanes, SharedOperands &shared)
      : OnlineTensors(builder, op), layout(layout),
        inRows(layout == OnlineLayout::Rows || layout == OnlineLayout::Mma),
        numRows(layout == OnlineLayout::Rows ? numRows : lanes), lanes(lanes),
        shared(shared) {}

  SmallVector<Value> emit() {
    auto online = emitOnline();
    SmallVector<Value> results = {
        emitOutput(online.getResult(0), online.getResult(2))};
    if (op.getLogSumExp())
      results.push_back(
          emitLogSumExp(online.getResult(1), online.getResult(2)));
    return results;
  }

  OnlineAttentionOp emitOnline() {
    rows = b.size(op.getQuery(), 2);
    Value query = emitOnlineQuery(b, op, layout, numRows, rows);
    Value key = slice(op.getKey());
    Value value = slice(op.getValue());
    SmallVector<Value> state = emitInitialState();
    Value zero = b.index(0);
    Value exact = arith::ConstantOp::create(b, b.getBoolAttr(false));
    auto online = OnlineAttentionOp::create(
        b, TypeRange(state), query, key, value, /*key_scales=*/Value(),
        /*value_scales=*/Value(), state,
        /*batch=*/zero, /*head=*/zero, emitPosition(), /*first_key=*/zero,
        b.index(rows), exact,
        /*first=*/Value(), scalesQuery(op, layout) ? Value() : emitScale(),
        op.getDropoutSeed(), op.getDropoutCall(), emitDropoutLine(),
        emitDropoutKey(), /*delayed_values=*/Value(), /*delayed_only=*/Value(),
        op.getScoreCaptures(), op.getMaskCaptures(), layout,
        /*packed_values=*/false, /*keeps_packs=*/false, /*in_pages=*/false,
        /*bounded=*/false,
        /*rounded=*/layout == OnlineLayout::Pairs && !op.getLogSumExp(),
        /*next_tile=*/0, op.getDropoutRateAttr());
    if (PlanAttr plan = getPlan(op))
      online->setAttr(PlanAttr::kName, plan);
    if (layout != OnlineLayout::Mma)
      online.setNextTile(getTileStep(op));
    online.getScoreRegion().takeBody(op.getScore());
    online.getMaskRegion().takeBody(op.getMask());
    if (layout == OnlineLayout::Pairs)
      placePacks(online);
    return online;
  }

private:
  /// Has the values of a tile in pairs packed where the plan says.
  void placePacks(OnlineAttentionOp online) {
    Packs packs = *getPlan(op).getPacks();
    online.setKeepsPacks(packs == Packs::Kept);
    if (packs != Packs::Shared)
      return;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(online);
    Operation *rows = online.getValue().getDefiningOp();
    online.getValueMutable().assign(shared.getPacks(b, op.getValue()));
    online.setPackedValues(true);
    rows->erase();
  }

  /// Accumulator, maximum and sum of no key, or of the sink (A6). That of NaN
  /// is none, so that rows without a key stay empty (A14); in others, it counts
  /// at the end.
  SmallVector<Value> emitInitialState() {
    int64_t valueSize = op.getValueType().getDimSize(3);
    Value accumulator =
        inRows ? empty({numRows, valueSize}) : empty({valueSize, lanes});
    SmallVector<Value> state = {b.fill(accumulator, 0.0)};
    if (!op.getSink()) {
      state.push_back(b.fill(empty({lanes}), -kInfinity));
      state.push_back(b.fill(empty({lanes}), 0.0));
      return state;
    }
    if (cast<RankedTensorType>(op.getSink().getType()).getRank() == 2) {
      Value sinks = emitRowSinks();
      for (auto emit : {&OnlineForm::emitSinkMaximum, &OnlineForm::emitSinkSum})
        state.push_back(
            map({sinks}, empty({lanes}), {identity(1)},
                [&](ValueRange sink) { return (this->*emit)(sink[0]); }));
      sinkFactors =
          map({sinks}, empty({lanes}), {identity(1)},
              [&](ValueRange sink) { return emitSinkFactor(sink[0]); });
      return state;
    }
    Value sink = b.convert(b.load(op.getSink(), b.index(0)), type);
    state.push_back(b.fill(empty({lanes}), emitSinkMaximum(sink)));
    state.push_back(b.fill(empty({lanes}), emitSinkSum(sink)));
    sinkFactors = b.fill(empty({lanes}), emitSinkFactor(sink));
    return state;
  }

  /// Maximum and sum of the softmax with nothing but a sink.
  Value emitSinkMaximum(Value sink) {
    return b.select(isNoSink(sink), real(-kInfinity), sink);
  }
  Value emitSinkSum(Value sink) {
    return b.select(isNoSink(sink), real(0.0), real(1.0));
  }
  Value isNoSink(Value sink) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::ULE, sink,
                                 real(-kInfinity));
  }
  /// NaN where the sink is, else 1.
  Value emitSinkFactor(Value sink) {
    Value isNaN =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, sink, sink);
    return b.select(isNaN, sink, real(1.0));
  }

  /// The sinks of rows, none in lanes without a row.
  Value emitRowSinks() {
    Value source = b.slice(op.getSink(), b.zeros(2), {b.getIndexAttr(1), rows},
                           /*rank=*/1);
    Value all = b.fill(empty({lanes}), -kInfinity);
    Value part = b.extract(all, {{0}, {rows}});
    part = map({source}, part, {identity(1)},
               [&](ValueRange sink) { return b.convert(sink[0], type); });
    return b.insert(part, all, {{0}, {rows}});
  }

  /// That of the only batch entry and head, A8; null without dropout.
  Value emitDropoutLine() {
    if (!op.hasDropout() || op.getDropoutLine())
      return op.getDropoutLine();
    return b.index(0);
  }
  /// Of key 0 in what this is a part of; null if it is none.
  Value emitDropoutKey() {
    if (!op.getDropoutKey())
      return {};
    return op.createDropoutKey(b, b.index(0), b.index(0));
  }

  /// Position of the first query, A5.
  Value emitPosition() {
    Value queries = b.index(rows), keys = b.dim(op.getKey(), 2);
    return op.createFirstPosition(b, b.index(0), queries, keys);
  }

  /// `O / l`, 0 for an empty row (A14), as rows of the output.
  Value emitOutput(Value accumulator, Value sum) {
    auto type = cast<RankedTensorType>(accumulator.getType());
    int64_t size = type.getDimSize(inRows ? 1 : 0);
    Value inverse = mapLanes({sum}, [&](ValueRange arguments, Value factor) {
      Value isEmpty = b.isEqualF(arguments[0], real(0.0));
      Value quotient = b.divF(factor ? factor : real(1.0), arguments[0]);
      return b.select(isEmpty, real(0.0), quotient);
    });
    if (inRows)
      inverse =
          b.slice(inverse, b.zeros(1), OpFoldResult(b.getIndexAttr(numRows)));
    // Transposed, divided and narrowed in one pass.
    AffineExpr q = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
    AffineMap columns = AffineMap::get(2, 0, {d, q}, b.getContext());
    Value init = b.empty({numRows, size}, op.getElementType());
    Value outputs =
        map({accumulator, inverse}, init,
            {inRows ? identity(2) : columns, AffineMap::get(2, 0, q)},
            [&](ValueRange arguments) {
              Value output = b.mulF(arguments[0], arguments[1]);
              return b.convert(output, op.getElementType());
            });
    return insert(outputs, op.getOutput(), {rows, b.getIndexAttr(size)});
  }

  /// `m + log(l)`, and +inf where m is, which l need not be a number of (A16).
  Value emitLogSumExp(Value maximum, Value sum) {
    Value all = mapLanes(
        {maximum, sum}, [&](ValueRange arguments, Value factor) -> Value {
          Value m = arguments[0];
          Value log = b.log(arguments[1]);
          Value lse =
              b.select(b.isEqualF(m, real(kInfinity)), m, b.addF(m, log));
          return factor ? b.mulF(lse, factor) : lse;
        });
    return insert(all, op.getLogSumExp(), {rows});
  }

  /// Of states, and the factor of the sink if there is one.
  Value mapLanes(ArrayRef<Value> states,
                 function_ref<Value(ValueRange, Value)> body) {
    SmallVector<Value> inputs(states);
    if (sinkFactors)
      inputs.push_back(sinkFactors);
    return map(inputs, empty({lanes}),
               SmallVector<AffineMap>(inputs.size(), identity(1)),
               [&](ValueRange arguments) {
                 return body(arguments.take_front(states.size()),
                             sinkFactors ? arguments[states.size()] : Value());
               });
  }

  /// Writes the first rows of `source` as the only batch entry and head of
  /// `destination`.
  Value insert(Value source, Value destination, ArrayRef<OpFoldResult> sizes) {
    Value part = b.slice(source, b.zeros(sizes.size()), sizes);
    SmallVector<OpFoldResult> extent = b.ones(2);
    llvm::append_range(extent, sizes);
    return b.insert(part, destination, b.zeros(extent.size()), extent);
  }

  OnlineLayout layout;
  bool inRows;     ///< O has a row for each query.
  int64_t numRows; ///< Of the online form, at least as many as queries.
  int64_t lanes;
  SharedOperands &shared;
  OpFoldResult rows; ///< Number of queries, n.
  Value sinkFactors; ///< Of the lanes; null without a sink.
};

} // namespace

/// Replaces the attention of a tile of queries of one head by its online form,
/// in the layout that its plan says, with packs of values from `shared`. Fails,
/// without a change, if it has no plan or is no such tile.
static LogicalResult convertAttentionToOnline(RewriterBase &rewriter,
                                              AttentionOp op,
                                              SharedOperands &shared) {
  PlanAttr plan = getPlan(op);
  if (!plan || !plan.getLayout() || plan.getLanes() == 0)
    return rewriter.notifyMatchFailure(op, "without a plan");
  ShapedType query = op.getQueryType();
  if (op.isRagged() || !findObstacle(op).empty() || query.getDimSize(0) != 1 ||
      query.getDimSize(1) != 1)
    return rewriter.notifyMatchFailure(op, "not one head of one sequence");
  std::optional<int64_t> bound = getKnownMost(op.getQuery(), 2);
  if (!bound || *bound > plan.getRows())
    return rewriter.notifyMatchFailure(op, "too many queries for one tile");
  int64_t numRows = std::max<int64_t>(1, *bound),
          lanes = llvm::alignTo(
              numRows, plan.getWarpgroups() ? kFewRows : plan.getLanes());
  rewriter.setInsertionPoint(op);
  OnlineLayout layout = *plan.getLayout();
  if (layout != OnlineLayout::Mma)
    emitNextRows(rewriter, op);
  rewriter.replaceOp(
      op, OnlineForm(op, rewriter, layout, numRows, lanes, shared).emit());
  return success();
}

OnlineAttentionOp attn::emitOnlineInMatrices(OpBuilder &b, AttentionOp op,
                                             int64_t lanes) {
  SharedOperands shared;
  return OnlineForm(op, b, OnlineLayout::Mma, lanes, lanes, shared)
      .emitOnline();
}

namespace {
struct AttentionToOnline
    : attn::impl::AttentionToOnlineBase<AttentionToOnline> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    SharedOperands shared;
    for (AttentionOp op : ops) {
      PlanAttr plan = getPlan(op);
      if (plan && findObstacle(op).empty() &&
          plan.getHeadSize() != op.getQueryType().getDimSize(3)) {
        op.emitError("expected rows of ")
            << plan.getHeadSize() << " elements, as its attn.plan says, got "
            << op.getQueryType().getDimSize(3) << ": attn-pad-heads makes them";
        return signalPassFailure();
      }
      if (plan && plan.getLayout() == OnlineLayout::Pairs && !plan.getPacks()) {
        op.emitError("expected an attn.plan with 'packs' for 'pairs', as "
                     "attn-plan attaches");
        return signalPassFailure();
      }
      (void)convertAttentionToOnline(rewriter, op, shared);
    }
  }
};
} // namespace
