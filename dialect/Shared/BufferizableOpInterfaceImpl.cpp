//===- BufferizableOpInterfaceImpl.cpp - Bufferization of attn ops --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/BufferizableOpInterfaceImpl.h"
#include "dialect/AttnOps.h"
#include "dialect/Sharding/RankOps.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::bufferization;

/// Creates `op` on buffers, with its regions; null if an operand has no buffer.
static Operation *createOnBuffers(Operation *op, RewriterBase &rewriter,
                                  const BufferizationOptions &options,
                                  BufferizationState &state) {
  OperationState newState(op->getLoc(), op->getName());
  for (Value operand : op->getOperands()) {
    if (isa<TensorType>(operand.getType())) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return nullptr;
      operand = *buffer;
    }
    newState.addOperands(operand);
  }
  newState.addAttributes(op->getAttrs());
  newState.propertiesAttr = op->getPropertiesAsAttribute();
  for (Region &region : op->getRegions())
    newState.addRegion()->takeBody(region);
  return rewriter.create(newState);
}

namespace {

/// Replaces an op in destination style by the same on buffers, which `finish`
/// gets before.
template <typename Op>
LogicalResult
bufferizeInPlace(Operation *op, RewriterBase &rewriter,
                 const BufferizationOptions &options, BufferizationState &state,
                 function_ref<LogicalResult(Op, RewriterBase &)> finish) {
  if (op->getNumResults() == 0)
    return success(); // Already on buffers.
  auto buffered =
      cast_or_null<Op>(createOnBuffers(op, rewriter, options, state));
  if (!buffered || failed(finish(buffered, rewriter)))
    return failure();
  SmallVector<Value> results(buffered.getOuts());
  replaceOpWithBufferizedValues(rewriter, op, results);
  return success();
}

/// Ops in destination style with score and mask regions.
template <typename Op>
struct RegionOpInterface
    : DstBufferizableOpInterfaceExternalModel<RegionOpInterface<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &state) const {
    return cast<Op>(op).readsOperand(operand);
  }

  /// Region arguments for captured tensors are read-only views of them.
  bool isWritable(Operation *op, Value value,
                  const AnalysisState &state) const {
    return isa<OpResult>(value);
  }

  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return bufferization::getBufferType(cast<Op>(op).getCapture(argument),
                                          options, state, invocationStack);
    auto destination = cast<DestinationStyleOpInterface>(op);
    return bufferization::getBufferType(
        destination.getTiedOpOperand(cast<OpResult>(value))->get(), options,
        state, invocationStack);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return bufferizeInPlace<Op>(op, rewriter, options, state, bufferizeRegions);
  }

private:
  static LogicalResult bufferizeRegions(Op buffered, RewriterBase &rewriter) {
    // Each captured tensor is a buffer in the region too. Its loads were
    // bufferized before this op, on a buffer of the old argument.
    for (Region &region : buffered->getRegions()) {
      if (region.empty())
        continue;
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(&region.front());
      for (BlockArgument argument : region.getArguments()) {
        auto tensorType = dyn_cast<RankedTensorType>(argument.getType());
        if (!tensorType)
          continue;
        argument.setType(buffered.getCapture(argument).getType());
        for (Operation *user :
             llvm::make_early_inc_range(argument.getUsers())) {
          auto toBuffer = dyn_cast<ToBufferOp>(user);
          if (!toBuffer)
            return user->emitError("expected a bufferized load of a captured "
                                   "tensor");
          rewriter.replaceOp(toBuffer, argument);
        }
      }
    }
    return success();
  }
};

/// Ops in destination style without regions.
template <typename Op>
struct DestinationOpInterface
    : DstBufferizableOpInterfaceExternalModel<DestinationOpInterface<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return cast<Op>(op).readsOperand(operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return bufferizeInPlace<Op>(op, rewriter, options, state,
                                [](Op, RewriterBase &) { return success(); });
  }
};

/// An op that writes no operand, and of which no result is one.
template <typename Model, typename Op, bool reads>
class ReaderModel : public BufferizableOpInterface::ExternalModel<Model, Op> {
  friend Model;
  ReaderModel() = default;

public:
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return reads;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
};

struct AllFiniteOpInterface
    : ReaderModel<AllFiniteOpInterface, AllFiniteOp, /*reads=*/true> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<Value> source =
        getBuffer(rewriter, cast<AllFiniteOp>(op).getSource(), options, state);
    if (failed(source))
      return failure();
    replaceOpWithNewBufferizedOp<AllFiniteOp>(rewriter, op,
                                              rewriter.getI1Type(), *source);
    return success();
  }
};

