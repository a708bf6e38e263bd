//===- GgufFileTest.cpp - Model files in the GGUF format ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/gguf/File.h"
#include "test/Unit/GgufTesting.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>

using namespace gguf;
using attn::Expected;

static std::string failure(std::string_view bytes) {
  Expected<File> file = parseGguf(bytes);
  return file ? "no error" : file.error().message;
}

static std::string failure(const GgufWriter &writer) {
  return failure(writer.file());
}

template <typename T> static std::string message(const Expected<T> &result) {
  return result ? "no error" : result.error().message;
}

/// A file with something of everything.
static GgufWriter makeWriter() {
  GgufWriter writer;
  writer.addText("name", "tiny");
  writer.addInteger("count", 7);
  writer.add("rate", 6, bytesOf(0.5f));
  writer.add("rate64", 12, bytesOf(-0.25));
  writer.add("flag", 7, std::string(1, '\1'));
  writer.add("small", 1, bytesOf<std::int8_t>(-3));
  writer.add("large", 10, bytesOf<std::uint64_t>(std::uint64_t(1) << 40));
  writer.add("huge", 10, bytesOf<std::uint64_t>(std::uint64_t(1) << 63));
  writer.addTexts("names", {"a", "", "ccc"});
  writer.addIntegers("numbers", {1, -2, 3});
  writer.addTensor("vector", {3}, 0,
                   bytesOf(1.0f) + bytesOf(2.0f) + bytesOf(3.0f));
  writer.addTensor("matrix", {32, 2}, 8, std::string(68, 'q'));
  return writer;
}

