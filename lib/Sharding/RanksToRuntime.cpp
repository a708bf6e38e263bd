//===- RanksToRuntime.cpp - Calls of the runtime between ranks ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding/RankOps.h"
#include "lib/Kernel/RuntimeSymbols.h"
#include "lib/Sharding/Passes.h"

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTRANKSTORUNTIME
#include "lib/Sharding/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

template <typename Op> class RankPattern : public ConvertOpToLLVMPattern<Op> {
public:
  RankPattern(const LLVMTypeConverter &converter, RuntimeSymbols &symbols)
      : ConvertOpToLLVMPattern<Op>(converter), symbols(symbols) {}

protected:
  /// Calls a function of the runtime; null if the module has another of its
  /// name.
  LLVM::CallOp call(Op op, OpBuilder &builder, StringRef name,
                    ArrayRef<Value> arguments, Type result) const {
    FailureOr<LLVM::LLVMFuncOp> function = symbols.getFunction(
        builder, name, llvm::to_vector(ValueRange(arguments).getTypes()),
        result);
    if (failed(function)) {
      op.emitOpError("needs '") << name << "', which the module has otherwise";
      return nullptr;
    }
    return LLVM::CallOp::create(builder, op.getLoc(), *function, arguments);
  }

  Value number(Op op, OpBuilder &builder, int64_t value) const {
    return LLVM::ConstantOp::create(builder, op.getLoc(),
                                    builder.getI64IntegerAttr(value));
  }

  /// Room for a descriptor, where the function begins: not again in each
  /// iteration of a loop.
  Value allocate(Op op, OpBuilder &builder, Type type) const {
    OpBuilder::InsertionGuard guard(builder);
    auto function = op->template getParentOfType<FunctionOpInterface>();
    builder.setInsertionPointToStart(&function.getFunctionBody().front());
    return LLVM::AllocaOp::create(builder, op.getLoc(), this->getPtrType(),
                                  type, number(op, builder, 1));
  }

  /// The address of a descriptor.
  Value spill(Op op, OpBuilder &builder, Value descriptor) const {
    Value memory = allocate(op, builder, descriptor.getType());
    LLVM::StoreOp::create(builder, op.getLoc(), descriptor, memory);
    return memory;
  }

  /// Of an element, in bytes.
  Value elementBytes(Op op, OpBuilder &builder, Type shaped) const {
    Type element = cast<ShapedType>(shaped).getElementType();
    return number(
        op, builder,
        int64_t(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)));
  }

  /// The memory of an operand of a collective operation; fails where it does
  /// not lie together.
  FailureOr<Value> getDense(Op op, OpBuilder &builder, Value buffer,
                            Value descriptor) const {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type || !type.getLayout().isIdentity())
      return op.emitOpError("expected parts that lie together, got ")
             << buffer.getType();
    return MemRefDescriptor(descriptor)
        .bufferPtr(builder, op.getLoc(), *this->getTypeConverter(), type);
  }

  /// How many elements a buffer has.
  Value countElements(Op op, OpBuilder &builder, Value buffer,
                      Value descriptor) const {
    MemRefDescriptor sizes(descriptor);
    Location loc = op.getLoc();
    Value count = number(op, builder, 1);
    for (int64_t dim = 0; dim < cast<MemRefType>(buffer.getType()).getRank();
         ++dim)
      count = LLVM::MulOp::create(builder, loc, count,
                                  sizes.size(builder, loc, unsigned(dim)));
    return count;
  }

private:
  RuntimeSymbols &symbols;
};

struct IndexToRuntime : RankPattern<RankIndexOp> {
  using RankPattern::RankPattern;
  LogicalResult
  matchAndRewrite(RankIndexOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LLVM::CallOp index = call(op, rewriter, "attn_rt_rank_index",
                              {number(op, rewriter, int64_t(op.getStride())),
                               number(op, rewriter, int64_t(op.getSize()))},
                              rewriter.getI64Type());
    if (!index)
      return failure();
    rewriter.replaceOp(op, index);
    return success();
  }
};

struct BlockToRuntime : RankPattern<RankBlockOp> {
  using RankPattern::RankPattern;
  LogicalResult
  matchAndRewrite(RankBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type keysType = getTypeConverter()->convertType(op.getKeys().getType()),
         valuesType = getTypeConverter()->convertType(op.getValues().getType());
    if (!keysType || !valuesType)
      return rewriter.notifyMatchFailure(op, "is not on buffers");
    Value keys = allocate(op, rewriter, keysType),
          values = allocate(op, rewriter, valuesType);
    if (!call(op, rewriter, "attn_rt_rank_block",
              {adaptor.getStep(), adaptor.getRows(),
               number(op, rewriter, int64_t(op.getStride())),
               number(op, rewriter, op.getSize()),
               spill(op, rewriter, adaptor.getSpans()),
               elementBytes(op, rewriter, op.getKey().getType()),
               spill(op, rewriter, adaptor.getKey()),
               spill(op, rewriter, adaptor.getValue()), keys, values},
              getVoidType()))
      return failure();
    Location loc = op.getLoc();
    rewriter.replaceOp(
        op,
        {LLVM::LoadOp::create(rewriter, loc, keysType, keys).getResult(),
         LLVM::LoadOp::create(rewriter, loc, valuesType, values).getResult()});
    return success();
  }
};

