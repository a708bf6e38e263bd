//===- TileState.h - AMX's tiles for this process ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_TILESTATE_H
#define ATTN_RUNTIME_SUPPORT_TILESTATE_H

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace attn {

/// Asks the operating system for AMX's tile registers, which a process has to
/// before it uses them, once for all its threads: they make the state that is
/// saved with a thread several times as large. False where there are none, or
/// where they are refused.
inline bool requestTileState() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long requestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr long tileData = 18;              // XFEATURE_XTILEDATA
  static const bool granted =
      syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return granted;
#else
  return false;
#endif
}

} // namespace attn

#endif // ATTN_RUNTIME_SUPPORT_TILESTATE_H
