//===- SplitVerifier.cpp - Which splits are covered -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Cache/CacheRows.h"
#include "lib/Sharding/Exchange.h"
#include "lib/Sharding/Splits.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::attn;

/// Ops that read some dimensions of tokens, heads or caches as rows.
static bool hasRows(Operation *op) {
  return isa<AttentionOp, AttentionBackwardOp, ProjectionOp, RopeOp, HeadNormOp,
             CacheAppendOp, CacheReadOp, MergeOp>(op);
}

/// The dimension that is that of rows where such an op uses or gives a value;
/// none of weights, and of what says something of each row.
static std::optional<int64_t> findRows(Operation *op, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() < 3)
    return std::nullopt;
  auto projection = dyn_cast<ProjectionOp>(op);
  if (!projection)
    return kRows;
  if (value == projection.getWeight())
    return std::nullopt;
  return ProjectionDims::rows(value);
}

namespace {

class Verifier {
public:
  Verifier(func::FuncOp func, const Splits &splits)
      : func(func), splits(splits) {
    auto add = [&](Operation *op, Value value) {
      if (std::optional<int64_t> rows = findRows(op, value))
        for (int64_t dim : {int64_t(kBatch), *rows})
          if (std::optional<unsigned> number = splits.findClass(value, dim))
            ofRows.insert(*number);
    };
    func.walk([&](Operation *op) {
      if (auto read = dyn_cast<CacheReadOp>(op))
        ofReads.insert(*splits.findClass(read.getResult(), kRows));
      if (!hasRows(op))
        return;
      for (Value operand : op->getOperands())
        add(op, operand);
      for (Value result : op->getResults())
        add(op, result);
    });
  }