struct SumsToRuntime : RankPattern<RankSumsOp> {
  using RankPattern::RankPattern;
  LogicalResult
  matchAndRewrite(RankSumsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op->getNumResults() > 0)
      return rewriter.notifyMatchFailure(op, "is not on buffers");
    if (!call(op, rewriter, "attn_rt_rank_sums",
              {adaptor.getStep(), number(op, rewriter, int64_t(op.getStride())),
               number(op, rewriter, op.getSize()),
               spill(op, rewriter, adaptor.getSpans()),
               elementBytes(op, rewriter, op.getKey().getType()),
               spill(op, rewriter, adaptor.getKey()),
               spill(op, rewriter, adaptor.getValue()),
               spill(op, rewriter, adaptor.getOuts()[0]),
               spill(op, rewriter, adaptor.getOuts()[1])},
              getVoidType()))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReshardToRuntime : RankPattern<ReshardOp> {
  using RankPattern::RankPattern;
  LogicalResult
  matchAndRewrite(ReshardOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getResult())
      return rewriter.notifyMatchFailure(op, "is not on buffers");
    if (!call(op, rewriter, "attn_rt_reshard",
              {number(op, rewriter, int64_t(op.getStride())),
               number(op, rewriter, int64_t(op.getSize())),
               number(op, rewriter, int64_t(op.getKind())),
               elementBytes(op, rewriter, op.getPart().getType()),
               spill(op, rewriter, adaptor.getBounds()),
               spill(op, rewriter, adaptor.getPart()),
               spill(op, rewriter, adaptor.getOuts())},
              getVoidType()))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct GatherToRuntime : RankPattern<AllGatherOp> {
  using RankPattern::RankPattern;
  LogicalResult
  matchAndRewrite(AllGatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<Value> part = getDense(op, rewriter, op.getPart(),
                                     adaptor.getPart()),
                     all = getDense(op, rewriter, op.getOuts(),
                                    adaptor.getOuts());
    if (failed(part) || failed(all))
      return failure();
    Value count = countElements(op, rewriter, op.getPart(), adaptor.getPart());
    Value bytes =
        LLVM::MulOp::create(rewriter, op.getLoc(), count,
                            elementBytes(op, rewriter, op.getPart().getType()));
    if (!call(op, rewriter, "attn_rt_all_gather",
              {number(op, rewriter, int64_t(op.getStride())),
               number(op, rewriter, op.getSize()), bytes, *part, *all},
              getVoidType()))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReduceToRuntime : RankPattern<AllReduceOp> {
  using RankPattern::RankPattern;
  LogicalResult
  matchAndRewrite(AllReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<Value> part = getDense(op, rewriter, op.getPart(),
                                     adaptor.getPart()),
                     sum = getDense(op, rewriter, op.getOuts(),
                                    adaptor.getOuts());
    if (failed(part) || failed(sum) ||
        !call(op, rewriter, "attn_rt_all_reduce",
              {number(op, rewriter, int64_t(op.getStride())),
               number(op, rewriter, int64_t(op.getSize())),
               countElements(op, rewriter, op.getPart(), adaptor.getPart()),
               elementBytes(op, rewriter, op.getPart().getType()), *part, *sum},
              getVoidType()))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct MergeToRuntime : RankPattern<AllMergeOp> {
  using RankPattern::RankPattern;
  LogicalResult
  matchAndRewrite(AllMergeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> pointers;
    for (auto [buffer, descriptor] :
         llvm::zip_equal(op->getOperands(), adaptor.getOperands())) {
      FailureOr<Value> pointer = getDense(op, rewriter, buffer, descriptor);
      if (failed(pointer))
        return failure();
      pointers.push_back(*pointer);
    }
    auto output = cast<MemRefType>(op.getOutput().getType());
    SmallVector<Value> arguments = {
        number(op, rewriter, int64_t(op.getStride())),
        number(op, rewriter, int64_t(op.getSize())),
        countElements(op, rewriter, op.getLse(), adaptor.getLse()),
        number(op, rewriter, output.getShape().back()),
        elementBytes(op, rewriter, output)};
    llvm::append_range(arguments, pointers);
    if (!call(op, rewriter, "attn_rt_all_merge", arguments, getVoidType()))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertRanksToRuntime
    : attn::impl::ConvertRanksToRuntimeBase<ConvertRanksToRuntime> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    RuntimeSymbols symbols(getOperation());
    patterns
        .add<IndexToRuntime, BlockToRuntime, SumsToRuntime, ReshardToRuntime,
             GatherToRuntime, ReduceToRuntime, MergeToRuntime>(converter,
                                                               symbols);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<RankIndexOp, RankBlockOp, RankSumsOp, ReshardOp,
                        AllGatherOp, AllReduceOp, AllMergeOp>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
