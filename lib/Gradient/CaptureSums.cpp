//===- CaptureSums.cpp - Gradients of captures in tiles -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A variable whose place is the same for all of a block is summed over the
// block first, in lanes. One whose places follow each other is added line by
// line, and all others one by one. What only the distance decides, however, is
// added line by line to sums of a head for each distance, and these to their
// places once the head is done; and what the query decides, with few groups of
// keys, to sums of a tile for each of its queries. The order is that of the
// keys and of the queries of an iteration: the bits do not depend on threads.
// Sums are of f64: millions of positions may be loaded from one place, and
// their gradients cancel.
//

#include "lib/Gradient/CaptureSums.h"
#include "lib/Regions/RegionDerivative.h"
#include "lib/Regions/RegionEvaluation.h"

using namespace mlir;
using namespace mlir::attn;
using Form = CaptureVariable::Form;

LogicalResult CaptureSums::prepare() {
  Region &score = op.getScore();
  for (auto [number, capture] : llvm::enumerate(op.getOfCaptures())) {
    captures.push_back({op.getScoreCaptures()[size_t(capture)],
                        op.getCaptureGradients()[number], std::nullopt});
    BlockArgument argument = score.getArgument(
        AttentionBackwardOp::kNumScoreArguments + unsigned(capture));
    for (Value value : findVariables(argument)) {
      auto &added = variables.emplace_back(std::make_unique<CaptureVariable>());
      added->capture = number;
      if (failed(differentiateRegion(score, value, added->slope)))
        return failure();
      SmallVector<Value> indices;
      if (Operation *load = value.getDefiningOp())
        indices.append(load->operand_begin() + 1, load->operand_end());
      findForm(score, indices, cast<ShapedType>(captures.back().out.getType()),
               *added);
      for (Value index : indices)
        copyYielding(score, index,
                     *added->indices.emplace_back(std::make_unique<Region>()));
    }
    findHeadDim(captures.back(), number);
  }
  size_t next = captures.size();
  for (Form form : {Form::Distances, Form::Groups})
    for (std::unique_ptr<CaptureVariable> &variable : variables)
      if (variable->form == form)
        variable->ownSums = next++;
  return success();
}

/// The head as it is, in one dimension, in all loads.
void CaptureSums::findHeadDim(Capture &capture, size_t number) {
  for (size_t dim = 0; dim < size_t(capture.getRank()); ++dim) {
    bool isHead = true, isAny = false;
    for (std::unique_ptr<CaptureVariable> &variable : variables) {
      if (variable->capture != number)
        continue;
      isAny = true;
      Region &index = *variable->indices[dim];
      Value yielded = cast<YieldOp>(index.front().getTerminator()).getValue();
      isHead &= yielded == index.getArgument(2);
    }
    auto type = cast<ShapedType>(capture.out.getType());
    if (isAny && isHead &&
        type.getDimSize(unsigned(dim)) >= op.getNumQueryHeads()) {
      capture.headDim = dim;
      return;
    }
  }
}

StringRef CaptureSums::findObstacle() {
  for (std::unique_ptr<CaptureVariable> &variable : variables)
    for (std::unique_ptr<Region> &index : variable->indices)
      if (!index->getArgument(0).use_empty())
        return "a place that the score loads depends on the score";
  return {};
}

SmallVector<Value> CaptureSums::emitParts(GradientBuilder &b,
                                          int64_t numIterations) {
  SmallVector<Value> parts;
  for (Capture &capture : captures) {
    SmallVector<OpFoldResult> sizes = b.sizes(capture.out);
    if (!capture.headDim)
      sizes.insert(sizes.begin(), b.getIndexAttr(numIterations));
    Value part = b.empty(sizes, b.getF64Type());
    // Rows of heads that there are not.
    parts.push_back(capture.headDim ? b.fill(part, 0.0) : part);
  }
  return parts;
}

