//===- Ptxas.h - NVIDIA's assembler -----------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_PTXAS_H
#define ATTN_RUNTIME_CUDA_PTXAS_H

#include "attn/error.h"
#include "runtime/CUDA/DeviceCode.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace attn::cuda {

/// What ptxas made of PTX.
struct Assembly {
  std::string cubin;
  /// What ptxas said: see readResources.
  std::string log;
  /// The line in which ptxas says that it serialises wgmma or ignores
  /// setmaxnreg (C75xx): such code is right, but useless. Empty if there is
  /// none.
  std::string slowness;
};

/// A ptxas program that runs on this machine.
class Ptxas {
public:
  /// The first one on PATH; in bin/ of $CUDA_HOME and $CUDA_PATH; where PyPI's
  /// nvidia-cuda-nvcc packages put it, for $VIRTUAL_ENV and for the python3 on
  /// PATH; and in /usr/local/cuda/bin. Nothing if there is none.
  static std::optional<Ptxas> find();

  /// The program at `path`. An error if it does not say its version.
  static Expected<Ptxas> open(const std::string &path);

  const std::string &path() const { return programPath; }
  /// What `ptxas --version` prints.
  const std::string &version() const { return versionText; }
  /// Of CUDA, such as "13.0"; all of the version where it does not say one.
  std::string release() const;

  /// Machine code of `ptx` for an architecture such as "sm_90a". An error has
  /// ptxas's own words. Kernels are compiled in parallel, if this ptxas can.
  Expected<Assembly> assemble(llvm::StringRef ptx,
                              const std::string &architecture) const;

private:
  Ptxas(std::string path, std::string version, bool isParallel)
      : programPath(std::move(path)), versionText(std::move(version)),
        isParallel(isParallel) {}

  std::string programPath, versionText;
  /// Whether it can compile several kernels at once.
  bool isParallel;
};

/// The resources of every kernel in a log of ptxas.
std::vector<KernelResources> readResources(llvm::StringRef log);

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_PTXAS_H
