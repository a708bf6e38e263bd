//===- ForallToRuntime.cpp - Parallel loops as calls of the runtime -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Shared/IndexBuilder.h"
#include "lib/Kernel/KeptBuffers.h"
#include "lib/Kernel/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_OUTLINEPARALLELLOOPS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using attn::IndexBuilder;

/// Number of iterations of each dimension of `loop`, in front of it.
static SmallVector<Value> createSizes(IndexBuilder &b, scf::ForallOp loop) {
  Value zero = b.index(0), one = b.index(1);
  SmallVector<Value> sizes;
  for (auto [lower, upper, step] : llvm::zip_equal(
           loop.getLowerBound(b), loop.getUpperBound(b), loop.getStep(b))) {
    Value range = b.max(b.sub(upper, lower), zero);
    // Rounded up. Steps are positive.
    sizes.push_back(b.div(b.add(range, b.sub(step, one)), step));
  }
  return sizes;
}

/// Induction variables of `loop` in its iteration `index`, counted with the
/// last dimension fastest.
static SmallVector<Value> createInductionVars(IndexBuilder &b,
                                              scf::ForallOp loop,
                                              ArrayRef<Value> sizes,
                                              Value index) {
  SmallVector<Value> lower = loop.getLowerBound(b), step = loop.getStep(b);
  SmallVector<Value> result(sizes.size());
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    Value position = index;
    if (dim > 0) {
      position = b.rem(index, sizes[dim]);
      index = b.div(index, sizes[dim]);
    }
    result[dim] = b.add(lower[dim], b.mul(position, step[dim]));
  }
  return result;
}

/// The stores of constants into `alloc` that come right after it.
static SmallVector<memref::StoreOp> findInitialStores(memref::AllocOp alloc) {
  SmallVector<memref::StoreOp> stores;
  for (Operation *op = alloc->getNextNode(); op; op = op->getNextNode()) {
    auto store = dyn_cast<memref::StoreOp>(op);
    if (store && store.getMemRef() == alloc &&
        matchPattern(store.getValue(), m_Constant()) &&
        llvm::all_of(store.getIndices(), [](Value index) {
          return matchPattern(index, m_Constant());
        }))
      stores.push_back(store);
    else if (!op->hasTrait<OpTrait::ConstantLike>())
      break;
  }
  return stores;
}

/// Takes `alloc` out of `loop`, if it is of constant size or to keep, and lives
/// for an iteration.
static void hoistScratch(memref::AllocOp alloc, scf::WhileOp loop) {
  bool isKept = attn::isKeptBuffer(alloc);
  if (!llvm::all_of(alloc->getOperands(), [&](Value size) {
        return isKept && loop.isDefinedOutsideOfLoop(size);
      }))
    return;
  memref::DeallocOp dealloc;
  for (Operation *user : alloc->getUsers())
    if (auto found = dyn_cast<memref::DeallocOp>(user))
      dealloc = found;
  if (!dealloc || dealloc->getBlock() != alloc->getBlock())
    return;
  // Other regions may run at the same time as themselves.
  for (Operation *parent = alloc->getParentOp(); parent != loop;
       parent = parent->getParentOp())
    if (!isa<scf::ForOp, scf::WhileOp, scf::IfOp, scf::IndexSwitchOp>(parent))
      return;
  SmallVector<memref::StoreOp> stores;
  if (isKept)
    stores = findInitialStores(alloc);
  alloc->moveBefore(loop);
  dealloc->moveAfter(loop);
  for (memref::StoreOp store : stores) {
    for (Value operand : store->getOperands())
      if (!loop.isDefinedOutsideOfLoop(operand))
        operand.getDefiningOp()->moveBefore(loop);
    store->moveBefore(loop);
  }
}

/// Has every iteration of `loop`, and of what is in it, use the same scratch.
static void hoistScratch(scf::WhileOp loop) {
  SmallVector<memref::AllocOp> allocs;
  loop.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  for (memref::AllocOp alloc : allocs)
    hoistScratch(alloc, loop);
}

