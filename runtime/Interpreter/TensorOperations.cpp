//===- TensorOperations.cpp - Tensors of computed elements ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/TensorOperations.h"

#include "runtime/Interpreter/OperationTable.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attn::interpreter;
using Sizes = SmallVector<std::int64_t>;

std::optional<std::int64_t>
interpreter::countElements(ArrayRef<std::int64_t> sizes) {
  constexpr std::int64_t most = std::int64_t(1) << 28;
  std::int64_t count = 1;
  for (std::int64_t size : sizes) {
    if (size < 0)
      return std::nullopt;
    count = llvm::SaturatingMultiply(std::uint64_t(count),
                                     std::uint64_t(size)) > std::uint64_t(most)
                ? most + 1
                : count * size;
  }
  if (count > most)
    return std::nullopt;
  return count;
}

bool interpreter::visitIndices(
    ArrayRef<std::int64_t> sizes,
    llvm::function_ref<bool(ArrayRef<std::int64_t>)> visit) {
  if (llvm::any_of(sizes, [](std::int64_t size) { return size <= 0; }))
    return true;
  Sizes index(sizes.size(), 0);
  while (true) {
    if (!visit(index))
      return false;
    std::size_t dim = sizes.size();
    while (dim > 0 && ++index[dim - 1] == sizes[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return true;
  }
}

Datum interpreter::computeTensor(
    Type elementType, ArrayRef<std::int64_t> sizes,
    llvm::function_ref<Datum(ArrayRef<std::int64_t>)> compute,
    reference::Quantity quantity) {
  std::optional<std::int64_t> count = countElements(sizes);
  if (!count)
    return Undefined();
  std::vector<Datum> elements;
  elements.reserve(std::size_t(*count));
  visitIndices(sizes, [&](ArrayRef<std::int64_t> index) {
    elements.push_back(compute(index));
    return true;
  });
  return Tensor::createPartial(elementType, sizes, elements, quantity);
}

std::optional<Sizes> interpreter::resolveDynamic(ArrayRef<std::int64_t> numbers,
                                                 ArrayRef<Datum> &operands) {
  Sizes result(numbers);
  for (std::int64_t &number : result) {
    if (!mlir::ShapedType::isDynamic(number))
      continue;
    const APInt *given = std::get_if<APInt>(&operands.front());
    if (!given)
      return std::nullopt;
    number = given->getSExtValue();
    operands = operands.drop_front();
  }
  return result;
}

std::optional<std::vector<Datum>>
interpreter::copyElements(const Tensor &tensor) {
  std::optional<std::int64_t> count = countElements(tensor.shape());
  if (!count)
    return std::nullopt;
  std::vector<Datum> elements;
  elements.reserve(std::size_t(*count));
  visitIndices(tensor.shape(), [&](ArrayRef<std::int64_t> index) {
    elements.push_back(tensor.load(index));
    return true;
  });
  return elements;
}

std::size_t interpreter::numberOf(ArrayRef<std::int64_t> index,
                                  ArrayRef<std::int64_t> sizes) {
  std::size_t number = 0;
  for (auto [position, size] : llvm::zip_equal(index, sizes))
    number = number * std::size_t(size) + std::size_t(position);
  return number;
}

namespace {

/// What an operation gives for operands of which none is undefined.
using Compute = Datum (*)(Operation *op, ArrayRef<Datum> operands);

Evaluator forDefined(Compute compute) {
  return [compute](Operation *op, ArrayRef<Datum> operands,
                   llvm::MutableArrayRef<Datum> results) {
    bool isDefined = llvm::none_of(operands, [](const Datum &operand) {
      return std::holds_alternative<Undefined>(operand);
    });
    results[0] = isDefined ? compute(op, operands) : Datum(Undefined());
  };
}

const Tensor &asTensor(const Datum &datum) {
  return *std::get<TensorPtr>(datum);
}

Sizes asIntegers(ArrayRef<Datum> data) {
  Sizes result;
  for (const Datum &datum : data)
    result.push_back(std::get<APInt>(datum).getSExtValue());
  return result;
}

/// Whether `size` elements from `offset` on, `stride` apart, are below `bound`.
bool isInside(std::int64_t offset, std::int64_t size, std::int64_t stride,
              std::int64_t bound) {
  if (size == 0)
    return true;
  std::int64_t last;
  return size > 0 && offset >= 0 && offset < bound &&
         !llvm::MulOverflow(size - 1, stride, last) &&
         !llvm::AddOverflow(last, offset, last) && last >= 0 && last < bound;
}

//===----------------------------------------------------------------------===//
// Making tensors
//===----------------------------------------------------------------------===//

/// The sizes of the result, with operands for those that are dynamic.
std::optional<Sizes> resultSizes(Operation *op, ArrayRef<Datum> operands) {
  return resolveDynamic(
      llvm::cast<mlir::ShapedType>(op->getResult(0).getType()).getShape(),
      operands);
}

Datum makeEmpty(Operation *op, ArrayRef<Datum> operands) {
  std::optional<Sizes> sizes = resultSizes(op, operands);
  if (!sizes || llvm::any_of(*sizes, [](auto size) { return size < 0; }))
    return Undefined();
  return Tensor::createUnknown(resultType(op), *sizes);
}

Datum makeSplat(Operation *op, ArrayRef<Datum> operands) {
  std::optional<Sizes> sizes = resultSizes(op, operands.drop_front());
  if (!sizes)
    return Undefined();
  return computeTensor(resultType(op), *sizes,
                       [&](ArrayRef<std::int64_t>) { return operands[0]; });
}

Datum makeFromElements(Operation *op, ArrayRef<Datum> operands) {
  return Tensor::createPartial(
      resultType(op),
      llvm::cast<mlir::ShapedType>(op->getResult(0).getType()).getShape(),
      operands);
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

/// The elements of `source` in row-major order, as a tensor of other sizes.
Datum reshape(const Tensor &source, ArrayRef<std::int64_t> sizes) {
  std::optional<std::vector<Datum>> elements = copyElements(source);
  if (!elements || countElements(sizes) != std::int64_t(elements->size()))
    return Undefined();
  return Tensor::createPartial(source.elementType, sizes, *elements,
                               source.quantity);
}

Datum collapseShape(Operation *op, ArrayRef<Datum> operands) {
  const Tensor &source = asTensor(operands[0]);
  Sizes sizes;
  for (const auto &group : llvm::cast<mlir::tensor::CollapseShapeOp>(op)
                               .getReassociationIndices()) {
    std::int64_t size = 1;
    for (std::int64_t dim : group)
      if (llvm::MulOverflow(size, source.shape()[std::size_t(dim)], size))
        return Undefined();
    sizes.push_back(size);
  }
  return reshape(source, sizes);
}

Datum expandShape(Operation *op, ArrayRef<Datum> operands) {
  auto expand = llvm::cast<mlir::tensor::ExpandShapeOp>(op);
  const Tensor &source = asTensor(operands[0]);
  operands = operands.drop_front();
  std::optional<Sizes> sizes =
      resolveDynamic(expand.getStaticOutputShape(), operands);
  if (!sizes)
    return Undefined();
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    Sizes parts;
    for (std::int64_t part : group)
      parts.push_back((*sizes)[std::size_t(part)]);
    if (countElements(parts) != source.shape()[dim])
      return Undefined();
  }
  return reshape(source, *sizes);
}

Datum concatenate(Operation *op, ArrayRef<Datum> operands) {
  std::size_t dim = llvm::cast<mlir::tensor::ConcatOp>(op).getDim();
  Sizes sizes(asTensor(operands[0]).shape());
  sizes[dim] = 0;
  for (const Datum &input : operands) {
    Sizes others(asTensor(input).shape());
    if (llvm::AddOverflow(sizes[dim], others[dim], sizes[dim]))
      return Undefined();
    others[dim] = sizes[dim];
    if (others != sizes)
      return Undefined();
  }
  return computeTensor(
      resultType(op), sizes,
      [&](ArrayRef<std::int64_t> index) {
        Sizes inner(index);
        const Datum *input = operands.begin();
        for (; inner[dim] >= asTensor(*input).shape()[dim]; ++input)
          inner[dim] -= asTensor(*input).shape()[dim];
        return asTensor(*input).load(inner);
      },
      asTensor(operands[0]).quantity);
}

/// A part of a tensor: offsets, sizes and strides, of which the ranks of the
/// part may lack dimensions of size 1.
struct Slice {
  Sizes offsets, sizes, strides;
  llvm::SmallBitVector dropped;

  /// `operands` are those of dynamic numbers. Nothing if a part is not inside
  /// a tensor of sizes `bounds`.
  template <typename Op>
  static std::optional<Slice> create(Op op, ArrayRef<Datum> operands,
                                     ArrayRef<std::int64_t> bounds) {
    std::optional<Sizes> offsets =
        resolveDynamic(op.getStaticOffsets(), operands);
    std::optional<Sizes> sizes = resolveDynamic(op.getStaticSizes(), operands);
    std::optional<Sizes> strides =
        resolveDynamic(op.getStaticStrides(), operands);
    if (!offsets || !sizes || !strides)
      return std::nullopt;
    for (auto [offset, size, stride, bound] :
         llvm::zip_equal(*offsets, *sizes, *strides, bounds))
      if (!isInside(offset, size, stride, bound))
        return std::nullopt;
    return Slice{*offsets, *sizes, *strides, op.getDroppedDims()};
  }

  Sizes partSizes() const {
    Sizes result;
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (!dropped[unsigned(dim)])
        result.push_back(size);
    return result;
  }

  /// Where element `index` of the part is in the whole.
  Sizes locate(ArrayRef<std::int64_t> index) const {
    Sizes result(offsets);
    for (auto [dim, position] : llvm::enumerate(result))
      if (!dropped[unsigned(dim)]) {
        position += index.front() * strides[dim];
        index = index.drop_front();
      }
    return result;
  }
};

Datum extractSlice(Operation *op, ArrayRef<Datum> operands) {
  const Tensor &source = asTensor(operands[0]);
  std::optional<Slice> slice =
      Slice::create(llvm::cast<mlir::tensor::ExtractSliceOp>(op),
                    operands.drop_front(), source.shape());
  if (!slice)
    return Undefined();
  return computeTensor(
      resultType(op), slice->partSizes(),
      [&](ArrayRef<std::int64_t> index) {
        return source.load(slice->locate(index));
      },
      source.quantity);
}

Datum insertSlice(Operation *op, ArrayRef<Datum> operands) {
  const Tensor &source = asTensor(operands[0]), &dest = asTensor(operands[1]);
  std::optional<Slice> slice =
      Slice::create(llvm::cast<mlir::tensor::InsertSliceOp>(op),
                    operands.drop_front(2), dest.shape());
  std::optional<std::vector<Datum>> elements = copyElements(dest);
  if (!slice || !elements || slice->partSizes() != source.shape())
    return Undefined();
  visitIndices(source.shape(), [&](ArrayRef<std::int64_t> index) {
    (*elements)[numberOf(slice->locate(index), dest.shape())] =
        source.load(index);
    return true;
  });
  return Tensor::createPartial(dest.elementType, dest.shape(), *elements,
                               source.quantity);
}

Datum insertElement(Operation *, ArrayRef<Datum> operands) {
  const Tensor &dest = asTensor(operands[1]);
  Sizes index = asIntegers(operands.drop_front(2));
  std::optional<std::vector<Datum>> elements = copyElements(dest);
  for (auto [position, size] : llvm::zip_equal(index, dest.shape()))
    if (position < 0 || position >= size)
      return Undefined();
  if (!elements)
    return Undefined();
  (*elements)[numberOf(index, dest.shape())] = operands[0];
  return Tensor::createPartial(dest.elementType, dest.shape(), *elements,
                               dest.quantity);
}

Datum extractElement(Operation *, ArrayRef<Datum> operands) {
  return asTensor(operands[0]).load(asIntegers(operands.drop_front()));
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::optional<APInt> getDim(const TensorPtr &tensor, const APInt &dim) {
  if (dim.uge(std::uint64_t(tensor->view.rank())))
    return std::nullopt;
  return APInt(mlir::IndexType::kInternalStorageBitWidth,
               std::uint64_t(tensor->view.size(int(dim.getZExtValue()))));
}

APInt getRank(const TensorPtr &tensor) {
  return APInt(mlir::IndexType::kInternalStorageBitWidth,
               std::uint64_t(tensor->view.rank()));
}

std::optional<TensorPtr> castTensor(Operation *op, const TensorPtr &tensor) {
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!mlir::ShapedType::isDynamic(size) &&
        size != tensor->view.size(int(dim)))
      return std::nullopt;
  return tensor;
}

} // namespace

void interpreter::addTensorOps(Table &table) {
  table["tensor.cast"] = strict(+castTensor);
  table["tensor.collapse_shape"] = forDefined(collapseShape);
  table["tensor.concat"] = forDefined(concatenate);
  table["tensor.dim"] = strict(+getDim);
  table["tensor.empty"] = forDefined(makeEmpty);
  table["tensor.expand_shape"] = forDefined(expandShape);
  table["tensor.extract"] = forDefined(extractElement);
  table["tensor.extract_slice"] = forDefined(extractSlice);
  table["tensor.from_elements"] = forDefined(makeFromElements);
  table["tensor.insert"] = forDefined(insertElement);
  table["tensor.insert_slice"] = forDefined(insertSlice);
  table["tensor.rank"] = strict(+getRank);
  table["tensor.splat"] = forDefined(makeSplat);
}
