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
#include <string>

namespace attn::onnx {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::failed;
using mlir::failure;
using mlir::FailureOr;
using mlir::Location;
using mlir::LogicalResult;
using mlir::OpBuilder;
using mlir::OpFoldResult;
using mlir::RankedTensorType;
using mlir::success;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

using Builder = mlir::ImplicitLocOpBuilder;
using Sizes = SmallVector<OpFoldResult>;
/// Consecutive dimensions that become one, or that one becomes.
using Groups = ArrayRef<mlir::ReassociationIndices>;

inline RankedTensorType typeOf(Value tensor) {
  return llvm::cast<RankedTensorType>(tensor.getType());
}

inline bool isStatic(std::int64_t size) {
  return !mlir::ShapedType::isDynamic(size);
}

/// A size of a tensor: an attribute if it is static.
OpFoldResult sizeOf(Builder &b, Value tensor, std::int64_t dim);
Sizes sizesOf(Builder &b, Value tensor);

/// A size as an index.
Value toIndex(Builder &b, OpFoldResult size);
/// The sum, a constant where both are.
OpFoldResult add(Builder &b, OpFoldResult lhs, OpFoldResult rhs);
/// The difference, likewise.
OpFoldResult subtract(Builder &b, OpFoldResult lhs, OpFoldResult rhs);

/// The product, likewise.
OpFoldResult multiply(Builder &b, OpFoldResult lhs, OpFoldResult rhs);
/// What a tensor's number of elements is a multiple of that of all `sizes` but
/// number `unknown` by; null if that is not known.
OpFoldResult findRest(Builder &b, Value tensor, ArrayRef<OpFoldResult> sizes,
                      std::size_t unknown);

Value createEmpty(Builder &b, ArrayRef<OpFoldResult> sizes, Type elementType);
/// A tensor of one number, which is a constant.
Value createFilled(Builder &b, ArrayRef<OpFoldResult> sizes,
                   mlir::TypedAttr number);

Value expand(Builder &b, Value tensor, Groups groups,
             ArrayRef<OpFoldResult> sizes);
Value collapse(Builder &b, Value tensor, Groups groups);
/// The same elements in other sizes. Null if a group of dimensions would have
/// to become several sizes that are dynamic. `from` are the tensor's sizes, if
/// there is a better way to say them.
Value reshape(Builder &b, Value tensor, ArrayRef<OpFoldResult> sizes,
              ArrayRef<OpFoldResult> from = {});
/// The same where a group would become several dynamic sizes: copied, row by
/// row, with a remark, and an error of the call if the number of elements is
/// another. Both begin with `what`.
Value copyInShape(Builder &b, Value tensor, ArrayRef<OpFoldResult> sizes,
                  const std::string &what);
/// Dimension `i` of the result is dimension `permutation[i]` of the tensor.
Value transpose(Builder &b, Value tensor, ArrayRef<std::int64_t> permutation);
Value concatenate(Builder &b, std::int64_t dim, ArrayRef<Value> tensors);

/// `(B, S, H * D)` to `(B, H, S, D)`, and back.
Value splitHeads(Builder &b, Value tensor, std::int64_t heads);
Value mergeHeads(Builder &b, Value tensor);

/// The type that a float is computed in: f32, or f64 of f64.
mlir::FloatType getAccumulationType(mlir::FloatType type);
/// A float, or a tensor of floats element by element, in another float type.
Value convertFloat(OpBuilder &b, Location loc, Value value, Type type);
Value convertFloats(Builder &b, Value tensor, Type type);

/// The sizes that tensors broadcast to, as NumPy has it; none where static ones
/// contradict. Of two dynamic sizes both are to be equal, which is checked
/// where elements are computed.
std::optional<Sizes> broadcastSizes(Builder &b, ArrayRef<Value> tensors);

/// Where a tensor of `shape`, which broadcasts to `sizes`, is read by the loops
/// of these.
SmallVector<mlir::AffineExpr> broadcastIndices(Builder &b,
                                               ArrayRef<std::int64_t> shape,
                                               ArrayRef<OpFoldResult> sizes);

/// Computes the element of a result from those of tensors at one place.
using ElementFunction =
    llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;
/// A tensor of `sizes`, element by element of tensors that broadcast to them.
Value computeElements(Builder &b, ArrayRef<Value> tensors,
                      ArrayRef<OpFoldResult> sizes, Type elementType,
                      ElementFunction compute);

/// The sum over some dimensions, which become 1, of elements in `type`.
Value sumElements(Builder &b, Value tensor, std::int64_t firstDim,
                  mlir::FloatType type, ElementFunction compute);

/// Sums of products, in `type`, over the last loops: the first ones are those
/// of the result's sizes. Maps say what the loops read.
Value sumProducts(Builder &b, Value lhs, mlir::AffineMap lhsMap, Value rhs,
                  mlir::AffineMap rhsMap, ArrayRef<OpFoldResult> sizes,
                  mlir::FloatType type);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_TENSORS_H
