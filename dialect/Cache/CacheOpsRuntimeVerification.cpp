//===- CacheOpsRuntimeVerification.cpp - Ops of the cache: checks -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the verifier cannot see of a cache: what is in lengths, counts and
// tables. Nothing of a page that a sequence does not use is read.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the checks of one op.
struct CacheChecks {
  OpBuilder &b;
  Location loc;
  Operation *op;
  DescribeCheck describe;

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value dim(Value shaped, int64_t dimension) {
    return createFirstDim(b, loc, shaped, dimension);
  }
  /// An element of a tensor of integers, as an index.
  Value load(Value shaped, ValueRange indices) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                      createLoad(b, loc, shaped, indices));
  }
  Value add(Value lhs, Value rhs) {
    return b.createOrFold<arith::AddIOp>(loc, lhs, rhs);
  }
  Value isAtMost(Value lhs, Value rhs) {
    return createCompare(b, loc, arith::CmpIPredicate::ule, lhs, rhs);
  }
  Value isBelow(Value lhs, Value rhs) {
    return createCompare(b, loc, arith::CmpIPredicate::ult, lhs, rhs);
  }
  /// `text` says more, with `numbers` for {0}, {1} and so on.
  void require(Value condition, const Twine &message, StringRef text,
               ArrayRef<Value> numbers) {
    assertWithNumbers(b, loc, condition, describe(op, message.str()), text,
                      numbers);
  }

  /// `for i in [begin, end)` that carries values along.
  SmallVector<Value>
  loop(Value begin, Value end, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto forOp = scf::ForOp::create(
        b, loc, begin, end, index(1), initial,
        [&](OpBuilder &inner, Location, Value i, ValueRange carried) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(inner.getInsertionBlock(),
                              inner.getInsertionPoint());
          SmallVector<Value> next = body(i, carried);
          scf::YieldOp::create(b, loc, next);
        });
    return SmallVector<Value>(forOp.getResults());
  }
  void loop(Value begin, Value end, function_ref<void(Value)> body) {
    loop(begin, end, ValueRange{}, [&](Value i, ValueRange) {
      body(i);
      return SmallVector<Value>();
    });
  }

  /// C6, C10.
  Value loadLength(Value lengths, Value n) {
    Value length = load(lengths, n);
    require(isAtMost(length, index(AttentionOp::kMaxOffset)),
            describeOperand(lengths, "lengths") +
                ": expected numbers from 0 to 2^61",
            "got {1} for sequence {0}", {n, length});
    return length;
  }
};

/// The pages of a paged cache.
struct PageChecks : CacheChecks {
  PageChecks(CacheChecks checks, Value cache, Value table)
      : CacheChecks(checks), table(table), numPages(dim(cache, 0)),
        pageSize(dim(cache, 2)), maxPages(dim(table, 1)) {
    // No page has rows if there are none to count by.
    divisor = arith::MaxUIOp::create(b, loc, pageSize, index(1));
  }

  /// The number of pages for the first `length` positions.
  Value countPages(Value length) {
    return arith::CeilDivUIOp::create(b, loc, length, divisor);
  }
  /// Checks that a sequence of this length has room in the table.
  void requireRoom(Value n, Value length, const Twine &message) {
    Value hasRows = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                          pageSize, index(0));
    Value isEmpty = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          length, index(0));
    Value fits = isAtMost(countPages(length), maxPages);
    require(arith::AndIOp::create(
                b, loc, arith::OrIOp::create(b, loc, hasRows, isEmpty), fits),
            message, "sequence {0} with {1} rows, in {2} pages of {3}",
            {n, length, maxPages, pageSize});
  }
  Value loadPage(Value n, Value k) { return load(table, {n, k}); }
  Value isPage(Value page) { return isBelow(page, numPages); }
  void requirePage(Value n, Value k, Value page, const Twine &message) {
    require(isPage(page), message, "[{0}, {1}] is {2}, of {3} pages",
            {n, k, page, numPages});
  }

  Value table, numPages, pageSize, maxPages, divisor;
};

/// How often each page stands in the used part of a table. What is no page is
/// counted after the last one.
struct PageUses : PageChecks {
  explicit PageUses(PageChecks checks) : PageChecks(checks) {
    Type i32 = b.getI32Type();
    Value size = add(numPages, index(1));
    zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
    if (isOnTensors()) {
      Value empty =
          tensor::EmptyOp::create(b, loc, ArrayRef<OpFoldResult>{size}, i32);
      uses = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
      return;
    }
    uses = memref::AllocOp::create(
        b, loc, MemRefType::get({ShapedType::kDynamic}, i32), size);
    linalg::FillOp::create(b, loc, zero, uses);
  }

