//===- ShardAttention.cpp - Functions of one rank -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A pass of our own on upstream's annotations, and not its ShardingInterface:
// in 22.1, that says by iterator types, indexing maps and one reduction how an
// op is split. An attention is reduced over keys by a state of two tensors, in
// an order that must not change, reads the numbers of its rows in regions, and
// sends what these let be seen; its partition() gets no sizes, of which ours
// may be dynamic.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Sharding/LocalAttention.h"
#include "lib/Sharding/Passes.h"
#include "lib/Sharding/Sharding.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SHARDATTENTION
#include "lib/Sharding/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The axes along which an attention is split, and in which order its rows.
struct Placement {
  int64_t batch, heads, queries, keys;
  bool isZigzag;
};

class FunctionSharding {
public:
  FunctionSharding(func::FuncOp func, Annotations annotations)
      : func(func), annotations(std::move(annotations)),
        b(func.getLoc(), OpBuilder::atBlockBegin(&func.getBody().front())) {}

  FailureOr<FunctionShards> run() {
    FunctionShards shards{annotations.grid, {}, {}};
    func.walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops)
      if (failed(place(op)))
        return failure();
    for (BlockArgument argument : func.getArguments()) {
      shards.arguments.push_back(getSplit(argument));
      if (failed(verifyUses(argument)))
        return failure();
    }
    for (const auto &[value, split] : annotations.splits)
      if (!isa<BlockArgument>(value) && !value.getDefiningOp<AttentionOp>())
        return emitError(value.getLoc(),
                         "attn-shard covers annotations of arguments and of "
                         "results of attn.attention");
    auto returned = cast<func::ReturnOp>(func.getBody().back().getTerminator());
    for (Value result : returned.getOperands())
      shards.results.push_back(getSplit(result));
    if (failed(makeArgumentsLocal()))
      return failure();
    b.setInsertionPointToStart(&func.getBody().front());
    emitExtents();
    for (AttentionOp op : ops)
      if (placements.contains(op))
        replace(op);
    func.setType(FunctionType::get(func.getContext(),
                                   func.getBody().getArgumentTypes(),
                                   returned.getOperandTypes()));
    return shards;
  }

private:
  TensorSplit getSplit(Value value) {
    return isa<RankedTensorType>(value.getType()) ? annotations.getSplit(value)
                                                  : TensorSplit();
  }
  /// Whether ranks have two pieces of what attention reads of a dimension.
  bool isZigzag(BlockArgument argument, unsigned dim) {
    return dim == kRows && getSplit(argument).isZigzag;
  }

  LogicalResult place(AttentionOp op);
  LogicalResult verifyOperands(AttentionOp op, const Placement &placement);
  LogicalResult verifyUses(BlockArgument argument);
  LogicalResult makeArgumentsLocal();
  void emitExtents();
  void emitGather(int64_t axis);
  void replace(AttentionOp op);

  /// Whether an argument is query, key or value of what is split.
  bool isExchanged(BlockArgument argument) const {
    return llvm::any_of(argument.getUses(), [&](OpOperand &use) {
      return placements.contains(use.getOwner()) && use.getOperandNumber() < 3;
    });
  }

  int64_t getNumRanks(int64_t axis) const {
    return axis == kWhole ? 1 : annotations.grid.shape[axis];
  }
  Value getSelf(int64_t axis) {
    if (axis == kWhole)
      return b.index(0);
    Value &self = selves[axis];
    if (!self)
      self = RankIndexOp::create(b, b.getIndexType(),
                                 uint64_t(annotations.grid.getStride(axis)),
                                 uint64_t(getNumRanks(axis)));
    return self;
  }

  func::FuncOp func;
  Annotations annotations;
  IndexBuilder b;
  SmallVector<AttentionOp> ops;
  DenseMap<Operation *, Placement> placements;
  /// Of the arguments that are split, before that.
  DenseMap<Value, RankedTensorType> wholeTypes;
  DenseMap<std::pair<Value, unsigned>, Extent> extents;
  DenseMap<int64_t, Value> selves;
};

} // namespace

