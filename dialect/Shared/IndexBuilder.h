//===- IndexBuilder.h - Code on indices, slices and loops -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_INDEXBUILDER_H
#define ATTN_DIALECT_SHARED_INDEXBUILDER_H

#include "dialect/Shared/CreateGeneric.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Emits arithmetic of indices, which folds, and of floats, slices of tensors,
/// and loops and branches, whose bodies are built through the builder itself.
/// Division is that of numbers from 0 on.
class IndexBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// An operand: a value, a number or either.
  struct Operand {
    Operand(Value value) : either(value) {}
    Operand(OpFoldResult either) : either(either) {}
    Operand(int64_t number) : number(number) {}
    OpFoldResult either;
    std::optional<int64_t> number;
  };

  /// A box of a tensor: where it begins and how large it is, in each dimension.
  struct Box {
    SmallVector<Operand> offsets, sizes;
  };

  Value index(Operand x) {
    if (x.number)
      return arith::ConstantIndexOp::create(*this, *x.number);
    return getValueOrCreateConstantIndexOp(*this, getLoc(), x.either);
  }
  SmallVector<Value> indices(ArrayRef<OpFoldResult> numbers) {
    return getValueOrCreateConstantIndexOp(*this, getLoc(), numbers);
  }
  SmallVector<OpFoldResult> fold(ArrayRef<Operand> numbers) {
    return llvm::map_to_vector(numbers, [&](const Operand &x) -> OpFoldResult {
      return x.number ? getIndexAttr(*x.number) : x.either;
    });
  }
  template <typename Op> Value emit(Operand x, Operand y) {
    Value lhs = index(x);
    return createOrFold<Op>(lhs, index(y));
  }
  Value add(Operand x, Operand y) { return emit<arith::AddIOp>(x, y); }
  Value sub(Operand x, Operand y) { return emit<arith::SubIOp>(x, y); }
  Value mul(Operand x, Operand y) { return emit<arith::MulIOp>(x, y); }
  Value div(Operand x, Operand y) { return emit<arith::DivUIOp>(x, y); }
  Value rem(Operand x, Operand y) { return emit<arith::RemUIOp>(x, y); }
  Value min(Operand x, Operand y) { return emit<arith::MinSIOp>(x, y); }
  Value max(Operand x, Operand y) { return emit<arith::MaxSIOp>(x, y); }
  Value ceilDiv(Operand x, Operand y) { return emit<arith::CeilDivUIOp>(x, y); }
  Value bitAnd(Value x, Value y) { return createOrFold<arith::AndIOp>(x, y); }
  Value bitOr(Value x, Value y) { return createOrFold<arith::OrIOp>(x, y); }
  Value compare(arith::CmpIPredicate predicate, Operand x, Operand y) {
    Value lhs = index(x);
    return createOrFold<arith::CmpIOp>(predicate, lhs, index(y));
  }
  Value isEqual(Operand x, Operand y) {
    return compare(arith::CmpIPredicate::eq, x, y);
  }
  Value isLess(Operand x, Operand y) {
    return compare(arith::CmpIPredicate::slt, x, y);
  }
  Value isAtMost(Operand x, Operand y) {
    return compare(arith::CmpIPredicate::sle, x, y);
  }
  Value select(Value condition, Operand x, Operand y) {
    Value yes = index(x);
    return createOrFold<arith::SelectOp>(condition, yes, index(y));
  }

  /// An expression of symbols, which `operands` are.
  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineApply(
        *this, getLoc(), AffineMap::get(0, operands.size(), expr), operands);
  }
  /// The least of some.
  OpFoldResult minimum(ArrayRef<AffineExpr> exprs,
                       ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineMin(
        *this, getLoc(),
        AffineMap::get(0, operands.size(), exprs, getContext()), operands);
  }

  // Of floats, or vectors of these.
  Value addF(Value x, Value y) { return arith::AddFOp::create(*this, x, y); }
  Value subF(Value x, Value y) { return arith::SubFOp::create(*this, x, y); }
  Value mulF(Value x, Value y) { return arith::MulFOp::create(*this, x, y); }
  Value divF(Value x, Value y) { return arith::DivFOp::create(*this, x, y); }
  Value maximumF(Value x, Value y) {
    return arith::MaximumFOp::create(*this, x, y);
  }
  Value isEqualF(Value x, Value y) {
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x, y);
  }
  Value exp(Value x) { return math::ExpOp::create(*this, x); }
  Value log(Value x) { return math::LogOp::create(*this, x); }

  /// An element of a tensor, the same of a tensor of integers as an index, and
  /// a tensor with an element replaced.
  Value load(Value tensor, ValueRange at) {
    return tensor::ExtractOp::create(*this, tensor, at);
  }
  Value loadIndex(Value tensor, ValueRange at) {
    return toIndex(load(tensor, at));
  }
  Value store(Value element, Value tensor, ValueRange at) {
    return tensor::InsertOp::create(*this, element, tensor, at);
  }
  /// An integer of any type.
  Value toIndex(Value integer) {
    if (integer.getType().isIndex())
      return integer;
    return createOrFold<arith::IndexCastOp>(getIndexType(), integer);
  }
  /// The number of an iteration of a linalg operation, in its body.
  Value iteration(int64_t dim) { return linalg::IndexOp::create(*this, dim); }

  OpFoldResult size(Value tensor, int64_t dim) {
    return tensor::getMixedSize(*this, getLoc(), tensor, dim);
  }
  Value dim(Value tensor, int64_t dim) { return index(size(tensor, dim)); }
  SmallVector<OpFoldResult> sizes(Value tensor) {
    return tensor::getMixedSizes(*this, getLoc(), tensor);
  }
  Value slice(Value tensor, ArrayRef<OpFoldResult> offsets,
              ArrayRef<OpFoldResult> sizes) {
    return tensor::ExtractSliceOp::create(*this, tensor, offsets, sizes,
                                          ones(offsets.size()));
  }
  /// The same, with the sizes `kept` of those alone.
  Value slice(Value tensor, ArrayRef<OpFoldResult> offsets,
              ArrayRef<OpFoldResult> sizes, ArrayRef<OpFoldResult> kept) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(kept, dynamic, shape);
    auto type = RankedTensorType::get(shape, getElementTypeOrSelf(tensor));
    return tensor::ExtractSliceOp::create(*this, type, tensor, offsets, sizes,
                                          ones(offsets.size()));
  }
  /// With the last `rank` of them.
  Value slice(Value tensor, ArrayRef<OpFoldResult> offsets,
              ArrayRef<OpFoldResult> sizes, int64_t rank) {
    return slice(tensor, offsets, sizes, sizes.take_back(rank));
  }
  Value extract(Value tensor, const Box &box) {
    return slice(tensor, fold(box.offsets), fold(box.sizes));
  }
  /// A box without its first dimensions of size 1, so that `rank` are left.
  Value extract(Value tensor, const Box &box, unsigned rank) {
    SmallVector<OpFoldResult> sizes = fold(box.sizes);
    auto type = tensor::ExtractSliceOp::inferCanonicalRankReducedResultType(
        rank, cast<RankedTensorType>(tensor.getType()), sizes);
    return tensor::ExtractSliceOp::create(
        *this, type, tensor, fold(box.offsets), sizes, ones(sizes.size()));
  }
  Value insert(Value source, Value tensor, ArrayRef<OpFoldResult> offsets,
               ArrayRef<OpFoldResult> sizes) {
    return tensor::InsertSliceOp::create(*this, source, tensor, offsets, sizes,
                                         ones(offsets.size()));
  }
  Value insert(Value source, Value tensor, const Box &box) {
    return insert(source, tensor, fold(box.offsets), fold(box.sizes));
  }
  /// Goes on inside of a parallel loop over indices below `ends`, whose
  /// iterations insert into `outs`.
  scf::ForallOp enterForall(ArrayRef<OpFoldResult> ends, ValueRange outs,
                            ArrayRef<OpFoldResult> steps = {}) {
    SmallVector<OpFoldResult> by(steps);
    if (by.empty())
      by = ones(ends.size());
    auto loop = scf::ForallOp::create(*this, zeros(ends.size()), ends, by, outs,
                                      /*mapping=*/std::nullopt);
    setInsertionPointToStart(loop.getBody());
    return loop;
  }
  /// Ends an iteration of `loop` with a box of its results.
  void insertInParallel(scf::ForallOp loop, Value source, Value tensor,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes) {
    InsertionGuard guard(*this);
    setInsertionPointToEnd(loop.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(*this, source, tensor, offsets, sizes,
                                          ones(offsets.size()));
  }
  void insertInParallel(scf::ForallOp loop, Value source, Value tensor,
                        const Box &box) {
    insertInParallel(loop, source, tensor, fold(box.offsets), fold(box.sizes));
  }
  Value empty(ArrayRef<OpFoldResult> sizes, Type element) {
    return tensor::EmptyOp::create(*this, sizes, element);
  }
  Value empty(ArrayRef<int64_t> shape, Type element) {
    return tensor::EmptyOp::create(*this, shape, element);
  }
  Value empty(std::initializer_list<Operand> sizes, Type element) {
    return empty(ArrayRef<OpFoldResult>(fold(sizes)), element);
  }
  Value emptyLike(Value tensor, Type element = {}) {
    return empty(sizes(tensor),
                 element ? element : getElementTypeOrSelf(tensor));
  }
  Value fill(Value tensor, Value element) {
    return linalg::FillOp::create(*this, element, tensor).getResult(0);
  }
  Value fill(Value tensor, double element) {
    return fill(tensor, real(getElementTypeOrSelf(tensor), element));
  }
  Value fillWithZero(Value tensor) {
    return fill(tensor, zero(getElementTypeOrSelf(tensor)));
  }
  /// See `createGeneric`.
  Value generic(ValueRange inputs, Value init, ArrayRef<AffineMap> maps,
                ElementBody body) {
    return createGeneric(*this, getLoc(), inputs, init, maps, body);
  }
  Value generic(ValueRange inputs, Value init,
                ArrayRef<ArrayRef<AffineExpr>> indices, ElementBody body) {
    return createGeneric(*this, getLoc(), inputs, init, indices, body);
  }
  Value transpose(Value tensor, Value into, ArrayRef<int64_t> permutation) {
    return linalg::TransposeOp::create(*this, tensor, into, permutation)
        ->getResult(0);
  }
  SmallVector<OpFoldResult> ones(size_t count) {
    return SmallVector<OpFoldResult>(count, getIndexAttr(1));
  }
  SmallVector<OpFoldResult> zeros(size_t count) {
    return SmallVector<OpFoldResult>(count, getIndexAttr(0));
  }

  Value boolean(bool value) {
    return arith::ConstantOp::create(*this, getBoolAttr(value));
  }
  Value real(Type type, double value) {
    return arith::ConstantOp::create(*this, getFloatAttr(type, value));
  }
  Value zero(Type type) {
    return arith::ConstantOp::create(*this, getZeroAttr(type));
  }
  /// A float or signed integer as one of `type`, which may be its own.
  Value convert(Value number, Type type) {
    return convertScalarToDtype(*this, getLoc(), number, type,
                                /*isUnsignedCast=*/false);
  }

  /// `for i in [low, high) step` that carries `initial` along.
  SmallVector<Value>
  loop(Operand low, Operand high, Operand step, ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    Value first = index(low), end = index(high);
    // Not by a body builder, whose region is not yet in the function: what
    // is a symbol there would be a dimension.
    auto loop = scf::ForOp::create(*this, first, end, index(step), initial);
    InsertionGuard guard(*this);
    setInsertionPointToStart(loop.getBody());
    SmallVector<Value> carried =
        body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (initial.empty())
      return {}; // It ends already.
    scf::YieldOp::create(*this, carried);
    return SmallVector<Value>(loop.getResults());
  }
  Value loop(Operand low, Operand high, Operand step, Value initial,
             function_ref<Value(Value, Value)> body) {
    return loop(low, high, step, ValueRange(initial),
                [&](Value i, ValueRange carried) -> SmallVector<Value> {
                  return {body(i, carried.front())};
                })
        .front();
  }
  void loop(Operand low, Operand high, Operand step,
            function_ref<void(Value)> body) {
    loop(low, high, step, ValueRange(),
         [&](Value i, ValueRange) -> SmallVector<Value> {
           body(i);
           return {};
         });
  }
  /// The last of `count` ascending numbers of which `isReached`, by bisection;
  /// 0 if there is none.
  Value findLast(Operand count, function_ref<Value(Value)> isReached) {
    SmallVector<Type> types(2, getIndexType());
    SmallVector<Location> locations(2, getLoc());
    auto loop =
        scf::WhileOp::create(*this, types, ValueRange{index(0), index(count)});
    InsertionGuard guard(*this);
    Block *before = createBlock(&loop.getBefore(), {}, types, locations);
    Value low = before->getArgument(0), high = before->getArgument(1);
    Value isOpen = compare(arith::CmpIPredicate::ult, add(low, 1), high);
    scf::ConditionOp::create(*this, isOpen, ValueRange{low, high});
    Block *after = createBlock(&loop.getAfter(), {}, types, locations);
    low = after->getArgument(0);
    high = after->getArgument(1);
    Value middle = div(add(low, high), 2), isLow = isReached(middle);
    scf::YieldOp::create(*this, ValueRange{select(isLow, middle, low),
                                           select(isLow, high, middle)});
    return loop.getResult(0);
  }
  /// Goes on inside of `for i in [low, high) step`; returns its `i`.
  Value enterLoop(Operand low, Operand high, Operand step) {
    Value first = index(low), end = index(high);
    auto loop = scf::ForOp::create(*this, first, end, index(step));
    setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }
  /// What one of two bodies emits, each in its branch. Types of results come
  /// from bodies, which are built before they are in the function.
  SmallVector<Value> choose(Value condition,
                            function_ref<SmallVector<Value>()> yes,
                            function_ref<SmallVector<Value>()> no) {
    auto choice = scf::IfOp::create(
        *this, condition,
        [&](OpBuilder &, Location) { scf::YieldOp::create(*this, yes()); },
        [&](OpBuilder &, Location) { scf::YieldOp::create(*this, no()); });
    return SmallVector<Value>(choice.getResults());
  }
  Value choose(Value condition, function_ref<Value()> yes,
               function_ref<Value()> no) {
    return choose(
               condition, [&]() -> SmallVector<Value> { return {yes()}; },
               [&]() -> SmallVector<Value> { return {no()}; })
        .front();
  }
  void when(Value condition, function_ref<void()> body) {
    auto choice = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
    InsertionGuard guard(*this);
    setInsertionPointToStart(choice.thenBlock());
    body();
  }
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_INDEXBUILDER_H
