//===- Shapes.cpp - Operators that move elements --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/AttentionVariant.h"
#include "runtime/ONNX/Constants.h"
#include "runtime/ONNX/Integers.h"
#include "runtime/ONNX/Nodes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SmallSet.h"

#include <algorithm>

using namespace attn;
using namespace attn::onnx;
using mlir::getConstantIntValue;

/// The integers of an input, which have to be known.
static FailureOr<SmallVector<std::int64_t>>
readIntegers(const NodeImport &at, unsigned index, StringRef name) {
  if (auto integers = findConstantIntegers(at.input(index)))
    return *integers;
  return at.error(name) << "expected a constant of a few integers, got "
                        << formatType(typeOf(at.input(index)));
}

//===----------------------------------------------------------------------===//
// Constants and sizes
//===----------------------------------------------------------------------===//

static LogicalResult importConstant(NodeImport &at) {
  FailureOr<std::shared_ptr<const Tensor>> tensor = at.tensor("value");
  FailureOr<std::optional<double>> number = at.number("value_float");
  FailureOr<std::optional<std::int64_t>> integer = at.integer("value_int");
  auto integers = at.integers("value_ints");
  if (failed(tensor) || failed(number) || failed(integer) || failed(integers))
    return failure();
  Builder &b = at.b;
  if (*tensor) {
    FailureOr<Value> constant = createConstant(
        b, **tensor, "node " + describe(at.node) + ": attribute 'value'");
    if (failed(constant))
      return failure();
    at.setOutput(0, *constant);
    return success();
  }
  auto scalar = [&](mlir::TypedAttr attribute) {
    auto type = RankedTensorType::get({}, attribute.getType());
    at.setOutput(0, mlir::arith::ConstantOp::create(
                        b, mlir::DenseElementsAttr::get(
                               type, mlir::Attribute(attribute))));
    return success();
  };
  if (*number)
    return scalar(b.getF32FloatAttr(float(**number)));
  if (*integer)
    return scalar(b.getI64IntegerAttr(**integer));
  if (!*integers)
    return at.error() << "expected one of the attributes 'value', "
                         "'value_float', 'value_int' and 'value_ints'";
  auto type =
      RankedTensorType::get(std::int64_t((*integers)->size()), b.getI64Type());
  at.setOutput(0, mlir::arith::ConstantOp::create(
                      b, mlir::DenseElementsAttr::get(
                             type, ArrayRef<std::int64_t>(**integers))));
  return success();
}

static LogicalResult importShape(NodeImport &at) {
  std::int64_t rank = typeOf(at.input(0)).getRank();
  FailureOr<std::int64_t> start = at.integer("start", 0);
  FailureOr<std::int64_t> end = at.integer("end", rank);
  if (failed(start) || failed(end))
    return failure();
  auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  std::int64_t first = clamp(*start), last = std::max(first, clamp(*end));
  Sizes sizes = sizesOf(at.b, at.input(0));
  at.setOutput(0, createIntegers(
                      at.b,
                      ArrayRef(sizes).slice(std::size_t(first),
                                            std::size_t(last - first)),
                      RankedTensorType::get(last - first, at.b.getI64Type())));
  return success();
}

static LogicalResult importConstantOfShape(NodeImport &at) {
  FailureOr<std::shared_ptr<const Tensor>> value = at.tensor("value");
  if (failed(value))
    return failure();
  std::optional<Sizes> sizes = findIntegers(at.input(0));
  if (!sizes)
    return at.error("input") << "expected a shape that is known, got "
                             << formatType(typeOf(at.input(0)));
  for (OpFoldResult size : *sizes)
    if (getConstantIntValue(size).value_or(0) < 0)
      return at.error("input") << "expected sizes of 0 or more, got "
                               << *getConstantIntValue(size);
  Builder &b = at.b;
  mlir::TypedAttr number = b.getF32FloatAttr(0);
  if (*value) {
    FailureOr<Value> constant = createConstant(
        b, **value, "node " + describe(at.node) + ": attribute 'value'");
    if (failed(constant))
      return failure();
    if (typeOf(*constant).getNumElements() != 1)
      return at.error() << "attribute 'value': expected one element, got "
                        << formatType(typeOf(*constant));
    auto op = constant->getDefiningOp<mlir::arith::ConstantOp>();
    number = llvm::cast<mlir::TypedAttr>(
        *llvm::cast<mlir::DenseElementsAttr>(op.getValue())
             .getValues<mlir::Attribute>()
             .begin());
  }
  at.setOutput(0, createFilled(b, *sizes, number));
  return success();
}

