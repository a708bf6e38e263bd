//===- MultiTokenOps.cpp - Multi-token attention: stages and gradients ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What its ops share with attn.attention is beside that: AttentionOp*.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::attn;

/// A size of a kernel, from its last dimension on.
static int64_t getKernelSize(Value kernel, unsigned fromLast) {
  auto type = cast<ShapedType>(kernel.getType());
  return type.getDimSize(unsigned(type.getRank()) - 1 - fromLast);
}

int64_t MultiTokenStages::getQueryHalo() {
  return kernel ? getKernelSize(kernel, 1) - 1 : 0;
}

int64_t MultiTokenStages::getKeyHalo() {
  return kernel ? (getKernelSize(kernel, 0) - 1) / 2 : 0;
}

int64_t MultiTokenStages::getNumMixedHeads() {
  if (kernel && cast<ShapedType>(kernel.getType()).getRank() == 4)
    return getKernelSize(kernel, 2);
  return mixing ? cast<ShapedType>(mixing.getType()).getDimSize(1) : 1;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The stages of `op` that are there, with their names, in the order of the
/// gradients (B2).
static SmallVector<std::pair<Value, StringRef>>
getStages(MultiTokenAttentionBackwardOp op) {
  SmallVector<std::pair<Value, StringRef>> stages = {
      {op.getKernelBefore(), "kernel_before"},
      {op.getMixingBefore(), "mixing_before"},
      {op.getKernelAfter(), "kernel_after"},
      {op.getMixingAfter(), "mixing_after"}};
  llvm::erase_if(stages, [](auto &stage) { return !stage.first; });
  return stages;
}

SmallVector<std::pair<Value, std::string>>
MultiTokenAttentionBackwardOp::getDifferentiated() { // B2
  SmallVector<std::pair<Value, std::string>> of = {
      {getQuery(), "query"}, {getKey(), "key"}, {getValue(), "value"}};
  for (auto [stage, name] : getStages(*this))
    of.push_back({stage, name.str()});
  if (getOfSink())
    of.push_back({getSink(), "sink"});
  for (int64_t number : getOfCaptures())
    of.push_back({getScoreCaptures()[size_t(number)],
                  "capture " + std::to_string(number)});
  return of;
}

unsigned MultiTokenAttentionBackwardOp::getSinkNumber() {
  return 3 + unsigned(getStages(*this).size());
}

MultiTokenAttentionOp
MultiTokenAttentionBackwardOp::createAttention(OpBuilder &builder) {
  Location loc = getLoc();
  SmallVector<Value> outs;
  for (Value like : {getOutputGradient(), getLogSumExpGradient()})
    if (like)
      outs.push_back(tensor::EmptyOp::create(
          builder, loc, tensor::getMixedSizes(builder, loc, like),
          cast<ShapedType>(like.getType()).getElementType()));
  SmallVector<Type> types;
  for (Value out : outs)
    types.push_back(out.getType());
  auto attention = MultiTokenAttentionOp::create(
      builder, loc, types, getQuery(), getKey(), getValue(), outs, getScale(),
      getOffset(), getSink(), getKernelBefore(), getMixingBefore(),
      getKernelAfter(), getMixingAfter(), getDropoutSeed(), getDropoutCall(),
      getScoreCaptures(), getMaskCaptures(), getStaticScaleAttr(),
      getBottomRight(), getDropoutRateAttr());
  for (auto [to, from] :
       llvm::zip(attention->getRegions(), (*this)->getRegions())) {
    IRMapping mapping;
    from.cloneInto(&to, mapping);
  }
  return attention;
}
