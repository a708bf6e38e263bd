//===- MaskForms.cpp - Masks of the random tests --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/FormCreation.h"
#include "test/Execution/RandomRegions.h"

using namespace attn;
using namespace attn::test;
using std::nullopt;
using std::optional;
using std::string;

static string anyInteger(Random &random) {
  return random.pick<string>({"index", "i64", "i32", "i16", "i8"});
}

static double coin(const Extents &, Random &random) {
  return random.chance(0.7);
}

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

static MaskForm createBooleanBy(Dim query, const string &name,
                                const FormContext &context, Random &random) {
  std::vector<Dim> dims = broadcastDims(random, query);
  ArgumentForm keep = tensorArgument(context, "keep", dims, "i1", inRuns(coin));
  auto bind = [dims](const std::vector<Value> &values) -> MaskFunction {
    return [dims, t = values[0]](Index b, Index h, Index p,
                                 Index j) -> optional<bool> {
      return boolean(t, broadcastIndex(dims, b, h, p, j));
    };
  };
  return {"",
          name + "(%" + keep.name + " : " + keep.type + ")",
          {keep},
          bind,
          hasPosition(dims),
          /*indexesRow=*/query == Dim::row};
}

static MaskForm createBoolean(const FormContext &context, Random &random) {
  return createBooleanBy(Dim::position, "boolean", context, random);
}

static MaskForm createBooleanRows(const FormContext &context, Random &random) {
  return createBooleanBy(Dim::row, "boolean rows", context, random);
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
// By name
//===----------------------------------------------------------------------===//

static const Creators<MaskFunction> maskCreators = {
    {"causal", createCausal},
    {"sliding_window", createSlidingWindow},
    {"prefix_lm", createPrefixLM},
    {"key_padding", createKeyPadding},
    {"key_padding of i1", createKeyPaddingBoolean},
    {"document", createDocument},
    {"boolean", createBoolean},
    {"boolean rows", createBooleanRows},
    {"mask region: dilated", createDilatedMask},
    {"mask region: window per head", createHeadWindowMask},
    {"mask region: blocks", createBlockMask},
    {"mask region: guarded load", createGuardedMask},
    {"mask region: random", createRandomMask},
};

const std::vector<string> &attn::test::getMaskNames() {
  static const std::vector<string> names = getNames(maskCreators);
  return names;
}

MaskForm attn::test::createMask(const string &name, const FormContext &context,
                                Random &random) {
  MaskForm result = maskCreators.at(name)(context, random);
  result.name = name;
  return result;
}
