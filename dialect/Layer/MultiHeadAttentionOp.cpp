//===- MultiHeadAttentionOp.cpp - attn.multi_head_attention ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/DestinationStyle.h"
#include "dialect/Shared/OperandGroups.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

ProjectionMap MultiHeadAttentionOp::getMap(OperandRange operands,
                                           StringRef name) {
  ProjectionMap map{Value(), Value(), Value(), name, name, name};
  if (operands.empty())
    return map;
  map.weight = operands[0];
  unsigned next = 1;
  if (getElementTypeOrSelf(map.weight.getType()).isSignlessInteger(8) &&
      next < operands.size())
    map.scales = operands[next++];
  if (next < operands.size())
    map.bias = operands[next];
  return map;
}

SmallVector<MultiHeadAttentionOp::Map> MultiHeadAttentionOp::getMaps() {
  auto widthOf = [](Value tokens) {
    return cast<ShapedType>(tokens.getType()).getDimSize(2);
  };
  // Of numbers up to 2^30 (L1).
  int64_t width = widthOf(getInput()),
          from = getSource() ? widthOf(getSource()) : width,
          queries = int64_t(getQueryHeads() * getKeySize()),
          keys = int64_t(getKeyValueHeads() * getKeySize()),
          values = int64_t(getKeyValueHeads() * getValueSize()),
          outputs = int64_t(getQueryHeads() * getValueSize());
  SmallVector<Map> maps;
  auto add = [&](OperandRange operands, StringRef name, int64_t features,
                 int64_t columns) {
    if (!operands.empty())
      maps.push_back({operands, name, features, columns});
  };
  add(getQkv(), "qkv", width, queries + keys + values);
  add(getQuery(), "query", width, queries);
  add(getKey(), "key", from, keys);
  add(getValue(), "value", from, values);
  add(getOutput(), "output", outputs, widthOf(getOuts()[0]));
  add(getGate(), "gate", width, int64_t(getQueryHeads()) * getGateSize());
  return maps;
}

CacheOperands MultiHeadAttentionOp::getCache(unsigned number) {
  Value scales = getOuts().size() > 3 ? getOuts()[3 + number] : Value();
  return {getOuts()[1 + number],
          scales,
          getLengths(),
          getTable(),
          getRing(),
          "outs",
          "outs"};
}

/// Sizes of finished keys and values (L3).
static void addMemoryConstraints(MultiHeadAttentionOp op, OperandSize input,
                                 SmallVectorImpl<SizeConstraint> &result) {
  OperandSize keys{op.getMemory()[0], 0, "memory"},
      values{op.getMemory()[1], 0, "memory"};
  for (OperandSize rows : {keys, values}) {
    result.push_back({rows, input, "batch size"});
    result.push_back(
        {rows.at(1), {}, "key/value heads", int64_t(op.getKeyValueHeads())});
  }
  result.push_back({values.at(2), keys.at(2), "key/value length"});
  result.push_back({keys.at(3), {}, "size of keys", int64_t(op.getKeySize())});
  result.push_back(
      {values.at(3), {}, "size of values", int64_t(op.getValueSize())});
}

/// Sizes of the weights of norms (L4).
static void addNormConstraints(MultiHeadAttentionOp op,
                               SmallVectorImpl<SizeConstraint> &result) {
  auto add = [&](Value weight, StringRef name, uint64_t heads, uint64_t size) {
    OperandSize of{weight, 0, name};
    int64_t rank = cast<ShapedType>(weight.getType()).getRank();
    if (rank == 2)
      result.push_back({of, {}, "number of heads", int64_t(heads)});
    result.push_back({of.at(rank - 1), {}, "head size", int64_t(size)});
  };
  for (auto [number, weight] : llvm::enumerate(op.getNorms()))
    add(weight, "norms",
        number == 0 ? op.getQueryHeads() : op.getKeyValueHeads(),
        op.getKeySize());
  if (Value weight = op.getOutputNorm())
    add(weight, "output_norm", op.getQueryHeads(), op.getValueSize());
}

SmallVector<SizeConstraint> MultiHeadAttentionOp::getSizeConstraints() {
  OperandSize input{getInput(), 0, "input"}, output{getOuts()[0], 0, "outs"};
  SmallVector<SizeConstraint> result = {
      {output, input, "batch size"},
      {output.at(1), input.at(1), "sequence length"}};
  if (getSource())
    result.push_back({{getSource(), 0, "source"}, input, "batch size"});
  if (hasMemory())
    addMemoryConstraints(*this, input, result);
  for (const Map &map : getMaps())
    addMapConstraints(getMap(map.operands, map.name), map.features, map.columns,
                      result);
  addNormConstraints(*this, result);
  if (!getRope().empty())
    addTableConstraints({getRope()[0], getRope()[1], "rope", "rope"}, result);
  if (getPositions()) {
    OperandSize positions{getPositions(), 0, "positions"};
    result.push_back({positions, input, "batch size"});
    result.push_back({positions.at(1), input.at(1), "sequence length"});
  }
  OperandSize sequences = input;
  if (isPacked()) {
    sequences = {getSequences()[0], 0, "sequences"};
    result.push_back({input, {}, "batch size of packed sequences", 1});
    result.push_back({{getSequences()[1], 0, "sequences"},
                      sequences,
                      "number of sequences + 1"});
  }
  if (getOffset() && isa<ShapedType>(getOffset().getType())) {
    OperandSize offset{getOffset(), 0, "offset"};
    if (isPacked())
      result.push_back({sequences, offset, "number of sequences + 1", 1});
    else
      result.push_back({offset, input, "batch size"});
  }
  if (hasCache()) {
    result.push_back({{getLengths(), 0, "lengths"}, input, "batch size"});
    if (getCounts())
      result.push_back({{getCounts(), 0, "counts"}, input, "batch size"});
    for (auto [number, size] :
         {std::pair(0u, getKeySize()), std::pair(1u, getValueSize())}) {
      CacheOperands cache = getCache(number);
      OperandSize of{cache.cache, 0, cache.cacheName};
      result.push_back({of.at(1),
                        {},
                        "number of key/value heads",
                        int64_t(getKeyValueHeads())});
      result.push_back({of.at(3), {}, "head size", int64_t(size)});
      addCacheConstraints(cache, input, result);
    }
  }
  if (getSink())
    result.push_back({{getSink(), 0, "sink"},
                      {},
                      "number of query heads",
                      int64_t(getQueryHeads())});
  return result;
}
