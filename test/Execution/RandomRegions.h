//===- RandomRegions.h - Random masks and scores as regions -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_RANDOMREGIONS_H
#define ATTN_TEST_EXECUTION_RANDOMREGIONS_H

#include "test/Execution/Forms.h"

namespace attn::test {

/// A comparison, or several, of random expressions of b, h, p, j and a tensor:
/// many are of the query's position or the key alone, or the same everywhere.
MaskForm createRandomMask(const FormContext &context, Random &random);

/// A continuous function of such expressions and of the score, or of neither.
ScoreForm createRandomScore(const FormContext &context, Random &random);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_RANDOMREGIONS_H
