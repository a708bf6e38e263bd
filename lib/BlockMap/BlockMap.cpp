//===- BlockMap.cpp - The blocks that a kernel computes -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/BlockMap/BlockMap.h"
#include "dialect/AttnOps.h"
#include "lib/Attention/AttentionTile.h"
#include "lib/Plan/Plan.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/TableRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// More take long, and nobody can look at them.
constexpr uint64_t kMaxBlocks = uint64_t(1) << 18;

/// The mask analysis takes it for granted that there are no more rows.
constexpr int64_t kMaxRows = int64_t(1) << 60;

/// Why there are no blocks: what attn-tile-attention leaves alone, once packed
/// batches are split.
StringRef findMapObstacle(AttentionOp op) {
  if (op->getNumResults() == 0)
    return "it works on memrefs";
  return {};
}

/// A number that the user may give, and whether an op asked for it.
struct Request {
  StringRef option;
  std::optional<int64_t> given;
  bool isUsed = false;
};

struct Requests {
  Request batch, queryLength, keyLength, offset;
};

/// A size that is known by type, or given.
FailureOr<int64_t> findSize(AttentionOp op, StringRef what, int64_t byType,
                            Request &request) {
  if (ShapedType::isDynamic(byType)) {
    request.isUsed = true;
    if (request.given)
      return *request.given;
    return emitError(op.getLoc())
           << what << " is not known while compiling: say with "
           << request.option << " for which to show the blocks";
  }
  if (byType > kMaxRows)
    return emitError(op.getLoc())
           << what << " is " << byType << ", and may be up to 2^60";
  return byType;
}

/// The plan that `attn-plan` attached, or what it would attach for a CPU: to
/// the form that computes `length` queries, if that is given.
FailureOr<PlanAttr> getPlanOfKernel(AttentionOp op,
                                    std::optional<int64_t> length) {
  PlanAttr plan = getPlan(op);
  if (plan && plan.getLayout() && plan.getHeads() && plan.getRows() &&
      plan.getKeys())
    return plan;
  return length ? planAttention(op, *length) : planAttention(op, Device::CPU);
}

/// Asks the mask analysis about one op.
class BlockMapper {
public:
  BlockMapper(AttentionOp op, BlockMap &map)
      : op(op), map(map), b(op), last(op->getPrevNode()) {}

  LogicalResult findSizes(const BlockMapOptions &options, Requests &requests);
  LogicalResult findOffsets(Request &request);
  LogicalResult compute();

private:
  BlockRow findRow(int64_t batch, int64_t head, int64_t position,
                   int64_t count);
  BlockKind classify(int64_t batch, int64_t head, int64_t position,
                     int64_t count, int64_t firstKey, int64_t endKey);

  RegionTile makeTile(int64_t batch, int64_t head, int64_t position,
                      int64_t count) {
    return {constant(batch),
            constant(head),
            {constant(position), constant(position + count - 1)},
            {},
            op.getMaskCaptures()};
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, op.getLoc(), value);
  }
  void eraseCode() {
    while (Operation *emitted = op->getPrevNode()) {
      if (emitted == last)
        break;
      emitted->erase();
    }
  }
  /// What the first key of a tile is a multiple of; see attn-tile-keys.
  uint64_t getAlignment(bool hasGaps) const {
    bool isTrimmed = hasGaps && layout != OnlineLayout::Rows &&
                     llvm::isPowerOf2_64(uint64_t(map.keyBlock));
    return isTrimmed ? std::max(alignment, map.keyBlock) : alignment;
  }
  /// Whether the mask looks at the batch or the head.
  bool dependsOn(AttentionOp::RegionIndex index) {
    unsigned number = index == AttentionOp::RegionIndex::Batch ? 0 : 1;
    return op.hasMask() && !op.getMask().getArgument(number).use_empty();
  }

  AttentionOp op;
  BlockMap &map;
  /// By batch entry; one number if it is the same for all.
  SmallVector<int64_t> offsets;
  /// The first key of every tile is a multiple of it.
  int64_t alignment = 1;
  OnlineLayout layout = OnlineLayout::Lanes;
  /// Before the op, where the analysis emits its code, which folds.
  OpBuilder b;
  /// What is before that code; null if nothing.
  Operation *last;
};

} // namespace

