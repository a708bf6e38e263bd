//===- DeviceCompilerTest.cpp - gpu.module to PTX and machine code --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/DeviceCompiler.h"
#include "runtime/CUDA/Program.h"

#include "lib/Registration/Registration.h"
#include "test/Unit/FakePtxas.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <sstream>

using namespace attn;
using namespace attn::cuda;
using attn::test::FakePtxas;
using attn::test::TemporaryFolder;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// A module with kernels, and what it was parsed in.
class Kernels {
public:
  static Kernels parse(const std::string &text) {
    Kernels result;
    result.module =
        mlir::parseSourceString<mlir::ModuleOp>(text, result.context.get());
    return result;
  }
  /// Those that the pipeline's own test lowers.
  static Kernels parseExample() {
    Kernels result;
    result.module = mlir::parseSourceFile<mlir::ModuleOp>(
        ATTN_SOURCE_DIR "/test/Pipelines/gpu-to-nvvm.mlir",
        result.context.get());
    return result;
  }

  mlir::gpu::GPUModuleOp operator*() const {
    return *module.get().getOps<mlir::gpu::GPUModuleOp>().begin();
  }
  std::string print() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.get()->print(os);
    return text;
  }

private:
  Kernels() {
    mlir::DialectRegistry registry;
    mlir::attn::registerDeviceDialects(registry);
    registry.insert<mlir::func::FuncDialect>(); // Of the example's host part.
    context = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
    context->printOpOnDiagnostic(false);
  }

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::string errorOf(const Expected<DeviceCode> &code) {
  if (code)
    return "";
  std::string text = code.error().message;
  for (const Diagnostic &diagnostic : code.error().diagnostics)
    text += "\n" + std::to_string(diagnostic.line) + ": " + diagnostic.message;
  return text;
}

/// Compiles text for an architecture, to PTX alone.
std::string errorOf(const std::string &text, const std::string &architecture) {
  Kernels kernels = Kernels::parse(text);
  return errorOf(DeviceCompiler::create({.architecture = architecture})
                     ->compile(*kernels));
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

TEST(DeviceCompiler, PTX) {
  Kernels kernels = Kernels::parseExample();
  std::string before = kernels.print();
  for (const char *architecture :
       {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"}) {
    SCOPED_TRACE(architecture);
    Expected<DeviceCompiler> compiler =
        DeviceCompiler::create({.architecture = architecture});
    ASSERT_TRUE(compiler.ok()) << compiler.error().message;
    Expected<DeviceCode> code = compiler->compile(*kernels);
    ASSERT_EQ(errorOf(code), "");
    EXPECT_EQ(code->architecture, architecture);
    EXPECT_THAT(code->ptx, HasSubstr(std::string(".target ") + architecture));
    for (const char *kernel : {"saxpy", "reverse", "products", "bf16_products"})
      EXPECT_THAT(code->ptx,
                  HasSubstr(std::string(".visible .entry ") + kernel + "("));
    EXPECT_EQ(code->cubin, "");
    EXPECT_TRUE(code->resources.empty());
  }
  EXPECT_EQ(kernels.print(), before);
}

/// The bits of each parameter of a kernel, as PTX declares them.
std::vector<int> readParameters(const std::string &ptx,
                                const std::string &kernel) {
  std::size_t begin = ptx.find(".entry " + kernel + "(");
  std::istringstream words(ptx.substr(begin, ptx.find(')', begin) - begin));
  std::vector<int> bits;
  for (std::string word, type; words >> word;)
    if (word == ".param" && words >> type)
      bits.push_back(std::stoi(type.substr(2))); // After ".f", ".u" or ".b".
  return bits;
}

TEST(DeviceCompiler, TakesWhatLaunchesPass) {
  Kernels kernels = Kernels::parseExample();
  Expected<DeviceCode> code =
      DeviceCompiler::create({.architecture = "sm_80"})->compile(*kernels);
  ASSERT_EQ(errorOf(code), "");
  const std::int64_t sizes[] = {3, 5}, strides[] = {5, 1};
  LaunchArguments saxpy;
  saxpy.add(2.0f);
  saxpy.addMemRef(0x1000, std::span(sizes, 1), std::span(strides, 1));
  saxpy.addMemRef(0x2000, std::span(sizes, 1), std::span(strides, 1));
  std::vector<int> bits(saxpy.size(), 64);
  bits[0] = 32;
  EXPECT_EQ(readParameters(code->ptx, "saxpy"), bits);
  LaunchArguments products;
  for (int i = 0; i < 3; ++i)
    products.addMemRef(0x1000, sizes, strides);
  EXPECT_EQ(readParameters(code->ptx, "products"),
            std::vector<int>(products.size(), 64));
}

TEST(DeviceCompiler, Architectures) {
  for (const char *architecture :
       {"", "sm_", "sm_75", "sm_80 ", "sm_801", "sm_0x50", "gfx90a", "80"}) {
    Expected<DeviceCompiler> compiler =
        DeviceCompiler::create({.architecture = architecture});
    ASSERT_FALSE(compiler.ok()) << architecture;
    EXPECT_EQ(compiler.error().message,
              "architecture: expected sm_80 or a later one that LLVM knows, "
              "got '" +
                  std::string(architecture) + "'");
  }
}

TEST(DeviceCompiler, WhatGPUsHaveNoInstructionFor) {
  EXPECT_EQ(errorOf(R"(
gpu.module @kernels {
  gpu.func @sine(%x: memref<f64>) kernel {
    %0 = memref.load %x[] : memref<f64>
    %1 = math.sin %0 : f64
    memref.store %1, %x[] : memref<f64>
    gpu.return
  }
})",
                    "sm_80"),
            "cannot lower for sm_80: -:5:10: 'math.sin' op has no "
            "instruction on GPUs for 'f64'\n"
            "5: 'math.sin' op has no instruction on GPUs for 'f64'");
}

constexpr const char *clusters = R"(
gpu.module @kernels {
  llvm.func @wait() attributes {gpu.kernel, nvvm.kernel} {
    nvvm.cluster.arrive
    nvvm.cluster.wait
    nvvm.griddepcontrol wait
    nvvm.wgmma.fence.aligned
    llvm.return
  }
})";

