//===- NarrowIndices.cpp - Positions of kernels in 32 bits ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/Passes.h"

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_NARROWINDICES
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using dataflow::IntegerValueRangeLattice;

static constexpr unsigned kNarrow = 32;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

namespace {

/// What assertions say of values.
using KnownRanges = llvm::DenseMap<Value, ConstantIntRanges>;

/// Upstream's analysis, which knows nothing of sizes and addresses, with what
/// is known of them.
class RangeAnalysis : public dataflow::IntegerRangeAnalysis {
public:
  RangeAnalysis(DataFlowSolver &solver, const KnownRanges &known)
      : IntegerRangeAnalysis(solver), known(known) {}

  LogicalResult
  visitOperation(Operation *op,
                 ArrayRef<const IntegerValueRangeLattice *> operands,
                 ArrayRef<IntegerValueRangeLattice *> results) override {
    if (op->getNumResults() != 1 || !known.contains(op->getResult(0)))
      return IntegerRangeAnalysis::visitOperation(op, operands, results);
    setToEntryState(results.front());
    return success();
  }

  void setToEntryState(IntegerValueRangeLattice *lattice) override {
    auto found = known.find(lattice->getAnchor());
    if (found == known.end())
      return IntegerRangeAnalysis::setToEntryState(lattice);
    propagateIfChanged(lattice,
                       lattice->join(IntegerValueRange(found->second)));
  }

private:
  const KnownRanges &known;
};

} // namespace

static void addRange(Value value, const APInt &most, KnownRanges &known) {
  auto range =
      ConstantIntRanges::fromUnsigned(APInt::getZero(most.getBitWidth()), most);
  auto [at, isNew] = known.try_emplace(value, range);
  if (!isNew)
    at->second = at->second.intersection(range);
}

/// An assertion that a value is at most a constant, as unsigned numbers.
static void addRange(cf::AssertOp assertion, KnownRanges &known) {
  auto compare = assertion.getArg().getDefiningOp<arith::CmpIOp>();
  APInt most;
  if (compare && compare.getPredicate() == arith::CmpIPredicate::ule &&
      matchPattern(compare.getRhs(), m_ConstantInt(&most)))
    addRange(compare.getLhs(), most, known);
}

/// Addresses in workgroup memory: 24 bits, and which workgroup of a cluster it
/// is, of which there are 16 at most.
static void addAddresses(Operation *function, KnownRanges &known) {
  function->walk([&](memref::ExtractAlignedPointerAsIndexOp pointer) {
    auto type = dyn_cast<MemRefType>(pointer.getSource().getType());
    if (type && gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type))
      addRange(pointer, APInt(IndexType::kInternalStorageBitWidth, 0xfffffff),
               known);
  });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

/// Computes what is known to fit, as signed numbers, in 32 bits. Upstream's
/// `arith-int-range-narrowing` also takes numbers that fit without a sign,
/// which changes what signed operations of them mean, and remainders of
/// negative ones without a sign; and it leaves selections and loops as they
/// are.
class Narrowing {
public:
  explicit Narrowing(DataFlowSolver &solver) : solver(solver) {}

  void run(gpu::LaunchOp launch) {
    body = &launch.getBody().front();
    // What is used stands before.
    SmallVector<Operation *> ops;
    launch.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (canNarrow(op))
        ops.push_back(op);
    });
    for (Operation *op : llvm::reverse(ops))
      if (pays(op))
        chosen.insert(op);
    for (Operation *op : ops)
      if (chosen.contains(op))
        narrow(op);
    for (Operation *op : llvm::reverse(ops))
      if (chosen.contains(op))
        replace(op);
  }

