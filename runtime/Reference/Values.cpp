//===- Values.cpp - The elements of a view as doubles ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Values.h"

#include <concepts>
#include <cstring>
#include <limits>

using namespace attn;

static double loadAsDouble(ElementType type, const std::byte *address) {
  return visitElementType(type, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::same_as<T, bool>)
      return double(*address != std::byte());
    else {
      T value;
      std::memcpy(&value, address, sizeof(T)); // Views may be misaligned.
      return double(value);
    }
  });
}

Expected<std::int64_t>
attn::reference::countElements(const std::string &name,
                               std::span<const std::int64_t> shape) {
  bool empty = false;
  std::int64_t count = 1;
  for (std::int64_t size : shape) {
    if (size < 0)
      return Error{name + ": size " + std::to_string(size) + " is negative",
                   {}};
    if (size == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, size, &count) ||
             count > std::numeric_limits<std::int64_t>::max() / 8)
      return Error{name + ": the number of elements overflows", {}};
  }
  return empty ? 0 : count;
}

Expected<std::vector<double>>
attn::reference::toDoubles(const std::string &name, const TensorView &view) {
  if (view.rank() < 0)
    return Error{name + ": expected at most " +
                     std::to_string(TensorView::maxRank) + " dimensions",
                 {}};
  Expected<std::int64_t> count = countElements(name, view.sizes());
  if (!count)
    return count.error();
  std::vector<double> values;
  if (*count == 0)
    return values;
  if (!view.data())
    return Error{name + ": the data pointer is null", {}};

  values.reserve(std::size_t(*count));
  std::array<std::int64_t, TensorView::maxRank> index{};
  while (true) {
    std::int64_t offset = 0;
    for (int dim = 0; dim < view.rank(); ++dim)
      offset += index[dim] * view.stride(dim);
    values.push_back(loadAsDouble(
        view.type(), static_cast<const std::byte *>(view.data()) +
                         offset * std::int64_t(sizeOf(view.type()))));
    int dim = view.rank() - 1;
    while (dim >= 0 && ++index[dim] == view.size(dim))
      index[dim--] = 0;
    if (dim < 0)
      return values;
  }
}

double attn::reference::roundTo(ElementType type, double value) {
  switch (type) {
  case ElementType::f64:
    return value;
  case ElementType::f16:
    return float(f16(float(value)));
  case ElementType::bf16:
    return float(bf16(float(value)));
  case ElementType::f8e4m3fn:
    return f8e4m3fn(value);
  case ElementType::f8e5m2:
    return f8e5m2(value);
  default:
    return float(value);
  }
}
