//===- EmulatorTesting.cpp - Kernels of GPUs in tests ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EmulatorTesting.h"

#include "dialect/AttnDialect.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Registration/Registration.h"
#include "runtime/Bridge/DiagnosticCollector.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

using namespace attn;

Expected<jit::EmulatedKernel> test::compileKernel(const std::string &text,
                                                  const std::string &name) {
  mlir::DialectRegistry registry;
  mlir::attn::registerDeviceDialects(registry);
  registry.insert<mlir::attn::AttnDialect>();
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

mlir::OwningOpRef<mlir::ModuleOp>
test::lowerForGPU(const std::string &text, mlir::MLIRContext &context) {
  mlir::DialectRegistry registry;
  mlir::attn::registerKernelDialects(registry);
  mlir::attn::registerDeviceDialects(registry);
  context.appendDialectRegistry(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager passes(&context);
  mlir::attn::buildPreparationPipeline(passes);
  mlir::attn::buildGPUPipeline(passes);
  if (module && succeeded(passes.run(*module)))
    return module;
  ADD_FAILURE() << "cannot lower for a GPU";
  return nullptr;
}

emulator::LaunchOptions test::readLaunch(mlir::gpu::LaunchFuncOp launch) {
  auto read = [](mlir::Value value) {
    llvm::APInt number;
    bool isConstant = mlir::matchPattern(value, mlir::m_ConstantInt(&number));
    EXPECT_TRUE(isConstant);
    return isConstant ? unsigned(number.getZExtValue()) : 0;
  };
  emulator::LaunchOptions options;
  options.grid = {read(launch.getGridSizeX()), read(launch.getGridSizeY()),
                  read(launch.getGridSizeZ())};
  options.block = {read(launch.getBlockSizeX()), read(launch.getBlockSizeY()),
                   read(launch.getBlockSizeZ())};
  options.dynamicSharedBytes = read(launch.getDynamicSharedMemorySize());
  return options;
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

std::string test::makeLaneText(const std::string &body) {
  return R"(
gpu.module @kernels {
  llvm.func @f(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %p = llvm.getelementptr %in[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %q = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %v = llvm.load %p : !llvm.ptr<1> -> i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %segments = llvm.mlir.constant(0x181F : i32) : i32 // Of 8 lanes.
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
)" + body +
         R"(
    llvm.store %r, %q : i32, !llvm.ptr<1>
    llvm.return
  }
})";
}

Expected<std::vector<std::int32_t>>
test::computeLanes(const std::string &body, std::vector<std::int32_t> in,
                   std::uint64_t seed) {
  Expected<jit::EmulatedKernel> kernel = compileKernel(makeLaneText(body), "f");
  if (!kernel)
    return std::move(kernel).error();
  std::vector<std::int32_t> out(in.size());
  KernelArguments arguments;
  arguments.addPointer(in, "in", /*isWritable=*/false);
  arguments.addPointer(out, "out");
  emulator::LaunchOptions options;
  options.block = {unsigned(in.size())};
  options.seed = seed;
  if (Status status = arguments.launch(*kernel, options); !status)
    return status.error();
  return out;
}

std::vector<std::int32_t> test::makeWords(std::size_t count) {
  Random random(7);
  std::vector<std::int32_t> result(count);
  for (std::int32_t &value : result)
    value = std::int32_t(random.bits());
  return result;
}

std::string attn::test::replaceLine(const std::string &text,
                                    const std::string &part, int number,
                                    const std::string &to) {
  std::vector<std::size_t> found;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    found.push_back(at);
  if (number < 0)
    number += int(found.size());
  EXPECT_TRUE(number >= 0 && number < int(found.size())) << part;
  if (number < 0 || number >= int(found.size()))
    return text;
  std::size_t begin = text.rfind('\n', found[std::size_t(number)]) + 1;
  std::size_t end = text.find('\n', begin);
  return text.substr(0, begin) + to + text.substr(end);
}
