//===- Datum.cpp - Values that the interpreter computes with --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Datum.h"

#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>
#include <cstring>

using namespace attn;
using namespace attn::interpreter;

bool interpreter::isSupportedScalar(mlir::Type type) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type))
    return integer.isSignless() && integer.getWidth() >= 1 &&
           integer.getWidth() <= 64;
  return type.isIndex() || type.isF64() || type.isF32() || type.isF16() ||
         type.isBF16();
}

unsigned interpreter::widthOf(mlir::Type type) {
  return type.isIndex() ? mlir::IndexType::kInternalStorageBitWidth
                        : type.getIntOrFloatBitWidth();
}

llvm::APFloat interpreter::roundTo(mlir::Type type, double value,
                                   llvm::RoundingMode mode) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(llvm::cast<mlir::FloatType>(type).getFloatSemantics(), mode,
                 &losesInfo);
  return number;
}

bool Tensor::isKnown() const {
  auto sizes = view.sizes();
  return view.data() || std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
}

template <typename T> static T read(const std::byte *address) {
  T value;
  std::memcpy(&value, address, sizeof(T)); // Views may be misaligned.
  return value;
}

static Datum readElement(const std::byte *address, ElementType type,
                         mlir::Type elementType) {
  auto integer = [&](std::int64_t value) {
    return llvm::APInt(widthOf(elementType), std::uint64_t(value),
                       /*isSigned=*/true, /*implicitTrunc=*/true);
  };
  switch (type) {
  case ElementType::f64:
    return read<double>(address);
  case ElementType::f32:
    return double(read<float>(address));
  case ElementType::f16:
    return double(float(read<f16>(address)));
  case ElementType::bf16:
    return double(float(read<bf16>(address)));
  case ElementType::i64:
    return integer(read<std::int64_t>(address));
  case ElementType::i32:
    return integer(read<std::int32_t>(address));
  case ElementType::i16:
    return integer(read<std::int16_t>(address));
  case ElementType::i8:
    return integer(read<std::int8_t>(address));
  case ElementType::i1:
    return integer(read<std::uint8_t>(address) != 0);
  }
  return Undefined();
}

Datum Tensor::load(llvm::ArrayRef<std::int64_t> indices) const {
  std::int64_t offset = 0;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (index < 0 || index >= view.size(int(dim)))
      return Undefined();
    offset += index * view.stride(int(dim));
  }
  if (!view.data())
    return Undefined();
  return readElement(static_cast<const std::byte *>(view.data()) +
                         offset * std::int64_t(sizeOf(view.type())),
                     view.type(), elementType);
}
