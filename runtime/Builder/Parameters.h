//===- Parameters.h - The arguments of a kernel -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_PARAMETERS_H
#define ATTN_RUNTIME_BUILDER_PARAMETERS_H

#include "attn/error.h"
#include "attn/tensor.h"

#include <string>
#include <vector>

namespace attn::builder {

/// The type of an argument in IR: "tensor<8x?xf32>", "i32".
std::string writeType(const detail::Declaration &declaration);

/// What a tensor is called where masks and scores read it: "%documents".
std::string writeTable(const detail::Declaration &tensor);

/// The argument with the ranges of the blocks of a summarized tensor.
detail::Declaration declareRanges(const detail::Declaration &tensor);

/// The arguments of a kernel, each once, in the order in which they were added.
class Parameters {
public:
  /// Of a summarized tensor, also the ranges of its blocks. An error if the
  /// declaration is malformed, or another one has its name.
  Status add(const detail::DeclarationPtr &declaration);

  /// Makes the names so far the kernel's own: adding one of them from now on is
  /// an error.
  void reserve() { numReserved = declarations.size(); }

  /// "%query: tensor<...>, %key: ...", a line for each.
  std::string write() const;

  /// "%documents.summarized = attn.with_block_range ...", a line for each
  /// summarized tensor.
  std::string writeSummaries() const;

private:
  std::vector<detail::DeclarationPtr> declarations;
  std::size_t numReserved = 0;
};

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_PARAMETERS_H
