//===- NVVMOps.cpp - Operations of NVVM as calls of the emulator ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/NVVMToEmulator/Conversions.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Converts one operation.
class OpConversion {
public:
  OpConversion(Operation *op, EmulatorCalls &calls)
      : op(op), calls(calls), builder(calls.getBuilder()), loc(op->getLoc()) {
    calls.setInsertionPoint(op);
  }

  LogicalResult convertRegister(StringRef name,
                                std::optional<int64_t> dimension = {}) {
    SmallVector<Value> operands;
    if (dimension)
      operands.push_back(calls.createI32(*dimension));
    return replace(calls.call(name, operands, builder.getI32Type()));
  }

  LogicalResult convertBarrier(StringRef name, Value barrier,
                               Value numThreads) {
    Value none = calls.createI32(0);
    calls.call(name, {barrier ? barrier : none, numThreads ? numThreads : none,
                      calls.createSite(op)});
    return erase();
  }

  LogicalResult convert(NVVM::BarrierOp barrier) {
    std::optional<NVVM::BarrierReduction> reduction = barrier.getReductionOp();
    if (!reduction)
      return convertBarrier("barrier_sync", barrier.getBarrierId(),
                            barrier.getNumberOfThreads());
    return replace(
        calls.call("barrier_reduce",
                   {barrier.getReductionPredicate(),
                    calls.createI32(int64_t(*reduction)), calls.createSite(op)},
                   builder.getI32Type()));
  }

  LogicalResult convert(NVVM::SyncWarpOp sync) {
    calls.call("warp_sync", {sync.getMask(), calls.createSite(op)});
    return erase();
  }

  LogicalResult convert(NVVM::CpAsyncOp copy) {
    Value bytes = calls.createI32(copy.getSize());
    calls.call("cp_async", {copy.getDst(), copy.getSrc(), bytes,
                            copy.getCpSize() ? copy.getCpSize() : bytes,
                            calls.createSite(op)});
    return erase();
  }

  LogicalResult convert(NVVM::CpAsyncCommitGroupOp) {
    calls.call("cp_async_commit_group", {});
    return erase();
  }

  LogicalResult convert(NVVM::CpAsyncWaitGroupOp wait) {
    calls.call("cp_async_wait_group", calls.createI32(wait.getN()));
    return erase();
  }

  LogicalResult convert(NVVM::CpAsyncMBarrierArriveOp arrival) {
    if (!arrival.getNoinc())
      return op->emitOpError("is only emulated with noinc");
    calls.call("cp_async_mbarrier_arrive",
               {arrival.getAddr(), calls.createSite(op)});
    return erase();
  }

  LogicalResult convert(NVVM::MBarrierInitOp init) {
    if (init.getPredicate())
      return op->emitOpError("with a predicate is not emulated");
    calls.call("mbarrier_init",
               {init.getAddr(), init.getCount(), calls.createSite(op)});
    return erase();
  }

  LogicalResult convert(NVVM::MBarrierInvalOp invalidation) {
    calls.call("mbarrier_inval",
               {invalidation.getAddr(), calls.createSite(op)});
    return erase();
  }

  LogicalResult convert(NVVM::MBarrierArriveOp arrival) {
    auto type = cast<LLVM::LLVMPointerType>(arrival.getAddr().getType());
    if (type.getAddressSpace() != genericSpace &&
        type.getAddressSpace() != sharedSpace)
      return op->emitOpError("in address space ")
             << type.getAddressSpace() << " is not emulated";
    Value count = arrival.getCount() ? arrival.getCount() : calls.createI32(1);
    Value phase =
        calls.call("mbarrier_arrive",
                   {arrival.getAddr(), count, createI1(!arrival.getRelaxed()),
                    calls.createSite(op)},
                   builder.getI64Type());
    return op->getNumResults() == 0 ? erase() : replace(phase);
  }

  LogicalResult convert(NVVM::MBarrierTryWaitParityOp wait) {
    calls.call("mbarrier_wait",
               {wait.getAddr(), wait.getPhase(), calls.createSite(op)});
    return erase();
  }

  LogicalResult convert(NVVM::FenceProxyOp fence) {
    if (fence.getKind() != NVVM::ProxyKind::async &&
        fence.getKind() != NVVM::ProxyKind::async_shared)
      return op->emitOpError("is only emulated for the kinds async and "
                             "async.shared");
    calls.call("fence_proxy_async", {});
    return erase();
  }

