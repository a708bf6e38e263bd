//===- EmulatedWarpgroupsTest.cpp - Products of warpgroups ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/WarpgroupTesting.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using emulator::LaunchOptions;

namespace {

/// What brings factors from %b to %tile.
std::string makeArrivedCopies(const ProductCase &product) {
  std::string text = replaceAll(
      replaceAll(makeCopies(product), "%source", "%b"), "%target", "%tile");
  if (product.isCopied)
    text += "\n    nvvm.cp.async.commit.group"
            "\n    nvvm.cp.async.wait.group 0";
  return text + "\n    " + proxyFence;
}

/// A warpgroup computes the sums and twice the product, with two products in
/// flight, and then overwrites the second factor.
std::string makeText(const ProductCase &product, const std::string &element) {
  std::string text = R"(
gpu.module @kernels {
  llvm.mlir.global internal @front() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<1024 x i8>
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<BYTES x i8>
  llvm.func @f(%registers: !llvm.ptr<1>, %b: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %zero = llvm.mlir.constant(0 : i32) : i32
    %four = llvm.mlir.constant(4 : i64) : i64
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    // Begin.
    COPIES
    nvvm.barrier0 // Written.
    %address = llvm.ptrtoint %tile : !llvm.ptr<3> to i64
    %start = llvm.lshr %address, %four : i64
    %fields = llvm.mlir.constant(FIELDS : i64) : i64
    %described = llvm.or %start, %fields : i64
    %descriptor = llvm.or %described, %described : i64 // Described.
    %first_fields = llvm.mlir.constant(OF_FIRST : i64) : i64
    %first_described = llvm.add %start, %first_fields : i64
    %first_descriptor = llvm.or %first_described, %first_described : i64
LOADS
)";
  text = replaceAll(text, "BYTES", std::to_string(product.numCopies() * 2048));
  text = replaceAll(text, "COPIES", makeArrivedCopies(product));
  text =
      replaceAll(text, "FIELDS", std::to_string(product.getFields().getBits()));
  text = replaceAll(text, "OF_FIRST",
                    std::to_string(product.getFieldsOfFirst().getBits()));
  text = replaceAll(text, "LOADS", makeLoads(product, element, "%tid"));
  text += makeProduct(product, element, "begun", /*accumulates=*/true) +
          makeProduct(product, element, "other", /*accumulates=*/false) +
          "    // Both begun.\n" + makeWait(product, "first", "begun", 1) +
          "    // One ended.\n" + makeWait(product, "second", "other", 0) + R"(
    nvvm.barrier0 // Read.
    llvm.store %zero, %at0 : i32, !llvm.ptr<3>
)";
  for (std::int64_t i = 0; i < product.numSums(); ++i)
    text += replaceAll(replaceAll(R"(
    %to_I = llvm.getelementptr %out[%tid, _I] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<SUMS x f32>
    %result_I = llvm.fadd %first#_I, %second#_I : f32
    llvm.store %result_I, %to_I : f32, !llvm.ptr<1>)",
                                  "_I", std::to_string(i)),
                       "SUMS", std::to_string(product.numSums()));
  return text + "\n    llvm.return\n  }\n}";
}

template <typename Element> RunKernel makeRun(const ProductCase &product) {
  return [=](const jit::EmulatedKernel &kernel, std::uint64_t seed) {
    WarpgroupFactors factors = makeWarpgroupFactors<Element>(product, seed);
    auto registers = makeRegisters<Element>(product, factors);
    auto tile = makeTile<Element>(product, factors);
    std::vector<float> out(factors.sums.size(), NAN);
    KernelArguments arguments;
    arguments.addPointer(registers, "registers", /*isWritable=*/false);
    arguments.addPointer(tile, "b", /*isWritable=*/false);
    arguments.addPointer(out, "out");
    LaunchOptions options;
    options.block = {groupSize};
    options.seed = seed;
    if (Status status = arguments.launch(kernel, options); !status)
      return status.error().message;
    return compare(collectSums(product, out),
                   multiplyFactors(product, factors, /*factor=*/2), 1e-3);
  };
}