private:
  static bool isWide(Type type) { return type.isIndex() || type.isInteger(64); }

  /// The range of a value that fits.
  std::optional<ConstantIntRanges> getRange(Value value) {
    auto *lattice = solver.lookupState<IntegerValueRangeLattice>(value);
    if (!isWide(value.getType()) || !lattice ||
        lattice->getValue().isUninitialized())
      return std::nullopt;
    ConstantIntRanges range = lattice->getValue().getValue();
    if (!range.smin().isSignedIntN(kNarrow) ||
        !range.smax().isSignedIntN(kNarrow))
      return std::nullopt;
    return range;
  }

  bool fits(ValueRange values) {
    return llvm::all_of(
        values, [&](Value value) { return getRange(value).has_value(); });
  }

  bool fitsWithoutSign(ValueRange values) {
    return llvm::all_of(values, [&](Value value) {
      auto range = getRange(value);
      return range && range->smin().isNonNegative();
    });
  }

  bool canNarrow(Operation *op) {
    return llvm::TypeSwitch<Operation *, bool>(op)
        // Their last bits are made of the last bits of operands.
        .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp,
              arith::OrIOp, arith::XOrIOp, arith::SelectOp>(
            [&](Operation *op) { return fits(op->getResults()); })
        .Case<arith::MinSIOp, arith::MaxSIOp, arith::DivSIOp, arith::RemSIOp,
              arith::FloorDivSIOp, arith::CeilDivSIOp>([&](Operation *op) {
          return fits(op->getOperands()) && fits(op->getResults());
        })
        .Case<arith::MinUIOp, arith::MaxUIOp, arith::DivUIOp, arith::RemUIOp,
              arith::CeilDivUIOp>(
            [&](Operation *op) { return fitsWithoutSign(op->getOperands()); })
        // With a sign in front, numbers are in the same order without one.
        .Case([&](arith::CmpIOp op) { return fits(op->getOperands()); })
        .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
              arith::ExtUIOp, arith::TruncIOp>([&](Operation *op) {
          Type from = op->getOperand(0).getType(),
               to = op->getResult(0).getType();
          return (isWide(from) && to.isInteger(kNarrow)) ||
                 ((isWide(from) || from.isInteger(kNarrow)) && isWide(to) &&
                  fits(op->getResults()));
        })
        // Nor does a counter leave 32 bits behind the end.
        .Case([&](scf::ForOp loop) {
          auto end = getRange(loop.getUpperBound()),
               step = getRange(loop.getStep());
          return end && step &&
                 (end->smax() + step->smax()).isSignedIntN(kNarrow) &&
                 fits({loop.getInductionVar(), loop.getLowerBound()});
        })
        .Default(false);
  }

  /// Addresses are of 64 bits, in which ptxas knows that sums do not overflow,
  /// so that what differs by a constant takes no addition: what is computed for
  /// them alone stays as it is.
  bool pays(Operation *op) {
    auto isUsed = [&](Value value) {
      return llvm::any_of(value.getUsers(), [&](Operation *user) {
        return chosen.contains(user);
      });
    };
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return isUsed(loop.getInductionVar());
    return !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) ||
           isUsed(op->getResult(0));
  }

  void narrow(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return narrowCounter(loop);
    bool isCast = isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                      arith::ExtUIOp, arith::TruncIOp>(op);
    Value result = op->getResult(0);
    Value own = isCast ? getNarrow(op->getOperand(0)) : cloneNarrow(op);
    if (isWide(result.getType()))
      narrowed[result] = own;
    else
      result.replaceAllUsesWith(own);
  }

  Value cloneNarrow(Operation *op) {
    OpBuilder b(op);
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isWide(operand.getType()))
        mapping.map(operand, getNarrow(operand));
    Operation *own = b.clone(*op, mapping);
    if (auto sum = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(own)) {
      auto flags = fits(op->getOperands()) ? arith::IntegerOverflowFlags::nsw
                                           : arith::IntegerOverflowFlags::none;
      own->setAttr(sum.getIntegerOverflowAttrName(),
                   arith::IntegerOverflowFlagsAttr::get(b.getContext(), flags));
    }
    if (isWide(own->getResult(0).getType()))
      own->getResult(0).setType(b.getI32Type());
    return own->getResult(0);
  }

  void narrowCounter(scf::ForOp loop) {
    for (OpOperand *bound :
         {&loop.getLowerBoundMutable(), &loop.getUpperBoundMutable(),
          &loop.getStepMutable()})
      bound->set(getNarrow(bound->get()));
    // Both are there until all that uses the wide one is replaced.
    Value counter = loop.getInductionVar();
    narrowed[counter] = loop.getBody()->insertArgument(
        1, IntegerType::get(loop.getContext(), kNarrow), counter.getLoc());
  }

  /// The last bits of a value, once for all that use them.
  Value getNarrow(Value value) {
    Value &known = narrowed[value];
    if (known)
      return known;
    if (!isWide(value.getType()))
      return known = value;
    OpBuilder b = OpBuilder::atBlockBegin(body);
    Location loc = value.getLoc();
    if (APInt constant; matchPattern(value, m_ConstantInt(&constant)))
      return known = arith::ConstantOp::create(
                 b, loc,
                 b.getIntegerAttr(b.getI32Type(), constant.trunc(kNarrow)));
    if (body->getParent()->isAncestor(value.getParentRegion()))
      b.setInsertionPointAfterValue(value);
    if (value.getType().isIndex())
      known = arith::IndexCastOp::create(b, loc, b.getI32Type(), value);
    else
      known = arith::TruncIOp::create(b, loc, b.getI32Type(), value);
    return known;
  }

  /// With zeros in front if it is not negative, which take no instruction.
  Value getWide(OpBuilder &b, Value value) {
    bool isPositive = fitsWithoutSign(value);
    Location loc = value.getLoc();
    Type type = value.getType();
    Value narrow = narrowed.at(value);
    if (type.isIndex() && isPositive)
      return arith::IndexCastUIOp::create(b, loc, type, narrow);
    if (type.isIndex())
      return arith::IndexCastOp::create(b, loc, type, narrow);
    if (isPositive)
      return arith::ExtUIOp::create(b, loc, type, narrow);
    return arith::ExtSIOp::create(b, loc, type, narrow);
  }

  void replace(Operation *op) {
    auto loop = dyn_cast<scf::ForOp>(op);
    OpBuilder b(op);
    if (loop)
      b.setInsertionPointToStart(loop.getBody());
    Value value = loop ? loop.getInductionVar() : op->getResult(0);
    if (!value.use_empty())
      value.replaceAllUsesWith(getWide(b, value));
    if (loop)
      loop.getBody()->eraseArgument(0);
    else
      op->erase();
  }

  DataFlowSolver &solver;
  Block *body = nullptr;
  llvm::DenseMap<Value, Value> narrowed; ///< What has the same last bits.
  llvm::DenseSet<Operation *> chosen;
};

} // namespace

