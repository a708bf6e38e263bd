//===- StageCode.cpp - Convolutions and mixing of heads -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/StageCode.h"
#include "lib/Online/OnlineInPairs.h"

using namespace mlir;
using namespace mlir::attn;

static bool mixes(Value kernel) {
  return cast<ShapedType>(kernel.getType()).getRank() == 4;
}

StageCode::Stages StageCode::convertElements(Stages stages, Type type) {
  for (Value *operand : {&stages.kernel, &stages.mixing})
    if (*operand)
      *operand = TensorCode::convertElements(*operand, type);
  return stages;
}

Value StageCode::emitQueryHalo(Stages stages, Value rows) {
  // T4: what is outside counts as 0. Rows of the kernel that reach no further
  // than there are left out.
  return minU(rows, stages.getQueryHalo());
}

Value StageCode::emitPadded(Stages stages, Value strip, Value queries,
                            Number before) {
  int64_t keys = stages.getKeyHalo();
  OpFoldResult heads = size(strip, 0);
  Value rows = dim(strip, 1), numKeys = dim(strip, 2);
  Value padded = fill(empty({heads, add(rows, queries), add(numKeys, 2 * keys)},
                            getElementTypeOrSelf(strip)),
                      0.0);
  return insert(strip, padded, {{0, before, keys}, {heads, rows, numKeys}});
}

Box StageCode::getRows(Stages stages, Number first, Value count) {
  auto sizes = llvm::to_vector_of<Number>(this->sizes(stages.kernel));
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
    bindDims(getContext(), h, r, j, a, c);
    return multiplyAdd({{h, r + a, j + c}, {h, a, c}, {h, r, j}},
                       {padded, kernel}, result);
  }
  AffineExpr g, o, r, j, e, a, c;
  bindDims(getContext(), g, o, r, j, e, a, c);
  int64_t mixed = stages.getNumMixedHeads();
  return join(multiplyAdd({{g, e, r + a, j + c}, {g, o, e, a, c}, {g, o, r, j}},
                          {split(padded, mixed), split(kernel, mixed)},
                          split(result, mixed)));
}

Value StageCode::emitConvolution(Stages stages, Value strip) {
  Value queries = emitQueryHalo(stages, dim(strip, 1));
  Box last =
      getRows(stages, sub(stages.getQueryHalo(), queries), add(queries, 1));
  return convolve(stages, emitPadded(stages, strip, queries, queries),
                  extract(stages.kernel, last), zerosLike(strip));
}

Value StageCode::emitMixing(Stages stages, Value strip) {
  AffineExpr g, o, r, j, e;
  bindDims(getContext(), g, o, r, j, e);
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
        return store(load(tensor, from(at)), result, at);
      }
      return loop(0, type.getDimSize(unsigned(dim)), result,
                  [&](Value i, Value result) {
                    at.push_back(i);
                    result = visit(visit, result);
                    at.pop_back();
                    return result;
                  });
    };
    return visit(visit, emptyLike(tensor));
  };
  Stages result;
  if (Value kernel = stages.kernel) {
    int64_t mixed = mixes(kernel) ? stages.getNumMixedHeads() : 1;
    result.kernel = rearrange(kernel, [&](ValueRange at) {
      SmallVector<Value> from(at);
      if (mixes(kernel)) {
        Value place = rem(at[0], mixed);
        from[0] = add(sub(at[0], place), at[1]);
        from[1] = place;
      }
      size_t queries = from.size() - 2;
      from[queries] = sub(stages.getQueryHalo(), at[queries]);
      from[queries + 1] = sub(2 * stages.getKeyHalo(), at[queries + 1]);
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
  Box last =
      getRows(stages, sub(stages.getQueryHalo(), queries), add(queries, 1));
  Value part = extract(sums, last);
  if (!mixes(stages.kernel)) {
    AffineExpr h, a, c, r, j;
    bindDims(getContext(), h, a, c, r, j);
    part = multiplyAdd({{h, r + a, j + c}, {h, r, j}, {h, a, c}},
                       {padded, gradient}, part);
  } else {
    AffineExpr g, o, e, a, c, r, j;
    bindDims(getContext(), g, o, e, a, c, r, j);
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
  bindDims(getContext(), g, e, o, r, j);
  int64_t mixed = stages.getNumMixedHeads();
  return multiplyAdd({{g, e, r, j}, {g, o, r, j}, {g, e, o}},
                     {split(strip, mixed), split(gradient, mixed)}, sums);
}

//===----------------------------------------------------------------------===//
// Heads and groups
//===----------------------------------------------------------------------===//

Value StageCode::split(Value tensor, int64_t mixed) {
  return expandDim(*this, tensor, /*dim=*/0, mixed);
}

Value StageCode::join(Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t dim = 2; dim < rank; ++dim)
    groups.push_back({dim});
  return tensor::CollapseShapeOp::create(*this, tensor, groups);
}

Value StageCode::zerosLike(Value strip) { return fill(emptyLike(strip), 0.0); }
