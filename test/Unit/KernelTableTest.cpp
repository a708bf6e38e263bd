//===- KernelTableTest.cpp - Kernels for GPUs against a table -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Compiles attention in every configuration of a table, and holds it to what
// the table allows. With an argument, writes such a table, and says how long
// compiling took.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/KernelTable.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <fstream>
#include <set>

using namespace attn;
using namespace attn::test;

namespace {

constexpr const char *tablePath =
    ATTN_SOURCE_DIR "/test/Unit/Inputs/gpu-kernels.csv";
const std::vector<std::string> architectures = {"sm_80", "sm_90"};
const std::vector<std::string> elements = {"f32", "f16", "bf16"};
const std::vector<int> headSizes = {64, 80, 128, 256};

const KernelTable &getTable() {
  static const KernelTable table = [] {
    Expected<KernelTable> read = readKernelTable(tablePath);
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : KernelTable();
  }();
  return table;
}

const std::optional<cuda::Ptxas> &getPtxas() {
  static const std::optional<cuda::Ptxas> ptxas = cuda::Ptxas::find();
  return ptxas;
}

TEST(KernelTable, HasEveryConfiguration) {
  std::set<KernelConfiguration> expected, actual;
  for (const std::string &element : elements)
    for (int headSize : headSizes)
      for (const std::string &variant : getVariants())
        for (const std::string &architecture : architectures)
          expected.insert({element, headSize, variant, architecture});
  for (const auto &[key, numbers] : getTable())
    actual.insert(key);
  EXPECT_TRUE(actual == expected);
}

/// The table itself allows nothing that makes kernels slow.
TEST(KernelTable, HasNoSpills) {
  for (const auto &[key, numbers] : getTable()) {
    SCOPED_TRACE(key.element + " " + std::to_string(key.headSize) + " " +
                 key.variant + " " + key.architecture);
    EXPECT_EQ(numbers[mma] > 0, key.element != "f32");
    EXPECT_EQ(numbers[spillBytes], 0);
    bool isLong = key.element == "f32" && key.headSize > 128;
    // What a block may have on sm_86 and later consumer GPUs, or on sm_80.
    EXPECT_LE(numbers[sharedBytes], (isLong ? 163 : 99) << 10);
  }
}

class KernelTableRows
    : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(KernelTableRows, AreNotExceeded) {
  auto [element, headSize] = GetParam();
  for (const std::string &variant : getVariants()) {
    Expected<std::vector<MeasuredKernel>> kernels =
        measureKernels(element, headSize, variant, architectures, getPtxas());
    ASSERT_TRUE(kernels) << kernels.error().message;
    for (std::size_t i = 0; i < architectures.size(); ++i) {
      auto row =
          getTable().find({element, headSize, variant, architectures[i]});
      ASSERT_TRUE(row != getTable().end());
      EXPECT_EQ((*kernels)[i].numbers[mma] > 0, element != "f32");
      for (int n = 0; n < (getPtxas() ? numKernelNumbers : registers); ++n)
        EXPECT_LE((*kernels)[i].numbers[n], row->second[n])
            << getNumberName(n) << " of " << variant << " for "
            << architectures[i];
    }
  }
  if (!getPtxas())
    GTEST_SKIP() << "no ptxas, so registers and spills are not checked: pip "
                    "install nvidia-cuda-nvcc";
}

INSTANTIATE_TEST_SUITE_P(All, KernelTableRows,
                         testing::Combine(testing::ValuesIn(elements),
                                          testing::ValuesIn(headSizes)),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

/// Registers are handed out in eights, which leaves room for other versions of
/// ptxas.
long roundUpToEight(long count) { return (count + 7) / 8 * 8; }

int writeTable(const char *path) {
  if (!getPtxas()) {
    std::fprintf(stderr, "no ptxas, which the table needs: pip install "
                         "nvidia-cuda-nvcc\n");
    return 1;
  }
  KernelTable table;
  for (const std::string &element : elements)
    for (int headSize : headSizes)
      for (const std::string &variant : getVariants()) {
        Expected<std::vector<MeasuredKernel>> kernels = measureKernels(
            element, headSize, variant, architectures, getPtxas());
        if (!kernels) {
          std::fprintf(stderr, "%s\n", kernels.error().message.c_str());
          return 1;
        }
        for (std::size_t i = 0; i < architectures.size(); ++i) {
          MeasuredKernel &kernel = (*kernels)[i];
          std::printf("%s %d %s %s: %.0f ms to PTX, %.0f ms by ptxas\n",
                      element.c_str(), headSize, variant.c_str(),
                      architectures[i].c_str(), kernel.toPTX.count(),
                      kernel.toMachineCode.count());
          kernel.numbers[registers] = roundUpToEight(kernel.numbers[registers]);
          table[{element, headSize, variant, architectures[i]}] =
              kernel.numbers;
        }
      }
  std::ofstream file(path);
  file << printKernelTable(table);
  return file.flush() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return argc == 2 ? writeTable(argv[1]) : RUN_ALL_TESTS();
}