namespace {
/// Outlines the parallel loops of a module.
class Outliner {
public:
  explicit Outliner(ModuleOp module)
      : module(module), symbols(module), rewriter(module.getContext()),
        converter(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  /// Declares what generated code calls of the runtime.
  LogicalResult declareRuntime();

  /// `number` counts the loops of `kernel`.
  LogicalResult outline(scf::ForallOp loop, func::FuncOp kernel,
                        std::size_t number);

private:
  LogicalResult check(scf::ForallOp loop);
  LogicalResult convertInnerLoops(scf::ForallOp loop);
  func::FuncOp createBodyFunction(scf::ForallOp loop, func::FuncOp kernel,
                                  const Twine &name, ArrayRef<Value> sizes);
  scf::ForOp createRangeLoop(Location loc, Value range);
  Value passCaptures(scf::ForallOp loop, func::FuncOp kernel,
                     func::FuncOp body);
  void createCall(Location loc, func::FuncOp body, Value context,
                  ArrayRef<Value> sizes);

  ModuleOp module;
  SymbolTable symbols;
  IRRewriter rewriter;
  LLVMTypeConverter converter;
  LLVM::LLVMPointerType pointer;
  LLVM::LLVMFuncOp parallelFor, nextRange;
};
} // namespace

LogicalResult Outliner::declareRuntime() {
  auto declare = [&](StringRef name, ArrayRef<Type> arguments, Type result,
                     LLVM::LLVMFuncOp &function) -> LogicalResult {
    FailureOr<LLVM::LLVMFuncOp> found =
        LLVM::lookupOrCreateFn(rewriter, module, name, arguments, result);
    if (failed(found))
      return failure();
    function = *found;
    return success();
  };
  Type nothing = LLVM::LLVMVoidType::get(rewriter.getContext());
  return success(
      succeeded(declare("attn_rt_parallel_ranges",
                        {pointer, pointer, rewriter.getI64Type()}, nothing,
                        parallelFor)) &&
      succeeded(declare("attn_rt_next_range", pointer, pointer, nextRange)));
}

/// Whether `loop` is on buffers, and all that it uses can be passed on.
LogicalResult Outliner::check(scf::ForallOp loop) {
  WalkResult result = loop.walk([](scf::ForallOp op) -> WalkResult {
    if (op.getNumResults() == 0)
      return WalkResult::advance();
    return op.emitOpError("expected no results, got ")
           << op.getNumResults() << "; it must be bufferized first";
  });
  if (result.wasInterrupted())
    return failure();
  SetVector<Value> captures;
  getUsedValuesDefinedAbove(loop->getRegions(), captures);
  for (Value value : captures)
    if (!converter.convertType(value.getType()))
      return loop.emitOpError("cannot pass a value of type ")
             << value.getType() << " to threads";
  return success();
}

/// The threads are at work already, so loops within `loop` run in order.
LogicalResult Outliner::convertInnerLoops(scf::ForallOp loop) {
  SmallVector<scf::ForallOp> inner;
  loop.getBody()->walk([&](scf::ForallOp op) { inner.push_back(op); });
  for (scf::ForallOp op : inner) {
    rewriter.setInsertionPoint(op);
    if (failed(scf::forallToForLoop(rewriter, op)))
      return failure();
  }
  return success();
}

/// A loop over the indices of `range`, a structure that begins with the first
/// one and the end.
scf::ForOp Outliner::createRangeLoop(Location loc, Value range) {
  Type i64 = rewriter.getI64Type();
  auto createBound = [&](std::int32_t field) -> Value {
    Value address = LLVM::GEPOp::create(rewriter, loc, pointer, i64, range,
                                        ArrayRef<LLVM::GEPArg>{field},
                                        LLVM::GEPNoWrapFlags::inbounds);
    Value bound = LLVM::LoadOp::create(rewriter, loc, i64, address);
    return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                      bound);
  };
  Value begin = createBound(0), end = createBound(1);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  return scf::ForOp::create(rewriter, loc, begin, end, one);
}

/// A function of (context, range) that runs the iterations of a range and of
/// those that the runtime has for the same thread after it, with the body of
/// `loop`. It still uses values that are defined outside.
func::FuncOp Outliner::createBodyFunction(scf::ForallOp loop,
                                          func::FuncOp kernel,
                                          const Twine &name,
                                          ArrayRef<Value> sizes) {
  Location loc = loop.getLoc();
  auto body = func::FuncOp::create(
      loc, name.str(),
      rewriter.getFunctionType({pointer, pointer}, TypeRange()));
  body.setPrivate();
  symbols.insert(body, std::next(kernel->getIterator()));

  rewriter.setInsertionPointToStart(body.addEntryBlock());
  auto ranges =
      scf::WhileOp::create(rewriter, loc, pointer, body.getArgument(1));
  func::ReturnOp::create(rewriter, loc);
  rewriter.createBlock(&ranges.getAfter(), {}, pointer, loc);
  scf::YieldOp::create(rewriter, loc, ranges.getAfterArguments());
  rewriter.createBlock(&ranges.getBefore(), {}, pointer, loc);
  scf::ForOp iterations = createRangeLoop(loc, ranges.getBeforeArguments()[0]);
  Value next = LLVM::CallOp::create(rewriter, loc, nextRange,
                                    ranges.getBeforeArguments())
                   .getResult();
  Value none = LLVM::ZeroOp::create(rewriter, loc, pointer);
  Value isThere =
      LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::ne, next, none);
  scf::ConditionOp::create(rewriter, loc, isThere, next);

  rewriter.setInsertionPointToStart(iterations.getBody());
  IndexBuilder b(loc, rewriter);
  SmallVector<Value> inductionVars =
      createInductionVars(b, loop, sizes, iterations.getInductionVar());
  rewriter.eraseOp(loop.getTerminator());
  rewriter.inlineBlockBefore(
      loop.getBody(), iterations.getBody()->getTerminator(), inductionVars);
  hoistScratch(ranges);
  return body;
}

