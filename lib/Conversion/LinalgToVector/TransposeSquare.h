//===- TransposeSquare.h - Transposition in registers -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_LINALGTOVECTOR_TRANSPOSESQUARE_H
#define ATTN_CONVERSION_LINALGTOVECTOR_TRANSPOSESQUARE_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Transposes a square of 2^p rows, each a vector of 2^p elements.
void transposeSquare(OpBuilder &b, Location loc, SmallVector<Value> &rows);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_LINALGTOVECTOR_TRANSPOSESQUARE_H
