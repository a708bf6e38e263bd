//===- Lowerings.cpp - The lowerings by name ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipelines/Pipelines.h"

using namespace mlir;
using namespace mlir::attn;

llvm::ArrayRef<Lowering> attn::getLowerings() {
  static const Lowering lowerings[] = {
      {"cpu", "Lower kernels to fused, vectorised and parallel code for a CPU",
       buildCPUPipeline},
      {"reference",
       "Lower kernels through plain linalg and loops: slow, and "
       "obviously right",
       buildReferencePipeline},
#if ATTN_GPU
      {"gpu", "Lower kernels to NVVM, with the functions that launch them",
       buildGPUHostPipeline, /*usesDevice=*/true, buildGPUPipeline},
      {"gpu-emulator",
       "Lower kernels as for NVIDIA GPUs, for an emulator of them on the CPU",
       buildGPUEmulatorPipeline, /*usesDevice=*/true, /*buildKernels=*/nullptr,
       /*isEmulated=*/true},
      {"gpu-emulator-sm_90a",
       "The same as for sm_90a, whose warpgroups multiply, with one "
       "multiprocessor",
       buildGPUEmulatorPipeline, /*usesDevice=*/true, /*buildKernels=*/nullptr,
       /*isEmulated=*/true,
       /*target=*/
       ", gpu_multiprocessors = 1, gpu_shared_bytes = 233472, "
       "gpu_warpgroups = true"},
#endif
  };
  return lowerings;
}
