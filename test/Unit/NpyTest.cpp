//===- NpyTest.cpp - NumPy array files -----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Npy/Npy.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

using namespace attn;
using namespace std::string_literals;
using namespace std::string_view_literals;

static std::span<const std::byte> asBytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// A file as numpy.lib.format.write_array writes it: 128 bytes, then the data.
static std::string numpyFile(std::string_view dictionary, std::string_view data,
                             char version = 1) {
  std::string file = "\x93NUMPY"s + version + '\0';
  file += version == 1 ? "v\0"sv : "t\0\0\0"sv;
  file += dictionary;
  file.resize(127, ' ');
  return file + '\n' + std::string(data);
}

/// A version 1.0 file with a header of exactly `header`.
static std::string file(std::string_view header, std::string_view data = "") {
  return "\x93NUMPY\1\0"s + char(header.size()) + '\0' + std::string(header) +
         std::string(data);
}

static std::string failure(std::string_view text) {
  Expected<NpyArray> array = parseNpy(asBytes(text));
  return array ? "no error" : array.error().message;
}

template <typename T> static std::vector<T> elements(const NpyArray &array) {
  EXPECT_EQ(array.type(), elementTypeOf<T>);
  std::vector<T> result;
  for (std::size_t i = 0; i < array.bytes().size(); i += sizeof(T)) {
    T element;
    std::memcpy(&element, array.bytes().data() + i, sizeof(T));
    result.push_back(element);
  }
  return result;
}

template <typename T>
static void expectParses(std::string_view text,
                         const std::vector<std::int64_t> &shape,
                         const std::vector<T> &values) {
  Expected<NpyArray> array = parseNpy(asBytes(text));
  ASSERT_TRUE(array.ok()) << array.error().message;
  EXPECT_EQ(array->shape(), shape);
  EXPECT_EQ(elements<T>(*array), values);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array->bytes().data()) %
                NpyArray::alignment,
            0u);
}

//===----------------------------------------------------------------------===//
// What NumPy writes
//===----------------------------------------------------------------------===//

constexpr std::string_view matrixDictionary =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
constexpr std::string_view matrixData =
    "\0\0\x80?\0\0\0@\0\0@@\0\0\x80\xbf\0\0\0?\0\0\x80\x7f"sv;

TEST(Npy, Versions) {
  for (char version : {1, 2, 3})
    expectParses<float>(numpyFile(matrixDictionary, matrixData, version),
                        {2, 3}, {1, 2, 3, -1, 0.5f, INFINITY});
}

TEST(Npy, Types) {
  auto array = [](std::string_view dtype, std::string_view data) {
    return numpyFile("{'descr': '" + std::string(dtype) +
                         "', 'fortran_order': False, 'shape': (2,), }",
                     data);
  };
  Expected<NpyArray> half = parseNpy(asBytes(array("<f2", "\0<\0\xbc"sv)));
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half->type(), ElementType::f16);
  EXPECT_EQ(std::memcmp(half->bytes().data(), "\0<\0\xbc", 4), 0);

  expectParses<float>(array("<f4", "\0\0\xc0?\0\0\0\0"sv), {2}, {1.5, 0});
  expectParses<double>(array("<f8", "\0\0\0\0\0\0\xf8?\0\0\0\0\0\0\0\0"sv), {2},
                       {1.5, 0});
  expectParses<bool>(array("|b1", "\1\0"sv), {2}, {true, false});
  expectParses<std::int8_t>(array("|i1", "\1\xff"sv), {2}, {1, -1});
  expectParses<std::int16_t>(array("<i2", "\1\0\xfe\xff"sv), {2}, {1, -2});
  expectParses<std::int32_t>(array("<i4", "\1\0\0\0\xfe\xff\xff\xff"sv), {2},
                             {1, -2});
  expectParses<std::int64_t>(
      array("<i8", "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff"sv), {2},
      {1, -2});
}

