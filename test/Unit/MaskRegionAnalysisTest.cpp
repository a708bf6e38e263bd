//===- MaskRegionAnalysisTest.cpp - Analyses of masks written out ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/MaskAnalysisTesting.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <algorithm>

using namespace attn::test;

TEST_F(MaskAnalysisTest, Comparisons) {
  for (std::string predicate : {"eq", "ne", "slt", "sle", "sgt", "sge"}) {
    checkEverywhere(
        {region("%keep = arith.cmpi " + predicate + ", %j, %p : index")},
        predicate == "ne" ? Demand::Verdict : Demand::Exact);
    checkEverywhere({region("%d = index.sub %p, %j\n"
                            "%two = index.constant 2\n"
                            "%keep = index.cmp " +
                            predicate + "(%d, %two)")},
                    predicate == "ne" ? Demand::Verdict : Demand::Exact);
  }
  // Exact only where the positions have one sign.
  for (std::string predicate : {"ult", "ule", "ugt", "uge"})
    checkEverywhere(
        {region("%keep = arith.cmpi " + predicate + ", %j, %p : index")},
        Demand::Sound);
  load({region("%keep = arith.cmpi ule, %j, %p : index")});
  for (Index first : {-3, 0, 2})
    for (Index last : {Index(-1), kLastPosition})
      if (first <= last && (first >= 0 || last < 0)) {
        Rectangle at{0, 0, first, last, 1, 4, kNumKeys};
        check(at, ask(at), Demand::Exact);
      }
}

