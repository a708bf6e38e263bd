//===- StageCode.cpp - Convolutions and mixing of heads -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/StageCode.h"
#include "lib/Online/OnlineInPairs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

static bool mixes(Value kernel) {
  return cast<ShapedType>(kernel.getType()).getRank() == 4;
}

Value StageCode::emitQueryHalo(Stages stages, Value rows) {
  // T4: what is outside counts as 0. Rows of the kernel that reach no further
  // than there are left out.
  return arith::MinUIOp::create(b, loc, rows, index(stages.getQueryHalo()));
}

Value StageCode::emitPadded(Stages stages, Value strip, Value queries,
                            Number before) {
  auto type = cast<RankedTensorType>(strip.getType());
  int64_t keys = stages.getKeyHalo();
  int64_t heads = type.getDimSize(0);
  Value rows = dim(strip, 1), numKeys = dim(strip, 2);
  Value padded = fill(empty({heads, add(rows, queries), add(numKeys, 2 * keys)},
                            type.getElementType()),
                      0.0);
  return insert(strip, padded, {{0, before, keys}, {heads, rows, numKeys}});
}

Box StageCode::getRows(Stages stages, Number first, Value count) {
  auto sizes =
      llvm::to_vector_of<Number>(tensor::getMixedSizes(b, loc, stages.kernel));
  SmallVector<Number> offsets(sizes.size(), 0);
  std::size_t queries = sizes.size() - 2;
  offsets[queries] = first;
  sizes[queries] = count;
  return {offsets, sizes};
}

Value StageCode::convolve(Stages stages, Value padded, Value kernel,
                          Value result) {
  if (!mixes(stages.kernel)) {
    AffineExpr h, r, j, a, c;
    bindDims(b.getContext(), h, r, j, a, c);
    return multiplyAdd({{h, r + a, j + c}, {h, a, c}, {h, r, j}},
                       {padded, kernel}, result);
  }
  AffineExpr g, o, r, j, e, a, c;
  bindDims(b.getContext(), g, o, r, j, e, a, c);
  int64_t mixed = stages.getNumMixedHeads();
  return join(multiplyAdd({{g, e, r + a, j + c}, {g, o, e, a, c}, {g, o, r, j}},
                          {split(padded, mixed), split(kernel, mixed)},
                          split(result, mixed)));
}

Value StageCode::emitConvolution(Stages stages, Value strip) {
  Value queries = emitQueryHalo(stages, dim(strip, 1));
  Box last = getRows(stages, subtract(index(stages.getQueryHalo()), queries),
                     add(queries, 1));
  return convolve(stages, emitPadded(stages, strip, queries, queries),
                  extract(stages.kernel, last), zerosLike(strip));
}

Value StageCode::emitMixing(Stages stages, Value strip) {
  AffineExpr g, o, r, j, e;
  bindDims(b.getContext(), g, o, r, j, e);
  int64_t mixed = stages.getNumMixedHeads();
  return join(multiplyAdd({{g, e, r, j}, {g, e, o}, {g, o, r, j}},
                          {split(strip, mixed), stages.mixing},
                          split(zerosLike(strip), mixed)));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

StageCode::Stages StageCode::transpose(Stages stages) {
  // Of each element, that of `tensor` at the indices that `from` gives.
  auto rearrange = [&](Value tensor,
                       function_ref<SmallVector<Value>(ValueRange)> from) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<Value> at;
    auto visit = [&](auto &&visit, Value result) -> Value {
      auto dim = int64_t(at.size());
      if (dim == type.getRank()) {
        Value element = tensor::ExtractOp::create(b, loc, tensor, from(at));
        return tensor::InsertOp::create(b, loc, element, result, at);
      }
      return loop(index(0), index(type.getDimSize(unsigned(dim))), result,
                  [&](Value i, Value result) {
                    at.push_back(i);
                    result = visit(visit, result);
                    at.pop_back();
                    return result;
                  });
    };
    return visit(visit, emptyLike(tensor, type.getElementType()));
  };
  Stages result;
  if (Value kernel = stages.kernel) {
    int64_t mixed = mixes(kernel) ? stages.getNumMixedHeads() : 1;
    result.kernel = rearrange(kernel, [&](ValueRange at) {
      SmallVector<Value> from(at);
      if (mixes(kernel)) {
        Value place =
            arith::RemUIOp::create(b, loc, at[0], index(mixed)).getResult();
        from[0] = add(subtract(at[0], place), at[1]);
        from[1] = place;
      }
      size_t queries = from.size() - 2;
      from[queries] = subtract(index(stages.getQueryHalo()), at[queries]);
      from[queries + 1] =
          subtract(index(2 * stages.getKeyHalo()), at[queries + 1]);
      return from;
    });
  }
  if (stages.mixing)
    result.mixing = rearrange(stages.mixing, [&](ValueRange at) {
      return SmallVector<Value>{at[0], at[2], at[1]};
    });
  return result;
}

