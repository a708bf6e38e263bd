//===- Tensors.cpp - Operations on tensors, by value ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/Tensors.h"

#include "dialect/AttnOps.h"
#include "dialect/Shared/CreateGeneric.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

#include <vector>

using namespace attn;
using namespace attn::onnx;

/// The tensor that has the same size in a dimension, and is computed before;
/// null if there is none. `dim` becomes its dimension.
static Value findSameSize(Value tensor, std::int64_t &dim) {
  mlir::Operation *op = tensor.getDefiningOp();
  if (auto writer =
          llvm::dyn_cast_or_null<mlir::DestinationStyleOpInterface>(op))
    return writer.getTiedOpOperand(llvm::cast<mlir::OpResult>(tensor))->get();
  if (auto cast = llvm::dyn_cast_or_null<mlir::tensor::CastOp>(op))
    return cast.getSource();
  if (auto concat = llvm::dyn_cast_or_null<mlir::tensor::ConcatOp>(op))
    return dim == std::int64_t(concat.getDim()) ? Value()
                                                : concat.getInputs().front();
  if (auto collapse =
          llvm::dyn_cast_or_null<mlir::tensor::CollapseShapeOp>(op)) {
    // The only one of the dimensions that become this one.
    RankedTensorType type = collapse.getSrcType();
    std::optional<std::int64_t> only;
    mlir::ReassociationIndices group =
        collapse.getReassociationIndices()[std::size_t(dim)];
    for (std::int64_t each : group) {
      if (type.getDimSize(unsigned(each)) == 1)
        continue;
      if (only)
        return {};
      only = each;
    }
    dim = *only;
    return collapse.getSrc();
  }
  return {};
}

OpFoldResult attn::onnx::sizeOf(Builder &b, Value tensor, std::int64_t dim) {
  // Sizes that are equal are to be the same value.
  while (typeOf(tensor).isDynamicDim(unsigned(dim))) {
    auto place = std::size_t(dim);
    mlir::Operation *op = tensor.getDefiningOp();
    if (auto empty = llvm::dyn_cast_or_null<mlir::tensor::EmptyOp>(op))
      return empty.getMixedSizes()[place];
    if (auto expand = llvm::dyn_cast_or_null<mlir::tensor::ExpandShapeOp>(op))
      return expand.getMixedOutputShape()[place];
    if (auto slice = llvm::dyn_cast_or_null<mlir::tensor::ExtractSliceOp>(op))
      return slice.getMixedSizes()[place];
    Value same = findSameSize(tensor, dim);
    if (!same)
      break;
    tensor = same;
  }
  return mlir::tensor::getMixedSize(b, b.getLoc(), tensor, dim);
}

Sizes attn::onnx::sizesOf(Builder &b, Value tensor) {
  Sizes sizes;
  for (std::int64_t dim = 0; dim < typeOf(tensor).getRank(); ++dim)
    sizes.push_back(sizeOf(b, tensor, dim));
  return sizes;
}

Value attn::onnx::toIndex(Builder &b, OpFoldResult size) {
  return mlir::getValueOrCreateConstantIndexOp(b, b.getLoc(), size);
}

OpFoldResult attn::onnx::add(Builder &b, OpFoldResult lhs, OpFoldResult rhs) {
  std::optional<std::int64_t> x = mlir::getConstantIntValue(lhs);
  std::optional<std::int64_t> y = mlir::getConstantIntValue(rhs);
  if (x && y)
    return b.getIndexAttr(*x + *y);
  return mlir::arith::AddIOp::create(b, toIndex(b, lhs), toIndex(b, rhs))
      .getResult();
}

OpFoldResult attn::onnx::subtract(Builder &b, OpFoldResult lhs,
                                  OpFoldResult rhs) {
  std::optional<std::int64_t> x = mlir::getConstantIntValue(lhs);
  std::optional<std::int64_t> y = mlir::getConstantIntValue(rhs);
  if (x && y)
    return b.getIndexAttr(*x - *y);
  return mlir::arith::SubIOp::create(b, toIndex(b, lhs), toIndex(b, rhs))
      .getResult();
}

