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
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

/// Of either factor: the products of the gradient with the other one, summed
/// over the loops that the factor does not have. What the sums begin with has
/// their gradient.
static LogicalResult emitOfContraction(GradientBuilder &b, linalg::LinalgOp op,
                                       OpGradients &gradients) {
  Value gradient = gradients.getOfResult(0);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned own : {0u, 1u}) {
    OpOperand &operand = *op.getDpsInputOperand(own);
    if (!gradients.wants(operand))
      continue;
    Value factor = operand.get(), other = op.getDpsInputOperand(1 - own)->get();
    FloatType element = b.elementOf(factor),
              type = AttentionOp::getAccumulationType(element);
    Value sums = b.fill(b.emptyLike(factor, type), 0.0);
    sums = b.generic({gradient, other}, sums,
                     {maps[2], maps[1 - own], maps[own]}, [&](ValueRange args) {
                       Value product = b.mulF(b.convert(args[0], type),
                                              b.convert(args[1], type));
                       return b.addF(args[2], product);
                     });
    gradients.set(factor, b.convertAll(sums, element));
  }
  if (OpOperand &init = *op.getDpsInitOperand(0); gradients.wants(init))
    gradients.set(init.get(), gradient);
  return success();
}

/// One that has a name.
template <typename Op>
  requires llvm::is_one_of<Op, linalg::BatchMatmulOp, linalg::BatchMatvecOp,
                           linalg::MatmulOp, linalg::MatvecOp,
                           linalg::VecmatOp>::value
static LogicalResult emitGradients(GradientBuilder &b, Op op,
                                   OpGradients &gradients) {
  return emitOfContraction(b, op, gradients);
}