//===----------------------------------------------------------------------===//
// Other shapes of the same elements
//===----------------------------------------------------------------------===//

/// Sets the output to the input in other sizes.
static LogicalResult setReshaped(NodeImport &at, const Sizes &sizes) {
  // Sizes that are followed stay so.
  Builder &b = at.b;
  if (std::optional<Sizes> integers = findIntegers(at.input(0));
      integers && sizes.size() <= 1) {
    SmallVector<std::int64_t> shape;
    for (OpFoldResult size : sizes)
      shape.push_back(*getConstantIntValue(size));
    at.setOutput(
        0, createIntegers(b, *integers,
                          RankedTensorType::get(
                              shape, typeOf(at.input(0)).getElementType())));
    return success();
  }
  Value result = reshape(b, at.input(0), sizes);
  at.setOutput(0, result ? result
                         : copyInShape(b, at.input(0), sizes,
                                       "node " + describe(at.node)));
  return success();
}

/// The number of elements, divided by all `sizes` but number `unknown`. Sizes
/// of 0 divide nothing: whoever uses the result checks it.
static OpFoldResult divideElements(Builder &b, Value tensor,
                                   ArrayRef<OpFoldResult> sizes,
                                   std::size_t unknown) {
  OpFoldResult elements = b.getIndexAttr(1), known = elements;
  for (OpFoldResult size : sizesOf(b, tensor))
    elements = multiply(b, elements, size);
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (dim != unknown)
      known = multiply(b, known, size);
  Value divisor = mlir::arith::MaxUIOp::create(
      b, toIndex(b, known), mlir::arith::ConstantIndexOp::create(b, 1));
  return mlir::arith::DivUIOp::create(b, toIndex(b, elements), divisor)
      .getResult();
}

static LogicalResult importReshape(NodeImport &at) {
  FailureOr<bool> allowZero = at.flag("allowzero");
  if (failed(allowZero))
    return failure();
  Builder &b = at.b;
  RankedTensorType type = typeOf(at.input(0));
  std::optional<Sizes> sizes = findIntegers(at.input(1));
  if (!sizes)
    return at.error("shape") << "expected a shape that is known, got "
                             << formatType(typeOf(at.input(1)));
  std::int64_t known = 1, unknown = -1;
  bool isKnown = true;
  for (auto [dim, size] : llvm::enumerate(*sizes)) {
    std::optional<std::int64_t> count = getConstantIntValue(size);
    if (count == 0 && !*allowZero) {
      if (std::int64_t(dim) >= type.getRank())
        return at.error("shape") << "0 keeps dimension " << dim << ", which "
                                 << formatType(type) << " does not have";
      size = sizeOf(b, at.input(0), std::int64_t(dim));
      count = getConstantIntValue(size);
    } else if (count == -1) {
      if (unknown >= 0)
        return at.error("shape") << "expected at most one size of -1";
      unknown = std::int64_t(dim);
      continue;
    }
    if (count.value_or(0) < 0 || count.value_or(0) > std::int64_t(1) << 40)
      return at.error("shape")
             << "expected sizes from 0 to 2^40, or -1, got " << *count;
    if (count && *count != 0 && known > (std::int64_t(1) << 40) / *count)
      return at.error("shape") << "has more than 2^40 elements";
    isKnown = isKnown && count.has_value();
    known *= count.value_or(1);
  }
  if (unknown >= 0) {
    // What is left: of the sizes that do not stay as they are.
    OpFoldResult &size = (*sizes)[std::size_t(unknown)];
    if (known == 0)
      return at.error("shape") << "-1: any size gives 0 elements beside a 0";
    if (type.hasStaticShape() && isKnown) {
      if (type.getNumElements() % known != 0)
        return at.error("shape") << "-1: " << type.getNumElements()
                                 << " elements are no multiple of " << known;
      size = b.getIndexAttr(type.getNumElements() / known);
    } else {
      size = findRest(b, at.input(0), *sizes, std::size_t(unknown));
      // What is left is seen when the model runs.
      if (!size)
        size = divideElements(b, at.input(0), *sizes, std::size_t(unknown));
    }
  } else if (isKnown && type.hasStaticShape() &&
             known != type.getNumElements()) {
    return at.error("shape") << "expected " << type.getNumElements()
                             << " elements, got " << known;
  }
  return setReshaped(at, *sizes);
}

