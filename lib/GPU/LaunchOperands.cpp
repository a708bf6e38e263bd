//===- LaunchOperands.cpp - What launches of kernels pass -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/LaunchOperands.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

static Value cast(OpBuilder &b, Location loc, Value value, Type type) {
  return value.getType() == type
             ? value
             : UnrealizedConversionCastOp::create(b, loc, type, value)
                   .getResult(0);
}

/// A size, of i32, i64 or index, as i64.
static Value createWord(OpBuilder &b, Location loc, Value size) {
  return size.getType().isInteger(32)
             ? LLVM::ZExtOp::create(b, loc, b.getI64Type(), size).getResult()
             : cast(b, loc, size, b.getI64Type());
}

/// Adds what the kernel takes of `operand`: the fields of a memref, or it.
static LogicalResult addArgument(OpBuilder &b, gpu::LaunchFuncOp launch,
                                 const LLVMTypeConverter &converter,
                                 Value operand, LaunchOperands &result) {
  Location loc = launch.getLoc();
  auto type = dyn_cast<MemRefType>(operand.getType());
  Type lowered = converter.convertType(operand.getType());
  if (!lowered || (!type && isa<BaseMemRefType>(operand.getType())))
    return launch.emitOpError("passes an argument of ")
           << operand.getType() << ", which kernels do not take";
  Value value = cast(b, loc, operand, lowered);
  if (!type) {
    result.arguments.push_back(value);
    return success();
  }
  auto bytes = DataLayout::closest(launch).getTypeSize(
      converter.convertType(type.getElementType()));
  result.memrefs.push_back({int64_t(result.arguments.size()), type.getRank(),
                            int64_t(bytes.getFixedValue())});
  MemRefDescriptor::unpack(b, loc, value, type, result.arguments);
  return success();
}

FailureOr<LaunchOperands> LaunchOperands::compute(gpu::LaunchFuncOp launch,
                                                  LLVM::LLVMFuncOp kernel) {
  if (!launch.getAsyncDependencies().empty() || launch.getAsyncToken() ||
      launch.getAsyncObject() || launch.hasClusterSize())
    return launch.emitOpError(
        "is only lowered if it is synchronous and without clusters");
  OpBuilder b(launch);
  Location loc = launch.getLoc();
  LLVMTypeConverter converter(launch.getContext());
  LaunchOperands result;
  for (Value operand : launch.getKernelOperands())
    if (failed(addArgument(b, launch, converter, operand, result)))
      return failure();
  if (!llvm::equal(ValueRange(result.arguments).getTypes(),
                   kernel.getArgumentTypes()))
    return launch.emitOpError("passes other arguments than '")
           << kernel.getName() << "' takes";

  for (Value size :
       {launch.getGridSizeX(), launch.getGridSizeY(), launch.getGridSizeZ(),
        launch.getBlockSizeX(), launch.getBlockSizeY(), launch.getBlockSizeZ()})
    result.sizes.push_back(createWord(b, loc, size));
  Value bytes = launch.getDynamicSharedMemorySize();
  result.sizes.push_back(
      bytes ? createWord(b, loc, bytes)
            : LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(0)));
  return result;
}

/// Room for `count` values on the stack of the function around `op`.
static Value createRoom(OpBuilder &b, Operation *op, Type type, size_t count) {
  OpBuilder::InsertionGuard guard(b);
  auto function = op->getParentOfType<FunctionOpInterface>();
  b.setInsertionPointToStart(&function.getFunctionBody().front());
  Value size = LLVM::ConstantOp::create(b, op->getLoc(),
                                        b.getI64IntegerAttr(int64_t(count)));
  return LLVM::AllocaOp::create(
      b, op->getLoc(), LLVM::LLVMPointerType::get(b.getContext()), type, size);
}

static Value storeAll(OpBuilder &b, Operation *op, Type type,
                      ValueRange values) {
  Value array = createRoom(b, op, type, values.size());
  for (auto [index, value] : llvm::enumerate(values)) {
    Value slot =
        LLVM::GEPOp::create(b, op->getLoc(), array.getType(), type, array,
                            ArrayRef<LLVM::GEPArg>{int32_t(index)});
    LLVM::StoreOp::create(b, op->getLoc(), value, slot);
  }
  return array;
}

Value attn::createArray(OpBuilder &builder, Operation *op, ValueRange words) {
  return storeAll(builder, op, builder.getI64Type(), words);
}

Value attn::createArgumentArray(OpBuilder &builder, Operation *op,
                                ValueRange values) {
  SmallVector<Value> addresses;
  for (Value value : values)
    addresses.push_back(storeAll(builder, op, value.getType(), value));
  return storeAll(builder, op, LLVM::LLVMPointerType::get(builder.getContext()),
                  addresses);
}
