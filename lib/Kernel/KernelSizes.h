//===- KernelSizes.h - Which sizes a kernel's callers provide ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_KERNELSIZES_H
#define ATTN_KERNEL_KERNELSIZES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class AffineExpr;
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace mlir::attn {

/// `constant + sum of coefficient * variable`, where a variable is the size of
/// a dimension of a function's argument, or the value of an integer argument.
struct LinearSize {
  struct Variable {
    unsigned argument;
    /// Nothing for the argument's value.
    std::optional<int64_t> dimension;
    auto operator<=>(const Variable &) const = default;
  };

  int64_t constant = 0;
  /// No coefficient is 0, so that equal sums compare equal.
  std::map<Variable, int64_t> coefficients;

  /// Adds `factor * other`. False if a number does not fit.
  [[nodiscard]] bool add(const LinearSize &other, int64_t factor);
  bool operator==(const LinearSize &) const = default;
};

/// The sizes of tensors in a function that are sums over its arguments.
class LinearSizes {
public:
  explicit LinearSizes(func::FuncOp func);

  /// Size of dimension `dim` of the tensor `value`; nothing if it is no sum.
  std::optional<LinearSize> get(Value value, int64_t dim) {
    return compute({value, dim});
  }
  /// The value of an index.
  std::optional<LinearSize> get(Value index) {
    return compute({index, std::nullopt});
  }

private:
  /// A tensor and a dimension, or an index and nothing.
  using ValueDim = std::pair<Value, std::optional<int64_t>>;

  std::optional<LinearSize> compute(const ValueDim &valueDim);
  std::optional<LinearSize> computeFromOperands(const ValueDim &valueDim);
  bool isKnown(Value value, std::optional<int64_t> dim) const;

  /// By value and dimension, -1 for an index. What is here is looked up, not
  /// computed again, so that a long function takes time in proportion.
  DenseMap<std::pair<Value, int64_t>, std::optional<LinearSize>> known;
};

/// What a kernel's callers must know about sizes.
struct KernelSizes {
  /// Two sizes that must be equal in every call. `text` says why, e.g.
  /// "key/value length of attn.attention".
  struct Constraint {
    LinearSize lhs, rhs;
    std::string text;
  };

  /// Of every dimension of every result.
  std::vector<std::vector<LinearSize>> results;
  std::vector<Constraint> constraints;
};

/// Reads the sizes off a prepared function whose results are ranked tensors.
/// Emits an error where a result's size does not follow from the arguments.
FailureOr<KernelSizes> computeKernelSizes(func::FuncOp entry);

} // namespace mlir::attn

#endif // ATTN_KERNEL_KERNELSIZES_H