static LogicalResult importFlatten(NodeImport &at) {
  RankedTensorType type = typeOf(at.input(0));
  FailureOr<std::int64_t> axis = at.integer("axis", 1);
  if (failed(axis))
    return failure();
  std::int64_t rank = type.getRank();
  if (*axis < -rank || *axis > rank)
    return at.error() << "axis " << *axis << " is outside of rank " << rank;
  std::int64_t split = *axis < 0 ? *axis + rank : *axis;
  Builder &b = at.b;
  Sizes sizes = sizesOf(b, at.input(0));
  auto product = [&](ArrayRef<OpFoldResult> some) {
    OpFoldResult result = b.getIndexAttr(1);
    for (OpFoldResult size : some)
      result = multiply(b, result, size);
    return result;
  };
  return setReshaped(at,
                     {product(ArrayRef(sizes).take_front(std::size_t(split))),
                      product(ArrayRef(sizes).drop_front(std::size_t(split)))});
}

/// The axes of Squeeze and Unsqueeze, each once, in a tensor of `rank`.
static FailureOr<llvm::SmallSet<std::int64_t, 4>> readAxes(const NodeImport &at,
                                                           std::int64_t rank) {
  FailureOr<SmallVector<std::int64_t>> axes = readIntegers(at, 1, "axes");
  if (failed(axes))
    return failure();
  llvm::SmallSet<std::int64_t, 4> result;
  for (std::int64_t axis : *axes) {
    FailureOr<std::int64_t> resolved = at.resolveAxis(axis, rank);
    if (failed(resolved))
      return failure();
    if (!result.insert(*resolved).second)
      return at.error("axes") << "axis " << axis << " is given twice";
  }
  return result;
}

static LogicalResult importUnsqueeze(NodeImport &at) {
  Sizes sizes = sizesOf(at.b, at.input(0));
  auto count = findConstantIntegers(at.input(1));
  std::int64_t rank =
      std::int64_t(sizes.size()) + (count ? std::int64_t(count->size()) : 0);
  FailureOr<llvm::SmallSet<std::int64_t, 4>> axes = readAxes(at, rank);
  if (failed(axes))
    return failure();
  Sizes result;
  auto *next = sizes.begin();
  for (std::int64_t dim = 0; dim < rank; ++dim)
    result.push_back(axes->contains(dim) ? OpFoldResult(at.b.getIndexAttr(1))
                                         : *next++);
  return setReshaped(at, result);
}

