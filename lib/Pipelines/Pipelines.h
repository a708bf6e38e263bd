//===- Pipelines.h - The order of passes ------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_PIPELINES_H
#define ATTN_PIPELINES_PIPELINES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::attn {

/// Brings functions with annotations of sharding into the form that these are
/// read from: layers are the ops that they are made of, and there are no calls.
void buildShardingPipeline(OpPassManager &pm);

/// Brings a module into the form that lowerings start from: no calls, and only
/// operations that have destinations. What a kernel's signature says is read
/// from this form.
void buildPreparationPipeline(OpPassManager &pm);

/// Prepared functions on tensors to the LLVM dialect, through plain linalg and
/// loops: slow, and obviously right. The same for every target.
void buildReferencePipeline(OpPassManager &pm);

/// Prepared functions on tensors to the LLVM dialect, with attention tiled,
/// fused and vectorised for the module's `attn.target`, and its tiles run in
/// parallel.
void buildCPUPipeline(OpPassManager &pm);

/// Prepared functions on tensors to gpu.module, with attention tiled, fused and
/// distributed over the lanes of workgroups, in the LLVM and NVVM dialects, and
/// to functions that launch its kernels. Everything else is an error.
void buildGPUPipeline(OpPassManager &pm);

/// The functions that `buildGPUPipeline` leaves to the LLVM dialect, with calls
/// of the runtime for their launches. Erases the kernels.
void buildGPUHostPipeline(OpPassManager &pm);

/// Prepared functions on tensors to the LLVM dialect, with the GPU's kernels as
/// code for the emulator, which the functions call. The same for every target.
void buildGPUEmulatorPipeline(OpPassManager &pm);

/// The contents of every gpu.module, on memref, vector, gpu, nvgpu and nvvm, to
/// the LLVM and NVVM dialects: what PTX is generated from, for whatever
/// architecture has the instructions that are in it.
void buildGPUToNVVMPipeline(OpPassManager &pm);

/// Those kernels for one architecture, such as "sm_80": what is an instruction
/// of PTX without an intrinsic in LLVM becomes inline assembly. `features` are
/// LLVM's, such as "+ptx80". An operation that the architecture lacks is an
/// error.
void buildNVVMToPTXPipeline(OpPassManager &pm, llvm::StringRef architecture,
                            llvm::StringRef features);

/// A lowering from prepared functions to the LLVM dialect, by name. One with
/// kernels that are compiled apart has two parts.
struct Lowering {
  llvm::StringRef name;
  llvm::StringRef summary;
  void (*build)(OpPassManager &pm);
  /// Needs the dialects of `registerDeviceDialects` besides those of kernels.
  bool usesDevice = false;
  /// Null, or what runs before `build`. It leaves kernels in gpu.modules, which
  /// `build` erases.
  void (*buildKernels)(OpPassManager &pm) = nullptr;
  /// Its kernels are tried out, not used: code is generated fast, not well.
  bool isEmulated = false;
  /// What it knows of its GPU, as parameters of `#attn.target`, each after a
  /// comma.
  llvm::StringRef target = {};
};

/// Every lowering. `attn-<name>-pipeline` is the preparation and the lowering,
/// or its part that leaves kernels, if it has no target of its own.
llvm::ArrayRef<Lowering> getLowerings();

/// Those of them for GPUs, where the build has these.
llvm::ArrayRef<Lowering> getGPULowerings();

} // namespace mlir::attn

#endif // ATTN_PIPELINES_PIPELINES_H
