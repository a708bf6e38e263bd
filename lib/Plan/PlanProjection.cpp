//===- PlanProjection.cpp - How kernels compute projections ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

std::optional<int64_t> attn::chooseTileColumns(ProjectionOp op, Value out,
                                               int64_t first, int64_t lanes) {
  // A block of registers: four vectors of 16 lanes.
  constexpr int64_t kMostColumns = 64, kMostOfHead = 256;
  auto type = cast<ShapedType>(out.getType());
  int64_t common = type.getRank() == 4 ? type.getDimSize(3) : 0;
  if (op.hasPanels())
    common = std::gcd(std::gcd(common, op.getPanelWidth()), first);
  for (int64_t n = kMostColumns / lanes * lanes; n >= lanes; n -= lanes)
    if (common % n == 0)
      return n;
  // All of a head that ends within a vector.
  if (!op.hasPanels() && common > 0 && common <= kMostOfHead)
    return common;
  return std::nullopt;
}

StringRef attn::findObstacle(ProjectionOp op) {
  if (op.getAccumulationType().isF64())
    return "its element type is f64";
  if (op->getNumResults() == 0)
    return "it is on memrefs";
  std::optional<int64_t> rows = 1;
  for (int64_t size : op.getInputType().getShape().drop_back())
    if (rows && !ShapedType::isDynamic(size))
      rows = llvm::checkedMul(*rows, size);
  if (!rows)
    return "it has more rows than an index counts";
  int64_t column = 0, lanes = getTarget(op).getLanes();
  for (auto [out, features] :
       llvm::zip(op.getOuts(), op.getNumOutputFeatures())) {
    if (!chooseTileColumns(op, out, column, lanes))
      return "its panels or long heads do not fill vectors";
    column += features;
  }
  return {};
}

/// Whether many rows are multiplied in pairs of bf16: by a weight that is in
/// pairs, or is converted to them as a whole.
static bool canComputeInPairs(ProjectionOp op, TargetAttr target) {
  Type input = op.getInputType().getElementType(),
       weight = op.getWeightType().getElementType();
  if (!target.hasPairs() || op.getNumInputFeatures() % kFeaturesPerTile != 0)
    return false;
  if (op.isInPairs() && weight.isBF16())
    return true;
  // Parts of f32 and f16 pay for a conversion in tiles alone.
  return op.hasPanels() && (weight.isBF16() || weight.isInteger(8)) &&
         (target.getBf16Tiles() || input.isBF16());
}

int64_t attn::countParts(ProjectionOp op) {
  // bf16 has 8 bits, f16 11 and f32 24.
  Type input = op.getInputType().getElementType();
  return input.isBF16() ? 1 : input.isF16() ? 2 : 3;
}

int64_t attn::divideEvenly(int64_t count, int64_t most) {
  count = std::max<int64_t>(count, 1);
  auto parts = int64_t(llvm::divideCeil(count, std::max<int64_t>(most, 1)));
  return int64_t(llvm::divideCeil(count, parts));
}

bool attn::canKeepPacks(ProjectionOp op, Value written,
                        function_ref<bool(ProjectionOp)> isJoined) {
  OperandRange outs = op.getOuts();
  if (op.getInputType().getDimSize(0) != 1 || outs.size() != 1)
    return false;
  // What a tile packs must not change meanwhile.
  if (written == op.getInput())
    return false;
  // Columns after the last whole block have a loop of their own.
  std::optional<int64_t> columns =
      chooseTileColumns(op, outs[0], 0, getTarget(op).getLanes());
  if (!columns || op.getNumOutputFeatures()[0] % *columns != 0)
    return false;
  return llvm::none_of(op.getInput().getUsers(), [&](Operation *user) {
    auto other = dyn_cast<ProjectionOp>(user);
    return other && other != op && other->getBlock() == op->getBlock() &&
           !isJoined(other);
  });
}

/// What alone takes the result of `op`, and may be computed in its tiles; or
/// null.
static linalg::GenericOp getOnlyUser(ProjectionOp op) {
  Operation *only = nullptr;
  for (Operation *user : op->getUsers()) {
    if (isa<tensor::DimOp>(user))
      continue;
    if (only && only != user)
      return {};
    only = user;
  }
  return dyn_cast_if_present<linalg::GenericOp>(only);
}

/// The number of rows of an input, if it is known: tokens of all batch entries,
/// whose features may be those of several heads.
static std::optional<int64_t> getNumRows(ProjectionOp op) {
  ArrayRef<int64_t> shape = op.getInputType().getShape();
  int64_t batch = shape.front(), length = shape.drop_back().back();
  if (ShapedType::isDynamic(batch) || ShapedType::isDynamic(length))
    return std::nullopt;
  return batch * length;
}