OpFoldResult attn::onnx::multiply(Builder &b, OpFoldResult lhs,
                                  OpFoldResult rhs) {
  std::optional<std::int64_t> x = mlir::getConstantIntValue(lhs);
  std::optional<std::int64_t> y = mlir::getConstantIntValue(rhs);
  if (x && y)
    return b.getIndexAttr(*x * *y);
  if (x == 1)
    return rhs;
  if (y == 1)
    return lhs;
  return mlir::arith::MulIOp::create(b, toIndex(b, lhs), toIndex(b, rhs))
      .getResult();
}

Value attn::onnx::createEmpty(Builder &b, ArrayRef<OpFoldResult> sizes,
                              Type elementType) {
  return mlir::tensor::EmptyOp::create(b, sizes, elementType);
}

Value attn::onnx::createFilled(Builder &b, ArrayRef<OpFoldResult> sizes,
                               mlir::TypedAttr number) {
  Value constant = mlir::arith::ConstantOp::create(b, number);
  Value empty = createEmpty(b, sizes, number.getType());
  return mlir::linalg::FillOp::create(b, constant, empty).getResult(0);
}

Value attn::onnx::expand(Builder &b, Value tensor, Groups groups,
                         ArrayRef<OpFoldResult> sizes) {
  auto [shape, dynamic] =
      mlir::decomposeMixedValues(SmallVector<OpFoldResult>(sizes));
  auto type = RankedTensorType::get(shape, typeOf(tensor).getElementType());
  return mlir::tensor::ExpandShapeOp::create(b, type, tensor, groups, sizes);
}

Value attn::onnx::collapse(Builder &b, Value tensor, Groups groups) {
  return mlir::tensor::CollapseShapeOp::create(b, tensor, groups);
}

/// Whether two sizes are known to be equal.
static bool isSame(OpFoldResult x, OpFoldResult y) {
  if (x == y)
    return true;
  auto dim = [](OpFoldResult size) {
    auto value = llvm::dyn_cast<Value>(size);
    return value ? value.getDefiningOp<mlir::tensor::DimOp>() : nullptr;
  };
  mlir::tensor::DimOp lhs = dim(x), rhs = dim(y);
  return lhs && rhs && lhs.getSource() == rhs.getSource() &&
         lhs.getConstantIndex() == rhs.getConstantIndex();
}

/// Adds what a size is known to be the product of.
static void addFactors(Builder &b, OpFoldResult size, Sizes &factors) {
  auto value = llvm::dyn_cast<Value>(size);
  if (auto product =
          value ? value.getDefiningOp<mlir::arith::MulIOp>() : nullptr) {
    addFactors(b, product.getLhs(), factors);
    return addFactors(b, product.getRhs(), factors);
  }
  auto dim = value ? value.getDefiningOp<mlir::tensor::DimOp>() : nullptr;
  auto collapse =
      dim ? dim.getSource().getDefiningOp<mlir::tensor::CollapseShapeOp>()
          : nullptr;
  if (!collapse || !dim.getConstantIndex()) {
    factors.push_back(size);
    return;
  }
  auto groups = collapse.getReassociationIndices();
  for (std::int64_t each : groups[std::size_t(*dim.getConstantIndex())])
    addFactors(b, sizeOf(b, collapse.getSrc(), each), factors);
}

/// Removes the factors of `sizes` from `left`, and gives the product of the
/// numbers among them that are not there; nothing if another one is not.
static std::optional<std::int64_t> cancelFactors(Builder &b, Sizes &left,
                                                 ArrayRef<OpFoldResult> sizes) {
  Sizes factors;
  for (OpFoldResult size : sizes)
    addFactors(b, size, factors);
  std::int64_t divisor = 1;
  for (OpFoldResult factor : factors) {
    auto *same = llvm::find_if(
        left, [&](OpFoldResult each) { return isSame(each, factor); });
    if (same != left.end())
      left.erase(same);
    else if (std::optional<std::int64_t> count =
                 mlir::getConstantIntValue(factor);
             count.value_or(0) > 0)
      divisor *= *count;
    else
      return std::nullopt;
  }
  return divisor;
}

