//===- TensorConversion.cpp - Tensors from C ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/TensorConversion.h"

using namespace attn;
using namespace attn::support;

static_assert(
    int(ElementType::f64) == ATTN_F64 && int(ElementType::f32) == ATTN_F32 &&
    int(ElementType::f16) == ATTN_F16 && int(ElementType::bf16) == ATTN_BF16 &&
    int(ElementType::i64) == ATTN_I64 && int(ElementType::i32) == ATTN_I32 &&
    int(ElementType::i16) == ATTN_I16 && int(ElementType::i8) == ATTN_I8 &&
    int(ElementType::i1) == ATTN_I1 &&
    int(ElementType::f8e4m3fn) == ATTN_F8E4M3FN &&
    int(ElementType::f8e5m2) == ATTN_F8E5M2 &&
    int(lastElementType) == ATTN_F8E5M2);

std::string support::findProblem(const attn_tensor *tensor) {
  if (!tensor)
    return "the attn_tensor is null";
  if (tensor->type < ATTN_F64 || tensor->type > int(lastElementType))
    return "there is no element type " + std::to_string(int(tensor->type));
  if (tensor->rank < 0 || tensor->rank > TensorView::maxRank)
    return "rank is " + std::to_string(tensor->rank) + ", expected 0 to " +
           std::to_string(TensorView::maxRank);
  if (tensor->rank > 0 && !tensor->sizes)
    return "sizes are null";
  return {};
}

TensorView support::makeView(const attn_tensor &tensor, bool readOnly) {
  auto type = ElementType(tensor.type);
  std::span sizes(tensor.sizes, std::size_t(tensor.rank));
  if (!tensor.strides)
    return {tensor.data, type, sizes, readOnly};
  return {tensor.data, type, sizes, std::span(tensor.strides, sizes.size()),
          readOnly};
}
