//===- AttentionOpAssembly.h - Score and mask in an op's text ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clauses `score item, ...` and `mask item, ...`. An item is a name (see
// NamedMasksAndScores.h) or a region; all items of a list become one region,
// which is what is printed.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_ATTENTIONOPASSEMBLY_H
#define ATTN_DIALECT_ATTENTION_ATTENTIONOPASSEMBLY_H

#include "dialect/Attention/ItemReads.h"

namespace mlir::attn {

/// The elements of `rows`, which is parsed before, decide the type of scores.
Clause scoreClause(OpAsmParser &parser, ParsedRegion &score,
                   const OperandSegment &rows);
Clause maskClause(OpAsmParser &parser, ParsedRegion &mask);

/// Finishes both, of which none need be there, when all clauses are parsed.
ParseResult finishScoreAndMask(OpAsmParser &parser, ParsedRegion &score,
                               ParsedRegion &mask, CallShape shape);

/// Both, where they are there.
void printScoreAndMask(OpAsmPrinter &printer, Region &score,
                       OperandRange scoreCaptures, Region &mask,
                       OperandRange maskCaptures);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_ATTENTIONOPASSEMBLY_H
