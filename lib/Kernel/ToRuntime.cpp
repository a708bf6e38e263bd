//===- ToRuntime.cpp - What generated code needs from its host ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"
#include "lib/Kernel/RuntimeSymbols.h"

#include "dialect/AttnOps.h"

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTTORUNTIMECALLS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using attn::RuntimeSymbols;

/// Alignment of buffers whose allocation asks for none: a cache line, and the
/// widest vector register.
static constexpr uint64_t defaultAlignment = 64;

namespace {
template <typename OpTy>
class RuntimePattern : public ConvertOpToLLVMPattern<OpTy> {
public:
  RuntimePattern(const LLVMTypeConverter &converter, RuntimeSymbols &symbols)
      : ConvertOpToLLVMPattern<OpTy>(converter), symbols(symbols) {}

protected:
  RuntimeSymbols &symbols;
};

struct AssertToRuntime : RuntimePattern<cf::AssertOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult
  matchAndRewrite(cf::AssertOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<LLVM::LLVMFuncOp> fail = symbols.getFunction(
        rewriter, "attn_rt_fail", getPtrType(), getVoidType());
    if (failed(fail))
      return failure();
    fail->setPassthroughAttr(rewriter.getStrArrayAttr({"cold", "noreturn"}));
    LLVM::GlobalOp message =
        symbols.getMessage(attn::withLocation(op.getMsg(), loc));

    Block *head = op->getBlock();
    Block *rest = rewriter.splitBlock(head, op->getIterator());
    Block *failing = rewriter.createBlock(head->getParent());
    Value text = LLVM::AddressOfOp::create(rewriter, loc, message);
    LLVM::CallOp::create(rewriter, loc, *fail, text);
    LLVM::UnreachableOp::create(rewriter, loc);

    rewriter.setInsertionPointToEnd(head);
    cf::CondBranchOp::create(rewriter, loc, adaptor.getArg(), rest, failing);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Follows a reason that has a position: {0} to {3} are the reason's own.
constexpr StringLiteral positionText =
    ", in batch entry {4}, query head {5}, query position {6}, key {7}";

struct ReportToRuntime : RuntimePattern<attn::ReportOp> {
  using RuntimePattern::RuntimePattern;

  LogicalResult
  matchAndRewrite(attn::ReportOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<LLVM::LLVMFuncOp> report =
        symbols.getFunction(rewriter, "attn_rt_report",
                            {getPtrType(), getPtrType()}, getVoidType());
    if (failed(report))
      return failure();
    report->setPassthroughAttr(rewriter.getStrArrayAttr({"cold"}));
    std::string lines = attn::withLocation(op.getMessage(), loc);
    StringRef position = op.getPosition().empty() ? "" : positionText;
    for (auto reason : op.getReasons().getAsRange<StringAttr>())
      lines += ("\n" + reason.getValue() + position).str();
    LLVM::GlobalOp text = symbols.getMessage(lines);

    Block *head = op->getBlock();
    Block *rest = rewriter.splitBlock(head, op->getIterator());
    Block *reporting = rewriter.createBlock(rest);
    Type i64 = rewriter.getI64Type();
    // The reason, and places for all numbers and a position.
    Value numbers = LLVM::ZeroOp::create(
        rewriter, loc,
        LLVM::LLVMArrayType::get(i64, 1 + attn::ReportOp::kMaxNumbers + 4));
    auto insert = [&](int64_t index, Value number) {
      numbers =
          LLVM::InsertValueOp::create(rewriter, loc, numbers, number, index);
    };
    insert(0, adaptor.getReason());
    for (auto [index, number] : llvm::enumerate(adaptor.getNumbers()))
      insert(1 + int64_t(index), number);
    for (auto [index, number] : llvm::enumerate(adaptor.getPosition()))
      insert(1 + attn::ReportOp::kMaxNumbers + int64_t(index), number);
    Value memory = allocate(op, numbers.getType(), rewriter);
    LLVM::StoreOp::create(rewriter, loc, numbers, memory);
    Value address = LLVM::AddressOfOp::create(rewriter, loc, text);
    LLVM::CallOp::create(rewriter, loc, *report, ValueRange{address, memory});
    cf::BranchOp::create(rewriter, loc, rest);

    rewriter.setInsertionPointToEnd(head);
    cf::CondBranchOp::create(rewriter, loc, adaptor.getFailed(), reporting,
                             rest);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// One for all reports of a function, where that begins: not again in each
  /// iteration of a loop.
  Value allocate(Operation *op, Type type, OpBuilder &builder) const {
    auto function = op->getParentOfType<FunctionOpInterface>();
    Value &memory = memories[function];
    if (memory)
      return memory;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getFunctionBody().front());
    Value one = LLVM::ConstantOp::create(builder, op->getLoc(),
                                         builder.getI32IntegerAttr(1));
    memory = LLVM::AllocaOp::create(
        builder, op->getLoc(), LLVM::LLVMPointerType::get(builder.getContext()),
        type, one);
    return memory;
  }

  /// By function.
  mutable llvm::DenseMap<Operation *, Value> memories;
};

uint64_t getAlignment(memref::AllocOp op) {
  return op.getAlignment().value_or(defaultAlignment);
}
uint64_t getAlignment(gpu::AllocOp) { return defaultAlignment; }

/// What the runtime has for an operation.
StringRef getFunction(memref::AllocOp) { return "attn_rt_alloc"; }
StringRef getFunction(memref::DeallocOp) { return "attn_rt_free"; }
StringRef getFunction(gpu::AllocOp) { return "attn_gpu_alloc"; }
StringRef getFunction(gpu::DeallocOp) { return "attn_gpu_free"; }

/// Of memory of the host, or of a GPU.
template <typename OpTy> struct AllocToRuntime : RuntimePattern<OpTy> {
  using RuntimePattern<OpTy>::RuntimePattern;

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getMemref().getType());
    if (!this->isConvertibleAndHasIdentityMaps(type))
      return rewriter.notifyMatchFailure(op, "buffer is not contiguous");
    if (op->getNumResults() != 1 ||
        op->getNumOperands() != op.getDynamicSizes().size())
      return rewriter.notifyMatchFailure(op, "is asynchronous");
    Type word = this->getIndexType();
    FailureOr<LLVM::LLVMFuncOp> alloc = this->symbols.getFunction(
        rewriter, getFunction(op), {word, word}, this->getPtrType());
    if (failed(alloc))
      return failure();

    SmallVector<Value> sizes, strides;
    Value wrappingSize;
    this->getMemRefDescriptorSizes(loc, type, adaptor.getDynamicSizes(),
                                   rewriter, sizes, strides, wrappingSize);
    Value alignment =
        this->createIndexAttrConstant(rewriter, loc, word, getAlignment(op));
    Value pointer = LLVM::CallOp::create(
                        rewriter, loc, *alloc,
                        {createByteSize(loc, type, sizes, rewriter), alignment})
                        .getResult();
    Value descriptor = this->createMemRefDescriptor(loc, type, pointer, pointer,
                                                    sizes, strides, rewriter);
    rewriter.replaceOp(op, descriptor);
    return success();
  }

private:
  /// Product of the sizes in bytes, or the largest number where that does not
  /// fit. A negative size is a huge one here.
  Value createByteSize(Location loc, MemRefType type, ArrayRef<Value> sizes,
                       ConversionPatternRewriter &rewriter) const {
    Value result = this->getSizeInBytes(loc, type.getElementType(), rewriter);
    Value largest =
        this->createIndexAttrConstant(rewriter, loc, this->getIndexType(), -1);
    Type pair = LLVM::LLVMStructType::getLiteral(
        rewriter.getContext(), {this->getIndexType(), rewriter.getI1Type()});
    for (Value size : sizes) {
      Value product =
          LLVM::UMulWithOverflowOp::create(rewriter, loc, pair, result, size);
      Value low = LLVM::ExtractValueOp::create(rewriter, loc, product, 0);
      Value overflow = LLVM::ExtractValueOp::create(rewriter, loc, product, 1);
      result = LLVM::SelectOp::create(rewriter, loc, overflow, largest, low);
    }
    return result;
  }
};