void expectRightText(const ProductCase &product, const std::string &text) {
  expectRight(text, "f", makeRun<f16>(product));
}

void expectTextCaught(const ProductCase &product, const std::string &text,
                      const std::string &message) {
  expectCaught(text, "f", makeRun<f16>(product), message);
}

void expectProductCaught(const ProductCase &product, const std::string &from,
                         const std::string &to, const std::string &message) {
  expectTextCaught(product, replaceAll(makeText(product, "f16"), from, to),
                   message);
}

constexpr ProductCase rowsNext = {};
constexpr ProductCase columnsNext = {.columns = 128, .isTransposed = true};
constexpr ProductCase copied = {.isCopied = true};
constexpr ProductCase both = {.readsBoth = true};

void testProducts(bool isTransposed, bool readsBoth = false) {
  for (std::int64_t columns : {8, 64, 128})
    for (std::int64_t numSteps : {1, 4, 8}) {
      ProductCase product = {columns, numSteps, isTransposed,
                             /*isCopied=*/numSteps == 8, readsBoth};
      SCOPED_TRACE(testing::Message()
                   << columns << " columns, " << numSteps << " steps");
      expectRight(makeText(product, "f16"), "f", makeRun<f16>(product));
      expectRight(makeText(product, "bf16"), "f", makeRun<bf16>(product));
    }
}

TEST(EmulatedWarpgroups, Products) { testProducts(/*isTransposed=*/false); }

TEST(EmulatedWarpgroups, TransposedProducts) {
  testProducts(/*isTransposed=*/true);
}

TEST(EmulatedWarpgroups, FirstFactorsInMemory) {
  for (bool isTransposed : {false, true})
    testProducts(isTransposed, /*readsBoth=*/true);
}

TEST(EmulatedWarpgroups, CatchesMissingWait) {
  for (const ProductCase &product : {columnsNext, rowsNext}) {
    expectProductCaught(product, "fadd %first#", "fadd %begun#",
                        "wrong at 0: nan");
    expectProductCaught(product, "pending 1", "pending 2", "wrong at 0: nan");
    std::string late =
        replaceAll(makeText(product, "f16"), "pending 0", "pending 1");
    expectTextCaught(product, late,
                     "which a product of a warpgroup reads that has not been "
                     "waited for, at -:");
    expectTextCaught(product, replaceAll(late, "llvm.store %zero,", "//"),
                     "attn.warpgroup_mma: this thread exits before the product "
                     "has been waited for");
  }
}

TEST(EmulatedWarpgroups, CatchesMissingBarrier) {
  expectProductCaught(rowsNext, "nvvm.barrier0 // Written.", "",
                      "which nothing has written");
  expectProductCaught(rowsNext, "nvvm.barrier0 // Read.", "",
                      "is not ordered after what thread");
  expectProductCaught(rowsNext, "nvvm.barrier0 // Read.", "",
                      "which a product of a warpgroup reads that has not been "
                      "waited for, at -:");
  // A second store, which nothing orders.
  expectProductCaught(rowsNext, "// Written.",
                      "\nllvm.store %part0, %at0 : vector<4xi32>, !llvm.ptr<3>",
                      "and is not ordered after what thread");
}

TEST(EmulatedWarpgroups, CatchesMissingFence) {
  const char *message = "with no fence.proxy.async after what thread";
  for (const ProductCase &product : {rowsNext, copied})
    expectProductCaught(product, proxyFence, "", message);
  // Before the stores, or before the copies have arrived.
  std::string none = replaceAll(makeText(rowsNext, "f16"), proxyFence, "");
  expectTextCaught(rowsNext, replaceAll(none, "// Begin.", proxyFence),
                   message);
  none = replaceAll(makeText(copied, "f16"), proxyFence, "");
  const char *wait = "nvvm.cp.async.wait.group 0";
  expectTextCaught(
      copied, replaceAll(none, wait, std::string(proxyFence) + "\n" + wait),
      message);
}

