//===- Plans.h - What is said to the ops of a text --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_PLANS_H
#define ATTN_RUNTIME_JIT_PLANS_H

#include "attn/engine.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>

namespace attn::jit {

/// `#attn.plan<...>` of each op of a text that may have one, in its order;
/// empty: what the text itself says. No element at all: the same of all.
using Plans = std::vector<std::string>;

/// Attaches plans to the ops of a parsed text. Fails with a diagnostic if they
/// are of another text.
mlir::LogicalResult sayPlans(mlir::ModuleOp module, const Plans &plans);

/// Other plans for each op than what `plans` says: those that differ from it in
/// one number. `target` is the text of `#attn.target`'s parameters. Numbers of
/// queries are taken from `arguments` where these are the queries.
Expected<std::vector<Plans>> proposePlans(std::string_view text,
                                          const CompileOptions &options,
                                          const std::string &target,
                                          const Plans &plans,
                                          std::span<const Argument> arguments);

/// The text with the plans in it.
Expected<std::string> writePlans(std::string_view text,
                                 const CompileOptions &options,
                                 const Plans &plans);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_PLANS_H
