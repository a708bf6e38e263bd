//===- CheckLimits.cpp - How large a kernel may be ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnDialect.h"
#include "dialect/AttnOps.h"
#include "lib/Kernel/Passes.h"

#include "mlir/Analysis/CallGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SCCIterator.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CHECKLIMITS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

/// What code can be generated for.
static constexpr unsigned maxIntegerBits = 128;

/// Of values inside a kernel: loops nest as deeply. Arguments have fewer.
static constexpr int64_t maxRank = 32;

/// Each element of a vector is one of a register's, or of hundreds of them.
static constexpr uint64_t maxVectorElements = 1024;

/// Bufferization compares each with each.
static constexpr unsigned maxArguments = 1024, maxResults = 256;

static LogicalResult verifyType(Operation *op, Type type) {
  if (auto integer = dyn_cast<IntegerType>(type);
      integer && integer.getWidth() > maxIntegerBits)
    return op->emitOpError("expected integers of at most ")
           << maxIntegerBits << " bits, got " << type;
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank())
    return success();
  if (shaped.getRank() > maxRank)
    return op->emitOpError("expected types of rank ")
           << maxRank << " or less, got rank " << shaped.getRank();
  uint64_t elements = 1;
  if (isa<VectorType>(type))
    for (int64_t size : shaped.getShape())
      elements = llvm::SaturatingMultiply(elements, uint64_t(size));
  if (elements > maxVectorElements)
    return op->emitOpError("expected vectors of at most ")
           << maxVectorElements << " elements, got " << type;
  return success();
}

static LogicalResult verifyFunction(func::FuncOp func) {
  if (func.getNumArguments() > maxArguments)
    return func.emitOpError("expected at most ")
           << maxArguments << " arguments, got " << func.getNumArguments();
  if (func.getNumResults() > maxResults)
    return func.emitOpError("expected at most ")
           << maxResults << " results, got " << func.getNumResults();
  return success();
}

/// Folding computes with integers of any width, and some work grows with the
/// square of the rank, of the elements of a vector, or of what a function takes
/// and gives.
static LogicalResult verifyTypes(ModuleOp module) {
  Operation *current = nullptr;
  AttrTypeWalker types; // Looks at each once.
  types.addWalk(
      [&](Type type) { return WalkResult(verifyType(current, type)); });
  WalkResult result = module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    current = op;
    if (auto func = dyn_cast<func::FuncOp>(op))
      if (failed(verifyFunction(func)))
        return WalkResult::interrupt();
    auto isRefused = [&](auto element) {
      return types.walk(element).wasInterrupted();
    };
    if (isRefused(op->getAttrDictionary()) ||
        llvm::any_of(op->getResultTypes(), isRefused))
      return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (llvm::any_of(block.getArgumentTypes(), isRefused))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Far above what anyone writes.
static constexpr uint64_t maxInlinedOps = 100000;

/// Each becomes loops of its own: compiling takes a tenth of a second for each,
/// and more for each where there are more.
static constexpr uint64_t maxInlinedKernels = 512;

namespace {
/// Of a function, with all that it calls.
struct InlinedSize {
  uint64_t ops = 0, kernels = 0;

  void add(const InlinedSize &other) {
    ops = llvm::SaturatingAdd(ops, other.ops);
    kernels = llvm::SaturatingAdd(kernels, other.kernels);
  }
};
} // namespace

static LogicalResult verifyInlinedSize(Location loc, const InlinedSize &size) {
  auto refuse = [&](uint64_t count, StringRef what, uint64_t most) {
    return emitError(loc) << "function with all that it calls has " << count
                          << what << ", and may have up to " << most;
  };
  if (size.ops > maxInlinedOps)
    return refuse(size.ops, " operations", maxInlinedOps);
  if (size.kernels > maxInlinedKernels)
    return refuse(size.kernels, " operations of the attn dialect",
                  maxInlinedKernels);
  return success();
}

static bool isOfAttn(Operation *op) {
  return isa_and_present<attn::AttnDialect>(op->getDialect());
}

/// Functions that each call the next one twice double with every one of them.
static LogicalResult verifyInlinedSizes(ModuleOp module) {
  SymbolTableCollection symbols;
  const CallGraph graph(module);
  llvm::DenseMap<CallGraphNode *, InlinedSize> sizes;
  // What is called comes first; a recursion counts once, and is an error later.
  for (auto cycle = llvm::scc_begin(&graph); !cycle.isAtEnd(); ++cycle)
    for (CallGraphNode *node : *cycle) {
      if (node->isExternal())
        continue;
      InlinedSize size;
      node->getCallableRegion()->walk([&](Operation *op) {
        // Those of a region are a part of its operation.
        bool isKernel = isOfAttn(op) && !isOfAttn(op->getParentOp());
        size.add({.ops = 1, .kernels = isKernel});
        if (auto call = dyn_cast<CallOpInterface>(op))
          size.add(sizes.lookup(graph.resolveCallable(call, symbols)));
      });
      sizes[node] = size;
      if (failed(verifyInlinedSize(node->getCallableRegion()->getLoc(), size)))
        return failure();
    }
  return success();
}

/// Every operation becomes a dozen for each kind of block that kernels have.
/// The builder has the same limit.
static constexpr size_t maxRegionOps = 4096;

/// And a function of the math dialect some hundred: compiling takes a tenth of
/// a second for each.
static constexpr size_t maxRegionFunctions = 64;

static LogicalResult verifyRegionSizes(ModuleOp module) {
  WalkResult result = module->walk([](attn::YieldOp yield) {
    Region &region = *yield->getParentRegion();
    size_t size = region.front().getOperations().size() - 1;
    size_t functions = 0;
    region.walk([&](Operation *op) {
      functions += isa_and_present<math::MathDialect>(op->getDialect());
    });
    if (size <= maxRegionOps && functions <= maxRegionFunctions)
      return WalkResult::advance();
    StringRef name = region.getRegionNumber() == 0 ? "score" : "mask";
    InFlightDiagnostic error = region.getParentOp()->emitOpError()
                               << "'" << name << "' region: expected at most ";
    if (size > maxRegionOps)
      error << maxRegionOps << " operations, got " << size;
    else
      error << maxRegionFunctions << " functions of the math dialect, got "
            << functions;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct CheckLimits : attn::impl::CheckLimitsBase<CheckLimits> {
  void runOnOperation() override {
    if (failed(verifyTypes(getOperation())) ||
        failed(verifyInlinedSizes(getOperation())) ||
        failed(verifyRegionSizes(getOperation())))
      signalPassFailure();
  }
};
} // namespace
