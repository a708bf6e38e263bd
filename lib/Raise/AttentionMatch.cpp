//===- AttentionMatch.cpp - Attention in operations on tensors ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Raise/AttentionMatch.h"

#include "dialect/Attention/RegionVerifier.h"
#include "dialect/Shared/OperandVerifier.h"
#include "lib/Raise/ScoreGraph.h"
#include "lib/Raise/Softmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// What is rounded to, or widened from, a value of a body.
static Value skipExtension(Value value) {
  auto extension = value.getDefiningOp<arith::ExtFOp>();
  return extension ? extension.getIn() : value;
}

bool attn::isProduct(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
      !hasSimpleMaps(op))
    return false;
  Block &body = *op.getBlock();
  Value sum = body.getTerminator()->getOperand(0);
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value out = body.getArgument(2);
  Value term = add.getLhs() == out   ? add.getRhs()
               : add.getRhs() == out ? add.getLhs()
                                     : Value();
  auto multiply = term ? term.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!multiply)
    return false;
  Value a = skipExtension(multiply.getLhs()),
        b = skipExtension(multiply.getRhs());
  return (a == body.getArgument(0) && b == body.getArgument(1)) ||
         (a == body.getArgument(1) && b == body.getArgument(0));
}

/// The loops of a product, new axes for those that `known` has none for.
static const Frame *getProductFrame(Terms &terms, linalg::LinalgOp op,
                                    const AxisLists *resultDims) {
  SmallVector<std::optional<AxisList>> loops(op.getNumLoops());
  auto assign = [&](OpOperand &operand, const AxisLists *dims) {
    auto type = cast<RankedTensorType>(operand.get().getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expression] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expression))
        if (std::optional<AxisList> &axes = loops[loop.getPosition()]; !axes)
          axes = dims ? (*dims)[dim] : terms.axes.add(type, int64_t(dim));
  };
  if (resultDims)
    assign(*op.getDpsInitOperand(0), resultDims);
  for (OpOperand &operand : op->getOpOperands())
    assign(operand, nullptr);
  AxisLists all;
  for (const std::optional<AxisList> &loop : loops) {
    if (!loop)
      return nullptr;
    all.push_back(*loop);
  }
  return terms.getFrame(op, std::move(all));
}

namespace {

/// A tensor that an operand may be read from, instead of from what reshapes,
/// transposes, repeats and scales it.
struct Source : TensorAxes {
  double scale = 1;
};

class Matcher {
public:
  Matcher(Terms &terms, linalg::LinalgOp product)
      : terms(terms), product(product) {}

  /// Fills `match`. Fails with `no`.
  bool matchWithWeights(unsigned weightsOperand);

  AttentionMatch match;
  NoMatch no;

private:
  bool fail(const Twine &reason) {
    no.reason = reason.str();
    return false;
  }

  bool matchValueProduct(unsigned weightsOperand);
  bool matchScores(const Term &scores);
  bool matchScoreProduct(const Term &scoreProduct);
  bool matchHeads();
  void matchMasks(ScoreGraph &graph);
  bool matchMask(ScoreGraph &graph, const Term &term);
  bool matchRounding();
  bool checkTypes();
  bool checkUses();

  AxisList findQueries();
  SmallVector<Source> findSources(const Term &operand);
  std::optional<AxisList> getShared(const Source &source, const AxisList &own);
  const Source *chooseSource(ArrayRef<Source> sources, const AxisLists &wanted);

  Terms &terms;
  linalg::LinalgOp product;
  Operation *scoreProduct = nullptr;
  Term weights, query, key, value;
  /// Axes of the result that weights and values have, and that only weights
  /// have.
  AxisList outer, rows;
};

} // namespace

/// The axes of `list` that `other` has or, with `isKept` false, has not.
static AxisList filter(const AxisList &list, const AxisList &other,
                       bool isKept) {
  AxisList kept;
  for (Axis axis : list)
    if (llvm::is_contained(other, axis) == isKept)
      kept.push_back(axis);
  return kept;
}

static AxisList flatten(const AxisLists &lists) {
  AxisList all;
  for (const AxisList &list : lists)
    all.append(list);
  return all;
}

