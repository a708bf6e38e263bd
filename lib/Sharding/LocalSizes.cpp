//===- LocalSizes.cpp - Which parts ranks have ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/LocalSizes.h"
#include "dialect/Sharding/RankOps.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

LocalSizes::LocalSizes(func::FuncOp func, const Splits &splits)
    : func(func), splits(splits) {
  auto keep = [&](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      wholeTypes[value] = type;
  };
  llvm::for_each(func.getArguments(), keep);
  DenseSet<unsigned> ofAttention;
  func.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), keep);
    TypeSwitch<Operation *>(op).Case<AttentionOp, AttentionBackwardOp>(
        [&](auto attention) {
          // What is exchanged along the axis of keys has to fit together.
          AttentionAxes axes = splits.getAxes(attention);
          if (axes.keys != kWhole)
            keyAxes.push_back(axes.keys);
          if (!splits.isSplit(attention))
            return;
          for (Value operand :
               {attention.getQuery(), attention.getKey(), attention.getValue()})
            for (int64_t dim : {kBatch, kRows})
              if (std::optional<unsigned> number =
                      splits.findClass(operand, dim))
                ofAttention.insert(*number);
        });
  });
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
      unsigned number = *splits.findClass(argument, dim);
      if (!type.isDynamicDim(dim) || (splits.getAxis(argument, dim) == kWhole &&
                                      !ofAttention.contains(number)))
        continue;
      Source source{argument, dim};
      if (sourceOfClass.try_emplace(number, source).second)
        sources.push_back(source);
      else
        others.push_back({source, sourceOfClass.at(number)});
    }
  }
}

Value LocalSizes::getSelf(IndexBuilder &b, int64_t axis) {
  if (axis == kWhole)
    return b.index(0);
  Value &self = selves[axis];
  if (!self) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&func.getBody().front());
    self = RankIndexOp::create(b, b.getIndexType(),
                               uint64_t(splits.getGrid().getStride(axis)),
                               uint64_t(splits.getNumRanks(axis)));
  }
  return self;
}

void LocalSizes::emitExchange(IndexBuilder &b) {
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < int64_t(splits.getGrid().shape.size()); ++axis)
    if (isExchanged(axis))
      axes.push_back(axis);
  if (axes.empty())
    return;
  for (auto [source, first] : others) {
    Value isSame = b.isEqual(b.dim(source.argument, source.dim),
                             b.dim(first.argument, first.dim));
    cf::AssertOp::create(b, isSame,
                         ("argument #" + Twine(source.argument.getArgNumber()) +
                          ": expected dimension " + Twine(source.dim) +
                          " to be dimension " + Twine(first.dim) +
                          " of argument #" +
                          Twine(first.argument.getArgNumber()))
                             .str());
  }
  for (int64_t axis : axes)
    emitExchange(b, axis);
  last = &*std::prev(b.getInsertionPoint());
}

void LocalSizes::goAfter(IndexBuilder &b, ArrayRef<Value> values) {
  Operation *latest = last;
  SmallVector<Value> all(values);
  llvm::append_range(all, llvm::make_second_range(selves));
  for (Value value : all)
    if (Operation *op = value.getDefiningOp())
      if (!latest || latest->isBeforeInBlock(op))
        latest = op;
  if (latest)
    b.setInsertionPointAfter(latest);
  else
    b.setInsertionPointToStart(&func.getBody().front());
}

bool LocalSizes::isExchanged(int64_t axis) const {
  bool splitsAny = llvm::any_of(sources, [&](const Source &source) {
    return splits.getAxis(source.argument, source.dim) == axis;
  });
  return splitsAny || (llvm::is_contained(keyAxes, axis) && !sources.empty());
}

