//===- Forms.cpp - Masks and scores of the random tests -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace attn;
using namespace attn::test;
using std::nullopt;
using std::optional;
using std::string;

static const TestTensor &tensor(const Value &value) {
  return std::get<TestTensor>(value);
}

static optional<Index> integer(const Value &value, const Shape &index) {
  optional<double> element = tensor(value).get(index);
  return element ? optional<Index>(Index(*element)) : nullopt;
}

static optional<bool> boolean(const Value &value, const Shape &index) {
  optional<double> element = tensor(value).get(index);
  return element ? optional(*element != 0) : nullopt;
}

/// A float of any type as the score's type holds it.
static double toAccumulation(double value, ElementType accumulation) {
  return accumulation == ElementType::f64 ? value : double(float(value));
}

static optional<double> element(const Value &value, const Shape &index,
                                ElementType accumulation) {
  optional<double> result = tensor(value).get(index);
  return result ? optional(toAccumulation(*result, accumulation)) : nullopt;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {
/// A dimension of a captured tensor.
enum class Dim { batch, head, position, key, one };
} // namespace

static string writeType(const std::vector<Dim> &dims, Index heads,
                        const string &element) {
  string result = "tensor<";
  for (Dim dim : dims)
    result += dim == Dim::one    ? "1x"
              : dim == Dim::head ? std::to_string(heads) + "x"
                                 : "?x";
  return result + element + ">";
}

static ElementType elementOf(const string &name) {
  for (ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16,
        ElementType::i64, ElementType::i32, ElementType::i16, ElementType::i8,
        ElementType::i1})
    if (nameOf(type) == name)
      return type;
  return ElementType::i64; // index
}

/// A tensor of the given dimensions, in any layout. One in fifty is too small
/// in a dynamic dimension, so that regions may read outside of it.
static ArgumentForm
tensorArgument(const FormContext &context, const string &name,
               const std::vector<Dim> &dims, const string &elementType,
               std::function<double(const Extents &, Random &)> element) {
  Index heads = context.queryHeads;
  auto create = [=](const Extents &extents, Random &random) -> Value {
    Shape shape;
    for (Dim dim : dims) {
      Index size = dim == Dim::batch      ? extents.batches
                   : dim == Dim::head     ? heads
                   : dim == Dim::position ? extents.positions
                   : dim == Dim::key      ? extents.keyLength
                                          : 1;
      bool isDynamic = dim != Dim::head && dim != Dim::one;
      if (isDynamic && size > 0 && random.chance(0.02))
        --size;
      shape.push_back(size);
    }
    Layout layout;
    if (shape.size() > 1 && random.chance(0.3))
      layout.rowPadding = random.between(1, 3);
    if (shape.size() > 1 && random.chance(0.2))
      layout.broadcast = {0};
    TestTensor result(elementOf(elementType), shape, layout);
    result.fill([&] { return element(extents, random); });
    return result;
  };
  return {context.prefix + name, writeType(dims, heads, elementType), create};
}

static ArgumentForm
scalarArgument(const FormContext &context, const string &name,
               const string &type,
               const std::function<Value(Random &)> &create) {
  return {context.prefix + name, type,
          [create](const Extents &, Random &random) { return create(random); }};
}

static string anyFloat(Random &random) {
  return random.pick<string>({"f64", "f32", "f16", "bf16"});
}
static string anyInteger(Random &random) {
  return random.pick<string>({"index", "i64", "i32", "i16", "i8"});
}

static double coin(const Extents &, Random &random) {
  return random.chance(0.7);
}

using ElementFunction = std::function<double(const Extents &, Random &)>;

/// The same element several times in a row, so that some blocks of it are of
/// one kind.
static ElementFunction inRuns(const ElementFunction &element) {
  return [element, last = 0.0, left = Index(0)](const Extents &extents,
                                                Random &random) mutable {
    if (left == 0) {
      left = random.pick<Index>({1, 1, 5, 40, 64});
      last = element(extents, random);
    }
    --left;
    return last;
  };
}

/// Dimensions of a tensor that broadcasts to (B, Hq, Sq, Skv): the last ones,
/// some of them of size 1.
static std::vector<Dim> broadcastDims(Random &random) {
  std::vector<Dim> dims = {Dim::batch, Dim::head, Dim::position, Dim::key};
  dims.erase(dims.begin(), dims.begin() + random.between(0, 4));
  for (Dim &dim : dims)
    if (random.chance(0.3))
      dim = Dim::one;
  return dims;
}

