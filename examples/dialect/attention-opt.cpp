//===- attention-opt.cpp - An mlir-opt with attn and a pass of one's own --===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Registration/Registration.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace {
/// Says of every attention how many heads it has.
struct ListAttention : mlir::PassWrapper<ListAttention, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ListAttention)

  llvm::StringRef getArgument() const override { return "list-attention"; }
  llvm::StringRef getDescription() const override { return "List attention"; }
  void runOnOperation() override {
    getOperation()->walk([](mlir::attn::AttentionOp op) {
      op.emitRemark("attends with ") << op.getNumQueryHeads() << " heads of "
                                     << op.getQueryType().getDimSize(3);
    });
  }
};
} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  mlir::attn::registerAllPasses();
  mlir::PassRegistration<ListAttention>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "A compiler with attention\n", registry));
}
