//===- WarpgroupsToPTX.cpp - Products of warpgroups as PTX ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/GPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_WARPGROUPSTOPTX
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// "{$first, ..., $first + count - 1}".
static std::string nameOperands(int64_t first, int64_t count) {
  auto names = llvm::map_range(llvm::seq(first, first + count), [](int64_t i) {
    return "$" + std::to_string(i);
  });
  return "{" + llvm::join(names, ", ") + "}";
}

/// Inline assembly, with as many results as there are types.
static SmallVector<Value> emitAssembly(ImplicitLocOpBuilder &b, TypeRange types,
                                       ValueRange operands,
                                       const std::string &text,
                                       ArrayRef<std::string> constraints) {
  bool isOne = types.size() == 1;
  Type type = isOne ? types.front()
                    : LLVM::LLVMStructType::getLiteral(b.getContext(),
                                                       llvm::to_vector(types));
  Value result =
      LLVM::InlineAsmOp::create(
          b, type, operands, text, llvm::join(constraints, ","),
          /*has_side_effects=*/true, /*is_align_stack=*/false,
          LLVM::tailcallkind::TailCallKind::None,
          LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
          /*operand_attrs=*/ArrayAttr())
          .getResult(0);
  if (isOne)
    return {result};
  SmallVector<Value> results;
  for (size_t i = 0; i < types.size(); ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, result, int64_t(i)));
  return results;
}

/// A descriptor, of an operand and a step. Where it begins are bits of the
/// first word: without a carry, the other one stays as it is.
static std::string writeStep(StringRef name, int64_t operand, int64_t step) {
  return llvm::formatv("mov.b64 {{begin, rest}, ${0};\n"
                       "add.u32 begin, begin, {1};\n"
                       "mov.b64 {2}, {{begin, rest};\n",
                       operand, step, name);
}

/// Each step of wgmma.mma_async, of which the first one begins at 0 if there
/// are no sums. NVVM's takes no first factor from registers (MLIR 22.1).
static void convert(WarpgroupMmaOp op) {
  OpBuilder builder(op);
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  auto numSums = int64_t(op.getNumResults()),
       numPairs = int64_t(op.getLhs().size());
  StringRef type = op.getFactorType().isF16() ? "f16" : "bf16";
  std::string sums = nameOperands(0, numSums);
  std::string text = "{\n.reg .b64 lhs, rhs;\n.reg .b32 begin, rest;\n"
                     ".reg .pred begun;\n"
                     "setp.ne.b32 begun, 0, 0;\n"
                     "wgmma.fence.sync.aligned;\n";
  for (auto [i, step] : llvm::enumerate(op.getSteps())) {
    std::string lhs = "lhs";
    if (op.readsBoth())
      text += writeStep("lhs", numSums, (*op.getLhsSteps())[i]);
    else
      lhs = nameOperands(numSums + 4 * int64_t(i), 4);
    // Of a first factor in memory, it can be transposed, too.
    text += writeStep("rhs", numSums + numPairs, step);
    text += llvm::formatv(
        "wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {2}, {3}, rhs, "
        "{4}, 1, 1, {5}{6};\n",
        op.getColumns(), type, sums, lhs,
        i == 0 && op.getSums().empty() ? "begun" : "1",
        op.readsBoth() ? "0, " : "", op.getTransposed() ? 1 : 0);
  }
  text += "wgmma.commit_group.sync.aligned;\n}";
  SmallVector<Value> operands;
  for (Value factor : op.getLhs())
    operands.push_back(
        op.readsBoth() ? factor
                       : LLVM::BitcastOp::create(b, b.getI32Type(), factor));
  operands.push_back(op.getRhs());
  llvm::append_range(operands, op.getSums());
  SmallVector<std::string> constraints(size_t(numSums), "=f");
  constraints.append(size_t(numPairs), op.readsBoth() ? "l" : "r");
  constraints.push_back("l");
  for (size_t i = 0; i < op.getSums().size(); ++i)
    constraints.push_back(std::to_string(i));
  op->replaceAllUsesWith(
      emitAssembly(b, op.getResultTypes(), operands, text, constraints));
  op.erase();
}

/// The sums are operands, so that nothing reads them before.
static void convert(WarpgroupWaitOp op) {
  OpBuilder builder(op);
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  SmallVector<std::string> constraints(op.getNumResults(), "=f");
  for (size_t i = 0; i < op.getSums().size(); ++i)
    constraints.push_back(std::to_string(i));
  op->replaceAllUsesWith(emitAssembly(b, op.getResultTypes(), op.getSums(),
                                      "wgmma.wait_group.sync.aligned " +
                                          std::to_string(op.getPending()) + ";",
                                      constraints));
  op.erase();
}

/// NVVM has no movmatrix (MLIR 22.1).
static void convert(TransposeInWarpOp op) {
  OpBuilder builder(op);
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  Type word = b.getI32Type();
  Value pair = LLVM::BitcastOp::create(b, word, op.getPair());
  Value transposed =
      emitAssembly(b, word, pair,
                   "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", {"=r", "r"})
          .front();
  op.replaceAllUsesWith(
      Value(LLVM::BitcastOp::create(b, op.getType(), transposed)));
  op.erase();
}

namespace {
struct WarpgroupsToPTX : attn::impl::WarpgroupsToPTXBase<WarpgroupsToPTX> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto product = dyn_cast<WarpgroupMmaOp>(op))
        convert(product);
      else if (auto wait = dyn_cast<WarpgroupWaitOp>(op))
        convert(wait);
      else if (auto transpose = dyn_cast<TransposeInWarpOp>(op))
        convert(transpose);
    });
  }
};
} // namespace
