//===- PointwiseRegionAssembly.h - Assembly of regions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_POINTWISEREGIONASSEMBLY_H
#define ATTN_DIALECT_POINTWISEREGIONASSEMBLY_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::attn {

/// `[name [(captures : types)] region]`: an optional region with the operands
/// that its last arguments stand for.
ParseResult
parsePointwiseRegion(OpAsmParser &parser, StringRef name, Region &region,
                     SmallVectorImpl<OpAsmParser::UnresolvedOperand> &captures,
                     SmallVectorImpl<Type> &types);
void printPointwiseRegion(OpAsmPrinter &printer, Operation *op, StringRef name,
                          Region &region, OperandRange captures,
                          TypeRange types);

/// `[score item, ...] [mask item, ...]` behind an op on `rows`, whose elements
/// decide the type of scores. An item is a name (see NamedMasksAndScores.h) or
/// a region; all items of a list become one region, which is what is printed.
ParseResult parseScoreAndMask(
    OpAsmParser &parser, Region &score,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &scoreCaptures,
    SmallVectorImpl<Type> &scoreTypes, Region &mask,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &maskCaptures,
    SmallVectorImpl<Type> &maskTypes, Type rows);
void printScoreAndMask(OpAsmPrinter &printer, Operation *op, Region &score,
                       OperandRange scoreCaptures, TypeRange scoreTypes,
                       Region &mask, OperandRange maskCaptures,
                       TypeRange maskTypes, Type rows);

} // namespace mlir::attn

#endif // ATTN_DIALECT_POINTWISEREGIONASSEMBLY_H