/// Exchanges the dynamic sizes along an axis.
void LocalSizes::emitExchange(IndexBuilder &b, int64_t axis) {
  Type i64 = b.getI64Type();
  SmallVector<Value> numbers;
  for (const Source &source : sources)
    numbers.push_back(
        arith::IndexCastOp::create(b, i64, b.dim(source.argument, source.dim)));
  int64_t ranks = splits.getNumRanks(axis), count = int64_t(sources.size());
  Value own = tensor::FromElementsOp::create(b, numbers);
  Value all = b.empty({ranks, count}, i64);
  all = AllGatherOp::create(b, all.getType(), own, all,
                            uint64_t(splits.getGrid().getStride(axis)))
            .getResult();
  auto load = [&](Value rank, int64_t number) {
    return b.loadIndex(all, {rank, b.index(number)});
  };
  for (auto [number, source] : llvm::enumerate(sources)) {
    auto [argument, dimension] = source;
    if (splits.getAxis(argument, dimension) != axis) {
      Value size = b.dim(argument, dimension);
      Value isSame =
          b.loop(0, ranks, 1, b.boolean(true), [&](Value rank, Value isSame) {
            return b.bitAnd(isSame, b.isEqual(load(rank, number), size));
          });
      cf::AssertOp::create(b, isSame,
                           ("argument #" + Twine(argument.getArgNumber()) +
                            ": expected one size of dimension " +
                            Twine(dimension) +
                            ", which is not split along axis " + Twine(axis) +
                            " of @" + splits.getGrid().name + ", on its ranks")
                               .str());
      continue;
    }
    bool hasTwo = splits.isZigzag(argument, dimension);
    int64_t pieces = hasTwo ? 2 * ranks : ranks;
    auto countOf = [&, number = int64_t(number)](Value piece) {
      if (!hasTwo)
        return load(piece, number);
      // The first piece of a rank has the odd row.
      Value isFirst = b.isLess(piece, ranks);
      Value mirrored = b.sub(2 * ranks - 1, piece);
      Value ofBoth = load(b.select(isFirst, piece, mirrored), number);
      return b.div(b.add(ofBoth, b.select(isFirst, 1, 0)), 2);
    };
    auto bounds = tensor::GenerateOp::create(
        b, RankedTensorType::get({pieces + 1}, b.getIndexType()), ValueRange{});
    {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(&bounds.getBody(), {}, b.getIndexType(), b.getLoc());
      Value end = bounds.getBody().getArgument(0);
      Value sum = b.loop(0, end, 1, b.index(0), [&](Value piece, Value sum) {
        return b.add(sum, countOf(piece));
      });
      tensor::YieldOp::create(b, sum);
    }
    ofClass[*splits.findClass(argument, dimension)] = {
        b.load(bounds, b.index(pieces)), {}, bounds, getSelf(b, axis)};
  }
}

Extent LocalSizes::get(IndexBuilder &b, Value value, int64_t dim) {
  int64_t axis = splits.getAxis(value, dim);
  if (axis == kWhole) {
    Value size = b.dim(value, dim);
    return {size, size, {}, b.index(0)};
  }
  int64_t whole = wholeTypes.at(value).getDimSize(dim);
  if (ShapedType::isDynamic(whole))
    return ofClass.at(*splits.findClass(value, dim));
  int64_t slots = splits.isZigzag(value, dim) ? 2 : 1;
  return {b.index(whole),
          b.index(whole / (slots * splits.getNumRanks(axis))),
          {},
          getSelf(b, axis)};
}

OpFoldResult LocalSizes::getCount(IndexBuilder &b, Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(dim))
    return b.getIndexAttr(type.getDimSize(dim));
  if (splits.getAxis(value, dim) == kWhole)
    return b.size(value, dim);
  auto [argument, ofArgument] = sourceOfClass.at(*splits.findClass(value, dim));
  return b.size(argument, ofArgument);
}

Value LocalSizes::getIndexOfWhole(IndexBuilder &b, Value value, int64_t dim,
                                  Value i) {
  std::optional<int64_t> zigzagRanks;
  if (splits.isZigzag(value, dim))
    zigzagRanks = splits.getNumRanks(splits.getAxis(value, dim));
  return get(b, value, dim).at(b, i, zigzagRanks);
}