TEST(EmulatedWarpgroups, FencesOfReaders) {
  std::string late =
      replaceAll(replaceAll(makeText(rowsNext, "f16"), proxyFence, ""),
                 "// Written.", std::string("\n") + proxyFence);
  expectRightText(rowsNext, late);
}

TEST(EmulatedWarpgroups, CatchesCopyInFlight) {
  expectProductCaught(copied, "nvvm.cp.async.wait.group 0", "",
                      "which an asynchronous copy writes that has not been "
                      "waited for");
}

TEST(EmulatedWarpgroups, CatchesOverwrittenTile) {
  const char *message = "which a product of a warpgroup reads that has not "
                        "been waited for";
  for (const char *place : {"// Both begun.", "// One ended."}) {
    expectProductCaught(rowsNext, place,
                        "llvm.store %zero, %at0 : i32, !llvm.ptr<3>", message);
    expectProductCaught(copied, place,
                        "nvvm.cp.async.shared.global %at0, %from0, 16, cache = "
                        "cg : !llvm.ptr<3>, !llvm.ptr<1>",
                        message);
    // The first factor, which both products read.
    expectProductCaught(both, place,
                        "llvm.store %zero, %at" +
                            std::to_string(both.numCopiesOfSecond()) +
                            " : i32, !llvm.ptr<3>",
                        message);
  }
}

TEST(EmulatedWarpgroups, CatchesMissingFirstFactor) {
  std::string last = std::to_string(both.numCopies() - 1);
  expectProductCaught(both, "llvm.store %part" + last + ",", "//",
                      "which nothing has written");
  expectProductCaught(both, proxyFence, "",
                      "with no fence.proxy.async after what thread");
}

TEST(EmulatedWarpgroups, CatchesWrongDescriptor) {
  auto expectFields = [](const ProductCase &product, MatrixFields fields,
                         const std::string &message) {
    auto print = [](MatrixFields fields) {
      return "constant(" + std::to_string(fields.getBits()) + " :";
    };
    expectProductCaught(product, print(product.getFields()), print(fields),
                        message);
  };
  for (const ProductCase &product : {columnsNext, rowsNext}) {
    MatrixFields fields = product.getFields();
    fields.strideOffset = 512;
    expectFields(product, fields, "wrong at ");
    fields.strideOffset = 2048;
    expectFields(product, fields, "which is out of bounds");
    fields = product.getFields();
    fields.start = 16;
    expectFields(product, fields, "which is out of bounds");
    fields = product.getFields();
    fields.swizzle = 0;
    expectFields(product, fields,
                 "of step 0 has a swizzle mode that is not emulated");
    fields = product.getFields();
    fields.baseOffset = 1;
    expectFields(product, fields, "of step 0 has a base offset");
  }
  MatrixFields fields = columnsNext.getFields();
  fields.leadingOffset /= 2;
  expectFields(columnsNext, fields, "wrong at 64");
  auto expectFirst = [](MatrixFields fields, const std::string &message) {
    expectProductCaught(
        both, std::to_string(both.getFieldsOfFirst().getBits()) + " :",
        std::to_string(fields.getBits()) + " :", message);
  };
  fields = both.getFieldsOfFirst();
  fields.strideOffset = 512;
  expectFirst(fields, "wrong at ");
  fields.strideOffset = 2048;
  expectFirst(fields, "which is out of bounds");
  fields = both.getFieldsOfFirst();
  fields.swizzle = 0;
  expectFirst(fields, "of step 0 has a swizzle mode that is not emulated");
  expectProductCaught(rowsNext, "llvm.or %start, %fields",
                      "llvm.or %address, %fields", "which is out of bounds");
}

TEST(EmulatedWarpgroups, CatchesWrongSteps) {
  expectProductCaught(rowsNext, "steps [0, 2, ", "steps [0, 4, ", "wrong at 0");
  expectProductCaught(rowsNext, "steps [0, 2, ", "steps [0, 16384, ",
                      "of step 1 has bits that belong to no field");
  expectProductCaught(both, "lhs_steps [0, 2, ", "lhs_steps [0, 4, ",
                      "wrong at 0");
  expectProductCaught(both, "lhs_steps [0, 2, ", "lhs_steps [0, 16384, ",
                      "of step 1 has bits that belong to no field");
}

