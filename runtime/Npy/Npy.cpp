//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Npy/Npy.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

using namespace attn;

static_assert(std::endian::native == std::endian::little,
              "elements are copied between memory and little-endian files");

/// Opens every file; the version follows.
static constexpr std::string_view magic = "\x93NUMPY";

static Error makeError(std::string message) { return {std::move(message), {}}; }

//===----------------------------------------------------------------------===//
// Types and sizes
//===----------------------------------------------------------------------===//

static constexpr std::pair<std::string_view, ElementType> dtypes[] = {
    {"<f2", ElementType::f16}, {"<f4", ElementType::f32},
    {"<f8", ElementType::f64}, {"|b1", ElementType::i1},
    {"|i1", ElementType::i8},  {"<i2", ElementType::i16},
    {"<i4", ElementType::i32}, {"<i8", ElementType::i64}};

static Expected<ElementType> parseDtype(std::string_view dtype) {
  for (auto [name, type] : dtypes)
    if (name == dtype)
      return type;
  std::string message = "expected dtype ";
  for (auto [name, type] : dtypes)
    message +=
        (name == dtypes[0].first ? "'" : ", '") + std::string(name) + "'";
  message += ", got '" + std::string(dtype) + "'";
  if (dtype.starts_with('>'))
    message += ", which is big-endian";
  else if (dtype.starts_with("|u") || dtype.starts_with("<u"))
    message += ", which is unsigned";
  return makeError(std::move(message));
}

/// The type to write elements in: f32 if NumPy does not have theirs.
static std::pair<std::string_view, ElementType> chooseDtype(ElementType type) {
  for (auto [name, known] : dtypes)
    if (known == type)
      return {name, type};
  return {"<f4", ElementType::f32};
}

/// Bytes of a dense array.
static Expected<std::size_t> countBytes(ElementType type,
                                        std::span<const std::int64_t> shape) {
  if (shape.size() > TensorView::maxRank)
    return makeError("expected at most " + std::to_string(TensorView::maxRank) +
                     " dimensions, got " + std::to_string(shape.size()));
  // Sizes of 0 are left out until the end, so that no stride overflows either.
  bool empty = false;
  std::int64_t bytes = std::int64_t(sizeOf(type));
  for (std::int64_t size : shape) {
    if (size < 0)
      return makeError("expected sizes of 0 or more, got " +
                       std::to_string(size));
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, size, &bytes))
      return makeError("the product of the sizes overflows");
  }
  return empty ? 0 : std::size_t(bytes);
}

Expected<NpyArray> NpyArray::allocate(ElementType type,
                                      std::vector<std::int64_t> shape) {
  Expected<std::size_t> bytes = countBytes(type, shape);
  if (!bytes)
    return bytes.error();
  NpyArray array;
  array.elementType = type;
  array.sizes = std::move(shape);
  array.byteCount = *bytes;
  // An empty array has an address too.
  array.data.reset(static_cast<std::byte *>(
      ::operator new[](std::max<std::size_t>(*bytes, 1),
                       std::align_val_t{alignment}, std::nothrow)));
  if (!array.data)
    return makeError("cannot allocate " + std::to_string(*bytes) + " bytes");
  std::memset(array.data.get(), 0, *bytes);
  return array;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// What the header says.
struct Header {
  ElementType type = ElementType::f32;
  bool fortranOrder = false;
  std::vector<std::int64_t> shape;
};

/// Parses the header's text: a Python dictionary literal with the keys 'descr',
/// 'fortran_order' and 'shape' in any order, then padding.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  Expected<Header> parse() {
    if (!consume('{'))
      return expected("'{'");
    bool seenType = false, seenOrder = false, seenShape = false;
    while (!consume('}')) {
      std::optional<std::string_view> key = string();
      if (!key)
        return expected("a quoted key or '}'");
      if (!consume(':'))
        return expected("':'");
      bool *seen = *key == "descr"           ? &seenType
                   : *key == "fortran_order" ? &seenOrder
                   : *key == "shape"         ? &seenShape
                                             : nullptr;
      if (!seen)
        return makeError("header: expected the keys 'descr', 'fortran_order' "
                         "and 'shape', got '" +
                         std::string(*key) + "'");
      if (*seen)
        return makeError("header: '" + std::string(*key) + "' occurs twice");
      *seen = true;
      Status status = *key == "descr"           ? parseType()
                      : *key == "fortran_order" ? parseOrder()
                                                : parseShape();
      if (!status)
        return status.error();
      if (!consume(',') && !peek('}'))
        return expected("',' or '}'");
    }
    skipSpace();
    if (position != text.size())
      return expected("nothing but spaces");
    if (!seenType || !seenOrder || !seenShape)
      return makeError("header: '" +
                       std::string(!seenType    ? "descr"
                                   : !seenOrder ? "fortran_order"
                                                : "shape") +
                       "' is missing");
    return std::move(header);
  }

