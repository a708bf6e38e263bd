//===- ItemReads.cpp - What named masks and scores read -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/ItemReads.h"
#include "dialect/Attention/NamedMasksAndScores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::attn;

int64_t attn::getStaticSize(Type type, int64_t dim) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() && dim < shaped.getRank()
             ? shaped.getDimSize(unsigned(dim))
             : ShapedType::kDynamic;
}

void CallShape::unpack() {
  if (!isPacked())
    return;
  int64_t bounds = getStaticSize(sequences.types[0], 0);
  batch = ShapedType::isDynamic(bounds) ? bounds : bounds - 1;
  queries = ShapedType::kDynamic;
  if (arePackedKeys())
    keys = ShapedType::kDynamic;
}

static StringRef getMeaning(Axis axis) {
  switch (axis) {
  case Axis::Batch:
    return "batch size";
  case Axis::Head:
    return "number of query heads";
  case Axis::Position:
  case Axis::Row:
    return "query length";
  case Axis::Key:
    return "key/value length";
  }
  llvm_unreachable("unknown axis");
}

/// How many values the index has; dynamic if they do not count from 0.
static int64_t getExtent(const CallShape &shape, Axis axis) {
  switch (axis) {
  case Axis::Batch:
    return shape.batch;
  case Axis::Head:
    return shape.heads;
  case Axis::Position:
    return shape.offset.operands.empty() && !shape.bottomRight
               ? shape.queries
               : ShapedType::kDynamic;
  case Axis::Row:
    return shape.queries;
  case Axis::Key:
    return shape.keys;
  }
  llvm_unreachable("unknown axis");
}

static ParseResult checkSize(OpAsmParser &parser, const ItemRead &read,
                             const CallShape &shape) {
  int64_t extent = getExtent(shape, read.axis);
  if (ShapedType::isDynamic(read.size) || ShapedType::isDynamic(extent) ||
      read.size >= extent || (read.broadcasts && read.size == 1))
    return success();
  return parser.emitError(read.loc)
         << read.reader << ": dimension " << read.dim << " ("
         << getMeaning(read.axis) << ") is " << read.size << ", expected "
         << (read.broadcasts ? "1 or " : "") << "at least " << extent;
}

namespace {

/// Computes the position of the first query at the beginning of a region.
class FirstPosition {
public:
  FirstPosition(OpAsmParser &parser, ParsedRegion &parsed,
                const CallShape &shape, const Position &pos)
      : parser(parser), parsed(parsed), shape(shape), pos(pos),
        row(parsed.rows.front()), builder(parser.getContext()),
        loc(row.row->getLoc()) {
    builder.setInsertionPointToStart(&parsed.region->front());
  }

  /// Null if it is 0.
  FailureOr<Value> emit() {
    if (!shape.bottomRight)
      return shape.offset.operands.empty() ? Value() : emitOffset();
    if (shape.arePackedKeys())
      return emitBottomRight();
    if (!shape.counts.types.empty() || ShapedType::isDynamic(shape.queries) ||
        ShapedType::isDynamic(shape.keys))
      return parser.emitError(row.loc)
             << row.reader
             << ": expected an operand 'offset', or bottom_right of static "
                "lengths";
    return Value(arith::ConstantIndexOp::create(builder, loc,
                                                shape.keys - shape.queries));
  }

private:
  FailureOr<Value> emitOffset() {
    Type type = shape.offset.types[0];
    auto shaped = dyn_cast<ShapedType>(type);
    bool isVector =
        isa<RankedTensorType, MemRefType>(type) && shaped.getRank() == 1;
    Type element = isVector ? shaped.getElementType() : type;
    if (!element.isSignlessIntOrIndex())
      return parser.emitError(row.loc)
             << row.reader << ": expected an 'offset' of integers, got "
             << type;
    Value offset = capture(shape.offset.operands[0], type);
    return buildIndex({builder, loc}, offset,
                      isVector ? ValueRange(pos.b) : ValueRange());
  }

  /// The keys of a sequence less its queries.
  FailureOr<Value> emitBottomRight() {
    Value lengths[2];
    for (auto [index, length] : llvm::enumerate(lengths)) {
      Type type = shape.sequences.types[index];
      auto shaped = dyn_cast<ShapedType>(type);
      if (!isa<RankedTensorType, MemRefType>(type) || shaped.getRank() != 1 ||
          !shaped.getElementType().isSignlessInteger())
        return parser.emitError(row.loc)
               << row.reader << ": expected 'sequences' of integers, got "
               << type;
      Value bounds = capture(shape.sequences.operands[index], type);
      Value one = arith::ConstantIndexOp::create(builder, loc, 1);
      Value next = arith::AddIOp::create(builder, loc, pos.b, one);
      Value begin = buildIndex({builder, loc}, bounds, pos.b);
      Value end = buildIndex({builder, loc}, bounds, next);
      length = arith::SubIOp::create(builder, loc, end, begin);
    }
    return Value(arith::SubIOp::create(builder, loc, lengths[1], lengths[0]));
  }

  Value capture(OpAsmParser::UnresolvedOperand operand, Type type) {
    parsed.captures.operands.push_back(operand);
    parsed.captures.types.push_back(type);
    return parsed.region->front().addArgument(type, loc);
  }

  OpAsmParser &parser;
  ParsedRegion &parsed;
  const CallShape &shape;
  Position pos;
  const ParsedRegion::PendingRow &row;
  OpBuilder builder;
  Location loc;
};

} // namespace

ParseResult attn::finishRegion(OpAsmParser &parser, ParsedRegion &parsed,
                               const CallShape &shape, unsigned firstIndex) {
  for (const ItemRead &read : parsed.reads)
    if (checkSize(parser, read, shape))
      return failure();
  // A tensor without a dimension of queries is read anywhere.
  llvm::erase_if(parsed.rows, [](const ParsedRegion::PendingRow &pending) {
    bool isUnused = pending.row->use_empty();
    if (isUnused)
      pending.row->erase();
    return isUnused;
  });
  if (parsed.rows.empty())
    return success();
  Block &block = parsed.region->front();
  Position pos = {
      block.getArgument(firstIndex), block.getArgument(firstIndex + 1),
      block.getArgument(firstIndex + 2), block.getArgument(firstIndex + 3)};
  FailureOr<Value> first = FirstPosition(parser, parsed, shape, pos).emit();
  if (failed(first))
    return failure();
  for (const ParsedRegion::PendingRow &pending : parsed.rows) {
    OpBuilder builder(pending.row);
    Value row = pos.p;
    if (*first)
      row =
          arith::SubIOp::create(builder, pending.row->getLoc(), pos.p, *first);
    pending.row->getResult(0).replaceAllUsesWith(row);
    pending.row->erase();
  }
  return success();
}
