//===- EmulatedMbarriersTest.cpp - Warps that produce and consume ---------===//
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

constexpr std::int64_t numTiles = 5;

/// What brings a tile from %source to %target and arrives at %full.
std::string makeStage(const ProductCase &product) {
  std::string text = makeCopies(product);
  if (product.isCopied)
    return text + R"(
    nvvm.cp.async.mbarrier.arrive %full {noinc = true} : !llvm.ptr<3> // Given.)";
  return text + "\n    " + proxyFence + R"( // Of stores.
    %given = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64 // Given.)";
}

/// One warpgroup brings tiles into two stages, another one adds the products
/// with them.
std::string makeStagesText(const ProductCase &product) {
  std::string text = R"(
gpu.module @kernels {
  llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<2 x array<BYTES x i8>>
  llvm.mlir.global internal @barriers() {addr_space = 3 : i32} : !llvm.array<4 x i64>
  llvm.func @f(%registers: !llvm.ptr<1>, %b: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %elected = llvm.mlir.constant(5 : i32) : i32
    %numWarps = llvm.mlir.constant(4 : i32) : i32
    %numThreads = llvm.mlir.constant(128 : i32) : i32
    %numTiles = llvm.mlir.constant(NUM_TILES : i32) : i32
    %four = llvm.mlir.constant(4 : i64) : i64
    %fields = llvm.mlir.constant(FIELDS : i64) : i64
    %tiles = llvm.mlir.addressof @tiles : !llvm.ptr<3>
    %full0 = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    %full1 = llvm.getelementptr %full0[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %empty0 = llvm.getelementptr %full0[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %empty1 = llvm.getelementptr %full0[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %isFirst = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %isFirst, ^init, ^begin
  ^init:
    nvvm.mbarrier.init %full0, %numThreads : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %full1, %numThreads : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty0, %numWarps : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty1, %numWarps : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^begin
  ^begin:
    nvvm.barrier0 // Initialised.
    %isProducer = llvm.icmp "ult" %tid, %numThreads : i32
    llvm.cond_br %isProducer, ^producer, ^consumer

  ^producer:
    nvvm.setmaxregister decrease 40
    llvm.br ^produce(%c0 : i32)
  ^produce(%t: i32):
    %stage = llvm.urem %t, %c2 : i32
    %round = llvm.udiv %t, %c2 : i32
    %odd = llvm.urem %round, %c2 : i32
    %parity = llvm.xor %odd, %c1 : i32
    %full = llvm.getelementptr %full0[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %empty = llvm.getelementptr %empty0[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %source = llvm.getelementptr %b[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<BYTES x i8>
    %target = llvm.getelementptr %tiles[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<BYTES x i8>
    nvvm.mbarrier.try_wait.parity %empty, %parity, %numTiles : !llvm.ptr<3>, i32, i32
    STAGE
    %t1 = llvm.add %t, %c1 : i32
    %hasMore = llvm.icmp "ult" %t1, %numTiles : i32
    llvm.cond_br %hasMore, ^produce(%t1 : i32), ^end

  ^consumer:
    nvvm.setmaxregister increase 232
    %own = llvm.sub %tid, %numThreads : i32
LOADS
    llvm.br ^consume(%c0, INITIAL : i32, TYPES)
  ^consume(%u: i32, SUMS):
    %stageOf = llvm.urem %u, %c2 : i32
    %roundOf = llvm.udiv %u, %c2 : i32
    %parityOf = llvm.urem %roundOf, %c2 : i32
    %fullOf = llvm.getelementptr %full0[%stageOf] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %emptyOf = llvm.getelementptr %empty0[%stageOf] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %tile = llvm.getelementptr %tiles[%stageOf] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<BYTES x i8>
    %address = llvm.ptrtoint %tile : !llvm.ptr<3> to i64
    %start = llvm.lshr %address, %four : i64
    %descriptor = llvm.or %start, %fields : i64
    nvvm.mbarrier.try_wait.parity %fullOf, %parityOf, %numTiles : !llvm.ptr<3>, i32, i32
    CONSUMER_FENCE
PRODUCT
    %isElected = llvm.icmp "eq" %lane, %elected : i32
    llvm.cond_br %isElected, ^free, ^next
  ^free:
    %freed = nvvm.mbarrier.arrive %emptyOf : !llvm.ptr<3> -> i64
    llvm.br ^next
  ^next:
    %u1 = llvm.add %u, %c1 : i32
    %isMore = llvm.icmp "ult" %u1, %numTiles : i32
    llvm.cond_br %isMore, ^consume(%u1, ENDED : i32, TYPES), ^store
  ^store:
STORES
    llvm.br ^end
  ^end:
    nvvm.barrier0
    llvm.cond_br %isFirst, ^clear, ^exit
  ^clear:
    nvvm.mbarrier.inval %full0 : !llvm.ptr<3>
    llvm.store %c0, %full0 : i32, !llvm.ptr<3>
    llvm.br ^exit
  ^exit:
    llvm.return
  }
})";
  std::int64_t numSums = product.numSums();
  std::string sums, stores;
  for (std::int64_t i = 0; i < numSums; ++i) {
    auto n = std::to_string(i);
    sums += (i ? ", %sum" : "%sum") + n + ": f32";
    stores += replaceAll(replaceAll(R"(
    %to_I = llvm.getelementptr %out[%own, _I] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<COUNT x f32>
    llvm.store %ended#_I, %to_I : f32, !llvm.ptr<1>)",
                                    "_I", n),
                         "COUNT", std::to_string(numSums));
  }
  const std::pair<const char *, std::string> parts[] = {
      {"BYTES", std::to_string(product.numCopies() * 2048)},
      {"NUM_TILES", std::to_string(numTiles)},
      {"FIELDS", std::to_string(product.getFields().getBits())},
      {"STAGE", makeStage(product)},
      {"LOADS",
       replaceAll(makeLoads(product, "f16", "%own"), "%sum", "%initial")},
      {"INITIAL", listValues("%initial", numSums)},
      {"SUMS", sums},
      {"CONSUMER_FENCE",
       product.isCopied ? std::string(proxyFence) + " // Of copies." : ""},
      {"PRODUCT", makeProduct(product, "f16", "begun", /*accumulates=*/true) +
                      makeWait(product, "ended", "begun", 0)},
      {"ENDED", listValues("%ended#", numSums)},
      {"TYPES", listTypes("f32", numSums)},
      {"STORES", stores}};
  for (const auto &[from, to] : parts)
    text = replaceAll(text, from, to);
  return text;
}

RunKernel makeStagesRun(const ProductCase &product) {
  return [=](const jit::EmulatedKernel &kernel, std::uint64_t seed) {
    std::vector<WarpgroupFactors> all;
    std::vector<std::uint16_t> tiles;
    for (std::int64_t i = 0; i < numTiles; ++i) {
      all.push_back(makeWarpgroupFactors<f16>(
          product, std::uint64_t(numTiles) * seed + std::uint64_t(i)));
      all.back().lhs = all.front().lhs;
      auto tile = makeTile<f16>(product, all.back());
      tiles.insert(tiles.end(), tile.begin(), tile.end());
    }
    auto registers = makeRegisters<f16>(product, all.front());
    std::vector<double> expected(all.front().sums.begin(),
                                 all.front().sums.end());
    for (WarpgroupFactors &factors : all) {
      factors.sums.assign(factors.sums.size(), 0);
      std::vector<double> added = multiplyFactors(product, factors, 1);
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] += added[i];
    }
    std::vector<float> out(expected.size(), NAN);
    KernelArguments arguments;
    arguments.addPointer(registers, "registers", /*isWritable=*/false);
    arguments.addPointer(tiles, "b", /*isWritable=*/false);
    arguments.addPointer(out, "out");
    LaunchOptions options;
    options.block = {2 * groupSize};
    options.seed = seed;
    if (Status status = arguments.launch(kernel, options); !status)
      return status.error().message;
    return compare(collectSums(product, out), expected, 1e-3);
  };
}

constexpr ProductCase storedStages = {.columns = 16, .isTransposed = true};
constexpr ProductCase copiedStages = {.columns = 32, .isCopied = true};

void expectStagesCaught(const ProductCase &product, const std::string &from,
                        const std::string &to, const std::string &message) {
  expectCaught(replaceAll(makeStagesText(product), from, to), "f",
               makeStagesRun(product), message);
}

TEST(EmulatedMbarriers, Stages) {
  for (const ProductCase &product : {storedStages, copiedStages})
    expectRight(makeStagesText(product), "f", makeStagesRun(product));
}

TEST(EmulatedMbarriers, CatchesWrongParity) {
  // Who has filled no stage waits for one to be emptied.
  for (const ProductCase &product : {storedStages, copiedStages})
    expectStagesCaught(product, "%empty, %parity,", "%empty, %odd,",
                       "deadlock: threads 0-127 wait at -:");
  expectStagesCaught(copiedStages, "%fullOf, %parityOf,", "%fullOf, %c1,",
                     "which an asynchronous copy writes that has not been "
                     "waited for");
  expectStagesCaught(storedStages, "%fullOf, %parityOf,", "%fullOf, %c1,",
                     "is not ordered after what thread");
  expectStagesCaught(storedStages, "%fullOf, %parityOf,", "%fullOf, %c2,",
                     "expected the parity 0 or 1, got 2");
}

TEST(EmulatedMbarriers, CatchesMissingWait) {
  const char *wait = "nvvm.mbarrier.try_wait.parity ";
  const char *inFlight =
      "which an asynchronous copy writes that has not been waited for";
  std::string forFull = std::string(wait) + "%fullOf,";
  std::string forEmpty = std::string(wait) + "%empty,";
  for (const ProductCase &product : {storedStages, copiedStages})
    expectStagesCaught(product, forFull, "//", "which nothing has written");
  expectStagesCaught(copiedStages, forFull, "//", inFlight);
  expectStagesCaught(copiedStages, forEmpty, "//", inFlight);
  expectStagesCaught(storedStages, forEmpty, "//",
                     "is not ordered after what thread");
}

TEST(EmulatedMbarriers, CatchesWrongCount) {
  auto expectCount = [](const ProductCase &product, const std::string &barrier,
                        int count, const std::string &message) {
    expectStagesCaught(product, "nvvm.mbarrier.init " + barrier + ",",
                       "%count = llvm.mlir.constant(" + std::to_string(count) +
                           " : i32) : i32\nnvvm.mbarrier.init " + barrier +
                           ", %count : !llvm.ptr<3>, i32 //",
                       message);
  };
  expectCount(copiedStages, "%full0", 127,
              "which an asynchronous copy writes that has not been waited for");
  expectCount(storedStages, "%full0", 127, "is not ordered after what thread");
  expectCount(copiedStages, "%full0", 129, "deadlock");
  expectCount(copiedStages, "%empty0", 3,
              "which a product of a warpgroup reads that has not been waited "
              "for");
  expectCount(copiedStages, "%empty0", 5, "deadlock");
  expectCount(copiedStages, "%full0", 0, "expected 1 to 1048575 arrivals");
  expectStagesCaught(storedStages,
                     "arrive %emptyOf :", "arrive %emptyOf, %elected :",
                     "those that are missing in this phase of the mbarrier, "
                     "got 5");
}

TEST(EmulatedMbarriers, CatchesEarlyArrival) {
  // Before the product has been waited for.
  std::string text = makeStagesText(copiedStages);
  std::string wait = makeWait(copiedStages, "ended", "begun", 0);
  text = replaceAll(text, wait, "");
  text = replaceAll(text, "  ^next:\n", "  ^next:\n" + wait);
  expectCaught(text, "f", makeStagesRun(copiedStages),
               "which a product of a warpgroup reads that has not been waited "
               "for");
  // Before the stores, and without an order of what comes before.
  text = replaceAll(makeStagesText(storedStages), "%given =", "%late =");
  text =
      replaceAll(text, "%parity, %numTiles : !llvm.ptr<3>, i32, i32\n",
                 "%parity, %numTiles : !llvm.ptr<3>, i32, i32\n"
                 "%given = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64\n");
  text = replaceAll(text, "%late = nvvm.mbarrier.arrive", "//");
  expectCaught(text, "f", makeStagesRun(storedStages),
               "is not ordered after what thread");
  for (const char *barrier : {"%full", "%emptyOf"})
    expectStagesCaught(storedStages, std::string("arrive ") + barrier + " :",
                       std::string("arrive ") + barrier + " {relaxed = true} :",
                       "is not ordered after what thread");
}

TEST(EmulatedMbarriers, CatchesStoreBesideCopies) {
  // cp.async.mbarrier.arrive is of copies alone.
  expectStagesCaught(
      copiedStages, "nvvm.cp.async.shared.global %at0,",
      "%part0 = llvm.load %from0 : !llvm.ptr<1> -> vector<4xi32>\n"
      "llvm.store %part0, %at0 : vector<4xi32>, !llvm.ptr<3> //",
      "is not ordered after what thread");
}

TEST(EmulatedMbarriers, CatchesMissingFence) {
  const char *message = "with no fence.proxy.async after what thread";
  std::string ofStores = std::string(proxyFence) + " // Of stores.";
  std::string ofCopies = std::string(proxyFence) + " // Of copies.";
  expectStagesCaught(storedStages, ofStores, "", message);
  expectStagesCaught(copiedStages, ofCopies, "", message);
  // After others know of the stores; and before they have arrived.
  std::string text = replaceAll(makeStagesText(storedStages), ofStores, "");
  expectCaught(replaceAll(text, "// Given.", "\n" + ofStores), "f",
               makeStagesRun(storedStages), message);
  text = replaceAll(makeStagesText(copiedStages), ofCopies, "");
  expectCaught(replaceAll(text, "// Given.", "\n" + ofCopies), "f",
               makeStagesRun(copiedStages), message);
  const char *wait = "nvvm.mbarrier.try_wait.parity %fullOf,";
  expectCaught(replaceAll(text, wait, std::string(proxyFence) + "\n" + wait),
               "f", makeStagesRun(copiedStages), message);
}

TEST(EmulatedMbarriers, FencesOfConsumers) {
  std::string ofStores = std::string(proxyFence) + " // Of stores.";
  std::string text = replaceAll(makeStagesText(storedStages), ofStores, "");
  std::string product =
      makeProduct(storedStages, "f16", "begun", /*accumulates=*/true);
  expectRight(replaceAll(text, product, proxyFence + ("\n" + product)), "f",
              makeStagesRun(storedStages));
}

TEST(EmulatedMbarriers, CatchesWrongInitialisation) {
  const char *first = "nvvm.mbarrier.init %full0, %numThreads";
  expectStagesCaught(copiedStages, first, "//",
                     "there is no mbarrier at offset ");
  expectStagesCaught(copiedStages, "nvvm.barrier0 // Initialised.", "",
                     "there is no mbarrier at offset ");
  expectStagesCaught(
      copiedStages,
      "%full1 = llvm.getelementptr %full0[1] : (!llvm.ptr<3>) -> "
      "!llvm.ptr<3>, i64",
      "%full1 = llvm.getelementptr %full0[1] : (!llvm.ptr<3>) -> "
      "!llvm.ptr<3>, i32",
      "is not aligned to 8 bytes");
  expectStagesCaught(copiedStages, "init %full1, %numThreads",
                     "init %full0, %numThreads",
                     "where there is an mbarrier, initialised at -:");
}

TEST(EmulatedMbarriers, CatchesUnorderedInitialisation) {
  const std::string text = R"(
gpu.module @kernels {
  llvm.mlir.global internal @barrier() {addr_space = 3 : i32} : !llvm.array<1 x i64>
  llvm.func @f() attributes {nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %true = llvm.mlir.constant(true) : i1
    %barrier = llvm.mlir.addressof @barrier : !llvm.ptr<3>
    %isFirst = llvm.icmp "eq" %lane, %c0 : i32
    llvm.cond_br %isFirst, ^init, ^begin
  ^init:
    nvvm.mbarrier.init %barrier, %c32 : !llvm.ptr<3>, i32
    llvm.br ^begin
  ^begin:
    nvvm.bar.warp.sync %all : i32
    %phase = nvvm.mbarrier.arrive %barrier : !llvm.ptr<3> -> i64
    nvvm.mbarrier.try_wait.parity %barrier, %c0, %c0 : !llvm.ptr<3>, i32, i32
    llvm.return
  }
})";
  RunKernel run = [](const jit::EmulatedKernel &kernel, std::uint64_t seed) {
    LaunchOptions options;
    options.block = {32};
    options.seed = seed;
    Status status = KernelArguments().launch(kernel, options);
    return status ? "" : status.error().message;
  };
  expectRight(text, "f", run);
  expectCaught(replaceAll(text, "nvvm.bar.warp.sync %all : i32",
                          "%any = nvvm.vote.sync any %all, %true -> i1"),
               "f", run,
               "at the mbarrier at offset 0, this is not ordered after what "
               "thread 0 of the block does there at -:");
}

TEST(EmulatedMbarriers, CatchesAccess) {
  expectStagesCaught(copiedStages, "nvvm.mbarrier.inval %full0 :", "//",
                     "where there is an mbarrier, initialised at -:");
  expectStagesCaught(
      storedStages, "llvm.store %c0, %full0 :",
      "%none = llvm.load volatile %full0 : !llvm.ptr<3> -> i32 //",
      "which nothing has written");
  expectStagesCaught(storedStages, "nvvm.fence.mbarrier.init",
                     "nvvm.mbarrier.inval %full1 : !llvm.ptr<3>",
                     "there is no mbarrier at offset ");
}

TEST(EmulatedMbarriers, CatchesInvalidationTooEarly) {
  // While copies are on their way, or threads wait.
  expectStagesCaught(copiedStages, "// Given.",
                     "\nnvvm.mbarrier.inval %full : !llvm.ptr<3>",
                     "copies that have not ended are to arrive");
  expectStagesCaught(storedStages, "%given = nvvm.mbarrier.arrive %full :",
                     "nvvm.mbarrier.inval %full : !llvm.ptr<3> //",
                     "of the block waits at the mbarrier");
}

} // namespace
