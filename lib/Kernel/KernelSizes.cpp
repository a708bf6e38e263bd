//===- KernelSizes.cpp - Which sizes a kernel's callers provide -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/KernelSizes.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

/// Sizes of the operand of `op` that gives result `index`.
static FailureOr<std::vector<LinearSize>>
computeResultSizes(func::ReturnOp op, unsigned index, LinearSizes &sizes) {
  std::vector<LinearSize> result;
  Value value = op.getOperand(index);
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    std::optional<LinearSize> size = sizes.get(value, dim);
    if (!size)
      return emitError(value.getLoc())
             << "size of dimension " << dim << " of result " << index
             << " does not follow from the arguments; it must be a sum of "
                "their sizes and integers, so that a caller can provide the "
                "result";
    result.push_back(std::move(*size));
  }
  return result;
}

/// The same for all returns, which must agree.
static FailureOr<std::vector<LinearSize>>
computeResultSizes(ArrayRef<func::ReturnOp> returns, unsigned index,
                   LinearSizes &sizes) {
  FailureOr<std::vector<LinearSize>> result =
      computeResultSizes(returns.front(), index, sizes);
  if (failed(result))
    return failure();
  for (func::ReturnOp other : returns.drop_front()) {
    FailureOr<std::vector<LinearSize>> otherSizes =
        computeResultSizes(other, index, sizes);
    if (failed(otherSizes))
      return failure();
    if (*otherSizes != *result)
      return other.emitError("result ")
             << index
             << " has another size here than where the function returns "
                "elsewhere";
  }
  return result;
}

namespace {
/// Collects what operations demand of sizes, where it can be said in terms of
/// the arguments. The kernel checks the rest when it runs.
class ConstraintCollector {
public:
  ConstraintCollector(LinearSizes &sizes,
                      std::vector<KernelSizes::Constraint> &constraints)
      : sizes(sizes), constraints(constraints) {}

  template <typename Op> void visit(Op op) {
    for (const SizeConstraint &constraint : op.getSizeConstraints()) {
      std::optional<LinearSize> expected = LinearSize();
      if (const OperandSize &reference = constraint.reference;
          reference.operand)
        expected = sizes.get(reference.operand, reference.dimension);
      if (expected)
        expected->constant += constraint.delta;
      add(sizes.get(constraint.size.operand, constraint.size.dimension),
          expected, constraint.meaning + " of " + op->getName().getStringRef());
    }
  }

  /// Two sizes that the program says are equal.
  void visit(cf::AssertOp op) {
    auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
    if (compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
        compare.getLhs().getType().isIndex())
      add(sizes.get(compare.getLhs()), sizes.get(compare.getRhs()),
          op.getMsg());
  }

  /// Dimensions of operands that one loop runs over have one size.
  void visit(linalg::LinalgOp op) {
    SmallVector<std::optional<LinearSize>> loops(op.getNumLoops());
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        if (!loop)
          continue;
        std::optional<LinearSize> size = sizes.get(operand.get(), dim);
        std::optional<LinearSize> &first = loops[loop.getPosition()];
        if (!first)
          first = size;
        else
          add(size, first,
              "a size that operands of " + op->getName().getStringRef() +
                  " share");
      }
    }
  }

private:
  void add(const std::optional<LinearSize> &lhs,
           const std::optional<LinearSize> &rhs, const Twine &text) {
    if (!lhs || !rhs || *lhs == *rhs)
      return;
    // One operation's demand is enough to say.
    if (llvm::none_of(constraints, [&](const KernelSizes::Constraint &other) {
          return other.lhs == *lhs && other.rhs == *rhs;
        }))
      constraints.push_back({*lhs, *rhs, text.str()});
  }

  LinearSizes &sizes;
  std::vector<KernelSizes::Constraint> &constraints;
};
} // namespace

FailureOr<KernelSizes> attn::computeKernelSizes(func::FuncOp entry) {
  KernelSizes result;
  LinearSizes sizes(entry);
  auto returns = llvm::to_vector(entry.getOps<func::ReturnOp>());
  if (returns.empty())
    return entry.emitError("function never returns");
  for (unsigned index = 0; index < entry.getNumResults(); ++index) {
    FailureOr<std::vector<LinearSize>> resultSizes =
        computeResultSizes(returns, index, sizes);
    if (failed(resultSizes))
      return failure();
    result.results.push_back(std::move(*resultSizes));
  }

  // Only what every call reaches: other blocks and regions may not run.
  ConstraintCollector collector(sizes, result.constraints);
  for (Operation &op : entry.front())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<cf::AssertOp, AttentionBackwardOp, AttentionOp,
              AttentionTangentOp, CacheAppendOp, CacheReadOp, DropoutOp,
              HeadNormOp, MergeOp, MultiTokenAttentionOp, ProjectionOp, RopeOp,
              linalg::LinalgOp>([&](auto op) { collector.visit(op); });
  return result;
}