static LogicalResult importSqueeze(NodeImport &at) {
  RankedTensorType type = typeOf(at.input(0));
  llvm::SmallSet<std::int64_t, 4> axes;
  if (at.input(1)) {
    FailureOr<llvm::SmallSet<std::int64_t, 4>> given =
        readAxes(at, type.getRank());
    if (failed(given))
      return failure();
    axes = *given;
  } else {
    if (!type.hasStaticShape())
      return at.error() << "expected axes for a tensor of dynamic sizes";
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      if (size == 1)
        axes.insert(std::int64_t(dim));
  }
  Sizes sizes = sizesOf(at.b, at.input(0)), result;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (!axes.contains(std::int64_t(dim)))
      result.push_back(size);
    else if (type.getDimSize(dim) != 1)
      return at.error("axes") << "expected a size of 1 at axis " << dim
                              << ", got " << formatType(type);
  }
  return setReshaped(at, result);
}

static LogicalResult importTranspose(NodeImport &at) {
  std::int64_t rank = typeOf(at.input(0)).getRank();
  auto given = at.integers("perm");
  if (failed(given))
    return failure();
  SmallVector<std::int64_t> permutation;
  if (*given)
    permutation.assign((*given)->begin(), (*given)->end());
  else
    permutation.append(llvm::reverse(llvm::seq<std::int64_t>(0, rank)).begin(),
                       llvm::reverse(llvm::seq<std::int64_t>(0, rank)).end());
  if (std::int64_t(permutation.size()) != rank ||
      !mlir::isPermutationVector(permutation))
    return at.error() << "attribute 'perm': expected each axis of rank " << rank
                      << " once";
  at.setOutput(0, transpose(at.b, at.input(0), permutation));
  return success();
}

static LogicalResult importExpand(NodeImport &at) {
  Builder &b = at.b;
  std::optional<Sizes> target = findIntegers(at.input(1));
  if (!target)
    return at.error("shape") << "expected a shape that is known, got "
                             << formatType(typeOf(at.input(1)));
  RankedTensorType type = typeOf(at.input(0));
  Sizes from = sizesOf(b, at.input(0)), sizes = *target;
  if (from.size() > sizes.size())
    sizes.insert(sizes.begin(), from.begin(),
                 from.begin() + std::int64_t(from.size() - sizes.size()));
  std::size_t missing = sizes.size() - from.size();
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    std::optional<std::int64_t> size = getConstantIntValue(sizes[dim]);
    if (size.value_or(0) < 0)
      return at.error("shape") << "expected sizes of 0 or more, got " << *size;
    if (dim < missing)
      continue;
    std::int64_t own = type.getDimSize(dim - missing);
    if (size == 1)
      sizes[dim] = from[dim - missing];
    else if (size && isStatic(own) && own != 1 && own != *size)
      return at.error("shape")
             << "expected what " << formatType(type)
             << " broadcasts to, got a size of " << *size << " at axis " << dim;
  }
  at.setOutput(0,
               computeElements(b, at.input(0), sizes, type.getElementType(),
                               [](OpBuilder &, Location, ValueRange element) {
                                 return element[0];
                               }));
  return success();
}

//===----------------------------------------------------------------------===//
// Parts of tensors
//===----------------------------------------------------------------------===//

static LogicalResult importConcat(NodeImport &at) {
  RankedTensorType first = typeOf(at.input(0));
  FailureOr<std::optional<std::int64_t>> given = at.integer("axis");
  if (failed(given))
    return failure();
  FailureOr<std::int64_t> axis =
      at.resolveAxis(given->value_or(first.getRank()), first.getRank());
  if (failed(axis))
    return failure();
  SmallVector<Value> inputs;
  Sizes integers;
  bool areIntegers = true;
  for (unsigned i = 0; i < at.numInputs(); ++i) {
    if (!at.input(i))
      return at.error() << "input " << i << " is not there";
    RankedTensorType type = typeOf(at.input(i));
    bool fits = type.getRank() == first.getRank() &&
                type.getElementType() == first.getElementType();
    for (std::int64_t dim = 0; fits && dim < type.getRank(); ++dim)
      fits =
          dim == *axis || mayAgree(type.getDimSize(dim), first.getDimSize(dim));
    if (!fits)
      return at.error() << "input " << i << ": expected what fits to "
                        << formatType(first) << " beside axis " << *axis
                        << ", got " << formatType(type);
    inputs.push_back(at.input(i));
    std::optional<Sizes> some = findIntegers(at.input(i));
    areIntegers = areIntegers && some;
    if (some)
      integers.append(*some);
  }
  if (areIntegers) {
    at.setOutput(
        0, createIntegers(at.b, integers,
                          RankedTensorType::get(std::int64_t(integers.size()),
                                                first.getElementType())));
    return success();
  }
  at.setOutput(0, inputs.size() == 1 ? inputs[0]
                                     : concatenate(at.b, *axis, inputs));
  return success();
}

