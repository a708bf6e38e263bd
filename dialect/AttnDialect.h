//===- AttnDialect.h - The attn dialect -------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTNDIALECT_H
#define ATTN_DIALECT_ATTNDIALECT_H

#include "mlir/IR/Dialect.h"

#include "dialect/AttnDialect.h.inc"

#endif // ATTN_DIALECT_ATTNDIALECT_H