static bool containsAll(const AxisList &list, const AxisList &part) {
  return filter(part, list, /*isKept=*/true).size() == part.size();
}

/// Matches sum over keys of weights and values, of which the weights are the
/// given operand.
bool Matcher::matchValueProduct(unsigned weightsOperand) {
  const Frame *frame = getProductFrame(terms, product, nullptr);
  if (!frame)
    return false;
  OpOperand &init = *product.getDpsInitOperand(0);
  std::optional<llvm::APFloat> zero =
      terms.getFloat(terms.getElement(frame, init));
  if (!zero || !zero->isZero())
    return false;
  OpOperand &left = product->getOpOperand(weightsOperand),
            &right = product->getOpOperand(1 - weightsOperand);
  weights = terms.getElement(frame, left);
  value = terms.getElement(frame, right);
  match.result = {product->getResult(0), terms.getElement(frame, init).dims};
  AxisList ofWeights = flatten(weights.dims), ofValue = flatten(value.dims),
           ofResult = flatten(match.result.dims);
  match.keys = filter(filter(ofWeights, ofValue, true), ofResult, false);
  outer = filter(filter(ofResult, ofWeights, true), ofValue, true);
  rows = filter(filter(ofResult, ofWeights, true), ofValue, false);
  match.valueSize = filter(filter(ofResult, ofValue, true), ofWeights, false);
  // Every axis is one of these, of what is summed or not.
  return ofWeights.size() == outer.size() + rows.size() + match.keys.size() &&
         ofValue.size() ==
             outer.size() + match.valueSize.size() + match.keys.size() &&
         ofResult.size() == outer.size() + rows.size() + match.valueSize.size();
}

/// Finds the product of queries and keys among what scores are computed from.
bool Matcher::matchScores(const Term &scores) {
  SmallVector<Term> open = {scores}, products;
  DenseSet<std::pair<Value, const Frame *>> seen;
  while (!open.empty() && seen.size() < 1024) {
    Term term = terms.enter(open.pop_back_val());
    if (term.isElement()) {
      auto op =
          dyn_cast_if_present<linalg::LinalgOp>(term.value.getDefiningOp());
      if (op && isProduct(op))
        products.push_back(term);
      continue;
    }
    Operation *op = term.getScalarOp();
    if (!term.frame || !op || !seen.insert({term.value, term.frame}).second)
      continue;
    for (unsigned number = op->getNumOperands(); number-- > 0;)
      if (Term operand = term.getOperand(number); !operand.isElement())
        open.push_back(operand);
  }
  fail("its scores are not computed from a product of queries and keys");
  for (const Term &candidate : products)
    if (matchScoreProduct(candidate)) {
      match.score = scores;
      match.keeps.clear();
      ScoreGraph graph(terms, candidate);
      matchMasks(graph);
      match.scale *= graph.includeScale(match.score);
      match.product = graph.getProduct();
      ScoreGraph::Facts facts = graph.getFacts(match.score);
      if (graph.isTooLarge())
        return fail("its scores are computed by too many operations");
      if (facts.opaque)
        return fail("an operation on its scores has no place in the region of "
                    "a score");
      return true;
    }
  return false;
}

bool Matcher::matchScoreProduct(const Term &candidate) {
  auto op = cast<linalg::LinalgOp>(candidate.value.getDefiningOp());
  const Frame *frame = getProductFrame(terms, op, &candidate.dims);
  if (!frame)
    return false;
  OpOperand &init = *op.getDpsInitOperand(0);
  std::optional<llvm::APFloat> zero =
      terms.getFloat(terms.getElement(frame, init));
  if (!zero || !zero->isZero())
    return fail("the product of queries and keys is added to something");
  query = terms.getElement(frame, *op.getDpsInputOperand(0));
  key = terms.getElement(frame, *op.getDpsInputOperand(1));
  AxisList keys = terms.axes.resolve(match.keys);
  rows = terms.axes.resolve(rows);
  auto has = [&](const Term &operand, const AxisList &axes) {
    return containsAll(flatten(terms.axes.resolve(operand.dims)), axes);
  };
  if (!has(query, rows) || !has(key, keys))
    std::swap(query, key);
  if (!has(query, rows) || !has(key, keys))
    return fail("its scores are not a product of queries and keys");
  match.keySize = {};
  for (auto [loop, axes] :
       llvm::zip_equal(op.getIteratorTypesArray(), frame->loops))
    if (loop == utils::IteratorType::reduction)
      match.keySize.append(axes);
  scoreProduct = op;
  return matchHeads();
}

