//===- AddRuntimeChecks.cpp - Check what no verifier can know -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Cache/CacheRows.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/RuntimeChecks.h"
#include "lib/Kernel/Passes.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ADDRUNTIMECHECKS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Reads of caches
//===----------------------------------------------------------------------===//

// The keys that the mask may keep at all are one range for each sequence and
// head, from the mask analysis. Where it reaches beyond the rows that are
// stored, the mask is evaluated there, position by position. With the masks
// that belong to a cache (causal, a sliding window, a padding of keys) it does
// not.

namespace {

using Describe = function_ref<std::string(Operation *, StringRef)>;

/// Emits the check of one attention and one read.
template <typename Op> class ReadCheck {
public:
  ReadCheck(OpBuilder &builder, Op op, CacheReadOp read, StringRef operand,
            Describe describe)
      : b(op.getLoc(), builder), op(op), read(read),
        message(describe(op, ("operand '" + operand +
                              "': the mask keeps a row that is absent from the "
                              "cache")
                                 .str())) {}

  void emit() {
    zero = b.index(0);
    one = b.index(1);
    Value numSequences = dim(read.getLengths(), 0);
    Value numRows = dim(op.getOutput(), 2);
    firstQuery = emitFirstQuery(numRows);
    // Without rows, no mask is asked.
    Value isEmpty = b.isEqual(numRows, zero);
    numSequences = b.select(isEmpty, zero, numSequences);
    // Heads differ only in masks that look at them.
    bool dependsOnHead =
        op.hasMask() && !op.getMask().getArgument(1).use_empty();
    Value numHeads = b.index(dependsOnHead ? op.getNumQueryHeads() : 1);
    b.loop(zero, numSequences, 1, [&](Value n) {
      numQueries = emitNumQueries(n);
      Value some = b.select(b.isEqual(numQueries, zero), zero, numHeads);
      b.loop(zero, some, 1, [&](Value head) { check(n, head); });
    });
  }

private:
  /// Whether sequences have parts of one key and value.
  bool arePackedKeys() {
    if constexpr (std::is_same_v<Op, AttentionOp>)
      return bool(op.getCumulativeKey());
    return false;
  }

  Value emitNumQueries(Value n) {
    if constexpr (std::is_same_v<Op, AttentionOp>)
      return op.createNumQueries(b, n);
    return dim(op.getQuery(), 2);
  }

  /// The first row of the query that some row of the output depends on.
  Value emitFirstQuery(Value numRows) {
    if constexpr (std::is_same_v<Op, MultiTokenAttentionOp>) { // T2
      Value past = b.sub(dim(op.getQuery(), 2), numRows);
      past = b.sub(past, op.getHalo());
      return b.max(past, zero);
    }
    return zero;
  }

  void check(Value n, Value head) {
    Value size = dim(read.getResult(), 2);
    auto [begin, end] = createStoredPositions(b, b.getLoc(), read, n);
    if (arePackedKeys()) { // Of the one cache, all rows have to be there.
      Value isAll = b.bitAnd(b.isEqual(begin, zero), b.isEqual(end, size));
      assertWithNumbers(b, b.getLoc(), isAll, message,
                        "of {2} rows, those from {0} to before {1} are there",
                        {begin, end, size});
      return;
    }
    Value first = op.createFirstPosition(b, n, numQueries, size);
    Value visibleBegin = zero, visibleEnd = size;
    if (op.hasMask()) {
      Value begin = b.add(first, firstQuery);
      Value last = b.add(first, numQueries);
      last = b.sub(last, one);
      VisibleKeys keys =
          emitVisibleKeys(b, b.getLoc(), op.getMask(), n, head, {begin, last},
                          size, op.getMaskCaptures());
      visibleBegin = keys.begin;
      visibleEnd = keys.end;
    }
    Value before = arith::MinUIOp::create(b, begin, visibleEnd);
    Value after = arith::MaxUIOp::create(b, end, visibleBegin);
    for (auto [from, to] :
         {std::pair(visibleBegin, before), std::pair(after, visibleEnd)})
      b.loop(from, to, 1, [&](Value key) {
        b.loop(firstQuery, numQueries, 1, [&](Value i) {
          Value position = b.add(first, i);
          assertWithNumbers(b, b.getLoc(), emitIsHidden(n, head, position, key),
                            message,
                            "key {3}, in batch entry {0}, query head {1}, "
                            "query position {2}",
                            {n, head, position, key});
        });
      });
  }

  /// A mask that is undefined is an error of the attention's own (A12).
  Value emitIsHidden(Value n, Value head, Value position, Value key) {
    if (!op.hasMask())
      return b.boolean(false);
    SmallVector<Value> arguments = {n, head, position, key};
    llvm::append_range(arguments, op.getMaskCaptures());
    RegionValue keep = evaluateRegion(b, op.getMask(), arguments);
    Value isHidden = arith::XOrIOp::create(b, keep.value, b.boolean(true));
    if (!keep.undefined)
      return isHidden;
    return b.bitOr(isHidden, keep.undefined);
  }

  Value dim(Value tensor, int64_t dimension) {
    return createFirstDim(b, b.getLoc(), tensor, dimension);
  }

  IndexBuilder b;
  Op op;
  CacheReadOp read;
  std::string message;
  Value zero, one, numQueries, firstQuery;
};

} // namespace

