//===- Weights.h - Which arguments are weights ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_WEIGHTS_H
#define ATTN_TOOLS_WEIGHTS_H

#include "attn/error.h"

#include <string_view>
#include <vector>

namespace attn::run {

/// For each argument of function `entry` of MLIR text that is the weight of a
/// projection, or the right factor of a product of matrices: the dimensions
/// over which its products are summed. Nothing for the others.
Expected<std::vector<std::vector<int>>> findWeights(std::string_view text,
                                                    std::string_view fileName,
                                                    std::string_view entry);

} // namespace attn::run

#endif // ATTN_TOOLS_WEIGHTS_H
