//===- Lowerings.cpp - The lowerings by name ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipelines/Pipelines.h"

#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace mlir::attn;

static llvm::SmallVector<Lowering> listLowerings() {
  llvm::SmallVector<Lowering> lowerings = {
      {"cpu", "Lower kernels to fused, vectorised and parallel code for a CPU",
       buildCPUPipeline},
      {"reference",
       "Lower kernels through plain linalg and loops: slow, and "
       "obviously right",
       buildReferencePipeline}};
#if ATTN_GPU
  llvm::append_range(lowerings, getGPULowerings());
#endif
  return lowerings;
}

llvm::ArrayRef<Lowering> attn::getLowerings() {
  static const llvm::SmallVector<Lowering> lowerings = listLowerings();
  return lowerings;
}
