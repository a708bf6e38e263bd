//===- HostChecks.h - Checks of what buffers hold ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_FORALLTOGPU_HOSTCHECKS_H
#define ATTN_CONVERSION_FORALLTOGPU_HOSTCHECKS_H

#include "mlir/IR/Block.h"

namespace mlir::attn {

/// Moves assertions that depend on loads, and loops and branches that only read
/// and assert, to launches of one warp each, which does all of it in each lane.
void moveChecksToDevice(Block &host);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_FORALLTOGPU_HOSTCHECKS_H
