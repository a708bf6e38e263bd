//===- PointwiseRegionAssembly.h - Assembly of regions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_POINTWISEREGIONASSEMBLY_H
#define ATTN_DIALECT_ATTENTION_POINTWISEREGIONASSEMBLY_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::attn {

/// Names the arguments of a score or mask region as rules do (A10).
void nameRegionArguments(Region &region, bool isMask,
                         OpAsmSetValueNameFn setName);

/// `[name [(captures : types)] region]`: an optional region with the operands
/// that its last arguments stand for.
ParseResult
parsePointwiseRegion(OpAsmParser &parser, StringRef name, Region &region,
                     SmallVectorImpl<OpAsmParser::UnresolvedOperand> &captures,
                     SmallVectorImpl<Type> &types);
void printPointwiseRegion(OpAsmPrinter &printer, Operation *op, StringRef name,
                          Region &region, OperandRange captures,
                          TypeRange types);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_POINTWISEREGIONASSEMBLY_H
