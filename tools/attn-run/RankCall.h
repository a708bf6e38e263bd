//===- RankCall.h - A call on several ranks ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNRUN_RANKCALL_H
#define ATTN_TOOLS_ATTNRUN_RANKCALL_H

#include "attn/ranks.h"
#include "tools/HostCall.h"

namespace attn::run {

/// What a rank has of the arguments and results that a command line gives.
class RankCall {
public:
  /// Arguments are those of the whole, as HostCall takes them, of which each
  /// rank keeps its parts alone, and rank 0 the whole too.
  static Expected<RankCall> create(const Ranks &ranks, const RankKernel &kernel,
                                   std::string_view text,
                                   const std::string &fileName,
                                   std::span<const std::string> given,
                                   std::optional<std::uint64_t> seed);

  /// What is known of the arguments, for people: types, and where they come
  /// from.
  struct Description {
    std::string type, source;
  };
  std::span<const Description> descriptions() const { return described; }
  /// Of the whole, on rank 0.
  std::span<const Argument> wholeArguments() const { return whole; }

  CallMemory::Operands prepare() { return memory.prepare(); }

  /// The results of all ranks put together, on rank 0; none on others.
  Expected<std::vector<NpyArray>> gather(const Ranks &ranks,
                                         const RankKernel &kernel) const;

private:
  std::vector<Description> described;
  std::vector<HostArgument> loaded;
  std::vector<Argument> whole;
  std::vector<NpyArray> parts;
  CallMemory memory;
};

} // namespace attn::run

#endif // ATTN_TOOLS_ATTNRUN_RANKCALL_H
