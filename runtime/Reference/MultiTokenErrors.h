//===- MultiTokenErrors.h - What rounding does to its steps -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// How far rounding moves what the steps of multi-token attention make, for the
// scales of its gradients' errors: as squares, in units of what is lost where
// an element is rounded.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MULTITOKENERRORS_H
#define ATTN_REFERENCE_MULTITOKENERRORS_H

#include "runtime/Reference/MultiTokenCubes.h"

namespace attn::reference {

/// Numbers, and the squares of their errors.
struct RoundedCube {
  Cube numbers, errors;

  /// That of the product of one of them and a number that is exact, as a term
  /// of a sum: by the square of that number.
  double getErrorOfTerm(Cube::Index h, Cube::Index i, Cube::Index j,
                        double rounding) const {
    double number = numbers.at(h, i, j);
    return errors.at(h, i, j) + rounding * number * number;
  }
};

/// The squares of the errors of the steps.
struct MultiTokenErrors {
  StagedCubes before, after;
};

/// Those of one batch entry.
MultiTokenErrors computeErrors(const MultiTokenSteps &steps, std::int64_t b,
                               const MultiTokenCubes &cubes);

} // namespace attn::reference

#endif // ATTN_REFERENCE_MULTITOKENERRORS_H
