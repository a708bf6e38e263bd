//===- AttentionRegionParser.h - Score and mask lists of attention *- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_ATTENTIONREGIONPARSER_H
#define ATTN_DIALECT_ATTENTION_ATTENTIONREGIONPARSER_H

#include "dialect/Attention/ItemReads.h"

namespace mlir::attn {

/// Parses the items behind `score`, names or regions, into one region.
/// `scoreType` is the type of its first argument.
ParseResult parseScores(OpAsmParser &parser, ParsedRegion &parsed,
                        Type scoreType);

/// Parses the items behind `mask` into one region.
ParseResult parseMasks(OpAsmParser &parser, ParsedRegion &parsed);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_ATTENTIONREGIONPARSER_H