/// The tensors that an operand may be read from, the operand first.
SmallVector<Source> Matcher::findSources(const Term &operand) {
  Type elementType = getElementTypeOrSelf(operand.value.getType());
  SmallVector<Source> sources;
  Term term = operand;
  double scale = 1;
  while (isa<RankedTensorType>(term.value.getType()) &&
         getElementTypeOrSelf(term.value.getType()) == elementType) {
    sources.push_back({{term.value, term.dims}, scale});
    Term next = term;
    if (!terms.stepToElement(next)) {
      std::optional<std::pair<Term, double>> multiple =
          terms.getMultiple(terms.enter(term));
      if (!multiple)
        break;
      next = multiple->first;
      scale *= multiple->second;
      if (!next.isElement() && !terms.stepToElement(next))
        break;
    }
    term = next;
  }
  return sources;
}

/// The axes of the batch and of heads that keys or values have, in the order of
/// the result; nothing if they have others than these and `own`.
std::optional<AxisList> Matcher::getShared(const Source &source,
                                           const AxisList &own) {
  AxisList axes = flatten(terms.axes.resolve(source.dims));
  AxisList shared = filter(outer, axes, /*isKept=*/true);
  if (!containsAll(axes, own) || axes.size() != shared.size() + own.size())
    return std::nullopt;
  return shared;
}

/// The source with the wanted dimensions or, if there is none, one that is
/// reshaped to them, or else transposed.
const Source *Matcher::chooseSource(ArrayRef<Source> sources,
                                    const AxisLists &wanted) {
  AxisList order = flatten(wanted);
  const Source *reshaped = nullptr, *any = nullptr;
  for (const Source &source : llvm::reverse(sources)) {
    AxisLists dims = terms.axes.resolve(source.dims);
    AxisList axes = flatten(dims);
    auto type = cast<RankedTensorType>(source.tensor.getType());
    bool hasSizes = llvm::all_of_zip(
        type.getShape(), dims, [&](int64_t size, const AxisList &dim) {
          int64_t known = terms.axes.getSize(dim);
          return size == known || ShapedType::isDynamic(size) ||
                 ShapedType::isDynamic(known);
        });
    if (!hasSizes || axes.size() != order.size() || !containsAll(axes, order))
      continue;
    if (dims == wanted)
      return &source;
    if (axes == order && !reshaped)
      reshaped = &source;
    if (!any)
      any = &source;
  }
  return reshaped ? reshaped : any;
}

/// The rows that count queries, if others count heads that share keys: those
/// of dynamic size, or else the most.
AxisList Matcher::findQueries() {
  AxisList dynamic, largest;
  for (Axis axis : rows) {
    int64_t size = terms.axes.getSize({axis});
    if (ShapedType::isDynamic(size))
      dynamic.push_back(axis);
    else if (largest.empty() || size >= terms.axes.getSize(largest))
      largest = {axis};
  }
  return dynamic.empty() ? largest : dynamic;
}

