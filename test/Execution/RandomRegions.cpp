//===- RandomRegions.cpp - Random masks and scores as regions -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/RandomRegions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// Where a region is evaluated.
struct At {
  double score;
  Index b, h, p, j;
  const std::vector<Value> *values;
  bool *isUndefined; ///< Becomes true where what is loaded lies outside.
};

template <typename T> struct Expression {
  string name; ///< Of its value in the IR.
  std::function<T(const At &)> meaning;
};
using Integer = Expression<Index>;
using Condition = Expression<bool>;
using Real = Expression<double>;

Index floorDivide(Index a, Index b) {
  Index quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Writes random expressions as operations of a region, and says what they
/// mean. All are defined, and integers are too small to overflow.
class RegionWriter {
public:
  RegionWriter(const FormContext &context, Random &random)
      : context(context), random(random) {}

  Condition condition(int depth) {
    if (depth > 0 && random.chance(0.4))
      return logic(depth);
    if (random.chance(0.2))
      return compareReals();
    Integer x = integer(int(random.between(0, 2)));
    Integer y = random.chance(0.6)
                    ? constant(random.pick<Index>({0, 1, 2, 3, 5, 8, 20, 60}))
                    : leaf();
    return compare(x, y);
  }

  Real real(int depth) {
    if (depth == 0)
      return realLeaf();
    Real x = real(depth - 1);
    if (random.chance(0.4))
      return function(x);
    switch (random.between(0, 7)) {
    case 0:
      return realBinary("arith.addf", x, real(depth - 1), std::plus<>());
    case 1:
      return realBinary("arith.subf", x, real(depth - 1), std::minus<>());
    case 2:
      return realBinary("arith.mulf", x, number(-0.5), std::multiplies<>());
    case 3:
      return realBinary("arith.maximumf", x, real(depth - 1),
                        [](double a, double b) { return std::max(a, b); });
    case 4:
      return realBinary("arith.minimumf", x, number(1.25),
                        [](double a, double b) { return std::min(a, b); });
    case 5:
      return realUnary("math.absf", x, [](double a) { return std::abs(a); });
    case 6:
      return realUnary("math.tanh", x, [](double a) { return std::tanh(a); });
    default: {
      Condition which = condition(1);
      Real y = real(depth - 1);
      return {emit("arith.select " + which.name + ", " + x.name + ", " +
                   y.name + " : " + accumulation()),
              [which, x, y](const At &at) {
                return which.meaning(at) ? x.meaning(at) : y.meaning(at);
              }};
    }
    }
  }

  /// A smooth function of `x`, which it is defined for, and not steep.
  Real function(const Real &x) {
    // Of more than 0: the distance from it is added.
    auto ofPositive = random.pick<Function>(
        {{"math.log", [](double a) { return std::log(a); }},
         {"math.log2", [](double a) { return std::log2(a); }},
         {"math.log1p", [](double a) { return std::log1p(a); }},
         {"math.sqrt", [](double a) { return std::sqrt(a); }},
         {"math.rsqrt", [](double a) { return 1 / std::sqrt(a); }}});
    // Of what is not large.
    auto ofSmall = random.pick<Function>(
        {{"math.exp", [](double a) { return std::exp(a); }},
         {"math.exp2", [](double a) { return std::exp2(a); }}});
    auto ofAny = random.pick<Function>(
        {{"math.sin", [](double a) { return std::sin(a); }},
         {"math.cos", [](double a) { return std::cos(a); }},
         {"math.atan", [](double a) { return std::atan(a); }},
         {"math.erf", [](double a) { return std::erf(a); }}});
    auto apply = [&](const Function &function, const Real &operand) {
      return realUnary(function.name, operand, function.meaning);
    };
    auto absolute = [&](const Real &operand) {
      return apply({"math.absf", [](double a) { return std::abs(a); }},
                   operand);
    };
    switch (random.between(0, 5)) {
    case 0:
      return apply(ofPositive, realBinary("arith.addf", absolute(x),
                                          number(0.75), std::plus<>()));
    case 1:
      return apply(ofSmall, realBinary("arith.minimumf", x, number(0.5),
                                       [](double a, double b) {
                                         return std::min(a, b);
                                       }));
    case 2:
      return realBinary(
          "math.powf",
          realBinary("arith.addf", absolute(x), number(0.75), std::plus<>()),
          number(random.pick<double>({0.75, -0.5, 1.25})),
          [](double a, double b) { return std::pow(a, b); });
    case 3: {
      Real half = realBinary(
          "arith.mulf",
          apply({"math.tanh", [](double a) { return std::tanh(a); }}, x),
          number(0.5), std::multiplies<>());
      return apply({"math.tan", [](double a) { return std::tan(a); }}, half);
    }
    case 4: {
      Real y = realLeaf(), z = number(0.25);
      return {emit("math.fma " + x.name + ", " + z.name + ", " + y.name +
                   " : " + accumulation()),
              [x, y, z](const At &at) {
                return x.meaning(at) * z.meaning(at) + y.meaning(at);
              }};
    }
    default:
      return apply(ofAny, x);
    }
  }

  /// The operations, and the clause of captures before them.
  string write(const string &arguments, const string &result,
               const string &type) const {
    string captures;
    for (const ArgumentForm &table : tables)
      captures += (captures.empty() ? " captures(%" : ", %") + table.name +
                  "_in = %" + table.name + " : " + table.type;
    if (!captures.empty())
      captures += ")";
    return "(" + arguments + ")" + captures + " {\n" + body + "attn.yield " +
           result + " : " + type + "\n}";
  }

  string accumulation() const { return string(nameOf(context.accumulation)); }

  std::vector<ArgumentForm> tables;
  bool indexesPosition = false;

private:
  struct Function {
    const char *name; ///< Of the operation.
    double (*meaning)(double);
  };

  string emit(const string &operation) {
    string name = "%x" + std::to_string(numOperations++);
    body += name + " = " + operation + "\n";
    return name;
  }

  //===--------------------------------------------------------------------===//
  // Integers
  //===--------------------------------------------------------------------===//

  Integer constant(Index value) {
    return {emit("arith.constant " + std::to_string(value) + " : index"),
            [value](const At &) { return value; }};
  }

  Integer leaf() {
    switch (random.between(0, 9)) {
    case 0:
      return {"%b", [](const At &at) { return at.b; }};
    case 1:
      return {"%h", [](const At &at) { return at.h; }};
    case 2:
      return load();
    case 3:
    case 4:
    case 5:
      return {"%j", [](const At &at) { return at.j; }};
    default:
      return {"%p", [](const At &at) { return at.p; }};
    }
  }

  /// Of a tensor with an element for each b, p or j.
  Integer load() {
    static constexpr const char *indices[] = {"%b", "%p", "%j"};
    Index which = random.between(0, 2);
    auto create = [which](const Extents &extents, Random &random) -> Value {
      Index sizes[] = {extents.batches, extents.positions, extents.keyLength};
      TestTensor result(ElementType::i32, {sizes[which]});
      result.fill([&] { return double(random.between(-4, 20)); });
      return result;
    };
    std::size_t number = tables.size();
    indexesPosition |= which == 1;
    string name = context.prefix + "table" + std::to_string(number);
    tables.push_back({name, "tensor<?xi32>", create});
    string element = emit("tensor.extract %" + name + "_in[" + indices[which] +
                          "] : tensor<?xi32>");
    return {
        emit("arith.index_cast " + element + " : i32 to index"),
        [which, number](const At &at) {
          Index index[] = {at.b, at.p, at.j};
          auto element =
              std::get<TestTensor>((*at.values)[number]).get({index[which]});
          *at.isUndefined |= !element;
          return Index(element.value_or(0));
        }};
  }

  Integer integerBinary(const string &name, const Integer &x, const Integer &y,
                        const std::function<Index(Index, Index)> &meaning) {
    return {
        emit("arith." + name + " " + x.name + ", " + y.name + " : index"),
        [=](const At &at) { return meaning(x.meaning(at), y.meaning(at)); }};
  }

  Integer integer(int depth) {
    if (depth == 0)
      return leaf();
    Integer x = integer(depth - 1);
    Index divisor = random.pick<Index>({1, 2, 3, 4, 5, 7, 8, 16, 48, 100});
    switch (random.between(0, 13)) {
    case 0:
      return integerBinary("addi", x, integer(depth - 1), std::plus<>());
    case 1:
      return integerBinary("subi", x, integer(depth - 1), std::minus<>());
    case 2:
      return integerBinary("muli", x, constant(random.pick<Index>({-1, 2, 3})),
                           std::multiplies<>());
    case 3:
      return integerBinary("divsi", x, constant(divisor), std::divides<>());
    case 4:
      return integerBinary("floordivsi", x, constant(divisor), floorDivide);
    case 5:
      return integerBinary("remsi", x, constant(divisor), std::modulus<>());
    case 6:
      return integerBinary("remui", x, constant(divisor), [](Index a, Index b) {
        return Index(std::uint64_t(a) % std::uint64_t(b));
      });
    case 7:
      return integerBinary("andi", x,
                           constant(random.pick<Index>({1, 3, 5, 31, 48, -16})),
                           std::bit_and<>());
    case 8:
      return integerBinary("minsi", x, integer(depth - 1),
                           [](Index a, Index b) { return std::min(a, b); });
    case 9:
      return {emit("math.absi " + x.name + " : index"),
              [x](const At &at) { return std::abs(x.meaning(at)); }};
    case 10:
      return integerBinary("shrsi", x, constant(random.between(0, 3)),
                           [](Index a, Index b) { return a >> b; });
    case 11: {
      // A square, of at most 2^18.
      Integer part = integerBinary("remsi", x, constant(512), std::modulus<>());
      return integerBinary("muli", part, part, std::multiplies<>());
    }
    case 12: {
      // A distance that is a power of two.
      Integer part = integerBinary("andi", x, constant(7), std::bit_and<>());
      return integerBinary("shli", constant(1), part,
                           [](Index a, Index b) { return a << b; });
    }
    default: {
      Condition which = condition(0);
      Integer y = integer(depth - 1);
      return {emit("arith.select " + which.name + ", " + x.name + ", " +
                   y.name + " : index"),
              [which, x, y](const At &at) {
                return which.meaning(at) ? x.meaning(at) : y.meaning(at);
              }};
    }
    }
  }

  //===--------------------------------------------------------------------===//
  // Conditions
  //===--------------------------------------------------------------------===//

  Condition compare(const Integer &x, const Integer &y) {
    struct Comparison {
      const char *name;
      bool (*meaning)(Index, Index);
    };
    auto comparison = random.pick<Comparison>(
        {{"slt", [](Index a, Index b) { return a < b; }},
         {"sle", [](Index a, Index b) { return a <= b; }},
         {"sgt", [](Index a, Index b) { return a > b; }},
         {"sge", [](Index a, Index b) { return a >= b; }},
         {"eq", [](Index a, Index b) { return a == b; }},
         {"ne", [](Index a, Index b) { return a != b; }},
         {"ult",
          [](Index a, Index b) { return std::uint64_t(a) < std::uint64_t(b); }},
         {"uge", [](Index a, Index b) {
            return std::uint64_t(a) >= std::uint64_t(b);
          }}});
    return {emit("arith.cmpi " + string(comparison.name) + ", " + x.name +
                 ", " + y.name + " : index"),
            [=](const At &at) {
              return comparison.meaning(x.meaning(at), y.meaning(at));
            }};
  }

  /// Of increasing functions of an integer, or of a rounded fraction of one, at
  /// values that no rounding reaches.
  Condition compareReals() {
    auto function = random.pick<Function>(
        {{"math.log1p", [](double a) { return std::log1p(a); }},
         {"math.sqrt", [](double a) { return std::sqrt(a); }},
         {"math.atan", [](double a) { return std::atan(0.125 * a); }},
         {"math.floor", [](double a) { return std::floor(0.125 * a); }},
         {"math.ceil", [](double a) { return std::ceil(0.125 * a); }},
         {"math.roundeven", [](double a) { return std::nearbyint(0.125 * a); }},
         {"math.trunc", [](double a) { return std::trunc(0.125 * a); }}});
    string name = function.name;
    bool isRoot = name == "math.log1p" || name == "math.sqrt";
    Integer x =
        integerBinary("remsi", integer(1), constant(1024), std::modulus<>());
    if (isRoot)
      x = {emit("math.absi " + x.name + " : index"),
           [x](const At &at) { return std::abs(x.meaning(at)); }};
    string operand =
        emit("arith.sitofp " +
             emit("arith.index_cast " + x.name + " : index to i64") +
             " : i64 to " + accumulation());
    if (!isRoot)
      operand = emit("arith.mulf " + operand + ", " + number(0.125).name +
                     " : " + accumulation());
    string result = emit(name + " " + operand + " : " + accumulation());
    Index at = random.between(isRoot ? 0 : -40, 60);
    double limit = name == "math.floor" || name == "math.ceil" ||
                           name == "math.roundeven" || name == "math.trunc"
                       ? double(at) / 8 + 0.0625
                       : function.meaning(double(at) + 0.5);
    bool isLess = random.chance(0.5);
    string condition =
        emit("arith.cmpf " + string(isLess ? "olt" : "ogt") + ", " + result +
             ", " + number(limit).name + " : " + accumulation());
    return {condition, [x, function, limit, isLess](const At &at) {
              double value = function.meaning(double(x.meaning(at)));
              return isLess ? value < limit : value > limit;
            }};
  }

  Condition logic(int depth) {
    Condition x = condition(depth - 1), y = condition(depth - 1);
    Index kind = random.between(0, 2);
    static constexpr const char *names[] = {"ori", "andi", "xori"};
    return {emit("arith." + string(names[kind]) + " " + x.name + ", " + y.name +
                 " : i1"),
            [=](const At &at) {
              bool isUndefinedX = false, isUndefinedY = false;
              At ofX = at, ofY = at;
              ofX.isUndefined = &isUndefinedX;
              ofY.isUndefined = &isUndefinedY;
              bool a = x.meaning(ofX), b = y.meaning(ofY);
              // One side may decide, whatever the other one is.
              bool deciding = kind == 0;
              if (kind < 2 && ((!isUndefinedX && a == deciding) ||
                               (!isUndefinedY && b == deciding)))
                return deciding;
              *at.isUndefined |= isUndefinedX || isUndefinedY;
              return kind < 2 ? !deciding : a != b;
            }};
  }

  //===--------------------------------------------------------------------===//
  // Reals
  //===--------------------------------------------------------------------===//

  Real number(double value) {
    return {emit("arith.constant " + std::to_string(value) + " : " +
                 accumulation()),
            [value](const At &) { return value; }};
  }

  Real realUnary(const string &name, const Real &x, double (*meaning)(double)) {
    return {emit(name + " " + x.name + " : " + accumulation()),
            [=](const At &at) { return meaning(x.meaning(at)); }};
  }

  Real realBinary(const string &name, const Real &x, const Real &y,
                  const std::function<double(double, double)> &meaning) {
    return {
        emit(name + " " + x.name + ", " + y.name + " : " + accumulation()),
        [=](const At &at) { return meaning(x.meaning(at), y.meaning(at)); }};
  }

  /// The score, a number, or an integer as one of at most 1.75.
  Real realLeaf() {
    if (random.chance(0.5))
      return {"%s", [](const At &at) { return at.score; }};
    if (random.chance(0.2))
      return number(random.pick<double>({0, 0.5, -2}));
    Integer x =
        integerBinary("remsi", integer(1), constant(8), std::modulus<>());
    string wide = emit("arith.index_cast " + x.name + " : index to i64");
    string eighths =
        emit("arith.sitofp " + wide + " : i64 to " + accumulation());
    return realBinary(
        "arith.mulf",
        {eighths, [x](const At &at) { return double(x.meaning(at)); }},
        number(0.25), std::multiplies<>());
  }

  const FormContext &context;
  Random &random;
  string body;
  int numOperations = 0;
};

} // namespace

