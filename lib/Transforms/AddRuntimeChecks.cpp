//===- AddRuntimeChecks.cpp - Check what no verifier can know -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/CheckCacheReads.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Transforms.h"

#include "dialect/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ADDRUNTIMECHECKS
#include "lib/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static std::string describe(Operation *op, StringRef what) {
  return ("'" + op->getName().getStringRef() + "' op " + what).str();
}

void attn::addRuntimeChecks(Operation *root) {
  // Collected first: the checks themselves are not to be checked.
  SmallVector<RuntimeVerifiableOpInterface> verifiable;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto interface = dyn_cast<RuntimeVerifiableOpInterface>(op))
      verifiable.push_back(interface);
    // In the regions of attn ops, the lowering decides where a value counts.
    return isa_and_nonnull<AttnDialect>(op->getDialect())
               ? WalkResult::skip()
               : WalkResult::advance();
  });
  for (RuntimeVerifiableOpInterface op : verifiable) {
    OpBuilder builder(op);
    op.generateRuntimeVerification(builder, op.getLoc(), describe);
    if (auto attention = dyn_cast<AttentionOp>(op.getOperation()))
      checkCacheReads(builder, attention, describe);
  }
}

namespace {
struct AddRuntimeChecks : attn::impl::AddRuntimeChecksBase<AddRuntimeChecks> {
  void runOnOperation() override { addRuntimeChecks(getOperation()); }
};
} // namespace
