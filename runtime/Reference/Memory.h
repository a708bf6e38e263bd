//===- Memory.h - Errors where memory does not suffice ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MEMORY_H
#define ATTN_REFERENCE_MEMORY_H

#include "attn/error.h"

#include <new>
#include <stdexcept>

namespace attn::reference {

/// What `compute` returns, an `Expected`, or an error where there is not enough
/// memory for it. The oracle's callers cannot catch exceptions.
template <typename Compute>
auto catchOutOfMemory(Compute compute) -> decltype(compute()) {
  try {
    return compute();
  } catch (const std::bad_alloc &) {
  } catch (const std::length_error &) { // More than a vector can count.
  }
  return Error{"out of memory", {}};
}

} // namespace attn::reference

#endif // ATTN_REFERENCE_MEMORY_H