private:
  Status parseType() {
    if (peek('['))
      return makeError("header: expected a simple dtype, got a structured one");
    std::optional<std::string_view> dtype = string();
    if (!dtype)
      return expected("a quoted dtype");
    Expected<ElementType> type = parseDtype(*dtype);
    if (!type)
      return makeError("header: " + type.error().message);
    header.type = *type;
    return {};
  }

  Status parseOrder() {
    skipSpace();
    for (auto [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text.substr(position).starts_with(word)) {
        position += word.size();
        header.fortranOrder = value;
        return {};
      }
    return expected("True or False");
  }

  Status parseShape() {
    if (!consume('('))
      return expected("'('");
    bool comma = true; // (3) is a number, not a shape; (3,) is one.
    while (!consume(')')) {
      if (!comma)
        return expected("',' or ')'");
      skipSpace();
      std::int64_t size = 0;
      const char *begin = text.data() + position;
      auto [end, code] =
          std::from_chars(begin, text.data() + text.size(), size);
      if (code == std::errc::result_out_of_range)
        return makeError("header: a size does not fit 64 bits");
      if (code != std::errc() || size < 0)
        return expected("a size of 0 or more");
      position += std::size_t(end - begin);
      header.shape.push_back(size);
      comma = consume(',');
    }
    if (header.shape.size() == 1 && !comma)
      return expected("',' after the only size");
    return {};
  }

  void skipSpace() {
    while (position < text.size() &&
           std::string_view(" \t\n\r").find(text[position]) !=
               std::string_view::npos)
      ++position;
  }
  bool peek(char c) {
    skipSpace();
    return position < text.size() && text[position] == c;
  }
  bool consume(char c) {
    if (!peek(c))
      return false;
    ++position;
    return true;
  }

  /// A string literal without escapes, which no key or dtype needs.
  std::optional<std::string_view> string() {
    if (!peek('\'') && !peek('"'))
      return std::nullopt;
    std::size_t end = text.find(text[position], position + 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string_view contents = text.substr(position + 1, end - position - 1);
    position = end + 1;
    return contents;
  }

  Error expected(std::string_view what) {
    std::string got = "the end";
    if (position < text.size()) {
      unsigned char c = static_cast<unsigned char>(text[position]);
      if (c >= 0x20 && c < 0x7f)
        got = "'" + std::string(1, char(c)) + "'";
      else
        got = "byte " + std::to_string(c);
    }
    return makeError("header: expected " + std::string(what) +
                     " at character " + std::to_string(position) + ", got " +
                     got);
  }

  std::string_view text;
  std::size_t position = 0;
  Header header;
};
} // namespace

/// Dtypes and keys may hold any bytes, any number of them; a message is one
/// line that a terminal shows.
static std::string printable(std::string message) {
  constexpr std::size_t longest = 300;
  if (message.size() > longest)
    message.replace(longest, std::string::npos, "...");
  for (char &c : message)
    if (c < 0x20 || c >= 0x7f)
      c = '?';
  return message;
}

