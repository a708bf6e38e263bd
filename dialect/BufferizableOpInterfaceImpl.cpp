//===- BufferizableOpInterfaceImpl.cpp - Bufferization of attn ops --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/BufferizableOpInterfaceImpl.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::bufferization;

namespace {

/// The captured operand that a region argument stands for.
Value getCapture(AttentionOp op, BlockArgument argument) {
  bool isScore = argument.getOwner() == &op.getScore().front();
  unsigned leading = isScore ? AttentionOp::kNumScoreArguments
                             : AttentionOp::kNumMaskArguments;
  OperandRange captures =
      isScore ? op.getScoreCaptures() : op.getMaskCaptures();
  return captures[argument.getArgNumber() - leading];
}

struct AttentionOpInterface
    : DstBufferizableOpInterfaceExternalModel<AttentionOpInterface,
                                              AttentionOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &state) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand); // A9
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
      return bufferization::getBufferType(
          getCapture(cast<AttentionOp>(op), argument), options, state,
          invocationStack);
    auto destination = cast<DestinationStyleOpInterface>(op);
    return bufferization::getBufferType(
        destination.getTiedOpOperand(cast<OpResult>(value))->get(), options,
        state, invocationStack);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto attention = cast<AttentionOp>(op);
    if (attention->getNumResults() == 0)
      return success(); // Already on buffers.

    SmallVector<Value> operands;
    for (Value operand : attention->getOperands()) {
      if (isa<TensorType>(operand.getType())) {
        FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
        if (failed(buffer))
          return failure();
        operand = *buffer;
      }
      operands.push_back(operand);
    }
    OperationState newState(attention.getLoc(), attention->getName());
    newState.addOperands(operands);
    newState.addAttributes(attention->getAttrs());
    newState.propertiesAttr = attention->getPropertiesAsAttribute();
    for (Region &region : attention->getRegions())
      newState.addRegion()->takeBody(region);
    auto buffered = cast<AttentionOp>(rewriter.create(newState));

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
        argument.setType(getCapture(buffered, argument).getType());
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

    SmallVector<Value> results(buffered.getOuts());
    replaceOpWithBufferizedValues(rewriter, op, results);
    return success();
  }
};

} // namespace

void mlir::attn::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    AttentionOp::attachInterface<AttentionOpInterface>(*context);
  });
}
