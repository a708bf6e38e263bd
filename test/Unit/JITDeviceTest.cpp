//===- JITDeviceTest.cpp - Kernels of GPUs, through the engine ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/TextReplacement.h"
#include "test/Unit/FailingCalls.h"
#include "test/Unit/FakePtxas.h"
#include "test/Unit/JITTesting.h"
#include "test/Unit/MockCUDADriver.h"

#include "gmock/gmock.h"

#include <algorithm>

using namespace attn;
using namespace attn::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

using Source = CompileStats::Source;

std::string errorOf(const auto &result) {
  return result ? "" : result.error().message;
}

/// Causal attention of 4 heads, which 2 of keys and values share.
std::string attentionText(const std::string &type) {
  std::string query = "tensor<?x4x?x16x" + type + ">";
  std::string key = "tensor<?x2x?x16x" + type + ">";
  return "func.func @causal(%query: " + query + ", %key: " + key +
         ", %value: " + key + ", %cap: f32) -> " + query + R"( {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : )" +
         query + R"(
  %length = tensor.dim %query, %c2 : )" +
         query + R"(
  %init = tensor.empty(%batch, %length) : )" +
         query + R"(
  %output = attn.attention ins(%query, %key, %value : )" +
         query + ", " + key + ", " + key + ") outs(%init : " + query +
         R"() score softcap(%cap : f32) mask causal
  return %output : )" +
         query + R"(
})";
}

/// Each test has a driver without a GPU, and a ptxas whose machine code is the
/// PTX.
class JITDevice : public testing::Test {
protected:
  JITDevice() {
    driver.reset();
    if (const char *path = std::getenv("PATH"))
      oldPath = path;
    std::string folder = std::filesystem::path(ptxas.path()).parent_path();
    setenv("PATH", (folder + ":" + oldPath).c_str(), 1);
  }
  ~JITDevice() override {
    setenv("PATH", oldPath.c_str(), 1);
    EXPECT_EQ(driver.countLive(), 0u);
    EXPECT_EQ(MockDriver::current(), nullptr);
  }

  static Engine createEngine(EngineOptions options = {}) {
    if (options.gpuDriver.empty())
      options.gpuDriver = ATTN_MOCK_DRIVER;
    Expected<Engine> engine = Engine::create(options);
    EXPECT_EQ(errorOf(engine), "");
    return *engine;
  }

  static Expected<Kernel> compile(const Engine &engine,
                                  const std::string &type = "f16",
                                  bool fallBackToCPU = false) {
    return engine.compile(attentionText(type),
                          {.pipeline = "gpu", .fallBackToCPU = fallBackToCPU});
  }

  /// From the disk after the first test that asks for it.
  static Expected<Kernel> compileOnce() {
    static const TemporaryFolder folder;
    return compile(createEngine({.cacheDirectory = folder.path()}));
  }

  MockDriver &driver = MockDriver::get();
  FakePtxas ptxas{"13.0", "cat \"$5\" > \"$4\""};
  std::string oldPath;
};

/// The arguments of a memref at an address, as the driver gets them.
std::vector<std::uint64_t> fieldsOf(const TensorView &view) {
  auto address = reinterpret_cast<std::uint64_t>(view.data());
  std::vector<std::uint64_t> result = {address, address, 0};
  for (std::span<const std::int64_t> words : {view.sizes(), view.strides()})
    result.insert(result.end(), words.begin(), words.end());
  return result;
}

/// Query, key and value and the output that they make, with any memory.
struct Operands {
  Operands(void *query, void *key, void *value, void *output)
      : query(makeView(query, 4, 70)), key(makeView(key, 2, 90)),
        value(makeView(value, 2, 90)), output(makeView(output, 4, 70)) {}

  /// Sizes (3, heads, length, 16) of an order (3, length, heads, 16) in memory.
  static TensorView makeView(void *data, std::int64_t heads,
                             std::int64_t length) {
    const std::int64_t sizes[] = {3, heads, length, 16};
    const std::int64_t strides[] = {heads * length * 16, 16, heads * 16, 1};
    return TensorView(static_cast<f16 *>(data), sizes, strides);
  }

  static constexpr std::size_t queryElements = 3 * 4 * 70 * 16,
                               keyElements = 3 * 2 * 90 * 16;

  TensorView query, key, value, output;
};

