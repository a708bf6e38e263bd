//===- LaunchOperands.h - What launches of kernels pass ----- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_LAUNCHOPERANDS_H
#define ATTN_GPU_LAUNCHOPERANDS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::attn {

/// The operands of a launch as functions of the runtime take them.
struct LaunchOperands {
  /// The arguments that belong to one memref: two pointers, an offset, sizes
  /// and strides.
  struct MemRef {
    int64_t firstArgument; ///< Index of its first pointer.
    int64_t rank;
    int64_t bytes; ///< Of an element.
  };

  /// Creates them before `launch` of `kernel`. Fails, with a diagnostic, if the
  /// launch is asynchronous, has clusters, or passes what the kernel does not
  /// take.
  static FailureOr<LaunchOperands> compute(gpu::LaunchFuncOp launch,
                                           LLVM::LLVMFuncOp kernel);

  /// The grid's x, y and z, the block's, and the bytes of dynamic shared
  /// memory, all of i64.
  SmallVector<Value> sizes;
  /// One for each parameter of the kernel, in its order.
  SmallVector<Value> arguments;
  SmallVector<MemRef> memrefs;
};

/// Stores values of i64 one after another on the stack of the function around
/// `op`; gives their address.
Value createArray(OpBuilder &builder, Operation *op, ValueRange words);

/// The same for the addresses of values, which are stored too.
Value createArgumentArray(OpBuilder &builder, Operation *op, ValueRange values);

} // namespace mlir::attn

#endif // ATTN_GPU_LAUNCHOPERANDS_H
