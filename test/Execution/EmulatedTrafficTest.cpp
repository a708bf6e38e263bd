//===- EmulatedTrafficTest.cpp - What attention reads on a GPU ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes that the emulator loads from keys and values: for one query of each
// head, each key and value that is visible, once for all heads that share it;
// of many queries, the blocks that a tile sees; and in how many sectors and
// wavefronts memory serves that.
//
//===----------------------------------------------------------------------===//

#include "lib/Pipelines/Pipelines.h"
#include "lib/Registration/Registration.h"
#include "runtime/Bridge/DiagnosticCollector.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/EmulatedLaunch.h"
#include "runtime/JIT/Linker.h"
#include "runtime/JIT/Target.h"
#include "runtime/Support/Call.h"
#include "test/Execution/TextReplacement.h"

#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Target/TargetMachine.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::jit;

namespace {

using Half = std::uint16_t;

/// `@attn_kernel` of `text`, for the emulator. In this process, not through
/// attn::Engine, whose library has launches and a count of its own.
Expected<std::unique_ptr<LinkedCode>> compile(const std::string &text) {
  Expected<llvm::orc::JITTargetMachineBuilder> builder = selectTarget("");
  if (!builder)
    return std::move(builder).error();
  auto target = llvm::cantFail(builder->createTargetMachine());
  mlir::DialectRegistry registry;
  mlir::attn::registerKernelDialects(registry);
  mlir::attn::registerDeviceDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  DiagnosticCollector diagnostics(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager pm(&context);
  mlir::attn::buildPreparationPipeline(pm);
  mlir::attn::buildGPUEmulatorPipeline(pm);
  if (!module || mlir::failed(pm.run(*module)))
    return diagnostics.takeError("cannot compile");
  CompileStats stats;
  auto object = generateCode(
      *module, *target, stats,
      [](llvm::Module &code, llvm::TargetMachine &) { return addEntry(code); });
  if (!object)
    return std::move(object).error();
  Expected<std::shared_ptr<Linker>> linker = Linker::create(*builder);
  if (!linker)
    return std::move(linker).error();
  return (*linker)->link(*object);
}

/// A buffer of zeros, of contiguous rows, that begins where a sector of memory
/// does, or `offset` elements behind that.
template <typename Element, int rank> struct Tensor {
  explicit Tensor(const std::array<std::int64_t, rank> &shape,
                  std::int64_t offset = 0) {
    std::int64_t count = 1;
    for (int dim = rank - 1; dim >= 0; --dim) {
      view.sizes[dim] = shape[std::size_t(dim)];
      view.strides[dim] = count;
      count *= shape[std::size_t(dim)];
    }
    constexpr std::size_t alignment = 128;
    std::size_t bytes = std::size_t(count + offset) * sizeof(Element);
    memory.resize(bytes + alignment);
    void *begin = memory.data();
    std::size_t space = memory.size();
    view.basePtr = static_cast<Element *>(
        std::align(alignment, std::max<std::size_t>(bytes, 1), begin, space));
    view.data = view.basePtr + offset;
    view.offset = 0;
  }

  void set(const std::vector<Element> &elements) {
    std::copy(elements.begin(), elements.end(), view.data);
  }

  std::vector<char> memory;
  StridedMemRefType<Element, rank> view;
};

void call(const LinkedCode &code, std::vector<void *> arguments) {
  support::CallRecord record;
  const char *failure =
      support::runGuarded(code.getEntry(), arguments.data(), record);
  EXPECT_EQ(failure, nullptr) << failure;
}

constexpr std::int64_t size = 64;

} // namespace

/// Eight query heads on two key/value heads; the mask hides some keys.
TEST(EmulatedTraffic, contiguous) {
  const char *text = R"(
    func.func @attn_kernel(%q: tensor<2x8x1x64xf16>, %k: tensor<2x2x?x64xf16>,
                 %v: tensor<2x2x?x64xf16>) -> tensor<2x8x1x64xf16> {
      %init = tensor.empty() : tensor<2x8x1x64xf16>
      %o = attn.attention ins(%q, %k, %v : tensor<2x8x1x64xf16>,
          tensor<2x2x?x64xf16>, tensor<2x2x?x64xf16>)
          outs(%init : tensor<2x8x1x64xf16>)
          offset(bottom_right) mask sliding_window(2000, 0)
      return %o : tensor<2x8x1x64xf16>
    })";
  Expected<std::unique_ptr<LinkedCode>> code = compile(text);
  ASSERT_TRUE(code) << code.error().message;
  // The window of the only query has 2001 keys.
  for (auto [keys, read] : {std::pair<std::int64_t, std::int64_t>{0, 0},
                            {1, 1},
                            {777, 777},
                            {2300, 2001}}) {
    SCOPED_TRACE(keys);
    Tensor<Half, 4> query({2, 8, 1, size}), key({2, 2, keys, size}),
        value({2, 2, keys, size}), output({2, 8, 1, size});
    EmulatedTraffic traffic;
    call(**code, {&query.view, &key.view, &value.view, &output.view});
    std::uint64_t bytes = std::uint64_t(2 * 2 * read * size) * sizeof(Half);
    if (keys > 0) {
      EXPECT_EQ(traffic.of(key.view.data).bytesLoaded, bytes);
      EXPECT_EQ(traffic.of(value.view.data).bytesLoaded, bytes);
    }
  }
}