TEST(DeviceCompiler, WhatAnArchitectureLacks) {
  EXPECT_EQ(errorOf(clusters, "sm_90a"), "");
  EXPECT_THAT(errorOf(clusters, "sm_80"),
              HasSubstr("is not supported on sm_80"));
}

TEST(DeviceCompiler, WhatIsNotLowered) {
  EXPECT_THAT(
      errorOf(R"(
gpu.module @kernels {
  gpu.func @f(%x: memref<2x2xf32>, %y: vector<2x2xf32>) kernel {
    %c0 = arith.constant 0 : index
    vector.store %y, %x[%c0, %c0] : memref<2x2xf32>, vector<2x2xf32>
    gpu.return
  }
})",
              "sm_80"),
      HasSubstr("5: 'vector.store' op is not lowered by this pipeline"));
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

TEST(DeviceCompiler, MachineCode) {
  std::optional<Ptxas> ptxas = Ptxas::find();
  if (!ptxas)
    GTEST_SKIP() << "there is no ptxas";
  Kernels kernels = Kernels::parseExample();
  for (const char *architecture : {"sm_80", "sm_90a"}) {
    SCOPED_TRACE(architecture);
    Expected<DeviceCompiler> compiler =
        DeviceCompiler::create({.architecture = architecture, .ptxas = ptxas});
    ASSERT_TRUE(compiler.ok());
    Expected<DeviceCode> code = compiler->compile(*kernels);
    ASSERT_EQ(errorOf(code), "");
    EXPECT_THAT(code->cubin, StartsWith("\177ELF"));
    std::vector<std::string> names;
    for (const KernelResources &kernel : code->resources) {
      names.push_back(kernel.name);
      EXPECT_GT(kernel.registers, 0u);
      EXPECT_EQ(kernel.stackBytes, 0u);
      EXPECT_EQ(kernel.spillStoreBytes, 0u);
      EXPECT_EQ(kernel.spillLoadBytes, 0u);
      if (kernel.name == "reverse")
        EXPECT_GE(kernel.staticSharedBytes, 128 * sizeof(float));
    }
    EXPECT_THAT(names, testing::UnorderedElementsAre(
                           "saxpy", "reverse", "products", "bf16_products"));
  }
}

TEST(DeviceCompiler, PtxasFails) {
  FakePtxas ptxas("1", "echo 'ptxas fatal : no room' >&2; exit 7");
  Kernels kernels = Kernels::parseExample();
  TemporaryFolder folder;
  Expected<DeviceCompiler> compiler =
      DeviceCompiler::create({.architecture = "sm_80",
                              .ptxas = *Ptxas::open(ptxas.path()),
                              .cacheDirectory = folder.path()});
  // Nor is it kept that it failed.
  for (std::size_t calls : {1u, 2u}) {
    Expected<DeviceCode> code = compiler->compile(*kernels);
    ASSERT_EQ(errorOf(code), "");
    EXPECT_EQ(code->cubin, "");
    EXPECT_THAT(code->ptx, HasSubstr(".target sm_80"));
    EXPECT_EQ(code->remark,
              "is compiled by the driver, because ptxas failed: " +
                  ptxas.path() + ": exit status 7\nptxas fatal : no room");
    EXPECT_EQ(ptxas.calls(), calls);
  }
}

