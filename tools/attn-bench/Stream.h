//===- Stream.h - Measures how fast memory is read ------------ -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_STREAM_H
#define ATTN_TOOLS_ATTN_BENCH_STREAM_H

#include "tools/attn-bench/StreamLoops.h"
#include "tools/attn-bench/ThreadTeam.h"

namespace attn::bench {

/// Measures how fast a number of threads read two streams at once, which is as
/// fast as keys and values can come. That changes with what else a machine's
/// memory serves: measure right before and after each call of a kernel.
class StreamMeter {
public:
  explicit StreamMeter(unsigned threads)
      : loop(getStreamLoop()), team(threads), seconds(threads) {}

  /// Bytes per second of all threads together, until the last is done. Each
  /// reads its own part of both streams of `bytes`, once.
  double measure(const std::byte *first, const std::byte *second,
                 std::size_t bytes);

  const char *loopName() const { return loop.name; }

private:
  StreamLoop loop;
  ThreadTeam team;
  std::vector<double> seconds; ///< Of each thread.
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_STREAM_H
