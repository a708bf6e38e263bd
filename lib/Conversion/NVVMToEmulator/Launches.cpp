//===- Launches.cpp - Launches of kernels as calls of the emulator --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/NVVMToEmulator/Conversions.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Converts one launch.
class LaunchConversion {
public:
  LaunchConversion(gpu::LaunchFuncOp launch, EmulatorCalls &calls)
      : launch(launch), calls(calls), builder(calls.getBuilder()),
        loc(launch.getLoc()), converter(launch.getContext()) {
    calls.setInsertionPoint(launch);
  }

  LogicalResult convert(LLVM::LLVMFuncOp kernel, LLVM::LLVMFuncOp entry,
                        uint64_t staticBytes) {
    if (!launch.getAsyncDependencies().empty() || launch.getAsyncToken() ||
        launch.getAsyncObject() || launch.hasClusterSize())
      return launch.emitOpError(
          "is only emulated if it is synchronous and without clusters");
    for (Value operand : launch.getKernelOperands())
      if (failed(addArgument(operand)))
        return failure();
    if (!llvm::equal(ValueRange(arguments).getTypes(),
                     kernel.getArgumentTypes()))
      return launch.emitOpError("passes other arguments than '")
             << kernel.getName() << "' takes";

    SmallVector<Value> sizes = {launch.getGridSizeX(),  launch.getGridSizeY(),
                                launch.getGridSizeZ(),  launch.getBlockSizeX(),
                                launch.getBlockSizeY(), launch.getBlockSizeZ()};
    llvm::transform(sizes, sizes.begin(),
                    [&](Value size) { return createWord(size); });
    Value dynamicBytes = launch.getDynamicSharedMemorySize();
    sizes.push_back(dynamicBytes ? createWord(dynamicBytes)
                                 : calls.createI64(0));
    sizes.push_back(calls.createI64(int64_t(staticBytes)));

    SmallVector<Value> addresses;
    for (Value argument : arguments)
      addresses.push_back(createArray(argument.getType(), argument));
    Type word = builder.getI64Type();
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    calls.call("launch",
               {LLVM::AddressOfOp::create(builder, loc, entry),
                calls.createText(kernel.getName()), createArray(word, sizes),
                createArray(pointer, addresses), createArray(word, memrefs),
                calls.createI64(int64_t(memrefs.size() / 3))});
    launch.erase();
    return success();
  }

private:
  /// Adds what the kernel takes of `operand`: the fields of a memref, or it.
  LogicalResult addArgument(Value operand) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    Type lowered = converter.convertType(operand.getType());
    if (!lowered || (!type && isa<BaseMemRefType>(operand.getType())))
      return launch.emitOpError("with an argument of ")
             << operand.getType() << " is not emulated";
    Value value = cast(operand, lowered);
    if (!type) {
      arguments.push_back(value);
      return success();
    }
    auto bytes = DataLayout::closest(launch).getTypeSize(
        converter.convertType(type.getElementType()));
    for (uint64_t number : {uint64_t(arguments.size()),
                            uint64_t(type.getRank()), bytes.getFixedValue()})
      memrefs.push_back(calls.createI64(int64_t(number)));
    MemRefDescriptor::unpack(builder, loc, value, type, arguments);
    return success();
  }

  Value cast(Value value, Type type) {
    return value.getType() == type
               ? value
               : UnrealizedConversionCastOp::create(builder, loc, type, value)
                     .getResult(0);
  }

  /// A size, of i32, i64 or index, as i64.
  Value createWord(Value size) {
    Type type = builder.getI64Type();
    return size.getType().isInteger(32)
               ? LLVM::ZExtOp::create(builder, loc, type, size).getResult()
               : cast(size, type);
  }

  /// Values on the stack, one after another.
  Value createArray(Type type, ValueRange values) {
    Value array;
    {
      OpBuilder::InsertionGuard guard(builder);
      auto function = launch->getParentOfType<FunctionOpInterface>();
      builder.setInsertionPointToStart(&function.getFunctionBody().front());
      array = LLVM::AllocaOp::create(
          builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), type,
          calls.createI64(int64_t(values.size())));
    }
    for (auto [index, value] : llvm::enumerate(values)) {
      Value slot =
          LLVM::GEPOp::create(builder, loc, array.getType(), type, array,
                              ArrayRef<LLVM::GEPArg>{int32_t(index)});
      LLVM::StoreOp::create(builder, loc, value, slot);
    }
    return array;
  }

  gpu::LaunchFuncOp launch;
  EmulatorCalls &calls;
  OpBuilder &builder;
  Location loc;
  LLVMTypeConverter converter;
  SmallVector<Value> arguments;
  /// For each memref the index of its first field, its rank and its elements'
  /// bytes.
  SmallVector<Value> memrefs;
};
} // namespace

LogicalResult attn::convertLaunch(gpu::LaunchFuncOp launch,
                                  LLVM::LLVMFuncOp kernel,
                                  LLVM::LLVMFuncOp entry,
                                  const SharedLayout &layout,
                                  EmulatorCalls &calls) {
  return LaunchConversion(launch, calls)
      .convert(kernel, entry, layout.getStaticBytes());
}
