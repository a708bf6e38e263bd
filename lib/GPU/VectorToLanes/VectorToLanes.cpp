//===- VectorToLanes.cpp - Vectors of a workgroup to its lanes ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Walks a launch from top to bottom and emits, in front of every operation with
// vectors, what one lane does of it. Nothing is computed across lanes but
// reductions and products.

#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/Passes.h"
#include "lib/GPU/VectorToLanes/Conversions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DISTRIBUTETOLANES
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::rejectForLanes(Operation *op) {
  return op->emitOpError("has no form for lanes of a GPU");
}

namespace {

class Distribution {
public:
  Distribution(gpu::LaunchOp launch, OpBuilder &builder, int64_t numThreads,
               int64_t warpRows)
      : body(launch.getBody().front()),
        lanes(launch, builder, numThreads, warpRows,
              computesTranspose(launch, warpRows)),
        b(lanes.b) {}

  LogicalResult run() {
    if (failed(convert(llvm::make_range(b.getInsertionPoint(), body.end()))))
      return failure();
    for (Operation *op : llvm::reverse(done))
      op->erase();
    return lanes.memory.setSize();
  }

private:
  LogicalResult convert(llvm::iterator_range<Block::iterator> ops) {
    for (Operation &op : llvm::make_early_inc_range(ops))
      if (failed(convert(&op)))
        return failure();
    return success();
  }

  LogicalResult convert(Operation *op) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    if (isa<scf::YieldOp, scf::ConditionOp>(op)) {
      op->setOperands(lanes.flatten(op->getOperands()));
      return success();
    }
    auto inside = [this](Block &block) {
      return convert(llvm::make_range(block.begin(), block.end()));
    };
    if (auto shares = dyn_cast<scf::ForallOp>(op);
        shares && isLoopOfWarps(shares))
      return convertShares(shares);
    if (isa<scf::ForOp, scf::ForallOp, scf::WhileOp, scf::IfOp, memref::AllocOp,
            memref::AllocaOp>(op)) {
      done.push_back(op);
      return llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case(
              [&](scf::ForOp loop) { return convertLoop(loop, lanes, inside); })
          .Case([&](scf::ForallOp loop) { return convertForall(loop, lanes); })
          .Case([&](scf::WhileOp loop) {
            return convertWhile(loop, lanes, inside);
          })
          .Case([&](scf::IfOp branch) {
            return convertBranch(branch, lanes, inside);
          })
          .Case<memref::AllocOp, memref::AllocaOp>(
              [&](auto buffer) { return convertBuffer(buffer, lanes); });
    }
    if (isa<gpu::BarrierOp>(op) && lanes.isInWarp()) {
      lanes.emitBarrier();
      op->erase();
      return success();
    }
    if (isa<ProducersOp>(op))
      return success();
    if (op->getNumRegions() > 0)
      return rejectForLanes(op);
    if (!hasVectors(op))
      return success();
    done.push_back(op);
    for (Value operand : op->getOperands())
      if (isVector(operand) && !lanes.isKnown(operand))
        return op->emitOpError("uses a vector that has no form for lanes of a "
                               "GPU");
    return convertVectors(op);
  }

  /// The body of a loop over the warps of a workgroup, once for each.
  LogicalResult convertShares(scf::ForallOp loop) {
    std::optional<int64_t> count =
        getConstantIntValue(loop.getMixedUpperBound().front());
    if (loop->getParentRegion() != body.getParent() ||
        loop.getNumResults() > 0 || !loop.isNormalized() || lanes.isInWarp() ||
        count == 1 || count != lanes.getNumShares() ||
        lanes.numThreads != kLanesOfWarp)
      return loop.emitOpError("expected as many warps as the launch has along "
                              "y, at least 2, in its body, each along x");
    lanes.enterWarp();
    loop.getInductionVars().front().replaceAllUsesWith(lanes.index.share);
    loop.getTerminator()->erase();
    Block::iterator first =
        loop.getBody()->empty() ? loop->getIterator() : loop.getBody()->begin();
    body.getOperations().splice(loop->getIterator(),
                                loop.getBody()->getOperations());
    LogicalResult result =
        convert(llvm::make_range(first, loop->getIterator()));
    lanes.leaveWarp();
    done.push_back(loop);
    return result;
  }

  LogicalResult convertVectors(Operation *op) {
    if (auto read = dyn_cast<vector::TransferReadOp>(op);
        read && isShared(read))
      return convertSharedRead(read, lanes);
    for (Type type : op->getResultTypes())
      if (auto vector = dyn_cast<VectorType>(type);
          vector && !lanes.getLayout(vector) &&
          !isa<vector::StepOp, ReadPanelsOp>(op))
        return op->emitOpError("has no layout in lanes for ")
               << vector << ", in tiles of " << lanes.numRows << " rows";
    if (isa<arith::ConstantOp>(op))
      return success();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<vector::BroadcastOp, vector::ShapeCastOp,
              vector::ExtractStridedSliceOp, vector::StepOp>(
            [&](auto own) { return convertVector(own); })
        .Case<vector::MultiDimReductionOp, vector::ContractionOp,
              vector::TransferReadOp, vector::GatherOp, vector::TransferWriteOp,
              AnyInWarpOp, ReadPanelsOp>(
            [&](auto own) { return convertToLanes(own, lanes); })
        .Default([&](Operation *other) { return convertElementwise(other); });
  }

