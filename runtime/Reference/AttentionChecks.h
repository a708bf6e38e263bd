//===- AttentionChecks.h - Checks of the problems of the oracles -*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_ATTENTIONCHECKS_H
#define ATTN_REFERENCE_ATTENTIONCHECKS_H

#include "runtime/Reference/Attention.h"

#include <string>

namespace attn::reference {

/// Whether the parts of a problem fit each other.
Status checkProblem(const AttentionProblem &problem);

/// A position, as messages write it.
std::string place(std::int64_t b, std::int64_t h, std::int64_t p,
                  std::int64_t j);

} // namespace attn::reference

#endif // ATTN_REFERENCE_ATTENTIONCHECKS_H
