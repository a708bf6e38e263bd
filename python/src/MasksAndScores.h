//===- MasksAndScores.h - Masks and scores in Python ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PYTHON_SRC_MASKSANDSCORES_H
#define ATTN_PYTHON_SRC_MASKSANDSCORES_H

#include "attn/masks.h"
#include "attn/scores.h"

#include <nanobind/nanobind.h>

namespace attn::python {

/// A Mask, or a function of (b, h, q, k) that is called once, here, with
/// symbols. Throws a TypeError for what is neither, or gives no Bool.
Mask toMask(nanobind::handle mask);

/// The same of a Score, or a function of (s, b, h, q, k).
Score toScore(nanobind::handle score);

/// Adds Mask, Score and what makes them.
void bindMasksAndScores(nanobind::module_ &module);

} // namespace attn::python

#endif // ATTN_PYTHON_SRC_MASKSANDSCORES_H
