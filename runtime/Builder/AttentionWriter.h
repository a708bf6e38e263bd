//===- AttentionWriter.h - Writes a variant as IR ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_ATTENTIONWRITER_H
#define ATTN_RUNTIME_BUILDER_ATTENTIONWRITER_H

#include "attn/attention.h"

#include <string>
#include <string_view>

namespace attn::builder {

/// The text of a variant, with more arguments and clauses that are already IR.
Expected<std::string> writeAttention(const Attention &attention,
                                     std::string_view moreArguments,
                                     std::string_view moreClauses);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_ATTENTIONWRITER_H
