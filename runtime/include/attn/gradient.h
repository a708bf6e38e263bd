//===- gradient.h - Gradients of a variant ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_H
#define ATTN_GRADIENT_H

#include "attn/error.h"
#include "attn/export.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Which gradients of a function, or tangents, there are to be.
struct GradientOptions {
  /// With respect to the arguments of these names, without '%'; all of floats
  /// if there are none.
  std::vector<std::string> of = {};
  /// Numbers of the results whose gradients are given, or whose tangents there
  /// are to be; all of floats if there are none.
  std::vector<unsigned> results = {};
  /// What the function gave is given, too, and not computed again where that is
  /// enough, as the output and the log-sum-exp of an attention are.
  bool saved = false;
  /// Function to differentiate, without '@'. Empty: the module's only public
  /// one.
  std::string entry = {};
  /// Name of the source text in diagnostics.
  std::string fileName = "<string>";
};

/// The gradient of a function as IR, to compile and to run like any other. Its
/// only public function takes the arguments of the function, then, if they are
/// `saved`, its results `%result` (`%result_0` and so on of several), and then
/// the gradients `%gradient` (`%gradient_0` and so on) of a number with respect
/// to results; it gives the gradients of that number with respect to arguments,
/// in the order of `of`.
///
/// Differentiated are attention with any score and mask, multi-token attention,
/// layers (`attn.multi_head_attention`, rotation, projections with weights of
/// floats, norms of heads, dropout), products of matrices and elementwise
/// operations; not caches. An error carries the MLIR diagnostics, with the
/// place of what has no gradient.
///
///     Expected<std::string> text = attention.text();
///     Expected<std::string> gradient = differentiate(*text, {.of =
///     {"query"}}); Expected<Kernel> kernel = engine.compile(*gradient);
///
/// Runs on a thread of Attn's own, as compiling does.
ATTN_EXPORT Expected<std::string>
differentiate(std::string_view text, const GradientOptions &options = {});

/// The tangent of a function as IR, by forward-mode differentiation: how fast
/// its results move while its arguments do. Its only public function takes the
/// arguments of the function, then, if they are `saved`, its results, and then
/// a tangent of each argument in `of`, of its type, such as `%query_tangent` of
/// `%query`; it gives the tangents of results.
///
/// Differentiated is what `differentiate` does, and what that gives: the
/// tangent of a gradient is the product of the Hessian and a vector. What has
/// no rule of its own is computed at the speed of the reference, as attention
/// in a gradient is and multi-token attention, with a remark.
///
///     Expected<std::string> gradient = differentiate(text);
///     Expected<std::string> product = differentiateForward(*gradient);
ATTN_EXPORT Expected<std::string>
differentiateForward(std::string_view text,
                     const GradientOptions &options = {});

} // namespace attn

#endif // ATTN_GRADIENT_H
