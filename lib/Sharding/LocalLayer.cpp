//===- LocalLayer.cpp - What of a layer one rank computes -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Around attention, as in Megatron-LM (Shoeybi et al., arXiv:1909.08053): a
// projection into heads has the columns of a rank's heads, and one out of them
// the rows of these heads, so that ranks have parts of a sum:
//
//   output = all_reduce(heads * rows of the weight) + bias
//
// What is said of whole heads, rows and batch entries is cut to those of the
// rank, and what numbers them is moved.
//

#include "lib/Sharding/LocalLayer.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Reference/TensorCode.h"
#include "lib/Sharding/LocalCaches.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

class LocalLayer {
public:
  LocalLayer(IndexBuilder &builder, const Splits &splits, LocalSizes &sizes)
      : b(builder.getLoc(), builder), splits(splits), sizes(sizes) {}

  void emit(Operation *op) {
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
      renewDestinations(destination);
    TypeSwitch<Operation *>(op)
        .Case<ProjectionOp, RopeOp, HeadNormOp, CacheAppendOp, CacheReadOp,
              linalg::LinalgOp, arith::ConstantOp>([&](auto op) { emit(op); })
        .Default([](Operation *) {});
  }

private:
  void emit(ProjectionOp op);
  Value addBias(ProjectionOp op, Value sum, unsigned number, Value destination);
  void emit(RopeOp op);
  void emit(linalg::LinalgOp op);

  void emit(HeadNormOp op) {
    // (H, D); a weight of one dimension is that of all heads (N2).
    Value weight = op.getWeight();
    if (weight && cast<ShapedType>(weight.getType()).getRank() == 2)
      op.getWeightMutable().assign(cut(weight, op.getInput(), kHeads));
  }
  void emit(CacheAppendOp op) {
    if (splits.getAxis(op.getRows(), kBatch) != kWhole) {
      op.getLengthsMutable().assign(cut(op.getLengths(), op.getRows(), kBatch));
      if (op.getCounts())
        op.getCountsMutable().assign(cut(op.getCounts(), op.getRows(), kBatch));
    }
    if (splits.getPositionsAxis(op) != kWhole)
      makePositionsLocal(op, b, splits, sizes);
  }
  void emit(CacheReadOp op) {
    if (splits.getAxis(op.getResult(), kBatch) != kWhole)
      op.getLengthsMutable().assign(
          cut(op.getLengths(), op.getResult(), kBatch));
    if (splits.getPositionsAxis(op) != kWhole)
      makePositionsLocal(op, b, splits, sizes);
  }
  void emit(arith::ConstantOp op) {
    auto value = cast<SplatElementsAttr>(op.getValue());
    op.setValueAttr(value.resizeSplat(cast<ShapedType>(op.getType())));
  }

  /// Of a tensor whose first dimension is that of another one, the part that
  /// this rank has of that.
  Value cut(Value tensor, Value other, int64_t dim) {
    Extent extent = sizes.get(b, other, dim);
    if (extent.isWhole())
      return tensor;
    SmallVector<OpFoldResult> counts = b.sizes(tensor),
                              offsets = b.zeros(counts.size());
    offsets[0] = getAsOpFoldResult(extent.first(b));
    counts[0] = sizes.getCount(b, other, dim);
    return b.slice(tensor, offsets, counts);
  }

  /// A tensor.empty has the sizes of the whole.
  void renewDestinations(DestinationStyleOpInterface op) {
    for (OpResult result : op->getResults()) {
      OpOperand *init = op.getTiedOpOperand(result);
      auto empty = init->get().getDefiningOp<tensor::EmptyOp>();
      if (empty && splits.isSplit(result))
        init->set(emptyLike(result, empty));
    }
  }
  Value emptyLike(Value result, tensor::EmptyOp ofWhole) {
    SmallVector<OpFoldResult> counts = ofWhole.getMixedSizes();
    for (auto [dim, count] : llvm::enumerate(counts))
      if (splits.getAxis(result, int64_t(dim)) != kWhole)
        count = sizes.getCount(b, result, int64_t(dim));
    return b.empty(counts, getElementTypeOrSelf(result));
  }

  TensorCode b;
  const Splits &splits;
  LocalSizes &sizes;
};

} // namespace

void LocalLayer::emit(ProjectionOp op) {
  int64_t axis =
      splits.getAxis(op.getInput(), ProjectionDims::features(op.getInput()));
  if (axis == kWhole)
    return;
  Type sums = op.getAccumulationType();
  SmallVector<Value> parts;
  for (Value out : op.getOuts())
    parts.push_back(b.emptyLike(out, sums));
  auto partial =
      ProjectionOp::create(b, TypeRange(ValueRange(parts)), op.getInput(),
                           op.getWeight(), parts, op.getScales(),
                           /*bias=*/Value());
  for (auto [number, part] : llvm::enumerate(partial.getResults())) {
    Value out = op.getOuts()[number];
    bool isLast = !op.getBias() && getElementTypeOrSelf(out) == sums;
    Value init = isLast ? out : b.emptyLike(part);
    Value sum = AllReduceOp::create(b, part.getType(), part, init,
                                    uint64_t(splits.getGrid().getStride(axis)),
                                    uint64_t(splits.getNumRanks(axis)))
                    .getResult();
    if (!isLast)
      sum = addBias(op, sum, unsigned(number), out);
    op->getResult(unsigned(number)).replaceAllUsesWith(sum);
  }
  op.erase();
}