TEST(EmulatedWarpgroups, CatchesWrongMajor) {
  expectProductCaught(columnsNext, " transposed ", " ",
                      "which is out of bounds");
  ProductCase small = {.columns = 8, .numSteps = 1, .isTransposed = true};
  expectProductCaught(small, " transposed ", " ", "wrong at 0");
  expectProductCaught(rowsNext, "rhs(%descriptor)",
                      "rhs(%descriptor) transposed", "wrong at 0");
}

TEST(EmulatedWarpgroups, CatchesProductBegunTwice) {
  // A product in a loop whose sums nothing waits for.
  std::string text = makeText(rowsNext, "f16");
  text = replaceAll(text, "    %begun:", R"(
    %one = llvm.mlir.constant(1 : i32) : i32
    llvm.br ^loop(%zero : i32)
  ^loop(%i: i32):
    %begun:)");
  text = replaceAll(text, "    %other:", R"(
    %next = llvm.add %i, %one : i32
    %isLast = llvm.icmp "eq" %i, %one : i32
    llvm.cond_br %isLast, ^end, ^loop(%next : i32)
  ^end:
    %other:)");
  expectTextCaught(rowsNext, text,
                   "the last product that this has begun has not been waited "
                   "for");
}

TEST(EmulatedWarpgroups, CatchesWarpsApart) {
  // Another descriptor in one lane, and in one warp; of either factor.
  auto expectOther = [](const std::string &name, const std::string &message) {
    for (const ProductCase &product : {rowsNext, both}) {
      std::string prefix = product.readsBoth ? "%first_" : "%";
      expectProductCaught(
          product,
          replaceAll("_descriptor = llvm.or _described, _described", "_",
                     prefix),
          replaceAll(replaceAll(R"(
    %number = llvm.mlir.constant(3 : i32) : i32
    %own = nvvm.read.ptx.sreg.NAME : i32
    %isOther = llvm.icmp "eq" %own, %number : i32
    %added = llvm.zext %isOther : i1 to i64
    _descriptor = llvm.add _described, %added)",
                                "NAME", name),
                     " _", " " + prefix),
          message);
    }
  };
  expectOther("laneid", "expected one descriptor for the whole warp, got 0x");
  expectOther("warpid", "of the warpgroup computes, with the same descriptors");
  // A warp that does not take part in the second product.
  expectProductCaught(rowsNext, "    // Both begun.\n",
                      R"(
    %c96 = llvm.mlir.constant(96 : i32) : i32
    %isLast = llvm.icmp "uge" %tid, %c96 : i32
    llvm.cond_br %isLast, ^last, ^others
  ^last:
)" + makeWait(rowsNext, "early", "begun", 0) +
                          R"(
    llvm.return
  ^others:
)" + makeProduct(rowsNext, "f16", "third", /*accumulates=*/false) +
                          makeWait(rowsNext, "more", "third", 0),
                      "does not execute this with its warpgroup");
}

TEST(EmulatedWarpgroups, CatchesMissingWarps) {
  std::string text = makeText(rowsNext, "f16");
  RunKernel run = [](const jit::EmulatedKernel &kernel, std::uint64_t seed) {
    WarpgroupFactors factors = makeWarpgroupFactors<f16>(rowsNext, seed);
    auto registers = makeRegisters<f16>(rowsNext, factors);
    auto tile = makeTile<f16>(rowsNext, factors);
    std::vector<float> out(factors.sums.size());
    KernelArguments arguments;
    arguments.addPointer(registers, "registers");
    arguments.addPointer(tile, "b");
    arguments.addPointer(out, "out");
    LaunchOptions options;
    options.block = {96};
    options.seed = seed;
    Status status = arguments.launch(kernel, options);
    return status ? "" : status.error().message;
  };
  expectCaught(text, "f", run, "is of no warpgroup: the block has 96 threads");
}

} // namespace
