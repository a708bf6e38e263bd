//===- Tensors.h - Operations on tensors, by value --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What imports of nodes are made of. Sizes may be static or dynamic; whoever
// calls a function has checked that static ones fit.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_TENSORS_H
#define ATTN_RUNTIME_ONNX_TENSORS_H

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace attn::onnx {

using Builder = mlir::ImplicitLocOpBuilder;
using Sizes = llvm::SmallVector<mlir::OpFoldResult>;
/// Consecutive dimensions that become one, or that one becomes.
using Groups = llvm::ArrayRef<mlir::ReassociationIndices>;

inline mlir::RankedTensorType typeOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType());
}

inline bool isStatic(std::int64_t size) {
  return !mlir::ShapedType::isDynamic(size);
}

/// A size of a tensor: an attribute if it is static.
mlir::OpFoldResult sizeOf(Builder &b, mlir::Value tensor, std::int64_t dim);
Sizes sizesOf(Builder &b, mlir::Value tensor);

/// A size as an index.
mlir::Value toIndex(Builder &b, mlir::OpFoldResult size);
/// The sum, a constant where both are.
mlir::OpFoldResult add(Builder &b, mlir::OpFoldResult lhs,
                       mlir::OpFoldResult rhs);
/// The difference, likewise.
mlir::OpFoldResult subtract(Builder &b, mlir::OpFoldResult lhs,
                            mlir::OpFoldResult rhs);

/// The product, likewise.
mlir::OpFoldResult multiply(Builder &b, mlir::OpFoldResult lhs,
                            mlir::OpFoldResult rhs);
/// What a tensor's number of elements is a multiple of that of all `sizes` but
/// number `unknown` by; null if that is not known.
mlir::OpFoldResult findRest(Builder &b, mlir::Value tensor,
                            llvm::ArrayRef<mlir::OpFoldResult> sizes,
                            std::size_t unknown);

mlir::Value createEmpty(Builder &b, llvm::ArrayRef<mlir::OpFoldResult> sizes,
                        mlir::Type elementType);
/// A tensor of one number, which is a constant.
mlir::Value createFilled(Builder &b, llvm::ArrayRef<mlir::OpFoldResult> sizes,
                         mlir::TypedAttr number);

mlir::Value expand(Builder &b, mlir::Value tensor, Groups groups,
                   llvm::ArrayRef<mlir::OpFoldResult> sizes);
mlir::Value collapse(Builder &b, mlir::Value tensor, Groups groups);
/// The same elements in other sizes. Null if a group of dimensions would have
/// to become several sizes that are dynamic. `from` are the tensor's sizes, if
/// there is a better way to say them.
mlir::Value reshape(Builder &b, mlir::Value tensor,
                    llvm::ArrayRef<mlir::OpFoldResult> sizes,
                    llvm::ArrayRef<mlir::OpFoldResult> from = {});
/// Dimension `i` of the result is dimension `permutation[i]` of the tensor.
mlir::Value transpose(Builder &b, mlir::Value tensor,
                      llvm::ArrayRef<std::int64_t> permutation);
mlir::Value concatenate(Builder &b, std::int64_t dim,
                        llvm::ArrayRef<mlir::Value> tensors);

/// `(B, S, H * D)` to `(B, H, S, D)`, and back.
mlir::Value splitHeads(Builder &b, mlir::Value tensor, std::int64_t heads);
mlir::Value mergeHeads(Builder &b, mlir::Value tensor);

/// The type that a float is computed in: f32, or f64 of f64.
mlir::FloatType getAccumulationType(mlir::FloatType type);
/// A float, or a tensor of floats element by element, in another float type.
mlir::Value convertFloat(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value value, mlir::Type type);
mlir::Value convertFloats(Builder &b, mlir::Value tensor, mlir::Type type);

/// The sizes that tensors broadcast to, as NumPy has it; none where static ones
/// contradict. Of two dynamic sizes both are to be equal, which is checked
/// where elements are computed.
std::optional<Sizes> broadcastSizes(Builder &b,
                                    llvm::ArrayRef<mlir::Value> tensors);

/// Computes the element of a result from those of tensors at one place.
using ElementFunction = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
/// A tensor of `sizes`, element by element of tensors that broadcast to them.
mlir::Value computeElements(Builder &b, llvm::ArrayRef<mlir::Value> tensors,
                            llvm::ArrayRef<mlir::OpFoldResult> sizes,
                            mlir::Type elementType, ElementFunction compute);

/// The sum over some dimensions, which become 1, of elements in `type`.
mlir::Value sumElements(Builder &b, mlir::Value tensor, std::int64_t firstDim,
                        mlir::FloatType type, ElementFunction compute);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_TENSORS_H