static std::string describe(const TensorSplit &split) {
  std::string text = "[";
  for (auto [dim, axis] : llvm::enumerate(split.axes))
    text += (dim ? ", [" : "[") + (axis == kWhole ? "" : std::to_string(axis)) +
            "]";
  return text + (split.isZigzag ? "] {attn.zigzag}" : "]");
}

LogicalResult FunctionSharding::place(AttentionOp op) {
  TensorSplit query = getSplit(op.getQuery()), key = getSplit(op.getKey()),
              value = getSplit(op.getValue());
  Placement placement{query[kBatch], query[kHeads], query[kRows], key[kRows],
                      query.isZigzag || key.isZigzag};
  auto expect = [&](int64_t rows) {
    return TensorSplit{{placement.batch, placement.heads, rows, kWhole},
                       placement.isZigzag};
  };
  TensorSplit result = expect(placement.queries);
  if (query.isSplit() || key.isSplit() || value.isSplit()) {
    if (placement.isZigzag && placement.queries != placement.keys)
      return op.emitOpError("expected attn.zigzag of rows of query, key and "
                            "value along one axis, got query with "
                            "split_axes ")
             << describe(query) << " and key with " << describe(key);
    for (auto [split, what] :
         {std::pair(&query, "query"), std::pair(&key, "key"),
          std::pair(&value, "value")}) {
      TensorSplit expected = expect(
          what == StringRef("query") ? placement.queries : placement.keys);
      if (*split != expected)
        return op.emitOpError("expected ")
               << what << " with split_axes " << describe(expected)
               << ", as query and key have them, got " << describe(*split);
    }
    if (failed(verifyOperands(op, placement)))
      return failure();
    placements[op] = placement;
  }
  for (auto [number, value] : llvm::enumerate(op.getResults())) {
    TensorSplit expected(result);
    if (number == 1)
      expected.axes.pop_back();
    auto [entry, isNew] = annotations.splits.try_emplace(value, expected);
    if (!isNew && entry->second != expected)
      return op.emitOpError("expected result ")
             << number << " with split_axes " << describe(expected) << ", got "
             << describe(entry->second);
  }
  return success();
}

LogicalResult FunctionSharding::verifyOperands(AttentionOp op,
                                               const Placement &placement) {
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
    if (getSplit(operand).isSplit() && !isa<BlockArgument>(operand))
      return op.emitOpError("expected what is split to be arguments of the "
                            "function");
  for (auto [axis, other] : {std::pair(placement.batch, placement.heads),
                             std::pair(placement.batch, placement.queries),
                             std::pair(placement.batch, placement.keys),
                             std::pair(placement.heads, placement.queries),
                             std::pair(placement.heads, placement.keys)})
    if (axis != kWhole && axis == other)
      return op.emitOpError("expected an axis of the grid to split one of "
                            "batch, heads and rows, got axis ")
             << axis << " for two";
  int64_t ranks = getNumRanks(placement.heads);
  if (op.getNumKeyValueHeads() % ranks != 0)
    return op.emitOpError("expected key/value heads that ")
           << ranks << " ranks can share evenly, got "
           << op.getNumKeyValueHeads();
  if (op.isPacked() && placement.batch != kWhole)
    return op.emitOpError("expected a packed batch to be whole, or split by "
                          "heads or rows");
  if (Value sink = op.getSink();
      sink && cast<RankedTensorType>(sink.getType()).getRank() != 1)
    return op.emitOpError("with a sink for each row is not covered by "
                          "attn-shard");
  for (OpOperand &operand : op->getOpOperands())
    if (!llvm::is_contained({op.getQuery(), op.getKey(), op.getValue()},
                            operand.get()) &&
        getSplit(operand.get()).isSplit())
      return op.emitOpError("expected captured tensors, sinks, offsets and "
                            "lengths whole on every rank, got operand ")
             << operand.getOperandNumber() << " with split_axes "
             << describe(getSplit(operand.get()));
  return success();
}

