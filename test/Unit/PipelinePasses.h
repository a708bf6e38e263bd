//===- PipelinePasses.h - The passes of a pipeline one by one ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_PIPELINEPASSES_H
#define ATTN_TEST_UNIT_PIPELINEPASSES_H

#include "dialect/Plan/Target.h"
#include "lib/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace attn::test {

/// The passes of the preparation and the CPU pipeline, each as the text of a
/// pipeline.
inline std::vector<std::string> listPasses() {
  mlir::OpPassManager pm(mlir::ModuleOp::getOperationName());
  mlir::attn::buildPreparationPipeline(pm);
  mlir::attn::buildCPUPipeline(pm);
  std::vector<std::string> passes;
  for (mlir::Pass &pass : pm.getPasses()) {
    llvm::raw_string_ostream os(passes.emplace_back());
    pass.printAsTextualPipeline(os);
  }
  return passes;
}

/// Says in a module what it is compiled for: the parameters of a target.
inline void setTarget(mlir::ModuleOp module, llvm::StringRef parameters) {
  module->setAttr(mlir::attn::TargetAttr::kModuleAttr,
                  mlir::attn::parseTarget(parameters, module.getContext()));
}

/// The number of the first of `passes` that is called `name`, or of all passes.
inline std::size_t findPass(const std::vector<std::string> &passes,
                            llvm::StringRef name) {
  std::size_t number = 0;
  while (number < passes.size() &&
         llvm::StringRef(passes[number]).split('{').first != name)
    ++number;
  return number;
}

inline mlir::LogicalResult runPasses(mlir::ModuleOp module,
                                     llvm::ArrayRef<std::string> passes) {
  mlir::PassManager pm(module.getContext());
  return mlir::success(
      mlir::succeeded(mlir::parsePassPipeline(llvm::join(passes, ","), pm)) &&
      mlir::succeeded(pm.run(module)));
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_PIPELINEPASSES_H