  LogicalResult verify() {
    WalkResult walk = func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      return op == func || !splits.isSplit(op) ? WalkResult::advance()
                                               : WalkResult(verify(op));
    });
    if (walk.wasInterrupted())
      return failure();
    for (BlockArgument argument : func.getArguments())
      if (failed(verifySizes(argument, [&] {
            return func.emitError("argument #") << argument.getArgNumber();
          })))
        return failure();
    walk = func.walk([&](Operation *op) {
      for (OpResult result : op->getResults())
        if (failed(verifySizes(result, [&] {
              return op->emitOpError("result #") << result.getResultNumber();
            })))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

private:
  LogicalResult verify(Operation *op) {
    if (hasRows(op) && failed(expectPiecesOfRows(op)))
      return failure();
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<AttentionOp, AttentionBackwardOp, ProjectionOp, RopeOp,
              HeadNormOp, CacheAppendOp, CacheReadOp, linalg::LinalgOp>(
            [&](auto op) { return verify(op); })
        .Case<MergeOp, tensor::CastOp>(
            [&](auto op) { return expectWholeFrom(op, kElements); })
        .Case([&](func::ReturnOp) { return success(); })
        .Case([&](arith::ConstantOp op) {
          return isa<SplatElementsAttr>(op.getValue()) ? success() : refuse(op);
        })
        .Case([&](tensor::DimOp op) {
          return op.getConstantIndex() ? success() : refuse(op);
        })
        .Default([&](Operation *op) {
          return OpTrait::hasElementwiseMappableTraits(op) ? success()
                                                           : refuse(op);
        });
  }

  /// An op that has no code for what is split.
  LogicalResult refuse(Operation *op) {
    for (Value operand : op->getOperands()) {
      if (!splits.isSplit(operand))
        continue;
      InFlightDiagnostic error = op->emitOpError("may not use ");
      if (auto argument = dyn_cast<BlockArgument>(operand))
        error << "argument #" << argument.getArgNumber() << ", which is split";
      else
        error << "a result of " << operand.getDefiningOp()->getName()
              << ", which is split";
      return error << ": attn-shard covers attention, projections, norms of "
                      "heads, rotary positions, caches, and operations on "
                      "elements and rows";
    }
    return op->emitOpError("may not give what is split: attn-shard covers "
                           "operations on tensors alone");
  }

  /// Whether `expect` holds of all operands and results.
  static LogicalResult checkValues(
      Operation *op,
      function_ref<LogicalResult(Value, StringRef kind, unsigned number)>
          expect) {
    for (OpOperand &operand : op->getOpOperands())
      if (failed(expect(operand.get(), "operand", operand.getOperandNumber())))
        return failure();
    for (OpResult result : op->getResults())
      if (failed(expect(result, "result", result.getResultNumber())))
        return failure();
    return success();
  }

  /// Heads, features and batch entries are in one piece, as what says something
  /// of them is cut.
  LogicalResult expectPiecesOfRows(Operation *op) {
    auto expect = [&](Value value, StringRef kind,
                      unsigned number) -> LogicalResult {
      std::optional<int64_t> rows = findRows(op, value);
      TensorSplit split = splits.get(value);
      for (int64_t dim = 0; dim < int64_t(split.axes.size()); ++dim)
        if (splits.isZigzag(value, dim) && dim != rows)
          return op->emitOpError("expected attn.zigzag of rows alone, got it "
                                 "of dimension ")
                 << dim << " of " << kind << " " << number
                 << " with split_axes " << describe(split);
      return success();
    };
    return checkValues(op, expect);
  }
  /// Dimensions from `first` on of what an op works on.
  LogicalResult expectWholeFrom(Operation *op, int64_t first) {
    auto expect = [&](Value value, StringRef kind,
                      unsigned number) -> LogicalResult {
      TensorSplit split = splits.get(value);
      for (int64_t dim = first; dim < int64_t(split.axes.size()); ++dim)
        if (split.axes[size_t(dim)] != kWhole)
          return expectWhole(op, value, dim, kind, number);
      return success();
    };
    return checkValues(op, expect);
  }
  LogicalResult expectWhole(Operation *op, Value value, int64_t dim,
                            StringRef kind, unsigned number) {
    return op->emitOpError("expected dimension ")
           << dim << " of " << kind << " " << number
           << " whole on every rank, got split_axes "
           << describe(splits.get(value));
  }
  LogicalResult expectWhole(Operation *op, Value value, int64_t dim) {
    if (splits.getAxis(value, dim) == kWhole)
      return success();
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == value)
        return expectWhole(op, value, dim, "operand",
                           operand.getOperandNumber());
    return expectWhole(op, value, dim, "result",
                       cast<OpResult>(value).getResultNumber());
  }
  /// What says something of rows or heads, and is cut where it is used.
  LogicalResult expectWhole(Operation *op, ValueRange values) {
    for (OpOperand &operand : op->getOpOperands())
      if (llvm::is_contained(values, operand.get()) &&
          splits.isSplit(operand.get()))
        return op->emitOpError("expected captured tensors, sinks, offsets and "
                               "lengths whole on every rank, got operand ")
               << operand.getOperandNumber() << " with split_axes "
               << describe(splits.get(operand.get()));
    return success();
  }

  template <typename Op>
  LogicalResult verifyAttention(Op op, ArrayRef<Value> ofRows);
  LogicalResult verify(AttentionOp op) { return verifyAttention(op, {}); }
  LogicalResult verify(AttentionBackwardOp op);
  LogicalResult verify(ProjectionOp op);
  LogicalResult expectFused(ProjectionOp op, Value ofColumns);
  LogicalResult verify(RopeOp op) {
    SmallVector<Value> whole = {op.getCosine(), op.getSine()};
    for (Value optional : {op.getOffset(), op.getPositions()})
      if (optional)
        whole.push_back(optional);
    return success(succeeded(expectWhole(op, whole)) &&
                   succeeded(expectWholeFrom(op, kElements)));
  }
  LogicalResult verify(HeadNormOp op) {
    if (op.getWeight() && failed(expectWhole(op, op.getWeight())))
      return failure();
    return expectWholeFrom(op, kElements);
  }
  template <typename Op> LogicalResult verifyPositions(Op op);
  LogicalResult verify(CacheAppendOp op);
  LogicalResult verify(CacheReadOp op);
  LogicalResult verifyPart(CacheReadOp op);
  LogicalResult verify(linalg::LinalgOp op);

  LogicalResult verifySizes(Value value,
                            function_ref<InFlightDiagnostic()> emit);

  func::FuncOp func;
  const Splits &splits;
  /// Classes of rows and of batch entries, of which ranks may have any number.
  DenseSet<unsigned> ofRows;
  /// Classes of rows of what is read of caches, whose number the op says.
  DenseSet<unsigned> ofReads;
};

} // namespace