/// Query heads of one key/value head that fill several warps of a workgroup.
TEST(EmulatedTraffic, one_key_head) {
  const char *text = R"(
    func.func @attn_kernel(%q: tensor<1x40x1x64xf16>, %k: tensor<1x1x?x64xf16>,
                 %v: tensor<1x1x?x64xf16>) -> tensor<1x40x1x64xf16> {
      %init = tensor.empty() : tensor<1x40x1x64xf16>
      %o = attn.attention ins(%q, %k, %v : tensor<1x40x1x64xf16>,
          tensor<1x1x?x64xf16>, tensor<1x1x?x64xf16>)
          outs(%init : tensor<1x40x1x64xf16>)
      return %o : tensor<1x40x1x64xf16>
    })";
  Expected<std::unique_ptr<LinkedCode>> code = compile(text);
  ASSERT_TRUE(code) << code.error().message;
  constexpr std::int64_t keys = 301;
  Tensor<Half, 4> query({1, 40, 1, size}), key({1, 1, keys, size}),
      value({1, 1, keys, size}), output({1, 40, 1, size});
  EmulatedTraffic traffic;
  call(**code, {&query.view, &key.view, &value.view, &output.view});
  std::uint64_t bytes = keys * size * sizeof(Half);
  EXPECT_EQ(traffic.of(key.view.data).bytesLoaded, bytes);
  EXPECT_EQ(traffic.of(value.view.data).bytesLoaded, bytes);
}

namespace {
/// Of any number of queries and keys, in two heads.
std::string writePrefill(const std::string &type, std::int64_t headSize,
                         const std::string &parameters = "",
                         const std::string &clauses = "") {
  std::string rows =
      "tensor<1x2x?x" + std::to_string(headSize) + "x" + type + ">";
  return test::replaceAll(
      "func.func @attn_kernel(%q: ROWS, %k: ROWS, %v: ROWS" + parameters +
          R"() -> ROWS {
      %c2 = arith.constant 2 : index
      %rows = tensor.dim %q, %c2 : ROWS
      %init = tensor.empty(%rows) : ROWS
      %o = attn.attention ins(%q, %k, %v : ROWS, ROWS, ROWS) outs(%init : ROWS) )" +
          clauses + R"(
      return %o : ROWS
    })",
      "ROWS", rows);
}
} // namespace

/// Whole tiles, of rows that begin at multiples of 16 bytes: nothing waits for
/// a bank of shared memory, and all of each sector is used, once.
TEST(EmulatedTraffic, aligned) {
  constexpr std::int64_t rows = 256, ofTile = 128, sectorBytes = 32;
  for (const char *type : {"f16", "bf16"})
    for (std::int64_t headSize : {64, 128}) {
      SCOPED_TRACE(std::string(type) + " " + std::to_string(headSize));
      auto code = compile(writePrefill(type, headSize));
      ASSERT_TRUE(code) << code.error().message;
      Tensor<Half, 4> query({1, 2, rows, headSize}),
          key({1, 2, rows, headSize}), value({1, 2, rows, headSize}),
          output({1, 2, rows, headSize});
      std::uint64_t bytes = 2 * rows * std::uint64_t(headSize) * sizeof(Half);
      EmulatedTraffic traffic;
      call(**code, {&query.view, &key.view, &value.view, &output.view});
      EXPECT_GT(traffic.wavefronts(), 0u);
      EXPECT_EQ(traffic.wavefronts(), traffic.leastWavefronts());
      EXPECT_EQ(traffic.of(query.view.data).bytesLoaded, bytes);
      EXPECT_EQ(traffic.of(query.view.data).sectorsLoaded, bytes / sectorBytes);
      for (const Tensor<Half, 4> *read : {&key, &value}) {
        emulator::BufferTraffic of = traffic.of(read->view.data);
        EXPECT_EQ(of.bytesLoaded, bytes * (rows / ofTile));
        EXPECT_EQ(of.sectorsLoaded, of.bytesLoaded / sectorBytes);
      }
      EXPECT_EQ(traffic.of(output.view.data).bytesStored, bytes);
      EXPECT_EQ(traffic.of(output.view.data).sectorsStored,
                bytes / sectorBytes);
      // Rows that begin anywhere are stored by elements, so that several
      // instructions touch a sector.
      Tensor<Half, 4> apart({1, 2, rows, headSize}, /*offset=*/1);
      call(**code, {&query.view, &key.view, &value.view, &apart.view});
      EXPECT_EQ(traffic.of(apart.view.data).bytesStored, bytes);
      EXPECT_GT(traffic.of(apart.view.data).sectorsStored,
                2 * bytes / sectorBytes);
    }
}

