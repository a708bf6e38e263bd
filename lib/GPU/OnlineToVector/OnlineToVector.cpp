//===- OnlineToVector.cpp - Tiles of online attention as vectors ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A workgroup computes a tile of M queries, and all of its vectors are the
// workgroup's:
//
//   query (M, Dk), O (M, Dv)   any, f32           vector<MxD>
//   m, l                       f32                vector<M>
//   key, value (N, D)          any                vector.transfer_read of a
//   block
//
//   S = query * key^T                             vector.contract
//   S = score(scale * S), -inf where hidden       elementwise
//   m' = max(m, rows of S), P = exp(S - m'), l' = c * l + sums of P
//   O = c * O + P * value                         vector.contract
//
// Types of tensors are changed in place, operation by operation, from the ones
// that make a tile to those that use it.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/KeyLoops.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/OnlineToVector/BlockToVector.h"
#include "lib/GPU/OnlineToVector/RegionToVector.h"
#include "lib/GPU/Passes.h"
#include "lib/GPU/RareLoop.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTONLINETOVECTOR
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

bool hasVectorType(Value value) { return isa<VectorType>(value.getType()); }

/// The shape of the vector that a tensor of a tile becomes: (rows) or (rows,
/// elements of a head).
SmallVector<int64_t> getVectorShape(ShapedType type) {
  SmallVector<int64_t> shape(type.getShape());
  if (shape.size() == 2)
    shape.back() = padHeadSize(shape.back());
  return shape;
}

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

/// Tensors become vectors where they are, so operands may be vectors that the
/// accessors of their ops do not expect.
class TileConverter {
public:
  explicit TileConverter(Location loc) : b(loc, loc.getContext()) {}

  LogicalResult convert(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(convert(&op)))
        return failure();
    return success();
  }