/// `ofRows` are the operands beside the query that have its rows.
template <typename Op>
LogicalResult Verifier::verifyAttention(Op op, ArrayRef<Value> ofRows) {
  AttentionAxes axes = splits.getAxes(op);
  TensorSplit query = splits.get(op.getQuery()), key = splits.get(op.getKey());
  if (failed(verifyExchange(op, splits)))
    return failure();
  if (axes.isZigzag && axes.queries != axes.keys)
    return op.emitOpError("expected attn.zigzag of rows of query, key and "
                          "value along one axis, got query with "
                          "split_axes ")
           << describe(query) << " and key with " << describe(key);
  SmallVector<Value> parts = {op.getQuery(), op.getKey(), op.getValue()};
  llvm::append_range(parts, ofRows);
  // Those that no other operand shares.
  for (Value operand : parts)
    if (cast<ShapedType>(operand.getType()).getRank() > kElements &&
        failed(expectWhole(op, operand, kElements)))
      return failure();
  for (auto [axis, other] :
       {std::pair(axes.batch, axes.heads), std::pair(axes.batch, axes.queries),
        std::pair(axes.batch, axes.keys), std::pair(axes.heads, axes.queries),
        std::pair(axes.heads, axes.keys)})
    if (axis != kWhole && axis == other)
      return op.emitOpError("expected an axis of the grid to split one of "
                            "batch, heads and rows, got axis ")
             << axis << " for two";
  int64_t ranks = splits.getNumRanks(axes.heads);
  if (op.getNumKeyValueHeads() % ranks != 0)
    return op.emitOpError("expected key/value heads that ")
           << ranks << " ranks can share evenly, got "
           << op.getNumKeyValueHeads();
  if (op.isPacked() &&
      (axes.batch != kWhole || splits.getAxis(op.getKey(), kBatch) != kWhole))
    return op.emitOpError("expected a packed batch to be whole, or split by "
                          "heads or rows");
  if (Value sink = op.getSink();
      sink && cast<RankedTensorType>(sink.getType()).getRank() != 1)
    return op.emitOpError("with a sink for each row is not covered by "
                          "attn-shard");
  if (axes.keys != kWhole) {
    bool ofKey = bool(getCacheRead(op.getKey())),
         ofValue = bool(getCacheRead(op.getValue()));
    if (ofKey != ofValue)
      return op.emitOpError("expected keys and values both of caches, since "
                            "positions of one are split");
    if (ofKey && axes.queries == axes.keys)
      return op.emitOpError(
                 "expected queries that are not split along the axis "
                 "of the positions of caches, got query with "
                 "split_axes ")
             << describe(query);
  }
  SmallVector<Value> others;
  for (Value operand : op->getOperands())
    if (!llvm::is_contained(parts, operand))
      others.push_back(operand);
  return expectWhole(op, others);
}

LogicalResult Verifier::verify(AttentionBackwardOp op) {
  SmallVector<Value> ofRows = {op.getOutput(), op.getLogSumExp(),
                               op.getOutputGradient()};
  if (Value gradient = op.getLogSumExpGradient())
    ofRows.push_back(gradient);
  if (splits.getAxes(op).keys != kWhole &&
      (getCacheRead(op.getKey()) || getCacheRead(op.getValue())))
    return op.emitOpError("of a cache whose positions are split is not covered "
                          "by attn-shard");
  return verifyAttention(op, ofRows);
}

LogicalResult Verifier::verify(ProjectionOp op) {
  int64_t columns = ProjectionDims::weightColumns(op),
          rows = ProjectionDims::weightRows(op);
  for (int64_t dim = 0; dim < op.getWeightType().getRank(); ++dim)
    if (dim != columns && dim != rows &&
        failed(expectWhole(op, op.getWeight(), dim)))
      return failure();
  auto expectWholeElements = [&](Value tokens) {
    return ProjectionDims::hasHeads(tokens) ? expectWhole(op, tokens, kElements)
                                            : success();
  };
  if (failed(expectWholeElements(op.getInput())) ||
      !llvm::all_of(op.getResults(), [&](Value result) {
        return succeeded(expectWholeElements(result));
      }))
    return failure();
  int64_t ranks = splits.getNumRanks(splits.getAxis(op.getWeight(), columns));
  if (op.hasPanels() && ranks > 1)
    for (int64_t features : op.getNumOutputFeatures())
      if (features % (ranks * op.getPanelWidth()) != 0)
        return op.emitOpError("expected features of results in panels of ")
               << op.getPanelWidth() << " columns that " << ranks
               << " ranks can share evenly, got " << features;
  if (ranks > 1 && op->getNumResults() > 1)
    for (Value ofColumns : {op.getWeight(), op.getScales(), op.getBias()})
      if (ofColumns && failed(expectFused(op, ofColumns)))
        return failure();
  return success();
}

