//===- HostCode.h - Code of the host around launches ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_FORALLTOGPU_HOSTCODE_H
#define ATTN_GPU_FORALLTOGPU_HOSTCODE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

/// Whether each element of the outputs is computed from elements of inputs.
bool isElementwise(linalg::LinalgOp op);

/// Makes elementwise operations on buffers outside of parallel loops such loops
/// over elements.
void convertElementwiseToLoops(RewriterBase &rewriter, Operation *root);

/// Makes what `function` allocates memory of the GPU, freed at the end of its
/// block, or of that around the branches which give it as a result, and
/// launches the checks of what buffers hold. Emits an error for other code that
/// touches buffers, and for a buffer that leaves its block.
LogicalResult convertHostCode(RewriterBase &rewriter,
                              FunctionOpInterface function);

} // namespace mlir::attn

#endif // ATTN_GPU_FORALLTOGPU_HOSTCODE_H