private:
  LogicalResult convert(Operation *op) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<scf::ForOp, scf::IfOp, linalg::FillOp, linalg::GenericOp,
              linalg::CopyOp, tensor::PadOp, tensor::ExtractSliceOp,
              tensor::InsertSliceOp, OnlineAttentionOp, AllFiniteOp,
              AllBoundedOp>([&](auto known) { return convert(known); })
        .Default([&](Operation *other) { return checkOther(other); });
  }

  LogicalResult checkOther(Operation *op) {
    if (isa<AttnDialect>(op->getDialect()))
      return op->emitOpError("has no lowering for a GPU");
    if (!isa<scf::YieldOp>(op) &&
        llvm::any_of(op->getOperands(), hasVectorType) &&
        llvm::none_of(op->getResultTypes(), llvm::IsaPred<VectorType>))
      return op->emitOpError("has no form for vectors of a tile on a GPU");
    return success();
  }

  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  static void takeTypes(ValueRange to, ValueRange from) {
    for (auto [value, source] : llvm::zip_equal(to, from))
      value.setType(source.getType());
  }

  LogicalResult convert(linalg::CopyOp copy) {
    if (!hasVectorType(copy.getInputs()[0]))
      return checkOther(copy);
    replace(copy, copy.getInputs()[0]);
    return success();
  }

  LogicalResult convert(scf::ForOp loop) {
    foldWholeInsertions(loop);
    OnlineAttentionOp block = findOnlyBlock(loop);
    std::optional<unsigned> sums, maxima;
    if (block) {
      sums = findCarried(loop, block.getSum(), block.getResult(2));
      if (isRelativeToPower(block))
        maxima = findCarried(loop, block.getMaximum(), block.getResult(1));
    }
    if (sums)
      splitSums(loop, *sums);
    if (maxima) {
      OpOperand &init = loop.getInitArgsMutable()[*maxima];
      init.set(emitExponents(b, b.getLoc(), init.get()));
      withExponents.insert(block);
    }
    takeTypes(loop.getRegionIterArgs(), loop.getInitArgs());
    takeTypes(loop.getResults(), loop.getInitArgs());
    if (failed(convert(*loop.getBody())))
      return failure();
    if (sums)
      addSums(loop.getResult(*sums));
    if (maxima)
      addMaxima(loop.getResult(*maxima));
    return success();
  }

  /// Makes a loop carry parts of sums, which are added up after it. Those that
  /// it begins with are divided, exactly.
  void splitSums(scf::ForOp loop, unsigned number) {
    OpOperand &init = loop.getInitArgsMutable()[number];
    Value sums = init.get();
    SmallVector<int64_t> shape = {
        cast<VectorType>(sums.getType()).getDimSize(0), kPartialSums};
    Value share = arith::ConstantOp::create(
        b, DenseElementsAttr::get(vectorOf(shape, b.getF32Type()),
                                  1.0f / kPartialSums));
    init.set(b.mulF(broadcastTo(b, sums, shape), share));
  }

  void addSums(Value sums) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(sums);
    int64_t rows = cast<VectorType>(sums.getType()).getDimSize(0);
    auto all = vector::MultiDimReductionOp::create(
        b, sums, b.zero(vectorOf({rows}, b.getF32Type())),
        SmallVector<bool>{false, true}, vector::CombiningKind::ADD);
    sums.replaceAllUsesExcept(all, all);
  }

  void addMaxima(Value exponents) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(exponents);
    llvm::SmallPtrSet<Operation *, 4> own;
    for (Operation *user : exponents.getUsers())
      own.insert(user);
    Value maxima = emitMaxima(b, b.getLoc(), exponents);
    exponents.replaceUsesWithIf(
        maxima, [&](OpOperand &use) { return own.contains(use.getOwner()); });
  }

  LogicalResult convert(scf::IfOp branch) {
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        if (failed(convert(block)))
          return failure();
    if (branch.getNumResults() > 0)
      takeTypes(branch.getResults(), branch.thenYield().getOperands());
    return success();
  }

  /// Whether a tensor is of a tile, and not in memory.
  static bool isTile(Value value) {
    return hasVectorType(value) || value.getDefiningOp<tensor::EmptyOp>();
  }

  LogicalResult convert(linalg::FillOp fill) {
    auto type = cast<ShapedType>(fill.getOutputs()[0].getType());
    if (!isTile(fill.getOutputs()[0]) || !type.hasStaticShape())
      return success();
    Value value = broadcastTo(b, fill.getInputs()[0], getVectorShape(type));
    replace(fill, value);
    return success();
  }

  /// Of parallel loops over a tile, with inputs of all of it or of its rows.
  LogicalResult convert(linalg::GenericOp op) {
    auto type = cast<ShapedType>(op.getOutputs()[0].getType());
    bool isVectorized = llvm::any_of(op->getOperands(), hasVectorType);
    if (!isVectorized)
      return success();
    if (op.getNumResults() != 1 || !type.hasStaticShape() ||
        op.getNumParallelLoops() != op.getNumLoops() ||
        !isTile(op.getOutputs()[0]))
      return op.emitOpError("has no form for vectors of a tile on a GPU");
    SmallVector<int64_t> shape = getVectorShape(type);
    SmallVector<Value> arguments;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      Value value = operand.get();
      bool isRows = map.getNumResults() == 1 && map.isFunctionOfDim(0);
      if (!hasVectorType(value)) {
        // The output, of which only the shape counts.
        if (!op.getMatchingBlockArgument(&operand).use_empty())
          return op.emitOpError("reads a tensor that is not of the tile");
        value = b.zero(vectorOf(shape, type.getElementType()));
      } else if (!map.isIdentity() && !isRows) {
        return op.emitOpError("has no form for vectors of a tile on a GPU");
      }
      arguments.push_back(broadcastTo(b, value, shape));
    }
    FailureOr<Value> result = vectorizeBody(b, *op.getBlock(), arguments);
    if (failed(result))
      return failure();
    replace(op, broadcastTo(b, *result, shape));
    return success();
  }

  /// Whether no element of the vector is outside memory of `shape`, dimension
  /// by dimension. Only rows may be missing, and the padding of heads.
  static SmallVector<bool> findInBounds(ArrayRef<int64_t> vector,
                                        ArrayRef<int64_t> shape) {
    SmallVector<bool> inBounds;
    for (auto [size, stored] : llvm::zip_equal(vector, shape))
      inBounds.push_back(size == stored);
    return inBounds;
  }

  /// Rows of memory, and of 0 up to a whole tile.
  LogicalResult convert(tensor::PadOp pad) {
    auto type = pad.getResultType();
    if (!type.hasStaticShape() || !pad.getConstantPaddingValue())
      return pad.emitOpError("has no form for vectors of a tile on a GPU");
    Value zero = b.index(0);
    SmallVector<int64_t> shape = getVectorShape(type);
    replace(pad, vector::TransferReadOp::create(
                     b, vectorOf(shape, type.getElementType()), pad.getSource(),
                     SmallVector<Value>(type.getRank(), zero),
                     pad.getConstantPaddingValue(),
                     findInBounds(shape, pad.getSourceType().getShape())));
    return success();
  }

  /// Of a vector, all of it, or its first rows for an insertion.
  LogicalResult convert(tensor::ExtractSliceOp slice) {
    Value source = slice.getSourceMutable().get();
    if (!hasVectorType(source))
      return success();
    if (!llvm::all_of(slice.getMixedOffsets(), isZeroInteger) ||
        !slice.hasUnitStride())
      return slice.emitOpError("has no form for vectors of a tile on a GPU");
    replace(slice, source);
    return success();
  }

  /// The first rows of a vector, as many as the destination has, and as many
  /// elements of each.
  LogicalResult convert(tensor::InsertSliceOp insert) {
    Value source = insert.getSourceMutable().get();
    if (!hasVectorType(source))
      return success();
    Value destination = insert.getDestMutable().get();
    if (hasVectorType(destination) &&
        insert.getStaticSizes() == insert.getResultType().getShape()) {
      replace(insert, source);
      return success();
    }
    auto vector = cast<VectorType>(source.getType());
    auto type = dyn_cast<RankedTensorType>(destination.getType());
    if (!type || type.getRank() < vector.getRank() ||
        !llvm::all_of(insert.getMixedOffsets(), isZeroInteger) ||
        !insert.hasUnitStride())
      return insert.emitOpError("has no form for vectors of a tile on a GPU");
    Value zero = b.index(0);
    auto write = vector::TransferWriteOp::create(
        b, source, destination, SmallVector<Value>(type.getRank(), zero),
        findInBounds(vector.getShape(),
                     type.getShape().take_back(vector.getRank())));
    replace(insert, write.getResult());
    return success();
  }

  LogicalResult convert(OnlineAttentionOp op) {
    if (op.getLayout() != OnlineLayout::Mma)
      return op.emitOpError("is lowered for a GPU in layout<mma> only, got ")
             << "layout<" << stringifyOnlineLayout(op.getLayout()) << ">";
    if (!matchPattern(op.getExact(), m_Constant()))
      return op.emitOpError(
          "is lowered for a GPU with a constant 'exact' only");
    std::optional<int64_t> keys = getBlockKeys(op);
    if (!keys)
      return op.emitOpError("expected a constant bound of the number of keys: "
                            "tile the keys first");
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
        loop && matchPattern(op.getExact(), m_One()))
      loop->setAttr(kRareLoopAttr, b.getUnitAttr());
    if (op.isDelayed() && !matchPattern(op.getExact(), m_Zero()))
      return op.emitOpError("is lowered with 'delayed' products only where "
                            "'exact' is false");
    if (op.isDelayed()) {
      auto weights = dyn_cast<VectorType>(op.getDelayedWeights().getType());
      if (!weights || weights.getDimSize(1) != *keys)
        return op.emitOpError(
                   "expected delayed weights that a loop carries, of ")
               << *keys << " keys";
    }
    FailureOr<SmallVector<Value>> state =
        emitBlock(b, op, *keys, withExponents.contains(op));
    if (failed(state))
      return failure();
    op->replaceAllUsesWith(*state);
    op.erase();
    return success();
  }

  /// Products with 0 are 0 or NaN, and so are their sums: of each row as many
  /// as a unit has columns, each of a lane's own elements.
  LogicalResult convert(AllFiniteOp op) {
    Value source = op.getSource();
    auto type = dyn_cast<VectorType>(source.getType());
    if (!type || type.getRank() != 2 || type.getDimSize(1) % kMatrixUnit != 0)
      return op.emitOpError("has no form for vectors of a tile on a GPU");
    SmallVector<int64_t> sizes = {type.getDimSize(0), kMatrixUnit};
    Value zero = b.zero(vectorOf(sizes, type.getElementType())), sum = zero;
    for (int64_t column = 0; column < type.getDimSize(1); column += kMatrixUnit)
      sum = math::FmaOp::create(b,
                                vector::ExtractStridedSliceOp::create(
                                    b, source, ArrayRef<int64_t>{0, column},
                                    sizes, ArrayRef<int64_t>{1, 1}),
                                zero, sum);
    replaceByAll(op, b.isEqualF(sum, zero));
    return success();
  }

  LogicalResult convert(AllBoundedOp op) {
    Value maxima = op.getMaximaMutable().get();
    auto type = dyn_cast<VectorType>(maxima.getType());
    if (!type)
      return op.emitOpError("has no form for vectors of a tile on a GPU");
    auto compare = [&](arith::CmpFPredicate predicate, double with) -> Value {
      Value constant = arith::ConstantOp::create(
          b, DenseElementsAttr::get(type, float(with)));
      return arith::CmpFOp::create(b, predicate, maxima, constant);
    };
    using enum arith::CmpFPredicate;
    Value isBounded = b.bitAnd(compare(OLE, AllBoundedOp::kMost),
                               compare(OGE, -AllBoundedOp::kMost));
    Value isNone = compare(OEQ, -std::numeric_limits<double>::infinity());
    replaceByAll(op, broadcastTo(b, b.bitOr(isBounded, isNone),
                                 {type.getDimSize(0), kMatrixUnit}));
    return success();
  }

  /// Replaces `op` by whether all elements of a matrix are true.
  void replaceByAll(Operation *op, Value matrix) {
    replace(op, vector::MultiDimReductionOp::create(
                    b, matrix, b.boolean(true), SmallVector<bool>{true, true},
                    vector::CombiningKind::AND));
  }

  IndexBuilder b;
  /// Blocks of loops that carry exponents in place of maxima.
  llvm::SmallPtrSet<Operation *, 4> withExponents;
};