/// Narrows launches of which all that is known holds.
static LogicalResult narrowLaunches(ArrayRef<gpu::LaunchOp> launches,
                                    const KnownRanges &known,
                                    Operation *function) {
  DataFlowSolver solver;
  dataflow::loadBaselineAnalyses(solver);
  solver.load<RangeAnalysis>(known);
  if (failed(solver.initializeAndRun(function)))
    return failure();
  for (gpu::LaunchOp launch : launches)
    Narrowing(solver).run(launch);
  return success();
}

namespace {
struct NarrowIndices : attn::impl::NarrowIndicesBase<NarrowIndices> {
  void runOnOperation() override {
    DominanceInfo dominance(getOperation());
    SmallVector<cf::AssertOp> assertions;
    SmallVector<gpu::LaunchOp> launches;
    getOperation()->walk([&](Operation *op) {
      if (auto assertion = dyn_cast<cf::AssertOp>(op))
        assertions.push_back(assertion);
      else if (auto launch = dyn_cast<gpu::LaunchOp>(op))
        launches.push_back(launch);
    });
    // As a rule, all assertions are in front of all launches.
    llvm::MapVector<SmallVector<Operation *>, SmallVector<gpu::LaunchOp>>
        groups;
    for (gpu::LaunchOp launch : launches) {
      SmallVector<Operation *> before;
      for (cf::AssertOp assertion : assertions)
        if (dominance.properlyDominates(assertion, launch))
          before.push_back(assertion);
      groups[before].push_back(launch);
    }
    for (auto &[before, group] : groups) {
      KnownRanges known;
      for (Operation *assertion : before)
        addRange(cast<cf::AssertOp>(assertion), known);
      addAddresses(getOperation(), known);
      if (failed(narrowLaunches(group, known, getOperation())))
        return signalPassFailure();
    }
  }
};
} // namespace