TEST(Npy, Shapes) {
  expectParses<float>(
      numpyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
                "\0\0\xc0?"sv),
      {}, {1.5});
  expectParses<float>(
      numpyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }",
                ""),
      {0, 3}, {});
  expectParses<std::int8_t>(
      numpyFile("{'descr': '|i1', 'fortran_order': False, 'shape': "
                "(1, 1, 1, 1, 1, 1, 1, 1), }",
                "\7"),
      {1, 1, 1, 1, 1, 1, 1, 1}, {7});
}

TEST(Npy, HeaderForms) {
  // Any order of keys, other quotes and spaces, no last comma, no padding.
  expectParses<std::int8_t>(
      file("{\"shape\":(2,1),'fortran_order':False,\n\"descr\" : \"|i1\"}",
           "\1\2"),
      {2, 1}, {1, 2});
  // One dimension or none is in both orders.
  expectParses<std::int8_t>(
      file("{'shape': (2,), 'fortran_order': True, 'descr': '|i1'}", "\1\2"),
      {2}, {1, 2});
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(Npy, EveryTruncationIsAnError) {
  std::string good = numpyFile(matrixDictionary, matrixData);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parseNpy(asBytes(good).first(size)).ok()) << size;
  EXPECT_EQ(failure(good.substr(0, 5)),
            "expected the magic bytes of a .npy file");
  EXPECT_EQ(failure(good.substr(0, 7)),
            "expected a version, got the end of the file");
  EXPECT_EQ(failure(good.substr(0, 9)),
            "expected the header's length, got the end of the file");
  EXPECT_EQ(failure(good.substr(0, 12)),
            "truncated: expected a header of 118 bytes, got 2");
  EXPECT_EQ(failure(good.substr(0, good.size() - 1)),
            "truncated: expected 24 bytes of data, got 23");
  EXPECT_EQ(failure(good + "x"),
            "trailing bytes: expected 24 bytes of data, got 25");
}

TEST(Npy, Prefix) {
  EXPECT_EQ(failure("\x93NUMPX\1\0v\0"sv),
            "expected the magic bytes of a .npy file");
  EXPECT_EQ(failure("\x93NUMPY\4\0v\0"sv),
            "expected version 1.0, 2.0 or 3.0, got 4.0");
  EXPECT_EQ(failure("\x93NUMPY\1\1v\0"sv),
            "expected version 1.0, 2.0 or 3.0, got 1.1");
  EXPECT_EQ(failure("\x93NUMPY\2\0\xff\xff\xff\xff{}"sv),
            "truncated: expected a header of 4294967295 bytes, got 2");
}

TEST(Npy, Dtypes) {
  auto dtype = [](std::string_view text) {
    return failure(file("{'descr': " + std::string(text) +
                            ", 'fortran_order': False, 'shape': (1,)}",
                        "\0\0\0\0"sv));
  };
  constexpr std::string_view list =
      "header: expected dtype '<f2', '<f4', '<f8', '|b1', '|i1', '<i2', "
      "'<i4', '<i8', got ";
  EXPECT_EQ(dtype("'>f4'"), std::string(list) + "'>f4', which is big-endian");
  EXPECT_EQ(dtype("'|u1'"), std::string(list) + "'|u1', which is unsigned");
  EXPECT_EQ(dtype("'<c8'"), std::string(list) + "'<c8'");
  EXPECT_EQ(dtype("'\x1b[31m'"), std::string(list) + "'?[31m'");
  EXPECT_LT(dtype("'" + std::string(200, 'x') + "'").size(), 310u);
  EXPECT_EQ(dtype("[('a', '<f4')]"),
            "header: expected a simple dtype, got a structured one");
  EXPECT_EQ(dtype("4"),
            "header: expected a quoted dtype at character 10, got '4'");
}