/// Is room of its own.
struct KeptPacksOpInterface
    : ReaderModel<KeptPacksOpInterface, KeptPacksOp, /*reads=*/false> {
  bool bufferizesToAllocation(Operation *, Value) const { return true; }
  FailureOr<BufferLikeType> getBufferType(Operation *, Value value,
                                          const BufferizationOptions &,
                                          const BufferizationState &,
                                          SmallVector<Value> &) const {
    return cast<BufferLikeType>(getMemRefTypeWithStaticIdentityLayout(
        cast<TensorType>(value.getType())));
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto kept = cast<KeptPacksOp>(op);
    if (isa<BaseMemRefType>(kept.getPacks().getType()))
      return success(); // Already on buffers.
    FailureOr<BufferLikeType> type =
        bufferization::getBufferType(kept.getPacks(), options, state);
    if (failed(type))
      return failure();
    SmallVector<Type> types(op->getResultTypes());
    types[0] = *type;
    auto buffered = KeptPacksOp::create(rewriter, op->getLoc(), types,
                                        op->getOperands(), op->getAttrs());
    replaceOpWithBufferizedValues(rewriter, op, buffered->getResults());
    return success();
  }
};

/// Neither reads nor writes what it fetches.
struct PrefetchOpInterface
    : ReaderModel<PrefetchOpInterface, PrefetchOp, /*reads=*/false> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto prefetch = cast<PrefetchOp>(op);
    if (isa<BaseMemRefType>(prefetch.getSource().getType()))
      return success(); // Already on buffers.
    FailureOr<Value> source =
        getBuffer(rewriter, prefetch.getSource(), options, state);
    if (failed(source))
      return failure();
    replaceOpWithNewBufferizedOp<PrefetchOp>(
        rewriter, op, *source, prefetch.getIndices(), prefetch.getEnd(),
        prefetch.getShare(), prefetch.getNumSharesAttr(),
        prefetch.getForWriteAttr(), prefetch.getSpreadAttr(),
        prefetch.getStreamAttr());
    return success();
  }
};

/// Is its table.
struct WithBlockRangeOpInterface
    : ReaderModel<WithBlockRangeOpInterface, WithBlockRangeOp,
                  /*reads=*/false> {
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    if (operand.get() != cast<WithBlockRangeOp>(op).getTable())
      return {};
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<Value> table = getBuffer(
        rewriter, cast<WithBlockRangeOp>(op).getTable(), options, state);
    if (failed(table))
      return failure();
    replaceOpWithBufferizedValues(rewriter, op, *table);
    return success();
  }
};

/// Is its sources, or copies that no one else writes.
struct DenseRowsOpInterface
    : ReaderModel<DenseRowsOpInterface, DenseRowsOp, /*reads=*/true> {
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    if (!isa<TensorType>(operand.get().getType()))
      return {};
    return {
        {op->getResult(operand.getOperandNumber()), BufferRelation::Unknown}};
  }
  bool isWritable(Operation *, Value, const AnalysisState &) const {
    return false;
  }
  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    auto source = bufferization::getBufferType(
        op->getOperand(cast<OpResult>(value).getResultNumber()), options, state,
        invocationStack);
    if (failed(source))
      return failure();
    auto type = cast<MemRefType>(*source);
    if (isDense(type))
      return source;
    SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
    strides.back() = type.getStridesAndOffset().first.back();
    return cast<BufferLikeType>(MemRefType::get(
        type.getShape(), type.getElementType(),
        StridedLayoutAttr::get(op->getContext(), ShapedType::kDynamic, strides),
        type.getMemorySpace()));
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto dense = cast<DenseRowsOp>(op);
    if (isa<BaseMemRefType>(dense.getRows().front().getType()))
      return success(); // Already on buffers.
    SmallVector<Value> sources;
    SmallVector<Type> types;
    for (auto [source, rows] :
         llvm::zip_equal(dense.getSources(), dense.getRows())) {
      FailureOr<Value> buffer = getBuffer(rewriter, source, options, state);
      FailureOr<BufferLikeType> type =
          bufferization::getBufferType(rows, options, state);
      if (failed(buffer) || failed(type))
        return failure();
      sources.push_back(*buffer);
      types.push_back(*type);
    }
    if (llvm::equal(ValueRange(sources).getTypes(), types))
      replaceOpWithBufferizedValues(rewriter, op, sources);
    else
      replaceOpWithNewBufferizedOp<DenseRowsOp>(rewriter, op, types, sources,
                                                dense.getWhen());
    return success();
  }

private:
  static bool isDense(MemRefType type) {
    SmallVector<int64_t> strides = type.getStridesAndOffset().first;
    return strides.back() == 1 &&
           strides[strides.size() - 2] == type.getShape().back();
  }
};

/// Gives memory of the runtime, or a view of that of its operands.
struct RankBlockOpInterface
    : BufferizableOpInterface::ExternalModel<RankBlockOpInterface,
                                             RankBlockOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    auto block = cast<RankBlockOp>(op);
    if (operand.get() == block.getKey())
      return {{block.getKeys(), BufferRelation::Unknown}};
    if (operand.get() == block.getValue())
      return {{block.getValues(), BufferRelation::Unknown}};
    return {};
  }
  bool isWritable(Operation *, Value, const AnalysisState &) const {
    return false;
  }
  FailureOr<BufferLikeType> getBufferType(Operation *, Value value,
                                          const BufferizationOptions &,
                                          const BufferizationState &,
                                          SmallVector<Value> &) const {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
    strides.back() = 1;
    return cast<BufferLikeType>(MemRefType::get(
        type.getShape(), type.getElementType(),
        StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides)));
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto block = cast<RankBlockOp>(op);
    if (isa<BaseMemRefType>(block.getKeys().getType()))
      return success(); // Already on buffers.
    SmallVector<Value> buffers;
    for (Value operand : {block.getKey(), block.getValue(), block.getSpans()}) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    SmallVector<Type> types;
    for (Value result : op->getResults()) {
      FailureOr<BufferLikeType> type =
          bufferization::getBufferType(result, options, state);
      if (failed(type))
        return failure();
      types.push_back(*type);
    }
    auto buffered = RankBlockOp::create(
        rewriter, op->getLoc(), types[0], types[1], block.getStep(), buffers[0],
        buffers[1], buffers[2], block.getRows(), block.getStride());
    replaceOpWithBufferizedValues(rewriter, op, buffered->getResults());
    return success();
  }
};

