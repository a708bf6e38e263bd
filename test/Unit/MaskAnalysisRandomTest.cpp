//===- MaskAnalysisRandomTest.cpp - Random masks --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Seeds.h"
#include "test/Unit/MaskAnalysisTesting.h"

#include <map>
#include <random>

using namespace attn::test;

namespace {

/// Writes regions of random operations, many of which overflow or are
/// undefined somewhere.
class RandomMask {
public:
  explicit RandomMask(std::uint32_t seed) : random(seed) {}

  Mask create() {
    values = {{"index", {"%b", "%h", "%p", "%j", "%p", "%j"}}};
    text = "(%b, %h, %p, %j) captures(%t = %t0 : tensor<?xi32>, %u = %t1 : "
           "tensor<?xi1>, %v = %t2 : tensor<?x?xindex>, %s = %t3 : index, "
           "%c = %t4 : i1, %w = %t5 : tensor<?xf32>, %z = %t6 : f32) {\n";
    values["index"].push_back("%s");
    values["i1"].push_back("%c");
    values["f32"].push_back("%z");
    for (unsigned i = 0; i < 3; ++i)
      addConstant("index");
    for (const char *type : {"i32", "i8"}) {
      addConstant(type);
      define(type, "arith.index_cast " + pick("index") + " : index to " + type);
    }
    addComparison();
    for (unsigned i = 4 + random() % 12; i > 0; --i)
      addOperation();
    addComparison();
    for (unsigned i = random() % 3; i > 0; --i)
      addLogic();
    text += "attn.yield " + values["i1"].back() + " : i1\n}";
    return {text,
            {{"t0", "i32", {3}, {pickNumber(), pickNumber(), 2}, pickBlocks(1)},
             {"t1",
              "i1",
              {5},
              {pickFlag(), pickFlag(), pickFlag(), pickFlag(), pickFlag()},
              pickBlocks(1)},
             {"t2",
              "index",
              {2, 2},
              {pickNumber(), 1, pickNumber(), 5},
              pickBlocks(2)},
             {"t3", "index", {}, {pickNumber()}},
             {"t4", "i1", {}, {pickFlag()}},
             {"t5",
              "f32",
              {6},
              {},
              pickBlocks(1),
              {pickReal(), pickReal(), 1.5, pickReal(), pickReal(), -2}},
             {"t6", "f32", {}, {}, {}, {pickReal()}}}};
  }

private:
  std::string pick(const std::string &type) {
    const std::vector<std::string> &pool = values.at(type);
    // Half of the time something recent, so that chains are long.
    std::size_t recent = std::min<std::size_t>(pool.size(), 3);
    return random() % 2 ? pool[pool.size() - 1 - random() % recent]
                        : pool[random() % pool.size()];
  }
  std::string pickOf(std::initializer_list<const char *> names) {
    return names.begin()[random() % names.size()];
  }
  std::string pickInteger() {
    return pickOf({"index", "index", "index", "i32", "i8"});
  }
  Index pickNumber() {
    static const Index corners[] = {
        INT64_MIN,      INT64_MIN + 1,     INT64_MAX,      INT64_MAX - 1,
        Index(1) << 62, -(Index(1) << 61), Index(1) << 31, -(Index(1) << 31)};
    return random() % 6 ? Index(random() % 12) - 4 : corners[random() % 8];
  }

  /// Mostly one that sums of others meet, so that rounding decides.
  double pickReal() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    static const double corners[] = {
        infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
        1e30,     -1e-30,    -0.0};
    return random() % 8 ? double(random() % 25) * 0.25 - 3
                        : corners[random() % std::size(corners)];
  }
  Index pickFlag() { return Index(random() % 2); }
  /// Sizes of blocks for half of the tables.
  std::vector<Index> pickBlocks(std::size_t rank) {
    std::vector<Index> blocks;
    if (random() % 2)
      for (std::size_t dim = 0; dim < rank; ++dim)
        blocks.push_back(1 + Index(random() % 3));
    return blocks;
  }

  void define(const std::string &type, const std::string &operation) {
    std::string name = "%x" + std::to_string(count++);
    text += "  " + name + " = " + operation + "\n";
    values[type].push_back(name);
  }

  void addConstant(const std::string &type) {
    Index number = pickNumber();
    if (type == "i32")
      number = std::int32_t(number);
    if (type == "i8")
      number = std::int8_t(number);
    define(type, "arith.constant " + std::to_string(number) + " : " + type);
  }

  void addComparison() {
    std::string type = pickInteger();
    std::string lhs = pick(type), rhs = pick(type);
    if (type == "index" && random() % 3 == 0)
      return define("i1", "index.cmp " +
                              pickOf({"eq", "ne", "slt", "sle", "sgt", "sge",
                                      "ult", "ule", "ugt", "uge"}) +
                              "(" + lhs + ", " + rhs + ")");
    define("i1", "arith.cmpi " +
                     pickOf({"eq", "ne", "slt", "sle", "sgt", "sge", "ult",
                             "ule", "ugt", "uge"}) +
                     ", " + lhs + ", " + rhs + " : " + type);
  }

