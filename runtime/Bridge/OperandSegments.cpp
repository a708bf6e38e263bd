//===- OperandSegments.cpp - Operands that upstream does not count --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/OperandSegments.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attn;

/// The segments of an operation's operands: '1' is one operand, '*' any number.
static llvm::StringRef getSegments(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("linalg.pack", "11**")
      .Case("tensor.extract_slice", "1***")
      .Case("tensor.insert_slice", "11***")
      .Case("tensor.parallel_insert_slice", "11***")
      .Case("tensor.pad", "1**")
      .Case("memref.reinterpret_cast", "1***")
      .Case("memref.subview", "1***")
      .Case("vector.transfer_read", "1*1*")
      .Case("vector.transfer_write", "11**")
      .Case("amx.tile_load", "1**")
      .Case("amx.tile_store", "1*1*")
      .Cases({"cf.cond_br", "llvm.cond_br"}, "1**")
      .Cases({"cf.switch", "llvm.switch"}, "1**")
      .Default("");
}

static llvm::LogicalResult verifySegments(mlir::Operation *op) {
  llvm::StringRef segments = getSegments(op->getName().getStringRef());
  if (segments.empty())
    return mlir::success();
  std::optional<mlir::Attribute> attr =
      op->getInherentAttr("operandSegmentSizes");
  auto sizes =
      mlir::dyn_cast_or_null<mlir::DenseI32ArrayAttr>(attr.value_or(nullptr));
  if (!sizes)
    return mlir::success();
  for (auto [i, segment, size] : llvm::enumerate(segments, sizes.asArrayRef()))
    if (segment == '1' && size != 1)
      return op->emitOpError()
             << "segment " << i << " of the operands: expected 1, got " << size;
  return mlir::success();
}

llvm::LogicalResult attn::verifyOperandSegments(mlir::Operation *root) {
  mlir::WalkResult walked = root->walk<mlir::WalkOrder::PreOrder>(
      [](mlir::Operation *op) { return mlir::WalkResult(verifySegments(op)); });
  return mlir::failure(walked.wasInterrupted());
}