static Sizes factorsOf(Builder &b, Value tensor) {
  Sizes factors;
  for (OpFoldResult size : sizesOf(b, tensor))
    addFactors(b, size, factors);
  return factors;
}

OpFoldResult attn::onnx::findRest(Builder &b, Value tensor,
                                  ArrayRef<OpFoldResult> sizes,
                                  std::size_t unknown) {
  Sizes left = factorsOf(b, tensor), others(sizes);
  others.erase(others.begin() + std::ptrdiff_t(unknown));
  std::optional<std::int64_t> divisor = cancelFactors(b, left, others);
  if (!divisor)
    return {};
  std::int64_t known = 1;
  OpFoldResult rest = b.getIndexAttr(1);
  for (OpFoldResult size : left) {
    if (std::optional<std::int64_t> count = mlir::getConstantIntValue(size))
      known *= *count;
    else
      rest = multiply(b, rest, size);
  }
  if (known % *divisor == 0)
    return multiply(b, rest, b.getIndexAttr(known / *divisor));
  Value whole = toIndex(b, multiply(b, rest, b.getIndexAttr(known)));
  return mlir::arith::DivUIOp::create(
             b, whole, mlir::arith::ConstantIndexOp::create(b, *divisor))
      .getResult();
}

/// Whether a tensor is known to have as many elements as `sizes` say.
static bool hasAsManyElements(Builder &b, Value tensor,
                              ArrayRef<OpFoldResult> sizes) {
  Sizes left = factorsOf(b, tensor);
  std::optional<std::int64_t> divisor = cancelFactors(b, left, sizes);
  std::int64_t known = 1;
  for (OpFoldResult size : left) {
    std::optional<std::int64_t> count = mlir::getConstantIntValue(size);
    if (!count)
      return false;
    known *= *count;
  }
  return divisor == known;
}

namespace {
/// Consecutive dimensions of a tensor, and those that they become.
struct DimensionGroup {
  mlir::ReassociationIndices from, to;
};
} // namespace

/// Matches dimensions of equal sizes from both ends; what is between them is
/// one group. No group is empty on one side if both have dimensions.
static SmallVector<DimensionGroup> matchDimensions(ArrayRef<OpFoldResult> from,
                                                   ArrayRef<OpFoldResult> to) {
  auto isOne = [](OpFoldResult size) {
    return mlir::getConstantIntValue(size) == 1;
  };
  std::int64_t first[2] = {0, 0};
  std::int64_t last[2] = {std::int64_t(from.size()), std::int64_t(to.size())};
  // Takes what is at one of the ends; a 1 has no counterpart.
  auto take = [&](std::int64_t x, std::int64_t y) -> DimensionGroup {
    bool hasX = first[0] < last[0], hasY = first[1] < last[1];
    if (hasX && hasY && isSame(from[std::size_t(x)], to[std::size_t(y)]))
      return {{x}, {y}};
    if (hasX && isOne(from[std::size_t(x)]))
      return {{x}, {}};
    if (hasY && isOne(to[std::size_t(y)]))
      return {{}, {y}};
    return {};
  };
  SmallVector<DimensionGroup> head, tail;
  for (;;) {
    DimensionGroup group = take(first[0], first[1]);
    if (group.from.empty() && group.to.empty())
      break;
    first[0] += std::int64_t(group.from.size());
    first[1] += std::int64_t(group.to.size());
    head.push_back(std::move(group));
  }
  for (;;) {
    DimensionGroup group = take(last[0] - 1, last[1] - 1);
    if (group.from.empty() && group.to.empty())
      break;
    last[0] -= std::int64_t(group.from.size());
    last[1] -= std::int64_t(group.to.size());
    tail.push_back(std::move(group));
  }
  DimensionGroup between = {
      llvm::to_vector<2>(llvm::seq<std::int64_t>(first[0], last[0])),
      llvm::to_vector<2>(llvm::seq<std::int64_t>(first[1], last[1]))};
  head.push_back(std::move(between));
  head.append(tail.rbegin(), tail.rend());
  // What has no counterpart goes along with what is before it.
  SmallVector<DimensionGroup> result;
  for (DimensionGroup &group : head) {
    if (result.empty() ||
        (!group.from.empty() && !group.to.empty() &&
         !result.back().from.empty() && !result.back().to.empty())) {
      result.push_back(std::move(group));
      continue;
    }
    result.back().from.append(group.from);
    result.back().to.append(group.to);
  }
  return result;
}

