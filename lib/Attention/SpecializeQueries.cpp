//===- SpecializeQueries.cpp - Forms for few queries ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Plan/QueryRange.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/KnownSizes.h"
#include "lib/Attention/AttentionTile.h"
#include "lib/Attention/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SPECIALIZEQUERIES
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The first rows of a tensor `(B, Hq, Sq, ...)`.
struct FirstRows {
  FirstRows(IndexBuilder &b, Value tensor, OpFoldResult count)
      : b(b), sizes(b.sizes(tensor)), offsets(b.zeros(sizes.size())) {
    sizes[2] = count;
  }
  Value extract(Value tensor) const { return b.slice(tensor, offsets, sizes); }
  Value insert(Value rows, Value tensor) const {
    return b.insert(rows, tensor, offsets, sizes);
  }
  Value view(Value buffer) const {
    return memref::SubViewOp::create(b, buffer, offsets, sizes,
                                     b.ones(sizes.size()));
  }

  IndexBuilder &b;
  SmallVector<OpFoldResult> sizes, offsets;
};

/// Where the results of an op, whose forms are in branches, are written to.
class ResultWrites {
public:
  using Write = bufferization::MaterializeInDestinationOp;

  explicit ResultWrites(ResultRange results) : results(results) {
    for (Value result : results)
      writes.push_back(getOnlyWrite(result));
  }

  /// Where each result is written to, if that is all it is used for and nothing
  /// reads what was there before; or null. That is done in the branches:
  /// upstream's elimination of empty tensors follows the results of a condition
  /// into one of them only.
  MutableArrayRef<Write> get() { return writes; }

  static void emit(OpBuilder &b, Write write, Value source, Value dest) {
    auto copy = cast<Write>(b.clone(*write));
    copy.getSourceMutable().assign(source);
    copy.getDestMutable().assign(dest);
  }
  /// Writes those results of a form that are, and returns the others.
  SmallVector<Value> emitWhole(OpBuilder &b, ValueRange ofForm) {
    SmallVector<Value> used;
    for (auto [result, write] : llvm::zip(ofForm, writes))
      if (write)
        emit(b, write, result, write.getDest());
      else
        used.push_back(result);
    return used;
  }
  /// Replaces the results that are not written by `used`.
  void replace(RewriterBase &rewriter, ArrayRef<Value> used) {
    const auto *next = used.begin();
    for (auto [result, write] : llvm::zip(results, writes))
      if (write)
        rewriter.eraseOp(write);
      else
        rewriter.replaceAllUsesWith(result, *next++);
  }

private:
  static Write getOnlyWrite(Value result) {
    if (!result.hasOneUse())
      return nullptr;
    auto write = dyn_cast<Write>(*result.user_begin());
    if (!write || !isa<MemRefType>(write.getDest().getType()) ||
        !DominanceInfo().properlyDominates(write.getDest(),
                                           result.getDefiningOp()))
      return nullptr;
    bool isRead = llvm::any_of(write.getDest().getUsers(),
                               llvm::IsaPred<bufferization::ToTensorOp>);
    return isRead ? nullptr : write;
  }

  ResultRange results;
  SmallVector<Write> writes;
};

/// Emits one of `forms`, for as many queries at most, in ascending order: the
/// first one that has room for `length` queries. That of many, `kDynamic`, is
/// for none as well. Returns what `emitForm` does.
SmallVector<Value>
emitChoice(IndexBuilder &b, Value length, ArrayRef<int64_t> forms,
           function_ref<SmallVector<Value>(int64_t)> emitForm) {
  int64_t most = forms.front();
  if (forms.size() == 1)
    return emitForm(most);
  // That of no queries wraps around.
  Value one = b.index(1), bound = b.index(most);
  Value isFew =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                            arith::SubIOp::create(b, length, one), bound);
  auto yield = [&](ArrayRef<int64_t> ofBranch) {
    return [&b, length, ofBranch, emitForm](OpBuilder &, Location) {
      scf::YieldOp::create(b, emitChoice(b, length, ofBranch, emitForm));
    };
  };
  return scf::IfOp::create(b, isFew, yield(forms.take_front()),
                           yield(forms.drop_front()))
      .getResults();
}

/// Emits the branches of one op, and of the attn.merge that alone reads its
/// results, if there is one.
class QueryBranches {
public:
  QueryBranches(RewriterBase &rewriter, AttentionOp op, MergeOp merge)
      : b(op.getLoc(), rewriter), op(op), merge(merge),
        writes(merge ? merge->getResults() : op->getResults()) {}