/// Each operand of an elementwise operation: the sum, over the loops that the
/// operand is the same in, of the gradient times the derivative of the body.
static LogicalResult emitGradients(GradientBuilder &b, linalg::GenericOp op,
                                   OpGradients &gradients) {
  if (op.getNumReductionLoops() > 0 && linalg::isaContractionOpInterface(op))
    return emitOfContraction(b, op, gradients);
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return refuseGradient(op, "it is neither elementwise nor a contraction");
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
    // A sum only where the input is the same for several elements.
    bool isSum = !ofInput.isPermutation();
    Value sums = isSum ? b.fill(b.emptyLike(input, type), 0.0)
                       : b.emptyLike(input, element);
    LogicalResult result = success();
    bool isOne = false;
    sums = b.generic(inputs, sums, maps, [&](ValueRange args) -> Value {
      FailureOr<Value> slope =
          emitDerivative(b, *op.getBody(), args.take_front(inputs.size() - 1),
                         operand->getOperandNumber());
      result = slope;
      if (failed(slope))
        return args.back();
      isOne = matchPattern(*slope, m_OneFloat());
      Value product = b.mulF(b.convert(*slope, type),
                             b.convert(args[inputs.size() - 1], type));
      return isSum ? b.addF(args.back(), product) : b.convert(product, element);
    });
    if (failed(result))
      return failure();
    // What is added passes its gradient on.
    if (isOne && ofInput == ofResult && gradient.getType() == input.getType())
      sums = gradient;
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

LogicalResult attn::emitLinear(GradientBuilder &b, Operation *op,
                               ArrayRef<unsigned> operands,
                               OpTangents &tangents) {
  SmallVector<Value> replaced(op->getOperands());
  if (auto destinations = dyn_cast<DestinationStyleOpInterface>(op))
    for (OpOperand &init : destinations.getDpsInitsMutable())
      if (!llvm::is_contained(operands, init.getOperandNumber()))
        replaced[init.getOperandNumber()] = b.emptyLike(init.get());
  for (unsigned number : operands)
    replaced[number] = tangents.getOrZeros(b, op->getOperand(number));
  Operation *copy = b.clone(*op);
  copy->setOperands(replaced);
  tangents.set(op->getResult(0), copy->getResult(0));
  return success();
}

/// The source and the destination.
template <typename Op>
static LogicalResult emitInserted(GradientBuilder &b, Op op,
                                  OpTangents &tangents) {
  return emitLinear(b, op.getOperation(), {0, 1}, tangents);
}

namespace {

/// Forward mode of a body of linalg: one of tangents alone or, where these
/// depend on what is accumulated, one that computes that as well.
class LinalgTangents {
public:
  LinalgTangents(GradientBuilder &b, linalg::LinalgOp op, OpTangents &tangents)
      : b(b), op(op), tangents(tangents) {}

  LogicalResult emit() {
    chooseOperands();
    if (failed(emitBody()))
      return failure();
    if (llvm::none_of(moved, [](Value value) { return bool(value); }))
      return success(); // Such as of a constant.
    bool ofBoth = llvm::any_of(
        moved, [&](Value value) { return value && readsAccumulated(value); });
    return create(ofBoth);
  }

private:
  /// Elements of the body: inputs, tangents of those that move, destinations,
  /// and tangents of these.
  void chooseOperands() {
    for (OpOperand *operand : op.getDpsInputOperands()) {
      inputs.push_back(operand->get());
      maps.push_back(op.getMatchingIndexingMap(operand));
    }
    for (OpOperand *operand : op.getDpsInputOperands())
      if (Value tangent = tangents.get(operand->get())) {
        movingInputs.push_back(operand);
        inputs.push_back(tangent);
        maps.push_back(op.getMatchingIndexingMap(operand));
      }
  }

  LogicalResult emitBody() {
    Block &from = *op.getBlock();
    body = std::make_unique<Block>();
    auto add = [&](Value like) {
      return body->addArgument(getElementTypeOrSelf(like.getType()),
                               like.getLoc());
    };
    for (Value input : inputs)
      add(input);
    size_t numInputs = op.getDpsInputOperands().size();
    for (unsigned number = 0; number < numInputs; ++number)
      mapping.map(from.getArgument(number), body->getArgument(number));
    DenseMap<Value, Value> found;
    for (auto [number, operand] : llvm::enumerate(movingInputs))
      found[body->getArgument(operand->getOperandNumber())] =
          body->getArgument(unsigned(numInputs + number));
    for (OpOperand &init : op.getDpsInitsMutable())
      mapping.map(op.getMatchingBlockArgument(&init), add(init.get()));
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Value tangent = add(init.get());
      if (op.payloadUsesValueFromOperand(&init))
        found[mapping.lookup(Value(op.getMatchingBlockArgument(&init)))] =
            tangent;
    }
    OpBuilder::InsertionGuard guard(b);
    for (Operation &nested : from.without_terminator()) {
      b.setInsertionPointToEnd(body.get());
      Operation *copy = b.clone(nested, mapping);
      FailureOr<SmallVector<Value>> results =
          emitScalarTangents(b, copy, [&](Value value) {
            Value tangent = found.lookup(value);
            return tangent ? tangent : tangents.get(value); // From outside.
          });
      if (failed(results))
        return failure();
      for (auto [result, tangent] : llvm::zip(copy->getResults(), *results))
        if (tangent)
          found[result] = tangent;
    }
    for (Value value : from.getTerminator()->getOperands())
      moved.push_back(found.lookup(mapping.lookupOrDefault(value)));
    return success();
  }

  /// Whether a value of the body is computed from what a destination holds.
  bool readsAccumulated(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned number = argument.getArgNumber();
      return argument.getOwner() == body.get() && number >= inputs.size() &&
             number < inputs.size() + size_t(op.getNumDpsInits());
    }
    if (value.getParentBlock() != body.get())
      return false;
    return llvm::any_of(
        value.getDefiningOp()->getOperands(),
        [&](Value operand) { return readsAccumulated(operand); });
  }

  LogicalResult create(bool ofBoth) {
    SmallVector<Value> inits, yielded;
    unsigned numInits = unsigned(op.getNumDpsInits());
    SmallVector<AffineMap> initMaps;
    for (OpOperand &init : op.getDpsInitsMutable())
      initMaps.push_back(op.getMatchingIndexingMap(&init));
    if (ofBoth) {
      llvm::append_range(inits, op.getDpsInits());
      llvm::append_range(maps, initMaps);
      for (Value value : op.getBlock()->getTerminator()->getOperands())
        yielded.push_back(mapping.lookupOrDefault(value));
    }
    llvm::append_range(maps, initMaps);
    for (OpOperand &init : op.getDpsInitsMutable())
      inits.push_back(op.payloadUsesValueFromOperand(&init)
                          ? tangents.getOrZeros(b, init.get())
                          : b.emptyLike(init.get()));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(body.get());
      for (auto [value, init] : llvm::zip(moved, op.getDpsInits()))
        yielded.push_back(
            value ? value
                  : b.real(cast<FloatType>(getElementTypeOrSelf(init)), 0.0));
      linalg::YieldOp::create(b, yielded);
    }
    for (Operation &nested : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&nested))
        nested.erase();
    if (!ofBoth)
      body->eraseArguments(unsigned(inputs.size()), numInits);
    // Tangents have the sizes of what they are of, which may not be read.
    for (OpOperand *operand : llvm::reverse(movingInputs))
      if (unsigned number = operand->getOperandNumber();
          body->getArgument(number).use_empty()) {
        body->eraseArgument(number);
        inputs.erase(inputs.begin() + number);
        maps.erase(maps.begin() + number);
      }
    auto generic =
        linalg::GenericOp::create(b, ValueRange(inits).getTypes(), inputs,
                                  inits, maps, op.getIteratorTypesArray());
    generic.getRegion().push_back(body.release());
    ResultRange results = generic.getResults();
    if (ofBoth)
      op->replaceAllUsesWith(results.take_front(numInits));
    ResultRange ofResults =
        ofBoth ? results.take_front(numInits) : ResultRange(op->getResults());
    for (auto [result, tangent, value] :
         llvm::zip(ofResults, results.take_back(numInits), moved))
      if (value)
        tangents.set(result, tangent);
    if (ofBoth)
      op->erase();
    return success();
  }

  GradientBuilder &b;
  linalg::LinalgOp op;
  OpTangents &tangents;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<OpOperand *> movingInputs;
  std::unique_ptr<Block> body;
  IRMapping mapping;
  SmallVector<Value> moved; ///< Of what is yielded; null where it does not.
};

} // namespace

