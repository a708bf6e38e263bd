//===- SubsetModels.cpp - Slices that are the same at first sight ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/ExternalModels.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

using namespace mlir;

static bool isSameSlice(const HyperrectangularSlice &a,
                        const HyperrectangularSlice &b) {
  return a.getMixedOffsets() == b.getMixedOffsets() &&
         a.getMixedSizes() == b.getMixedSizes() &&
         a.getMixedStrides() == b.getMixedStrides();
}

namespace {
/// Compares operands before upstream solves systems of inequalities for each of
/// them, of everything that they are computed from: with sizes that a mask's
/// tables say, that takes as long as all other passes.
template <typename OpTy>
struct InsertionModel
    : SubsetOpInterface::ExternalModel<InsertionModel<OpTy>, OpTy> {
  FailureOr<HyperrectangularSlice>
  getAccessedHyperrectangularSlice(Operation *op) const {
    return HyperrectangularSlice(cast<OffsetSizeAndStrideOpInterface>(op));
  }

  bool operatesOnEquivalentSubset(
      Operation *op, SubsetOpInterface candidate,
      function_ref<bool(Value, Value)> equivalenceFn) const {
    FailureOr<HyperrectangularSlice> other =
        candidate.getAccessedHyperrectangularSlice();
    if (succeeded(other) &&
        isSameSlice(*getAccessedHyperrectangularSlice(op), *other))
      return equivalenceFn(mlir::detail::getTensorContainer(op),
                           candidate.getTensorContainer());
    return mlir::detail::defaultOperatesOnEquivalentSubset(op, candidate,
                                                           equivalenceFn);
  }
};
} // namespace

void attn::registerSubsetModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::InsertSliceOp::attachInterface<
        InsertionModel<tensor::InsertSliceOp>>(*context);
    tensor::ParallelInsertSliceOp::attachInterface<
        InsertionModel<tensor::ParallelInsertSliceOp>>(*context);
  });
}
