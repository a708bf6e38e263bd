//===- AttentionRegionParser.h - Score and mask lists of attention *- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTIONREGIONPARSER_H
#define ATTN_DIALECT_ATTENTIONREGIONPARSER_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::attn {

/// Operands of one segment with their types, resolved once all are parsed.
struct OperandSegment {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc; ///< Of the list, for messages.
};

/// Parses the items behind `score`, names or regions, into one region.
/// `scoreType` is the type of its first argument.
ParseResult parseScores(OpAsmParser &parser, Region &region,
                        OperandSegment &captures, Type scoreType);

/// Parses the items behind `mask` into one region.
ParseResult parseMasks(OpAsmParser &parser, Region &region,
                       OperandSegment &captures);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTIONREGIONPARSER_H
