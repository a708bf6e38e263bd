//===- Datum.cpp - Values that the interpreter computes with --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Datum.h"

#include "dialect/Shared/Float8.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <type_traits>

using namespace attn;
using namespace attn::interpreter;

bool interpreter::isSupportedScalar(Type type) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type))
    return integer.isSignless() && integer.getWidth() >= 1 &&
           integer.getWidth() <= 64;
  return type.isIndex() || type.isF64() || type.isF32() || type.isF16() ||
         type.isBF16() || mlir::attn::isFloat8(type);
}

unsigned interpreter::widthOf(Type type) {
  return type.isIndex() ? mlir::IndexType::kInternalStorageBitWidth
                        : type.getIntOrFloatBitWidth();
}

llvm::APFloat interpreter::roundTo(Type type, double value,
                                   llvm::RoundingMode mode) {
  llvm::APFloat number(value);
  if (mlir::attn::isFloat8(type) && !number.isNaN()) { // C5
    const llvm::fltSemantics &semantics =
        llvm::cast<mlir::FloatType>(type).getFloatSemantics();
    double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
    number = llvm::APFloat(std::clamp(value, -largest, largest));
  }
  bool losesInfo;
  number.convert(llvm::cast<mlir::FloatType>(type).getFloatSemantics(), mode,
                 &losesInfo);
  return number;
}

Datum interpreter::makeIndex(std::int64_t value) {
  return APInt(mlir::IndexType::kInternalStorageBitWidth, std::uint64_t(value),
               /*isSigned=*/true);
}

std::int64_t interpreter::toInt64(const APInt &value) {
  return value.getBitWidth() == 1 ? std::int64_t(value.getZExtValue())
                                  : value.getSExtValue();
}

bool Tensor::isKnown() const {
  return !written && (view.data() || llvm::is_contained(shape(), 0));
}

static Datum readElement(const std::byte *address, ElementType type,
                         Type elementType) {
  return visitElementType(type, [&]<typename T>(std::type_identity<T>) {
    std::conditional_t<std::same_as<T, bool>, std::uint8_t, T> value;
    std::memcpy(&value, address, sizeof(T)); // Views may be misaligned.
    if constexpr (std::integral<T>)
      return Datum(APInt(widthOf(elementType), std::uint64_t(T(value)),
                         /*isSigned=*/true, /*implicitTrunc=*/true));
    else
      return Datum(double(value));
  });
}

Datum Tensor::load(ArrayRef<std::int64_t> indices) const {
  std::int64_t offset = 0, number = 0;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (index < 0 || index >= view.size(int(dim)))
      return Undefined();
    offset += index * view.stride(int(dim));
    number = number * view.size(int(dim)) + index;
  }
  if (!view.data() || (written && !(*written)[std::size_t(number)]))
    return Undefined();
  return readElement(static_cast<const std::byte *>(view.data()) +
                         offset * std::int64_t(sizeOf(view.type())),
                     view.type(), elementType);
}

std::shared_ptr<const Tensor>
Tensor::createPartial(Type elementType, ArrayRef<std::int64_t> shape,
                      ArrayRef<Datum> elements, reference::Quantity quantity) {
  std::vector<bool> written;
  for (const Datum &element : elements)
    written.push_back(!std::holds_alternative<Undefined>(element));
  if (!elements.empty() && !llvm::is_contained(written, true))
    return createUnknown(elementType, shape);
  std::shared_ptr<const Tensor> result;
  if (llvm::isa<mlir::FloatType>(elementType)) {
    std::vector<double> numbers;
    for (const Datum &element : elements) {
      const double *number = std::get_if<double>(&element);
      numbers.push_back(number ? *number : 0);
    }
    result = create(elementType, shape, std::move(numbers), quantity);
  } else {
    std::vector<std::int64_t> numbers;
    for (const Datum &element : elements) {
      const APInt *number = std::get_if<APInt>(&element);
      numbers.push_back(number ? toInt64(*number) : 0);
    }
    result = create(elementType, shape, std::move(numbers), quantity);
  }
  if (!llvm::is_contained(written, false))
    return result;
  Tensor partial = *result;
  partial.written =
      std::make_shared<const std::vector<bool>>(std::move(written));
  return std::make_shared<const Tensor>(std::move(partial));
}

std::shared_ptr<const Tensor>
Tensor::createUnknown(Type elementType, ArrayRef<std::int64_t> shape) {
  Tensor tensor;
  tensor.elementType = elementType;
  tensor.view =
      llvm::isa<mlir::FloatType>(elementType)
          ? TensorView(static_cast<const double *>(nullptr), std::span(shape))
          : TensorView(static_cast<const std::int64_t *>(nullptr),
                       std::span(shape));
  return std::make_shared<const Tensor>(std::move(tensor));
}