/// Where (b, h, p, j) lies in such a tensor.
static Shape broadcastIndex(const std::vector<Dim> &dims, Index b, Index h,
                            Index p, Index j) {
  Shape all = {b, h, p, j};
  Shape result(all.end() - std::ptrdiff_t(dims.size()), all.end());
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == Dim::one)
      result[i] = 0;
  return result;
}

static bool hasPosition(const std::vector<Dim> &dims) {
  return std::find(dims.begin(), dims.end(), Dim::position) != dims.end();
}

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

static MaskForm createCausal(const FormContext &, Random &) {
  auto bind = [](const std::vector<Value> &) -> MaskFunction {
    return [](Index, Index, Index p, Index j) { return j <= p; };
  };
  return {"", "causal", {}, bind};
}

static MaskForm createSlidingWindow(const FormContext &, Random &random) {
  Index left = random.between(-1, 9), right = random.between(-1, 5);
  auto bind = [=](const std::vector<Value> &) -> MaskFunction {
    return [=](Index, Index, Index p, Index j) {
      return (left < 0 || p - left <= j) && (right < 0 || j <= p + right);
    };
  };
  return {"",
          "sliding_window(" + std::to_string(left) + ", " +
              std::to_string(right) + ")",
          {},
          bind};
}

static MaskForm createPrefixLM(const FormContext &context, Random &random) {
  ArgumentForm lengths = tensorArgument(
      context, "prefix", {Dim::batch}, anyInteger(random),
      [](const Extents &e, Random &r) { return r.between(0, e.keyLength); });
  auto bind = [](const std::vector<Value> &values) -> MaskFunction {
    return [n = values[0]](Index b, Index, Index p, Index j) -> optional<bool> {
      if (j <= p)
        return true;
      optional<Index> length = integer(n, {b});
      return length ? optional(j < *length) : nullopt;
    };
  };
  return {"",
          "prefix_lm(%" + lengths.name + " : " + lengths.type + ")",
          {lengths},
          bind};
}

static MaskForm createKeyPadding(const FormContext &context, Random &random) {
  ArgumentForm lengths = tensorArgument(
      context, "lengths", {Dim::batch}, anyInteger(random),
      [](const Extents &e, Random &r) { return r.between(0, e.keyLength); });
  auto bind = [](const std::vector<Value> &values) -> MaskFunction {
    return [n = values[0]](Index b, Index, Index, Index j) -> optional<bool> {
      optional<Index> length = integer(n, {b});
      return length ? optional(j < *length) : nullopt;
    };
  };
  return {"",
          "key_padding(%" + lengths.name + " : " + lengths.type + ")",
          {lengths},
          bind};
}

static MaskForm createKeyPaddingBoolean(const FormContext &context, Random &) {
  ArgumentForm real =
      tensorArgument(context, "real", {Dim::batch, Dim::key}, "i1", coin);
  auto bind = [](const std::vector<Value> &values) -> MaskFunction {
    return
        [real = values[0]](Index b, Index, Index, Index j) -> optional<bool> {
          return boolean(real, {b, j});
        };
  };
  return {
      "", "key_padding(%" + real.name + " : " + real.type + ")", {real}, bind};
}

static MaskForm createDocument(const FormContext &context, Random &random) {
  string type = anyInteger(random);
  ElementFunction number = inRuns(
      [](const Extents &, Random &r) { return double(r.between(-1, 2)); });
  ArgumentForm query = tensorArgument(
      context, "query_document", {Dim::batch, Dim::position}, type, number);
  ArgumentForm key = tensorArgument(context, "key_document",
                                    {Dim::batch, Dim::key}, type, number);
  auto bind = [](const std::vector<Value> &values) -> MaskFunction {
    return [q = values[0], k = values[1]](Index b, Index, Index p,
                                          Index j) -> optional<bool> {
      optional<Index> query = integer(q, {b, p}), key = integer(k, {b, j});
      return query && key ? optional(*query == *key) : nullopt;
    };
  };
  return {"",
          "document(%" + query.name + ", %" + key.name + " : " + query.type +
              ", " + key.type + ")",
          {query, key},
          bind,
          /*indexesPosition=*/true};
}

static MaskForm createBoolean(const FormContext &context, Random &random) {
  std::vector<Dim> dims = broadcastDims(random);
  ArgumentForm keep = tensorArgument(context, "keep", dims, "i1", inRuns(coin));
  auto bind = [dims](const std::vector<Value> &values) -> MaskFunction {
    return [dims, t = values[0]](Index b, Index h, Index p,
                                 Index j) -> optional<bool> {
      return boolean(t, broadcastIndex(dims, b, h, p, j));
    };
  };
  return {"",
          "boolean(%" + keep.name + " : " + keep.type + ")",
          {keep},
          bind,
          hasPosition(dims)};
}

