//===- OptionChecks.cpp - What options of passes may be -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/OptionChecks.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace mlir::attn;

static std::string describe(const NumericOption &option,
                            const Twine &expected) {
  return (option.name + ": expected " + expected + ", got " +
          Twine(option.value))
      .str();
}

std::string attn::checkRange(const NumericOption &option, int64_t low,
                             int64_t high, int64_t unit) {
  if (option.value >= low && option.value <= high && option.value % unit == 0)
    return {};
  std::string range = std::to_string(low) + " to " + std::to_string(high);
  return unit == 1 ? describe(option, range)
                   : describe(option, "a multiple of " + Twine(unit) +
                                          " from " + range);
}

LogicalResult attn::reportOptions(Operation *op,
                                  ArrayRef<std::string> problems) {
  for (const std::string &problem : problems)
    if (!problem.empty())
      return emitError(op->getLoc()) << problem;
  return success();
}