/// What has the columns of several results is cut in each of them. Only those
/// who call know that, and only projections to these results: any other use
/// would take a rank's part to be of columns that follow each other.
LogicalResult Verifier::expectFused(ProjectionOp op, Value ofColumns) {
  SmallVector<int64_t> sizes = op.getNumOutputFeatures();
  auto argument = dyn_cast<BlockArgument>(ofColumns);
  if (!argument)
    return op.emitOpError("expected a weight, scales and a bias of several "
                          "results, which are split, to be arguments of the "
                          "function, got a result of ")
           << ofColumns.getDefiningOp()->getName();
  for (OpOperand &use : argument.getUses()) {
    auto other = dyn_cast<ProjectionOp>(use.getOwner());
    if (other && use.get() != other.getInput() &&
        other.getNumOutputFeatures() == sizes)
      continue;
    InFlightDiagnostic error = op.emitOpError("expected argument #");
    error << argument.getArgNumber() << ", whose columns are split in parts of "
          << llvm::interleaved(sizes)
          << ", to be used by projections to results of these sizes alone";
    error.attachNote(use.getOwner()->getLoc()) << "it is used here, too";
    return error;
  }
  return success();
}

/// Of a cache, positions may be split: rows of a contiguous one, or its pages
/// and the columns of its table. Else, they are whole.
template <typename Op> LogicalResult Verifier::verifyPositions(Op op) {
  Value cache = op.getCache();
  if (op.isPaged()) {
    if (failed(expectWhole(op, op.getTable(), 0)) ||
        failed(expectWhole(op, cache, kRows)))
      return failure();
    if (splits.getAxis(cache, 0) != splits.getAxis(op.getTable(), 1))
      return op.emitOpError("expected pages of a cache and the columns of its "
                            "table to be split along one axis, got split_axes ")
             << describe(splits.get(cache)) << " and "
             << describe(splits.get(op.getTable()));
  }
  if (splits.getPositionsAxis(op) == kWhole)
    return success();
  if (op.getRing())
    return op.emitOpError("with a ring whose positions are split is not "
                          "covered by attn-shard");
  if (splits.get(cache).isZigzag)
    return op.emitOpError("expected positions of a cache in their order, got "
                          "split_axes ")
           << describe(splits.get(cache));
  return success();
}

LogicalResult Verifier::verify(CacheAppendOp op) {
  SmallVector<Value> whole = {op.getLengths()};
  for (Value optional : {op.getCounts(), op.getSequences()})
    if (optional)
      whole.push_back(optional);
  if (failed(expectWhole(op, whole)) ||
      failed(expectWhole(op, op.getRows(), kRows)) ||
      failed(verifyPositions(op)))
    return failure();
  bool sharesBatch = !op.isPaged() && !op.getSequences();
  if (!sharesBatch && failed(expectWhole(op, op.getRows(), kBatch)))
    return failure();
  if (op.getSequences() && !op.isPaged() &&
      failed(expectWhole(op, op.getCache(), kBatch)))
    return failure();
  if (op.getSequences() && splits.getPositionsAxis(op) != kWhole)
    return op.emitOpError("of packed rows to a cache whose positions are split "
                          "is not covered by attn-shard");
  return expectWholeFrom(op, kElements);
}

LogicalResult Verifier::verify(CacheReadOp op) {
  if (failed(expectWhole(op, op.getLengths())) || failed(verifyPositions(op)))
    return failure();
  if (op.isPaged() && failed(expectWhole(op, op.getResult(), kBatch)))
    return failure();
  int64_t axis = splits.getPositionsAxis(op);
  if (axis != splits.getAxis(op.getResult(), kRows))
    return op.emitOpError("expected rows split as positions of the cache are, "
                          "got split_axes ")
           << describe(splits.get(op.getResult()));
  if (axis != kWhole && failed(verifyPart(op)))
    return failure();
  return expectWholeFrom(op, kElements);
}