/// `text` with "?" for every number.
std::string dropNumbers(StringRef text) {
  std::string result;
  for (; !text.empty(); text = text.drop_front())
    if (text.front() == '{' && text.size() > 2 && text[2] == '}') {
      result += '?';
      text = text.drop_front(2);
    } else {
      result += text.front();
    }
  return result;
}

/// Kernels of GPUs have nobody to report numbers to: they stop. What is
/// reported of no position is asserted right after.
void assertDefined(ReportOp op) {
  if (op.getPosition().empty())
    return op.erase();
  SmallVector<std::string> reasons;
  for (auto reason : op.getReasons().getAsRange<StringAttr>())
    if (std::string text = dropNumbers(reason.getValue());
        !llvm::is_contained(reasons, text))
      reasons.push_back(std::move(text));
  std::string message = op.getMessage().str() + ": the value depends on " +
                        llvm::join(reasons, ", or on ");
  OpBuilder b(op);
  Value isTrue = arith::ConstantOp::create(b, op.getLoc(), b.getBoolAttr(true));
  Value isDefined =
      arith::XOrIOp::create(b, op.getLoc(), op.getFailed(), isTrue);
  cf::AssertOp::create(b, op.getLoc(), isDefined, message);
  op.erase();
}

/// The loop whose iterations are workgroups: the one around that of warps.
scf::ForallOp getLoopOfWorkgroups(scf::ForallOp loop) {
  auto outer = loop->getParentOfType<scf::ForallOp>();
  return outer && isLoopOfWarps(loop) ? outer : loop;
}