LogicalResult BlockMapper::findSizes(const BlockMapOptions &options,
                                     Requests &requests) {
  int64_t byType[] = {op.getQueryType().getDimSize(0),
                      op.getQueryType().getDimSize(2),
                      op.getKeyType().getDimSize(2)};
  StringRef names[] = {"batch size", "query length", "key length"};
  if (op.isPacked()) {
    auto bounds = cast<ShapedType>(op.getCumulativeQuery().getType());
    byType[0] = bounds.isDynamicDim(0) ? ShapedType::kDynamic
                                       : bounds.getDimSize(0) - 1;
    names[0] = "number of sequences";
  }
  if (op.isRagged()) {
    byType[1] = ShapedType::kDynamic;
    names[1] = "query length of a sequence";
  }
  if (op.getCumulativeKey()) {
    byType[2] = ShapedType::kDynamic;
    names[2] = "key length of a sequence";
  }
  auto batches = findSize(op, names[0], byType[0], requests.batch);
  if (failed(batches))
    return failure();
  auto queries = findSize(op, names[1], byType[1], requests.queryLength);
  if (failed(queries))
    return failure();
  auto keys = findSize(op, names[2], byType[2], requests.keyLength);
  if (failed(keys))
    return failure();
  FailureOr<PlanAttr> plan = getPlanOfKernel(op, *queries);
  if (failed(plan))
    return failure();
  layout = *plan->getLayout();
  map.numBatches = *batches;
  map.numHeads = op.getNumQueryHeads();
  map.numQueries = *queries;
  map.numKeys = *keys;
  map.queryBlock = options.queryBlock.value_or(
      std::max<int64_t>(1, plan->getRows() / plan->getHeads()));
  map.keyBlock = options.keyBlock.value_or(plan->getKeys());
  return success();
}

LogicalResult BlockMapper::findOffsets(Request &request) {
  APInt scalar;
  DenseIntElementsAttr elements;
  Value offset = op.getOffset();
  if (op.getBottomRight())
    offsets = {map.numKeys - map.numQueries};
  else if (!offset)
    offsets = {0};
  else if (matchPattern(offset, m_Constant(&elements)))
    for (const APInt &element : elements)
      offsets.push_back(element.getSExtValue());
  else if (matchPattern(offset, m_ConstantInt(&scalar)))
    offsets = {scalar.getSExtValue()};
  else
    request.isUsed = true;
  if (offset && offsets.empty() && !elements) {
    if (!request.given)
      return emitError(op.getLoc(), "offset is not known while compiling: say "
                                    "with offset for which to show the blocks");
    offsets = {*request.given};
  }
  if (elements && int64_t(offsets.size()) != map.numBatches)
    return emitError(op.getLoc(), "batch: expected ")
           << offsets.size() << ", the number of offsets, got "
           << map.numBatches;
  for (int64_t known : offsets)
    if (known > AttentionOp::kMaxOffset || known < -AttentionOp::kMaxOffset)
      return emitError(op.getLoc(),
                       "offset: expected at most 2^61 in magnitude, got ")
             << known; // A5
  return success();
}

BlockKind BlockMapper::classify(int64_t batch, int64_t head, int64_t position,
                                int64_t count, int64_t firstKey,
                                int64_t endKey) {
  RegionTile tile = makeTile(batch, head, position, count);
  tile.keys = {constant(firstKey), constant(endKey - 1)};
  BlockVerdict verdict = emitBlockVerdict(b, op.getLoc(), op.getMask(), tile);
  BlockKind kind = BlockKind::Unknown;
  if (matchPattern(verdict.isEmpty, m_One()))
    kind = BlockKind::Empty;
  else if (matchPattern(verdict.isFull, m_One()))
    kind = BlockKind::Full;
  else if (matchPattern(verdict.isEmpty, m_Zero()) &&
           matchPattern(verdict.isFull, m_Zero()))
    kind = BlockKind::Partial;
  eraseCode();
  return kind;
}