  LogicalResult convertElementwise(Operation *op) {
    if (auto comparison = dyn_cast<arith::CmpIOp>(op);
        comparison && convertColumnComparison(comparison, lanes))
      return success();
    if (!OpTrait::hasElementwiseMappableTraits(op) ||
        !isa<VectorType>(op->getResult(0).getType()))
      return rejectForLanes(op);
    auto type = cast<VectorType>(op->getResult(0).getType());
    SmallVector<Type> types;
    for (Type vector : op->getResultTypes())
      types.push_back(getElementTypeOrSelf(vector));
    SmallVector<SmallVector<Value>> results(types.size());
    for (int64_t i = 0, end = lanes.getNumElements(type); i < end; ++i) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(isVector(operand) ? lanes.get(operand)[i] : operand);
      OperationState state(op->getLoc(), op->getName(), operands, types,
                           op->getDiscardableAttrDictionary().getValue());
      state.propertiesAttr = op->getPropertiesAsAttribute();
      for (auto [elements, element] :
           llvm::zip_equal(results, b.create(state)->getResults()))
        elements.push_back(element);
    }
    for (auto [result, elements] : llvm::zip_equal(op->getResults(), results))
      lanes.set(result, std::move(elements));
    return success();
  }

  LogicalResult convertVector(vector::BroadcastOp op) {
    auto type = cast<VectorType>(op.getType());
    int64_t count = lanes.getNumElements(type);
    auto from = dyn_cast<VectorType>(op.getSource().getType());
    if (!from) {
      lanes.set(op, SmallVector<Value>(count, op.getSource()));
      return success();
    }
    if (from == type) {
      lanes.set(op, lanes.get(op.getSource()));
      return success();
    }
    if (lanes.getLayout(type) != Layout::Fragment)
      return rejectForLanes(op);
    // A vector of rank 1 has an element for each column.
    bool isStep =
        isa_and_present<vector::StepOp>(op.getSource().getDefiningOp());
    if (from.getRank() != 2 && !isStep)
      return rejectForLanes(op);
    SmallVector<Value> source =
        isStep ? lanes.columns(from.getDimSize(0)) : lanes.get(op.getSource());
    bool isRows = !isStep && lanes.getLayout(from) == Layout::Rows;
    SmallVector<Value> results;
    for (int64_t i = 0; i < count; ++i)
      results.push_back(source[isRows ? lanes.getRow(i) : lanes.getColumn(i)]);
    lanes.set(op, std::move(results));
    return success();
  }

  LogicalResult convertVector(vector::ShapeCastOp op) {
    auto from = cast<VectorType>(op.getSource().getType());
    auto to = cast<VectorType>(op.getType());
    if (auto step = op.getSource().getDefiningOp<vector::StepOp>();
        step && lanes.getLayout(to) == Layout::Columns) {
      lanes.set(op, lanes.columns(to.getDimSize(1)));
      return success();
    }
    if (lanes.getLayout(from) != Layout::Rows ||
        lanes.getLayout(to) != Layout::Rows)
      return rejectForLanes(op);
    lanes.set(op, lanes.get(op.getSource()));
    return success();
  }

  /// Of columns, eight at a time.
  LogicalResult convertVector(vector::ExtractStridedSliceOp op) {
    auto offset = [&](unsigned dim) {
      return cast<IntegerAttr>(op.getOffsets()[dim]).getInt();
    };
    VectorType type = op.getType();
    if (lanes.getLayout(type) != Layout::Fragment || op.hasNonUnitStrides() ||
        op.getOffsets().size() != 2 || offset(0) != 0 || offset(1) % 8 != 0)
      return rejectForLanes(op);
    SmallVector<Value> source = lanes.get(op.getSource());
    lanes.set(op,
              SmallVector<Value>(ArrayRef(source).slice(
                  lanes.getBlock(offset(1) / 8), lanes.getNumElements(type))));
    return success();
  }

  /// Of rows. One of columns is what its cast to `1xN`, or its broadcast to
  /// `MxN`, asks for.
  LogicalResult convertVector(vector::StepOp op) {
    if (lanes.getLayout(op.getType()))
      lanes.set(op, lanes.rows());
    else if (!llvm::all_of(
                 op->getUsers(),
                 llvm::IsaPred<vector::ShapeCastOp, vector::BroadcastOp>))
      return rejectForLanes(op);
    return success();
  }

  Block &body;
  LaneValues lanes;
  ImplicitLocOpBuilder &b;
  SmallVector<Operation *> done; ///< To be erased, users last.
};

struct DistributeToLanes
    : attn::impl::DistributeToLanesBase<DistributeToLanes> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    getOperation()->walk([&](gpu::LaunchOp launch) {
      APInt threads;
      if (!matchPattern(launch.getBlockSizeOperandValues().x,
                        m_ConstantInt(&threads)) ||
          threads.getSExtValue() % kLanesOfWarp != 0) {
        launch.emitOpError("expected a constant number of threads that is a "
                           "multiple of ")
            << kLanesOfWarp;
        return signalPassFailure();
      }
      FailureOr<int64_t> warpRows = getWarpRows(launch);
      if (failed(warpRows) ||
          failed(Distribution(launch, builder,
                              threads.getSExtValue() - getNumProducers(launch),
                              *warpRows)
                     .run()))
        signalPassFailure();
    });
  }
};

} // namespace
