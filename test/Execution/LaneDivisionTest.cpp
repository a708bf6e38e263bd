//===- LaneDivisionTest.cpp - Divisions of integers in lanes --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row that sees one key has its score as its log-sum-exp. Query n sees key n:
// what it loads is divided by what the key loads, which all lanes divide by, or
// the other way round, where each lane has a divisor of its own.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "test/Execution/TestTensor.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

using namespace attn;
using namespace attn::test;

namespace {

constexpr std::int64_t length = 96; // The last tile has lanes without a query.
constexpr std::int64_t lowBits = 0xFFFF;

/// In the order of heads.
constexpr std::array<const char *, 7> operations = {
    "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui"};

std::int64_t divide(std::size_t operation, std::int64_t x, std::int64_t y,
                    int width) {
  std::uint64_t bits = ~std::uint64_t(0) >> (64 - width);
  std::uint64_t a = std::uint64_t(x) & bits, d = std::uint64_t(y) & bits;
  // The least number and -1 do not meet.
  std::int64_t quotient = x / y, rest = x % y;
  bool isBelow = rest != 0 && (rest < 0) != (y < 0);
  switch (operation) {
  case 0:
    return quotient;
  case 1:
    return std::int64_t(a / d);
  case 2:
    return quotient + (rest != 0 && !isBelow);
  case 3:
    return std::int64_t(a / d + (a % d != 0));
  case 4:
    return quotient - isBelow;
  case 5:
    return rest;
  default:
    return std::int64_t(a % d);
  }
}

struct Divisors {
  bool areOfQueries;
  /// At least 1, so that all divisions have results, for certain.
  bool arePositive;
};

/// Head h yields the low bits of operation h.
std::string writeKernel(const std::string &type, Divisors divisors) {
  bool isByQueries = divisors.areOfQueries;
  bool isIndex = type == "index";
  std::string stored = isIndex ? "i32" : type,
              table = "tensor<?x" + stored + ">";
  std::string at = isByQueries ? "j" : "p", by = isByQueries ? "p" : "j";
  std::string body = "%x0 = tensor.extract %a[%" + at + "] : " + table +
                     "\n%y0 = tensor.extract %d[%" + by + "] : " + table + "\n";
  if (isIndex)
    body += "%x = arith.index_cast %x0 : i32 to index\n"
            "%y = arith.index_cast %y0 : i32 to index\n";
  std::string x = isIndex ? "%x" : "%x0", y = isIndex ? "%y" : "%y0";
  if (divisors.arePositive) {
    body += "%least = arith.constant 1 : " + type +
            "\n%positive = arith.maxsi " + y + ", %least : " + type + "\n";
    y = "%positive";
  }
  body += "%r0 = arith.constant 0 : " + type + "\n";
  for (std::size_t i = 0; i < operations.size(); ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    body += "%q" + n + " = arith." + operations[i] + " " + x + ", " + y +
            " : " + type + "\n%h" + n + " = arith.constant " + n +
            " : index\n%is" + n + " = arith.cmpi eq, %h, %h" + n +
            " : index\n%r" + next + " = arith.select %is" + n + ", %q" + n +
            ", %r" + n + " : " + type + "\n";
  }
  std::string result = "%r" + std::to_string(operations.size());
  if (type != "i8") {
    body += "%bits = arith.constant " + std::to_string(lowBits) + " : " + type +
            "\n%low = arith.andi " + result + ", %bits : " + type + "\n";
    result = "%low";
  }
  if (isIndex) {
    body += "%word = arith.index_cast %low : index to i64\n";
    result = "%word";
  }
  body += "%f = arith.sitofp " + result + " : " + (isIndex ? "i64" : type) +
          " to f32\nattn.yield %f : f32\n";
  return R"(
    func.func @f(%q: tensor<1x7x?x1xf32>, %t0: )" +
         table + ", %t1: " + table +
         R"() -> (tensor<1x7x?x1xf32>, tensor<1x7x?xf32>) {
      %c2 = arith.constant 2 : index
      %n = tensor.dim %q, %c2 : tensor<1x7x?x1xf32>
      %e = tensor.empty(%n) : tensor<1x7x?x1xf32>
      %l = tensor.empty(%n) : tensor<1x7x?xf32>
      %0:2 = attn.attention
          ins(%q, %q, %q : tensor<1x7x?x1xf32>, tensor<1x7x?x1xf32>,
              tensor<1x7x?x1xf32>)
          outs(%e, %l : tensor<1x7x?x1xf32>, tensor<1x7x?xf32>)
          score(%s, %b, %h, %p, %j) captures(%a = %t0 : )" +
         table + ", %d = %t1 : " + table + ") {\n" + body + R"(}
          mask(%b, %h, %p, %j) {
            %keep = arith.cmpi eq, %p, %j : index
            attn.yield %keep : i1
          }
      return %0#0, %0#1 : tensor<1x7x?x1xf32>, tensor<1x7x?xf32>
    })";
}

} // namespace