  LogicalResult convert(NVVM::ShflOp shuffle) {
    Type type = shuffle.getVal().getType();
    Value words = calls.storeWords(op, shuffle.getVal());
    calls.call("shuffle", {words, shuffle.getThreadMask(), shuffle.getOffset(),
                           shuffle.getMaskAndClamp(),
                           calls.createI32(int64_t(shuffle.getKind())),
                           calls.createSite(op)});
    Value taken = calls.loadWord(words, 0, type);
    if (!shuffle.getReturnValueAndIsValid())
      return replace(taken);
    Value isValid =
        LLVM::TruncOp::create(builder, loc, builder.getI1Type(),
                              calls.loadWord(words, 1, builder.getI32Type()));
    return replaceByStruct({taken, isValid});
  }

  LogicalResult convert(NVVM::VoteSyncOp vote) {
    Value result = calls.call("vote",
                              {vote.getMask(), vote.getPred(),
                               calls.createI32(int64_t(vote.getKind())),
                               calls.createSite(op)},
                              builder.getI32Type());
    if (vote.getType().isInteger(1))
      result = LLVM::TruncOp::create(builder, loc, vote.getType(), result);
    return replace(result);
  }

  LogicalResult convert(NVVM::ReduxOp redux) {
    if (!redux.getType().isInteger(32))
      return op->emitOpError("of ") << redux.getType() << " is not emulated";
    return replace(calls.call("redux",
                              {redux.getVal(), redux.getMaskAndClamp(),
                               calls.createI32(int64_t(redux.getKind())),
                               calls.createSite(op)},
                              builder.getI32Type()));
  }

  LogicalResult convert(NVVM::LdMatrixOp load) {
    if (load.getShape().getM() != 8 || load.getShape().getN() != 8 ||
        load.getEltType() != NVVM::LdStMatrixEltType::B16)
      return op->emitOpError("is only emulated for 8x8 matrices of b16");
    bool transpose = load.getLayout() == NVVM::MMALayout::col;
    Value words = calls.getScratch(op);
    calls.call("ldmatrix",
               {words, load.getPtr(), calls.createI32(load.getNum()),
                createI1(transpose), calls.createSite(op)});
    SmallVector<Value> loaded;
    for (unsigned i = 0; i < load.getNum(); ++i)
      loaded.push_back(calls.loadWord(words, i, builder.getI32Type()));
    return load.getNum() == 1 ? replace(loaded.front())
                              : replaceByStruct(loaded);
  }

  LogicalResult convert(NVVM::MmaOp mma) {
    auto type = mma.getMultiplicandAPtxType();
    NVVM::MMAShapeAttr shape = mma.getShape();
    if (shape.getM() != 16 || shape.getN() != 8 ||
        (shape.getK() != 8 && shape.getK() != 16) ||
        (type != NVVM::MMATypes::f16 && type != NVVM::MMATypes::bf16) ||
        mma.getMultiplicandBPtxType() != type ||
        mma.accumPtxType() != NVVM::MMATypes::f32 ||
        mma.resultPtxType() != NVVM::MMATypes::f32)
      return op->emitOpError("is only emulated for m16n8k8 and m16n8k16 of f16 "
                             "and bf16 with f32 accumulators");
    Value words = calls.storeWords(op, op->getOperands());
    calls.call("mma",
               {words, calls.createI32(shape.getK()),
                createI1(type == NVVM::MMATypes::bf16), calls.createSite(op)});
    SmallVector<Value> sums;
    for (unsigned i = 0; i < 4; ++i)
      sums.push_back(calls.loadWord(words, i, builder.getF32Type()));
    return replaceByStruct(sums);
  }

  LogicalResult convert(NVVM::RcpApproxFtzF32Op reciprocal) {
    return convertReciprocal(reciprocal.getArg());
  }

  LogicalResult convert(LLVM::CallIntrinsicOp intrinsic) {
    StringRef name = intrinsic.getIntrin();
    if (!name.consume_front("llvm.nvvm."))
      return success(); // This machine has it as well.
    if (name == "rcp.approx.ftz.f")
      return convertReciprocal(intrinsic.getArgs()[0]);
    StringRef function = llvm::StringSwitch<StringRef>(name)
                             .Case("ex2.approx.ftz.f", "ex2_ftz")
                             .Case("rsqrt.approx.f", "rsqrt")
                             .Default("");
    if (function.empty())
      return op->emitOpError("of '")
             << intrinsic.getIntrin() << "' is not emulated";
    return replace(
        calls.call(function, intrinsic.getArgs(), builder.getF32Type()));
  }