Expected<NpyArray> attn::parseNpy(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                        bytes.size());
  if (!text.starts_with(magic))
    return makeError("expected the magic bytes of a .npy file");
  text.remove_prefix(magic.size());
  if (text.size() < 2)
    return makeError("expected a version, got the end of the file");
  unsigned major = static_cast<unsigned char>(text[0]),
           minor = static_cast<unsigned char>(text[1]);
  if (major < 1 || major > 3 || minor != 0)
    return makeError("expected version 1.0, 2.0 or 3.0, got " +
                     std::to_string(major) + "." + std::to_string(minor));
  text.remove_prefix(2);

  std::size_t lengthSize = major == 1 ? 2 : 4;
  if (text.size() < lengthSize)
    return makeError("expected the header's length, got the end of the file");
  std::size_t headerSize = 0;
  for (std::size_t i = 0; i < lengthSize; ++i)
    headerSize |= std::size_t(static_cast<unsigned char>(text[i])) << (8 * i);
  text.remove_prefix(lengthSize);
  if (text.size() < headerSize)
    return makeError("truncated: expected a header of " +
                     std::to_string(headerSize) + " bytes, got " +
                     std::to_string(text.size()));
  Expected<Header> header = HeaderParser(text.substr(0, headerSize)).parse();
  if (!header)
    return makeError(printable(header.error().message));
  text.remove_prefix(headerSize);

  if (header->fortranOrder && header->shape.size() > 1)
    return makeError("expected C order, got fortran_order=True");
  Expected<std::size_t> dataSize = countBytes(header->type, header->shape);
  if (!dataSize)
    return dataSize.error();
  if (text.size() != *dataSize)
    return makeError(
        std::string(text.size() < *dataSize ? "truncated" : "trailing bytes") +
        ": expected " + std::to_string(*dataSize) + " bytes of data, got " +
        std::to_string(text.size()));
  if (header->type == ElementType::i1)
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] != 0 && text[i] != 1)
        return makeError(
            "expected 0 or 1 for element " + std::to_string(i) +
            " of dtype '|b1', got " +
            std::to_string(unsigned(static_cast<unsigned char>(text[i]))));

  Expected<NpyArray> array =
      NpyArray::allocate(header->type, std::move(header->shape));
  if (array && !text.empty())
    std::memcpy(array->bytes().data(), text.data(), text.size());
  return array;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Expected<std::vector<std::byte>> attn::serializeNpy(const TensorView &view) {
  if (view.rank() < 0)
    return makeError("expected at most " + std::to_string(TensorView::maxRank) +
                     " dimensions");
  auto [dtype, type] = chooseDtype(view.type());
  Expected<std::size_t> dataSize = countBytes(type, view.sizes());
  if (!dataSize)
    return dataSize.error();
  if (*dataSize != 0 && !view.data())
    return makeError("the data pointer is null");

  std::string shape = "(";
  for (int dim = 0; dim < view.rank(); ++dim)
    shape += (dim ? ", " : "") + std::to_string(view.size(dim));
  shape += view.rank() == 1 ? ",)" : ")";
  std::string header = "{'descr': '" + std::string(dtype) +
                       "', 'fortran_order': False, 'shape': " + shape + ", }";
  // Pad so that the data begins at a multiple of 64 bytes.
  constexpr std::size_t fixedSize = magic.size() + 4;
  header.append(63 - (fixedSize + header.size()) % 64, ' ');
  header += '\n';

  std::string start(magic);
  start +=
      {'\x01', '\x00', char(header.size() & 0xff), char(header.size() >> 8)};
  start += header;
  std::vector<std::byte> bytes(start.size() + *dataSize);
  std::memcpy(bytes.data(), start.data(), start.size());
  if (*dataSize == 0)
    return bytes;

  std::byte *out = bytes.data() + start.size();
  std::size_t inSize = sizeOf(view.type()), outSize = sizeOf(type);
  std::array<std::int64_t, TensorView::maxRank> index{};
  while (true) {
    std::int64_t offset = 0;
    for (int dim = 0; dim < view.rank(); ++dim)
      offset += index[dim] * view.stride(dim);
    const std::byte *in = static_cast<const std::byte *>(view.data()) +
                          offset * std::int64_t(inSize);
    if (view.type() != type) {
      auto wide = visitElementType(
          view.type(), [&]<typename T>(std::type_identity<T>) -> float {
            T narrow;
            std::memcpy(&narrow, in, inSize);
            return float(narrow);
          });
      std::memcpy(out, &wide, outSize);
    } else if (view.type() == ElementType::i1) {
      *out = std::byte(*in != std::byte(0));
    } else {
      std::memcpy(out, in, outSize);
    }
    out += outSize;

    int dim = view.rank() - 1;
    while (dim >= 0 && ++index[dim] == view.size(dim))
      index[dim--] = 0;
    if (dim < 0)
      return bytes;
  }
}
