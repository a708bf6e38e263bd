//===- SharedLayout.cpp - Where variables in shared memory lie ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/NVVMToEmulator/Conversions.h"

#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// What the widest access of a thread needs.
static constexpr uint64_t minimumAlignment = 16;

/// What a block may have at most: 227 KiB, on sm_90.
static constexpr uint64_t maximumBytes = 227 * 1024;

std::optional<StringRef> attn::getText(LLVM::GlobalOp variable) {
  auto text = dyn_cast_or_null<StringAttr>(variable.getValueAttr());
  if (!variable.getConstant() || !text)
    return std::nullopt;
  return text.getValue().rtrim('\0');
}

bool attn::isConstantData(LLVM::GlobalOp variable) {
  return variable.getConstant() && variable.getValueAttr() &&
         !getText(variable) && variable.getAddrSpace() != sharedSpace;
}

static LogicalResult verify(LLVM::GlobalOp variable) {
  if (variable.getAddrSpace() != sharedSpace)
    return variable.emitOpError("in address space ")
           << variable.getAddrSpace()
           << " is not emulated, only those in shared memory, "
           << unsigned(sharedSpace) << ", are";
  if (variable.getValueAttr() || !variable.getInitializerRegion().empty())
    return variable.emitOpError("in shared memory has an initial value");
  return success();
}

FailureOr<SharedLayout> SharedLayout::compute(ModuleOp module) {
  DataLayout dataLayout(module);
  SharedLayout layout;
  SmallVector<LLVM::GlobalOp> dynamic;
  uint64_t end = 0, dynamicAlignment = minimumAlignment;
  for (auto variable : module.getOps<LLVM::GlobalOp>()) {
    if (getText(variable) || isConstantData(variable))
      continue;
    if (failed(verify(variable)))
      return failure();
    Type type = variable.getGlobalType();
    uint64_t size = dataLayout.getTypeSize(type).getFixedValue();
    uint64_t alignment =
        std::max({minimumAlignment, dataLayout.getTypeABIAlignment(type),
                  variable.getAlignment().value_or(1)});
    if (size == 0) {
      dynamic.push_back(variable);
      dynamicAlignment = std::max(dynamicAlignment, alignment);
      continue;
    }
    uint64_t offset = llvm::alignTo(end, alignment);
    if (offset > maximumBytes || size > maximumBytes - offset)
      return variable.emitOpError("does not fit shared memory of ")
             << maximumBytes << " bytes";
    layout.offsets[variable.getName()] = offset;
    end = offset + size;
  }
  if (!dynamic.empty())
    end = llvm::alignTo(end, dynamicAlignment);
  for (LLVM::GlobalOp variable : dynamic)
    layout.offsets[variable.getName()] = end;
  layout.staticBytes = end;
  return layout;
}
