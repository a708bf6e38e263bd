//===- NVVMToEmulator.cpp - Kernels for GPUs to code for the emulator -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/LaunchOperands.h"
#include "lib/GPU/NVVMToEmulator/Conversions.h"
#include "lib/GPU/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTNVVMTOEMULATOR
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Passes a constant as bytes behind the kernel's parameters, which it does not
/// take, so that its accesses are of a buffer.
static void addConstant(LLVM::GlobalOp constant, LaunchOperands &operands,
                        EmulatorCalls &calls, Location loc) {
  DataLayout dataLayout = DataLayout::closest(constant);
  auto bytes = dataLayout.getTypeSize(constant.getGlobalType());
  Value address = LLVM::AddressOfOp::create(calls.getBuilder(), loc, constant);
  operands.memrefs.push_back({int64_t(operands.arguments.size()), 1, 1});
  llvm::append_range(operands.arguments,
                     ValueRange{address, address, calls.createI64(0),
                                calls.createI64(int64_t(bytes.getFixedValue())),
                                calls.createI64(1)});
}

/// Replaces a launch of `kernel`, which `entry` calls with arguments from
/// memory, by a call that also passes where `constants` are. Fails, with a
/// diagnostic, if it is not emulated.
static LogicalResult
convertLaunch(gpu::LaunchFuncOp launch, LLVM::LLVMFuncOp kernel,
              LLVM::LLVMFuncOp entry, const SharedLayout &layout,
              ArrayRef<LLVM::GlobalOp> constants, EmulatorCalls &calls) {
  FailureOr<LaunchOperands> operands = LaunchOperands::compute(launch, kernel);
  if (failed(operands))
    return failure();
  calls.setInsertionPoint(launch);
  OpBuilder &builder = calls.getBuilder();
  for (LLVM::GlobalOp constant : constants)
    addConstant(constant, *operands, calls, launch.getLoc());
  operands->sizes.push_back(calls.createI64(int64_t(layout.getStaticBytes())));
  SmallVector<Value> memrefs;
  for (const LaunchOperands::MemRef &memref : operands->memrefs)
    for (int64_t number : {memref.firstArgument, memref.rank, memref.bytes})
      memrefs.push_back(calls.createI64(number));
  calls.call("launch",
             {LLVM::AddressOfOp::create(builder, launch.getLoc(), entry),
              calls.createText(kernel.getName()),
              createArray(builder, launch, operands->sizes),
              createArgumentArray(builder, launch, operands->arguments),
              createArray(builder, launch, memrefs),
              calls.createI64(int64_t(operands->memrefs.size()))});
  launch.erase();
  return success();
}

/// Names of the emulator's functions begin with this, those of entries too.
static constexpr StringLiteral prefix = "attn_emu_";

/// Whether both declare one function that is defined elsewhere.
static bool areDeclarations(Operation *lhs, Operation *rhs) {
  auto first = dyn_cast_or_null<LLVM::LLVMFuncOp>(lhs);
  auto second = dyn_cast_or_null<LLVM::LLVMFuncOp>(rhs);
  return first && second && first.isExternal() && second.isExternal() &&
         first.getFunctionType() == second.getFunctionType();
}

/// Moves what is in `gpu.module`s to the module. What has the name of another
/// one gets a new name, but for declarations.
static LogicalResult flatten(ModuleOp module) {
  SymbolTable symbols(module);
  module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
  for (auto kernels :
       llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
    symbols.remove(kernels); // A function in it may have its name.
    SymbolTable inner(kernels);
    for (Operation &op : *kernels.getBody())
      if (auto symbol = dyn_cast<SymbolOpInterface>(op))
        if (Operation *other = symbols.lookup(symbol.getName());
            other && !areDeclarations(other, &op) &&
            failed(inner.renameToUnique(&op, {&symbols})))
          return op.emitOpError("cannot be renamed");
    for (Operation &op :
         llvm::make_early_inc_range(kernels.getBody()->getOperations())) {
      op.remove();
      auto symbol = dyn_cast<SymbolOpInterface>(op);
      if (symbol && symbols.lookup(symbol.getName()))
        op.erase();
      else if (symbol)
        symbols.insert(&op);
      else
        module.push_back(&op);
    }
    kernels.erase();
  }
  return success();
}