/// Has a loop stay one where it has one iteration: what is in it runs on the
/// GPU.
void mapToWorkgroups(scf::ForallOp loop) {
  MLIRContext *context = loop.getContext();
  SmallVector<Attribute> ids;
  for (int64_t dim = 0; dim < loop.getRank(); ++dim)
    ids.push_back(gpu::GPUBlockMappingAttr::get(
        context, static_cast<gpu::MappingId>(
                     static_cast<int64_t>(gpu::MappingId::LinearDim0) + dim)));
  loop.setMappingAttr(ArrayAttr::get(context, ids));
}

/// Says of the loop around `op` what its plan says of warps.
LogicalResult setWarpRows(scf::ForallOp loop, OnlineAttentionOp op) {
  PlanAttr plan = getPlan(op);
  if (!plan || plan.getLanes() == 0)
    return success();
  auto rows =
      IntegerAttr::get(IndexType::get(op.getContext()), plan.getLanes());
  Attribute other = loop->getAttr(kWarpRowsAttr);
  if (other && other != rows)
    return op.emitOpError("expected as many 'lanes' in the attn.plan of each "
                          "tile of a loop for a GPU");
  loop->setAttr(kWarpRowsAttr, rows);
  if (plan.getWarpgroups())
    loop->setAttr(kWarpgroupsAttr, UnitAttr::get(op.getContext()));
  return success();
}

