//===- AttnDialect.cpp - The attn dialect ---------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnDialect.h"
#include "dialect/AttnOps.h"
#include "dialect/Plan/QueryRange.h"
#include "dialect/Sharding/RankOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

#include "dialect/AttnDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/AttnAttrs.cpp.inc"

namespace {
/// Functions with attn ops may be inlined. The regions of an op move with it.
struct AttnInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
};
} // namespace

/// The target belongs on a module, a plan on what is planned, numbers of
/// queries and an exchange on attention, an order of rows on a sharding, and a
/// link on a grid.
LogicalResult AttnDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == TargetAttr::kModuleAttr) {
    if (!isa<ModuleOp>(op))
      return op->emitError("expected 'attn.target' on a module");
    if (!isa<TargetAttr>(attribute.getValue()))
      return op->emitError(
                 "expected '#attn.target<...>' as 'attn.target', got ")
             << attribute.getValue();
  } else if (attribute.getName() == PlanAttr::kName) {
    if (!isa<AttentionBackwardOp, AttentionOp, AttentionTangentOp,
             OnlineAttentionOp, ProjectionOp, MultiTokenAttentionBackwardOp,
             MultiTokenAttentionOp>(op))
      return op->emitError("expected 'attn.plan' on attention or a projection");
    if (!isa<PlanAttr>(attribute.getValue()))
      return op->emitError("expected '#attn.plan<...>' as 'attn.plan', got ")
             << attribute.getValue();
  } else if (attribute.getName() == QueryRange::kName) {
    return QueryRange::verify(op, attribute.getValue());
  } else if (attribute.getName() == kZigzagName) {
    if (op->getName().getStringRef() != "shard.sharding")
      return op->emitError("expected 'attn.zigzag' on shard.sharding");
    if (!isa<UnitAttr>(attribute.getValue()))
      return op->emitError("expected 'attn.zigzag' without a value, got ")
             << attribute.getValue();
  } else if (attribute.getName() == kExchangeName) {
    auto name = dyn_cast<StringAttr>(attribute.getValue());
    if (!isa<AttentionOp, AttentionBackwardOp>(op))
      return op->emitError("expected 'attn.exchange' on attention");
    if (!name || !llvm::is_contained({kRing, kGather, kUlysses},
                                     StringRef(name.getValue())))
      return op->emitError("expected 'attn.exchange' to be \"ring\", "
                           "\"gather\" or \"ulysses\", got ")
             << attribute.getValue();
  } else if (attribute.getName() == LinkAttr::kName) {
    if (op->getName().getStringRef() != "shard.grid")
      return op->emitError("expected 'attn.link' on shard.grid");
    if (!isa<LinkAttr>(attribute.getValue()))
      return op->emitError("expected '#attn.link<...>' as 'attn.link', got ")
             << attribute.getValue();
  }
  return success();
}

void AttnDialect::initialize() {
  addInterfaces<AttnInlinerInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/AttnOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Sharding/RankOps.cpp.inc"
      >();
}