/// Of an op whose destinations are no results on buffers. Messages are memory
/// that lies together: results of a kernel may not.
template <typename Op>
struct CollectiveOpInterface
    : DstBufferizableOpInterfaceExternalModel<CollectiveOpInterface<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return cast<Op>(op).readsOperand(operand);
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    if (op->getNumResults() == 0)
      return success(); // Already on buffers.
    auto buffered =
        cast_or_null<Op>(createOnBuffers(op, rewriter, options, state));
    if (!buffered)
      return failure();
    SmallVector<Value> outs;
    for (OpOperand &out : buffered.getDpsInitsMutable()) {
      outs.push_back(out.get());
      if (failed(makeDense(out, rewriter, options)))
        return failure();
    }
    replaceOpWithBufferizedValues(rewriter, op, outs);
    return success();
  }

private:
  /// Has `out` written to memory of its own, unless it lies together, and
  /// copied from there.
  static LogicalResult makeDense(OpOperand &out, RewriterBase &rewriter,
                                 const BufferizationOptions &options) {
    Value buffer = out.get();
    Location loc = out.getOwner()->getLoc();
    auto type = cast<MemRefType>(buffer.getType());
    if (type.getLayout().isIdentity())
      return success();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(out.getOwner());
    SmallVector<Value> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(unsigned(dim)))
        sizes.push_back(memref::DimOp::create(rewriter, loc, buffer, dim));
    FailureOr<Value> dense = options.createAlloc(
        rewriter, loc, MemRefType::get(type.getShape(), type.getElementType()),
        sizes);
    if (failed(dense))
      return failure();
    out.set(*dense);
    rewriter.setInsertionPointAfter(out.getOwner());
    return options.createMemCpy(rewriter, loc, *dense, buffer);
  }
};

} // namespace

void mlir::attn::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    AttentionBackwardOp::attachInterface<
        RegionOpInterface<AttentionBackwardOp>>(*context);
    AttentionOp::attachInterface<RegionOpInterface<AttentionOp>>(*context);
    AttentionTangentOp::attachInterface<RegionOpInterface<AttentionTangentOp>>(
        *context);
    MultiTokenAttentionBackwardOp::attachInterface<
        RegionOpInterface<MultiTokenAttentionBackwardOp>>(*context);
    MultiTokenAttentionOp::attachInterface<
        RegionOpInterface<MultiTokenAttentionOp>>(*context);
    OnlineSoftmaxOp::attachInterface<RegionOpInterface<OnlineSoftmaxOp>>(
        *context);
    AllFiniteOp::attachInterface<AllFiniteOpInterface>(*context);
    AllGatherOp::attachInterface<CollectiveOpInterface<AllGatherOp>>(*context);
    AllMergeOp::attachInterface<CollectiveOpInterface<AllMergeOp>>(*context);
    AllReduceOp::attachInterface<CollectiveOpInterface<AllReduceOp>>(*context);
    BlockRangeOp::attachInterface<DestinationOpInterface<BlockRangeOp>>(
        *context);
    CacheAppendOp::attachInterface<DestinationOpInterface<CacheAppendOp>>(
        *context);
    DenseRowsOp::attachInterface<DenseRowsOpInterface>(*context);
    DropoutOp::attachInterface<DestinationOpInterface<DropoutOp>>(*context);
    HeadNormOp::attachInterface<DestinationOpInterface<HeadNormOp>>(*context);
    KeptPacksOp::attachInterface<KeptPacksOpInterface>(*context);
    MergeOp::attachInterface<DestinationOpInterface<MergeOp>>(*context);
    OnlineDropoutOp::attachInterface<DestinationOpInterface<OnlineDropoutOp>>(
        *context);
    PrefetchOp::attachInterface<PrefetchOpInterface>(*context);
    ProjectionOp::attachInterface<DestinationOpInterface<ProjectionOp>>(
        *context);
    RankBlockOp::attachInterface<RankBlockOpInterface>(*context);
    RankSumsOp::attachInterface<DestinationOpInterface<RankSumsOp>>(*context);
    ReshardOp::attachInterface<CollectiveOpInterface<ReshardOp>>(*context);
    RopeOp::attachInterface<DestinationOpInterface<RopeOp>>(*context);
    WithBlockRangeOp::attachInterface<WithBlockRangeOpInterface>(*context);
  });
}
