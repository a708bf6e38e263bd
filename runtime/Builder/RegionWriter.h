//===- RegionWriter.h - Expressions as regions of IR ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_REGIONWRITER_H
#define ATTN_RUNTIME_BUILDER_REGIONWRITER_H

#include "attn/element_type.h"
#include "attn/error.h"
#include "attn/masks.h"
#include "runtime/Builder/Parameters.h"

#include <string>
#include <vector>

namespace attn::builder {

/// What a region is for.
enum class RegionKind { score, mask };

/// A `score` or `mask` clause on a line of its own, of names and regions;
/// nothing without items. `accumulation` is the type of scores. Adds the
/// arguments that it reads. An error names the expression.
/// What the position of the first query is computed from: nothing if it is 0,
/// one integer, a vector with one for each batch, or the two cumulative lengths
/// of sequences that end with their keys.
struct FirstPosition {
  struct Captured {
    std::string name, type; ///< In IR.
  };
  std::vector<Captured> values = {};
  bool isPerBatch = false;
};

/// Whether an item reads a tensor by the row of the query.
bool readRows(const std::vector<detail::Item> &items);

Expected<std::string> writeItems(const std::vector<detail::Item> &items,
                                 RegionKind kind, ElementType accumulation,
                                 const FirstPosition &first,
                                 Parameters &parameters);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_REGIONWRITER_H
