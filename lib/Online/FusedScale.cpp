//===- FusedScale.cpp - Scales in exponents -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/FusedScale.h"

#include "mlir/IR/Matchers.h"

#include <numbers>

using namespace mlir;
using namespace mlir::attn;

std::optional<double> attn::findFusedScale(OnlineAttentionOp op) {
  FloatAttr scale;
  if (op.hasScore() || !op.getScale() ||
      !matchPattern(op.getScale(), m_Constant(&scale)))
    return std::nullopt;
  double value = scale.getValueAsDouble();
  if (value >= 0x1p-100 && value <= std::numbers::ln2)
    return value;
  return std::nullopt;
}