TEST(Npy, Headers) {
  auto header = [](std::string_view text) { return failure(file(text)); };
  EXPECT_EQ(header(""), "header: expected '{' at character 0, got the end");
  EXPECT_EQ(header("("), "header: expected '{' at character 0, got '('");
  EXPECT_EQ(header("{"),
            "header: expected a quoted key or '}' at character 1, got the end");
  EXPECT_EQ(header("{'descr"),
            "header: expected a quoted key or '}' at character 1, got '''");
  EXPECT_EQ(header("{'descr'}"),
            "header: expected ':' at character 8, got '}'");
  EXPECT_EQ(header("{}"), "header: 'descr' is missing");
  EXPECT_EQ(header("{'descr': '<f4'}"), "header: 'fortran_order' is missing");
  EXPECT_EQ(header("{'descr': '<f4', 'fortran_order': False}"),
            "header: 'shape' is missing");
  EXPECT_EQ(header("{'descr': '<f4', 'descr': '<f4'}"),
            "header: 'descr' occurs twice");
  EXPECT_EQ(header("{'extra': 1}"),
            "header: expected the keys 'descr', 'fortran_order' and 'shape', "
            "got 'extra'");
  EXPECT_EQ(header("{'descr': '<f4' 'shape'"),
            "header: expected ',' or '}' at character 16, got '''");
  EXPECT_EQ(header("{'fortran_order': 0}"),
            "header: expected True or False at character 18, got '0'");
  EXPECT_EQ(header("{} x"),
            "header: expected nothing but spaces at character 3, got 'x'");
  EXPECT_EQ(header("{}\x80"),
            "header: expected nothing but spaces at character 2, got byte 128");
}

TEST(Npy, BadShapes) {
  auto shape = [](std::string_view text, std::string_view data = "") {
    return failure(file("{'descr': '<f4', 'fortran_order': False, 'shape': " +
                            std::string(text) + "}",
                        data));
  };
  EXPECT_EQ(shape("3"), "header: expected '(' at character 50, got '3'");
  EXPECT_EQ(
      shape("(3)"),
      "header: expected ',' after the only size at character 53, got '}'");
  EXPECT_EQ(shape("(3 4)"),
            "header: expected ',' or ')' at character 53, got '4'");
  EXPECT_EQ(shape("(,)"),
            "header: expected a size of 0 or more at character 51, got ','");
  EXPECT_EQ(shape("(-3,)"),
            "header: expected a size of 0 or more at character 51, got '-'");
  EXPECT_EQ(shape("(+3,)"),
            "header: expected a size of 0 or more at character 51, got '+'");
  EXPECT_EQ(shape("(2.5,)"),
            "header: expected ',' or ')' at character 52, got '.'");
  EXPECT_EQ(shape("(9223372036854775808,)"),
            "header: a size does not fit 64 bits");
  EXPECT_EQ(shape("(4294967296, 4294967296)"),
            "the product of the sizes overflows");
  EXPECT_EQ(shape("(0, 4294967296, 4294967296)"),
            "the product of the sizes overflows");
  EXPECT_EQ(shape("(1, 1, 1, 1, 1, 1, 1, 1, 1)", "\0\0\0\0"sv),
            "expected at most 8 dimensions, got 9");
  // Nothing is allocated for data that is not there.
  EXPECT_EQ(shape("(1000000000000000,)"),
            "truncated: expected 4000000000000000 bytes of data, got 0");
}

TEST(Npy, FortranOrder) {
  EXPECT_EQ(
      failure(numpyFile("{'descr': '|i1', 'fortran_order': True, 'shape': "
                        "(2, 2), }",
                        "1234")),
      "expected C order, got fortran_order=True");
}

