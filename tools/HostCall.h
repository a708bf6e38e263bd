//===- HostCall.h - A call with the memory it needs -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_HOSTCALL_H
#define ATTN_TOOLS_HOSTCALL_H

#include "tools/Arguments.h"

#include <string_view>

namespace attn::run {

/// What a kernel takes and writes: arguments that stay, and results, some of
/// which are arguments that it updates.
class CallMemory {
public:
  /// For arguments whose memory lives elsewhere.
  static Expected<CallMemory> create(const Kernel &kernel,
                                     std::vector<Argument> arguments);

  /// As they were given.
  std::span<const Argument> arguments() const { return original; }
  std::span<const NpyArray> results() const { return arrays; }

  struct Operands {
    std::span<const Argument> inputs;
    std::span<const TensorView> outputs;
  };
  /// What is updated in place is memory of a result, so that `arguments` stay.
  /// Starts as a copy of them each time this is called.
  Operands prepare();

private:
  std::vector<int> updates; ///< See Parameter::updates.
  std::vector<Argument> original, inputs;
  std::vector<NpyArray> arrays;
  std::vector<TensorView> outputs;
};

/// The arguments and results of a call of a kernel, as a command line gives
/// them.
class HostCall {
public:
  /// Of a kernel of `text`, from the file of this name. `given` and `seed` are
  /// those of loadArguments.
  static Expected<HostCall> create(const Kernel &kernel, std::string_view text,
                                   const std::string &fileName,
                                   std::span<const std::string> given,
                                   std::optional<std::uint64_t> seed);

  std::span<const HostArgument> hostArguments() const { return loaded; }
  /// As they were given.
  std::span<const Argument> arguments() const { return memory.arguments(); }
  std::span<const NpyArray> results() const { return memory.results(); }

  CallMemory::Operands prepare() { return memory.prepare(); }

private:
  std::vector<HostArgument> loaded;
  CallMemory memory;
};

} // namespace attn::run

#endif // ATTN_TOOLS_HOSTCALL_H
