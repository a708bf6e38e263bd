//===- CachedAttention.cpp - Writes attention on a cache as IR ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/cached_attention.h"

#include "runtime/Builder/AttentionChecks.h"
#include "runtime/Builder/AttentionWriter.h"
#include "runtime/Builder/CacheWriter.h"

using namespace attn;
using namespace attn::builder;
using std::string;

Expected<string> builder::writeCachedAttention(const CachedAttention &step,
                                               const Verbatim &verbatim) {
  if (step.attention.keyLength != dynamic)
    return expected("attention.keyLength", "dynamic with a cache",
                    std::to_string(step.attention.keyLength));
  if (Status checked = checkCache(step.cache, step.attention); !checked)
    return std::move(checked).error();
  if (step.isPacked && step.cache.hasCounts)
    return expected("cache.hasCounts", "false with packed queries", "true");
  return writeAttention(step.attention,
                        {.verbatim = verbatim, .cached = &step});
}

Expected<string> CachedAttention::text() const {
  return writeCachedAttention(*this, {});
}
