//===- StaticKernelTest.cpp - Kernels compiled ahead of time --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that the library must not run. test/Static has those that it runs.
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/StaticKernel.h"

#include "gtest/gtest.h"

static std::string errorOf(const std::string &signature, const char *features) {
  attn_rt_static_kernel kernel = {
      [](void **) { ADD_FAILURE() << "it was run"; },
      signature.data(),
      signature.size(),
      features,
      {nullptr}};
  char error[200] = "";
  EXPECT_EQ(attn_rt_call_static_kernel(&kernel, nullptr, error, sizeof(error)),
            1);
  EXPECT_EQ(kernel.decoded, nullptr);
  return error;
}

static const std::string versionLine = "attn " ATTN_VERSION "\n";

TEST(StaticKernel, OtherVersion) {
  std::string expected =
      "the kernel was compiled by another version than " ATTN_VERSION
      ", that of attn-runtime";
  EXPECT_EQ(errorOf("attn 0.0.1\n1 f0 0 0 0 ", ""), expected);
  EXPECT_EQ(errorOf("", ""), expected);
  for (std::string text : {"", "1 ", "9 f", "1 f1 ", "1 f0 0 0 0 0 ", "-1 ",
                           "1 f9223372036854775807 "})
    EXPECT_EQ(errorOf(versionLine + text, ""), expected) << text;
}

#if defined(__x86_64__)
TEST(StaticKernel, OtherProcessor) {
  EXPECT_EQ(errorOf(versionLine + "1 f0 0 0 0 ", "sse4.1,avx10.2"),
            "the kernel was compiled for a processor with avx10.2, which this "
            "one does not have");
}
#endif