class LaneDivision : public testing::TestWithParam<Divisors> {};

TEST_P(LaneDivision, ByLoads) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  struct Type {
    const char *name;
    ElementType stored;
    int width, storedWidth;
  };
  for (auto [name, stored, width, storedWidth] :
       {Type{"i8", ElementType::i8, 8, 8},
        {"i32", ElementType::i32, 32, 32},
        {"i64", ElementType::i64, 64, 64},
        {"index", ElementType::i32, 64, 32}}) {
    SCOPED_TRACE(name);
    Expected<Kernel> kernel = engine->compile(writeKernel(name, GetParam()));
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    if (GetParam().arePositive)
      EXPECT_TRUE(kernel->remarks().empty())
          << kernel->remarks().front().message;
    // Of these, what doubles hold; the least number is divided by no -1.
    std::int64_t least = -(std::int64_t(1) << (storedWidth - 2)) * 2,
                 most = storedWidth == 64 ? (std::int64_t(1) << 53) - 1
                                          : -(least + 1);
    for (bool hasLeast : {true, false}) {
      std::vector<std::int64_t> dividends = {hasLeast ? least : least / 2,
                                             most,
                                             most - 1,
                                             0,
                                             1,
                                             -1,
                                             7,
                                             -7,
                                             100,
                                             -100,
                                             most / 3 * 3,
                                             most / 3 * 3 - 1,
                                             64,
                                             -64,
                                             99,
                                             2};
      std::vector<std::int64_t> divisors = {
          1,    2,        hasLeast ? -2 : -1, 3,  -3, 7,   -7,
          most, most / 3, most - 1,           10, 64, -64, most / 2};
      std::vector<double> a, d;
      for (std::int64_t n = 0; n < length; ++n) {
        a.push_back(double(dividends[std::size_t(n) % dividends.size()]));
        d.push_back(double(divisors[std::size_t(n) % divisors.size()]));
      }
      TestTensor query(ElementType::f32, {1, 7, length, 1}),
          dividend(stored, {length}, a), divisor(stored, {length}, d),
          output(ElementType::f32, {1, 7, length, 1}),
          lse(ElementType::f32, {1, 7, length});
      query.fill([] { return 0.0; });
      Status status =
          kernel->run({query.view(), dividend.view(), divisor.view()},
                      {output.mutableView(), lse.mutableView()});
      ASSERT_TRUE(status.ok()) << status.error().message;
      for (std::size_t h = 0; h < operations.size(); ++h)
        for (std::int64_t n = 0; n < length; ++n) {
          auto x = std::int64_t(a[std::size_t(n)]),
               y = std::int64_t(d[std::size_t(n)]);
          if (GetParam().arePositive)
            y = std::max<std::int64_t>(y, 1);
          std::int64_t exact = divide(h, x, y, width);
          double expected =
              width == 8 ? double(std::int8_t(exact)) : double(exact & lowBits);
          EXPECT_NEAR(*lse.get({0, std::int64_t(h), n}), expected,
                      1e-6 * std::abs(expected))
              << operations[h] << " of " << x << " and " << y;
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfKeysAndOfQueries, LaneDivision,
                         testing::Values(Divisors{false, false},
                                         Divisors{true, false},
                                         Divisors{false, true},
                                         Divisors{true, true}));
