//===- Datum.h - Values that the interpreter computes with ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_DATUM_H
#define ATTN_RUNTIME_INTERPRETER_DATUM_H

#include "attn/tensor_view.h"
#include "runtime/Reference/Compare.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <variant>
#include <vector>

namespace attn::interpreter {

using llvm::APInt;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::failed;
using mlir::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::success;
using mlir::Type;
using mlir::Value;

struct Tensor;

/// The value of an operation that has none (A12), such as a division by zero.
struct Undefined {};

/// What an operation gives: an integer or index of its width, a float of any
/// type as a double, or a tensor.
using Datum =
    std::variant<Undefined, APInt, double, std::shared_ptr<const Tensor>>;

/// True for types whose values an APInt or a double can be: signless integers
/// of 1 to 64 bits, index, f64, f32, f16 and bf16.
bool isSupportedScalar(Type type);

/// Width of an integer, or of index.
unsigned widthOf(Type type);

/// A value of type index.
Datum makeIndex(std::int64_t value);

/// An integer as tensors keep it: i1 is 0 or 1, the others are signed.
std::int64_t toInt64(const APInt &value);

/// `value` rounded to `type`, a float type.
llvm::APFloat
roundTo(Type type, double value,
        llvm::RoundingMode mode = llvm::RoundingMode::NearestTiesToEven);

struct Tensor {
  Type elementType;
  /// Sizes and elements. The elements are not known, as those of tensor.empty,
  /// if the pointer is null. Floats that an operation computed are f64 here,
  /// whatever `elementType` is, and integers i64.
  TensorView view;
  /// Keeps alive what `view` points to, if an operation computed it.
  std::shared_ptr<const void> storage;
  reference::Quantity quantity = reference::Quantity::output;
  /// Which elements are known, in row-major order, where that are some but not
  /// all; null otherwise.
  std::shared_ptr<const std::vector<bool>> written = nullptr;
  /// What errors are relative to (see reference::compare), if that is known.
  std::vector<double> scales = {};

  ArrayRef<std::int64_t> shape() const {
    return {view.sizes().data(), view.sizes().size()};
  }
  /// True if all elements are known.
  bool isKnown() const;
  /// One element; nothing outside the tensor, or if it is not known.
  Datum load(ArrayRef<std::int64_t> indices) const;

  /// A tensor of computed elements, in row-major order.
  template <typename T>
  static std::shared_ptr<const Tensor>
  create(Type elementType, ArrayRef<std::int64_t> shape,
         std::vector<T> elements,
         reference::Quantity quantity = reference::Quantity::output,
         std::vector<double> scales = {}) {
    auto storage = std::make_shared<const std::vector<T>>(std::move(elements));
    TensorView view(storage->data(), std::span(shape));
    return std::make_shared<const Tensor>(Tensor{
        elementType, view, storage, quantity, nullptr, std::move(scales)});
  }

  /// A tensor of computed elements, in row-major order; those that are
  /// undefined are not known.
  static std::shared_ptr<const Tensor>
  createPartial(Type elementType, ArrayRef<std::int64_t> shape,
                ArrayRef<Datum> elements,
                reference::Quantity quantity = reference::Quantity::output);

  /// A tensor that was never written.
  static std::shared_ptr<const Tensor>
  createUnknown(Type elementType, ArrayRef<std::int64_t> shape);
};

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_DATUM_H