TensorBox CaptureSums::getBox(GradientBuilder &b, size_t capture, Value part,
                              Value iteration, Value firstHead,
                              int64_t numHeads) {
  TensorBox box{b.zeros(size_t(cast<ShapedType>(part.getType()).getRank())),
                b.sizes(part)};
  size_t dim = captures[capture].headDim.value_or(0);
  bool hasHeads = captures[capture].headDim.has_value();
  box.offsets[dim] = hasHeads ? firstHead : iteration;
  box.sizes[dim] = b.getIndexAttr(hasHeads ? numHeads : 1);
  return box;
}

Value CaptureSums::emitGradient(GradientBuilder &b, size_t capture,
                                Value part) {
  Capture &of = captures[capture];
  Value sums = part;
  if (!of.headDim) {
    sums = b.fill(b.emptyLike(of.out, b.getF64Type()), 0.0);
    sums = b.sumParts(part, sums);
  }
  return b.convertAll(sums, b.elementOf(of.out), of.out);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// One index of a load.
Value CaptureSums::emitIndex(GradientBuilder &b,
                             const CaptureVariable &variable, size_t dim,
                             const CaptureHead &of, Value p, Value j) {
  SmallVector<Value> arguments = {b.real(op.getAccumulationType(), 0.0),
                                  of.number, of.head, p, j};
  llvm::append_range(arguments, op.getScoreCaptures());
  return evaluateRegion(b, *variable.indices[dim], arguments).value;
}

/// The place of a load, of the capture.
SmallVector<Value> CaptureSums::emitPlace(GradientBuilder &b,
                                          const CaptureVariable &variable,
                                          const CaptureHead &of, Value p,
                                          Value j) {
  SmallVector<Value> at;
  for (size_t dim = 0; dim < variable.indices.size(); ++dim)
    at.push_back(emitIndex(b, variable, dim, of, p, j));
  return at;
}

/// Whether an index, and those of `length` elements from it on, are of the
/// capture (A12).
Value CaptureSums::isInside(GradientBuilder &b, const CaptureVariable &variable,
                            size_t dim, Value index, OpFoldResult length) {
  Value size = b.index(b.size(captures[variable.capture].out, int64_t(dim)));
  if (length)
    size = b.max(b.sub(b.add(size, 1), length), 0);
  return b.compare(arith::CmpIPredicate::ult, index, size);
}

/// The same of all indices, of elements along the last.
Value CaptureSums::isInside(GradientBuilder &b, const CaptureVariable &variable,
                            ArrayRef<Value> at, OpFoldResult length) {
  Value inside = b.boolean(true);
  for (auto [dim, index] : llvm::enumerate(at))
    inside = b.bitAnd(inside,
                      isInside(b, variable, dim, index,
                               dim + 1 == at.size() ? length : OpFoldResult()));
  return inside;
}

/// A place in the sums of the iteration.
SmallVector<Value> CaptureSums::toOwn(GradientBuilder &b,
                                      const CaptureVariable &variable,
                                      SmallVector<Value> at, Value firstHead) {
  if (std::optional<size_t> dim = captures[variable.capture].headDim)
    at[*dim] = b.sub(at[*dim], firstHead);
  else
    at.insert(at.begin(), b.index(0));
  return at;
}

/// Adds at one place of the sums, if it is in the capture.
Value CaptureSums::addAt(GradientBuilder &b, const CaptureVariable &variable,
                         Value added, ArrayRef<Value> at, Value firstHead,
                         Value sums) {
  return b.branch(isInside(b, variable, at), sums, [&]() -> SmallVector<Value> {
    SmallVector<Value> own =
        toOwn(b, variable, SmallVector<Value>(at), firstHead);
    Value sum = tensor::ExtractOp::create(b, sums, own);
    sum = b.addF(sum, b.convert(added, sum.getType()));
    return {tensor::InsertOp::create(b, sum, sums, own)};
  })[0];
}

/// The same of what is not 0: where it is, there need be no place.
Value CaptureSums::addUnlessZero(GradientBuilder &b,
                                 const CaptureVariable &variable, Value added,
                                 function_ref<SmallVector<Value>()> emitPlace,
                                 Value firstHead, Value sums) {
  Value isAny = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, added,
                                      b.zero(added.getType()));
  return b.branch(isAny, sums, [&]() -> SmallVector<Value> {
    return {addAt(b, variable, added, emitPlace(), firstHead, sums)};
  })[0];
}

