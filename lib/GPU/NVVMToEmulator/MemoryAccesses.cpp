//===- MemoryAccesses.cpp - Checks of accesses to memory ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/NVVMToEmulator/Conversions.h"

#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

/// As `attn_emu_access` numbers them.
enum class AccessKind { load, store, both };

static unsigned getAddressSpace(Value pointer) {
  return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
}

/// Whether a pointer is into a variable on the stack of its function.
static bool isLocal(Value pointer) {
  while (auto element = pointer.getDefiningOp<LLVM::GEPOp>())
    pointer = element.getBase();
  return pointer.getDefiningOp<LLVM::AllocaOp>() != nullptr;
}

static LogicalResult check(Operation *op, Value pointer, Type type,
                           std::optional<uint64_t> alignment, AccessKind kind,
                           EmulatorCalls &calls) {
  unsigned space = getAddressSpace(pointer);
  if (space != genericSpace && space != globalSpace && space != sharedSpace &&
      space != localSpace)
    return op->emitOpError("in address space ") << space << " is not emulated";
  if (space == localSpace || isLocal(pointer))
    return success();
  DataLayout dataLayout = DataLayout::closest(op);
  uint64_t bytes = dataLayout.getTypeSize(type).getFixedValue();
  calls.setInsertionPoint(op);
  calls.call("access", {pointer, calls.createI64(int64_t(bytes)),
                        calls.createI64(int64_t(alignment.value_or(
                            dataLayout.getTypeABIAlignment(type)))),
                        calls.createI32(int64_t(kind)), calls.createI32(space),
                        calls.createSite(op)});
  return success();
}

static void replace(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

static LogicalResult convertAddressOf(LLVM::AddressOfOp op,
                                      const SharedLayout &layout,
                                      EmulatorCalls &calls) {
  auto variable = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(
      op, op.getGlobalNameAttr());
  if (std::optional<StringRef> text =
          variable ? getText(variable) : std::nullopt) {
    calls.setInsertionPoint(op);
    replace(op, calls.createText(*text));
    return success();
  }
  if (variable && isConstantData(variable))
    return success();
  if (!layout.contains(op.getGlobalName()))
    return op.emitOpError("takes the address of '")
           << op.getGlobalName() << "', which is not emulated";
  calls.setInsertionPoint(op);
  OpBuilder &builder = calls.getBuilder();
  auto generic = LLVM::LLVMPointerType::get(op.getContext());
  Value begin = calls.call("shared_memory", {}, generic);
  Value address = LLVM::GEPOp::create(
      builder, op.getLoc(), generic, builder.getI8Type(), begin,
      ArrayRef<LLVM::GEPArg>{int32_t(layout.getOffset(op.getGlobalName()))});
  replace(op, LLVM::AddrSpaceCastOp::create(builder, op.getLoc(), op.getType(),
                                            address));
  return success();
}

/// The address where shared memory begins, as an integer of `type`.
static Value createSharedBegin(Location loc, Type type, EmulatorCalls &calls) {
  OpBuilder &builder = calls.getBuilder();
  Value begin = calls.call("shared_memory", {},
                           LLVM::LLVMPointerType::get(builder.getContext()));
  return LLVM::PtrToIntOp::create(builder, loc, type, begin);
}

static LogicalResult convertPtrToInt(LLVM::PtrToIntOp op,
                                     EmulatorCalls &calls) {
  if (getAddressSpace(op.getArg()) != sharedSpace)
    return success();
  calls.setInsertionPoint(op);
  OpBuilder &builder = calls.getBuilder();
  Value address =
      LLVM::PtrToIntOp::create(builder, op.getLoc(), op.getType(), op.getArg());
  Value begin = createSharedBegin(op.getLoc(), op.getType(), calls);
  replace(op, LLVM::SubOp::create(builder, op.getLoc(), address, begin));
  return success();
}

static LogicalResult convertIntToPtr(LLVM::IntToPtrOp op,
                                     EmulatorCalls &calls) {
  if (getAddressSpace(op.getResult()) != sharedSpace)
    return success();
  calls.setInsertionPoint(op);
  OpBuilder &builder = calls.getBuilder();
  Value offset = op.getArg();
  if (offset.getType() != builder.getI64Type())
    offset = LLVM::ZExtOp::create(builder, op.getLoc(), builder.getI64Type(),
                                  offset);
  Value begin = createSharedBegin(op.getLoc(), builder.getI64Type(), calls);
  Value address = LLVM::AddOp::create(builder, op.getLoc(), begin, offset);
  replace(op, LLVM::IntToPtrOp::create(builder, op.getLoc(), op.getType(),
                                       address));
  return success();
}

static LogicalResult convertCall(LLVM::CallOp op, EmulatorCalls &calls) {
  auto callee = op.getCallee();
  // CUDA's: message, file, line, function and the bytes of a character.
  if (callee == "__assertfail" && op.getNumOperands() == 5) {
    calls.setInsertionPoint(op);
    calls.call(
        "assert_fail",
        {op.getOperand(0), calls.createText(withLocation("", op.getLoc()))});
    op.erase();
    return success();
  }
  auto function = callee
                      ? SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
                            op, op.getCalleeAttr().getAttr())
                      : nullptr;
  if (!function || function.isExternal())
    return op.emitOpError("of ")
           << (callee ? "'" + callee->str() + "', which has no body,"
                      : std::string("a pointer"))
           << " is not emulated";
  return success();
}

LogicalResult attn::convertMemoryAccess(Operation *op,
                                        const SharedLayout &layout,
                                        EmulatorCalls &calls) {
  using LogicalResultOf = llvm::TypeSwitch<Operation *, LogicalResult>;
  return LogicalResultOf(op)
      .Case([&](LLVM::LoadOp load) {
        return check(op, load.getAddr(), load.getType(), load.getAlignment(),
                     AccessKind::load, calls);
      })
      .Case([&](LLVM::StoreOp store) {
        return check(op, store.getAddr(), store.getValue().getType(),
                     store.getAlignment(), AccessKind::store, calls);
      })
      .Case<LLVM::AtomicRMWOp, LLVM::AtomicCmpXchgOp>([&](auto update) {
        return check(op, update.getPtr(), update.getVal().getType(),
                     update.getAlignment(), AccessKind::both, calls);
      })
      .Case([&](LLVM::AddressOfOp address) {
        return convertAddressOf(address, layout, calls);
      })
      .Case([&](LLVM::PtrToIntOp cast) { return convertPtrToInt(cast, calls); })
      .Case([&](LLVM::IntToPtrOp cast) { return convertIntToPtr(cast, calls); })
      .Case([&](LLVM::CallOp call) { return convertCall(call, calls); })
      // What only passes pointers on.
      .Case<LLVM::AddrSpaceCastOp, LLVM::AllocaOp, LLVM::BrOp, LLVM::CondBrOp,
            LLVM::ExtractElementOp, LLVM::ExtractValueOp, LLVM::FreezeOp,
            LLVM::GEPOp, LLVM::ICmpOp, LLVM::InsertElementOp,
            LLVM::InsertValueOp, LLVM::ReturnOp, LLVM::SelectOp, LLVM::SwitchOp,
            LLVM::AssumeOp>([](auto) { return success(); })
      .Case([](LLVM::InlineAsmOp assembly) {
        return assembly.emitOpError("is not emulated");
      })
      .Default([](Operation *other) -> LogicalResult {
        if (llvm::any_of(other->getOperandTypes(),
                         llvm::IsaPred<LLVM::LLVMPointerType>))
          return other->emitOpError("on a pointer is not emulated");
        return success();
      });
}