//===----------------------------------------------------------------------===//
// Masks as regions
//===----------------------------------------------------------------------===//

static MaskForm createDilatedMask(const FormContext &, Random &) {
  auto bind = [](const std::vector<Value> &) -> MaskFunction {
    return [](Index, Index, Index p, Index j) { return (p - j) % 3 == 0; };
  };
  return {"",
          R"((%b, %h, %p, %j) {
        %distance = arith.subi %p, %j : index
        %three = arith.constant 3 : index
        %zero = arith.constant 0 : index
        %rest = arith.remsi %distance, %three : index
        %keep = arith.cmpi eq, %rest, %zero : index
        attn.yield %keep : i1
      })",
          {},
          bind};
}

static MaskForm createHeadWindowMask(const FormContext &context, Random &) {
  ArgumentForm windows = tensorArgument(
      context, "windows", {Dim::head}, "i64",
      [](const Extents &, Random &r) { return r.between(0, 9); });
  auto bind = [](const std::vector<Value> &values) -> MaskFunction {
    return [w = values[0]](Index, Index h, Index p, Index j) -> optional<bool> {
      return p - *integer(w, {h}) <= j && j <= p;
    };
  };
  return {"",
          "(%b, %h, %p, %j) captures(%w = %" + windows.name + " : " +
              windows.type +
              ") {\n%x = tensor.extract %w[%h] : " + windows.type + R"(
        %size = index.casts %x : i64 to index
        %first = index.sub %p, %size
        %inside = index.cmp sle(%first, %j)
        %past = index.cmp sle(%j, %p)
        %keep = arith.andi %inside, %past : i1
        attn.yield %keep : i1
      })",
          {windows},
          bind};
}

/// The captured size is 0 now and then, and its quotients undefined.
static MaskForm createBlockMask(const FormContext &context, Random &) {
  ArgumentForm size =
      scalarArgument(context, "block", "index", [](Random &random) -> Value {
        return random.chance(0.05) ? Index(0) : random.between(1, 6);
      });
  auto bind = [](const std::vector<Value> &values) -> MaskFunction {
    return [size = std::uint64_t(std::get<Index>(values[0]))](
               Index, Index, Index p, Index j) -> optional<bool> {
      if (size == 0)
        return nullopt;
      return std::uint64_t(p) / size == std::uint64_t(j) / size;
    };
  };
  return {"",
          "(%b, %h, %p, %j) captures(%size = %" + size.name + R"( : index) {
        %query = arith.divui %p, %size : index
        %key = arith.divui %j, %size : index
        %keep = arith.cmpi eq, %query, %key : index
        attn.yield %keep : i1
      })",
          {size},
          bind};
}

/// A load that is outside its tensor where a comparison says so.
static MaskForm createGuardedMask(const FormContext &context, Random &random) {
  ArgumentForm table = tensorArgument(context, "table", {Dim::key}, "i1", coin);
  bool bySelect = random.chance(0.5);
  ArgumentForm size = scalarArgument(context, "bound", "index",
                                     [](Random &r) { return r.between(0, 9); });
  // Of the length that the table should have, only a part is there.
  auto createTable = table.create;
  table.create = [createTable](const Extents &extents, Random &random) {
    Extents larger = extents;
    larger.keyLength = std::max<Index>(extents.keyLength, 10);
    Index part = random.between(10, larger.keyLength);
    larger.keyLength = part;
    return createTable(larger, random);
  };
  auto bind = [](const std::vector<Value> &values) -> MaskFunction {
    return [t = values[0], n = std::get<Index>(values[1])](
               Index, Index, Index, Index j) -> optional<bool> {
      return j < n ? boolean(t, {j}) : false;
    };
  };
  string guard = bySelect ? "%keep = arith.select %inside, %x, %inside : i1"
                          : "%keep = arith.andi %x, %inside : i1";
  return {"",
          "(%b, %h, %p, %j) captures(%t = %" + table.name + " : " + table.type +
              ", %n = %" + size.name +
              " : index) {\n%x = tensor.extract %t[%j] : " + table.type +
              "\n%inside = arith.cmpi ult, %j, %n : index\n" + guard +
              "\nattn.yield %keep : i1\n}",
          {table, size},
          bind};
}

