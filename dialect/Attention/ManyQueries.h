//===- ManyQueries.h - Attention of many queries ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_MANYQUERIES_H
#define ATTN_DIALECT_ATTENTION_MANYQUERIES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::attn {

/// Of an attn.attention: a dynamic number of queries is that of a prompt. It
/// may be any, but few queries need no form of their own.
inline constexpr llvm::StringLiteral kManyQueriesName = "attn.many_queries";

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_MANYQUERIES_H
