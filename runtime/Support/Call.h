//===- Call.h - A guarded call of generated code ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code runs inside `runGuarded`. While it does, `attn_rt_fail` ends
// the call with a message, and whatever the call allocated is freed at its end.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_CALL_H
#define ATTN_RUNTIME_SUPPORT_CALL_H

#include <csetjmp>
#include <cstddef>

namespace attn::support {

/// Put before every block that the call allocates.
struct BlockHeader {
  BlockHeader *previous;
  BlockHeader *next;
  void *allocation; ///< What the system's allocator returned.
};

/// One call of generated code on this thread.
struct CallRecord {
  std::jmp_buf failure;
  CallRecord *outer;   ///< The call around this one, on the same thread.
  BlockHeader *blocks; ///< What this call allocated and has not freed.
  const char *message; ///< Why the call failed.
  char text[96];       ///< Room for a message made while the call ran.
};

/// Calls `entry(arguments)`. Null if it returned; the reason if it failed,
/// which is valid as long as `record` and the generated code are.
const char *runGuarded(void (*entry)(void **), void **arguments,
                       CallRecord &record);

} // namespace attn::support

// What generated code calls, and only within `runGuarded`.
extern "C" {
/// Ends the call with `message`, a constant of the generated code.
[[noreturn]] void attn_rt_fail(const char *message);
/// At least `size` bytes at a multiple of `alignment`, a power of two. Ends the
/// call if there is no such memory.
void *attn_rt_alloc(std::size_t size, std::size_t alignment);
/// Frees what `attn_rt_alloc` returned in the same call.
void attn_rt_free(void *pointer);
}

#endif // ATTN_RUNTIME_SUPPORT_CALL_H
