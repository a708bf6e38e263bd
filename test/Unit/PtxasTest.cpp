//===- PtxasTest.cpp - Finding, running and reading ptxas -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Ptxas.h"

#include "test/Unit/FakePtxas.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attn;
using namespace attn::cuda;
using attn::test::FakePtxas;
using attn::test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

//===----------------------------------------------------------------------===//
// What it says
//===----------------------------------------------------------------------===//

TEST(Ptxas, ReadsResources) {
  // Of ptxas 13.0: a kernel with spills, a function that is not inlined, and a
  // kernel with shared memory.
  constexpr const char *log = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90a'
ptxas info    : Function properties for first
    24 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 24 bytes cumulative stack size, 440 bytes cmem[0]
ptxas info    : Compile time = 26.426 ms
ptxas info    : Function properties for helper
    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for helper
    40 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 512 bytes smem, 392 bytes cmem[0]
)";
  EXPECT_THAT(readResources(log),
              ElementsAre(KernelResources{"first", 255, 0, 24, 16, 8},
                          KernelResources{"second", 10, 512, 0, 0, 0}));
}

TEST(Ptxas, ReadsAnything) {
  EXPECT_TRUE(readResources("").empty());
  EXPECT_TRUE(readResources("Used 10 registers\n bytes stack frame").empty());
  EXPECT_THAT(readResources("Compiling entry function 'f\n: Used registers"),
              ElementsAre(KernelResources{"f"}));
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

std::string assemblyError(const std::string &script) {
  FakePtxas program("1", script);
  Expected<Ptxas> ptxas = Ptxas::open(program.path());
  if (!ptxas)
    return ptxas.error().message;
  Expected<Assembly> assembly = ptxas->assemble("// PTX", "sm_80");
  return assembly ? "" : assembly.error().message;
}

TEST(Ptxas, Arguments) {
  FakePtxas program("1", "echo \"$1 $2 $3 $6\"; cat \"$5\" > \"$4\"");
  Expected<Ptxas> ptxas = Ptxas::open(program.path());
  ASSERT_TRUE(ptxas.ok());
  EXPECT_THAT(ptxas->version(), HasSubstr("release 1"));
  EXPECT_EQ(ptxas->release(), "1");
  Expected<Assembly> assembly = ptxas->assemble("// PTX", "sm_90a");
  ASSERT_TRUE(assembly.ok()) << assembly.error().message;
  EXPECT_EQ(assembly->log, "-arch=sm_90a -v -o \n");
  EXPECT_EQ(assembly->cubin, "// PTX");
}

TEST(Ptxas, CompilesInParallelIfItCan) {
  FakePtxas program("1", "echo \"$6 $7\"",
                    "--split-compile <N>   (-split-compile)");
  Expected<Ptxas> ptxas = Ptxas::open(program.path());
  ASSERT_TRUE(ptxas.ok());
  Expected<Assembly> assembly = ptxas->assemble("// PTX", "sm_80");
  ASSERT_TRUE(assembly.ok()) << assembly.error().message;
  EXPECT_EQ(assembly->log, "--split-compile 0\n");
}

TEST(Ptxas, Failures) {
  EXPECT_THAT(assemblyError("echo 'fatal : Unresolved extern function' >&2\n"
                            "exit 255"),
              HasSubstr("exit status 255\nfatal : Unresolved extern function"));
  EXPECT_THAT(assemblyError("kill -SEGV $$"), HasSubstr("Segmentation fault"));
  EXPECT_EQ(assemblyError(FakePtxas::assembles), "");
}

TEST(Ptxas, TellsSlowCode) {
  FakePtxas program("1", std::string(FakePtxas::assembles) +
                             "\necho \"ptxas info    : (C7508) Potential "
                             "Performance Loss: 'setmaxnreg' ignored\"");
  Expected<Ptxas> ptxas = Ptxas::open(program.path());
  ASSERT_TRUE(ptxas.ok());
  Expected<Assembly> assembly = ptxas->assemble("// PTX", "sm_80");
  ASSERT_TRUE(assembly.ok()) << assembly.error().message;
  EXPECT_EQ(assembly->slowness, "ptxas info    : (C7508) Potential Performance "
                                "Loss: 'setmaxnreg' ignored");
}

TEST(Ptxas, OtherPrograms) {
  TemporaryFolder folder;
  Expected<Ptxas> missing = Ptxas::open(folder.path() + "/ptxas");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr(folder.path() + "/ptxas: "));
  test::writeProgram(folder.path() + "/ptxas", "echo Hello; echo you");
  Expected<Ptxas> other = Ptxas::open(folder.path() + "/ptxas");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message,
            folder.path() + "/ptxas: expected NVIDIA's ptxas, got a program "
                            "that calls itself 'Hello'");
}

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

class PtxasSearch : public testing::Test {
protected:
  PtxasSearch() {
    set("PATH", (folder.path() + "/bin").c_str());
    for (const char *name : {"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"})
      set(name, nullptr);
  }
  ~PtxasSearch() override {
    for (auto &[name, value] : saved)
      setTo(name, value ? value->c_str() : nullptr);
  }

  void set(const char *name, const char *value) {
    const char *old = std::getenv(name);
    saved.try_emplace(name,
                      old ? std::optional<std::string>(old) : std::nullopt);
    setTo(name, value);
  }
  /// Puts a program there; its path.
  std::string put(const std::string &below) {
    std::string path = folder.path() + "/" + below;
    test::writeProgram(path, "echo Ptx optimizing assembler");
    return path;
  }
  static std::string find() {
    std::optional<Ptxas> ptxas = Ptxas::find();
    return ptxas ? ptxas->path() : "";
  }

  TemporaryFolder folder;

private:
  static void setTo(const std::string &name, const char *value) {
    if (value)
      setenv(name.c_str(), value, /*overwrite=*/1);
    else
      unsetenv(name.c_str());
  }

  std::map<std::string, std::optional<std::string>> saved;
};

TEST_F(PtxasSearch, Order) {
  std::string python =
      put("lib/python3.11/site-packages/nvidia/cu13/bin/ptxas");
  test::writeProgram(folder.path() + "/bin/python3", "");
  EXPECT_EQ(find(), python);
  std::string environment =
      put("venv/lib/python3.12/site-packages/nvidia/cuda_nvcc/bin/ptxas");
  set("VIRTUAL_ENV", (folder.path() + "/venv").c_str());
  EXPECT_EQ(find(), environment);
  std::string cudaPath = put("path/bin/ptxas");
  set("CUDA_PATH", (folder.path() + "/path").c_str());
  EXPECT_EQ(find(), cudaPath);
  std::string cudaHome = put("home/bin/ptxas");
  set("CUDA_HOME", (folder.path() + "/home").c_str());
  EXPECT_EQ(find(), cudaHome);
  std::string path = put("bin/ptxas");
  EXPECT_EQ(find(), path);
}

TEST_F(PtxasSearch, SkipsWhatDoesNotRun) {
  std::string good = put("home/bin/ptxas");
  set("CUDA_HOME", (folder.path() + "/home").c_str());
  test::writeProgram(folder.path() + "/bin/ptxas", "exit 1");
  EXPECT_EQ(find(), good);
}

} // namespace
