//===- TargetTest.cpp - What lowerings are told of a machine --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Target.h"
#include "runtime/JIT/Machine.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include "gtest/gtest.h"

using llvm::orc::JITTargetMachineBuilder;

namespace {

std::string describe(const char *triple, const char *cpu,
                     const char *features = "") {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  JITTargetMachineBuilder builder{llvm::Triple(triple)};
  builder.setCPU(cpu).setFeatures(features);
  auto target = builder.createTargetMachine();
  if (!target) {
    ADD_FAILURE() << llvm::toString(target.takeError());
    return {};
  }
  return attn::jit::describeTarget(**target, {});
}

constexpr const char *x86 = "x86_64-linux-gnu";

TEST(Target, GeneratesFast) {
  auto host = attn::jit::selectTarget("");
  ASSERT_TRUE(host.ok());
  auto levelOf = [](JITTargetMachineBuilder builder) {
    return llvm::cantFail(builder.createTargetMachine())->getOptLevel();
  };
  EXPECT_EQ(levelOf(*host), llvm::CodeGenOptLevel::Default);
  attn::jit::generateFast(*host);
  EXPECT_EQ(levelOf(*host), llvm::CodeGenOptLevel::None);
}

TEST(Target, SSE) {
  for (const char *cpu : {"x86-64", "x86-64-v2", "nehalem"})
    EXPECT_EQ(describe(x86, cpu), "vector_bits = 128, vector_registers = 16");
}

TEST(Target, AVX2) {
  for (const char *cpu : {"x86-64-v3", "haswell", "znver3"})
    EXPECT_EQ(describe(x86, cpu), "vector_bits = 256, vector_registers = 16");
}

TEST(Target, AVXVNNI) {
  for (const char *cpu : {"alderlake"})
    EXPECT_EQ(describe(x86, cpu),
              "vector_bits = 256, vector_registers = 16, i8_dot = true");
}

TEST(Target, AVX512) {
  const std::string avx512 =
      "vector_bits = 512, vector_registers = 32, scalef = true";
  EXPECT_EQ(describe(x86, "x86-64-v4"), avx512);
  EXPECT_EQ(describe(x86, "skylake-avx512"),
            avx512 + ", memory_ns = 128, memory_gbs = 16, l3_ns = 80");
}

TEST(Target, AVX512BF16) {
  const std::string zen4 = "vector_bits = 512, vector_registers = 32, "
                           "scalef = true, bf16_dot = true, i8_dot = true";
  EXPECT_EQ(describe(x86, "znver4"), zen4);
  EXPECT_EQ(describe(x86, "znver5"),
            zen4 + ", memory_ns = 250, fetch_level = 1");
}

TEST(Target, AMX) {
  for (const char *cpu : {"sapphirerapids"})
    EXPECT_EQ(describe(x86, cpu),
              "vector_bits = 512, vector_registers = 32, scalef = true, "
              "bf16_tiles = true, i8_dot = true, memory_ns = 128, "
              "memory_gbs = 16, l3_ns = 80");
}

/// A hypervisor may say that it is another one.
TEST(Target, TilesOfAnUnknownProcessor) {
  std::string known = describe(x86, "sapphirerapids");
  EXPECT_EQ(describe(x86, "rocketlake",
                     "+avx512bf16,+amx-tile,+amx-bf16,+avx512vnni"),
            known);
}

TEST(Target, AArch64) {
  for (const char *cpu : {"generic", "neoverse-v1", "apple-m1"})
    EXPECT_EQ(describe("aarch64-linux-gnu", cpu),
              "vector_bits = 128, vector_registers = 32");
}

/// A folder such as Linux's, of one processor with three levels of caches.
class Caches : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("attn-caches", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void write(const std::string &name, const std::string &line) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    ASSERT_FALSE(
        llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path)));
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << line << "\n";
    ASSERT_FALSE(error);
  }
  void writeCache(int index, const char *level, const char *type,
                  const char *size) {
    writeOfCache(index, "level", level);
    writeOfCache(index, "type", type);
    writeOfCache(index, "size", size);
  }
  void writeOfCache(int index, const std::string &name,
                    const std::string &line) {
    write("cpu0/cache/index" + std::to_string(index) + "/" + name, line);
  }
  attn::jit::Machine read() {
    return attn::jit::readMachine(std::string(folder));
  }

  llvm::SmallString<128> folder;
};