Value attn::onnx::reshape(Builder &b, Value tensor,
                          ArrayRef<OpFoldResult> sizes,
                          ArrayRef<OpFoldResult> from) {
  Sizes own;
  if (from.empty())
    from = own = sizesOf(b, tensor);
  if (from.empty() || sizes.empty())
    return from.size() == sizes.size() ? tensor
           : from.empty()              ? expand(b, tensor, {}, sizes)
                                       : collapse(b, tensor, {});
  // No element has to go anywhere.
  if (llvm::any_of(sizes, [](OpFoldResult size) {
        return mlir::getConstantIntValue(size) == 0;
      }))
    return createEmpty(b, sizes, typeOf(tensor).getElementType());
  SmallVector<DimensionGroup> groups = matchDimensions(from, sizes);
  SmallVector<mlir::ReassociationIndices> collapsed, expanded;
  for (const DimensionGroup &group : groups) {
    collapsed.push_back(group.from);
    expanded.push_back(group.to);
  }
  if (groups.size() < from.size())
    tensor = collapse(b, tensor, collapsed);
  Sizes result;
  SmallVector<std::int64_t> shape(typeOf(tensor).getShape());
  for (auto [dim, group] : llvm::enumerate(groups)) {
    std::int64_t known = 1, dynamic = 0;
    for (std::int64_t each : group.to)
      if (auto size = mlir::getConstantIntValue(sizes[std::size_t(each)]))
        known *= *size;
      else
        ++dynamic;
    if (dynamic > 1 || (dynamic == 1 && known == 0))
      return {};
    if (dynamic == 0)
      shape[dim] = known;
    for (std::int64_t each : group.to) {
      OpFoldResult size = sizes[std::size_t(each)];
      // What is left of them all, whatever it was said to be.
      if (!mlir::getConstantIntValue(size)) {
        size = sizeOf(b, tensor, std::int64_t(dim));
        if (known != 1)
          size = mlir::arith::DivUIOp::create(
                     b, toIndex(b, size),
                     mlir::arith::ConstantIndexOp::create(b, known))
                     .getResult();
      }
      result.push_back(size);
    }
  }
  if (ArrayRef(shape) != typeOf(tensor).getShape())
    tensor = mlir::tensor::CastOp::create(
        b, RankedTensorType::get(shape, typeOf(tensor).getElementType()),
        tensor);
  return groups.size() < sizes.size() ? expand(b, tensor, expanded, result)
                                      : tensor;
}