MaskForm attn::test::createRandomMask(const FormContext &context,
                                      Random &random) {
  RegionWriter writer(context, random);
  Condition keep = writer.condition(2);
  auto bind = [keep](const std::vector<Value> &values) -> MaskFunction {
    return [keep, values](Index b, Index h, Index p,
                          Index j) -> std::optional<bool> {
      bool isUndefined = false;
      bool kept = keep.meaning({0, b, h, p, j, &values, &isUndefined});
      return isUndefined ? std::nullopt : std::optional(kept);
    };
  };
  return {"", writer.write("%b, %h, %p, %j", keep.name, "i1"), writer.tables,
          bind, writer.indexesPosition};
}

ScoreForm attn::test::createRandomScore(const FormContext &context,
                                        Random &random) {
  RegionWriter writer(context, random);
  Real score = writer.real(int(random.between(0, 2)));
  auto bind = [score](const std::vector<Value> &values) -> ScoreFunction {
    return [score, values](double s, Index b, Index h, Index p,
                           Index j) -> std::optional<double> {
      bool isUndefined = false;
      double value = score.meaning({s, b, h, p, j, &values, &isUndefined});
      return isUndefined ? std::nullopt : std::optional(value);
    };
  };
  return {"",
          writer.write("%s, %b, %h, %p, %j", score.name, writer.accumulation()),
          writer.tables, bind, writer.indexesPosition};
}
