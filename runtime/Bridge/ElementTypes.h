//===- ElementTypes.h - MLIR's element types as the host's ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_ELEMENTTYPES_H
#define ATTN_RUNTIME_BRIDGE_ELEMENTTYPES_H

#include "attn/element_type.h"

#include "mlir/IR/Types.h"

#include <optional>

namespace attn {

/// The host's name of an element or scalar type, if it can be passed.
std::optional<ElementType> convertElementType(mlir::Type type);

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_ELEMENTTYPES_H
