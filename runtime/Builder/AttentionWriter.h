//===- AttentionWriter.h - Writes a variant as IR ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_ATTENTIONWRITER_H
#define ATTN_RUNTIME_BUILDER_ATTENTIONWRITER_H

#include "attn/cached_attention.h"
#include "attn/multi_head_attention.h"
#include "attn/multi_token_attention.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::builder {

/// What comes last in a kernel, and is already IR.
struct Verbatim {
  std::string_view arguments = {}, operations = {}, clauses = {};
};

/// What a kernel has beside an Attention.
struct Additions {
  Verbatim verbatim = {};
  std::string_view operation = "attn.attention";
  /// Clauses with an argument each, which come after query, key and value.
  std::vector<std::pair<std::string, detail::DeclarationPtr>> stages = {};
  /// Arguments after those.
  std::vector<detail::DeclarationPtr> moreArguments = {};
  /// First rows of the query that the output does not have.
  std::int64_t past = 0;
  /// How keys and values are appended to caches; null: there are none.
  const CachedAttention *cached = nullptr;
  /// Appends an operation, and returns the name of its result.
  using Append = std::function<std::string(const std::string &)>;
  /// Appends what becomes of an output of a type, with an empty tensor for it.
  std::function<std::string(const Append &, const std::string &output,
                            const std::string &empty, const std::string &type)>
      finish = {};
};

/// The text of a variant.
Expected<std::string> writeAttention(const Attention &attention,
                                     const Additions &additions);

/// The text of a step of attention on caches.
Expected<std::string> writeCachedAttention(const CachedAttention &step,
                                           const Verbatim &verbatim);

/// The text of multi-token attention.
Expected<std::string>
writeMultiTokenAttention(const MultiTokenAttention &description,
                         const Verbatim &verbatim);

/// The text of a layer.
Expected<std::string> writeLayer(const MultiHeadAttention &layer,
                                 const Verbatim &verbatim);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_ATTENTIONWRITER_H