/// What is read of a part of the positions is for attention, and all of them if
/// it says how many.
LogicalResult Verifier::verifyPart(CacheReadOp op) {
  SmallVector<Value> reads = {op.getResult()};
  while (!reads.empty())
    for (OpOperand &use : reads.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      auto attention = dyn_cast<AttentionOp>(user);
      bool isRows = attention && (use.get() == attention.getKey() ||
                                  use.get() == attention.getValue());
      if (isa<tensor::CastOp>(user))
        reads.push_back(user->getResult(0));
      else if (!isRows)
        return user->emitOpError("may not use what is read of a cache whose "
                                 "positions are split: attn-shard covers keys "
                                 "and values of attention");
    }
  int64_t size = op.getResultType().getDimSize(kRows);
  if (ShapedType::isDynamic(size))
    return success();
  int64_t rows = op.getCacheType().getDimSize(kRows),
          pages = op.isPaged()
                      ? cast<ShapedType>(op.getTable().getType()).getDimSize(1)
                      : 1;
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(pages) ||
      rows * pages != size)
    return op.emitOpError("expected all positions of a cache whose positions "
                          "are split, or a size, got ")
           << op.getResultType();
  return success();
}

LogicalResult Verifier::verify(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      if (splits.getAxis(operand.get(), int64_t(dim)) == kWhole)
        continue;
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop || loops[loop.getPosition()] != utils::IteratorType::parallel)
        return op->emitOpError("expected dimension ")
               << dim << " of operand " << operand.getOperandNumber()
               << " whole on every rank, since it "
               << (loop ? "is reduced" : "is no loop's") << ", got split_axes "
               << describe(splits.get(operand.get()));
    }
  return success();
}

LogicalResult Verifier::verifySizes(Value value,
                                    function_ref<InFlightDiagnostic()> emit) {
  TensorSplit split = splits.get(value);
  for (auto [dim, axis] : llvm::enumerate(split.axes)) {
    if (axis == kWhole)
      continue;
    for (int64_t other : ArrayRef(split.axes).take_front(dim))
      if (other == axis)
        return emit() << ": expected an axis of the grid to split one "
                         "dimension, got split_axes "
                      << describe(split);
    if (dim != split.inPieces && splits.isZigzag(value, int64_t(dim)))
      return emit() << ": expected attn.zigzag of one dimension, got "
                       "split_axes "
                    << describe(split);
    std::optional<unsigned> number = splits.findClass(value, int64_t(dim));
    int64_t size =
        cast<RankedTensorType>(value.getType()).getDimSize(int64_t(dim));
    if (ShapedType::isDynamic(size)) {
      auto isOfArgument = [&](BlockArgument argument) {
        auto type = dyn_cast<RankedTensorType>(argument.getType());
        for (int64_t of = 0; type && of < type.getRank(); ++of)
          if (type.isDynamicDim(of) && splits.findClass(argument, of) == number)
            return true;
        return false;
      };
      if (!ofReads.contains(*number) &&
          !llvm::any_of(func.getArguments(), isOfArgument))
        return emit() << ": expected dimension " << dim
                      << ", which is split, to be that of an argument";
      continue;
    }
    int64_t ranks = splits.getNumRanks(axis);
    bool inPieces = dim == split.inPieces;
    int64_t slots = split.isZigzag && inPieces ? 2 : 1;
    SmallVector<int64_t> parts = {size};
    if (inPieces && !split.segments.empty())
      parts = split.segments;
    for (int64_t part : parts) {
      if (part % (slots * ranks) == 0)
        continue;
      InFlightDiagnostic error = emit();
      error << ": expected ";
      if (parts.size() > 1)
        error << "the columns of each result in ";
      error << "dimension " << dim << " to be a multiple of the " << ranks
            << " ranks" << (slots == 2 ? ", with two pieces each," : "")
            << " of axis " << axis << " of @" << splits.getGrid().name
            << ", got " << part;
      if (ofRows.contains(*number))
        error << "; a dynamic one (?) may have parts of different sizes";
      return error;
    }
  }
  return success();
}

LogicalResult attn::verifySplits(func::FuncOp func, const Splits &splits) {
  return Verifier(func, splits).verify();
}