/// Replaces what `body` uses of `kernel`: constants by copies, other values by
/// what it loads from a structure on the kernel's stack. Gives its address.
Value Outliner::passCaptures(scf::ForallOp loop, func::FuncOp kernel,
                             func::FuncOp body) {
  Location loc = loop.getLoc();
  SetVector<Value> captures;
  body.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!body->isAncestor(operand.getParentBlock()->getParentOp()))
        captures.insert(operand);
  });
  auto replace = [&](Value value, Value copy) {
    rewriter.replaceUsesWithIf(value, copy, [&](OpOperand &use) {
      return body->isProperAncestor(use.getOwner());
    });
  };
  rewriter.setInsertionPointToStart(&body.getBody().front());
  captures.remove_if([&](Value value) {
    if (!matchPattern(value, m_Constant()))
      return false;
    Operation *copy = rewriter.clone(*value.getDefiningOp());
    replace(value, copy->getResult(cast<OpResult>(value).getResultNumber()));
    return true;
  });

  SmallVector<Type> fields;
  for (Value value : captures)
    fields.push_back(converter.convertType(value.getType()));
  // Not where the loop is: there, it could be allocated many times.
  rewriter.setInsertionPointToStart(&kernel.getBody().front());
  if (fields.empty())
    return LLVM::ZeroOp::create(rewriter, loc, pointer);
  auto type = LLVM::LLVMStructType::getLiteral(rewriter.getContext(), fields);
  Value one =
      LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64IntegerAttr(1));
  Value context = LLVM::AllocaOp::create(rewriter, loc, pointer, type, one);

  for (auto [i, value, field] : llvm::enumerate(captures, fields)) {
    auto createAddress = [&](Value base) {
      return LLVM::GEPOp::create(rewriter, loc, pointer, type, base,
                                 ArrayRef<LLVM::GEPArg>{0, int32_t(i)},
                                 LLVM::GEPNoWrapFlags::inbounds);
    };
    auto createCast = [&](Type to, Value from) {
      return to == from.getType()
                 ? from
                 : UnrealizedConversionCastOp::create(rewriter, loc, to, from)
                       .getResult(0);
    };
    rewriter.setInsertionPoint(loop);
    LLVM::StoreOp::create(rewriter, loc, createCast(field, value),
                          createAddress(context));
    rewriter.setInsertionPointToStart(&body.getBody().front());
    Value loaded = LLVM::LoadOp::create(rewriter, loc, field,
                                        createAddress(body.getArgument(0)));
    replace(value, createCast(value.getType(), loaded));
  }
  return context;
}

void Outliner::createCall(Location loc, func::FuncOp body, Value context,
                          ArrayRef<Value> sizes) {
  Value count = arith::ConstantIndexOp::create(rewriter, loc, 1);
  for (Value size : sizes)
    count = rewriter.createOrFold<arith::MulIOp>(loc, count, size);
  count =
      arith::IndexCastOp::create(rewriter, loc, rewriter.getI64Type(), count);
  Value function = func::ConstantOp::create(
      rewriter, loc, body.getFunctionType(), body.getName());
  Value address =
      UnrealizedConversionCastOp::create(rewriter, loc, pointer, function)
          .getResult(0);
  LLVM::CallOp::create(rewriter, loc, parallelFor, {address, context, count});
}

LogicalResult Outliner::outline(scf::ForallOp loop, func::FuncOp kernel,
                                std::size_t number) {
  if (failed(declareRuntime()) || failed(check(loop)) ||
      failed(convertInnerLoops(loop)))
    return failure();
  rewriter.setInsertionPoint(loop);
  IndexBuilder b(loop.getLoc(), rewriter);
  SmallVector<Value> sizes = createSizes(b, loop);
  func::FuncOp body = createBodyFunction(
      loop, kernel, kernel.getName() + "_parallel_" + Twine(number), sizes);
  Value context = passCaptures(loop, kernel, body);
  rewriter.setInsertionPoint(loop);
  createCall(loop.getLoc(), body, context, sizes);
  rewriter.eraseOp(loop);
  return success();
}

namespace {
struct OutlineParallelLoops
    : attn::impl::OutlineParallelLoopsBase<OutlineParallelLoops> {
  void runOnOperation() override {
    Outliner outliner(getOperation());
    for (func::FuncOp kernel :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      SmallVector<scf::ForallOp> loops;
      kernel.walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
        loops.push_back(loop);
        return WalkResult::skip();
      });
      // Each function goes right behind the kernel.
      for (std::size_t i = loops.size(); i-- > 0;)
        if (failed(outliner.outline(loops[i], kernel, i)))
          return signalPassFailure();
    }
  }
};
} // namespace