Value StageCode::emitTransposedConvolution(Stages transposed, Value gradient) {
  // A row is read by itself and those after it.
  Value queries = emitQueryHalo(transposed, dim(gradient, 1));
  Box first = getRows(transposed, 0, add(queries, 1));
  return convolve(transposed, emitPadded(transposed, gradient, queries, 0),
                  extract(transposed.kernel, first), zerosLike(gradient));
}

Value StageCode::addToKernel(Stages stages, Value strip, Value gradient,
                             Value sums) {
  Value queries = emitQueryHalo(stages, dim(strip, 1));
  Value padded = emitPadded(stages, strip, queries, queries);
  Box last = getRows(stages, subtract(index(stages.getQueryHalo()), queries),
                     add(queries, 1));
  Value part = extract(sums, last);
  if (!mixes(stages.kernel)) {
    AffineExpr h, a, c, r, j;
    bindDims(b.getContext(), h, a, c, r, j);
    part = multiplyAdd({{h, r + a, j + c}, {h, r, j}, {h, a, c}},
                       {padded, gradient}, part);
  } else {
    AffineExpr g, o, e, a, c, r, j;
    bindDims(b.getContext(), g, o, e, a, c, r, j);
    int64_t mixed = stages.getNumMixedHeads();
    part = join(multiplyAdd(
        {{g, e, r + a, j + c}, {g, o, r, j}, {g, o, e, a, c}},
        {split(padded, mixed), split(gradient, mixed)}, split(part, mixed)));
  }
  return insert(part, sums, last);
}

Value StageCode::addToMixing(Stages stages, Value strip, Value gradient,
                             Value sums) {
  AffineExpr g, e, o, r, j;
  bindDims(b.getContext(), g, e, o, r, j);
  int64_t mixed = stages.getNumMixedHeads();
  return multiplyAdd({{g, e, r, j}, {g, o, r, j}, {g, e, o}},
                     {split(strip, mixed), split(gradient, mixed)}, sums);
}

//===----------------------------------------------------------------------===//
// Heads and groups
//===----------------------------------------------------------------------===//

Value StageCode::split(Value tensor, int64_t mixed) {
  IndexBuilder builder(loc, b);
  return expandDim(builder, tensor, /*dim=*/0, mixed);
}

Value StageCode::join(Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  return tensor::CollapseShapeOp::create(b, loc, tensor, getHeadDims(rank));
}

SmallVector<ReassociationIndices> StageCode::getHeadDims(int64_t rank) {
  SmallVector<ReassociationIndices> result = {{0, 1}};
  for (int64_t dim = 2; dim < rank; ++dim)
    result.push_back({dim});
  return result;
}

Value StageCode::zerosLike(Value strip) {
  return fill(
      emptyLike(strip,
                cast<RankedTensorType>(strip.getType()).getElementType()),
      0.0);
}