/// `line` added to what `sums` have at some offsets, along the last dimension.
static Value addLine(GradientBuilder &b, Value line, Value sums,
                     ArrayRef<OpFoldResult> offsets) {
  SmallVector<OpFoldResult> sizes = b.ones(offsets.size());
  sizes.back() = b.size(line, 0);
  Value part = b.slice(sums, offsets, sizes, /*rank=*/1);
  part = b.map({line, part}, part, [&](ValueRange args) {
    return b.addF(args[1], b.convert(args[0], args[1].getType()));
  });
  return b.insert(part, sums, offsets, sizes);
}

/// A row of a matrix, or the beginning of one.
static Value sliceRow(GradientBuilder &b, Value matrix, Value row,
                      OpFoldResult length) {
  return b.slice(matrix, {row, b.getIndexAttr(0)}, {b.getIndexAttr(1), length},
                 /*rank=*/1);
}

//===----------------------------------------------------------------------===//
// Sums of a head and of a tile
//===----------------------------------------------------------------------===//

static int64_t getNumLanes(Value gradients) {
  return cast<ShapedType>(gradients.getType()).getDimSize(1);
}

/// Sums of distances from -(keyLength - 1) on, and a line more.
void CaptureSums::beginHead(GradientBuilder &b, const CaptureHead &head,
                            int64_t lanes, SmallVectorImpl<Value> &sums) {
  for (std::unique_ptr<CaptureVariable> &variable : variables)
    if (variable->form == Form::Distances) {
      AffineExpr queries = b.getAffineSymbolExpr(0),
                 keys = b.getAffineSymbolExpr(1);
      OpFoldResult size =
          b.apply(queries + keys + lanes, {head.queryLength, head.keyLength});
      sums.push_back(b.fill(b.empty({size}, b.getF64Type()), 0.0));
    }
}

void CaptureSums::endHead(GradientBuilder &b, const CaptureHead &head,
                          SmallVectorImpl<Value> &sums) {
  Value last = b.sub(b.index(head.keyLength), 1);
  for (std::unique_ptr<CaptureVariable> &variable : variables) {
    if (variable->form != Form::Distances)
      continue;
    Value ofDistances = sums[variable->ownSums];
    auto add = [&](Value i, Value sum) {
      Value added = tensor::ExtractOp::create(b, ofDistances, i);
      auto emitPlaceOf = [&] {
        Value distance = b.sub(i, last);
        Value p = b.add(head.offset, b.max(distance, 0)),
              j = b.max(b.sub(0, distance), 0);
        return emitPlace(b, *variable, head, p, j);
      };
      return addUnlessZero(b, *variable, added, emitPlaceOf, head.firstHead,
                           sum);
    };
    Value &sum = sums[variable->capture];
    sum = b.loop(0, b.add(last, head.queryLength), 1, sum, add);
  }
  sums.truncate(captures.size());
}

/// Sums of each group of keys, for each query.
void CaptureSums::beginTile(GradientBuilder &b, int64_t lanes,
                            SmallVectorImpl<Value> &sums) {
  for (std::unique_ptr<CaptureVariable> &variable : variables)
    if (variable->form == Form::Groups) {
      SmallVector<int64_t> shape = getGroups(*variable);
      shape.push_back(lanes);
      sums.push_back(b.fill(b.empty(shape, b.getF64Type()), 0.0));
    }
}

void CaptureSums::endTile(GradientBuilder &b, const CaptureBlock &block,
                          SmallVectorImpl<Value> &sums) {
  size_t left = sums.size();
  for (std::unique_ptr<CaptureVariable> &variable : variables) {
    if (variable->form != Form::Groups)
      continue;
    --left;
    Value ofTile = sums[variable->ownSums];
    Value &sum = sums[variable->capture];
    sum = b.loop(0, block.numQueries, 1, sum, [&](Value lane, Value sum) {
      return addGroups(b, *variable, block, lane, ofTile, sum);
    });
  }
  sums.truncate(left);
}