/// Where the rows of tiles of `rows` rows are packed.
static Packs choosePacks(ProjectionOp op, OnlineLayout layout, int64_t rows,
                         bool canKeep, const CacheModel &model) {
  // Each of several loops would pack them again. Products of f32 take longer
  // than what they wait for.
  if (!canKeep || layout != OnlineLayout::Pairs)
    return Packs::Shared;
  // What fits into the second-level cache as a whole stays there, and what of a
  // tile does not, has left it.
  constexpr int64_t kBytesOfPart = 2;
  int64_t rowBytes = op.getNumInputFeatures() * countParts(op) * kBytesOfPart,
          most = model.getResidentBytes();
  std::optional<int64_t> numRows = getNumRows(op);
  bool allFit =
      numRows && int64_t(llvm::alignTo(uint64_t(*numRows), kRowsOfPairPack)) <=
                     most / rowBytes;
  return rows <= most / rowBytes && !allFit ? Packs::Kept : Packs::Shared;
}

FailureOr<PlanAttr> attn::planForCPU(ProjectionOp op) {
  TargetAttr target = getTarget(op);
  CacheModel model(target);
  PlanAttr said = getPlan(op);
  auto refuse = [&](StringRef name) {
    return op.emitError("attn.plan: ") << name << ": ";
  };
  auto use = [&](int64_t (PlanAttr::*get)() const, int64_t chosen) {
    int64_t given = said ? (said.*get)() : 0;
    return given ? given : chosen;
  };
  bool hasPairs = canComputeInPairs(op, target);
  OnlineLayout layout = said && said.getLayout() ? *said.getLayout()
                        : hasPairs               ? OnlineLayout::Pairs
                                                 : OnlineLayout::Lanes;
  if (layout == OnlineLayout::Pairs && !hasPairs)
    return refuse("layout") << "expected a weight of bf16 or i8, a multiple of "
                            << kFeaturesPerTile
                            << " features, and a target that multiplies pairs "
                               "for 'pairs'";
  if (layout != OnlineLayout::Pairs && layout != OnlineLayout::Lanes)
    return refuse("layout") << "expected 'lanes' or 'pairs', got '"
                            << stringifyOnlineLayout(layout) << "'";
  CacheModel::ProjectionSizes sizes = model.getProjectionSizes(
      layout == OnlineLayout::Pairs,
      layout == OnlineLayout::Pairs ? countParts(op) : 1);
  int64_t lanes = use(&PlanAttr::getLanes, target.getLanes());
  if (lanes != target.getLanes())
    return refuse("lanes") << "expected " << target.getLanes() << ", got "
                           << lanes;
  if (said && said.getFeatures() % kFeaturesPerTile != 0)
    return refuse("features") << "expected a multiple of " << kFeaturesPerTile
                              << ", got " << said.getFeatures();
  if (said &&
      (said.getHeads() || said.getHeadSize() || said.getKeys() ||
       said.getChunk() || said.getWarpgroups() || said.getBatchInvariant()))
    return refuse("heads, head_size, keys, chunk, warpgroups and "
                  "batch_invariant")
           << "are of attention, not of a projection";
  int64_t rowsOfPack =
      layout == OnlineLayout::Pairs ? kRowsOfPairPack : kRowsOfPack;
  // Tiles of about the same size.
  if (std::optional<int64_t> numRows = getNumRows(op))
    sizes.rows = rowsOfPack *
                 divideEvenly(int64_t(llvm::divideCeil(*numRows, rowsOfPack)),
                              sizes.rows / rowsOfPack);
  int64_t rows = use(&PlanAttr::getRows, sizes.rows);
  linalg::GenericOp user = getOnlyUser(op);
  Value written = user ? user.getDpsInits()[0] : op.getOuts().front();
  bool canKeep = canKeepPacks(op, written, [&](ProjectionOp other) {
    return user && user == getOnlyUser(other);
  });
  Packs packs = said && said.getPacks()
                    ? *said.getPacks()
                    : choosePacks(op, layout, rows, canKeep, model);
  if (packs == Packs::Block || (packs == Packs::Kept && !canKeep))
    return refuse("packs") << "expected 'shared', or, of one batch entry and "
                              "one result whose rows no other projection "
                              "reads, 'kept', got '"
                           << stringifyPacks(packs) << "'";
  return PlanAttr::get(op.getContext(),
                       {.layout = layout,
                        .rows = rows,
                        .lanes = lanes,
                        .columns = use(&PlanAttr::getColumns, sizes.columns),
                        .features = use(&PlanAttr::getFeatures, sizes.features),
                        .packs = packs,
                        .ahead = use(&PlanAttr::getAhead, 0)});
}
