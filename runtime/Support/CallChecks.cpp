//===- CallChecks.cpp - What is checked before a kernel runs --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/CallChecks.h"
#include "runtime/Support/ByteRange.h"
#include "runtime/Support/CallMessages.h"

#include <algorithm>
#include <array>

using namespace attn;
using namespace attn::support;
using MaybeError = std::optional<Error>;

namespace {
/// Names the argument or result that is being checked, when it is needed.
struct Describe {
  const Signature &signature;
  std::size_t index;
  bool isResult = false;
  std::string operator()() const {
    return isResult ? describeResult(index)
                    : describeArgument(signature, index);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static int bitWidth(ElementType type) {
  return type == ElementType::i1 ? 1 : 8 * int(sizeOf(type));
}

static MaybeError checkScalar(const Parameter &parameter,
                              const Argument &argument, Describe describe) {
  std::string typeName(nameOf(parameter.type));
  if (argument.view())
    return Error{describe() + " is a scalar (" + typeName + "), got a tensor",
                 {}};
  if (isFloat(parameter.type))
    return std::nullopt;
  const std::int64_t *value = argument.integer();
  if (!value)
    return Error{describe() + " is an integer (" + typeName +
                     "), got the floating-point number " +
                     std::to_string(*argument.real()),
                 {}};
  int width = bitWidth(parameter.type);
  // i1 is 0 or 1; the others are signed.
  std::int64_t low =
      width == 1 ? 0 : -1 - std::int64_t((1ull << (width - 1)) - 1);
  std::int64_t high = width == 1 ? 1 : std::int64_t((1ull << (width - 1)) - 1);
  if (*value < low || *value > high)
    return Error{describe() + ": " + std::to_string(*value) + " does not fit " +
                     typeName + " (" + std::to_string(low) + " to " +
                     std::to_string(high) + ")",
                 {}};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Element type, rank and sizes.
static MaybeError checkShape(const Parameter &parameter, const TensorView &view,
                             Describe describe) {
  if (view.type() != parameter.type)
    return Error{describe() + ": element type is " +
                     std::string(nameOf(view.type())) + ", expected " +
                     std::string(nameOf(parameter.type)),
                 {}};
  if (view.rank() < 0 && !view.data())
    return Error{describe() + ": the view has no data: its step is committed, "
                              "or its cache has no such tensor",
                 {}};
  if (view.rank() < 0)
    return Error{describe() + ": the view has more than " +
                     std::to_string(TensorView::maxRank) +
                     " dimensions, or not one stride for each size",
                 {}};
  if (std::size_t(view.rank()) != parameter.shape.size())
    return Error{describe() + ": rank is " + std::to_string(view.rank()) +
                     ", expected " + std::to_string(parameter.shape.size()),
                 {}};
  for (int dim = 0; dim < view.rank(); ++dim) {
    std::int64_t size = view.size(dim), expected = parameter.shape[dim];
    if (expected == Parameter::dynamic ? size >= 0 : size == expected)
      continue;
    return Error{describe() + ": dimension " + std::to_string(dim) + " is " +
                     std::to_string(size) + ", expected " +
                     (expected == Parameter::dynamic
                          ? "0 or more"
                          : std::to_string(expected)),
                 {}};
  }
  return std::nullopt;
}

/// Strides and address, and the bytes that the view covers.
static MaybeError checkMemory(const TensorView &view, Describe describe,
                              ByteRange &range) {
  range = {};
  if (isEmpty(view))
    return std::nullopt;
  if (!view.data())
    return Error{describe() + ": data is null", {}};
  if (!computeByteRange(view, range))
    return Error{describe() + ": the view spans more memory than there is", {}};
  int last = view.rank() - 1;
  if (last >= 0 && view.size(last) > 1 && view.stride(last) != 1)
    return Error{describe() + ": stride of the last dimension is " +
                     std::to_string(view.stride(last)) + ", expected 1",
                 {}};
  std::size_t alignment = sizeOf(view.type());
  if (reinterpret_cast<std::uintptr_t>(view.data()) % alignment != 0)
    return Error{describe() + ": the data's address is not a multiple of " +
                     std::to_string(alignment) + ", the size of " +
                     std::string(nameOf(view.type())),
                 {}};
  return std::nullopt;
}

/// Whether two indices may lead to one address: walking the dimensions from the
/// smallest stride up, each step must lead out of what the last ones covered.
static bool overlapsItself(const TensorView &view) {
  struct Step {
    std::uint64_t stride, size;
  };
  std::array<Step, TensorView::maxRank> storage;
  std::size_t numSteps = 0;
  for (int dim = 0; dim < view.rank(); ++dim)
    if (view.size(dim) > 1)
      storage[numSteps++] = {view.stride(dim) < 0
                                 ? 0 - std::uint64_t(view.stride(dim))
                                 : std::uint64_t(view.stride(dim)),
                             std::uint64_t(view.size(dim))};
  auto steps = std::span(storage).first(numSteps);
  std::sort(steps.begin(), steps.end(),
            [](const Step &a, const Step &b) { return a.stride < b.stride; });
  std::uint64_t covered = 0; // No overflow: the byte range has been computed.
  for (const Step &step : steps) {
    if (step.stride <= covered)
      return true;
    covered += (step.size - 1) * step.stride;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// What a term is a multiple of; nothing if a call has no such thing.
static std::optional<std::int64_t> find(const SizeExpr::Term &term,
                                        std::span<const Argument> arguments) {
  if (std::size_t(term.argument) >= arguments.size())
    return std::nullopt;
  const Argument &argument = arguments[std::size_t(term.argument)];
  if (const std::int64_t *value = argument.integer();
      value && term.dimension < 0)
    return *value;
  if (const TensorView *view = argument.view();
      view && term.dimension >= 0 && term.dimension < view->rank())
    return view->size(term.dimension);
  return std::nullopt;
}

std::optional<std::int64_t>
support::evaluate(const SizeExpr &expr, std::span<const Argument> arguments) {
  std::int64_t result = expr.constant;
  for (const SizeExpr::Term &term : expr.terms) {
    std::optional<std::int64_t> value = find(term, arguments);
    std::int64_t product;
    if (!value || __builtin_mul_overflow(*value, term.coefficient, &product) ||
        __builtin_add_overflow(result, product, &result))
      return std::nullopt;
  }
  return result;
}

static Error describeOverflow(const Signature &signature,
                              const SizeExpr &expr) {
  return {describeSize(signature, expr) + " does not fit 64 bits", {}};
}

static MaybeError checkConstraint(const Signature &signature,
                                  const Signature::Constraint &constraint,
                                  std::span<const Argument> arguments) {
  std::optional<std::int64_t> lhs = evaluate(constraint.lhs, arguments);
  if (!lhs)
    return describeOverflow(signature, constraint.lhs);
  std::optional<std::int64_t> rhs = evaluate(constraint.rhs, arguments);
  if (!rhs)
    return describeOverflow(signature, constraint.rhs);
  if (*lhs != *rhs)
    return describeViolation(signature, constraint, *lhs, *rhs);
  return std::nullopt;
}

Expected<std::int64_t>
support::computeResultSize(const Signature &signature,
                           std::span<const Argument> arguments,
                           std::size_t index, std::size_t dim) {
  const SizeExpr &expr = signature.resultSizes[index][dim];
  std::optional<std::int64_t> size = evaluate(expr, arguments);
  if (!size)
    return describeOverflow(signature, expr);
  if (*size < 0)
    return Error{describeResult(index) + " would have size " +
                     std::to_string(*size) + " in dimension " +
                     std::to_string(dim) + ", which is " +
                     describeSize(signature, expr),
                 {}};
  return *size;
}

//===----------------------------------------------------------------------===//
// The whole call
//===----------------------------------------------------------------------===//

static Error describeCount(const char *what, std::size_t expected,
                           std::size_t got) {
  return {"expected " + std::to_string(expected) + " " + what +
              (expected == 1 ? "" : "s") + ", got " + std::to_string(got),
          {}};
}

MaybeError support::checkArguments(const Signature &signature,
                                   std::span<const Argument> arguments) {
  if (arguments.size() != signature.arguments.size())
    return describeCount("argument", signature.arguments.size(),
                         arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Describe describe = {signature, i};
    const Parameter &parameter = signature.arguments[i];
    if (!parameter.isTensor) {
      if (MaybeError error = checkScalar(parameter, arguments[i], describe))
        return error;
      continue;
    }
    const TensorView *view = arguments[i].view();
    if (!view)
      return Error{describe() + " is a tensor, got a scalar", {}};
    if (MaybeError error = checkShape(parameter, *view, describe))
      return error;
  }
  for (const Signature::Constraint &constraint : signature.constraints)
    if (MaybeError error = checkConstraint(signature, constraint, arguments))
      return error;
  ByteRange range;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const TensorView *view = arguments[i].view())
      if (MaybeError error = checkMemory(*view, {signature, i}, range))
        return error;
  return std::nullopt;
}

bool support::isArgument(const Signature &signature,
                         std::span<const Argument> arguments,
                         std::size_t index) {
  if (arguments.size() != signature.arguments.size())
    return false;
  const TensorView *view = arguments[index].view();
  Describe describe = {signature, index};
  ByteRange range;
  return view && !checkShape(signature.arguments[index], *view, describe) &&
         !checkMemory(*view, describe, range);
}

/// Sizes of a result against what the arguments make them.
static MaybeError checkResultSizes(const Signature &signature,
                                   std::span<const Argument> arguments,
                                   std::size_t index, const TensorView &view) {
  for (int dim = 0; dim < view.rank(); ++dim) {
    Expected<std::int64_t> size =
        computeResultSize(signature, arguments, index, dim);
    if (!size)
      return size.error();
    if (view.size(dim) != *size)
      return Error{
          describeResult(index) + ": dimension " + std::to_string(dim) +
              " is " + std::to_string(view.size(dim)) + ", expected " +
              std::to_string(*size) + " (" +
              describeSize(signature, signature.resultSizes[index][dim]) + ")",
          {}};
  }
  return std::nullopt;
}

/// A result that updates an argument is that argument.
static MaybeError checkUpdated(const TensorView &result,
                               const TensorView &argument,
                               std::size_t argumentIndex, Describe describe) {
  if (result.data() == argument.data() &&
      std::ranges::equal(result.strides(), argument.strides()))
    return std::nullopt;
  return Error{describe() + " updates " +
                   describeArgument(describe.signature, argumentIndex) +
                   " in place: expected the same view, got another address or "
                   "other strides",
               {}};
}

MaybeError support::checkResults(const Signature &signature,
                                 std::span<const Argument> arguments,
                                 std::span<const TensorView> results) {
  if (results.size() != signature.results.size())
    return describeCount("result", signature.results.size(), results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    Describe describe = {signature, i, /*isResult=*/true};
    const TensorView &view = results[i];
    ByteRange range;
    if (MaybeError error = checkShape(signature.results[i], view, describe))
      return error;
    if (MaybeError error = checkResultSizes(signature, arguments, i, view))
      return error;
    if (MaybeError error = checkMemory(view, describe, range))
      return error;
    if (view.readOnly())
      return Error{describe() + ": the view is read-only", {}};
    if (range.begin != range.end && overlapsItself(view))
      return Error{describe() + " overlaps itself: two of its indices share an "
                                "address",
                   {}};
    int updated = signature.results[i].updates;
    if (updated >= 0)
      if (MaybeError error =
              checkUpdated(view, *arguments[std::size_t(updated)].view(),
                           std::size_t(updated), describe))
        return error;
    // Arguments, and results that were checked before.
    auto overlaps = [&](const TensorView *other) {
      ByteRange otherRange;
      return other && computeByteRange(*other, otherRange) &&
             range.overlaps(otherRange);
    };
    for (std::size_t other = 0; other < arguments.size(); ++other)
      if (int(other) != updated && overlaps(arguments[other].view()))
        return Error{
            describe() + " overlaps " + describeArgument(signature, other), {}};
    for (std::size_t other = 0; other < i; ++other)
      if (overlaps(&results[other]))
        return Error{describe() + " overlaps " + describeResult(other), {}};
  }
  return std::nullopt;
}

Expected<std::vector<std::vector<std::int64_t>>>
support::computeResultShapes(const Signature &signature,
                             std::span<const Argument> arguments) {
  if (std::optional<Error> error = checkArguments(signature, arguments))
    return std::move(*error);
  std::vector<std::vector<std::int64_t>> shapes(signature.results.size());
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t dim = 0; dim < signature.resultSizes[i].size(); ++dim) {
      Expected<std::int64_t> size =
          computeResultSize(signature, arguments, i, dim);
      if (!size)
        return std::move(size).error();
      shapes[i].push_back(*size);
    }
  return shapes;
}
