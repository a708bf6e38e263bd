//===- Plans.cpp - What is said to the ops of a text ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Plans.h"
#include "runtime/Bridge/CompileTrace.h"
#include "runtime/JIT/Frontend.h"

#include "dialect/AttnOps.h"
#include "lib/Plan/PlanNeighbours.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::jit;
using mlir::attn::PlanAttr;

/// Those that may have a plan, in the order of the text.
static llvm::SmallVector<mlir::Operation *> findOps(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> ops;
  module.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (llvm::isa<mlir::attn::AttentionOp, mlir::attn::ProjectionOp,
                  mlir::attn::MultiTokenAttentionOp>(op))
      ops.push_back(op);
  });
  return ops;
}

static std::string print(PlanAttr plan) {
  std::string text;
  llvm::raw_string_ostream(text) << plan;
  return text;
}

mlir::LogicalResult jit::sayPlans(mlir::ModuleOp module, const Plans &plans) {
  if (plans.empty())
    return mlir::success();
  llvm::SmallVector<mlir::Operation *> ops = findOps(module);
  if (ops.size() != plans.size())
    return module.emitError("expected plans of ")
           << ops.size() << " ops, got " << plans.size();
  for (auto [op, text] : llvm::zip_equal(ops, plans)) {
    if (text.empty())
      continue;
    auto plan = llvm::dyn_cast_if_present<PlanAttr>(
        mlir::parseAttribute(text, module.getContext()));
    if (!plan)
      return op->emitError("expected a plan, got '") << text << "'";
    op->setAttr(PlanAttr::kName, plan);
  }
  return mlir::success();
}

/// How many queries `op` has in this call, if its query is an argument.
static std::optional<std::int64_t>
findLength(mlir::Operation *op, mlir::func::FuncOp entry,
           std::span<const Argument> arguments) {
  auto attention = llvm::dyn_cast<mlir::attn::AttentionOp>(op);
  if (!attention || attention.isRagged())
    return std::nullopt;
  auto query = llvm::dyn_cast<mlir::BlockArgument>(attention.getQuery());
  if (!query || query.getOwner()->getParentOp() != entry ||
      query.getArgNumber() >= arguments.size())
    return std::nullopt;
  const TensorView *view = arguments[query.getArgNumber()].view();
  if (!view || view->sizes().size() != 4)
    return std::nullopt;
  return view->sizes()[2];
}

namespace {

/// A text with plans said to its ops.
class PlannedText {
public:
  static Expected<PlannedText> parse(std::string_view text,
                                     const CompileOptions &options,
                                     const Plans &plans, CompileTrace &trace) {
    PlannedText result;
    result.module = trace.parse(text);
    if (!result.module)
      return trace.takeError("cannot tune");
    auto entry = findEntry(*result.module, options.entry);
    if (mlir::failed(entry) || mlir::failed(sayPlans(*result.module, plans)))
      return trace.takeError("cannot tune");
    result.entry = *entry;
    return result;
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp entry;
};

} // namespace

Expected<std::vector<Plans>>
jit::proposePlans(std::string_view text, const CompileOptions &options,
                  const std::string &target, const Plans &plans,
                  std::span<const Argument> arguments) {
  return compileGuarded<std::vector<Plans>>(
      "cannot tune", options.fileName, getKernelRegistry(),
      [&](CompileTrace &trace) -> Expected<std::vector<Plans>> {
        auto planned = PlannedText::parse(text, options, plans, trace);
        if (!planned)
          return std::move(planned).error();
        setTarget(*planned->module, target, options.quantizeQueries);
        std::vector<Plans> proposals;
        for (mlir::Operation *op : findOps(*planned->module)) {
          Plans &ofOp = proposals.emplace_back();
          if (!mlir::attn::hasPlanToTune(op))
            continue;
          for (PlanAttr plan : mlir::attn::listPlanNeighbours(
                   op, findLength(op, planned->entry, arguments)))
            ofOp.push_back(print(plan));
        }
        return proposals;
      });
}

Expected<std::string> jit::writePlans(std::string_view text,
                                      const CompileOptions &options,
                                      const Plans &plans) {
  return compileGuarded<std::string>(
      "cannot tune", options.fileName, getKernelRegistry(),
      [&](CompileTrace &trace) -> Expected<std::string> {
        auto planned = PlannedText::parse(text, options, plans, trace);
        if (!planned)
          return std::move(planned).error();
        std::string result;
        llvm::raw_string_ostream os(result);
        planned->module->print(os);
        os << "\n";
        return result;
      });
}
