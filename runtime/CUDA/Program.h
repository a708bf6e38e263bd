//===- Program.h - Kernels on a GPU, and how to launch them -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_PROGRAM_H
#define ATTN_RUNTIME_CUDA_PROGRAM_H

#include "attn/error.h"
#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/DeviceCode.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace attn::cuda {

/// The arguments of a launch, in the order of the gpu.func, as lowering to NVVM
/// passes them.
class LaunchArguments {
public:
  /// A scalar, of the type that it has in the kernel: std::int64_t for index.
  template <typename T>
    requires std::is_arithmetic_v<T>
  void add(T value) {
    static_assert(sizeof(T) <= sizeof(Value));
    std::memcpy(&values.emplace_back(), &value, sizeof(T));
  }

  /// A memref: its element at index 0, and sizes and strides in elements, of
  /// which there are equally many. Both of its pointers are `address`.
  void addMemRef(CUdeviceptr address, std::span<const std::int64_t> sizes,
                 std::span<const std::int64_t> strides);

  std::size_t size() const { return values.size(); }
  /// The address of each value, which the driver wants.
  std::vector<void *> pointers() const;

private:
  using Value = std::uint64_t;
  std::vector<Value> values;
};

/// How many threads run a kernel.
struct LaunchSize {
  std::array<unsigned, 3> grid = {1, 1, 1};  ///< Blocks.
  std::array<unsigned, 3> block = {1, 1, 1}; ///< Threads of a block.
};

/// One kernel of a Program. Copies share it.
class Function {
public:
  /// Runs the kernel in the order of `stream`, where errors of the kernel
  /// itself show up later. Launches nothing if the grid has no blocks.
  Status launch(const LaunchSize &size, const LaunchArguments &arguments,
                const Stream &stream) const;
  /// The same for addresses of arguments, as the driver wants them, and for a
  /// stream of whoever made it; null is the default stream.
  Status launch(const LaunchSize &size, void **arguments,
                CUstream stream) const;

private:
  friend class Program;
  Function(std::shared_ptr<const Handle<CUmodule>> module, CUfunction function,
           std::string name, unsigned dynamicSharedBytes)
      : module(std::move(module)), function(function), name(std::move(name)),
        dynamicSharedBytes(dynamicSharedBytes) {}

  std::shared_ptr<const Handle<CUmodule>> module;
  CUfunction function;
  std::string name;
  unsigned dynamicSharedBytes;
};

/// Compiled kernels on a device. Copies share them.
class Program {
public:
  /// Loads machine code, or has the driver compile PTX where there is none, or
  /// none that it takes, because it is older than ptxas. Its messages are part
  /// of the error; so is which driver it takes, where the PTX is too new.
  static Expected<Program> load(const Device &device, const DeviceCode &code);

  /// A kernel by name, which every launch gives that much dynamic shared
  /// memory. An error if there is no such kernel, or if the GPU has less.
  Expected<Function> getFunction(const std::string &name,
                                 unsigned dynamicSharedBytes = 0) const;

  /// Why the driver compiled PTX although there is a ptxas; else empty.
  const std::string &remark() const { return remarkText; }

private:
  Program(std::shared_ptr<const Handle<CUmodule>> module, std::string remark)
      : module(std::move(module)), remarkText(std::move(remark)) {}
  std::shared_ptr<const Handle<CUmodule>> module;
  std::string remarkText;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_PROGRAM_H
