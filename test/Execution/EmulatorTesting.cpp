//===- EmulatorTesting.cpp - Kernels of GPUs in tests ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EmulatorTesting.h"

#include "lib/Registration/Registration.h"
#include "runtime/Bridge/DiagnosticCollector.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>

using namespace attn;

Expected<jit::EmulatedKernel> test::compileKernel(const std::string &text,
                                                  const std::string &name) {
  mlir::DialectRegistry registry;
  mlir::attn::registerDeviceDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    DiagnosticCollector diagnostics(&context);
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return diagnostics.takeError("cannot parse");
  }
  auto kernels = module->getOps<mlir::gpu::GPUModuleOp>();
  return jit::EmulatedKernel::compile(*kernels.begin(), name);
}

std::string test::replaceAll(std::string text, const std::string &from,
                             const std::string &to) {
  std::size_t at = text.find(from);
  if (at == std::string::npos) {
    std::fprintf(stderr, "no '%s' to replace\n", from.c_str());
    std::abort();
  }
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

Status test::KernelArguments::launch(const jit::EmulatedKernel &kernel,
                                     emulator::LaunchOptions options) {
  std::vector<void *> pointers;
  for (std::int64_t &value : values)
    pointers.push_back(&value);
  options.buffers = buffers;
  return kernel.launch(pointers.data(), options);
}

static constexpr std::uint64_t numSeeds = 12;

void test::expectRight(const std::string &text, const std::string &name,
                       const RunKernel &run) {
  Expected<jit::EmulatedKernel> kernel = compileKernel(text, name);
  ASSERT_TRUE(kernel) << kernel.error().message;
  for (std::uint64_t seed = 0; seed < numSeeds; ++seed)
    ASSERT_EQ(run(*kernel, seed), "") << "seed " << seed;
}

void test::expectCaught(const std::string &text, const std::string &name,
                        const RunKernel &run, const std::string &message) {
  Expected<jit::EmulatedKernel> kernel = compileKernel(text, name);
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::string all;
  for (std::uint64_t seed = 0; seed < numSeeds; ++seed) {
    std::string result = run(*kernel, seed);
    if (result.find(message) != std::string::npos)
      return;
    all += "seed " + std::to_string(seed) + ": " + result + "\n";
  }
  FAIL() << "no '" << message << "' in\n" << all;
}