LogicalResult FunctionSharding::verifyUses(BlockArgument argument) {
  if (!getSplit(argument).isSplit())
    return success();
  for (OpOperand &use : argument.getUses()) {
    Operation *user = use.getOwner();
    auto op = dyn_cast<AttentionOp>(user);
    bool isMain = op && use.getOperandNumber() < 3;
    auto dim = dyn_cast<tensor::DimOp>(user);
    if (!isMain && !(dim && dim.getConstantIndex()))
      return user->emitOpError("may not use argument #")
             << argument.getArgNumber()
             << ", which is split: attn-shard covers query, key and value of "
                "attn.attention";
  }
  for (AttentionOp op : ops)
    for (Value result : op.getResults())
      for (Operation *user : result.getUsers())
        if (getSplit(result).isSplit() && !isa<func::ReturnOp>(user))
          return user->emitOpError(
              "may not use a result of attention that is split: attn-shard "
              "covers functions that return it");
  return success();
}

LogicalResult FunctionSharding::makeArgumentsLocal() {
  for (BlockArgument argument : func.getArguments()) {
    TensorSplit split = getSplit(argument);
    if (!split.isSplit())
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    wholeTypes[argument] = type;
    auto shape = llvm::to_vector(type.getShape());
    for (auto [dim, axis] : llvm::enumerate(split.axes)) {
      int64_t ranks = getNumRanks(axis);
      int64_t slots = isZigzag(argument, unsigned(dim)) ? 2 : 1;
      if (ShapedType::isDynamic(shape[dim]))
        continue;
      if (shape[dim] % (slots * ranks) != 0)
        return func.emitError("argument #")
               << argument.getArgNumber() << ": expected dimension " << dim
               << " to be a multiple of the " << ranks << " ranks"
               << (slots == 2 ? ", with two pieces each," : "") << " of axis "
               << axis << " of @" << annotations.grid.name << ", got "
               << shape[dim]
               << "; a dynamic one (?) may have parts of different sizes";
      shape[dim] /= ranks;
    }
    argument.setType(type.clone(shape));
  }
  return success();
}

/// Exchanges the dynamic sizes along an axis of what attention reads.
void FunctionSharding::emitGather(int64_t axis) {
  SmallVector<std::pair<BlockArgument, unsigned>> dims;
  for (BlockArgument argument : func.getArguments())
    if (isExchanged(argument))
      for (unsigned dim : {kBatch, kRows})
        if (cast<RankedTensorType>(argument.getType()).isDynamicDim(dim))
          dims.push_back({argument, dim});
  bool splitsAny = llvm::any_of(
      dims, [&](auto dim) { return getSplit(dim.first)[dim.second] == axis; });
  // What is exchanged along the axis of keys has to fit together.
  bool splitsKeys = llvm::any_of(
      placements, [&](const auto &entry) { return entry.second.keys == axis; });
  if (!splitsAny && (!splitsKeys || dims.empty()))
    return;
  Type i64 = b.getI64Type();
  SmallVector<Value> numbers;
  for (auto [argument, dim] : dims)
    numbers.push_back(
        arith::IndexCastOp::create(b, i64, b.dim(argument, int64_t(dim))));
  int64_t ranks = getNumRanks(axis), count = int64_t(dims.size());
  Value own = tensor::FromElementsOp::create(b, numbers);
  Value all = b.empty({ranks, count}, i64);
  all = AllGatherOp::create(b, all.getType(), own, all,
                            uint64_t(annotations.grid.getStride(axis)))
            .getResult();
  auto load = [&](Value rank, int64_t number) {
    return b.loadIndex(all, {rank, b.index(number)});
  };
  for (auto [number, dim] : llvm::enumerate(dims)) {
    auto [argument, dimension] = dim;
    if (getSplit(argument)[dimension] != axis) {
      Value size = b.dim(argument, int64_t(dimension));
      Value isSame =
          b.loop(0, ranks, 1, b.boolean(true), [&](Value rank, Value isSame) {
            return b.bitAnd(isSame, b.isEqual(load(rank, number), size));
          });
      cf::AssertOp::create(b, isSame,
                           ("argument #" + Twine(argument.getArgNumber()) +
                            ": expected one size of dimension " +
                            Twine(dimension) +
                            ", which is not split along axis " + Twine(axis) +
                            " of @" + annotations.grid.name + ", on its ranks")
                               .str());
      continue;
    }
    bool hasTwo = isZigzag(argument, dimension);
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
    Extent &extent = extents[{argument, dimension}];
    extent.bounds = bounds;
    extent.total = b.load(bounds, b.index(pieces));
    extent.self = getSelf(axis);
  }
}

