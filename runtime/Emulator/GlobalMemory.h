//===- GlobalMemory.h - The buffers that a launch may use ---- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_GLOBALMEMORY_H
#define ATTN_RUNTIME_EMULATOR_GLOBALMEMORY_H

#include "runtime/Emulator/Launch.h"

namespace attn::emulator {

/// Where an access falls.
struct Place {
  const Buffer *buffer; ///< The closest one; null if there is none.
  /// From the buffer's begin to that of the access. The access is inside if
  /// this is not negative and its end is not after the buffer's.
  std::ptrdiff_t offset;
  bool isInside;
};

/// Looks `bytes` at `address` up in `buffers`.
Place findPlace(const std::vector<Buffer> &buffers, const void *address,
                std::size_t bytes);

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_GLOBALMEMORY_H
