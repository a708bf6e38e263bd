//===- InsertPassResultTest.cpp - Results with other passes in between ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles kernels for this machine with another pass before every pass of the
// CPU pipeline, and holds their results to those without.
//
//===----------------------------------------------------------------------===//

#include "lib/Registration/Registration.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/Linker.h"
#include "runtime/JIT/Machine.h"
#include "runtime/JIT/Target.h"
#include "runtime/Support/Call.h"
#include "test/Execution/Random.h"
#include "test/Unit/PipelinePasses.h"

#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Target/TargetMachine.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <memory>

using namespace mlir;
using namespace ::attn::jit;

namespace {

/// A kernel of `text`, with the pass `inserted` before every one if it is not
/// empty; null if it can not be compiled.
std::unique_ptr<LinkedCode> compile(const std::string &text,
                                    const std::string &inserted) {
  auto builder = selectTarget("");
  EXPECT_TRUE(builder.ok());
  auto target = llvm::cantFail(builder->createTargetMachine());
  DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      ADD_FAILURE() << diagnostic.str();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  std::vector<std::string> passes;
  if (module)
    ::attn::test::setTarget(*module, describeTarget(*target, readMachine()));
  for (const std::string &pass : ::attn::test::listPasses()) {
    if (!inserted.empty())
      passes.push_back(inserted);
    passes.push_back(pass);
  }
  if (!module || failed(::attn::test::runPasses(*module, passes)))
    return nullptr;
  ::attn::CompileStats stats;
  auto object = generateCode(
      *module, *target, stats,
      [](llvm::Module &code, llvm::TargetMachine &) { return addEntry(code); });
  auto linker = Linker::create(*builder);
  if (!object || !linker)
    return nullptr;
  auto code = (*linker)->link(*object);
  return code ? std::move(*code) : nullptr;
}

/// A tensor of f32.
struct Tensor {
  explicit Tensor(const std::array<int64_t, 4> &shape) {
    int64_t count = 1;
    for (int dim = 3; dim >= 0; --dim) {
      view.sizes[dim] = shape[std::size_t(dim)];
      view.strides[dim] = count;
      count *= shape[std::size_t(dim)];
    }
    elements.resize(std::size_t(count));
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = std::sin(float(i) * 0.37F + float(count));
    view.basePtr = view.data = elements.data();
    view.offset = 0;
  }
  std::vector<float> elements;
  StridedMemRefType<float, 4> view;
};

std::vector<float> run(const LinkedCode &code, int64_t queries, int64_t keys) {
  Tensor query({2, 8, queries, 64}), key({2, 2, keys, 64}),
      value({2, 2, keys, 64}), output({2, 8, queries, 64});
  void *views[] = {&query.view, &key.view, &value.view, &output.view};
  ::attn::support::CallRecord record;
  const char *failure =
      ::attn::support::runGuarded(code.getEntry(), views, record);
  EXPECT_EQ(failure, nullptr) << failure;
  return output.elements;
}

struct Case {
  const char *name, *mask;
  int64_t queries, keys;
  std::size_t turn;
};

class InsertPassResult : public testing::TestWithParam<Case> {
protected:
  static void SetUpTestSuite() { mlir::attn::registerAllPasses(); }
};

TEST_P(InsertPassResult, IsTheSame) {
  const Case &param = GetParam();
  std::string text = R"(
!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @attn_kernel(%q: !q, %k: !k, %v: !k) -> !q {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !q
  %length = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%batch, %length) : !q
  %r = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%init : !q) )" +
                     std::string(param.mask) + "\n  return %r : !q\n}\n";
  std::unique_ptr<LinkedCode> plain = compile(text, "");
  ASSERT_TRUE(plain);
  std::vector<float> expected = run(*plain, param.queries, param.keys);
  const std::vector<std::string> all = {"canonicalize", "cse",
                                        "loop-invariant-code-motion",
                                        "fold-memref-alias-ops"};
  for (const auto &[number, inserted] : llvm::enumerate(all)) {
    if (!::attn::test::runsAllCases() && (number + param.turn) % 2)
      continue;
    std::unique_ptr<LinkedCode> code = compile(text, inserted);
    ASSERT_TRUE(code) << inserted;
    EXPECT_EQ(run(*code, param.queries, param.keys), expected) << inserted;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, InsertPassResult,
    testing::Values(Case{"prefill", "", 70, 300, 0},
                    Case{"window", "mask causal, sliding_window(99, 0)", 300,
                         300, 1},
                    Case{"decode", "", 1, 3000, 2}),
    [](const auto &info) { return info.param.name; });

} // namespace