TEST(DeviceCompiler, SlowCodeIsAFailure) {
  FakePtxas ptxas("1", std::string(FakePtxas::assembles) +
                           "\necho 'ptxas info : (C7510) Potential Performance "
                           "Loss: wgmma.mma_async are serialized'");
  Kernels kernels = Kernels::parseExample();
  Expected<DeviceCompiler> compiler = DeviceCompiler::create(
      {.architecture = "sm_90a", .ptxas = *Ptxas::open(ptxas.path())});
  EXPECT_EQ(errorOf(compiler->compile(*kernels)),
            ptxas.path() + ": ptxas info : (C7510) Potential Performance Loss: "
                           "wgmma.mma_async are serialized");
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

class DeviceCache : public testing::Test {
protected:
  DeviceCode compile(const Kernels &kernels, std::optional<FakePtxas> &ptxas,
                     const char *architecture = "sm_80") {
    DeviceCompilerOptions options{.architecture = architecture,
                                  .cacheDirectory = folder.path() + "/cache"};
    if (ptxas)
      options.ptxas = *Ptxas::open(ptxas->path());
    Expected<DeviceCompiler> compiler = DeviceCompiler::create(options);
    if (!compiler) {
      ADD_FAILURE() << compiler.error().message;
      return {};
    }
    Expected<DeviceCode> code = compiler->compile(*kernels);
    EXPECT_EQ(errorOf(code), "");
    return code ? std::move(*code) : DeviceCode();
  }

  TemporaryFolder folder;
};

TEST_F(DeviceCache, KeepsCode) {
  Kernels kernels = Kernels::parseExample();
  std::optional<FakePtxas> ptxas(std::in_place, "1", FakePtxas::assembles);
  DeviceCode first = compile(kernels, ptxas);
  EXPECT_EQ(ptxas->calls(), 1u);
  EXPECT_EQ(first.cubin, "machine code");
  ASSERT_EQ(first.resources.size(), 1u);
  DeviceCode second = compile(kernels, ptxas);
  EXPECT_EQ(ptxas->calls(), 1u);
  EXPECT_EQ(second.ptx, first.ptx);
  EXPECT_EQ(second.cubin, first.cubin);
  EXPECT_EQ(second.resources, first.resources);
  EXPECT_EQ(second.architecture, "sm_80");
}

TEST_F(DeviceCache, TellsThingsApart) {
  Kernels kernels = Kernels::parseExample();
  std::optional<FakePtxas> ptxas(std::in_place, "1", FakePtxas::assembles);
  std::optional<FakePtxas> none;
  (void)compile(kernels, ptxas);
  EXPECT_EQ(compile(kernels, none).cubin, "");
  EXPECT_THAT(compile(kernels, ptxas, "sm_90").ptx, HasSubstr("sm_90"));
  EXPECT_EQ(ptxas->calls(), 2u);
  (void)compile(Kernels::parse(clusters), ptxas, "sm_90a");
  EXPECT_EQ(ptxas->calls(), 3u);
  ptxas.emplace("2", FakePtxas::assembles); // Another version.
  (void)compile(kernels, ptxas);
  EXPECT_EQ(ptxas->calls(), 1u);
}

TEST_F(DeviceCache, DamagedFiles) {
  Kernels kernels = Kernels::parseExample();
  std::optional<FakePtxas> ptxas(std::in_place, "1", FakePtxas::assembles);
  DeviceCode good = compile(kernels, ptxas);
  for (const auto &file :
       std::filesystem::directory_iterator(folder.path() + "/cache"))
    std::filesystem::resize_file(file.path(), file.file_size() - 1);
  EXPECT_EQ(compile(kernels, ptxas).ptx, good.ptx);
  EXPECT_EQ(ptxas->calls(), 2u);
}

TEST_F(DeviceCache, UnusableDirectory) {
  Expected<DeviceCompiler> compiler = DeviceCompiler::create(
      {.architecture = "sm_80", .cacheDirectory = "/dev/null/cache"});
  ASSERT_FALSE(compiler.ok());
  EXPECT_THAT(compiler.error().message,
              StartsWith("cannot use cache directory '/dev/null/cache'"));
}

} // namespace
