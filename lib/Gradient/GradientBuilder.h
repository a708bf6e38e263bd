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

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  Value real(FloatType type, double value) {
    return arith::ConstantOp::create(*this, getFloatAttr(type, value));
  }
  Value boolean(bool value) {
    return arith::ConstantOp::create(*this, getBoolAttr(value));
  }
  /// A float rounded or extended to `type`.
  Value convert(Value number, Type to) {
    unsigned from = number.getType().getIntOrFloatBitWidth(),
             width = to.getIntOrFloatBitWidth();
    if (from == width)
      return number;
    if (from < width)
      return arith::ExtFOp::create(*this, to, number);
    return arith::TruncFOp::create(*this, to, number);
  }
  Value mulF(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value addF(Value x, Value y) { return arith::AddFOp::create(*this, x, y); }
  Value subF(Value x, Value y) { return arith::SubFOp::create(*this, x, y); }
  Value isEqualF(Value x, Value y) {
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x, y);
  }
  Value selectF(Value condition, Value x, Value y) {
    return arith::SelectOp::create(*this, condition, x, y);
  }

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  Value empty(ArrayRef<OpFoldResult> sizes, Type type) {
    return tensor::EmptyOp::create(*this, sizes, type);
  }
  Value empty(ArrayRef<int64_t> shape, Type type) {
    return tensor::EmptyOp::create(*this, shape, type);
  }
  Value emptyLike(Value tensor, Type element = {}) {
    return empty(sizes(tensor), element ? element : elementOf(tensor));
  }
  Value fill(Value tensor, Value value) {
    return linalg::FillOp::create(*this, value, tensor).getResult(0);
  }
  Value fill(Value tensor, double value) {
    return fill(tensor, real(elementOf(tensor), value));
  }

  /// A linalg.generic of one result; loops that no expression of the result
  /// has are reductions. The body gets all elements, the result's last.
  Value generic(ValueRange inputs, Value init, ArrayRef<AffineMap> maps,
                function_ref<Value(ValueRange)> body) {
    SmallVector<utils::IteratorType> loops(maps.front().getNumDims(),
                                           utils::IteratorType::reduction);
    for (AffineExpr expr : maps.back().getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        loops[dim.getPosition()] = utils::IteratorType::parallel;
    return linalg::GenericOp::create(
               *this, init.getType(), inputs, init, maps, loops,
               [&](OpBuilder &nested, Location, ValueRange args) {
                 InsertionGuard guard(*this);
                 setInsertionPoint(nested.getInsertionBlock(),
                                   nested.getInsertionPoint());
                 linalg::YieldOp::create(*this, body(args));
               })
        .getResult(0);
  }
  /// An elementwise one, whose result's map is the identity, as the maps of
  /// inputs are if they are not given.
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

  /// `for i in [begin, end) step` that carries `initial` along.
  SmallVector<Value>
  loop(Operand begin, Operand end, int64_t step, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    Value first = index(begin), last = index(end);
    auto forOp = scf::ForOp::create(*this, first, last, index(step), initial);
    InsertionGuard guard(*this);
    setInsertionPointToStart(forOp.getBody());
    scf::YieldOp::create(
        *this, body(forOp.getInductionVar(), forOp.getRegionIterArgs()));
    return forOp.getResults();
  }
  /// `then` where the condition holds, else `otherwise`.
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