Value attn::onnx::copyInShape(Builder &b, Value tensor,
                              ArrayRef<OpFoldResult> sizes,
                              const std::string &what) {
  auto product = [&](ArrayRef<OpFoldResult> some) {
    OpFoldResult result = b.getIndexAttr(1);
    for (OpFoldResult size : some)
      result = multiply(b, result, size);
    return result;
  };
  if (!hasAsManyElements(b, tensor, sizes)) {
    Value has = toIndex(b, product(sizesOf(b, tensor)));
    mlir::cf::AssertOp::create(
        b,
        mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::eq, has,
                                    toIndex(b, product(sizes))),
        what + ": the new shape has another number of elements");
  }
  mlir::ReassociationIndices all =
      llvm::to_vector<2>(llvm::seq<std::int64_t>(0, typeOf(tensor).getRank()));
  if (all.size() != 1)
    tensor = collapse(b, tensor, {all});

  mlir::emitRemark(b.getLoc())
      << what << " is copied by one thread: several dynamic sizes come of one";

  // What is behind the last dynamic size, and that, are one row.
  std::size_t rank = sizes.size(), outer = rank;
  while (mlir::getConstantIntValue(sizes[outer - 1]))
    --outer;
  --outer;
  OpFoldResult length = product(sizes.drop_front(outer)),
               one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  Sizes offsets(rank, zero), counts(rank, one), steps(rank, one), row;
  for (std::size_t dim = outer; dim < rank; ++dim)
    row.push_back(counts[dim] = sizes[dim]);
  Value result = createEmpty(b, sizes, typeOf(tensor).getElementType());
  SmallVector<mlir::scf::ForOp> loops;
  OpFoldResult number = zero;
  Value into = result;
  for (std::size_t dim = 0; dim < outer; ++dim) {
    loops.push_back(mlir::scf::ForOp::create(
        b, toIndex(b, zero), toIndex(b, sizes[dim]), toIndex(b, one), into));
    b.setInsertionPointToStart(loops.back().getBody());
    offsets[dim] = loops.back().getInductionVar();
    into = loops.back().getRegionIterArg(0);
    number = add(b, multiply(b, number, sizes[dim]), offsets[dim]);
  }
  Value elements = mlir::tensor::ExtractSliceOp::create(
      b, tensor, Sizes{multiply(b, number, length)}, Sizes{length}, Sizes{one});
  if (row.size() != 1)
    elements = expand(b, elements,
                      {llvm::to_vector<2>(llvm::seq<std::int64_t>(
                          0, std::int64_t(row.size())))},
                      row);
  Value filled = mlir::tensor::InsertSliceOp::create(b, elements, into, offsets,
                                                     counts, steps);
  for (mlir::scf::ForOp loop : llvm::reverse(loops)) {
    b.setInsertionPointToEnd(loop.getBody());
    mlir::scf::YieldOp::create(b, filled);
    b.setInsertionPointAfter(loop);
    filled = loop.getResult(0);
  }
  return filled;
}

/// A constant with other dimensions, computed here; null of other values.
static Value transposeConstant(Builder &b, Value tensor,
                               ArrayRef<std::int64_t> permutation) {
  mlir::DenseElementsAttr elements;
  RankedTensorType type = typeOf(tensor);
  unsigned bits = type.getElementTypeBitWidth();
  if (bits < 8 || !mlir::matchPattern(tensor, mlir::m_Constant(&elements)))
    return {};
  SmallVector<std::int64_t> shape =
      mlir::applyPermutation(type.getShape(), permutation);
  auto result = RankedTensorType::get(shape, type.getElementType());
  if (elements.isSplat())
    return mlir::arith::ConstantOp::create(b, elements.resizeSplat(result));
  SmallVector<std::int64_t> strides = mlir::applyPermutation(
      mlir::computeStrides(type.getShape()), permutation);
  std::size_t width = bits / 8;
  ArrayRef<char> from = elements.getRawData();
  std::vector<char> to(from.size());
  SmallVector<std::int64_t> place(shape.size());
  for (std::size_t number = 0; number < to.size() / width; ++number) {
    std::int64_t source = 0;
    for (auto [position, stride] : llvm::zip_equal(place, strides))
      source += position * stride;
    llvm::copy(from.slice(std::size_t(source) * width, width),
               to.begin() + std::ptrdiff_t(number * width));
    for (std::size_t dim = shape.size(); dim-- > 0;) {
      if (++place[dim] < shape[dim])
        break;
      place[dim] = 0;
    }
  }
  return mlir::arith::ConstantOp::create(
      b, mlir::DenseElementsAttr::getFromRawBuffer(result, to));
}