  /// Replaces what is used of the results by that of one of `forms`.
  void emit(RewriterBase &rewriter, Value length, ArrayRef<int64_t> forms) {
    writes.replace(rewriter, emitChoice(b, length, forms, [&](int64_t most) {
                     if (!ShapedType::isDynamic(most))
                       return emitFew(length, most);
                     return writes.emitWhole(
                         b, emitForm([](Value tensor) { return tensor; }));
                   }));
  }

private:
  /// The form of at most `most` queries: their number is the size of a slice,
  /// so that every pass after this one knows its bound.
  SmallVector<Value> emitFew(Value length, int64_t most) {
    OpFoldResult count = b.getIndexAttr(most);
    if (most > 1)
      count = b.minimum(
          {b.getAffineSymbolExpr(0), b.getAffineConstantExpr(most)}, {length});
    SmallVector<FirstRows> rows;
    // One slice of what is read and written.
    IRMapping slices;
    for (auto [out, write] : llvm::zip(getOuts(), writes.get())) {
      FirstRows &first = rows.emplace_back(b, out, count);
      // Of a destination that nothing else is about, only the rows.
      slices.map(out, write && out.getDefiningOp<tensor::EmptyOp>()
                          ? b.empty(first.sizes, getElementTypeOrSelf(out))
                          : first.extract(out));
    }
    ResultRange results = emitForm([&](Value tensor) {
      if (!slices.contains(tensor))
        slices.map(tensor, FirstRows(b, tensor, count).extract(tensor));
      return slices.lookup(tensor);
    });
    SmallVector<Value> used;
    for (auto [result, first, write, init] :
         llvm::zip(results, rows, writes.get(), getOuts())) {
      if (write)
        ResultWrites::emit(b, write, result, first.view(write.getDest()));
      else
        used.push_back(first.insert(result, init));
    }
    return used;
  }

  OperandRange getOuts() { return merge ? merge.getOuts() : op.getOuts(); }

  /// The op, and what merges it, on the rows that `rowsOf` takes of a tensor.
  ResultRange emitForm(function_ref<Value(Value)> rowsOf) {
    auto takeRows = [&](OpOperand &operand) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(operand.getOwner());
      operand.set(rowsOf(operand.get()));
    };
    auto setTypes = [](DestinationStyleOpInterface form) {
      for (auto [result, init] :
           llvm::zip(form->getResults(), form.getDpsInits()))
        result.setType(init.getType());
    };
    auto form = cast<AttentionOp>(b.clone(*op));
    form->removeAttr(QueryRange::kName);
    takeRows(form.getQueryMutable());
    llvm::for_each(form.getOutsMutable(), takeRows);
    setTypes(form);
    if (!merge)
      return form->getResults();
    IRMapping parts;
    parts.map(op->getResults(), form->getResults());
    auto merged = cast<MergeOp>(b.clone(*merge, parts));
    takeRows(merged.getOutput1Mutable());
    takeRows(merged.getLse1Mutable());
    llvm::for_each(merged.getOutsMutable(), takeRows);
    setTypes(merged);
    return merged->getResults();
  }

  IndexBuilder b;
  AttentionOp op;
  MergeOp merge;
  ResultWrites writes;
};

} // namespace

/// The forms of an op: those of few queries, and that of many; of these, what
/// the op's calls need.
static SmallVector<int64_t> selectForms(Operation *op, ArrayRef<int64_t> few) {
  SmallVector<int64_t> forms(few);
  forms.push_back(ShapedType::kDynamic);
  std::optional<QueryRange> range = QueryRange::get(op);
  if (!range)
    return forms;
  auto isFew = [](int64_t form) { return !ShapedType::isDynamic(form); };
  llvm::erase_if(
      forms, [&](int64_t form) { return isFew(form) && form < range->least; });
  auto *last = llvm::find_if(
      forms, [&](int64_t form) { return !isFew(form) || form >= range->most; });
  forms.erase(std::next(last), forms.end());
  return forms;
}

static SmallVector<int64_t> findForms(AttentionOp op, Device device) {
  return selectForms(op, planFewQueries(op, device));
}

