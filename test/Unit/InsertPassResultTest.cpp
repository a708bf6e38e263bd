//===- InsertPassResultTest.cpp - Results with other passes in between ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles kernels for this machine with another pass before every pass of the
// CPU pipeline, and holds their results to those without. Where not all cases
// run, each kernel meets one such pass.
//
//===----------------------------------------------------------------------===//

#include "lib/Registration/Registration.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/Linker.h"
#include "runtime/JIT/Machine.h"
#include "runtime/JIT/Target.h"
#include "runtime/Support/Call.h"
#include "test/Unit/InsertedPasses.h"
#include "test/Unit/PipelinePasses.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/bit.h"
#include "llvm/Target/TargetMachine.h"

#include "gtest/gtest.h"

#include <cmath>
#include <memory>

using namespace mlir;
using namespace ::attn::jit;
using namespace ::attn::test;

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
    setTarget(*module, describeTarget(*target, readMachine()));
  for (const std::string &pass : listPasses()) {
    if (!inserted.empty())
      passes.push_back(inserted);
    passes.push_back(pass);
  }
  if (!module || failed(runPasses(*module, passes)))
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

/// A tensor in memory, and the descriptor of a memref that it is passed as.
struct Tensor {
  explicit Tensor(const InsertedArgument &argument) {
    std::int64_t count = 1;
    llvm::SmallVector<std::int64_t> strides;
    for (std::int64_t size : llvm::reverse(argument.sizes)) {
      strides.push_back(count);
      count *= size;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      float number = std::sin(float(i) * 0.37F + float(count));
      auto bits = llvm::bit_cast<std::uint32_t>(number);
      if (argument.type == "bf16") {
        append(std::uint16_t(bits >> 16));
        continue;
      }
      bool isInteger = argument.type == "i32";
      append(isInteger ? std::uint32_t(argument.integers[std::size_t(i)])
                       : bits);
    }
    auto address = llvm::bit_cast<std::int64_t>(bytes.data());
    descriptor = {address, address, /*offset=*/0};
    llvm::append_range(descriptor, argument.sizes);
    llvm::append_range(descriptor, llvm::reverse(strides));
  }

  template <typename T> void append(T element) {
    auto *begin = reinterpret_cast<const char *>(&element);
    bytes.insert(bytes.end(), begin, begin + sizeof(T));
  }

  std::vector<char> bytes;
  std::vector<std::int64_t> descriptor;
};

/// What is in all of its arguments after a call, of which some are written.
std::vector<std::vector<char>>
run(const LinkedCode &code, const std::vector<InsertedArgument> &arguments) {
  std::vector<Tensor> tensors;
  for (const InsertedArgument &argument : arguments)
    tensors.emplace_back(argument);
  std::vector<void *> views;
  for (Tensor &tensor : tensors)
    views.push_back(tensor.descriptor.data());
  ::attn::support::CallRecord record;
  const char *failure =
      ::attn::support::runGuarded(code.getEntry(), views.data(), record);
  EXPECT_EQ(failure, nullptr) << failure;
  std::vector<std::vector<char>> after;
  for (Tensor &tensor : tensors)
    after.push_back(std::move(tensor.bytes));
  return after;
}

class InsertPassResult : public testing::TestWithParam<InsertedKernel> {
protected:
  static void SetUpTestSuite() { mlir::attn::registerAllPasses(); }
};

TEST_P(InsertPassResult, IsTheSame) {
  const InsertedKernel &kernel = GetParam();
  std::string text = kernel.text;
  std::size_t begin = text.find('@');
  text.replace(begin, text.find('(', begin) - begin, "@attn_kernel");
  std::unique_ptr<LinkedCode> plain = compile(text, "");
  ASSERT_TRUE(plain);
  auto expected = run(*plain, kernel.arguments);
  ASSERT_FALSE(expected.back() == Tensor(kernel.arguments.back()).bytes);
  for (const std::string &inserted : selectInserted(kernel, /*place=*/0)) {
    std::unique_ptr<LinkedCode> code = compile(text, inserted);
    ASSERT_TRUE(code) << inserted;
    EXPECT_TRUE(run(*code, kernel.arguments) == expected) << inserted;
  }
}

INSTANTIATE_TEST_SUITE_P(All, InsertPassResult,
                         testing::ValuesIn(listInsertedKernels()),
                         [](const auto &info) { return info.param.name; });

} // namespace
