//===- CrashGuard.h - Crashes of upstream as errors -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_CRASHGUARD_H
#define ATTN_RUNTIME_BRIDGE_CRASHGUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <signal.h>
#include <string>

namespace attn {

/// Whether crashes are caught. Sanitizers report them instead.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool catchesCrashes = false;
#elif defined(__has_feature)
inline constexpr bool catchesCrashes =
    !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer));
#else
inline constexpr bool catchesCrashes = true;
#endif

/// The signals that are caught.
sigset_t getCrashSignals();

/// Runs `function`. If it crashes, its frames are left as they are, nothing in
/// them is destroyed, and the answer is how it ended: the signal's name, or
/// what LLVM said before it gave up. Nothing if it returns.
///
/// Catches what the calling thread does to itself; guards must not nest.
/// Several threads may have one each. Of a stack that overflows only on a
/// thread with a signal stack, as those of `runOnThread`. Signals of other
/// threads reach whom they reached before.
std::optional<std::string> runGuarded(llvm::function_ref<void()> function);

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_CRASHGUARD_H