static Value createSlice(Builder &b, Value tensor, std::int64_t axis,
                         OpFoldResult first, OpFoldResult size,
                         std::int64_t step = 1) {
  Sizes sizes = sizesOf(b, tensor);
  Sizes offsets(sizes.size(), b.getIndexAttr(0));
  Sizes strides(sizes.size(), b.getIndexAttr(1));
  offsets[std::size_t(axis)] = first;
  sizes[std::size_t(axis)] = size;
  if (getConstantIntValue(size) == 0) // A slice may not begin at the end.
    return createEmpty(b, sizes, typeOf(tensor).getElementType());
  strides[std::size_t(axis)] = b.getIndexAttr(step);
  return mlir::tensor::ExtractSliceOp::create(b, tensor, offsets, sizes,
                                              strides);
}

static LogicalResult importSplit(NodeImport &at) {
  RankedTensorType type = typeOf(at.input(0));
  FailureOr<std::int64_t> axis = at.axis("axis", 0, type.getRank());
  FailureOr<std::optional<std::int64_t>> count = at.integer("num_outputs");
  if (failed(axis) || failed(count))
    return failure();
  std::int64_t size = type.getDimSize(*axis);
  auto parts = std::int64_t(at.numOutputs());
  if (!isStatic(size))
    return at.error("input") << "expected a static size at axis " << *axis
                             << ", got " << formatType(type);
  SmallVector<std::int64_t> sizes;
  if (at.input(1)) {
    FailureOr<SmallVector<std::int64_t>> given = readIntegers(at, 1, "split");
    if (failed(given))
      return failure();
    sizes = *given;
  } else {
    if (count->value_or(parts) != parts || parts == 0)
      return at.error() << "attribute 'num_outputs': expected " << parts
                        << ", the number of outputs, got " << **count;
    std::int64_t part = llvm::divideCeil(size, parts);
    for (std::int64_t left = size; std::int64_t(sizes.size()) < parts;
         left -= part)
      sizes.push_back(std::clamp<std::int64_t>(left, 0, part));
  }
  std::int64_t sum = 0;
  bool fits = std::int64_t(sizes.size()) == parts;
  for (std::int64_t part : sizes) {
    fits = fits && part >= 0 && part <= size;
    sum += fits ? part : 0;
  }
  if (!fits || sum != size)
    return at.error("split") << "expected " << parts << " sizes of which the "
                             << "sum is " << size;
  std::int64_t first = 0;
  for (auto [index, part] : llvm::enumerate(sizes)) {
    if (at.wantsOutput(unsigned(index)))
      at.setOutput(unsigned(index), createSlice(at.b, at.input(0), *axis,
                                                at.b.getIndexAttr(first),
                                                at.b.getIndexAttr(part)));
    first += part;
  }
  return success();
}