template <typename Op>
static void checkReads(OpBuilder &builder, Op op, Describe describe) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, op);
  CacheReadOp key = getCacheRead(op.getKey());
  CacheReadOp value = getCacheRead(op.getValue());
  if (key)
    ReadCheck(builder, op, key, "key", describe).emit();
  // The same rows are absent from both, as a rule.
  auto isSame = [&] {
    return key && key.getLengths() == value.getLengths() &&
           key.getRing() == value.getRing() &&
           (!key.getRing() || key.getCacheType().getDimSize(2) ==
                                  value.getCacheType().getDimSize(2)) &&
           !(key.getRing() && key.getCacheType().isDynamicDim(2));
  };
  if (value && !isSame())
    ReadCheck(builder, op, value, "value", describe).emit();
}

/// Emits a check that the mask of an attention keeps no absent row of a cache
/// that its key or value reads (C12). Nothing if they read none, and for other
/// ops.
static void checkCacheReads(OpBuilder &builder, Operation *op,
                            Describe describe) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    checkReads(builder, attention, describe);
  else if (auto attention = dyn_cast<MultiTokenAttentionOp>(op))
    checkReads(builder, attention, describe);
}

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

/// Emits checks that sequences of an attention have at most `most` rows.
static void checkLengths(OpBuilder &builder, Operation *op, int64_t most,
                         Describe describe) {
  auto attention = dyn_cast<AttentionOp>(op);
  if (!attention)
    return;
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, attention);
  Location loc = op->getLoc();
  for (auto [operand, name, meaning] :
       {std::tuple(Value(attention.getQuery()), "query", "query length"),
        std::tuple(Value(attention.getKey()), "key", "key/value length"),
        std::tuple(Value(attention.getValue()), "value", "key/value length"),
        std::tuple(Value(attention.getOuts().front()), "output",
                   "query length")}) {
    Value size = createFirstDim(builder, loc, operand, 2);
    if (auto known = getConstantIntValue(size); known && *known <= most)
      continue;
    Value bound = arith::ConstantIndexOp::create(builder, loc, most);
    std::string message =
        llvm::formatv("{0}: dimension 2 ({1}) is more than {2}",
                      describeOperand(operand, name), meaning, most);
    assertWithNumbers(
        builder, loc,
        createCompare(builder, loc, arith::CmpIPredicate::ule, size, bound),
        describe(op, message), "got {0}", {size});
  }
}

//===----------------------------------------------------------------------===//
// All checks
//===----------------------------------------------------------------------===//

static std::string describe(Operation *op, StringRef what) {
  return ("'" + op->getName().getStringRef() + "' op " + what).str();
}