/// The same in the host's memory.
struct HostOperands {
  std::vector<f16> query = std::vector<f16>(Operands::queryElements),
                   key = std::vector<f16>(Operands::keyElements),
                   value = std::vector<f16>(Operands::keyElements),
                   output = std::vector<f16>(Operands::queryElements);
  Operands views{query.data(), key.data(), value.data(), output.data()};

  Status run(const Kernel &kernel) const {
    return kernel.run({views.query, views.key, views.value, 30.0},
                      {views.output});
  }
};

//===----------------------------------------------------------------------===//
// What is launched
//===----------------------------------------------------------------------===//

TEST_F(JITDevice, Launch) {
  Expected<Kernel> kernel = compile(createEngine());
  ASSERT_EQ(errorOf(kernel), "");
  EXPECT_EQ(kernel->pipeline(), "gpu");
  EXPECT_EQ(kernel->stats().source, Source::compiler);
  EXPECT_GT(kernel->stats().deviceMs, 0);
  EXPECT_EQ(ptxas.calls(), 1u);

  // Nobody reads what is there.
  auto at = [](std::uintptr_t address) {
    return reinterpret_cast<void *>(address);
  };
  Operands views(at(0x10000), at(0x20000), at(0x30000), at(0x40000));
  ASSERT_EQ(errorOf(kernel->launch({views.query, views.key, views.value, 30.0},
                                   {views.output}, /*stream=*/nullptr)),
            "");
  ASSERT_EQ(driver.launches.size(), 1u);
  const MockLaunch &launch = driver.launches.front();
  EXPECT_THAT(launch.grid, ElementsAre(1, 4, 3)); // 70 queries in tiles of 128.
  EXPECT_THAT(launch.block, ElementsAre(128, 1, 1));
  EXPECT_GT(launch.sharedBytes, 0u);
  EXPECT_EQ(launch.stream, nullptr);
  for (const TensorView &view :
       {views.query, views.key, views.value, views.output}) {
    std::vector<std::uint64_t> fields = fieldsOf(view);
    EXPECT_NE(std::ranges::search(launch.arguments, fields).begin(),
              launch.arguments.end());
  }
  EXPECT_THAT(launch.arguments, testing::Contains(0x41f00000u)); // 30.0f
}

/// Sizes of 0 in the call: the driver refuses a grid without blocks.
TEST_F(JITDevice, EmptyGrids) {
  Expected<Kernel> kernel = compileOnce();
  ASSERT_EQ(errorOf(kernel), "");
  std::vector<f16> memory(4096);
  auto launch = [&](std::int64_t batch, std::int64_t queries,
                    std::int64_t keys) {
    const std::int64_t querySizes[] = {batch, 4, queries, 16},
                       keySizes[] = {batch, 2, keys, 16};
    TensorView query(memory.data(), querySizes),
        key(memory.data() + 1024, keySizes),
        output(memory.data() + 2048, querySizes);
    driver.launches.clear();
    return errorOf(kernel->launch({query, key, key, 30.0}, {output}, nullptr));
  };
  for (std::int64_t queries : {1, 5}) {
    SCOPED_TRACE(queries);
    EXPECT_EQ(launch(/*batch=*/0, queries, /*keys=*/9), "");
    EXPECT_THAT(driver.launches, testing::IsEmpty());
    // Outputs become 0.
    EXPECT_EQ(launch(/*batch=*/1, queries, /*keys=*/0), "");
    EXPECT_THAT(driver.launches, testing::Not(testing::IsEmpty()));
  }
  EXPECT_EQ(launch(/*batch=*/1, /*queries=*/0, /*keys=*/9), "");
  EXPECT_THAT(driver.launches, testing::IsEmpty());
}

/// The driver takes 65535 workgroups in z, so that there are several launches.
TEST_F(JITDevice, ManyBatchEntries) {
  Expected<Kernel> kernel = compileOnce();
  ASSERT_EQ(errorOf(kernel), "");
  auto makeView = [](std::uintptr_t address, std::int64_t heads) {
    const std::int64_t sizes[] = {65540, heads, 2, 16};
    return TensorView(reinterpret_cast<f16 *>(address), sizes);
  };
  // Nobody reads what is there.
  TensorView query = makeView(std::uintptr_t(1) << 32, 4),
             key = makeView(std::uintptr_t(2) << 32, 2),
             output = makeView(std::uintptr_t(3) << 32, 4);
  ASSERT_EQ(errorOf(kernel->launch({query, key, key, 30.0}, {output}, nullptr)),
            "");
  ASSERT_EQ(driver.launches.size(), 2u);
  EXPECT_THAT(driver.launches[0].grid, ElementsAre(1, 4, 65535));
  EXPECT_THAT(driver.launches[0].arguments,
              testing::Not(testing::Contains(65535u)));
  EXPECT_THAT(driver.launches[1].grid, ElementsAre(1, 4, 5));
  EXPECT_THAT(driver.launches[1].arguments, testing::Contains(65535u));
}