/// The first of the elements of a slice of a dimension, and how many they are.
static FailureOr<std::pair<OpFoldResult, OpFoldResult>>
findPart(const NodeImport &at, OpFoldResult size, std::int64_t start,
         OpFoldResult end, std::int64_t step) {
  Builder &b = at.b;
  std::optional<std::int64_t> whole = getConstantIntValue(size);
  std::optional<std::int64_t> last = getConstantIntValue(end);
  if (whole && last) {
    auto clamp = [&](std::int64_t place) {
      return std::clamp<std::int64_t>(place < 0 ? place + *whole : place, 0,
                                      *whole);
    };
    std::int64_t from = clamp(start), to = std::max(from, clamp(*last));
    return std::pair<OpFoldResult, OpFoldResult>(
        b.getIndexAttr(from),
        b.getIndexAttr(llvm::divideCeil(to - from, step)));
  }
  // The end is one, a size, or that of the tensor.
  constexpr std::int64_t far = std::int64_t(1) << 40;
  if (start < 0 || step != 1 || last.value_or(0) < 0)
    return at.error() << "a slice of a dynamic size is imported only from a "
                         "place that counts from the beginning, with a step "
                         "of 1";
  if (last.value_or(0) >= far) {
    if (start == 0)
      return std::pair(OpFoldResult(b.getIndexAttr(0)), size);
    end = size;
  }
  Value to = toIndex(b, size);
  if (end != size)
    to = mlir::arith::MinSIOp::create(b, toIndex(b, end), to);
  if (start == 0)
    return std::pair<OpFoldResult, OpFoldResult>(b.getIndexAttr(0), to);
  // No more than there are.
  Value from = mlir::arith::MinSIOp::create(
      b, mlir::arith::ConstantIndexOp::create(b, start), to);
  return std::pair<OpFoldResult, OpFoldResult>(
      from, mlir::arith::SubIOp::create(b, to, from).getResult());
}

