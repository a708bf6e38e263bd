//===- AttentionChecks.h - What is wrong with an Attention ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_ATTENTIONCHECKS_H
#define ATTN_RUNTIME_BUILDER_ATTENTIONCHECKS_H

#include "attn/attention.h"

namespace attn::builder {

/// The type of scores.
inline ElementType getAccumulationType(const Attention &attention) {
  return attention.type == ElementType::f64 ? ElementType::f64
                                            : ElementType::f32;
}

/// That a member of a description is not what it has to be.
inline Error expected(const std::string &member, const std::string &expected,
                      const std::string &actual) {
  return {member + ": expected " + expected + ", got " + actual, {}};
}

/// Everything but the expressions, and the names of arguments.
Status check(const Attention &attention);

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_ATTENTIONCHECKS_H
