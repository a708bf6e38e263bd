//===- Report.h - Tells people and programs how it went ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNRUN_REPORT_H
#define ATTN_TOOLS_ATTNRUN_REPORT_H

#include "attn/error.h"
#include "attn/ranks.h"
#include "attn/tuning.h"
#include "tools/attn-run/Check.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::run {

/// Everything that is told about a run.
struct Report {
  struct Value {
    std::string name; ///< Empty for results.
    std::string type; ///< "1x8x64x64xf32".
    /// Where an argument came from, or the file that a result went to.
    std::string place;
    /// Of results.
    std::vector<std::int64_t> shape;
  };
  std::string file, pipeline, entry;
  std::vector<Value> arguments, results;
  CompileStats compile;
  double fewQueriesMs = 0;      ///< To compile what only this call needs.
  std::optional<Tuning> tuning; ///< If that was asked for.
  std::vector<double> runMs;    ///< One for each repetition.
  /// Floating-point operations of a run as if nothing were masked, if known.
  std::optional<double> denseFlops;
  std::vector<Check> checks;    ///< Of the first results.
  std::optional<RankLink> link; ///< Of several ranks.
};

/// Prints what people want to know on stdout.
void printReport(const Report &report);

/// Writes all of it as JSON.
Status writeJson(llvm::StringRef path, const Report &report);

} // namespace attn::run

#endif // ATTN_TOOLS_ATTNRUN_REPORT_H