template <typename Op>
static LogicalResult emitTangents(GradientBuilder &b, Op op,
                                  OpTangents &tangents) {
  return LinalgTangents(b, cast<linalg::LinalgOp>(op.getOperation()), tangents)
      .emit();
}

/// Operations of linalg that have tangents alone.
template <typename... Ops> static void attachTangents(MLIRContext *context) {
  (attachModel<Ops, nullptr, emitTangents>(context), ...);
}

template <typename... Ops>
static void attachContractions(MLIRContext *context) {
  (attachModel<Ops, emitGradients, emitTangents>(context), ...);
}

void attn::attachTensorModels(MLIRContext *context) {
  attachModel<linalg::GenericOp, emitGradients, emitTangents>(context);
  attachTangents<linalg::AddOp, linalg::CopyOp, linalg::DivOp, linalg::FillOp,
                 linalg::MulOp, linalg::SubOp>(context);
  attachContractions<linalg::BatchMatmulOp, linalg::BatchMatvecOp,
                     linalg::MatmulOp, linalg::MatvecOp, linalg::VecmatOp>(
      context);
  attachModel<linalg::TransposeOp, emitGradients, emitLinear>(context);
  attachModel<tensor::CastOp, emitGradients, emitLinear>(context);
  attachModel<tensor::CollapseShapeOp, emitGradients, emitLinear>(context);
  attachModel<tensor::ExpandShapeOp, emitGradients, emitLinear>(context);
  attachModel<tensor::ExtractSliceOp, emitGradients, emitLinear>(context);
  attachModel<tensor::InsertOp, nullptr, emitInserted>(context);
  attachModel<tensor::InsertSliceOp, nullptr, emitInserted>(context);
}
