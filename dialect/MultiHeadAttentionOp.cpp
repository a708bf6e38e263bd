//===- MultiHeadAttentionOp.cpp - attn.multi_head_attention ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/DestinationStyle.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

static ShapedType getShaped(Value value) {
  return cast<ShapedType>(value.getType());
}

MultiHeadAttentionOp::LinearMap
MultiHeadAttentionOp::getMap(OperandRange operands) {
  LinearMap map;
  if (operands.empty())
    return map;
  map.weight = operands[0];
  unsigned next = 1;
  if (getShaped(map.weight).getElementType().isInteger(8) &&
      next < operands.size())
    map.scales = operands[next++];
  if (next < operands.size())
    map.bias = operands[next];
  return map;
}

int64_t MultiHeadAttentionOp::getGateSize() {
  ArrayRef<int64_t> shape = getShaped(getGate()[0]).getShape();
  uint64_t all = getQueryHeads() * getValueSize();
  // Panels are a few columns wider.
  bool isOfElements =
      shape.size() == 2
          ? uint64_t(shape[1]) == all
          : uint64_t(shape[0]) == llvm::divideCeil(all, uint64_t(shape[2]));
  return isOfElements ? int64_t(getValueSize()) : 1;
}

SmallVector<SizeConstraint> MultiHeadAttentionOp::getSizeConstraints() {
  OperandSize input{getInput(), 0, "input"}, output{getOuts()[0], 0, "outs"};
  SmallVector<SizeConstraint> result = {
      {output, input, "batch size"},
      {output.at(1), input.at(1), "sequence length"}};
  if (getSource())
    result.push_back({{getSource(), 0, "source"}, input, "batch size"});
  if (hasMemory()) {
    OperandSize keys{getMemory()[0], 0, "memory"},
        values{getMemory()[1], 0, "memory"};
    int64_t heads = int64_t(getKeyValueHeads());
    for (OperandSize rows : {keys, values}) {
      result.push_back({rows, input, "batch size"});
      result.push_back({rows.at(1), {}, "key/value heads", heads});
    }
    result.push_back({values.at(2), keys.at(2), "key/value length"});
    result.push_back({keys.at(3), {}, "size of keys", int64_t(getKeySize())});
    result.push_back(
        {values.at(3), {}, "size of values", int64_t(getValueSize())});
  }
  auto perBatch = [&](Value operand, StringRef name) {
    if (operand && isa<ShapedType>(operand.getType()))
      result.push_back({{operand, 0, name}, input, "batch size"});
  };
  perBatch(getOffset(), "offset");
  perBatch(getLengths(), "lengths");
  perBatch(getCounts(), "counts");
  perBatch(getTable(), "table");
  if (hasCache() && !getTable())
    for (Value cache : getOuts().drop_front())
      perBatch(cache, "outs");
  if (hasCache() && getOuts().size() == 5)
    for (int64_t dim : {0, 1, 2})
      for (int64_t number : {1, 2})
        result.push_back({{getOuts()[number + 2], dim, "outs"},
                          {getOuts()[number], dim, "outs"},
                          "size of a cache and its scales"});
  if (getSink())
    result.push_back({{getSink(), 0, "sink"},
                      {},
                      "number of query heads",
                      int64_t(getQueryHeads())});
  return result;
}

LogicalResult
MultiHeadAttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  inferResultTypes(adaptor.getOuts(), types); // L10
  return success();
}

LogicalResult
MultiHeadAttentionOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &reified) {
  reifyDestinationShapes(builder, getLoc(), getOuts(), reified);
  return success();
}

void MultiHeadAttentionOp::getAsmBlockArgumentNames(
    Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  StringRef scoreNames[] = {"s", "b", "h", "p", "j"};
  ArrayRef<StringRef> names(scoreNames);
  if (&region == &getMask())
    names = names.drop_front();
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}