/// Moves integers up to where all that they are computed from is known: checks
/// of them can then come before everything that is written.
static void hoistIntegers(Operation *root) {
  root->walk([](Operation *op) {
    bool isInteger = llvm::all_of(
        op->getResultTypes(), [](Type type) { return type.isIntOrIndex(); });
    if (!isInteger || op->getNumResults() == 0 || op->getNumRegions() != 0 ||
        !isPure(op))
      return;
    Block *block = op->getBlock();
    Operation *last = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && source->getBlock() == block)
        if (!last || last->isBeforeInBlock(source))
          last = source;
    if (last)
      op->moveAfter(last);
    else
      op->moveBefore(block, block->begin());
  });
}

/// Keeps a step that passes fold to a constant positive.
static void limitStep(OpBuilder &builder, Location loc, OpOperand &step,
                      bool isUnsigned) {
  Value value = step.get();
  if (getConstantIntValue(value))
    return;
  Value one = arith::ConstantOp::create(builder, loc,
                                        builder.getOneAttr(value.getType()));
  if (isUnsigned)
    step.set(arith::MaxUIOp::create(builder, loc, value, one));
  else
    step.set(arith::MaxSIOp::create(builder, loc, value, one));
}

/// Keeps an index that passes fold to a constant inside the rank.
static void limitIndex(OpBuilder &builder, tensor::DimOp dim) {
  auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
  if (!type || dim.getConstantIndex())
    return;
  Location loc = dim.getLoc();
  Value last = arith::ConstantIndexOp::create(builder, loc, type.getRank() - 1);
  dim.getIndexMutable().assign(
      arith::MinUIOp::create(builder, loc, dim.getIndex(), last));
}

/// Brings operands that have been checked into their range: analyses of later
/// passes do not check again.
static void limitOperands(OpBuilder &builder, Operation *op) {
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    limitIndex(builder, dim);
  else if (auto loop = dyn_cast<scf::ForOp>(op))
    limitStep(builder, op->getLoc(), loop.getStepMutable(),
              loop.getUnsignedCmp());
  else if (auto loop = dyn_cast<scf::ParallelOp>(op))
    for (OpOperand &step : loop.getStepMutable())
      limitStep(builder, op->getLoc(), step, /*isUnsigned=*/false);
}

/// Inserts `cf.assert` before every operation in `root` that is undefined for
/// some values of its operands.
static void addRuntimeChecks(Operation *root, bool onlyRead, int64_t mostRows) {
  hoistIntegers(root);
  // Collected first: the checks themselves are not to be checked.
  SmallVector<RuntimeVerifiableOpInterface> verifiable;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Buffers of results are cast to sizes that whoever calls has checked.
    if (isa_and_nonnull<memref::MemRefDialect>(op->getDialect()))
      return WalkResult::advance();
    if (auto interface = dyn_cast<RuntimeVerifiableOpInterface>(op))
      verifiable.push_back(interface);
    // In the regions of attn ops, the lowering decides where a value counts.
    return isa_and_nonnull<AttnDialect>(op->getDialect())
               ? WalkResult::skip()
               : WalkResult::advance();
  });
  // The last ones first: checks that move to one place stand in the order of
  // their ops.
  for (RuntimeVerifiableOpInterface op : llvm::reverse(verifiable)) {
    OpBuilder builder(op);
    checkCacheReads(builder, op, describe);
    if (mostRows != 0)
      checkLengths(builder, op, mostRows, describe);
    if (onlyRead)
      op->setAttr(kChecksOnlyReadAttr, builder.getUnitAttr());
    op.generateRuntimeVerification(builder, op.getLoc(), describe);
    op->removeAttr(kChecksOnlyReadAttr);
    limitOperands(builder, op);
  }
}

namespace {
struct AddRuntimeChecks : attn::impl::AddRuntimeChecksBase<AddRuntimeChecks> {
  using AddRuntimeChecksBase::AddRuntimeChecksBase;
  void runOnOperation() override {
    addRuntimeChecks(getOperation(), onlyRead, mostRows);
  }
};
} // namespace
