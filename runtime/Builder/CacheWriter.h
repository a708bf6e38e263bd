//===- CacheWriter.h - Caches of a kernel as IR -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_CACHEWRITER_H
#define ATTN_RUNTIME_BUILDER_CACHEWRITER_H

#include "attn/cached_attention.h"

#include <optional>
#include <string>
#include <vector>

namespace attn::builder {

/// The arguments that a kernel has for its caches.
struct CacheArguments {
  /// Of keys, of values and, if they are of i8, the scales of both.
  std::vector<detail::Declaration> updated;
  detail::Declaration lengths;
  std::optional<detail::Declaration> counts, sequences, size, table;
};
CacheArguments declareCache(const LayerCache &cache, const Attention &attention,
                            bool isPacked = false);

/// What is wrong with the caches of an attention.
Status checkCache(const LayerCache &cache, const Attention &attention);

/// What a kernel does with its caches.
struct CacheOperations {
  /// Appends %key and %value, and reads %key.stored and %value.stored; a line
  /// for each operation.
  std::string text;
  std::string keyType, valueType; ///< Of what is read.
  std::string results;            ///< Names of the updated caches.
  std::string padding; ///< The mask that keeps the positions that are stored.
};
/// Values have a '.' in their names, which arguments cannot have.
CacheOperations writeCacheOperations(const CachedAttention &step);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_CACHEWRITER_H