/// Divides the axes into the dimensions of attention, and finds what is read.
bool Matcher::matchHeads() {
  SmallVector<Source> queries = findSources(query), keys = findSources(key),
                      values;
  for (const Source &source : findSources(value))
    if (source.scale == 1)
      values.push_back(source);
  for (AxisList *list :
       {&outer, &rows, &match.keys, &match.keySize, &match.valueSize})
    *list = terms.axes.resolve(*list);

  // Keys and values without what only repeats them, if that is the same.
  AxisList ofKey = match.keys, ofValue = match.keys;
  ofKey.append(match.keySize);
  ofValue.append(match.valueSize);
  std::optional<AxisList> shared;
  for (const Source &v : llvm::reverse(values)) {
    std::optional<AxisList> candidate = getShared(v, ofValue);
    if (candidate && llvm::any_of(keys, [&](const Source &k) {
          return getShared(k, ofKey) == candidate;
        })) {
      shared = candidate;
      break;
    }
  }
  if (!shared)
    return fail("its keys and values do not have the same batch and heads");

  match.queries = findQueries();
  match.group = filter(outer, *shared, /*isKept=*/false);
  match.group.append(filter(rows, match.queries, /*isKept=*/false));

  auto wanted = [&](const AxisList &heads, const AxisList &rows,
                    const AxisList &columns) {
    return AxisLists{match.batch, heads, rows, columns};
  };
  auto divide = [&](bool hasHeads) {
    match.batch = *shared;
    match.keyHeads = {};
    if (hasHeads)
      match.keyHeads = {match.batch.pop_back_val()};
  };
  bool canHaveHeads =
      !shared->empty() &&
      !ShapedType::isDynamic(terms.axes.getSize({shared->back()}));
  const Source *q = nullptr;
  for (bool hasHeads : {true, false}) {
    if (hasHeads && !canHaveHeads)
      continue;
    divide(hasHeads);
    AxisLists dims =
        wanted(match.getQueryHeads(), match.queries, match.keySize);
    q = chooseSource(queries, dims);
    if (q && terms.axes.resolve(q->dims) == dims)
      break;
    q = nullptr;
  }
  if (!q) {
    divide(canHaveHeads && shared->size() > 1);
    q = chooseSource(
        queries, wanted(match.getQueryHeads(), match.queries, match.keySize));
  }
  const Source *k =
      chooseSource(keys, wanted(match.keyHeads, match.keys, match.keySize));
  const Source *v =
      chooseSource(values, wanted(match.keyHeads, match.keys, match.valueSize));
  if (!q || !k || !v)
    return fail("its scores are not a product of queries and keys");
  match.query = *q, match.key = *k, match.value = *v;
  match.scale = q->scale * k->scale;
  for (const TensorAxes *operand : {&match.query, &match.key, &match.value})
    terms.axes.measure(operand->tensor, operand->dims);
  return checkTypes();
}

bool Matcher::checkTypes() {
  auto type =
      dyn_cast<FloatType>(getElementTypeOrSelf(match.query.tensor.getType()));
  if (!type || !isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(type))
    return fail("its elements are not f64, f32, f16 or bf16"); // A2
  for (const TensorAxes *operand : {&match.query, &match.key, &match.value})
    if (!getPlainShapedType(operand->tensor.getType()))
      return fail("its tensors have encodings");
  for (const TensorAxes *operand : {&match.key, &match.value})
    if (getElementTypeOrSelf(operand->tensor.getType()) != type)
      return fail("its query, key and value have different types of elements");
  if (!std::isfinite(match.scale) || match.scale == 0) // A4
    return fail("its scale is not a finite number");
  const Axes &axes = terms.axes;
  for (const AxisList &heads : {match.keyHeads, match.getQueryHeads()})
    if (axes.getSize(heads) < 1)
      return fail("the number of its heads is not known while compiling");
  for (const AxisList &size : {match.keySize, match.valueSize})
    if (axes.getSize(size) < 1 || axes.getSize(size) > maxHeadSize) // A1
      return fail(
          "a head size is not known while compiling, or not from 1 to " +
          Twine(maxHeadSize));
  for (const AxisList &size : {match.batch, match.queries, match.keys})
    if (!axes.isMeasured(size))
      return fail("its sizes do not follow from those of query, key and value");
  return true;
}

static bool isMinusInfinity(Terms &terms, const Term &term) {
  std::optional<llvm::APFloat> constant = terms.getFloat(term);
  return constant && constant->isInfinity() && constant->isNegative();
}

static bool isZero(Terms &terms, const Term &term) {
  std::optional<llvm::APFloat> constant = terms.getFloat(term);
  return constant && constant->isZero();
}

/// Takes a mask off the score, if `term` is one: -inf where a condition holds
/// or does not hold, and else the score, or what is added to it and is 0.
bool Matcher::matchMask(ScoreGraph &graph, const Term &term) {
  auto select = term.getScalarOp<arith::SelectOp>();
  if (!select || select.getCondition().getType() !=
                     IntegerType::get(select.getContext(), 1))
    return false;
  ScoreGraph::Facts facts = graph.getFacts(term.getOperand(0));
  if (facts.product || facts.opaque)
    return false;
  for (unsigned hidden : {1, 2}) {
    if (!isMinusInfinity(terms, term.getOperand(hidden)))
      continue;
    match.keeps.push_back({term.getOperand(0), /*isNegated=*/hidden == 1});
    return true;
  }
  return false;
}