Value attn::onnx::transpose(Builder &b, Value tensor,
                            ArrayRef<std::int64_t> permutation) {
  if (Value constant = transposeConstant(b, tensor, permutation))
    return constant;
  Sizes sizes, from = sizesOf(b, tensor);
  for (std::int64_t dim : permutation)
    sizes.push_back(from[std::size_t(dim)]);
  // Dimensions of 1 may stand anywhere: those of one head, or one token.
  SmallVector<std::int64_t> others(permutation);
  llvm::erase_if(others, [&](std::int64_t dim) {
    return typeOf(tensor).getDimSize(dim) == 1;
  });
  if (llvm::is_sorted(others))
    if (Value view = reshape(b, tensor, sizes, from))
      return view;
  Value empty = createEmpty(b, sizes, typeOf(tensor).getElementType());
  return mlir::linalg::TransposeOp::create(b, tensor, empty, permutation)
      ->getResult(0);
}

Value attn::onnx::concatenate(Builder &b, std::int64_t dim,
                              ArrayRef<Value> tensors) {
  return mlir::tensor::ConcatOp::create(b, dim, ValueRange(tensors));
}

Value attn::onnx::splitHeads(Builder &b, Value tensor, std::int64_t heads) {
  std::int64_t size = typeOf(tensor).getDimSize(2) / heads;
  Value split = expand(b, tensor, {{0}, {1}, {2, 3}},
                       {sizeOf(b, tensor, 0), sizeOf(b, tensor, 1),
                        b.getIndexAttr(heads), b.getIndexAttr(size)});
  return transpose(b, split, {0, 2, 1, 3});
}

Value attn::onnx::mergeHeads(Builder &b, Value tensor) {
  return collapse(b, transpose(b, tensor, {0, 2, 1, 3}), {{0}, {1}, {2, 3}});
}

mlir::FloatType attn::onnx::getAccumulationType(mlir::FloatType type) {
  return mlir::attn::AttentionOp::getAccumulationType(type);
}

Value attn::onnx::convertFloat(OpBuilder &b, Location loc, Value value,
                               Type type) {
  auto from = llvm::cast<mlir::FloatType>(value.getType());
  auto to = llvm::cast<mlir::FloatType>(type);
  if (from == to)
    return value;
  if (from.getWidth() < to.getWidth())
    return mlir::arith::ExtFOp::create(b, loc, to, value);
  if (from.getWidth() > to.getWidth())
    return mlir::arith::TruncFOp::create(b, loc, to, value);
  // f16 and bf16 meet in f32.
  return convertFloat(b, loc, convertFloat(b, loc, value, b.getF32Type()), to);
}

Value attn::onnx::convertFloats(Builder &b, Value tensor, Type type) {
  if (typeOf(tensor).getElementType() == type)
    return tensor;
  return computeElements(b, tensor, sizesOf(b, tensor), type,
                         [&](OpBuilder &b, Location loc, ValueRange elements) {
                           return convertFloat(b, loc, elements[0], type);
                         });
}

std::optional<Sizes> attn::onnx::broadcastSizes(Builder &b,
                                                ArrayRef<Value> tensors) {
  std::int64_t rank = 0;
  for (Value tensor : tensors)
    rank = std::max(rank, typeOf(tensor).getRank());
  Sizes sizes;
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    // A known size counts more than one that is not, and 1 least.
    Value owner;
    std::int64_t ownerDim = 0, size = 1;
    for (Value tensor : tensors) {
      std::int64_t own = dim - (rank - typeOf(tensor).getRank());
      if (own < 0)
        continue;
      std::int64_t next = typeOf(tensor).getDimSize(own);
      if (!mlir::ShapedType::isDynamic(next) && next != 1 &&
          !mlir::ShapedType::isDynamic(size) && size != 1 && next != size)
        return std::nullopt;
      if (!owner || size == 1 ||
          (!isStatic(size) && isStatic(next) && next != 1)) {
        owner = tensor;
        ownerDim = own;
        size = next;
      }
    }
    sizes.push_back(sizeOf(b, owner, ownerDim));
  }
  return sizes;
}