/// Adds what each column has once, not on each rank, and rounds.
Value LocalLayer::addBias(ProjectionOp op, Value sum, unsigned number,
                          Value destination) {
  Type element = getElementTypeOrSelf(destination),
       sums = getElementTypeOrSelf(sum);
  auto type = cast<RankedTensorType>(sum.getType());
  AffineMap identity = b.getMultiDimIdentityMap(unsigned(type.getRank()));
  SmallVector<Value> inputs = {sum};
  SmallVector<AffineMap> maps = {identity};
  if (Value bias = op.getBias()) {
    SmallVector<int64_t> features = op.getNumOutputFeatures();
    int64_t first = 0;
    for (int64_t size : ArrayRef(features).take_front(number))
      first += size;
    bias = b.slice(bias, {b.getIndexAttr(first)},
                   {b.getIndexAttr(features[number])});
    AffineExpr element = b.getAffineDimExpr(unsigned(type.getRank()) - 1);
    SmallVector<AffineExpr> indices = {element};
    if (type.getRank() == 4) {
      int64_t heads = type.getDimSize(kHeads),
              size = type.getDimSize(kElements);
      auto perHead =
          RankedTensorType::get({heads, size}, getElementTypeOrSelf(bias));
      bias = tensor::ExpandShapeOp::create(
          b, perHead, bias, ArrayRef<ReassociationIndices>{{0, 1}});
      indices.insert(indices.begin(), b.getAffineDimExpr(kHeads));
    }
    inputs.push_back(bias);
    maps.push_back(
        AffineMap::get(identity.getNumDims(), 0, indices, b.getContext()));
  }
  maps.push_back(identity);
  return b.generic(inputs, destination, maps, [&](ValueRange e) -> Value {
    Value result = e[0];
    if (op.getBias())
      result = b.addF(result, b.convert(e[1], sums));
    return b.convert(result, element);
  });
}

/// Positions of rows count those of the whole (R4).
void LocalLayer::emit(RopeOp op) {
  Value rows = op.getInput(), offset = op.getOffset(),
        positions = op.getPositions();
  bool splitsRows = splits.getAxis(rows, kRows) != kWhole,
       splitsBatch = splits.getAxis(rows, kBatch) != kWhole;
  bool isOfBatch =
      positions || (offset && isa<RankedTensorType>(offset.getType()));
  if (!splitsRows && (!splitsBatch || !isOfBatch))
    return;
  SmallVector<OpFoldResult> counts = {sizes.getCount(b, rows, kBatch),
                                      sizes.getCount(b, rows, kRows)};
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(counts, dynamic, shape);
  auto own = tensor::GenerateOp::create(
      b, RankedTensorType::get(shape, b.getI64Type()), dynamic);
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&own.getBody(), {}, {b.getIndexType(), b.getIndexType()},
                  {b.getLoc(), b.getLoc()});
    Value batch = sizes.getIndexOfWhole(b, rows, kBatch,
                                        own.getBody().getArgument(0)),
          row = sizes.getIndexOfWhole(b, rows, kRows,
                                      own.getBody().getArgument(1));
    Value position = row;
    if (positions)
      position = b.loadIndex(positions, {batch, row});
    else if (offset && isa<RankedTensorType>(offset.getType()))
      position = b.add(row, b.loadIndex(offset, batch));
    else if (offset)
      position = b.add(row, b.toIndex(offset));
    tensor::YieldOp::create(
        b, arith::IndexCastOp::create(b, b.getI64Type(), position));
  }
  op.getOffsetMutable().clear();
  op.getPositionsMutable().assign(own);
}

/// Numbers of iterations count those of the whole.
void LocalLayer::emit(linalg::LinalgOp op) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<linalg::IndexOp> numbers(
      op.getBlock()->getOps<linalg::IndexOp>());
  for (linalg::IndexOp number : numbers)
    for (OpOperand &operand : op->getOpOperands()) {
      Value value =
          op.isDpsInit(&operand) ? op.getTiedOpResult(&operand) : operand.get();
      std::optional<unsigned> dim =
          op.getMatchingIndexingMap(&operand).getResultPosition(
              b.getAffineDimExpr(unsigned(number.getDim())));
      if (!dim || splits.getAxis(value, *dim) == kWhole)
        continue;
      // Before there are uses in what gives the new number.
      SmallVector<OpOperand *> uses = llvm::map_to_vector(
          number->getUses(), [](OpOperand &use) { return &use; });
      b.setInsertionPointAfter(number);
      Value ofWhole = sizes.getIndexOfWhole(b, value, *dim, number);
      for (OpOperand *use : uses)
        use->set(ofWhole);
      break;
    }
}

void attn::makeOpLocal(Operation *op, IndexBuilder &b, const Splits &splits,
                       LocalSizes &sizes) {
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  LocalLayer(b, splits, sizes).emit(op);
}