  /// Of an integer's function and a constant, either of them first, or of what
  /// that is rounded to.
  void addFloatComparison() {
    std::string type = pickOf({"f32", "f64", "bf16"}), integer = pickInteger();
    if (integer == "index") {
      define("i64", "arith.index_cast " + pick("index") + " : index to i64");
      integer = "i64";
    }
    auto constant = [&] {
      define(type, "arith.constant " +
                       pickOf({"-3.5", "-1.0", "-0.25", "0.0", "0.5", "1.0",
                               "1.75", "4.0", "1.0e+30"}) +
                       " : " + type);
      return values.at(type).back();
    };
    define(type, pickOf({"arith.sitofp ", "arith.sitofp ", "arith.uitofp "}) +
                     pick(integer) + " : " + integer + " to " + type);
    std::string number = values.at(type).back();
    for (unsigned i = random() % 4; i > 0; --i) {
      if (random() % 2) {
        define(type,
               pickOf({"math.log ", "math.log1p ", "math.exp ", "math.exp2 ",
                       "math.expm1 ", "math.sqrt ", "math.rsqrt ", "math.cbrt ",
                       "math.tanh ", "math.floor ", "math.absf ", "math.round ",
                       "arith.negf "}) +
                   number + " : " + type);
      } else {
        std::string other = constant();
        bool isFirst = random() % 2;
        define(type,
               pickOf({"arith.addf ", "arith.subf ", "arith.mulf ",
                       "arith.divf ", "arith.maximumf ", "arith.minnumf "}) +
                   (isFirst ? other + ", " + number : number + ", " + other) +
                   " : " + type);
      }
      number = values.at(type).back();
    }
    if (random() % 3 == 0) {
      std::string rounded = pickOf({"i8", "i32"});
      define(rounded, pickOf({"arith.fptosi ", "arith.fptoui "}) + number +
                          " : " + type + " to " + rounded);
      integer = values.at(rounded).back();
      define(rounded, "arith.constant " + pickOf({"-3", "0", "2", "7"}) +
                          " : " + rounded);
      return define("i1", "arith.cmpi " + pickOf({"slt", "ult"}) + ", " +
                              integer + ", " + values.at(rounded).back() +
                              " : " + rounded);
    }
    std::string other = constant();
    define("i1",
           "arith.cmpf " +
               pickOf({"olt", "ole", "ogt", "oge", "ult", "ule", "ugt", "uge",
                       "oeq", "une", "ord"}) +
               ", " +
               (random() % 2 ? other + ", " + number : number + ", " + other) +
               " : " + type);
  }

  /// Of loaded floats, and of what is computed of them.
  void addReal() {
    switch (random() % 6) {
    case 0:
      return define("f32",
                    "tensor.extract %w[" + pick("index") + "] : tensor<?xf32>");
    case 1:
      return define("f32", "arith.sitofp " + pick("i32") + " : i32 to f32");
    case 2:
      return define("f32", pickOf({"arith.negf ", "math.absf ", "math.floor ",
                                   "math.ceil ", "math.sqrt "}) +
                               pick("f32") + " : f32");
    case 3:
      return define("f32", "arith.select " + pick("i1") + ", " + pick("f32") +
                               ", " + pick("f32") + " : f32");
    default:
      return define(
          "f32", pickOf({"arith.addf ", "arith.subf ", "arith.mulf ",
                         "arith.divf ", "arith.maximumf ", "arith.minnumf "}) +
                     pick("f32") + ", " + pick("f32") + " : f32");
    }
  }

  void addRealComparison() {
    for (unsigned i = 1 + random() % 4; i > 0; --i)
      addReal();
    define("i1", "arith.cmpf " +
                     pickOf({"olt", "ole", "ogt", "oge", "ult", "ule", "ugt",
                             "uge", "oeq", "une", "one", "ueq", "ord", "uno"}) +
                     ", " + values.at("f32").back() + ", " + pick("f32") +
                     " : f32");
  }

  void addLogic() {
    define("i1", pickOf({"arith.andi ", "arith.ori ", "arith.xori "}) +
                     pick("i1") + ", " + pick("i1") + " : i1");
  }