/// The driver that reads it refuses what is beyond the architecture.
TEST_F(JITDevice, MachineCode) {
  setenv("PATH", oldPath.c_str(), 1);
  Expected<Kernel> kernel = compile(createEngine());
  ASSERT_EQ(errorOf(kernel), "");
  EXPECT_EQ(errorOf(HostOperands().run(*kernel)), "");
  bool isMachineCode = false;
  for (const auto &[module, kernels] : driver.modules)
    for (const auto &[name, each] : kernels) {
      isMachineCode |= each.registers > 0;
      EXPECT_FALSE(each.parameters.empty()) << name;
    }
  if (!isMachineCode)
    GTEST_SKIP() << "there is no ptxas: PTX was loaded";
}

TEST_F(JITDevice, PTXWithoutMachineCode) {
  struct {
    const char *script;
    int ofMachineCode;
    Source second; ///< Where another engine has the kernel from.
    const char *remark;
  } cases[] = {
      {FakePtxas::assembles, 209, Source::diskCache,
       "<string>: remark: is compiled by the driver, which does not take the "
       "machine code of ptxas: cannot load kernels for sm_90a on Mock GPU: "
       "CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image is available for "
       "execution on the device)"},
      // The next time, ptxas may have room for its files.
      {"echo 'fatal : sm_90a is not defined' >&2; exit 255", 0,
       Source::compiler,
       "<string>: remark: is compiled by the driver, because ptxas failed: "}};
  for (const auto &each : cases) {
    FakePtxas other("1", each.script);
    std::string folder = std::filesystem::path(other.path()).parent_path();
    setenv("PATH", (folder + ":" + oldPath).c_str(), 1);
    driver.ofMachineCode = each.ofMachineCode;
    TemporaryFolder cache;
    for (Source source : {Source::compiler, each.second}) {
      Expected<Kernel> kernel =
          compile(createEngine({.cacheDirectory = cache.path()}));
      ASSERT_EQ(errorOf(kernel), "");
      EXPECT_EQ(kernel->stats().source, source);
      ASSERT_FALSE(kernel->remarks().empty());
      EXPECT_THAT(formatDiagnostic(kernel->remarks().back()),
                  StartsWith(each.remark));
      EXPECT_EQ(errorOf(HostOperands().run(*kernel)), "");
    }
  }
}

/// Two workgroups of four warps for each multiprocessor have room for their
/// keys and values. Half as many multiprocessors are told apart, and have half
/// as many parts.
TEST_F(JITDevice, PartsOfKeys) {
  std::string text =
      replaceAll(replaceAll(attentionText("f16"), "4x?x16", "4x1x16"),
                 "%batch, %length", "%batch");
  auto countWorkgroups = [&] {
    driver.launches.clear();
    Expected<Kernel> kernel = createEngine().compile(text, {.pipeline = "gpu"});
    EXPECT_EQ(errorOf(kernel), "");
    std::vector<f16> query(4 * 16), key(2 * 65536 * 16), value(key),
        output(query);
    const std::int64_t few[] = {1, 4, 1, 16}, many[] = {1, 2, 65536, 16};
    EXPECT_EQ(errorOf(kernel->run({TensorView(query.data(), few),
                                   TensorView(key.data(), many),
                                   TensorView(value.data(), many), 30.0},
                                  {TensorView(output.data(), few)})),
              "");
    std::size_t most = 0;
    for (const MockLaunch &launch : driver.launches)
      most = std::max<std::size_t>(most, std::size_t(launch.grid[0]) *
                                             launch.grid[1] * launch.grid[2]);
    return most;
  };
  driver.multiprocessors = 40;
  EXPECT_EQ(countWorkgroups(), 80u);
  driver.multiprocessors = 20;
  EXPECT_EQ(countWorkgroups(), 40u);
}