/// The sizes of the dimensions that keys decide an index of.
SmallVector<int64_t>
CaptureSums::getGroups(const CaptureVariable &variable) const {
  auto type = cast<ShapedType>(captures[variable.capture].out.getType());
  return llvm::map_to_vector(variable.ofKeys, [&](size_t dim) {
    return type.getDimSize(unsigned(dim));
  });
}

/// Those of one query.
Value CaptureSums::addGroups(GradientBuilder &b,
                             const CaptureVariable &variable,
                             const CaptureBlock &block, Value lane,
                             Value ofTile, Value sums) {
  Value p = b.add(block.position, lane);
  SmallVector<int64_t> groups = getGroups(variable);
  return b.loop(
      0, llvm::product_of(groups), 1, sums, [&](Value number, Value sums) {
        SmallVector<Value> group(groups.size());
        for (size_t i = groups.size(); i-- > 0;) {
          group[i] = i == 0 ? number : b.rem(number, groups[i]);
          number = i == 0 ? number : b.div(number, groups[i]);
        }
        SmallVector<Value> from(group);
        from.push_back(lane);
        auto emitPlaceOf = [&] {
          SmallVector<Value> at;
          for (size_t dim = 0; dim < variable.indices.size(); ++dim) {
            const auto *found = llvm::find(variable.ofKeys, dim);
            at.push_back(
                found == variable.ofKeys.end()
                    ? emitIndex(b, variable, dim, block.of, p, block.firstKey)
                    : group[size_t(found - variable.ofKeys.begin())]);
          }
          return at;
        };
        return addUnlessZero(b, variable,
                             tensor::ExtractOp::create(b, ofTile, from),
                             emitPlaceOf, block.of.firstHead, sums);
      });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void CaptureSums::add(GradientBuilder &b, const CaptureVariable &variable,
                      Value gradients, const CaptureBlock &block,
                      MutableArrayRef<Value> sums) {
  Value &sum = sums[variable.capture];
  switch (variable.form) {
  case Form::Uniform:
    sum = addBlock(b, variable, gradients, block, sum);
    return;
  case Form::Distances: {
    Value &ofHead = sums[variable.ownSums];
    ofHead = addToDistances(b, gradients, block, ofHead);
    return;
  }
  case Form::Groups: {
    Value &ofTile = sums[variable.ownSums];
    ofTile = addToGroups(b, variable, gradients, block, ofTile);
    return;
  }
  case Form::Queries:
  case Form::Keys:
    sum = addLines(b, variable, gradients, block, sum);
    return;
  case Form::Scattered:
    sum = b.loop(0, block.numKeys, 1, sum, [&](Value row, Value sum) {
      return b.loop(0, block.numQueries, 1, sum, [&](Value lane, Value sum) {
        return addPosition(b, variable, gradients, block, row, lane, sum);
      });
    });
    return;
  }
}

/// Sums of a block over its keys.
Value CaptureSums::sumKeys(GradientBuilder &b, Value gradients,
                           const CaptureBlock &block) {
  int64_t lanes = getNumLanes(gradients);
  Value rows =
      b.slice(gradients, b.zeros(2), {block.numKeys, b.getIndexAttr(lanes)});
  AffineExpr j, q; // Lanes are the last loop.
  bindDims(b.getContext(), j, q);
  return b.generic(
      {rows},
      b.fill(b.empty(ArrayRef<int64_t>{lanes}, op.getAccumulationType()), 0.0),
      {b.getMultiDimIdentityMap(2), AffineMap::get(2, 0, q)},
      [&](ValueRange args) { return b.addF(args[1], args[0]); });
}

/// The sum of a block, at one place.
Value CaptureSums::addBlock(GradientBuilder &b, const CaptureVariable &variable,
                            Value gradients, const CaptureBlock &block,
                            Value sums) {
  Value columns = sumKeys(b, gradients, block);
  Value sum =
      b.loop(0, getNumLanes(gradients), 1,
             b.real(op.getAccumulationType(), 0.0), [&](Value lane, Value sum) {
               Value part = tensor::ExtractOp::create(b, columns, lane);
               return b.addF(sum, part);
             });
  return addAt(b, variable, sum,
               emitPlace(b, variable, block.of, block.position, block.firstKey),
               block.of.firstHead, sums);
}

/// The queries of a key are a line of distances. Lines of keys that follow each
/// other overlap, and each would wait for the one before it to be stored: those
/// of every `lanes`-th key are added after each other.
Value CaptureSums::addToDistances(GradientBuilder &b, Value gradients,
                                  const CaptureBlock &block, Value sums) {
  int64_t lanes = getNumLanes(gradients);
  Value first = b.add(b.sub(block.position, block.of.offset),
                      b.sub(b.sub(block.of.keyLength, 1), block.firstKey));
  return b.loop(0, lanes, 1, sums, [&](Value from, Value sums) {
    return b.loop(from, block.numKeys, lanes, sums, [&](Value row, Value sums) {
      return addLine(b, sliceRow(b, gradients, row, b.getIndexAttr(lanes)),
                     sums, {b.sub(first, row)});
    });
  });
}

Value CaptureSums::addToGroups(GradientBuilder &b,
                               const CaptureVariable &variable, Value gradients,
                               const CaptureBlock &block, Value sums) {
  OpFoldResult zero = b.getIndexAttr(0);
  if (variable.ofKeys.empty())
    return addLine(b, sumKeys(b, gradients, block), sums, {zero});
  OpFoldResult lanes = b.getIndexAttr(getNumLanes(gradients));
  return b.loop(0, block.numKeys, 1, sums, [&](Value row, Value sums) {
    SmallVector<OpFoldResult> at;
    Value inside = b.boolean(true);
    for (size_t dim : variable.ofKeys) {
      Value index = emitIndex(b, variable, dim, block.of, block.position,
                              b.add(block.firstKey, row));
      inside = b.bitAnd(inside, isInside(b, variable, dim, index));
      at.push_back(index);
    }
    at.push_back(zero);
    return b.branch(inside, sums, [&]() -> SmallVector<Value> {
      return {addLine(b, sliceRow(b, gradients, row, lanes), sums, at)};
    })[0];
  });
}

/// One position.
Value CaptureSums::addPosition(GradientBuilder &b,
                               const CaptureVariable &variable, Value gradients,
                               const CaptureBlock &block, Value row, Value lane,
                               Value sums) {
  Value added = tensor::ExtractOp::create(b, gradients, ValueRange{row, lane});
  auto emitPlaceOf = [&] {
    return emitPlace(b, variable, block.of, b.add(block.position, lane),
                     b.add(block.firstKey, row));
  };
  return addUnlessZero(b, variable, added, emitPlaceOf, block.of.firstHead,
                       sums);
}

/// Line by line: the queries of a key, or, transposed, the keys of a query; one
/// by one where a line is not inside the capture as a whole.
Value CaptureSums::addLines(GradientBuilder &b, const CaptureVariable &variable,
                            Value gradients, const CaptureBlock &block,
                            Value sums) {
  bool ofQueries = variable.form == Form::Queries;
  Value lines = ofQueries ? gradients : b.transpose(gradients, {1, 0});
  OpFoldResult count = ofQueries ? block.numKeys : block.numQueries,
               each = ofQueries ? block.numQueries : block.numKeys,
               length = ofQueries
                            ? OpFoldResult(b.getIndexAttr(getNumLanes(lines)))
                            : block.numKeys;
  Value zero = b.index(0);
  return b.loop(0, count, 1, sums, [&](Value number, Value sums) {
    SmallVector<Value> at = emitPlace(
        b, variable, block.of, b.add(block.position, ofQueries ? zero : number),
        b.add(block.firstKey, ofQueries ? number : zero));
    auto ifOp =
        scf::IfOp::create(b, sums.getType(), isInside(b, variable, at, length),
                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(
        b,
        addLine(b, sliceRow(b, lines, number, length), sums,
                getAsOpFoldResult(toOwn(b, variable, at, block.of.firstHead))));
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, b.loop(0, each, 1, sums, [&](Value i, Value sums) {
      return addPosition(b, variable, gradients, block, ofQueries ? number : i,
                         ofQueries ? i : number, sums);
    }));
    return ifOp.getResult(0);
  });
}