SmallVector<mlir::AffineExpr>
attn::onnx::broadcastIndices(Builder &b, ArrayRef<std::int64_t> shape,
                             ArrayRef<OpFoldResult> sizes) {
  std::size_t missing = sizes.size() - shape.size();
  SmallVector<mlir::AffineExpr> exprs;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    std::size_t loop = missing + dim;
    bool repeats = size == 1 && mlir::getConstantIntValue(sizes[loop]) != 1;
    exprs.push_back(repeats ? b.getAffineConstantExpr(0)
                            : b.getAffineDimExpr(unsigned(loop)));
  }
  return exprs;
}

Value attn::onnx::computeElements(Builder &b, ArrayRef<Value> tensors,
                                  ArrayRef<OpFoldResult> sizes,
                                  Type elementType, ElementFunction compute) {
  auto rank = unsigned(sizes.size());
  SmallVector<mlir::AffineMap> maps;
  for (Value tensor : tensors)
    maps.push_back(mlir::AffineMap::get(
        rank, 0, broadcastIndices(b, typeOf(tensor).getShape(), sizes),
        b.getContext()));
  maps.push_back(b.getMultiDimIdentityMap(rank));
  return mlir::attn::createGeneric(
      b, b.getLoc(), tensors, createEmpty(b, sizes, elementType), maps,
      [&](ValueRange e) { return compute(b, b.getLoc(), e.drop_back()); });
}

Value attn::onnx::sumElements(Builder &b, Value tensor, std::int64_t firstDim,
                              mlir::FloatType type, ElementFunction compute) {
  Sizes sizes = sizesOf(b, tensor);
  auto rank = unsigned(sizes.size()), first = unsigned(firstDim);
  for (OpFoldResult &size : llvm::drop_begin(sizes, first))
    size = b.getIndexAttr(1);
  SmallVector<mlir::AffineExpr> exprs;
  for (unsigned dim = 0; dim < rank; ++dim)
    exprs.push_back(dim < first ? b.getAffineDimExpr(dim)
                                : b.getAffineConstantExpr(0));
  Value zero = createFilled(b, sizes, b.getFloatAttr(type, 0));
  return mlir::attn::createGeneric(
      b, b.getLoc(), tensor, zero,
      {b.getMultiDimIdentityMap(rank),
       mlir::AffineMap::get(rank, 0, exprs, b.getContext())},
      [&](ValueRange e) -> Value {
        Value next = compute(b, b.getLoc(), e[0]);
        return mlir::arith::AddFOp::create(b, e[1], next);
      });
}

Value attn::onnx::sumProducts(Builder &b, Value lhs, mlir::AffineMap lhsMap,
                              Value rhs, mlir::AffineMap rhsMap,
                              ArrayRef<OpFoldResult> sizes,
                              mlir::FloatType type) {
  Value zero = createFilled(b, sizes, b.getFloatAttr(type, 0));
  mlir::AffineMap loops = b.getMultiDimIdentityMap(lhsMap.getNumDims());
  return mlir::attn::createGeneric(
      b, b.getLoc(), {lhs, rhs}, zero,
      {lhsMap, rhsMap, loops.getMajorSubMap(unsigned(sizes.size()))},
      [&](ValueRange e) -> Value {
        Value product = mlir::arith::MulFOp::create(
            b, convertFloat(b, b.getLoc(), e[0], type),
            convertFloat(b, b.getLoc(), e[1], type));
        return mlir::arith::AddFOp::create(b, e[2], product);
      });
}
