//===- GradientBuilder.h - Emits tensors of gradients -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_GRADIENTBUILDER_H
#define ATTN_GRADIENT_GRADIENTBUILDER_H

#include "dialect/Shared/IndexBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// A box of a tensor.
struct TensorBox {
  SmallVector<OpFoldResult> offsets, sizes;
};

/// Bodies are built through the builder itself.
struct GradientBuilder : IndexBuilder {
  using IndexBuilder::IndexBuilder;

  static FloatType elementOf(Value tensor) {
    return cast<FloatType>(cast<ShapedType>(tensor.getType()).getElementType());
  }

  /// An elementwise operation, whose result's map is the identity, as the maps
  /// of inputs are if they are not given.
  Value map(ValueRange inputs, Value init, function_ref<Value(ValueRange)> body,
            ArrayRef<AffineMap> inputMaps = {}) {
    AffineMap identity = getMultiDimIdentityMap(
        unsigned(cast<ShapedType>(init.getType()).getRank()));
    SmallVector<AffineMap> maps(inputMaps);
    maps.resize(inputs.size(), identity);
    maps.push_back(identity);
    return generic(inputs, init, maps, body);
  }
  /// The sums over the first dimension, in its order, and of `init`.
  Value sumParts(Value parts, Value init) {
    AffineMap all = getMultiDimIdentityMap(
        unsigned(cast<ShapedType>(parts.getType()).getRank()));
    return generic({parts}, init, {all, all.dropResult(0)},
                   [&](ValueRange args) { return addF(args[1], args[0]); });
  }
  /// In the element type `to`, in the place of `init` if given.
  Value convertAll(Value tensor, Type to, Value init = {}) {
    if (elementOf(tensor) == to)
      return tensor;
    return map({tensor}, init ? init : emptyLike(tensor, to),
               [&](ValueRange args) { return convert(args[0], to); });
  }
  Value transpose(Value tensor, ArrayRef<int64_t> permutation) {
    SmallVector<OpFoldResult> permuted;
    SmallVector<OpFoldResult> from = sizes(tensor);
    for (int64_t dim : permutation)
      permuted.push_back(from[size_t(dim)]);
    return linalg::TransposeOp::create(
               *this, tensor, empty(permuted, elementOf(tensor)), permutation)
        ->getResult(0);
  }

  Value slice(Value tensor, const TensorBox &box) {
    return IndexBuilder::slice(tensor, box.offsets, box.sizes);
  }
  using IndexBuilder::slice;

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  /// `then` where the condition holds, else `otherwise`, whose types are known
  /// before.
  SmallVector<Value> branch(Value condition, ValueRange otherwise,
                            function_ref<SmallVector<Value>()> then) {
    auto ifOp = scf::IfOp::create(*this, TypeRange(otherwise), condition,
                                  /*withElseRegion=*/true);
    InsertionGuard guard(*this);
    setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(*this, then());
    setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(*this, otherwise);
    return ifOp.getResults();
  }
};

} // namespace mlir::attn

#endif // ATTN_GRADIENT_GRADIENTBUILDER_H
