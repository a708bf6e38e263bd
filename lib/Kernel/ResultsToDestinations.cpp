//===- ResultsToDestinations.cpp - Results into the caller's buffers ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"
#include "lib/Kernel/Transforms.h"
#include "lib/Kernel/UpdatedArguments.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_RESULTSTODESTINATIONS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

MemRefType attn::getKernelBufferType(RankedTensorType type) {
  if (type.getRank() <= 1) // Nothing is left to choose.
    return MemRefType::get(type.getShape(), type.getElementType());
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides));
}

/// Makes a tensor argument a buffer, which the function may write.
static void convertToBuffer(func::FuncOp func, BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  argument.setType(getKernelBufferType(type));
  func.setType(FunctionType::get(func.getContext(),
                                 func.getBody().getArgumentTypes(),
                                 func.getResultTypes()));
  func.removeArgAttr(argument.getArgNumber(),
                     bufferization::BufferizationDialect::kWritableAttrName);
  OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
  auto tensor = bufferization::ToTensorOp::create(
      builder, argument.getLoc(), type, argument, /*restrict=*/true,
      /*writable=*/true);
  argument.replaceAllUsesExcept(tensor, tensor);
}

/// Turns the ranked tensor results of `func` into trailing buffer arguments and
/// marks its tensor arguments read-only; but an argument that a result updates
/// becomes a buffer that the result is written into. Nothing may call `func`.
/// Emits an error for a writable argument that no result updates.
static LogicalResult convertResultsToDestinations(func::FuncOp func) {
  MLIRContext *context = func.getContext();
  FailureOr<SmallVector<std::optional<unsigned>>> updated =
      findUpdatedArguments(func);
  if (failed(updated))
    return failure();
  for (std::optional<unsigned> argument : *updated)
    if (argument)
      convertToBuffer(func, func.getArgument(*argument));
  for (BlockArgument arg : func.getArguments())
    if (isa<TensorType>(arg.getType()))
      func.setArgAttr(arg.getArgNumber(),
                      bufferization::BufferizationDialect::kWritableAttrName,
                      BoolAttr::get(context, false));

  SmallVector<Type> results(func.getResultTypes());
  llvm::BitVector converted(results.size());
  SmallVector<Value> destinations(results.size());
  for (auto [index, type] : llvm::enumerate(results)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    converted.set(index);
    if (std::optional<unsigned> argument = (*updated)[index]) {
      destinations[index] = func.getArgument(*argument);
      continue;
    }
    // Argument attributes on the result would not mean the same on a buffer.
    if (failed(func.insertArgument(
            func.getNumArguments(), getKernelBufferType(tensor),
            DictionaryAttr::get(context), func.getLoc())))
      llvm_unreachable("func.func accepts any argument");
    destinations[index] = func.getArguments().back();
  }

  func.walk([&](func::ReturnOp op) {
    OpBuilder builder(op);
    auto write = [&](unsigned index) {
      Value result = op.getOperand(index), destination = destinations[index];
      // Or what is computed in sizes that are known better would be copied.
      if (auto better = result.getDefiningOp<tensor::CastOp>();
          tensor::canFoldIntoConsumerOp(better)) {
        result = better.getSource();
        destination = memref::CastOp::create(
            builder, op.getLoc(),
            getKernelBufferType(cast<RankedTensorType>(result.getType())),
            destination);
      }
      bufferization::MaterializeInDestinationOp::create(
          builder, op.getLoc(), /*result=*/Type(), result, destination,
          /*restrict=*/true, /*writable=*/true);
    };
    // What arguments held before may be a result too.
    for (unsigned index : converted.set_bits())
      if (!(*updated)[index])
        write(index);
    for (unsigned index : converted.set_bits())
      if ((*updated)[index])
        write(index);
    op->eraseOperands(converted);
  });
  if (failed(func.eraseResults(converted)))
    llvm_unreachable("func.func accepts any results");
  return success();
}

namespace {
struct ResultsToDestinations
    : attn::impl::ResultsToDestinationsBase<ResultsToDestinations> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!func.isPublic())
        continue;
      std::optional<SymbolTable::UseRange> uses =
          func.getSymbolUses(getOperation());
      if (!uses || !uses->empty()) {
        InFlightDiagnostic error =
            func.emitError("public function '")
            << func.getName()
            << "' is used in its module; only a function that nothing calls "
               "can write its results into buffers of its caller";
        if (uses)
          error.attachNote(uses->begin()->getUser()->getLoc())
              << "first used here";
        return signalPassFailure();
      }
      if (failed(convertResultsToDestinations(func)))
        return signalPassFailure();
    }
  }
};
} // namespace