static bool isKernel(LLVM::LLVMFuncOp function) {
  return function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
         function->hasAttr(gpu::GPUDialect::getKernelFuncAttrName());
}

static LogicalResult verifyModule(ModuleOp module) {
  for (Operation &op : module.getOps()) {
    auto global = dyn_cast<memref::GlobalOp>(op);
    bool isConstantOfHost = global && global.getConstant();
    if (isConstantOfHost || isa<LLVM::GlobalOp, func::FuncOp>(op))
      continue;
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!function)
      return op.emitOpError("is no part of a kernel's code");
    if (function.getName().starts_with(prefix))
      return function.emitOpError("has a name of the emulator's, '")
             << function.getName() << "'";
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()))
        return function.emitOpError("passes parameter ")
               << i << " by value in memory, which is not emulated";
  }
  return success();
}

static LogicalResult convertBody(LLVM::LLVMFuncOp function,
                                 const SharedLayout &layout,
                                 EmulatorCalls &calls) {
  SmallVector<Operation *> ops;
  function.getBody().walk([&](Operation *op) {
    if (!isWarpgroupOp(op))
      ops.push_back(op);
  });
  if (failed(convertWarpgroupOps(function, calls)))
    return failure();
  for (Operation *op : ops) {
    if (isa<NVVM::NVVMDialect>(op->getDialect()) ||
        isa<LLVM::CallIntrinsicOp>(op)) {
      if (failed(convertNVVMOp(op, calls)))
        return failure();
    } else if (isa<LLVM::LLVMDialect>(op->getDialect())) {
      if (failed(convertMemoryAccess(op, layout, calls)))
        return failure();
    } else {
      return op->emitOpError("is not of the LLVM or the NVVM dialect");
    }
  }
  return success();
}

/// Makes all pointers generic ones.
static void eraseAddressSpaces(ModuleOp module) {
  auto generic = LLVM::LLVMPointerType::get(module.getContext());
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [=](LLVM::LLVMPointerType) -> Type { return generic; });
  module->walk([](LLVM::AddrSpaceCastOp cast) {
    cast.getResult().replaceAllUsesWith(cast.getArg());
    cast.erase();
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// The size of blocks that a kernel requires, if it does.
static DenseI32ArrayAttr getBlockSize(LLVM::LLVMFuncOp kernel) {
  for (StringRef name : {NVVM::NVVMDialect::getReqntidAttrName(),
                         StringRef("gpu.known_block_size")})
    if (auto size = kernel->getAttrOfType<DenseI32ArrayAttr>(name)) {
      SmallVector<int32_t> sizes(size.asArrayRef());
      sizes.resize(3, 1);
      return DenseI32ArrayAttr::get(kernel.getContext(), sizes);
    }
  return {};
}

/// Adds a function that calls the kernel with arguments from memory.
static LLVM::LLVMFuncOp addEntry(LLVM::LLVMFuncOp kernel,
                                 const SharedLayout &layout) {
  OpBuilder builder(kernel);
  Location loc = kernel.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto entry = LLVM::LLVMFuncOp::create(
      builder, loc, (prefix + "entry_" + kernel.getName()).str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  pointer));
  entry->setAttr("attn.shared_bytes",
                 builder.getI64IntegerAttr(int64_t(layout.getStaticBytes())));
  if (DenseI32ArrayAttr size = getBlockSize(kernel))
    entry->setAttr("attn.block_size", size);
  Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  SmallVector<Value> arguments;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                     body->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(index)});
    Value address = LLVM::LoadOp::create(builder, loc, pointer, slot);
    arguments.push_back(LLVM::LoadOp::create(builder, loc, type, address));
  }
  LLVM::CallOp::create(builder, loc, kernel, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return entry;
}

