//===- EmulatedOperationsTest.cpp - Operations of GPUs one by one ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EmulatorTesting.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using emulator::LaunchOptions;

namespace {

/// Lane i gets `expected(i)`.
template <typename Function>
void expectLanes(const std::string &body, const std::vector<std::int32_t> &in,
                 Function expected) {
  auto out = computeLanes(body, in);
  ASSERT_TRUE(out) << out.error().message;
  for (std::size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ((*out)[i], std::int32_t(expected(int(i)))) << body << i;
}

TEST(EmulatedOperations, Shuffles) {
  auto in = makeWords(32);
  auto shuffle = [](const std::string &operands) {
    return "%r = nvvm.shfl.sync " + operands + " : i32 -> i32";
  };
  expectLanes(shuffle("bfly %all, %v, %c3, %c31"), in,
              [&](int i) { return in[std::size_t(i ^ 3)]; });
  expectLanes(shuffle("idx %all, %v, %c3, %c31"), in,
              [&](int) { return in[3]; });
  // Lanes whose source is out of range keep their own.
  expectLanes(shuffle("up %all, %v, %c3, %c0"), in,
              [&](int i) { return in[std::size_t(i < 3 ? i : i - 3)]; });
  expectLanes(shuffle("down %all, %v, %c3, %c31"), in,
              [&](int i) { return in[std::size_t(i > 28 ? i : i + 3)]; });
  expectLanes(shuffle("down %all, %v, %c3, %segments"), in,
              [&](int i) { return in[std::size_t(i % 8 > 4 ? i : i + 3)]; });
  expectLanes(shuffle("idx %all, %v, %c3, %segments"), in,
              [&](int i) { return in[std::size_t(i / 8 * 8 + 3)]; });
  expectLanes(R"(
    %s = nvvm.shfl.sync down %all, %v, %c3, %c31 {return_value_and_is_valid}
        : i32 -> !llvm.struct<(i32, i1)>
    %valid = llvm.extractvalue %s[1] : !llvm.struct<(i32, i1)>
    %r = llvm.zext %valid : i1 to i32)",
              in, [](int i) { return i <= 28; });
}

TEST(EmulatedOperations, Votes) {
  auto in = makeWords(64);
  auto vote = [](const std::string &kind) {
    return "%p0 = llvm.icmp \"sgt\" %v, %c0 : i32\n"
           "%b = nvvm.vote.sync " +
           kind + " %all, %p0 -> i1\n%r = llvm.zext %b : i1 to i32";
  };
  auto ballot = [&](int i) {
    std::uint32_t result = 0;
    for (int lane = 0; lane < 32; ++lane)
      result |= std::uint32_t(in[std::size_t(i / 32 * 32 + lane)] > 0) << lane;
    return result;
  };
  expectLanes("%p0 = llvm.icmp \"sgt\" %v, %c0 : i32\n"
              "%r = nvvm.vote.sync ballot %all, %p0 -> i32",
              in, ballot);
  // One warp of either kind.
  for (std::size_t i = 0; i < 32; ++i)
    in[i] = std::abs(in[i] / 2) + 1;
  expectLanes(vote("all"), in, [](int i) { return i < 32; });
  expectLanes(vote("uni"), in, [](int i) { return i < 32; });
  expectLanes(vote("any"), in, [](int) { return 1; });
}

TEST(EmulatedOperations, Reductions) {
  auto in = makeWords(32);
  auto reduce = [&](const char *kind, auto combine) {
    std::int32_t result = in[0];
    for (std::size_t i = 1; i < in.size(); ++i)
      result = std::int32_t(combine(result, in[i]));
    expectLanes("%r = nvvm.redux.sync " + std::string(kind) +
                    " %v, %all : i32 -> i32",
                in, [=](int) { return result; });
  };
  using U = std::uint32_t;
  reduce("add", [](int a, int b) { return U(a) + U(b); });
  reduce("and", [](int a, int b) { return a & b; });
  reduce("or", [](int a, int b) { return a | b; });
  reduce("xor", [](int a, int b) { return a ^ b; });
  reduce("min", [](int a, int b) { return std::min(a, b); });
  reduce("max", [](int a, int b) { return std::max(a, b); });
  reduce("umin", [](int a, int b) { return std::min(U(a), U(b)); });
  reduce("umax", [](int a, int b) { return std::max(U(a), U(b)); });
}

TEST(EmulatedOperations, ReductionsAtBarriers) {
  auto in = makeWords(96);
  auto reduce = [](const std::string &kind) {
    return "%p0 = llvm.icmp \"sgt\" %v, %c0 : i32\n"
           "%isPositive = llvm.zext %p0 : i1 to i32\n"
           "%r = nvvm.barrier #nvvm.reduction<" +
           kind + "> %isPositive -> i32";
  };
  auto isPositive = [](std::int32_t word) { return word > 0; };
  auto count = std::int32_t(std::count_if(in.begin(), in.end(), isPositive));
  ASSERT_TRUE(count > 0 && count < 96);
  expectLanes(reduce("popc"), in, [&](int) { return count; });
  expectLanes(reduce("and"), in, [](int) { return 0; });
  expectLanes(reduce("or"), in, [](int) { return 1; });
  // One warp cannot decide for all.
  std::vector<std::int32_t> ones(96, 1), zeros(96, 0);
  expectLanes(reduce("and"), ones, [](int) { return 1; });
  expectLanes(reduce("or"), zeros, [](int) { return 0; });
  ones[95] = 0;
  zeros[95] = 1;
  expectLanes(reduce("and"), ones, [](int) { return 0; });
  expectLanes(reduce("or"), zeros, [](int) { return 1; });
}

TEST(EmulatedOperations, Registers) {
  std::vector<std::int32_t> in(96);
  auto readRegister = [](const std::string &name) {
    return "%r = nvvm.read.ptx.sreg." + name + " : i32";
  };
  expectLanes(readRegister("tid.x"), in, [](int i) { return i; });
  expectLanes(readRegister("tid.y"), in, [](int) { return 0; });
  expectLanes(readRegister("ntid.x"), in, [](int) { return 96; });
  expectLanes(readRegister("nctaid.z"), in, [](int) { return 1; });
  expectLanes(readRegister("ctaid.y"), in, [](int) { return 0; });
  expectLanes(readRegister("laneid"), in, [](int i) { return i % 32; });
  expectLanes(readRegister("warpid"), in, [](int i) { return i / 32; });
  expectLanes(readRegister("nwarpid"), in, [](int) { return 3; });
}

TEST(EmulatedOperations, Approximations) {
  std::vector<float> numbers = {0.F,   1.F,    -3.5F,  0.25F, -130.F,
                                127.F, 1e-40F, 1e-30F, 4.F,   INFINITY};
  std::vector<std::int32_t> in;
  for (float x : numbers)
    in.push_back(std::bit_cast<std::int32_t>(x));
  auto check = [&](const std::string &name, auto expected) {
    bool flushes = name.find("ftz") != name.npos;
    auto flush = [&](double x) {
      return flushes && std::abs(x) < 0x1p-126 ? 0 : x;
    };
    auto out = computeLanes("%x = llvm.bitcast %v : i32 to f32\n"
                            "%y = llvm.call_intrinsic \"llvm.nvvm." +
                                name +
                                "\"(%x) : (f32) -> f32\n"
                                "%r = llvm.bitcast %y : f32 to i32",
                            in);
    ASSERT_TRUE(out) << out.error().message;
    for (std::size_t i = 0; i < in.size(); ++i) {
      auto actual = double(std::bit_cast<float>((*out)[i]));
      double y = flush(expected(flush(numbers[i])));
      if (std::isfinite(y))
        EXPECT_NEAR(actual, y, 1e-6 * std::abs(y)) << name << numbers[i];
      else
        EXPECT_EQ(std::isnan(actual), std::isnan(y)) << name << numbers[i];
    }
  };
  check("ex2.approx.ftz.f", [](double x) { return std::exp2(x); });
  check("rsqrt.approx.f", [](double x) { return 1 / std::sqrt(x); });
}

} // namespace