/// Says of the loop around `tiles` how many rows they have at most, if all know
/// it.
void setMostRows(scf::ForallOp loop, ArrayRef<OnlineAttentionOp> tiles) {
  int64_t most = 0;
  for (OnlineAttentionOp op : tiles) {
    std::optional<int64_t> rows = getConstantIntValue(op.getNumQueries());
    if (!rows)
      return;
    most = std::max(most, *rows);
  }
  loop->setAttr(kMostRowsAttr,
                IntegerAttr::get(IndexType::get(loop.getContext()), most));
}

struct ConvertOnlineToVector
    : attn::impl::ConvertOnlineToVectorBase<ConvertOnlineToVector> {
  void runOnOperation() override {
    llvm::MapVector<scf::ForallOp, SmallVector<OnlineAttentionOp>> loops;
    getOperation()->walk([&](OnlineAttentionOp op) -> WalkResult {
      auto loop = op->getParentOfType<scf::ForallOp>();
      if (!loop)
        return op.emitOpError("is lowered for a GPU in an 'scf.forall' only");
      loops[loop].push_back(op);
      return WalkResult(setWarpRows(getLoopOfWorkgroups(loop), op));
    });
    for (auto &[loop, tiles] : loops)
      setMostRows(getLoopOfWorkgroups(loop), tiles);
    getOperation()->walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
      mapToWorkgroups(loop);
      return WalkResult::skip();
    });
    TileConverter converter(getOperation()->getLoc());
    for (scf::ForallOp loop : llvm::make_first_range(loops))
      if (failed(converter.convert(*loop.getBody())))
        return signalPassFailure();
    getOperation()->walk(assertDefined);
    // The operation before what is in its regions.
    auto result = getOperation()->walk<WalkOrder::PreOrder>([](Operation *op) {
      // A table with its ranges is the table in memory, and lanes have a vote.
      if (!isa_and_present<AttnDialect>(op->getDialect()) ||
          isa<WithBlockRangeOp, AnyInWarpOp>(op))
        return WalkResult::advance();
      return WalkResult(op->emitOpError("has no lowering for a GPU"));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