TEST_F(MaskAnalysisTest, Distances) {
  checkEverywhere({region(R"(
      %d = arith.subi %p, %j : index
      %a = math.absi %d : index
      %c3 = arith.constant 3 : index
      %keep = arith.cmpi sle, %a, %c3 : index)")},
                  Demand::Exact);
  // A band that is left out.
  checkEverywhere({region(R"(
      %d = arith.subi %p, %j : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %low = arith.cmpi sge, %d, %c1 : index
      %high = arith.cmpi sle, %d, %c3 : index
      %band = arith.andi %low, %high : i1
      %true = arith.constant true
      %keep = arith.xori %band, %true : i1)")},
                  Demand::Sound);
  // Dilated.
  checkEverywhere({region(R"(
      %d = arith.subi %p, %j : index
      %c4 = arith.constant 4 : index
      %c0 = arith.constant 0 : index
      %r = arith.remsi %d, %c4 : index
      %keep = arith.cmpi eq, %r, %c0 : index)")},
                  Demand::Sound);
  // In i32, as other compilers write it, exact while it fits.
  checkEverywhere({region(R"(
      %i = arith.index_cast %p : index to i32
      %k = arith.index_cast %j : index to i32
      %d = arith.subi %i, %k : i32
      %c2 = arith.constant 2 : i32
      %keep = arith.cmpi sle, %d, %c2 : i32)")},
                  Demand::Exact);
}

TEST_F(MaskAnalysisTest, Squares) {
  checkEverywhere({region(R"(
      %d = arith.subi %p, %j : index
      %s = arith.muli %d, %d : index
      %c5 = arith.constant 5 : index
      %keep = arith.cmpi sle, %s, %c5 : index)")},
                  Demand::Exact);
  // Discs in rows of four: both summands depend on the key.
  std::string disc = R"(
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %qx = arith.andi %p, %c3 : index
      %kx = arith.andi %j, %c3 : index
      %qy = arith.shrsi %p, %c2 : index
      %ky = arith.shrsi %j, %c2 : index
      %x = arith.subi %qx, %kx : index
      %y = arith.subi %qy, %ky : index
      %xx = arith.muli %x, %x : index
      %yy = arith.muli %y, %y : index
      %s = arith.addi %xx, %yy : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %keep = arith.cmpi sle, %s, )";
  for (std::string radius : {"%c0", "%c1", "%c3"})
    checkEverywhere({region(disc + radius + " : index")}, Demand::Sound);
  load({region(disc + "%c1 : index")});
  Answer answer = ask({0, 0, 1, 1, 0, 3, kNumKeys}); // Of its own row.
  EXPECT_EQ(std::pair(answer.blockBegin, answer.blockEnd),
            std::pair(Index(0), Index(3)));
  answer = ask({0, 0, -3, -3, 4, 7, kNumKeys}); // Two rows below.
  EXPECT_TRUE(answer.isEmpty);
  EXPECT_TRUE(ask({0, 0, 5, 5, 1, 1, kNumKeys}).isFull);
}

TEST_F(MaskAnalysisTest, ScaledByLoads) {
  // What a head loads is one number, what a query loads lies in an interval.
  for (std::string index : {"%h", "%p"})
    for (std::string op : {"arith.muli", "arith.floordivsi"})
      for (Index greatest : {Index(3), Index(0), Index(1) << 31})
        for (std::string predicate : {"slt", "sge"})
          checkEverywhere(
              {region("tensor<?xi32>", "%n = tensor.extract %t[" + index +
                                           R"(] : tensor<?xi32>
          %w = arith.extsi %n : i32 to i64
          %i = arith.index_cast %w : i64 to index
          %c1 = arith.constant 1 : index
          %d = arith.subi %p, %j : index
          %x = )" + op + " %d, %i : index\n%keep = arith.cmpi " +
                                           predicate + ", %x, %c1 : index"),
               {{"n", "i32", {8}, {2, greatest, 1, 2, 1, 1, 5, 4}, {2}}}},
              index == "%h" && greatest == 3 ? Demand::Exact : Demand::Sound);
}

TEST_F(MaskAnalysisTest, Extrema) {
  // Named masks, as a minimum or a maximum of distances.
  checkEverywhere({region(R"(
      %d = arith.subi %p, %j : index
      %e = arith.subi %j, %p : index
      %m = arith.maxsi %d, %e : index
      %c2 = arith.constant 2 : index
      %keep = arith.cmpi slt, %m, %c2 : index)")},
                  Demand::Exact);
  checkEverywhere({region("index", R"(
      %end = arith.maxsi %p, %t : index
      %keep = arith.cmpi sle, %j, %end : index)"),
                   {{"n", "index", {}, {3}}}},
                  Demand::Exact);
  checkEverywhere({region(R"(
      %c3 = arith.constant 3 : index
      %d = arith.subi %p, %j : index
      %m = arith.minsi %d, %c3 : index
      %keep = arith.cmpi sge, %m, %c3 : index)")},
                  Demand::Exact);
}

TEST_F(MaskAnalysisTest, MonotoneFloats) {
  auto check = [&](const std::string &type, const std::string &body,
                   const std::string &compare, Demand demand) {
    checkEverywhere(
        {region("%d = arith.subi %p, %j : index\n"
                "%i = arith.index_cast %d : index to i64\n"
                "%f = arith.sitofp %i : i64 to " +
                type + "\n" + body + "\n%c = arith.constant " +
                compare.substr(compare.find(' ') + 1) + " : " + type +
                "\n%keep = arith.cmpf " + compare.substr(0, compare.find(' ')) +
                ", %x, %c : " + type)},
        demand);
  };
  for (std::string type : {"f32", "f64", "f16", "bf16"}) {
    std::string of = " : " + type,
                constants = "%half = arith.constant 0.5" + of +
                            "\n%minus = arith.constant -3.0" + of + "\n";
    // Windows of less than three, whose limits are between integers.
    for (std::string predicate : {"olt", "ole", "ult", "ule"})
      check(type, constants + "%x = arith.mulf %f, %half" + of,
            predicate + " 1.25", Demand::Exact);
    check(type, constants + "%x = arith.mulf %minus, %f" + of, "ogt -7.5",
          Demand::Exact);
    check(type, constants + "%x = arith.subf %half, %f" + of, "oge -1.75",
          Demand::Exact);
    check(type, constants + "%x = arith.divf %f, %minus" + of, "olt 0.5",
          Demand::Exact);
    // A limit that rounding may reach: not told, never wrong.
    check(type, constants + "%x = arith.mulf %f, %half" + of, "olt 2.0",
          Demand::Sound);
    // Not defined everywhere, not monotone, not a number.
    // Of each type but f32, each function with one comparison.
    std::vector<std::string> comparisons = {"olt 1.25", "uge 0.5", "ogt 3.0",
                                            "ole -1.0", "oeq 1.0"};
    for (std::string function :
         {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "exp", "tanh",
          "cbrt", "erf", "floor", "absf", "cos"}) {
      std::rotate(comparisons.begin(), comparisons.begin() + 1,
                  comparisons.end());
      for (std::size_t i = 0; i < (type == "f32" ? comparisons.size() : 1); ++i)
        check(type, "%x = math." + function + " %f" + of, comparisons[i],
              Demand::Sound);
    }
    check(type,
          constants + "%one = arith.subf %f, %minus" + of +
              "\n%x = arith.divf %half, %one" + of,
          "ogt 0.1", Demand::Sound);
  }
  // Rounded to integers, which are what they are compared with as well, where
  // they fit; and what a condition leaves to choose.
  for (std::string convert :
       {"%r = arith.fptosi %y : f32 to i64",
        "%r = arith.fptoui %y : f32 to i64",
        "%n = arith.fptoui %y : f32 to i8\n%r = arith.extsi %n : i8 to i64"})
    for (std::string number :
         {"%y = math.exp2 %f : f32", "%y = math.sqrt %f : f32",
          "%y = arith.negf %f : f32", "%y = arith.mulf %f, %half : f32",
          "%y = arith.mulf %f, %many : f32", "%y = math.log2 %f : f32"}) {
      SCOPED_TRACE(convert + " " + number);
      checkEverywhere({region(R"(
      %d = arith.subi %p, %j : index
      %i = arith.index_cast %d : index to i64
      %c1 = arith.constant 1 : i64
      %c4 = arith.constant 4 : i64
      %c9 = arith.constant 9 : i64
      %least = arith.maxsi %i, %c1 : i64
      %some = arith.minsi %least, %c9 : i64
      %f = arith.sitofp %some : i64 to f32
      %half = arith.constant 0.5 : f32
      %many = arith.constant 27.0 : f32
      )" + number + "\n" + convert +
                              R"(
      %small = arith.cmpi slt, %i, %c4 : i64
      %x = arith.select %small, %i, %r : i64
      %keep = arith.cmpi sle, %x, %c9 : i64)")},
                      Demand::Sound);
    }
  // Keys that are near by the logarithm of their distance, which causal
  // defines.
  std::string near = R"(
      %c1 = arith.constant 1 : index
      %d = arith.subi %p, %j : index
      %e = arith.addi %d, %c1 : index
      %i = arith.index_cast %e : index to i64
      %f = arith.sitofp %i : i64 to f32
      %x = math.log %f : f32
      %c = arith.constant 1.2 : f32
      %close = arith.cmpf olt, %x, %c : f32
      %causal = arith.cmpi sle, %j, %p : index
      %keep = arith.andi %close, %causal : i1)";
  checkEverywhere({region(near)}, Demand::Exact);
}

TEST_F(MaskAnalysisTest, Blocks) {
  for (std::string divide : {"%x = arith.floordivsi %p, %c3 : index\n"
                             "%y = arith.divui %j, %c3 : index\n",
                             "%x = index.floordivs %p, %c3\n"
                             "%y = index.divs %j, %c3\n",
                             "%c2 = arith.constant 2 : index\n"
                             "%x = arith.shrsi %p, %c2 : index\n"
                             "%y = arith.shrui %j, %c2 : index\n"}) {
    std::string prefix = "%c3 = arith.constant 3 : index\n" + divide;
    checkEverywhere({region(prefix + "%keep = arith.cmpi eq, %x, %y : index")},
                    Demand::Exact);
    checkEverywhere({region(prefix + "%keep = arith.cmpi sge, %x, %y : index")},
                    Demand::Exact);
    // The own block and the one before.
    checkEverywhere(
        {region(prefix + "%d = arith.subi %x, %y : index\n"
                         "%c1 = arith.constant 1 : index\n"
                         "%keep = arith.cmpi ule, %d, %c1 : index")},
        Demand::Sound);
  }
  // A block size known only at run time, whatever it is.
  for (Index size : {-2, 0, 1, 4})
    checkEverywhere({region("index", R"(
        %x = arith.floordivsi %p, %t : index
        %y = arith.divui %j, %t : index
        %keep = arith.cmpi eq, %x, %y : index)"),
                     {{"n", "index", {}, {size}}}},
                    size > 0 ? Demand::Verdict : Demand::Sound);
  // Rounded down to a block.
  checkEverywhere({region(R"(
      %m = arith.constant -4 : index
      %x = arith.andi %p, %m : index
      %keep = arith.cmpi sle, %x, %j : index)")},
                  Demand::Exact);
}

TEST_F(MaskAnalysisTest, ByHead) {
  // One head sees all, the other a window.
  checkEverywhere({region("tensor<?xi1>", R"(
      %global = tensor.extract %t[%h] : tensor<?xi1>
      %d = arith.subi %p, %j : index
      %c2 = arith.constant 2 : index
      %window = arith.cmpi sle, %d, %c2 : index
      %causal = arith.cmpi sle, %j, %p : index
      %local = arith.andi %window, %causal : i1
      %keep = arith.select %global, %causal, %local : i1)"),
                   {{"n", "i1", {2}, {1, 0}}}},
                  Demand::Exact);
  for (std::string type : {"i64", "index", "i32", "i8"}) {
    std::string load = "%n = tensor.extract %t[%h] : tensor<?x" + type + ">\n" +
                       (type == "index" ? "%w = arith.addi %n, %b : index\n"
                                        : "%w = arith.index_cast %n : " + type +
                                              " to index\n");
    // Windows that may be any number; sums with most overflow.
    for (Index size : {Index(3), Index(9223372036854775807)})
      checkEverywhere({region("tensor<?x" + type + ">",
                              load + "%x = arith.addi %j, %w : index\n"
                                     "%keep = arith.cmpi sgt, %x, %p : index"),
                       {{"n", type, {2}, {2, type == "i8" ? 5 : size}}}},
                      size == 3 || type == "i8" ? Demand::Exact
                                                : Demand::Sound);
  }
  // Columns that all may see besides a window; scalar captures.
  checkEverywhere({region("i32", R"(
      %n = arith.index_cast %t : i32 to index
      %d = arith.subi %p, %j : index
      %c2 = arith.constant 2 : index
      %window = arith.cmpi sle, %d, %c2 : index
      %causal = arith.cmpi sle, %j, %p : index
      %local = arith.andi %window, %causal : i1
      %first = arith.cmpi slt, %j, %n : index
      %keep = arith.ori %first, %local : i1)"),
                   {{"n", "i32", {}, {2}}}},
                  Demand::Sound);
}

TEST_F(MaskAnalysisTest, Periods) {
  // The third of four keys, and of three.
  for (auto [remainder, length] :
       {std::pair("%c3 = arith.constant 3 : index\n"
                  "%r = arith.andi %j, %c3 : index\n",
                  Index(4)),
        std::pair("%c4 = arith.constant 4 : index\n"
                  "%r = arith.remui %j, %c4 : index\n",
                  Index(4)),
        // Rounded down, as the builder writes it.
        std::pair("%c3 = arith.constant 3 : index\n"
                  "%c0 = arith.constant 0 : index\n"
                  "%s = arith.remsi %j, %c3 : index\n"
                  "%below = arith.cmpi slt, %s, %c0 : index\n"
                  "%shifted = arith.addi %s, %c3 : index\n"
                  "%r = arith.select %below, %shifted, %s : index\n",
                  Index(3))}) {
    Mask third{
        region(remainder + std::string("%c2 = arith.constant 2 : index\n"
                                       "%keep = arith.cmpi eq, %r, %c2 : "
                                       "index"))};
    checkEverywhere(third, Demand::Sound);
    load(third);
    EXPECT_TRUE(hasGaps) << remainder;
    for (Index first = 0; first + length <= kNumKeys; first += length) {
      Answer answer = ask({0, 0, 0, 1, first, first + length - 1, kNumKeys});
      EXPECT_EQ(answer.blockBegin, first + 2) << remainder;
      EXPECT_EQ(answer.blockEnd, first + 3) << remainder;
    }
    // The first and the last of two periods.
    Answer answer = ask({0, 0, 0, 1, 1, length + 2, kNumKeys});
    EXPECT_EQ(answer.blockBegin, 2) << remainder;
    EXPECT_EQ(answer.blockEnd, length + 3) << remainder;
  }
  // Of a number that may be negative, what is rounded to zero says nothing.
  checkEverywhere({region("%c4 = arith.constant 4 : index\n"
                          "%d = arith.subi %j, %c4 : index\n"
                          "%r = arith.remsi %d, %c4 : index\n"
                          "%c0 = arith.constant 0 : index\n"
                          "%keep = arith.cmpi sgt, %r, %c0 : index")},
                  Demand::Sound);
  // Low bits do, of one that is not above all keys too.
  checkEverywhere({region("%c3 = arith.constant 3 : index\n"
                          "%d = arith.subi %j, %p : index\n"
                          "%r = arith.andi %d, %c3 : index\n"
                          "%keep = arith.cmpi eq, %r, %c3 : index")},
                  Demand::Sound);
  Answer answer = ask({0, 0, 2, 2, 2, 5, kNumKeys});
  EXPECT_EQ(answer.blockBegin, 5);
  EXPECT_EQ(answer.blockEnd, 6);
}

TEST_F(MaskAnalysisTest, Gaps) {
  load({"causal"});
  EXPECT_FALSE(hasGaps);
  load({"sliding_window(2, 1)"});
  EXPECT_FALSE(hasGaps);
  // One range is a part of the other.
  load({"prefix_lm(%n : tensor<?xi32>)", {lengths("i32", 5, 1)}});
  EXPECT_FALSE(hasGaps);
  load({"causal, key_padding(%n : tensor<?xi32>)", {lengths("i32", 4, 1)}});
  EXPECT_FALSE(hasGaps);
  // The first key, and those from the one before the query on.
  load({region(R"(
      %c1 = arith.constant 1 : index
      %d = arith.subi %p, %j : index
      %near = arith.cmpi sle, %d, %c1 : index
      %first = arith.cmpi slt, %j, %c1 : index
      %keep = arith.ori %first, %near : i1)")});
  EXPECT_TRUE(hasGaps);
  Answer answer = ask({0, 0, 6, 7, 0, 3, kNumKeys});
  EXPECT_EQ(answer.blockBegin, 0);
  EXPECT_EQ(answer.blockEnd, 1);
  answer = ask({0, 0, 6, 7, 4, 7, kNumKeys});
  EXPECT_EQ(answer.blockBegin, 5);
  EXPECT_EQ(answer.blockEnd, 8);
}

TEST_F(MaskAnalysisTest, Undefined) {
  // `false and` makes the load harmless, though it is outside.
  for (std::string logic : {"%in = arith.cmpi slt, %j, %c3 : index\n"
                            "%keep = arith.andi %in, %x : i1",
                            "%in = arith.cmpi slt, %j, %c3 : index\n"
                            "%keep = arith.andi %x, %in : i1",
                            "%out = arith.cmpi sge, %j, %c3 : index\n"
                            "%keep = arith.ori %out, %x : i1",
                            "%in = arith.cmpi ult, %j, %c3 : index\n"
                            "%no = arith.constant false\n"
                            "%keep = arith.select %in, %x, %no : i1",
                            "%in = arith.cmpi ult, %j, %c3 : index\n"
                            "%keep = arith.xori %in, %x : i1"})
    checkEverywhere({region("tensor<?xi1>", R"(
        %c3 = arith.constant 3 : index
        %x = tensor.extract %t[%j] : tensor<?xi1>
        )" + logic),
                     {{"n", "i1", {3}, {1, 0, 1}}}},
                    Demand::Sound);
  // All of the table is kept: full where it ends at the latest.
  load({region("tensor<?xi1>", R"(
      %c3 = arith.constant 3 : index
      %in = arith.cmpi slt, %j, %c3 : index
      %x = tensor.extract %t[%j] : tensor<?xi1>
      %keep = arith.andi %x, %in : i1)"),
        {{"n", "i1", {3}, {1, 0, 1}}}});
  Answer outside = ask({0, 0, 0, 1, 3, 7, kNumKeys});
  EXPECT_TRUE(outside.isEmpty);
  EXPECT_FALSE(outside.isDefined);
  EXPECT_EQ(outside.end, 3);
  EXPECT_TRUE(ask({0, 0, 0, 1, 0, 2, kNumKeys}).isDefined);

  // What has no result although its operands do.
  for (std::string op :
       {"arith.divsi %p, %j", "arith.remui %j, %p", "arith.divsi %j, %p",
        "arith.shli %p, %j", "arith.shrui %j, %p", "arith.ceildivsi %big, %p",
        "arith.floordivsi %big, %d", "math.ipowi %p, %d"})
    checkEverywhere({region("%big = arith.constant -9223372036854775808 : "
                            "index\n"
                            "%d = arith.subi %j, %p : index\n"
                            "%x = " +
                            op +
                            " : index\n"
                            "%keep = arith.cmpi ne, %x, %p : index")},
                    Demand::Sound);
}

TEST_F(MaskAnalysisTest, Overflow) {
  for (std::string factor :
       {"4611686018427387904", "-4611686018427387904", "-9223372036854775808",
        "9223372036854775807", "2305843009213693952", "3", "-3"})
    for (std::string x : {"%j", "%p"})
      checkEverywhere({region("%c = arith.constant " + factor +
                              " : index\n"
                              "%y = arith.muli " +
                              x +
                              ", %c : index\n"
                              "%c5 = arith.constant 5 : index\n"
                              "%keep = arith.cmpi slt, %y, %c5 : index")},
                      Demand::Sound);
}

TEST_F(MaskAnalysisTest, NoMask) {
  OpBuilder b(&context);
  mlir::Location loc = b.getUnknownLoc();
  code = mlir::ModuleOp::create(loc);
  b.setInsertionPointToEnd(code->getBody());
  Value zero = mlir::arith::ConstantIndexOp::create(b, loc, 0);
  Value five = mlir::arith::ConstantIndexOp::create(b, loc, 5);
  mlir::attn::IndexRange range{zero, five};
  mlir::Region none;
  auto verdict = mlir::attn::emitBlockVerdict(b, loc, none,
                                              {zero, zero, range, range, {}});
  EXPECT_TRUE(matchPattern(verdict.isFull, mlir::m_One()));
  EXPECT_TRUE(matchPattern(verdict.isEmpty, mlir::m_Zero()));
  auto visible =
      mlir::attn::emitVisibleKeys(b, loc, none, zero, zero, range, five, {});
  EXPECT_TRUE(matchPattern(visible.begin, mlir::m_Zero()));
  EXPECT_EQ(mlir::getConstantIntValue(visible.end), 5);
}

/// A score has one more argument, and floats.
TEST_F(MaskAnalysisTest, Score) {
  source = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @f(%q: memref<2x2x?x1xf32>, %o: memref<2x2x?x1xf32>,
                 %slopes: memref<2xf32>, %bias: memref<4x4xf32>) {
      attn.attention ins(%q, %q, %q : memref<2x2x?x1xf32>,
          memref<2x2x?x1xf32>, memref<2x2x?x1xf32>)
          outs(%o : memref<2x2x?x1xf32>)
          score alibi(%slopes : memref<2xf32>), bias(%bias : memref<4x4xf32>)
      return
    })",
                                                   &context);
  ASSERT_TRUE(source);
  source->walk([&](AttentionOp op) { attention = op; });
  OpBuilder b(attention);
  mlir::Location loc = b.getUnknownLoc();
  auto isDefined = [&](Index head, Index lastPosition, Index lastKey) {
    auto number = [&](Index value) -> Value {
      return mlir::arith::ConstantIndexOp::create(b, loc, value);
    };
    Value answer = mlir::attn::emitIsDefined(b, loc, attention.getScore(),
                                             {number(0),
                                              number(head),
                                              {number(0), number(lastPosition)},
                                              {number(0), number(lastKey)},
                                              attention.getScoreCaptures()});
    std::optional<Index> constant = mlir::getConstantIntValue(answer);
    EXPECT_TRUE(constant);
    return constant.value_or(0) != 0;
  };
  EXPECT_TRUE(isDefined(0, 3, 3));
  EXPECT_TRUE(isDefined(1, 0, 3));
  EXPECT_FALSE(isDefined(2, 3, 3)); // No slope,
  EXPECT_FALSE(isDefined(1, 4, 3)); // no row,
  EXPECT_FALSE(isDefined(1, 3, 4)); // no column.
}

/// Tables in buffers are read, and only inside them.
TEST_F(MaskAnalysisTest, Buffers) {
  source = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @f(%q: memref<2x2x?x1xf32>, %o: memref<2x2x?x1xf32>,
                 %n: memref<?xi32>, %b: index, %x: index, %y: index) {
      attn.attention ins(%q, %q, %q : memref<2x2x?x1xf32>,
          memref<2x2x?x1xf32>, memref<2x2x?x1xf32>)
          outs(%o : memref<2x2x?x1xf32>)
          mask key_padding(%n : memref<?xi32>)
      return
    })",
                                                   &context);
  ASSERT_TRUE(source);
  source->walk([&](AttentionOp op) { attention = op; });
  OpBuilder b(attention);
  auto arguments = attention->getBlock()->getArguments().take_back(3);
  mlir::attn::IndexRange range{arguments[1], arguments[2]};
  mlir::attn::emitBlockVerdict(
      b, b.getUnknownLoc(), attention.getMask(),
      {arguments[0], arguments[0], range, range, attention.getMaskCaptures()});
  EXPECT_TRUE(succeeded(mlir::verify(*source)));
  unsigned loads = 0;
  attention->getBlock()->walk([&](mlir::memref::LoadOp load) {
    if (load->getParentOfType<AttentionOp>())
      return;
    EXPECT_TRUE(llvm::isa<mlir::scf::IfOp>(load->getParentOp()));
    ++loads;
  });
  EXPECT_EQ(loads, 1u);
}