TEST(Npy, BooleansAreZeroOrOne) {
  EXPECT_EQ(
      failure(numpyFile("{'descr': '|b1', 'fortran_order': False, 'shape': "
                        "(3,), }",
                        "\0\1\xff"sv)),
      "expected 0 or 1 for element 2 of dtype '|b1', got 255");
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string serialize(const TensorView &view) {
  Expected<std::vector<std::byte>> bytes = serializeNpy(view);
  EXPECT_TRUE(bytes.ok()) << (bytes ? "" : bytes.error().message);
  return bytes ? std::string(reinterpret_cast<const char *>(bytes->data()),
                             bytes->size())
               : std::string();
}

TEST(Npy, WritesWhatNumPyWrites) {
  float data[] = {1, 2, 3, -1, 0.5f, INFINITY};
  EXPECT_EQ(serialize(TensorView(data, std::array<std::int64_t, 2>{2, 3})),
            numpyFile(matrixDictionary, matrixData));
}

TEST(Npy, WritesAnyStrides) {
  std::int8_t data[] = {1, 2, 3, 4, 5, 6};
  expectParses<std::int8_t>(
      serialize(TensorView(data, std::array<std::int64_t, 2>{3, 2},
                           std::array<std::int64_t, 2>{1, 3})),
      {3, 2}, {1, 4, 2, 5, 3, 6});
  expectParses<std::int8_t>(
      serialize(TensorView(data + 5, std::array<std::int64_t, 2>{2, 3},
                           std::array<std::int64_t, 2>{0, -1})),
      {2, 3}, {6, 5, 4, 6, 5, 4});
}

TEST(Npy, WritesBF16AsF32) {
  bf16 data[] = {bf16(1.5f), bf16(-3.0f)};
  expectParses<float>(
      serialize(TensorView(data, std::array<std::int64_t, 1>{2})), {2},
      {1.5f, -3.0f});
}

TEST(Npy, WritesFloatsOf8BitsAsF32) {
  f8e5m2 data[] = {f8e5m2(1.5), f8e5m2(-3)};
  expectParses<float>(
      serialize(TensorView(data, std::array<std::int64_t, 1>{2})), {2},
      {1.5f, -3.0f});
}

TEST(Npy, WritesScalarsEmptyArraysAndBooleans) {
  double scalar = 2.5;
  expectParses<double>(
      serialize(TensorView(&scalar, std::array<std::int64_t, 0>{})), {}, {2.5});
  expectParses<float>(
      serialize(TensorView(static_cast<float *>(nullptr),
                           std::array<std::int64_t, 3>{2, 0, 5})),
      {2, 0, 5}, {});
  unsigned char odd[] = {0, 2, 255};
  expectParses<bool>(
      serialize(TensorView(odd, ElementType::i1, std::array<std::int64_t, 1>{3},
                           true)),
      {3}, {false, true, true});
}

TEST(Npy, RefusesBadViews) {
  float data[1] = {};
  auto message = [](const TensorView &view) {
    Expected<std::vector<std::byte>> bytes = serializeNpy(view);
    return bytes ? "no error" : bytes.error().message;
  };
  EXPECT_EQ(message(TensorView(data, std::array<std::int64_t, 9>{})),
            "expected at most 8 dimensions");
  EXPECT_EQ(message(TensorView(data, std::array<std::int64_t, 1>{-1})),
            "expected sizes of 0 or more, got -1");
  EXPECT_EQ(message(TensorView(static_cast<float *>(nullptr),
                               std::array<std::int64_t, 1>{1})),
            "the data pointer is null");
}

TEST(NpyArray, Allocate) {
  Expected<NpyArray> array = NpyArray::allocate(ElementType::i32, {2, 2});
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(elements<std::int32_t>(*array),
            (std::vector<std::int32_t>{0, 0, 0, 0}));
  EXPECT_FALSE(array->view().readOnly());
  EXPECT_TRUE(std::as_const(*array).view().readOnly());
  EXPECT_FALSE(NpyArray::allocate(ElementType::i32, {-1}).ok());
  EXPECT_FALSE(
      NpyArray::allocate(ElementType::f64, {std::int64_t(1) << 61}).ok());
}
