//===- LayerChecks.h - What is wrong with a layer ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_LAYERCHECKS_H
#define ATTN_RUNTIME_BUILDER_LAYERCHECKS_H

#include "attn/multi_head_attention.h"

namespace attn::builder {

/// Everything but the expressions, and the names of arguments.
Status check(const MultiHeadAttention &layer);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_LAYERCHECKS_H