//===----------------------------------------------------------------------===//
// Named scores
//===----------------------------------------------------------------------===//

static ScoreForm createSoftcap(const FormContext &, Random &random) {
  double cap = random.pick<double>({1.5, 5, 30});
  auto bind = [cap](const std::vector<Value> &) -> ScoreFunction {
    return [cap](double s, Index, Index, Index, Index) {
      return cap * std::tanh(s / cap);
    };
  };
  return {"", "softcap(" + std::to_string(cap) + ")", {}, bind};
}

static ScoreForm createSoftcapOperand(const FormContext &context,
                                      Random &random) {
  ArgumentForm cap =
      scalarArgument(context, "cap", anyFloat(random), [](Random &r) -> Value {
        return r.pick<double>({1.5, 5, 30});
      });
  auto bind = [](const std::vector<Value> &values) -> ScoreFunction {
    return [cap = std::get<double>(values[0])](double s, Index, Index, Index,
                                               Index) {
      return cap * std::tanh(s / cap);
    };
  };
  return {"", "softcap(%" + cap.name + " : " + cap.type + ")", {cap}, bind};
}

static ScoreForm createAlibi(const FormContext &context, Random &random) {
  ElementType accumulation = context.accumulation;
  ArgumentForm slopes = tensorArgument(
      context, "slopes", {Dim::head}, anyFloat(random),
      [](const Extents &, Random &r) { return 0.01 * r.between(0, 25); });
  auto bind = [=](const std::vector<Value> &values) -> ScoreFunction {
    return [=, t = values[0]](double s, Index, Index h, Index p, Index j) {
      return s - *element(t, {h}, accumulation) * std::abs(double(p - j));
    };
  };
  return {
      "", "alibi(%" + slopes.name + " : " + slopes.type + ")", {slopes}, bind};
}

static ScoreForm createBias(const FormContext &context, Random &random) {
  ElementType accumulation = context.accumulation;
  std::vector<Dim> dims = broadcastDims(random);
  ArgumentForm bias = tensorArgument(
      context, "bias", dims, anyFloat(random), [](const Extents &, Random &r) {
        return r.chance(0.1) ? -std::numeric_limits<double>::infinity()
                             : r.normal();
      });
  auto bind = [=](const std::vector<Value> &values) -> ScoreFunction {
    return [=, t = values[0]](double s, Index b, Index h, Index p,
                              Index j) -> optional<double> {
      optional<double> term =
          element(t, broadcastIndex(dims, b, h, p, j), accumulation);
      return term ? optional(s + *term) : nullopt;
    };
  };
  return {"",
          "bias(%" + bias.name + " : " + bias.type + ")",
          {bias},
          bind,
          hasPosition(dims)};
}

//===----------------------------------------------------------------------===//
// Scores as regions
//===----------------------------------------------------------------------===//

static ScoreForm createAffineScore(const FormContext &context, Random &) {
  string type(nameOf(context.accumulation));
  ArgumentForm factor =
      scalarArgument(context, "factor", type, [](Random &r) -> Value {
        return 0.25 * double(r.between(1, 6));
      });
  ArgumentForm shifts =
      tensorArgument(context, "shifts", {Dim::head}, type,
                     [](const Extents &, Random &r) { return r.normal(); });
  auto bind = [](const std::vector<Value> &values) -> ScoreFunction {
    return [factor = std::get<double>(values[0]),
            t = values[1]](double s, Index, Index h, Index, Index) {
      return s * factor + *tensor(t).get({h});
    };
  };
  return {"",
          "(%s, %b, %h, %p, %j) captures(%f = %" + factor.name + " : " + type +
              ", %t = %" + shifts.name + " : " + shifts.type +
              ") {\n%x = tensor.extract %t[%h] : " + shifts.type +
              "\n%y = math.fma %s, %f, %x : " + type +
              "\nattn.yield %y : " + type + "\n}",
          {factor, shifts},
          bind};
}