  /// What has no effect where each access takes place before the next, and
  /// there are registers enough.
  LogicalResult erase() {
    op->erase();
    return success();
  }

private:
  LogicalResult convertReciprocal(Value x) {
    Value one = LLVM::ConstantOp::create(builder, loc, builder.getF32Type(),
                                         builder.getF32FloatAttr(1));
    return replace(LLVM::FDivOp::create(builder, loc, one, x));
  }

  Value createI1(bool value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI1Type(),
                                    builder.getBoolAttr(value));
  }

  LogicalResult replace(Value result) {
    op->getResult(0).replaceAllUsesWith(result);
    return erase();
  }

  LogicalResult replaceByStruct(ArrayRef<Value> fields) {
    Value result =
        LLVM::PoisonOp::create(builder, loc, op->getResult(0).getType());
    for (auto [index, field] : llvm::enumerate(fields))
      result = LLVM::InsertValueOp::create(builder, loc, result, field,
                                           int64_t(index));
    return replace(result);
  }

  Operation *op;
  EmulatorCalls &calls;
  OpBuilder &builder;
  Location loc;
};
} // namespace

LogicalResult attn::convertNVVMOp(Operation *op, EmulatorCalls &calls) {
  OpConversion conversion(op, calls);
  auto asRegister = [&](StringRef name, std::optional<int64_t> dimension = {}) {
    return [&conversion, name, dimension](auto) {
      return conversion.convertRegister(name, dimension);
    };
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<NVVM::ThreadIdXOp>(asRegister("thread_id", 0))
      .Case<NVVM::ThreadIdYOp>(asRegister("thread_id", 1))
      .Case<NVVM::ThreadIdZOp>(asRegister("thread_id", 2))
      .Case<NVVM::BlockDimXOp>(asRegister("block_size", 0))
      .Case<NVVM::BlockDimYOp>(asRegister("block_size", 1))
      .Case<NVVM::BlockDimZOp>(asRegister("block_size", 2))
      .Case<NVVM::BlockIdXOp>(asRegister("block_id", 0))
      .Case<NVVM::BlockIdYOp>(asRegister("block_id", 1))
      .Case<NVVM::BlockIdZOp>(asRegister("block_id", 2))
      .Case<NVVM::GridDimXOp>(asRegister("grid_size", 0))
      .Case<NVVM::GridDimYOp>(asRegister("grid_size", 1))
      .Case<NVVM::GridDimZOp>(asRegister("grid_size", 2))
      .Case<NVVM::LaneIdOp>(asRegister("lane_id"))
      .Case<NVVM::WarpIdOp>(asRegister("warp_id"))
      .Case<NVVM::WarpDimOp>(asRegister("num_warps"))
      .Case([&](NVVM::Barrier0Op) {
        return conversion.convertBarrier("barrier_sync", {}, {});
      })
      .Case([&](NVVM::BarrierArriveOp barrier) {
        return conversion.convertBarrier("barrier_arrive",
                                         barrier.getBarrierId(),
                                         barrier.getNumberOfThreads());
      })
      .Case<NVVM::BarrierOp, NVVM::SyncWarpOp, NVVM::CpAsyncOp,
            NVVM::CpAsyncCommitGroupOp, NVVM::CpAsyncWaitGroupOp,
            NVVM::CpAsyncMBarrierArriveOp, NVVM::FenceProxyOp,
            NVVM::MBarrierArriveOp, NVVM::MBarrierInitOp, NVVM::MBarrierInvalOp,
            NVVM::MBarrierTryWaitParityOp, NVVM::ShflOp, NVVM::VoteSyncOp,
            NVVM::ReduxOp, NVVM::LdMatrixOp, NVVM::MmaOp,
            NVVM::RcpApproxFtzF32Op, LLVM::CallIntrinsicOp>(
          [&](auto known) { return conversion.convert(known); })
      .Case<NVVM::FenceMbarrierInitOp, NVVM::MembarOp, NVVM::SetMaxRegisterOp>(
          [&](auto) { return conversion.erase(); })
      .Default([](Operation *other) {
        return other->emitOpError("is not emulated");
      });
}