TEST(GgufFile, Metadata) {
  Expected<File> file = parseGguf(makeWriter().file());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(*file->text("name"), "tiny");
  EXPECT_EQ(*file->integer("count"), 7);
  EXPECT_EQ(*file->integer("small"), -3);
  EXPECT_EQ(*file->integer("large"), std::int64_t(1) << 40);
  EXPECT_EQ(*file->real("rate"), 0.5);
  EXPECT_EQ(*file->real("rate64"), -0.25);
  EXPECT_EQ(*file->texts("names"),
            (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(*file->integers("numbers"), (std::vector<std::int64_t>{1, -2, 3}));

  EXPECT_EQ(message(file->text("none")), "'none' is not in the metadata");
  EXPECT_EQ(message(file->text("count")), "'count': expected text, got uint32");
  EXPECT_EQ(message(file->text("names")),
            "'names': expected a single value, got an array of text");
  EXPECT_EQ(message(file->integer("rate")),
            "'rate': expected an integer of at most 63 bits, got float32");
  EXPECT_EQ(message(file->integer("huge")),
            "'huge': expected an integer of at most 63 bits, got uint64");
  EXPECT_EQ(message(file->integer("flag")),
            "'flag': expected an integer of at most 63 bits, got boolean");
  EXPECT_EQ(message(file->real("count")),
            "'count': expected a floating-point number, got uint32");
  EXPECT_EQ(message(file->texts("name")),
            "'name': expected an array, got text");
  EXPECT_EQ(message(file->texts("numbers")),
            "'numbers': expected texts, got an array of int32");
  EXPECT_EQ(message(file->integers("names")),
            "'names': expected integers of at most 63 bits, got an array of "
            "text");
}

TEST(GgufFile, Tensors) {
  Expected<File> file = parseGguf(makeWriter().file());
  ASSERT_TRUE(file) << file.error().message;
  const Tensor *vector = file->findTensor("vector");
  ASSERT_TRUE(vector);
  EXPECT_EQ(vector->type, Type::f32);
  EXPECT_EQ(vector->sizes, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(vector->data.size(), 12u);
  const Tensor *matrix = file->findTensor("matrix");
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->sizes, (std::vector<std::int64_t>{2, 32}));
  EXPECT_EQ(matrix->data.size(), 68u);
  EXPECT_EQ(matrix->data[0], std::byte('q'));
  EXPECT_EQ(file->findTensor("none"), nullptr);

  // What a copy gives outlives the file it was made of.
  File copy = *file;
  *file = *parseGguf(GgufWriter().file());
  EXPECT_EQ(*copy.text("name"), "tiny");
  EXPECT_EQ(copy.findTensor("matrix")->data[67], std::byte('q'));
}

TEST(GgufFile, Alignment) {
  GgufWriter writer;
  writer.alignment = 64;
  writer.addInteger("general.alignment", 64);
  writer.addTensor("a", {1}, 0, bytesOf(1.0f));
  writer.addTensor("b", {1}, 0, bytesOf(2.0f));
  Expected<File> file = parseGguf(writer.file());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->findTensor("b")->data.data() -
                file->findTensor("a")->data.data(),
            64);
  for (std::uint32_t alignment : {0u, 4u, 12u, 1u << 21}) {
    GgufWriter bad;
    bad.addInteger("general.alignment", alignment);
    EXPECT_EQ(failure(bad),
              "'general.alignment': expected a multiple of 8 of at most 2^20, "
              "got " +
                  std::to_string(alignment));
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(GgufFile, EveryTruncationIsAnError) {
  std::string good = makeWriter().file();
  EXPECT_EQ(failure(good), "no error");
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(failure(good.substr(0, size)), "no error") << size;
}

TEST(GgufFile, Header) {
  std::string good = makeWriter().file(), bad = good;
  bad[0] = 'g';
  EXPECT_EQ(failure(bad), "expected the magic bytes of a GGUF file");
  EXPECT_EQ(failure(good.substr(0, 20)), "truncated in the header");
  for (char version : {0, 1, 4}) {
    bad = good;
    bad[4] = version;
    EXPECT_EQ(failure(bad), "expected version 2 or 3, little-endian, got " +
                                std::to_string(version));
  }
}

TEST(GgufFile, HostileCounts) {
  constexpr std::uint64_t counts[] = {1000, std::uint64_t(1) << 32,
                                      std::uint64_t(1) << 61, UINT64_MAX};
  for (std::uint64_t count : counts) {
    GgufWriter values;
    values.numValues = count;
    EXPECT_EQ(failure(values), "truncated in the metadata");
    GgufWriter tensors;
    tensors.numTensors = count;
    EXPECT_EQ(failure(tensors), "truncated in the list of tensors");
    GgufWriter key;
    key.metadata = bytesOf(count) + "key";
    key.numValues = 1;
    EXPECT_EQ(failure(key), "truncated in the metadata");
    GgufWriter text;
    text.add("t", 8, bytesOf(count) + "text");
    EXPECT_EQ(failure(text), "'t': truncated in a text");
    GgufWriter numbers;
    numbers.add("n", 9, bytesOf<std::uint32_t>(5) + bytesOf(count));
    EXPECT_TRUE(failure(numbers).starts_with("'n': truncated: expected " +
                                             std::to_string(count) +
                                             " values of type int32 in "))
        << failure(numbers);
    GgufWriter size;
    size.describe("w", {count, 2}, 0, 0);
    EXPECT_EQ(failure(size),
              "tensor 'w': truncated: it is larger than the file");
    GgufWriter offset;
    offset.describe("w", {1}, 0, count & ~std::uint64_t(31));
    EXPECT_TRUE(failure(offset).starts_with("tensor 'w': truncated: expected 4 "
                                            "bytes at "))
        << failure(offset);
  }
}

TEST(GgufFile, Entries) {
  GgufWriter unknown;
  unknown.add("x", 13, "");
  EXPECT_EQ(failure(unknown), "'x': expected a type of value from 0 to 12, and "
                              "no array in an array; got 13");
  GgufWriter nested;
  nested.add("x", 9, bytesOf<std::uint32_t>(9) + bytesOf<std::uint64_t>(0));
  EXPECT_EQ(failure(nested), "'x': expected a type of value from 0 to 12, and "
                             "no array in an array; got 9");
  GgufWriter twice;
  twice.addInteger("x", 1);
  twice.addInteger("x", 1);
  EXPECT_EQ(failure(twice), "'x' is in the metadata twice");
  GgufWriter name;
  name.add("\x1b[31m", 13, "");
  EXPECT_TRUE(failure(name).starts_with("'?[31m': ")) << failure(name);
}

TEST(GgufFile, BadTensors) {
  auto describe = [](const std::vector<std::uint64_t> &sizes,
                     std::uint32_t type, std::uint64_t offset) {
    GgufWriter writer;
    writer.describe("w", sizes, type, offset);
    writer.data.resize(256);
    return failure(writer);
  };
  EXPECT_EQ(describe({64}, 0, 0), "no error");
  EXPECT_EQ(describe({64}, 0, 32), "tensor 'w': truncated: expected 256 bytes "
                                   "at 32 of 256 bytes of data");
  EXPECT_EQ(describe({8}, 0, 4),
            "tensor 'w': expected an offset that is a multiple of 32, got 4");
  EXPECT_EQ(describe({}, 0, 0),
            "tensor 'w': expected 1 to 4 dimensions, got 0");
  EXPECT_EQ(describe({1, 1, 1, 1, 1}, 0, 0),
            "tensor 'w': expected 1 to 4 dimensions, got 5");
  EXPECT_EQ(describe({32}, 2, 0),
            "tensor 'w': expected type F32 (0), F16 (1), Q4_1 (3), Q8_0 (8) or "
            "BF16 (30), got 2");
  EXPECT_EQ(describe({33}, 8, 0), "tensor 'w': expected rows of a multiple of "
                                  "32 elements, got 33");
  EXPECT_EQ(describe({0, 32}, 8, 0), "no error");
  GgufWriter twice;
  twice.addTensor("w", {1}, 0, bytesOf(1.0f));
  twice.addTensor("w", {1}, 0, bytesOf(1.0f));
  EXPECT_EQ(failure(twice), "tensor 'w' is there twice");
}

TEST(GgufFile, Files) {
  std::filesystem::path folder = testing::TempDir();
  std::string path = (folder / "attn-gguf-test.gguf").string();
  auto message = [&](const std::string &path) {
    Expected<File> file = File::read(path);
    return file ? "no error" : file.error().message;
  };
  std::filesystem::remove(path);
  EXPECT_EQ(message(path), path + ": cannot open: No such file or directory");
  EXPECT_EQ(message(folder.string()), folder.string() + ": not a regular file");
  std::string bytes = makeWriter().file();
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(message(path), "no error");
  std::ofstream(path, std::ios::binary) << bytes.substr(0, 9);
  EXPECT_EQ(message(path), path + ": truncated in the header");
  // Refused before memory is taken for it.
  std::filesystem::resize_file(path, std::uintmax_t(1) << 40);
  EXPECT_EQ(message(path), path + ": expected a file below 2 GiB");
  std::filesystem::remove(path);
}