  bool isOnTensors() { return isa<RankedTensorType>(table.getType()); }

  /// Counts the first `length` positions of each of the `count` sequences.
  void count(Value count, function_ref<Value(Value)> length) {
    SmallVector<Value> carried;
    if (isOnTensors())
      carried.push_back(uses);
    carried = loop(index(0), count, carried, [&](Value n, ValueRange carried) {
      return loop(index(0), countPages(length(n)), carried,
                  [&](Value k, ValueRange carried) {
                    return increment(loadPage(n, k), carried);
                  });
    });
    if (isOnTensors())
      uses = carried.front();
  }

  Value isUsedOnce(Value page) {
    return createCompare(b, loc, arith::CmpIPredicate::eq,
                         createLoad(b, loc, uses, page), one);
  }

  void free() {
    if (!isOnTensors())
      memref::DeallocOp::create(b, loc, uses);
  }

private:
  SmallVector<Value> increment(Value page, ValueRange carried) {
    Value slot = arith::SelectOp::create(b, loc, isPage(page), page, numPages);
    if (!isOnTensors()) {
      Value number = memref::LoadOp::create(b, loc, uses, slot);
      memref::StoreOp::create(
          b, loc, arith::AddIOp::create(b, loc, number, one), uses, slot);
      return {};
    }
    Value number = tensor::ExtractOp::create(b, loc, carried.front(), slot);
    return {tensor::InsertOp::create(b, loc,
                                     arith::AddIOp::create(b, loc, number, one),
                                     carried.front(), slot)};
  }

  Value uses, zero, one;
};

} // namespace

void CacheAppendOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> describe) {
  // C9
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder,
                   {getLengths(), getCounts(), getSequences(), getTable()},
                   {getRows(), getCache(), getScales()});

  checkSizes(builder, loc, *this, getSizeConstraints(), describe);
  CacheChecks checks{builder, loc, *this, describe};
  Value numSequences = checks.dim(getLengths(), 0);
  Value numRows = checks.dim(getRows(), 2),
        capacity = checks.dim(getCache(), 2);
  std::optional<PageChecks> pages;
  if (isPaged())
    pages.emplace(checks, getCache(), getTable());

  if (getSequences())
    checkCumulative(builder, loc, *this, getSequences(), "sequences", numRows,
                    "number of rows", describe);
  auto loadCount = [&](Value n) -> Value {
    if (getCounts())
      return checks.load(getCounts(), n);
    if (!getSequences())
      return numRows;
    Value next = checks.add(n, checks.index(1));
    return arith::SubIOp::create(builder, loc,
                                 checks.load(getSequences(), next),
                                 checks.load(getSequences(), n));
  };
  auto loadEnd = [&](Value n) {
    return checks.add(checks.load(getLengths(), n), loadCount(n));
  };
  checks.loop(checks.index(0), numSequences, [&](Value n) {
    Value length = checks.loadLength(getLengths(), n), count = loadCount(n);
    if (getCounts())
      checks.require(checks.isAtMost(count, numRows),
                     describeOperand(getCounts(), "counts") +
                         ": expected numbers from 0 to the number of rows",
                     "got {1} for sequence {0}, of at most {2}",
                     {n, count, numRows});
    if (getRing())
      checks.require(checks.isAtMost(count, capacity),
                     "more rows are appended than the ring holds",
                     "{1} rows to sequence {0}, of at most {2}",
                     {n, count, capacity});
    else if (isPaged())
      pages->requireRoom(n, checks.add(length, count),
                         describeOperand(getLengths(), "lengths") +
                             ": a sequence would be longer than its pages in " +
                             describeOperand(getTable(), "table") + " hold");
    else
      checks.require(checks.isAtMost(checks.add(length, count), capacity),
                     describeOperand(getLengths(), "lengths") +
                         ": a sequence would be longer than the cache's "
                         "capacity",
                     "sequence {0} has {1} rows and would get {2} more, of at "
                     "most {3}",
                     {n, length, count, capacity});
  });
  if (!isPaged())
    return;

  auto forWrittenPages = [&](Value n, function_ref<void(Value)> body) {
    Value begin = arith::DivUIOp::create(
        builder, loc, checks.load(getLengths(), n), pages->divisor);
    // A sequence that nothing is appended to writes no page.
    Value isEmpty = createCompare(builder, loc, arith::CmpIPredicate::eq,
                                  loadCount(n), checks.index(0));
    Value end = arith::SelectOp::create(builder, loc, isEmpty, begin,
                                        pages->countPages(loadEnd(n)));
    checks.loop(begin, end, body);
  };
  auto requireOwnPage = [&](Value isOwn, Value n, Value k, Value page) {
    checks.require(isOwn,
                   describeOperand(getTable(), "table") +
                       ": a page to be written stands elsewhere "
                       "in the used part of the table",
                   "[{0}, {1}] is {2}", {n, k, page});
  };
  bool counts = !(*this)->hasAttr(kChecksOnlyReadAttr);
  std::optional<PageUses> uses;
  if (counts) {
    uses.emplace(*pages);
    uses->count(numSequences, loadEnd);
  }
  checks.loop(checks.index(0), numSequences, [&](Value n) {
    forWrittenPages(n, [&](Value k) {
      Value page = pages->loadPage(n, k);
      pages->requirePage(n, k, page,
                         describeOperand(getTable(), "table") +
                             ": a page to be written is not one of the "
                             "cache's");
      if (counts)
        requireOwnPage(uses->isUsedOnce(page), n, k, page);
    });
  });
  if (counts)
    return uses->free();
  // Each page that is used is compared with all that are written, which are
  // fewer.
  checks.loop(checks.index(0), numSequences, [&](Value m) {
    checks.loop(checks.index(0), pages->countPages(loadEnd(m)),
                [&](Value used) {
                  Value page = pages->loadPage(m, used);
                  checks.loop(checks.index(0), numSequences, [&](Value n) {
                    forWrittenPages(n, [&](Value k) {
                      auto compare = [&](arith::CmpIPredicate predicate,
                                         Value lhs, Value rhs) {
                        return createCompare(builder, loc, predicate, lhs, rhs);
                      };
                      Value isItself = arith::AndIOp::create(
                          builder, loc, compare(arith::CmpIPredicate::eq, m, n),
                          compare(arith::CmpIPredicate::eq, used, k));
                      Value isOther = compare(arith::CmpIPredicate::ne, page,
                                              pages->loadPage(n, k));
                      requireOwnPage(
                          arith::OrIOp::create(builder, loc, isItself, isOther),
                          n, k, page);
                    });
                  });
                });
  });
}

void CacheReadOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> describe) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, {getLengths(), getTable(), getSize()},
                   {getCache(), getScales()});
  SmallVector<SizeConstraint> constraints = getSizeConstraints();
  llvm::erase_if(constraints, [&](const SizeConstraint &constraint) {
    return constraint.size.operand == getResult(); // Does not exist yet.
  });
  if (!getResultType().isDynamicDim(0))
    constraints.push_back({{getLengths(), 0, "lengths"},
                           {},
                           "batch size",
                           getResultType().getDimSize(0)});
  checkSizes(builder, loc, *this, constraints, describe);
  CacheChecks checks{builder, loc, *this, describe};
  Value size = getValueOrCreateConstantIndexOp(builder, loc, getMixedSize());
  if (getSize())
    checks.require(createCompare(builder, loc, arith::CmpIPredicate::sge, size,
                                 checks.index(0)),
                   describeOperand(getSize(), "size") +
                       ": expected a number of at least 0",
                   "got {0}", size);
  Value capacity = checks.dim(getCache(), 2);
  std::optional<PageChecks> pages;
  if (isPaged())
    pages.emplace(checks, getCache(), getTable());
  checks.loop(checks.index(0), checks.dim(getLengths(), 0), [&](Value n) {
    Value length = checks.loadLength(getLengths(), n);
    if (getRing())
      return;
    if (!isPaged()) {
      checks.require(checks.isAtMost(length, capacity),
                     describeOperand(getLengths(), "lengths") +
                         ": a sequence is longer than the cache's "
                         "capacity",
                     "sequence {0} has {1} rows, of at most {2}",
                     {n, length, capacity});
      return;
    }
    pages->requireRoom(n, length,
                       describeOperand(getLengths(), "lengths") +
                           ": a sequence is longer than its pages in " +
                           describeOperand(getTable(), "table") + " hold");
    Value read = arith::MinUIOp::create(builder, loc, length, size);
    checks.loop(checks.index(0), pages->countPages(read), [&](Value k) {
      pages->requirePage(n, k, pages->loadPage(n, k),
                         describeOperand(getTable(), "table") +
                             ": a used page is not one of the cache's");
    });
  });
}