/// Makes of an op on a dynamic number of queries its forms, and conditions that
/// choose.
static LogicalResult specializeQueries(RewriterBase &rewriter, AttentionOp op,
                                       Device device) {
  if (op.isRagged() || !findObstacle(op).empty())
    return rewriter.notifyMatchFailure(op, "is lowered by the reference path");
  if (!op.getQueryType().isDynamicDim(2))
    return rewriter.notifyMatchFailure(op, "its number of queries is known");
  SmallVector<int64_t> forms = findForms(op, device);
  rewriter.setInsertionPoint(op);
  Value length =
      rewriter.createOrFold<tensor::DimOp>(op.getLoc(), op.getQuery(), 2);
  MergeOp merge = device == Device::CPU ? getFusableMerge(op) : MergeOp();
  QueryBranches(rewriter, op, merge).emit(rewriter, length, forms);
  if (merge)
    rewriter.eraseOp(merge);
  rewriter.eraseOp(op);
  return success();
}

/// The same of multi-token attention, by the number of rows of its output. A
/// form has tiles of as many rows.
static void specializeRows(RewriterBase &rewriter, MultiTokenAttentionOp op) {
  if (op->getNumResults() == 0 ||
      !cast<ShapedType>(op.getOutput().getType()).isDynamicDim(2))
    return;
  rewriter.setInsertionPoint(op);
  IndexBuilder b(op.getLoc(), rewriter);
  ResultWrites writes(op->getResults());
  auto emitForm = [&](int64_t most) {
    Operation *form = b.clone(*op);
    form->removeAttr(QueryRange::kName);
    if (!ShapedType::isDynamic(most)) {
      PlanAttr said = getPlan(op);
      PlanFields fields = said ? said.getFields() : PlanFields();
      fields.rows = most;
      form->setAttr(PlanAttr::kName, PlanAttr::get(op.getContext(), fields));
    }
    return writes.emitWhole(b, form->getResults());
  };
  writes.replace(rewriter,
                 emitChoice(b, b.dim(op.getOutput(), 2),
                            selectForms(op, planFewQueries(op)), emitForm));
  rewriter.eraseOp(op);
}

/// What a plan says, if there is one, and the chunk: sequences are parallel,
/// and the keys of one are still read in chunks.
static PlanAttr withChunk(MLIRContext *context, PlanAttr said, int64_t chunk) {
  PlanFields fields = said ? said.getFields() : PlanFields();
  fields.chunk = chunk;
  return PlanAttr::get(context, fields);
}

/// Makes a ragged batch tiles of its sequences, in its forms for their numbers
/// of queries.
static LogicalResult specializeSequences(RewriterBase &rewriter,
                                         AttentionOp op) {
  FailureOr<PlanAttr> plan = planAttention(op, Device::CPU);
  if (failed(plan))
    return failure();
  PlanAttr said = getPlan(op);
  std::optional<int64_t> known = getKnownMost(op.getQuery(), 2);
  SmallVector<SequenceForm> forms;
  int64_t done = 0;
  for (int64_t most : findForms(op, Device::CPU)) {
    if (known && done >= *known) // No sequence has more.
      break;
    // One query more than the last number has fewer than this tile.
    if (ShapedType::isDynamic(most)) {
      forms.push_back({plan->getHeads(),
                       std::max<int64_t>(1, plan->getRows() / plan->getHeads()),
                       /*moreThan=*/done, /*atMost=*/std::nullopt, *plan,
                       /*fetchesNext=*/true});
      break;
    }
    FailureOr<PlanAttr> ofFew = planAttention(op, /*length=*/most);
    if (failed(ofFew))
      return failure();
    forms.push_back({ofFew->getHeads(), most, /*moreThan=*/done,
                     /*atMost=*/most,
                     withChunk(op.getContext(), said, ofFew->getChunk())});
    done = most;
  }
  return tileSequences(rewriter, op, forms);
}

namespace {
struct SpecializeQueries
    : attn::impl::SpecializeQueriesBase<SpecializeQueries> {
  using SpecializeQueriesBase::SpecializeQueriesBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    SmallVector<MultiTokenAttentionOp> ofTokens;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    getOperation()->walk(
        [&](MultiTokenAttentionOp op) { ofTokens.push_back(op); });
    Device device = workgroups ? Device::GPU : Device::CPU;
    for (AttentionOp op : ops) {
      if (device == Device::GPU || !op.isRagged() || !findObstacle(op).empty())
        (void)specializeQueries(rewriter, op, device);
      else if (failed(specializeSequences(rewriter, op)))
        return signalPassFailure();
    }
    if (device == Device::CPU)
      for (MultiTokenAttentionOp op : ofTokens)
        specializeRows(rewriter, op);
  }
};
} // namespace