static LogicalResult importSlice(NodeImport &at) {
  Builder &b = at.b;
  RankedTensorType type = typeOf(at.input(0));
  FailureOr<SmallVector<std::int64_t>> starts = readIntegers(at, 1, "starts");
  if (failed(starts))
    return failure();
  std::optional<Sizes> ends = findIntegers(at.input(2));
  if (!ends)
    return at.error("ends") << "expected integers that are known, got "
                            << formatType(typeOf(at.input(2)));
  auto axes =
      llvm::to_vector(llvm::seq<std::int64_t>(0, std::int64_t(starts->size())));
  SmallVector<std::int64_t> steps(starts->size(), 1);
  for (auto [index, name, list] :
       {std::tuple(3U, StringRef("axes"), &axes),
        std::tuple(4U, StringRef("steps"), &steps)}) {
    if (!at.input(index))
      continue;
    FailureOr<SmallVector<std::int64_t>> given = readIntegers(at, index, name);
    if (failed(given))
      return failure();
    *list = *given;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    return at.error() << "expected as many starts, ends, axes and steps";
  Value value = at.input(0);
  for (auto [start, end, axis, step] :
       llvm::zip_equal(*starts, *ends, axes, steps)) {
    FailureOr<std::int64_t> dim = at.resolveAxis(axis, type.getRank());
    if (failed(dim))
      return failure();
    if (step < 1)
      return at.error("steps") << "expected positive steps, got " << step;
    FailureOr<std::pair<OpFoldResult, OpFoldResult>> part =
        findPart(at, sizeOf(b, value, *dim), start, end, step);
    if (failed(part))
      return failure();
    auto [first, count] = *part;
    auto integers = findIntegers(value);
    if (integers && getConstantIntValue(count)) {
      Sizes some;
      for (std::int64_t i = 0; i < *getConstantIntValue(count); ++i)
        some.push_back(
            (*integers)[std::size_t(*getConstantIntValue(first) + i * step)]);
      value = createIntegers(b, some,
                             RankedTensorType::get(std::int64_t(some.size()),
                                                   type.getElementType()));
    } else {
      value = createSlice(b, value, *dim, first, count, step);
    }
    type = typeOf(value);
  }
  at.setOutput(0, value);
  return success();
}

static LogicalResult importGather(NodeImport &at) {
  Builder &b = at.b;
  RankedTensorType type = typeOf(at.input(0));
  RankedTensorType indexType = typeOf(at.input(1));
  FailureOr<std::int64_t> axis = at.axis("axis", 0, type.getRank());
  if (failed(axis))
    return failure();
  if (!indexType.getElementType().isInteger(64) &&
      !indexType.getElementType().isInteger(32))
    return at.error("indices")
           << "expected int32 or int64, got " << formatType(indexType);
  std::optional<Sizes> integers = findIntegers(at.input(0));
  auto indices = findConstantIntegers(at.input(1));
  if (integers && indices) {
    Sizes some;
    for (std::int64_t index : *indices) {
      FailureOr<std::int64_t> place =
          at.resolveAxis(index, std::int64_t(integers->size()));
      if (failed(place))
        return failure();
      some.push_back((*integers)[std::size_t(*place)]);
    }
    at.setOutput(0,
                 createIntegers(b, some,
                                RankedTensorType::get(indexType.getShape(),
                                                      type.getElementType())));
    return success();
  }
  // Dimensions before the axis, those of the indices, and those after it.
  Sizes sizes = sizesOf(b, at.input(0));
  OpFoldResult whole = sizes[std::size_t(*axis)];
  Sizes result(sizes.begin(), sizes.begin() + *axis);
  result.append(sizesOf(b, at.input(1)));
  result.append(sizes.begin() + *axis + 1, sizes.end());
  Value count = toIndex(b, whole);
  at.setOutput(
      0, computeElements(
             b, {}, result, type.getElementType(),
             [&](OpBuilder &body, Location loc, ValueRange) {
               SmallVector<Value> loops;
               for (std::size_t i = 0; i < result.size(); ++i)
                 loops.push_back(
                     mlir::linalg::IndexOp::create(body, loc, std::int64_t(i)));
               ArrayRef<Value> all = loops;
               Value index = mlir::arith::IndexCastOp::create(
                   body, loc, body.getIndexType(),
                   mlir::tensor::ExtractOp::create(
                       body, loc, at.input(1),
                       all.slice(std::size_t(*axis),
                                 std::size_t(indexType.getRank())))
                       .getResult());
               // Negative ones count from the end.
               Value zero = mlir::arith::ConstantIndexOp::create(body, loc, 0);
               Value isNegative = mlir::arith::CmpIOp::create(
                   body, loc, mlir::arith::CmpIPredicate::slt, index, zero);
               Value fromEnd =
                   mlir::arith::AddIOp::create(body, loc, index, count);
               index = mlir::arith::SelectOp::create(body, loc, isNegative,
                                                     fromEnd, index);
               SmallVector<Value> place(all.take_front(std::size_t(*axis)));
               place.push_back(index);
               llvm::append_range(place, all.drop_front(std::size_t(
                                             *axis + indexType.getRank())));
               return mlir::tensor::ExtractOp::create(body, loc, at.input(0),
                                                      place)
                   .getResult();
             }));
  return success();
}

ArrayRef<Operator> attn::onnx::getShapeOperators() {
  static const Operator operators[] = {
      {"", "Constant", 13, newestOpset, 0, 0, 1, importConstant},
      {"", "ConstantOfShape", 9, newestOpset, 1, 1, 1, importConstantOfShape},
      {"", "Shape", 13, newestOpset, 1, 1, 1, importShape},
      {"", "Reshape", 13, newestOpset, 2, 2, 1, importReshape},
      {"", "Flatten", 13, newestOpset, 1, 1, 1, importFlatten},
      {"", "Squeeze", 13, newestOpset, 1, 2, 1, importSqueeze},
      {"", "Unsqueeze", 13, newestOpset, 2, 2, 1, importUnsqueeze},
      {"", "Transpose", 13, newestOpset, 1, 1, 1, importTranspose},
      {"", "Expand", 13, newestOpset, 2, 2, 1, importExpand},
      {"", "Concat", 13, newestOpset, 1, 256, 1, importConcat},
      {"", "Split", 13, newestOpset, 1, 2, 64, importSplit},
      {"", "Slice", 13, newestOpset, 3, 5, 1, importSlice},
      {"", "Gather", 13, newestOpset, 2, 2, 1, importGather}};
  return operators;
}