TEST_F(JITDevice, LaunchesThatAreRefused) {
  Expected<Kernel> kernel = compileOnce();
  ASSERT_EQ(errorOf(kernel), "");
  HostOperands host;
  const Operands &views = host.views;
  EXPECT_EQ(errorOf(kernel->launch({views.query, views.key, views.value, 30.0},
                                   {views.query}, nullptr)),
            "result 0 overlaps argument 0 'query'");
  int notAStream;
  EXPECT_EQ(errorOf(kernel->launch({views.query, views.key, views.value, 30.0},
                                   {views.output}, &notAStream)),
            "cannot launch kernel 'attn_kernel_kernel_1': "
            "CUDA_ERROR_INVALID_HANDLE (invalid resource handle)");
  Kernel onCPU = test::compile(attentionText("f16"));
  EXPECT_EQ(errorOf(onCPU.launch({views.query, views.key, views.value, 30.0},
                                 {views.output}, nullptr)),
            "expected a kernel of pipeline 'gpu' to launch, got one of 'cpu'");
}

//===----------------------------------------------------------------------===//
// Tensors of the host
//===----------------------------------------------------------------------===//

TEST_F(JITDevice, Run) {
  Expected<Kernel> kernel = compileOnce();
  ASSERT_EQ(errorOf(kernel), "");
  HostOperands host;
  for (std::size_t i = 0; i < host.query.size(); ++i)
    host.query[i] = f16(float(i % 1000 + 1));
  // Copies the query to the output, which has its strides.
  driver.execute = [&](const MockLaunch &launch) {
    std::vector<std::byte> *query = nullptr, *output = nullptr;
    for (auto &[address, buffer] : driver.buffers) {
      EXPECT_THAT(launch.arguments, testing::Contains(address));
      if (buffer.size() == sizeof(f16) * host.query.size())
        (buffer[1] != std::byte(0) ? query : output) = &buffer;
    }
    ASSERT_TRUE(query && output);
    std::ranges::copy(*query, output->begin());
  };
  ASSERT_EQ(errorOf(host.run(*kernel)), "");
  for (std::size_t i = 0; i < host.query.size(); ++i)
    ASSERT_EQ(float(host.output[i]), float(host.query[i])) << i;
  EXPECT_THAT(driver.buffers, testing::IsEmpty());
  EXPECT_THAT(driver.streams, testing::IsEmpty());

  // What lies between the elements of a result is not written.
  HostOperands wide;
  std::vector<f16> output(2 * Operands::queryElements, f16(1.0f));
  const std::int64_t sizes[] = {3, 4, 70, 16},
                     strides[] = {2 * 4480, 32, 2 * 64, 1};
  wide.views.output = TensorView(output.data(), sizes, strides);
  driver.execute = [&](const MockLaunch &) {
    for (auto &[address, buffer] : driver.buffers)
      std::ranges::fill(buffer, std::byte(0));
  };
  ASSERT_EQ(errorOf(wide.run(*kernel)), "");
  for (std::size_t i = 0; i < output.size(); ++i)
    ASSERT_EQ(float(output[i]), i % 32 < 16 ? 0.0f : 1.0f) << i;
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

TEST_F(JITDevice, NoGPU) {
  Engine engine = createEngine({.gpuDriver = "/no/libcuda.so.1"});
  EXPECT_THAT(errorOf(compile(engine)),
              StartsWith("no GPU: cannot load NVIDIA's driver: "));
  Expected<Kernel> kernel = compile(engine, "f16", /*fallBackToCPU=*/true);
  ASSERT_EQ(errorOf(kernel), "");
  EXPECT_EQ(kernel->pipeline(), "cpu");
  ASSERT_FALSE(kernel->remarks().empty());
  EXPECT_THAT(formatDiagnostic(kernel->remarks().front()),
              StartsWith("<string>: remark: is compiled for the CPU: no GPU: "
                         "cannot load NVIDIA's driver: "));
  EXPECT_EQ(errorOf(HostOperands().run(*kernel)), "");

  Engine wrong = createEngine({.gpu = 1});
  EXPECT_EQ(errorOf(compile(wrong)),
            "ordinal: expected a GPU from 0 to 0, got 1");
  driver.major = 7;
  EXPECT_EQ(errorOf(compile(createEngine())),
            "architecture: expected sm_80 or a later one that LLVM knows, got "
            "'sm_70'");
}

TEST_F(JITDevice, NotLoweredForGPUs) {
  Engine engine = createEngine();
  Expected<Kernel> kernel = compile(engine, "f64");
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().diagnostics,
              testing::Contains(testing::Field(
                  &Diagnostic::message,
                  HasSubstr("'attn.attention' op is lowered for a GPU in "
                            "f32, f16 and bf16 only, got f64"))))
      << errorOf(kernel);
  kernel = compile(engine, "f64", /*fallBackToCPU=*/true);
  ASSERT_EQ(errorOf(kernel), "");
  EXPECT_EQ(kernel->pipeline(), "cpu");
}

