//===- PartMerge.h - States of parts of the keys, merged --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_PARTMERGE_H
#define ATTN_GPU_PARTMERGE_H

#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// Merges, in their order, the states that n parts of the keys leave of rows of
/// queries: O `(..., n, r, Dv)`, m and l `(..., n, r)`, as
/// `attn.online_attention` has them. `at` is where a row is, or an element of
/// it, without the part.
class PartMerge {
public:
  PartMerge(IndexBuilder &builder, ValueRange states, Value count)
      : b(builder), states(states), count(count) {}

  /// The largest m, and `first`.
  Value emitMaximum(ArrayRef<Value> at, Value first);

  /// The sum of `first` and of exp(m - `maximum`) * l, and, of an element, that
  /// of exp(m - `maximum`) * O.
  SmallVector<Value> emitSums(ArrayRef<Value> at, Value maximum, Value first,
                              bool withOutput);

private:
  Value extract(Value state, ArrayRef<Value> at, Value part);

  IndexBuilder &b;
  SmallVector<Value> states;
  Value count;
};

} // namespace mlir::attn

#endif // ATTN_GPU_PARTMERGE_H