/// Documents of 128 tokens, which the blocks of queries and keys are as large
/// as: each tile of queries reads its own.
TEST(EmulatedTraffic, documents) {
  auto code = compile(
      writePrefill("f16", size, ", %documents: tensor<1x?xi32>",
                   "mask document(%documents, %documents : tensor<1x?xi32>, "
                   "tensor<1x?xi32>)"));
  ASSERT_TRUE(code) << code.error().message;
  constexpr std::int64_t rows = 512, ofDocument = 128;
  Tensor<Half, 4> query({1, 2, rows, size}), key({1, 2, rows, size}),
      value({1, 2, rows, size}), output({1, 2, rows, size});
  Tensor<std::int32_t, 2> documents({1, rows});
  for (std::int64_t i = 0; i < rows; ++i)
    documents.view.data[i] = std::int32_t(i / ofDocument);
  EmulatedTraffic traffic;
  call(**code,
       {&query.view, &key.view, &value.view, &documents.view, &output.view});
  std::uint64_t bytes = 2 * rows * size * sizeof(Half);
  EXPECT_EQ(traffic.of(key.view.data).bytesLoaded, bytes);
  EXPECT_EQ(traffic.of(value.view.data).bytesLoaded, bytes);
}

/// Pages of sequences of different lengths, which read what is stored.
TEST(EmulatedTraffic, paged) {
  const char *text = R"(
    !cache = tensor<?x2x32x64xf16>
    !key = tensor<?x2x?x64xf16>
    func.func @attn_kernel(%q: tensor<3x8x1x64xf16>, %keys: !cache, %values: !cache,
                 %lengths: tensor<3xi32>, %table: tensor<3x?xi32>, %n: index)
        -> tensor<3x8x1x64xf16> {
      %init = tensor.empty() : tensor<3x8x1x64xf16>
      %k = attn.cache_read ins(%keys : !cache) lengths(%lengths : tensor<3xi32>)
          table(%table : tensor<3x?xi32>) size(%n) -> !key
      %v = attn.cache_read ins(%values : !cache)
          lengths(%lengths : tensor<3xi32>) table(%table : tensor<3x?xi32>)
          size(%n) -> !key
      %o = attn.attention ins(%q, %k, %v : tensor<3x8x1x64xf16>, !key, !key)
          outs(%init : tensor<3x8x1x64xf16>)
          mask key_padding(%lengths : tensor<3xi32>)
      return %o : tensor<3x8x1x64xf16>
    })";
  Expected<std::unique_ptr<LinkedCode>> code = compile(text);
  ASSERT_TRUE(code) << code.error().message;
  constexpr std::int64_t pages = 20, ofSequence = 10, pageSize = 32;
  Tensor<Half, 4> query({3, 8, 1, size}), output({3, 8, 1, size}),
      keys({pages, 2, pageSize, size}), values({pages, 2, pageSize, size});
  Tensor<std::int32_t, 1> lengths({3});
  Tensor<std::int32_t, 2> table({3, ofSequence});
  lengths.set({300, 0, 45});
  // Entries behind the last key are no pages.
  for (std::int64_t i = 0; i < 3 * ofSequence; ++i)
    table.view.data[i] = i < 10               ? std::int32_t(19 - i)
                         : i == 20 || i == 21 ? std::int32_t(i - 20)
                                              : -1;
  std::int64_t n = ofSequence * pageSize;
  EmulatedTraffic traffic;
  call(**code, {&query.view, &keys.view, &values.view, &lengths.view,
                &table.view, &n, &output.view});
  std::uint64_t bytes = (300 + 45) * 2 * size * sizeof(Half);
  EXPECT_EQ(traffic.of(keys.view.data).bytesLoaded, bytes);
  EXPECT_EQ(traffic.of(values.view.data).bytesLoaded, bytes);
}
