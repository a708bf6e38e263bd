//===- ColdCaches.h - Keys and values from memory ------------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_COLDCACHES_H
#define ATTN_TOOLS_ATTN_BENCH_COLDCACHES_H

#include "tools/attn-bench/Buffer.h"

#include <cstddef>
#include <vector>

namespace attn::bench {

/// Keys and values, which come from memory when they are next read: so many
/// caches take turns that none is left in the machine's own. Only two do where
/// they may be warm.
class ColdCaches {
public:
  struct Cache {
    Buffer key, value;
    /// Of rows of i8, the key's and the value's; else none.
    std::vector<Buffer> scales;
  };
  /// All hold the same numbers, of mean 0 and variance 1.
  ColdCaches(ElementType type, const std::vector<std::int64_t> &sizes,
             bool isWarm);

  /// The one that has not been read for the longest time.
  const Cache &next() {
    turn = (turn + 1) % caches.size();
    return caches[turn];
  }

private:
  std::vector<Cache> caches;
  std::size_t turn = 0;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_COLDCACHES_H