BlockRow BlockMapper::findRow(int64_t batch, int64_t head, int64_t position,
                              int64_t count) {
  BlockRow row = {0, map.numKeys, {}};
  if (op.hasMask() && map.numKeys > 0) {
    RegionTile tile = makeTile(batch, head, position, count);
    VisibleKeys keys =
        emitVisibleKeys(b, op.getLoc(), op.getMask(), tile.batch, tile.head,
                        tile.positions, constant(map.numKeys), tile.captures);
    APInt begin, end;
    // What is not known is taken to be as far out as it can be.
    if (matchPattern(keys.begin, m_ConstantInt(&begin)))
      row.firstKey =
          llvm::alignDown(begin.getSExtValue(), getAlignment(keys.hasGaps));
    if (matchPattern(keys.end, m_ConstantInt(&end)))
      row.endKey = std::max(end.getSExtValue(), row.firstKey);
    eraseCode();
  }
  for (int64_t key = row.firstKey; key < row.endKey; key += map.keyBlock) {
    int64_t end = std::min(key + map.keyBlock, row.endKey);
    row.blocks.push_back(op.hasMask()
                             ? classify(batch, head, position, count, key, end)
                             : BlockKind::Full);
  }
  return row;
}

LogicalResult BlockMapper::compute() {
  using Index = AttentionOp::RegionIndex;
  // As attn-tile-keys does.
  if (hasBlocksOfKeys(b, op.getMask(), op.getMaskCaptures()))
    alignment = map.keyBlock;
  else if (layout == OnlineLayout::Pairs)
    alignment = OnlineAttentionOp::kKeysPerPack;
  map.batchesDiffer = dependsOn(Index::Batch) || offsets.size() > 1;
  map.headsDiffer = dependsOn(Index::Head);
  int64_t numBatches =
      map.batchesDiffer ? map.numBatches : std::min<int64_t>(1, map.numBatches);
  int64_t numHeads = map.headsDiffer ? map.numHeads : 1;
  uint64_t numBlocks = llvm::SaturatingMultiply(uint64_t(map.getNumRows()),
                                                uint64_t(map.getNumColumns()));
  numBlocks = llvm::SaturatingMultiply(numBlocks, uint64_t(numBatches));
  numBlocks = llvm::SaturatingMultiply(numBlocks, uint64_t(numHeads));
  if (numBlocks > kMaxBlocks)
    return emitError(op.getLoc(), "expected at most ")
           << kMaxBlocks << " blocks to show, got " << map.getNumRows() << " x "
           << map.getNumColumns() << " for " << numBatches
           << " batch entries and " << numHeads << " heads that may differ";
  for (int64_t b = 0; b < numBatches; ++b)
    for (int64_t h = 0; h < numHeads; ++h) {
      BlockPattern pattern = {offsets[offsets.size() > 1 ? b : 0], {}, {}};
      for (int64_t row = 0; row < map.getNumRows(); ++row) {
        int64_t first = map.getFirstQuery(row);
        pattern.rows.push_back(findRow(b, h, pattern.offset + first,
                                       map.getFirstQuery(row + 1) - first));
      }
      auto same = llvm::find_if(map.patterns, [&](const BlockPattern &other) {
        return other.offset == pattern.offset && other.rows == pattern.rows;
      });
      if (same == map.patterns.end())
        same = map.patterns.insert(same, std::move(pattern));
      same->places.push_back({b, h});
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Block maps
//===----------------------------------------------------------------------===//

int64_t BlockMap::getNumRows() const {
  return int64_t(llvm::divideCeil(uint64_t(numQueries), uint64_t(queryBlock)));
}

int64_t BlockMap::getFirstQuery(int64_t row) const {
  return std::max<int64_t>(
      0, numQueries - llvm::SaturatingMultiply(uint64_t(queryBlock),
                                               uint64_t(getNumRows() - row)));
}

int64_t BlockMap::getNumColumns() const {
  return int64_t(llvm::divideCeil(uint64_t(numKeys), uint64_t(keyBlock)));
}

BlockCounts BlockMap::count(const BlockPattern &pattern) const {
  BlockCounts counts;
  counts.all = getNumRows() * getNumColumns();
  for (const BlockRow &row : pattern.rows) {
    counts.full += llvm::count(row.blocks, BlockKind::Full);
    counts.partial += llvm::count(row.blocks, BlockKind::Partial);
    counts.unknown += llvm::count(row.blocks, BlockKind::Unknown);
  }
  return counts;
}

static FailureOr<BlockMap> computeBlockMap(AttentionOp op,
                                           const BlockMapOptions &options,
                                           Requests &requests) {
  BlockMap map;
  if (auto *function = op->getParentWithTrait<OpTrait::IsIsolatedFromAbove>())
    if (StringAttr name = SymbolTable::getSymbolName(function))
      map.function = name.str();
  BlockMapper mapper(op, map);
  if (failed(mapper.findSizes(options, requests)) ||
      failed(mapper.findOffsets(requests.offset)))
    return failure();
  map.obstacle = findMapObstacle(op);
  if (map.obstacle.empty() && failed(mapper.compute()))
    return failure();
  return map;
}

static LogicalResult verifyOption(Location loc, StringRef option, int64_t least,
                                  std::optional<int64_t> given) {
  if (!given || (*given >= least && *given <= kMaxRows))
    return success();
  return emitError(loc) << option << ": expected " << least << " to 2^60, got "
                        << *given;
}

FailureOr<std::vector<BlockMap>>
attn::computeBlockMaps(ModuleOp module, const BlockMapOptions &options) {
  Location loc = module.getLoc();
  if (failed(verifyOption(loc, "batch", 0, options.batch)) ||
      failed(verifyOption(loc, "query-length", 0, options.queryLength)) ||
      failed(verifyOption(loc, "key-length", 0, options.keyLength)) ||
      failed(verifyOption(loc, "query-block", 1, options.queryBlock)) ||
      failed(verifyOption(loc, "key-block", 1, options.keyBlock)))
    return failure();
  // Where there is nothing to say of batch entries, there is one.
  Requests requests = {{"batch", options.batch.value_or(1), !options.batch},
                       {"query-length", options.queryLength},
                       {"key-length", options.keyLength},
                       {"offset", options.offset}};
  // The pipeline's summaries of tables are part of what the analysis sees.
  OwningOpRef<ModuleOp> copy = module.clone();
  IRRewriter rewriter(module.getContext());
  SmallVector<AttentionOp> ops;
  copy->walk([&](AttentionOp op) { ops.push_back(op); });
  TileShape tile = {0, 0};
  for (AttentionOp op : ops) {
    FailureOr<PlanAttr> plan = getPlanOfKernel(op, std::nullopt);
    if (failed(plan))
      return failure();
    if (plan->getRows() > tile.queries)
      tile = {plan->getRows(), plan->getKeys()};
  }
  tile = {options.queryBlock.value_or(tile.queries),
          options.keyBlock.value_or(tile.keys)};
  if (!ops.empty())
    summarizeTables(rewriter, ops, tile);
  std::vector<BlockMap> maps;
  for (AttentionOp op : ops) {
    FailureOr<BlockMap> map = computeBlockMap(op, options, requests);
    if (failed(map))
      return failure();
    maps.push_back(std::move(*map));
  }
  if (maps.empty())
    return emitError(loc, "expected an attn.attention to show the blocks of");
  for (const Request &request : {requests.batch, requests.queryLength,
                                 requests.keyLength, requests.offset})
    if (request.given && !request.isUsed)
      return emitError(loc)
             << request.option
             << ": expected an attn.attention that leaves it open, got "
             << *request.given << " for none";
  return maps;
}
