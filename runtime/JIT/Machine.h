//===- Machine.h - Caches of this machine -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_MACHINE_H
#define ATTN_RUNTIME_JIT_MACHINE_H

#include <cstdint>
#include <string>

namespace attn::jit {

/// What of a machine is not its processor's instructions. 0 is what is not
/// known, for which `#attn.target` has defaults.
struct Machine {
  std::int64_t cores = 0, l1Bytes = 0, l2Bytes = 0, lineBytes = 0,
               pageBytes = 0;

  /// What is known, as parameters of `#attn.target`, each after a comma.
  std::string text() const;
};

/// The machine that this runs on, from what Linux says of it in `folder` and
/// what the system says of its pages.
Machine readMachine(const std::string &folder = "/sys/devices/system/cpu");

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_MACHINE_H
