//===- RaiseAttention.cpp - Finds attention in operations on tensors ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Raise/AttentionEmission.h"
#include "lib/Raise/AttentionMatch.h"
#include "lib/Raise/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_RAISEATTENTION
#include "lib/Raise/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Replaces what `product` is the last operation of, if that is attention, and
/// adds to `dead` what may not be needed then.
static void raiseAttention(linalg::LinalgOp product,
                           llvm::SetVector<Operation *> &dead) {
  Terms terms;
  std::variant<AttentionMatch, NoMatch> found = matchAttention(terms, product);
  if (auto *match = std::get_if<AttentionMatch>(&found)) {
    Value result = match->result.tensor;
    OpBuilder builder(result.getDefiningOp());
    FailureOr<Value> attention = emitAttention(builder, terms, *match);
    dead.insert_range(terms.getVisited());
    if (succeeded(attention)) {
      result.replaceAllUsesWith(*attention);
      dead.insert(product);
      dead.insert(result.getDefiningOp());
      return;
    }
    found =
        NoMatch{"an index of its mask or bias is not that of a batch entry, "
                "head, query or key"};
  }
  auto &no = std::get<NoMatch>(found);
  if (no.reason.empty())
    return;
  InFlightDiagnostic remark =
      product.emitRemark("is not raised to attn.attention, because ")
      << no.reason;
  if (no.other)
    remark.attachNote(no.other->getLoc()) << "see this operation";
}

/// Erases those of `ops` that nothing needs, and what only they needed.
static void eraseUnused(llvm::SetVector<Operation *> ops) {
  while (!ops.empty()) {
    Operation *op = ops.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        ops.insert(producer);
    op->erase();
  }
}

namespace {
struct RaiseAttention : attn::impl::RaiseAttentionBase<RaiseAttention> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> products;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isProduct(op))
        products.push_back(op);
    });
    llvm::SetVector<Operation *> dead;
    for (linalg::LinalgOp product : products)
      raiseAttention(product, dead);
    eraseUnused(std::move(dead));
  }
};
} // namespace
