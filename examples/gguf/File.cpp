//===- File.cpp - Model files in the GGUF format --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/gguf/File.h"

#include "examples/gguf/Message.h"
#include "examples/gguf/Parser.h"
#include "examples/gguf/Values.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>

using namespace gguf;
using attn::Error;
using attn::Expected;
using attn::Status;

namespace {
struct FileCloser {
  void operator()(std::FILE *file) const { std::fclose(file); }
};

} // namespace

Block gguf::blockOf(Type type) {
  switch (type) {
  case Type::f32:
    return {1, 4};
  case Type::f16:
  case Type::bf16:
    return {1, 2};
  case Type::q4_1:
    return {32, 20};
  case Type::q8_0:
    return {32, 34};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Expected<File> File::parse(std::shared_ptr<const std::byte[]> bytes,
                           std::size_t size) {
  File file;
  file.bytes = std::move(bytes);
  Parser parser(file, std::span(file.bytes.get(), size));
  if (Status status = parser.parse(); !status)
    return status.error();
  return file;
}

Expected<File> File::parse(std::span<const std::byte> bytes) {
  auto copy = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
  std::ranges::copy(bytes, copy.get());
  return parse(std::move(copy), bytes.size());
}

Expected<File> File::read(const std::string &path) {
  auto fail = [&](const std::string &why) {
    return Error{path + ": " + why, {}};
  };
  std::error_code code;
  std::filesystem::file_status status = std::filesystem::status(path, code);
  if (code)
    return fail("cannot open: " + code.message());
  if (!std::filesystem::is_regular_file(status))
    return fail("not a regular file");
  std::unique_ptr<std::FILE, FileCloser> stream(std::fopen(path.c_str(), "rb"));
  if (!stream)
    return fail("cannot open: " + std::string(std::strerror(errno)));
  std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code)
    return fail("cannot read: " + code.message());
  if (Status fits = checkSize(size); !fits)
    return fail(fits.error().message);
  std::shared_ptr<std::byte[]> bytes(new (std::nothrow)
                                         std::byte[std::size_t(size)]);
  if (!bytes)
    return fail("cannot allocate " + std::to_string(size) + " bytes");
  std::size_t got = std::fread(bytes.get(), 1, std::size_t(size), stream.get());
  if (std::ferror(stream.get()))
    return fail("cannot read: " + std::string(std::strerror(errno)));
  Expected<File> file = parse(std::move(bytes), got);
  if (!file)
    return fail(file.error().message);
  return file;
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

static std::string describe(std::uint32_t type, bool isArray) {
  return (isArray ? "an array of " : "") + std::string(typeNames[type]);
}

Expected<File::Value> File::find(std::string_view key, bool isArray) const {
  auto found = metadata.find(key);
  if (found == metadata.end())
    return Error{quoted(key) + " is not in the metadata", {}};
  const Value &value = found->second;
  if (value.isArray != isArray)
    return Error{quoted(key) + ": expected " +
                     (isArray ? "an array" : "a single value") + ", got " +
                     describe(value.type, value.isArray),
                 {}};
  return value;
}

std::vector<std::string_view> File::keys() const {
  std::vector<std::string_view> keys;
  for (const auto &[key, value] : metadata)
    keys.push_back(key);
  return keys;
}

/// An integer of any width; none if it is not one or does not fit 63 bits.
static std::optional<std::int64_t> asInteger(std::uint32_t type,
                                             std::span<const std::byte> bytes) {
  switch (type) {
  case uint8:
    return load<std::uint8_t>(bytes);
  case int8:
    return load<std::int8_t>(bytes);
  case uint16:
    return load<std::uint16_t>(bytes);
  case int16:
    return load<std::int16_t>(bytes);
  case uint32:
    return load<std::uint32_t>(bytes);
  case int32:
    return load<std::int32_t>(bytes);
  case int64:
    return load<std::int64_t>(bytes);
  case uint64:
    if (auto value = load<std::int64_t>(bytes); value >= 0)
      return value;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

Expected<std::int64_t> File::integer(std::string_view key) const {
  Expected<Value> value = find(key, false);
  if (!value)
    return value.error();
  if (auto number = asInteger(value->type, value->bytes))
    return *number;
  return Error{quoted(key) + ": expected an integer of at most 63 bits, got " +
                   describe(value->type, false),
               {}};
}

Expected<bool> File::boolean(std::string_view key) const {
  Expected<Value> value = find(key, false);
  if (!value)
    return value.error();
  if (value->type == ValueType::boolean)
    return load<std::uint8_t>(value->bytes) != 0;
  return Error{quoted(key) + ": expected a boolean, got " +
                   describe(value->type, false),
               {}};
}

/// A floating-point number; none if it is not one.
static std::optional<double> asReal(std::uint32_t type,
                                    std::span<const std::byte> bytes) {
  if (type == float32)
    return double(load<float>(bytes));
  if (type == float64)
    return load<double>(bytes);
  return std::nullopt;
}

Expected<double> File::real(std::string_view key) const {
  Expected<Value> value = find(key, false);
  if (!value)
    return value.error();
  if (auto number = asReal(value->type, value->bytes))
    return *number;
  return Error{quoted(key) + ": expected a floating-point number, got " +
                   describe(value->type, false),
               {}};
}

Expected<std::string_view> File::text(std::string_view key) const {
  Expected<Value> value = find(key, false);
  if (!value)
    return value.error();
  if (value->type == string)
    return asText(value->bytes).substr(typeBytes[string]);
  return Error{
      quoted(key) + ": expected text, got " + describe(value->type, false), {}};
}

Expected<std::vector<std::int64_t>> File::integers(std::string_view key) const {
  Expected<Value> value = find(key, true);
  if (!value)
    return value.error();
  std::vector<std::int64_t> numbers;
  std::uint64_t width = typeBytes[value->type];
  for (std::uint64_t i = 0; i < value->count; ++i) {
    auto number = asInteger(value->type, value->bytes.subspan(i * width));
    if (!number)
      return Error{quoted(key) +
                       ": expected integers of at most 63 bits, got " +
                       describe(value->type, true),
                   {}};
    numbers.push_back(*number);
  }
  return numbers;
}

Expected<std::vector<double>> File::reals(std::string_view key) const {
  Expected<Value> value = find(key, true);
  if (!value)
    return value.error();
  std::vector<double> numbers;
  std::uint64_t width = typeBytes[value->type];
  for (std::uint64_t i = 0; i < value->count; ++i) {
    auto number = asReal(value->type, value->bytes.subspan(i * width));
    if (!number)
      return Error{quoted(key) + ": expected floating-point numbers, got " +
                       describe(value->type, true),
                   {}};
    numbers.push_back(*number);
  }
  return numbers;
}

Expected<std::vector<std::string_view>>
File::texts(std::string_view key) const {
  Expected<Value> value = find(key, true);
  if (!value)
    return value.error();
  if (value->type != string)
    return Error{quoted(key) + ": expected texts, got " +
                     describe(value->type, true),
                 {}};
  std::vector<std::string_view> texts;
  Cursor cursor(value->bytes);
  for (std::uint64_t i = 0; i < value->count; ++i)
    texts.push_back(asText(cursor.takeString()));
  return texts;
}

const Tensor *File::findTensor(std::string_view name) const {
  auto found = namedTensors.find(name);
  return found == namedTensors.end() ? nullptr : &found->second;
}