/// Takes masks off the score, the last one first.
void Matcher::matchMasks(ScoreGraph &graph) {
  for (;;) {
    Term term = terms.enterCasts(match.score);
    Operation *op = term.getScalarOp();
    if (isa_and_present<arith::SelectOp>(op)) {
      if (!matchMask(graph, term))
        return;
      match.score = term.getOperand(match.keeps.back().isNegated ? 2 : 1);
      continue;
    }
    if (!isa_and_present<arith::AddFOp>(op))
      return;
    std::optional<unsigned> rest;
    for (unsigned number : {0, 1}) {
      Term added = terms.enterCasts(term.getOperand(number));
      if (!isa_and_present<arith::SelectOp>(added.getScalarOp()) ||
          !(isZero(terms, added.getOperand(1)) ||
            isZero(terms, added.getOperand(2))) ||
          !matchMask(graph, added))
        continue;
      rest = 1 - number;
      break;
    }
    if (!rest)
      return;
    match.score = term.getOperand(*rest);
  }
}

/// Makes the result what the product is rounded to, if that is all that is done
/// with it, and checks that it has the type of an attention's.
bool Matcher::matchRounding() {
  Type type = getElementTypeOrSelf(match.query.tensor.getType());
  Value sum = match.result.tensor;
  if (getElementTypeOrSelf(sum.getType()) == type)
    return true;
  auto refuse = [&] {
    return fail("its result is not rounded to the type of its operands");
  };
  if (!sum.hasOneUse() || !isElementwise(*sum.user_begin()))
    return refuse();
  OpOperand &use = *sum.use_begin();
  auto op = cast<linalg::LinalgOp>(use.getOwner());
  Value rounded = op.getBlock()->getTerminator()->getOperand(0);
  auto truncation = rounded.getDefiningOp<arith::TruncFOp>();
  if (!truncation || op->getNumResults() != 1 || rounded.getType() != type ||
      truncation.getIn() != op.getMatchingBlockArgument(&use))
    return refuse();
  SmallVector<std::optional<AxisList>> loops(op.getNumLoops());
  for (auto [expression, dim] : llvm::zip_equal(
           op.getMatchingIndexingMap(&use).getResults(), match.result.dims))
    if (auto loop = dyn_cast<AffineDimExpr>(expression))
      loops[loop.getPosition()] = dim;
  AxisLists dims;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (AffineExpr expression : map.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expression);
    if (loop && !loops[loop.getPosition()]) // It is repeated.
      return refuse();
    dims.push_back(loop ? *loops[loop.getPosition()] : AxisList());
  }
  match.result = {op->getResult(0), std::move(dims)};
  return true;
}

/// Checks that nothing else reads what is no longer computed.
bool Matcher::checkUses() {
  SmallVector<Operation *> open = {scoreProduct};
  DenseSet<Operation *> inside;
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    for (Operation *user : op->getUsers()) {
      if (user == product || isa<tensor::DimOp>(user))
        continue;
      if (!terms.getVisited().contains(user)) {
        no.other = user;
        return fail("another operation reads its scores or weights");
      }
      if (inside.insert(user).second)
        open.push_back(user);
    }
  }
  return true;
}

bool Matcher::matchWithWeights(unsigned weightsOperand) {
  if (!matchValueProduct(weightsOperand))
    return false;
  std::optional<Term> scores =
      matchSoftmax(terms, weights, match.keys, no.reason);
  return scores && matchScores(*scores) && matchRounding() && checkUses();
}

std::variant<AttentionMatch, NoMatch>
attn::matchAttention(Terms &terms, linalg::LinalgOp product) {
  NoMatch no;
  for (unsigned weightsOperand : {0, 1}) {
    Matcher matcher(terms, product);
    if (matcher.matchWithWeights(weightsOperand))
      return std::move(matcher.match);
    if (no.reason.empty())
      no = std::move(matcher.no);
  }
  return no;
}