template <typename OpTy> struct DeallocToRuntime : RuntimePattern<OpTy> {
  using RuntimePattern<OpTy>::RuntimePattern;

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<MemRefType>(op.getMemref().getType()))
      return rewriter.notifyMatchFailure(op, "unranked buffer");
    if (op->getNumResults() != 0 || op->getNumOperands() != 1)
      return rewriter.notifyMatchFailure(op, "is asynchronous");
    FailureOr<LLVM::LLVMFuncOp> free = this->symbols.getFunction(
        rewriter, getFunction(op), this->getPtrType(), this->getVoidType());
    if (failed(free))
      return failure();
    Value pointer = MemRefDescriptor(adaptor.getMemref())
                        .allocatedPtr(rewriter, op.getLoc());
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, *free, pointer);
    return success();
  }
};

struct ConvertToRuntimeCalls
    : attn::impl::ConvertToRuntimeCallsBase<ConvertToRuntimeCalls> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    RuntimeSymbols symbols(getOperation());
    patterns
        .add<AssertToRuntime, ReportToRuntime, AllocToRuntime<memref::AllocOp>,
             DeallocToRuntime<memref::DeallocOp>, AllocToRuntime<gpu::AllocOp>,
             DeallocToRuntime<gpu::DeallocOp>>(converter, symbols);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<attn::ReportOp, cf::AssertOp, memref::AllocOp,
                        memref::DeallocOp, gpu::AllocOp, gpu::DeallocOp>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
