//===- tuning.h - Plans that were measured ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TUNING_H
#define ATTN_TUNING_H

#include "attn/kernel.h"

#include <functional>
#include <string>
#include <vector>

namespace attn {

/// A plan that was measured.
struct TuningStep {
  /// The op, in the order of the text, and its `#attn.plan`.
  std::size_t op = 0;
  std::string plan;
  /// Over the best one before it: the median of pairs that ran in turns.
  double timesFaster = 1;
  bool isKept = false;
};

struct TuningOptions {
  /// How long to look for plans, compiling them included. The plan that is
  /// measured then is finished.
  double seconds = 10;
  /// Whether a call finds nothing in the caches that the one before read or
  /// wrote, as between the layers of a model. Else it finds what has stayed.
  bool isCold = true;
  /// Called after each plan, by the thread that tunes.
  std::function<void(const TuningStep &)> progress;
};

/// What tuning found.
struct Tuning {
  /// With the best plans, which are those that the compiler made unless others
  /// were faster by more than the measurements differ.
  Kernel kernel;
  /// What they say to each op that has a plan, in the order of the text, as
  /// `#attn.plan<...>`; empty: nothing.
  std::vector<std::string> plans;
  /// The text with these plans, to compile anywhere.
  std::string text;
  /// Over the compiler's own plans, measured once more at the end; 1 if those
  /// are the best.
  double timesFaster = 1;
  std::size_t numTried = 0; ///< Beside the compiler's own.
  bool isComplete = false;  ///< Every neighbour of the best plans was tried.
};

} // namespace attn

#endif // ATTN_TUNING_H
