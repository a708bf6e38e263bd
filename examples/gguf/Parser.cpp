//===- Parser.cpp - Bytes to a GGUF file ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "examples/gguf/Parser.h"

#include "examples/gguf/Message.h"

#include <algorithm>

using namespace gguf;
using attn::Error;
using attn::Expected;
using attn::Status;

/// More is nothing that this format is used for.
static constexpr std::uint32_t maximumRank = 4;

Status Parser::parseValue() {
  std::string_view key = asText(cursor.takeString());
  File::Value value;
  value.type = cursor.take<std::uint32_t>();
  if (value.type == array) {
    value.isArray = true;
    value.type = cursor.take<std::uint32_t>();
    value.count = cursor.take<std::uint64_t>();
  }
  if (cursor.failed())
    return Error{"truncated in the metadata", {}};
  if (value.type >= typeCount || value.type == array)
    return Error{quoted(key) +
                     ": expected a type of value from 0 to 12, and no "
                     "array in an array; got " +
                     std::to_string(value.type),
                 {}};
  std::span<const std::byte> rest = cursor.remaining();
  if (value.count > rest.size() / typeBytes[value.type])
    return Error{quoted(key) + ": truncated: expected " +
                     std::to_string(value.count) + " values of type " +
                     std::string(typeNames[value.type]) + " in " +
                     std::to_string(rest.size()) + " bytes",
                 {}};
  if (value.type == string)
    for (std::uint64_t i = 0; i < value.count && !cursor.failed(); ++i)
      cursor.takeString();
  else
    cursor.take(value.count * typeBytes[value.type]);
  if (cursor.failed())
    return Error{quoted(key) + ": truncated in a text", {}};
  value.bytes = rest.first(rest.size() - cursor.remaining().size());
  if (!file.metadata.emplace(key, value).second)
    return Error{quoted(key) + " is in the metadata twice", {}};
  return {};
}

static bool isKnown(std::uint32_t type) {
  for (Type known : {Type::f32, Type::f16, Type::q4_1, Type::q8_0, Type::bf16})
    if (type == std::uint32_t(known))
      return true;
  return false;
}

/// The description of a tensor, whose data comes later.
Expected<Parser::Place> Parser::parseTensor() {
  std::string_view name = asText(cursor.takeString());
  auto rank = cursor.take<std::uint32_t>();
  if (cursor.failed())
    return Error{"truncated in the list of tensors", {}};
  std::string tensorName = "tensor " + quoted(name);
  if (rank < 1 || rank > maximumRank)
    return Error{tensorName + ": expected 1 to " + std::to_string(maximumRank) +
                     " dimensions, got " + std::to_string(rank),
                 {}};
  Tensor tensor;
  // Below what no file has, so that no product overflows.
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    auto extent = cursor.take<std::uint64_t>();
    if (extent > size * 2 || elements * extent > size * 2)
      return Error{tensorName + ": truncated: it is larger than the file", {}};
    elements *= extent;
    tensor.sizes.insert(tensor.sizes.begin(), std::int64_t(extent));
  }
  auto type = cursor.take<std::uint32_t>();
  auto offset = cursor.take<std::uint64_t>();
  if (cursor.failed())
    return Error{"truncated in the list of tensors", {}};
  if (!isKnown(type))
    return Error{tensorName +
                     ": expected type F32 (0), F16 (1), Q4_1 (3), Q8_0 "
                     "(8) or BF16 (30), got " +
                     std::to_string(type),
                 {}};
  tensor.type = Type(type);
  Block block = blockOf(tensor.type);
  if (tensor.sizes.back() % block.elements != 0)
    return Error{tensorName + ": expected rows of a multiple of " +
                     std::to_string(block.elements) + " elements, got " +
                     std::to_string(tensor.sizes.back()),
                 {}};
  auto [entry, isNew] = file.namedTensors.emplace(name, std::move(tensor));
  if (!isNew)
    return Error{tensorName + " is there twice", {}};
  return Place{&entry->second, name, offset,
               elements / std::uint64_t(block.elements) *
                   std::uint64_t(block.bytes)};
}

Status gguf::checkSize(std::uint64_t size) {
  // Products of two sizes of the file fit 64 bits.
  if (size >> 31)
    return Error{"expected a file below 2 GiB", {}};
  return {};
}

Status Parser::parse() {
  if (Status status = checkSize(size); !status)
    return status;
  if (asText(cursor.take(4)) != "GGUF")
    return Error{"expected the magic bytes of a GGUF file", {}};
  auto version = cursor.take<std::uint32_t>();
  auto tensors = cursor.take<std::uint64_t>();
  auto values = cursor.take<std::uint64_t>();
  if (cursor.failed())
    return Error{"truncated in the header", {}};
  if (version != 2 && version != 3)
    return Error{"expected version 2 or 3, little-endian, got " +
                     std::to_string(version),
                 {}};
  for (std::uint64_t i = 0; i < values; ++i)
    if (Status status = parseValue(); !status)
      return status;
  std::vector<Place> places;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    Expected<Place> place = parseTensor();
    if (!place)
      return place.error();
    places.push_back(*place);
  }

  std::uint64_t alignment = 32;
  if (file.metadata.contains("general.alignment")) {
    Expected<std::int64_t> given = file.integer("general.alignment");
    if (!given)
      return given.error();
    if (*given < 8 || *given > (1 << 20) || *given % 8 != 0)
      return Error{"'general.alignment': expected a multiple of 8 of at most "
                   "2^20, got " +
                       std::to_string(*given),
                   {}};
    alignment = std::uint64_t(*given);
  }
  std::uint64_t header = size - cursor.remaining().size();
  cursor.take(std::min<std::uint64_t>(
      (alignment - header % alignment) % alignment, cursor.remaining().size()));
  std::span<const std::byte> data = cursor.remaining();
  for (const Place &place : places) {
    if (place.offset % alignment != 0)
      return Error{"tensor " + quoted(place.name) +
                       ": expected an offset that is a multiple of " +
                       std::to_string(alignment) + ", got " +
                       std::to_string(place.offset),
                   {}};
    if (place.offset > data.size() || place.bytes > data.size() - place.offset)
      return Error{"tensor " + quoted(place.name) + ": truncated: expected " +
                       std::to_string(place.bytes) + " bytes at " +
                       std::to_string(place.offset) + " of " +
                       std::to_string(data.size()) + " bytes of data",
                   {}};
    place.tensor->data =
        data.subspan(std::size_t(place.offset), std::size_t(place.bytes));
  }
  return {};
}