/// Launches in functions of the host, with their kernels.
static FailureOr<SmallVector<std::pair<gpu::LaunchFuncOp, LLVM::LLVMFuncOp>>>
findLaunches(ModuleOp module) {
  SmallVector<std::pair<gpu::LaunchFuncOp, LLVM::LLVMFuncOp>> launches;
  SymbolTableCollection symbols;
  WalkResult result = module.walk([&](gpu::LaunchFuncOp launch) -> WalkResult {
    auto kernel = symbols.lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
        launch, launch.getKernel());
    if (!kernel || !isKernel(kernel))
      return launch.emitOpError("of what is no kernel in the LLVM dialect, ")
             << launch.getKernel();
    launches.emplace_back(launch, kernel);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return launches;
}

/// Memory of the GPU is the host's.
static void convertAllocations(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](Operation *op) {
    rewriter.setInsertionPoint(op);
    if (auto alloc = dyn_cast<gpu::AllocOp>(op);
        alloc && !alloc.getAsyncToken())
      rewriter.replaceOpWithNewOp<memref::AllocOp>(
          alloc, alloc.getType(), alloc.getDynamicSizes(),
          alloc.getSymbolOperands(), /*alignment=*/IntegerAttr());
    else if (auto dealloc = dyn_cast<gpu::DeallocOp>(op);
             dealloc && !dealloc.getAsyncToken())
      rewriter.replaceOpWithNewOp<memref::DeallocOp>(dealloc,
                                                     dealloc.getMemref());
  });
}

/// Drops what only compilers for GPUs read.
static void dropAttributes(LLVM::LLVMFuncOp function) {
  for (NamedAttribute attribute :
       llvm::to_vector(function->getDiscardableAttrs()))
    function->removeDiscardableAttr(attribute.getName());
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
}

namespace {
struct ConvertNVVMToEmulator
    : attn::impl::ConvertNVVMToEmulatorBase<ConvertNVVMToEmulator> {
  void runOnOperation() override {
    if (failed(convert(getOperation())))
      signalPassFailure();
  }

  static LogicalResult convert(ModuleOp module) {
    auto launches = findLaunches(module);
    if (failed(launches) || failed(flatten(module)) ||
        failed(verifyModule(module)))
      return failure();
    FailureOr<SharedLayout> layout = SharedLayout::compute(module);
    if (failed(layout))
      return failure();
    SmallVector<LLVM::LLVMFuncOp> functions(module.getOps<LLVM::LLVMFuncOp>());
    SmallVector<LLVM::GlobalOp> variables(module.getOps<LLVM::GlobalOp>());
    EmulatorCalls calls(module);
    for (LLVM::LLVMFuncOp function : functions)
      if (failed(convertBody(function, *layout, calls)))
        return failure();
    SmallVector<LLVM::GlobalOp> constants;
    for (LLVM::GlobalOp variable : variables)
      if (isConstantData(variable)) {
        variable.setAddrSpace(genericSpace);
        constants.push_back(variable);
      } else {
        variable.erase();
      }
    eraseAddressSpaces(module);
    llvm::DenseMap<Operation *, LLVM::LLVMFuncOp> entries;
    for (LLVM::LLVMFuncOp function : functions) {
      if (isKernel(function))
        entries[function] = addEntry(function, *layout);
      if (function.isExternal())
        function.erase(); // Nothing calls it.
      else
        dropAttributes(function);
    }
    for (auto [launch, kernel] : *launches)
      if (failed(convertLaunch(launch, kernel, entries.lookup(kernel), *layout,
                               constants, calls)))
        return failure();
    convertAllocations(module);
    return success();
  }
};
} // namespace
