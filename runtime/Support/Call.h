//===- Call.h - A guarded call of generated code ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code runs inside `runGuarded`. While it does, `attn_rt_fail` ends
// the call with a message, `attn_rt_report` lets it fail when it ends, and
// whatever the call allocated is freed at its end.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_CALL_H
#define ATTN_RUNTIME_SUPPORT_CALL_H

#include "attn/export.h"

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attn::support {

struct Threads;
struct ParallelRange;

/// The body of a parallel loop, from a range of its indices on.
using ParallelBody = void (*)(void *context, ParallelRange *range);

/// Put before every block that the call allocates.
struct BlockHeader {
  BlockHeader *previous;
  BlockHeader *next;
  void *allocation; ///< What the allocator returned.
};

/// What failed.
struct Report {
  /// A line that says where, and one for each reason; null: nothing.
  const char *text = nullptr;
  /// The number of the reason, and what {0} to {7} stand for in its text.
  std::int64_t numbers[9];

  /// Becomes `other` if that is of the same op and less. What comes first in
  /// time is of the first op.
  void merge(const Report &other);
};

/// One call of generated code on this thread, or of the body of a parallel
/// loop.
struct CallRecord {
  /// Where parallel loops of this call run; null: on this thread.
  const Threads *threads = nullptr;
  /// What uses of a GPU in this call need: a jit::DeviceCall; null: none.
  void *device = nullptr;
  std::jmp_buf failure;
  CallRecord *outer;   ///< The call around this one, on the same thread.
  BlockHeader *blocks; ///< What this call allocated and has not freed.
  const char *message; ///< Why the call failed.
  char text[96];       ///< Room for a message made while the call ran.
  Report report;       ///< The call fails with it at its end.
};

/// Calls `entry(arguments)`. Null if it returned; the reason if it failed,
/// which is valid as long as `record` and the generated code are.
const char *runGuarded(void (*entry)(void **), void **arguments,
                       CallRecord &record);

/// The same for `body(context, range)`. A record may be used again.
const char *runGuarded(ParallelBody body, void *context, ParallelRange *range,
                       CallRecord &record);

/// A copy of a message for `attn_rt_fail`, cut if it is long: whoever fails
/// must not hold what has a destructor. It lives until this thread keeps
/// another.
const char *keepMessage(std::string_view message);

/// The innermost call on this thread; only within `runGuarded`.
CallRecord &getCurrentCall();

} // namespace attn::support

// What generated code calls, and only within `runGuarded`.
extern "C" {
/// Ends the call with `message`, a constant of the generated code.
[[noreturn]] ATTN_EXPORT void attn_rt_fail(const char *message);
/// Lets the call fail when it ends. `text` is a constant of the generated code:
/// a line that says where it failed, and one for each reason, in which {0} to
/// {7} stand for `numbers`, which are those of Report.
ATTN_EXPORT void attn_rt_report(const char *text, const std::int64_t *numbers);
/// At least `size` bytes at a multiple of `alignment`, a power of two. Ends the
/// call if there is no such memory.
ATTN_EXPORT void *attn_rt_alloc(std::size_t size, std::size_t alignment);
/// Frees what `attn_rt_alloc` returned in the same call, of a kernel or of the
/// body of a parallel loop.
ATTN_EXPORT void attn_rt_free(void *pointer);
}

#endif // ATTN_RUNTIME_SUPPORT_CALL_H