/// A table of biases by clamped distance, as T5 has.
static ScoreForm createRelativeBias(const FormContext &context, Random &) {
  string type(nameOf(context.accumulation));
  string tableType =
      "tensor<" + std::to_string(context.queryHeads) + "x9x" + type + ">";
  auto create = [heads = context.queryHeads, element = context.accumulation](
                    const Extents &, Random &random) -> Value {
    TestTensor result(element, {heads, 9});
    result.fill([&] { return random.normal(); });
    return result;
  };
  ArgumentForm table = {context.prefix + "table", tableType, create};
  auto bind = [](const std::vector<Value> &values) -> ScoreFunction {
    return [t = values[0]](double s, Index, Index h, Index p, Index j) {
      return s + *tensor(t).get({h, std::clamp<Index>(p - j, -4, 4) + 4});
    };
  };
  return {"",
          "(%s, %b, %h, %p, %j) captures(%t = %" + table.name + " : " +
              tableType + R"() {
        %four = arith.constant 4 : index
        %minus = arith.constant -4 : index
        %distance = arith.subi %p, %j : index
        %low = arith.maxsi %distance, %minus : index
        %clamped = arith.minsi %low, %four : index
        %column = arith.addi %clamped, %four : index
        %x = tensor.extract %t[%h, %column] : )" +
              tableType + "\n%y = arith.addf %s, %x : " + type +
              "\nattn.yield %y : " + type + "\n}",
          {table},
          bind};
}

static ScoreForm createDistanceDecay(const FormContext &context, Random &) {
  string type(nameOf(context.accumulation));
  auto bind = [](const std::vector<Value> &) -> ScoreFunction {
    return [](double s, Index, Index, Index p, Index j) {
      return s - 0.125 * std::log1p(std::abs(double(p - j)));
    };
  };
  return {"",
          R"((%s, %b, %h, %p, %j) {
        %distance = arith.subi %p, %j : index
        %absolute = math.absi %distance : index
        %integer = arith.index_cast %absolute : index to i64
        %real = arith.sitofp %integer : i64 to )" +
              type + "\n%log = math.log1p %real : " + type +
              "\n%eighth = arith.constant 0.125 : " + type +
              "\n%decay = arith.mulf %log, %eighth : " + type +
              "\n%y = arith.subf %s, %decay : " + type +
              "\nattn.yield %y : " + type + "\n}",
          {},
          bind};
}

static ScoreForm createLocalBoost(const FormContext &context, Random &) {
  string type(nameOf(context.accumulation));
  auto bind = [](const std::vector<Value> &) -> ScoreFunction {
    return [](double s, Index, Index, Index p, Index j) {
      return p - j < 4 ? s : 0.5 * s;
    };
  };
  return {"",
          R"((%s, %b, %h, %p, %j) {
        %distance = arith.subi %p, %j : index
        %four = arith.constant 4 : index
        %near = arith.cmpi slt, %distance, %four : index
        %half = arith.constant 0.5 : )" +
              type + "\n%less = arith.mulf %s, %half : " + type +
              "\n%y = arith.select %near, %s, %less : " + type +
              "\nattn.yield %y : " + type + "\n}",
          {},
          bind};
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

template <typename F>
using Creators = std::map<string, Form<F> (*)(const FormContext &, Random &)>;

static const Creators<MaskFunction> maskCreators = {
    {"causal", createCausal},
    {"sliding_window", createSlidingWindow},
    {"prefix_lm", createPrefixLM},
    {"key_padding", createKeyPadding},
    {"key_padding of i1", createKeyPaddingBoolean},
    {"document", createDocument},
    {"boolean", createBoolean},
    {"mask region: dilated", createDilatedMask},
    {"mask region: window per head", createHeadWindowMask},
    {"mask region: blocks", createBlockMask},
    {"mask region: guarded load", createGuardedMask},
};

static const Creators<ScoreFunction> scoreCreators = {
    {"softcap", createSoftcap},
    {"softcap of an operand", createSoftcapOperand},
    {"alibi", createAlibi},
    {"bias", createBias},
    {"score region: affine", createAffineScore},
    {"score region: relative bias", createRelativeBias},
    {"score region: distance decay", createDistanceDecay},
    {"score region: local boost", createLocalBoost},
};

template <typename F>
static std::vector<string> getNames(const Creators<F> &creators) {
  std::vector<string> names;
  for (const auto &[name, creator] : creators)
    names.push_back(name);
  return names;
}

const std::vector<string> &attn::test::getMaskNames() {
  static const std::vector<string> names = getNames(maskCreators);
  return names;
}

const std::vector<string> &attn::test::getScoreNames() {
  static const std::vector<string> names = getNames(scoreCreators);
  return names;
}

MaskForm attn::test::createMask(const string &name, const FormContext &context,
                                Random &random) {
  MaskForm result = maskCreators.at(name)(context, random);
  result.name = name;
  return result;
}

ScoreForm attn::test::createScore(const string &name,
                                  const FormContext &context, Random &random) {
  ScoreForm result = scoreCreators.at(name)(context, random);
  result.name = name;
  return result;
}