  void addOperation() {
    std::string type = pickInteger();
    std::string operands = pick(type) + ", " + pick(type);
    switch (random() % 14) {
    case 0:
      return addConstant(type);
    case 1:
      return addComparison();
    case 2:
      return random() % 2 ? addRealComparison() : addFloatComparison();
    case 3:
      return addLogic();
    case 4:
      return define("i1", pickOf({"arith.cmpi eq, ", "arith.cmpi ne, ",
                                  "arith.cmpi ult, ", "arith.addi ",
                                  "arith.muli ", "arith.divui "}) +
                              pick("i1") + ", " + pick("i1") + " : i1");
    case 5:
      return define(type, "arith.select " + pick("i1") + ", " + operands +
                              " : " + type);
    case 6:
      return define("i1", "arith.select " + pick("i1") + ", " + pick("i1") +
                              ", " + pick("i1") + " : i1");
    case 7:
      return addLoad();
    case 8:
      return addConversion();
    case 9:
      return define(type, pickOf({"math.absi ", "math.absi ", "math.ctpop "}) +
                              pick(type) + " : " + type);
    case 10:
      return define(
          "index",
          pickOf({"index.add ", "index.sub ", "index.mul ", "index.divs ",
                  "index.divu ", "index.floordivs ", "index.ceildivs ",
                  "index.ceildivu ", "index.rems ", "index.remu ",
                  "index.maxs ", "index.minu ", "index.and ", "index.or ",
                  "index.xor ", "index.shl ", "index.shrs ", "index.shru "}) +
              pick("index") + ", " + pick("index"));
    default:
      return define(
          type,
          pickOf({"arith.addi ",      "arith.subi ",       "arith.addi ",
                  "arith.subi ",      "arith.muli ",       "arith.divsi ",
                  "arith.divui ",     "arith.floordivsi ", "arith.ceildivsi ",
                  "arith.ceildivui ", "arith.remsi ",      "arith.remui ",
                  "arith.minsi ",     "arith.maxsi ",      "arith.minui ",
                  "arith.maxui ",     "arith.andi ",       "arith.ori ",
                  "arith.xori ",      "arith.shli ",       "arith.shrsi ",
                  "arith.shrui ",     "math.ipowi ",       "arith.addi "}) +
              operands + " : " + type);
    }
  }

  void addLoad() {
    switch (random() % 3) {
    case 0:
      return define("i32",
                    "tensor.extract %t[" + pick("index") + "] : tensor<?xi32>");
    case 1:
      return define("i1",
                    "tensor.extract %u[" + pick("index") + "] : tensor<?xi1>");
    default:
      return define("index", "tensor.extract %v[" + pick("index") + ", " +
                                 pick("index") + "] : tensor<?x?xindex>");
    }
  }

  void addConversion() {
    auto convert = [&](const char *operation, const char *from,
                       const char *to) {
      define(to, operation + pick(from) + " : " + from + " to " + to);
    };
    switch (random() % 12) {
    case 0:
      return convert("arith.index_cast ", "index", "i32");
    case 1:
      return convert("arith.index_castui ", "index", "i32");
    case 2:
      return convert("arith.index_cast ", "i8", "index");
    case 3:
      return convert("arith.index_castui ", "i32", "index");
    case 4:
      return convert("index.castu ", "i8", "index");
    case 5:
      return convert("index.casts ", "index", "i8");
    case 6:
      return convert("arith.extsi ", "i8", "i32");
    case 7:
      return convert("arith.extui ", "i8", "i32");
    case 8:
      return convert("arith.trunci ", "i32", "i8");
    case 9:
      return convert("arith.trunci ", "i32", "i1");
    case 10:
      return convert("arith.extui ", "i1", "i32");
    default:
      return convert("arith.extsi ", "i1", "i8");
    }
  }

  std::mt19937 random;
  std::map<std::string, std::vector<std::string>> values;
  std::string text;
  unsigned count = 0;
};

} // namespace

TEST_F(MaskAnalysisTest, Random) {
  unsigned decided = 0, asked = 0;
  forSeeds(1, numCases(400), [&](std::uint64_t seed) {
    load(RandomMask(std::uint32_t(seed)).create());
    ASSERT_FALSE(HasFatalFailure());
    std::mt19937 random{std::uint32_t(seed)};
    auto between = [&](Index low, Index high) {
      return low + Index(random() % std::uint32_t(high - low + 1));
    };
    for (unsigned i = 0; i < 60; ++i) {
      Index p0 = between(kFirstPosition, kLastPosition);
      Index j0 = between(0, kNumKeys - 1);
      Rectangle at{between(0, 1),
                   between(0, 1),
                   p0,
                   std::min(p0 + between(0, 3), kLastPosition),
                   j0,
                   std::min(j0 + between(0, 3), kNumKeys - 1),
                   between(0, kNumKeys)};
      Answer answer = ask(at);
      check(at, answer, Demand::Sound);
      decided += answer.isEmpty || answer.isFull;
      ++asked;
      if (i % 20 == 0)
        if (std::optional<Answer> folded = askConstants(at, false))
          check(at, *folded, Demand::Sound);
      ASSERT_FALSE(HasFailure());
    }
  });
  if (getOnlySeed())
    return;
  // Were nothing ever known, nothing would be wrong.
  EXPECT_GE(decided, asked / 4);
  RecordProperty("decided", int(decided * 100 / asked));
}
