//===- TensorOperations.h - Tensors of computed elements --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_INTERPRETER_TENSOROPERATIONS_H
#define ATTN_RUNTIME_INTERPRETER_TENSOROPERATIONS_H

#include "runtime/Interpreter/Datum.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace attn::interpreter {

/// How many elements a tensor of these sizes has; nothing for a negative size,
/// and for more than what is computed one by one in a lifetime.
std::optional<std::int64_t> countElements(ArrayRef<std::int64_t> sizes);

/// Calls `visit` with every index below `sizes`, in row-major order, until it
/// returns false. Returns whether it never did.
bool visitIndices(ArrayRef<std::int64_t> sizes,
                  llvm::function_ref<bool(ArrayRef<std::int64_t>)> visit);

/// A tensor of what `compute` gives for each index. Undefined if there is no
/// tensor of these sizes.
Datum computeTensor(Type elementType, ArrayRef<std::int64_t> sizes,
                    llvm::function_ref<Datum(ArrayRef<std::int64_t>)> compute,
                    reference::Quantity quantity = reference::Quantity::output);

/// The elements of a tensor in row-major order, if they can be counted.
std::optional<std::vector<Datum>> copyElements(const Tensor &tensor);

/// The number of an element in row-major order.
std::size_t numberOf(ArrayRef<std::int64_t> index,
                     ArrayRef<std::int64_t> sizes);

/// `numbers` with the next of `operands` for each that is dynamic, which are
/// then dropped; nothing if one of them is undefined.
std::optional<SmallVector<std::int64_t>>
resolveDynamic(ArrayRef<std::int64_t> numbers, ArrayRef<Datum> &operands);

} // namespace attn::interpreter

#endif // ATTN_RUNTIME_INTERPRETER_TENSOROPERATIONS_H
