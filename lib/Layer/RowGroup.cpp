//===- RowGroup.cpp - Operations on the same rows -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layer/RowGroup.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isRead(OpOperand &init) {
  if (auto op = dyn_cast<linalg::LinalgOp>(init.getOwner()))
    return op.payloadUsesValueFromOperand(&init);
  return false; // Of ops on rows.
}

/// Whether rows of it can be computed apart from each other.
static bool isOnRows(Operation *op) {
  auto style = dyn_cast<DestinationStyleOpInterface>(op);
  if (!style || !style.hasPureTensorSemantics())
    return false;
  // Without elements; a size of 0 would tell `TilingInterface` not to tile.
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.hasOnlyProjectedPermutations() &&
           !llvm::is_contained(linalgOp.getStaticLoopRanges(), 0);
  return isa<RopeOp, HeadNormOp>(op);
}

SmallVector<int64_t> RowGroup::Member::getStaticLoops() const {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getStaticLoopRanges();
  // One for each dimension of the result but the last.
  return SmallVector<int64_t>(
      cast<ShapedType>(op->getResult(0).getType()).getShape().drop_back());
}

int64_t RowGroup::Member::getRowElements() const {
  int64_t elements = 1;
  for (auto [i, size] : llvm::enumerate(getStaticLoops()))
    if (i != loop && !ShapedType::isDynamic(size))
      elements *= size;
  if (!isa<linalg::LinalgOp>(op)) // What is in no loop.
    elements *= cast<ShapedType>(op->getResult(0).getType()).getShape().back();
  return std::max<int64_t>(elements, 1);
}

std::optional<unsigned> RowGroup::Member::getRowDim(OpOperand &operand) const {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
    return map.getResultPosition(getAffineDimExpr(loop, op->getContext()));
  }
  bool isRows = operand.getOperandNumber() == 0 ||
                cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  return isRows ? std::optional(loop) : std::nullopt;
}

std::optional<unsigned> RowGroup::Member::getRowDim(OpResult result) const {
  return getRowDim(
      *cast<DestinationStyleOpInterface>(op).getTiedOpOperand(result));
}

/// The parallel loop of `op` that runs along dimension `dim` of a result.
static std::optional<unsigned> findLoop(OpResult result, unsigned dim) {
  Operation *op = result.getOwner();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    AffineMap map = linalgOp.getIndexingMapMatchingResult(result);
    unsigned loop = map.getDimPosition(dim);
    return linalgOp.getIteratorTypesArray()[loop] ==
                   utils::IteratorType::parallel
               ? std::optional(loop)
               : std::nullopt;
  }
  // Heads stay together.
  return dim == 0 || dim == 2 ? std::optional(dim) : std::nullopt;
}

/// The loop over rows of a root: the last parallel one of a number that is not
/// known, or else the one of most iterations. Elements of the innermost one are
/// computed together.
static std::optional<unsigned> chooseLoop(Operation *op) {
  auto types = cast<TilingInterface>(op).getLoopIteratorTypes();
  SmallVector<int64_t> sizes = RowGroup::Member{op, 0}.getStaticLoops();
  bool isLinalg = isa<linalg::LinalgOp>(op);
  // Columns stay together, too; a list has none.
  size_t numLoops = sizes.size() - (isLinalg && sizes.size() > 1);
  std::optional<unsigned> chosen;
  for (unsigned loop = 0; loop < numLoops; ++loop) {
    if (types[loop] != utils::IteratorType::parallel ||
        (!isLinalg && loop == 1)) // Heads stay together.
      continue;
    bool isDynamic = ShapedType::isDynamic(sizes[loop]);
    if (!chosen || isDynamic ||
        (!ShapedType::isDynamic(sizes[*chosen]) &&
         sizes[loop] > sizes[*chosen]))
      chosen = loop;
  }
  return chosen;
}

int64_t RowGroup::getRowElements() const {
  int64_t most = 1;
  for (const Member &member : members)
    most = std::max(most, member.getRowElements());
  return most;
}

Value RowGroup::getDestination(Value result) const {
  while (isMember(result.getDefiningOp()))
    result = cast<DestinationStyleOpInterface>(result.getDefiningOp())
                 .getTiedOpOperand(cast<OpResult>(result))
                 ->get();
  return result;
}

SmallVector<Value> RowGroup::getUsedResults() const {
  SmallVector<Value> used;
  for (const Member &member : members)
    for (Value result : member.op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !isMember(user); }))
        used.push_back(result);
  return used;
}

void RowGroup::addProducer(Operation *op) {
  if (!isOnRows(op) || !isa<TilingInterface>(op))
    return;
  Operation *root = getRoot();
  std::optional<unsigned> loop;
  for (OpResult result : op->getResults())
    for (OpOperand &use : result.getUses()) {
      Operation *user =
          root->getBlock()->findAncestorOpInBlock(*use.getOwner());
      if (!isMember(use.getOwner())) {
        if (!user || !root->isBeforeInBlock(user))
          return;
        continue;
      }
      auto *member = llvm::find_if(
          members, [&](const Member &m) { return m.op == use.getOwner(); });
      std::optional<unsigned> dim = member->getRowDim(use);
      std::optional<unsigned> found =
          dim ? findLoop(result, *dim) : std::nullopt;
      if (!found || (loop && loop != found))
        return;
      loop = found;
    }
  if (!loop)
    return;
  Member member = {op, *loop};
  for (auto [i, size] : llvm::enumerate(member.getStaticLoops()))
    if (i != *loop && ShapedType::isDynamic(size))
      return;
  for (OpResult result : op->getResults())
    if (!member.getRowDim(result))
      return;
  members.insert(members.begin(), member);
  ops.insert(op);
}

std::optional<RowGroup> RowGroup::find(Operation *root) {
  if (!isOnRows(root))
    return std::nullopt;
  std::optional<unsigned> loop = chooseLoop(root);
  if (!loop)
    return std::nullopt;
  Member member = {root, *loop};
  for (OpResult result : root->getResults())
    if (!member.getRowDim(result))
      return std::nullopt;
  RowGroup group;
  group.members.push_back(member);
  group.ops.insert(root);
  // The loop's bounds would depend on what is to be computed in it.
  SmallVector<int64_t> sizes = member.getStaticLoops();
  sizes.erase(sizes.begin() + *loop);
  if (ShapedType::isDynamicShape(sizes))
    return group;
  for (Operation *op = root->getPrevNode(); op; op = op->getPrevNode())
    group.addProducer(op);
  return group;
}