/// Heads so long that only other GPUs have the workgroup memory.
TEST_F(JITDevice, WorkgroupMemory) {
  driver.major = 8;
  driver.minor = 6;
  std::string type = "tensor<1x2x100x512xf32>";
  std::string text = "func.func @f(%q: " + type + ") -> " + type + R"( {
  %init = tensor.empty() : )" +
                     type + R"(
  %output = attn.attention ins(%q, %q, %q : )" +
                     type + ", " + type + ", " + type +
                     ") outs(%init : " + type + R"()
  return %output : )" +
                     type + "\n}";
  Engine engine = createEngine();
  Expected<Kernel> kernel =
      engine.compile(text, {.pipeline = "gpu", .fileName = "heads.mlir"});
  ASSERT_FALSE(kernel);
  EXPECT_THAT(
      kernel.error().diagnostics,
      testing::Contains(testing::AllOf(
          testing::Field(&Diagnostic::message,
                         HasSubstr("bytes of workgroup memory, of "
                                   "which this GPU has at most 101376")),
          testing::Field(&Diagnostic::line, 3u))))
      << errorOf(kernel);
  kernel = engine.compile(text, {.pipeline = "gpu", .fallBackToCPU = true});
  ASSERT_EQ(errorOf(kernel), "");
  EXPECT_EQ(kernel->pipeline(), "cpu");
}

TEST_F(JITDevice, EveryCallFails) {
  TemporaryFolder folder;
  EngineOptions options = {.cacheDirectory = folder.path()};
  ASSERT_EQ(errorOf(compile(createEngine(options))), "");
  // From the disk, so that it is quick.
  auto everything = [&]() -> Status {
    Expected<Kernel> kernel = compile(createEngine(options));
    if (!kernel)
      return kernel.error();
    EXPECT_EQ(kernel->stats().source, Source::diskCache);
    return HostOperands().run(*kernel);
  };
  expectEveryFailureIsSaid(everything, 700,
                           "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory "
                           "access was encountered)");
}

TEST_F(JITDevice, OutOfMemory) {
  Expected<Kernel> kernel = compileOnce();
  ASSERT_EQ(errorOf(kernel), "");
  HostOperands host;
  driver.largestBuffer = 20000;
  EXPECT_EQ(errorOf(host.run(*kernel)),
            "cannot allocate 26880 bytes on the GPU: "
            "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  driver.largestBuffer = std::size_t(1) << 30;
  EXPECT_EQ(errorOf(host.run(*kernel)), "");
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

TEST_F(JITDevice, Caches) {
  TemporaryFolder folder;
  EngineOptions options = {.cacheDirectory = folder.path()};
  auto compileAndRun = [&](const Engine &engine) {
    Expected<Kernel> kernel = compile(engine);
    EXPECT_EQ(errorOf(kernel), "");
    EXPECT_EQ(errorOf(HostOperands().run(*kernel)), "");
    return kernel->stats().source;
  };
  Engine first = createEngine(options);
  EXPECT_EQ(compileAndRun(first), Source::compiler);
  EXPECT_EQ(ptxas.calls(), 1u); // For all kernels that are launched.
  EXPECT_EQ(compileAndRun(first), Source::memoryCache);
  EXPECT_EQ(compileAndRun(createEngine(options)), Source::diskCache);
  EXPECT_EQ(ptxas.calls(), 1u);
  driver.major = 8;
  EXPECT_EQ(compileAndRun(createEngine(options)), Source::compiler);
  EXPECT_EQ(compileAndRun(createEngine(options)), Source::diskCache);
  EXPECT_EQ(ptxas.calls(), 2u);
}

} // namespace