void FunctionSharding::emitExtents() {
  // What the function asks for are sizes of the whole.
  SmallVector<tensor::DimOp> asked;
  for (BlockArgument argument : func.getArguments())
    if (wholeTypes.contains(argument))
      for (Operation *user : argument.getUsers())
        if (auto dim = dyn_cast<tensor::DimOp>(user))
          asked.push_back(dim);
  for (int64_t axis = 0; axis < int64_t(annotations.grid.shape.size()); ++axis)
    emitGather(axis);
  for (BlockArgument argument : func.getArguments()) {
    if (!wholeTypes.contains(argument))
      continue;
    TensorSplit split = getSplit(argument);
    for (unsigned dim = 0; dim < split.axes.size(); ++dim) {
      Extent &extent = extents[{argument, dim}];
      if (extent.bounds)
        continue;
      extent.self = getSelf(split[dim]);
      Value part = b.dim(argument, dim);
      extent.share = isZigzag(argument, dim) ? b.div(part, 2) : part;
      int64_t whole = wholeTypes[argument].getDimSize(dim);
      extent.total = ShapedType::isDynamic(whole) ? part : b.index(whole);
    }
  }
  for (tensor::DimOp dim : asked) {
    auto key = std::pair(dim.getSource(), unsigned(*dim.getConstantIndex()));
    dim.getResult().replaceAllUsesWith(extents.at(key).total);
    dim.erase();
  }
}

void FunctionSharding::replace(AttentionOp op) {
  Placement placement = placements[op];
  auto get = [&](Value operand, unsigned dim) {
    if (auto found = extents.find({operand, dim}); found != extents.end())
      return found->second;
    Value size = b.dim(operand, dim);
    return Extent{size, size, {}, b.index(0)};
  };
  b.setLoc(op.getLoc());
  b.setInsertionPoint(op);
  AttentionExtents of{
      get(op.getQuery(), kBatch),     get(op.getQuery(), kHeads),
      get(op.getQuery(), kRows),      get(op.getKey(), kRows),
      getNumRanks(placement.queries), getNumRanks(placement.keys)};
  if (placement.keys != kWhole) {
    of.keyStride = annotations.grid.getStride(placement.keys);
    of.isRing = placement.keys == placement.queries;
    of.isZigzag = placement.isZigzag;
  }
  SmallVector<Value> results = emitLocalAttention(b, op, of);
  for (auto [result, part] : llvm::zip_equal(op.getResults(), results))
    result.replaceAllUsesWith(part);
  op.erase();
}

FailureOr<FunctionShards> attn::makeLocal(func::FuncOp func, int64_t ranks) {
  FailureOr<Annotations> annotations = readAnnotations(func, ranks);
  if (failed(annotations))
    return failure();
  if (!func.getBody().hasOneBlock() && !annotations->empty())
    return func.emitError("attn-shard covers functions of one block");
  dropAnnotations(func);
  return FunctionSharding(func, std::move(*annotations)).run();
}

namespace {
struct ShardAttention : attn::impl::ShardAttentionBase<ShardAttention> {
  using ShardAttentionBase::ShardAttentionBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      FailureOr<Annotations> annotations = readAnnotations(func, ranks);
      if (failed(annotations) ||
          (annotations->empty() && !split.empty() &&
           failed(annotate(func, ranks, split))) ||
          failed(makeLocal(func, ranks)))
        return signalPassFailure();
    }
  }
};
} // namespace