TEST_F(Caches, AreThoseOfTheFolder) {
  writeCache(0, "1", "Data", "48K");
  writeCache(1, "1", "Instruction", "32K");
  writeCache(2, "2", "Unified", "2048K");
  writeCache(3, "3", "Unified", "105M");
  attn::jit::Machine machine = read();
  EXPECT_EQ(machine.l1Bytes, 48 << 10);
  EXPECT_EQ(machine.l2Bytes, 2 << 20);
}

/// A core that is alone on its first level and shares the second one with three
/// others, each of two threads.
TEST_F(Caches, AreTheCoresPartOfWhatSeveralShare) {
  write("online", "0-15,32-39");
  write("cpu0/topology/thread_siblings_list", "0,32");
  writeCache(0, "1", "Data", "32K");
  writeOfCache(0, "shared_cpu_list", "0,32");
  writeOfCache(0, "coherency_line_size", "128");
  writeCache(2, "2", "Unified", "4M");
  writeOfCache(2, "shared_cpu_list", "0-3,32-35");
  attn::jit::Machine machine = read();
  EXPECT_EQ(machine.cores, 12);
  EXPECT_EQ(machine.l1Bytes, 32 << 10);
  EXPECT_EQ(machine.l2Bytes, 1 << 20);
  EXPECT_EQ(machine.lineBytes, 128);
}

TEST_F(Caches, AreNotSharedByWhatIsNoList) {
  write("online", "all");
  writeCache(2, "2", "Unified", "1M");
  writeOfCache(2, "shared_cpu_list", "3-1");
  attn::jit::Machine machine = read();
  EXPECT_EQ(machine.cores, 0);
  EXPECT_EQ(machine.l2Bytes, 1 << 20);
}

/// What is not known has a default: it is not in the text.
TEST_F(Caches, AreNotKnownOfAnEmptyFolder) {
  attn::jit::Machine machine = read();
  EXPECT_EQ(machine.l1Bytes, 0);
  EXPECT_EQ(machine.text().find("l1_bytes"), std::string::npos);
}

TEST_F(Caches, AreNotWhatCannotBeRead) {
  writeCache(0, "1", "Data", "-5K");
  writeCache(1, "2", "Unified", "99999999999999999999K");
  attn::jit::Machine machine = read();
  EXPECT_EQ(machine.l1Bytes, 0);
  EXPECT_EQ(machine.l2Bytes, 0);
}

TEST(Target, Host) {
  attn::Expected<JITTargetMachineBuilder> target = attn::jit::selectTarget("");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->getCPU(), llvm::sys::getHostCPUName());
}

TEST(Target, UnknownProcessor) {
  attn::Expected<JITTargetMachineBuilder> target =
      attn::jit::selectTarget("abacus");
  ASSERT_FALSE(target.ok());
  EXPECT_TRUE(
      llvm::StringRef(target.error().message)
          .starts_with("cpu: expected a processor that LLVM knows for"));
}

/// No machine can execute the vector code of all processors.
TEST(Target, ProcessorsOfOthers) {
  if (!llvm::Triple(llvm::sys::getProcessTriple()).isX86())
    GTEST_SKIP() << "processors of x86";
  EXPECT_TRUE(attn::jit::selectTarget("x86-64").ok());
  int numRefused = 0;
  // They have AVX512-VP2INTERSECT, FMA4, and AVX512-BF16.
  for (const char *cpu : {"tigerlake", "bdver4", "cooperlake"}) {
    attn::Expected<JITTargetMachineBuilder> target =
        attn::jit::selectTarget(cpu);
    if (target)
      continue;
    ++numRefused;
    EXPECT_TRUE(llvm::StringRef(target.error().message)
                    .starts_with("cpu: expected a processor whose vector code "
                                 "this machine can execute, got '" +
                                 std::string(cpu) + "', which has '"))
        << target.error().message;
  }
  EXPECT_GT(numRefused, 0);
}

} // namespace
