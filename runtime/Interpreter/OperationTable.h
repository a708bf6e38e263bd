//===- OperationTable.h - Evaluators by name --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floats are computed in double, whatever their type. Results of f16 and bf16
// are rounded to it, since kernels compute each such operation; of f32, only
// constants, truncf and what looks at a float's bits are. Integers wrap around.
// Promises that an operation carries, such as `overflow<nsw>`, change nothing.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_OPERATIONTABLE_H
#define ATTN_RUNTIME_INTERPRETER_OPERATIONTABLE_H

#include "runtime/Interpreter/Operations.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <tuple>
#include <utility>

namespace attn::interpreter {

/// Evaluators by the names of operations.
using Table = llvm::StringMap<Evaluator>;
using TensorPtr = std::shared_ptr<const Tensor>;

/// Operations on integers and indices.
void addIntegerOps(Table &table);

/// Operations with floats.
void addFloatOps(Table &table);

/// Operations on tensors, but those that have regions or work on elements.
void addTensorOps(Table &table);

/// Of a scalar, or of an element where the operation works on tensors.
inline Type operandType(Operation *op) {
  return mlir::getElementTypeOrSelf(op->getOperand(0));
}
inline Type resultType(Operation *op) {
  return mlir::getElementTypeOrSelf(op->getResult(0));
}
inline unsigned resultWidth(Operation *op) { return widthOf(resultType(op)); }

/// The float that has these bits.
inline double fromType(Type type, const APInt &bits) {
  return llvm::APFloat(llvm::cast<mlir::FloatType>(type).getFloatSemantics(),
                       bits)
      .convertToDouble();
}

inline void store(llvm::MutableArrayRef<Datum> results, double value) {
  results[0] = value;
}
inline void store(llvm::MutableArrayRef<Datum> results, APInt value) {
  results[0] = std::move(value);
}
inline void store(llvm::MutableArrayRef<Datum> results, bool value) {
  results[0] = APInt(1, value);
}
inline void store(llvm::MutableArrayRef<Datum> results, TensorPtr value) {
  results[0] = std::move(value);
}
inline void store(llvm::MutableArrayRef<Datum> results, Datum value) {
  results[0] = std::move(value);
}
template <typename T>
void store(llvm::MutableArrayRef<Datum> results, std::optional<T> value) {
  if (value)
    store(results, std::move(*value));
}
template <typename T>
void store(llvm::MutableArrayRef<Datum> results, std::pair<T, T> values) {
  store(results.take_front(), std::move(values.first));
  store(results.drop_front(), std::move(values.second));
}

/// Rounds a result of an op to its type if that is f16, bf16 or of 8 bits.
void roundIfNarrow(mlir::OpResult result, Datum &value);

/// An evaluator that leaves all results undefined if an operand is.
template <typename... Operands, typename Function>
Evaluator createStrict(Function function) {
  return [function](Operation *op, ArrayRef<Datum> operands,
                    llvm::MutableArrayRef<Datum> results) {
    for (Datum &result : results)
      result = Undefined();
    for (const Datum &operand : operands)
      if (std::holds_alternative<Undefined>(operand))
        return;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      store(results,
            function(op, std::get<std::decay_t<Operands>>(operands[I])...));
    }(std::index_sequence_for<Operands...>());
    for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
      roundIfNarrow(result, value);
  };
}

/// The same for a function of the op and its operands, or of these alone.
template <typename Result, typename... Operands>
Evaluator strict(Result (*function)(Operation *, Operands...)) {
  return createStrict<Operands...>(function);
}
template <typename Result, typename... Operands>
Evaluator strict(Result (*function)(Operands...)) {
  return createStrict<Operands...>(
      [function](Operation *, const std::decay_t<Operands> &...operands) {
        return function(operands...);
      });
}

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_OPERATIONTABLE_H
