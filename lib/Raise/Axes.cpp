//===- Axes.cpp - What dimensions are made of -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Raise/Axes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

AxisList Axes::add(RankedTensorType type, int64_t dim) {
  int64_t size = type.getDimSize(dim);
  if (size == 1)
    return {};
  axes.push_back({size});
  return {Axis(axes.size() - 1)};
}

AxisList Axes::resolve(const AxisList &list) const {
  AxisList resolved;
  for (Axis axis : list)
    if (axes[axis].parts.empty())
      resolved.push_back(axis);
    else
      llvm::append_range(resolved, resolve(axes[axis].parts));
  return resolved;
}

AxisLists Axes::resolve(const AxisLists &lists) const {
  return llvm::map_to_vector<4>(
      lists, [&](const AxisList &list) { return resolve(list); });
}

bool Axes::isEqual(const AxisList &a, const AxisList &b) const {
  return resolve(a) == resolve(b);
}

bool Axes::isEqual(const AxisLists &a, const AxisLists &b) const {
  return resolve(a) == resolve(b);
}

/// Splits an axis into an outer and an inner one, of which one has the given
/// size. Fails if its own is no multiple of that.
bool Axes::splitAxis(Axis axis, int64_t size, bool isInner) {
  int64_t whole = axes[axis].size, rest = ShapedType::kDynamic;
  if (!ShapedType::isDynamic(whole)) {
    if (whole % size != 0)
      return false;
    rest = whole / size;
  }
  auto outer = Axis(axes.size());
  axes.push_back({isInner ? rest : size});
  axes.push_back({isInner ? size : rest});
  axes[axis].parts = {outer, outer + 1};
  return true;
}

bool Axes::take(AxisList &from, int64_t size, bool isInner, AxisList &taken) {
  while (size != 1) {
    if (from.empty())
      return false;
    Axis next = isInner ? from.back() : from.front();
    int64_t count = axes[next].size;
    if (size == 0 || count == 0)
      return false;
    // Of two axes, it need not be the dynamic one that is a multiple.
    if (ShapedType::isDynamic(count) && from.size() > 1)
      return false;
    if (ShapedType::isDynamic(count) || count > size) {
      if (!splitAxis(next, size, isInner))
        return false;
      from = resolve(from);
      continue;
    }
    if (size % count != 0)
      return false;
    size /= count;
    taken.insert(isInner ? taken.begin() : taken.end(), next);
    from.erase(isInner ? from.end() - 1 : from.begin());
  }
  return true;
}

std::optional<AxisLists> Axes::split(const AxisList &list,
                                     RankedTensorType type,
                                     ArrayRef<int64_t> dims) {
  AxisList rest = resolve(list);
  AxisLists taken(dims.size());
  size_t begin = 0, end = dims.size();
  for (; end > 0 && !type.isDynamicDim(dims[end - 1]); --end)
    if (!take(rest, type.getDimSize(dims[end - 1]), /*isInner=*/true,
              taken[end - 1]))
      return std::nullopt;
  for (; begin < end && !type.isDynamicDim(dims[begin]); ++begin)
    if (!take(rest, type.getDimSize(dims[begin]), /*isInner=*/false,
              taken[begin]))
      return std::nullopt;
  // Of two that are dynamic it is not known how many indices are whose.
  if (end - begin > 1 || (begin == end && !rest.empty()))
    return std::nullopt;
  if (begin < end)
    taken[begin] = rest;
  return taken;
}

int64_t Axes::getSize(const AxisList &list) const {
  int64_t size = 1;
  for (Axis axis : resolve(list))
    if (ShapedType::isDynamic(axes[axis].size) ||
        llvm::MulOverflow(size, axes[axis].size, size))
      return ShapedType::kDynamic;
  return size;
}

void Axes::measure(Value tensor, const AxisLists &dims) {
  for (auto [dim, list] : llvm::enumerate(resolve(dims))) {
    AxisList dynamic, rest;
    for (Axis axis : list)
      (ShapedType::isDynamic(axes[axis].size) ? dynamic : rest).push_back(axis);
    int64_t divisor = getSize(rest);
    if (dynamic.size() != 1 || axes[dynamic[0]].tensor || divisor == 0 ||
        ShapedType::isDynamic(divisor))
      continue;
    axes[dynamic[0]].tensor = tensor;
    axes[dynamic[0]].dim = int64_t(dim);
    axes[dynamic[0]].divisor = divisor;
  }
}

bool Axes::isMeasured(const AxisList &list) const {
  return llvm::all_of(resolve(list), [&](Axis axis) {
    return !ShapedType::isDynamic(axes[axis].size) || axes[axis].tensor;
  });
}

OpFoldResult Axes::createSize(OpBuilder &builder, Location loc,
                              const AxisList &list) const {
  AffineExpr a = builder.getAffineSymbolExpr(0),
             b = builder.getAffineSymbolExpr(1);
  OpFoldResult product = builder.getIndexAttr(1);
  for (Axis axis : resolve(list)) {
    const Info &info = axes[axis];
    OpFoldResult size = builder.getIndexAttr(info.size);
    if (ShapedType::isDynamic(info.size))
      size = affine::makeComposedFoldedAffineApply(
          builder, loc, a.floorDiv(info.divisor),
          {tensor::getMixedSize(builder, loc, info.tensor, info.dim)});
    product = affine::makeComposedFoldedAffineApply(builder, loc, a * b,
                                                    {product, size});
  }
  return product;
}
