//===- TensorModels.cpp - Derivatives of operations on tensors ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Gradient/Models.h"
#include "lib/Regions/RegionDerivative.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

/// Each operand of an elementwise operation: the sum, over the loops that the
/// operand is the same in, of the gradient times the derivative of the body.
static LogicalResult emitGradients(GradientBuilder &b, linalg::GenericOp op,
                                   OpGradients &gradients) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return refuseGradient(op, "it is not elementwise");
  Value gradient = gradients.getOfResult(0);
  AffineMap ofResult = op.getIndexingMapsArray().back();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!gradients.wants(*operand))
      continue;
    Value input = operand->get();
    FloatType element = cast<FloatType>(getElementTypeOrSelf(input.getType()));
    FloatType type = AttentionOp::getAccumulationType(element);
    if (!isa<ShapedType>(input.getType()))
      return refuseGradient(op, "an operand that is a scalar");
    AffineMap ofInput = op.getMatchingIndexingMap(operand);
    SmallVector<Value> inputs(op.getInputs());
    SmallVector<AffineMap> maps(op.getIndexingMapsArray());
    maps.back() = ofResult;
    inputs.push_back(gradient);
    maps.push_back(ofInput);
    Value sums = b.fill(b.emptyLike(input, type), 0.0);
    LogicalResult result = success();
    sums = b.generic(inputs, sums, maps, [&](ValueRange args) -> Value {
      FailureOr<Value> slope =
          emitDerivative(b, *op.getBody(), args.take_front(inputs.size() - 1),
                         operand->getOperandNumber());
      result = slope;
      if (failed(slope))
        return args.back();
      Value product = b.mulF(b.convert(*slope, type),
                             b.convert(args[inputs.size() - 1], type));
      return b.addF(args.back(), product);
    });
    if (failed(result))
      return failure();
    gradients.set(input, b.convertAll(sums, element));
  }
  return success();
}

static LogicalResult emitGradients(GradientBuilder &b, linalg::TransposeOp op,
                                   OpGradients &gradients) {
  Value gradient = gradients.getOfResult(0);
  gradients.set(op.getInput(), linalg::TransposeOp::create(
                                   b, gradient, b.emptyLike(op.getInput()),
                                   invertPermutationVector(op.getPermutation()))
                                   ->getResult(0));
  return success();
}

static LogicalResult emitGradients(GradientBuilder &b, tensor::CastOp op,
                                   OpGradients &gradients) {
  gradients.set(op.getSource(),
                tensor::CastOp::create(b, op.getSource().getType(),
                                       gradients.getOfResult(0)));
  return success();
}

static LogicalResult emitGradients(GradientBuilder &b,
                                   tensor::CollapseShapeOp op,
                                   OpGradients &gradients) {
  gradients.set(op.getSrc(),
                tensor::ExpandShapeOp::create(
                    b, op.getSrcType(), gradients.getOfResult(0),
                    op.getReassociationIndices(), b.sizes(op.getSrc())));
  return success();
}

static LogicalResult emitGradients(GradientBuilder &b, tensor::ExpandShapeOp op,
                                   OpGradients &gradients) {
  gradients.set(op.getSrc(), tensor::CollapseShapeOp::create(
                                 b, op.getSrcType(), gradients.getOfResult(0),
                                 op.getReassociationIndices()));
  return success();
}

static LogicalResult emitGradients(GradientBuilder &b,
                                   tensor::ExtractSliceOp op,
                                   OpGradients &gradients) {
  Value zeros = b.fill(b.emptyLike(op.getSource()), 0.0);
  gradients.set(op.getSource(),
                tensor::InsertSliceOp::create(
                    b, gradients.getOfResult(0), zeros, op.getMixedOffsets(),
                    op.getMixedSizes(), op.getMixedStrides()));
  return success();
}

void attn::attachTensorModels(MLIRContext *context) {
  attachModel<linalg::GenericOp, emitGradients>(context);
  attachModel<linalg::TransposeOp, emitGradients>(context);
  attachModel<tensor::CastOp, emitGradients>(context);
  attachModel<tensor::CollapseShapeOp, emitGradients>(context);
  attachModel<tensor::ExpandShapeOp, emitGradients>(context);
  attachModel<tensor::ExtractSliceOp, emitGradients>(context);
}
