//===- AttentionOpAssembly.cpp - The attention ops' text ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   op ins(q, k, v : types) outs(output[, log-sum-exp] : types)
//       [scale(number | %s : type)] [offset(bottom_right | %o : type)]
//       [sink(%s : type)]
//       [sequences(%cu_q, %cu_k : types)]       attn.attention only
//       [convolve_before(%k : type)]            attn.multi_token_attention
//       only: [mix_before(%w : type)]                 these four
//       [convolve_after(%k : type)]
//       [mix_after(%w : type)]
//       [dropout(number, %seed, %call)]
//       [score item, ...] [mask item, ...] [attr-dict]
//
// An item of score and mask is a name (see NamedMasksAndScores.h) or a region.
// All items of a list become one region, which is what the printer shows.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttentionRegionParser.h"
#include "dialect/AttnOps.h"
#include "dialect/PointwiseRegionAssembly.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// `keyword ( %operand : type )`, if the keyword is there.
ParseResult parseOptionalClause(OpAsmParser &parser, StringRef keyword,
                                OperandSegment &segment) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return failure(parser.parseLParen() ||
                 parser.parseOperand(segment.operands.emplace_back()) ||
                 parser.parseColonType(segment.types.emplace_back()) ||
                 parser.parseRParen());
}

/// `keyword ( %operands : types )`.
ParseResult parseOperandsAndTypes(OpAsmParser &parser,
                                  OperandSegment &segment) {
  segment.loc = parser.getCurrentLocation();
  return failure(
      parser.parseLParen() || parser.parseOperandList(segment.operands) ||
      parser.parseColonTypeList(segment.types) || parser.parseRParen());
}

/// What the ops have in common.
struct CommonClauses {
  OperandSegment inputs, outs, scale, offset, sink, dropout, scoreCaptures,
      maskCaptures;
  SMLoc attributesLoc;
};

/// `ins` to `sink`.
template <typename Op>
ParseResult parseOperands(OpAsmParser &parser, OperationState &state,
                          CommonClauses &clauses) {
  Builder &builder = parser.getBuilder();
  auto &properties = state.getOrAddProperties<typename Op::Properties>();
  auto &[inputs, outs, scale, offset, sink, dropout, scoreCaptures,
         maskCaptures, attributesLoc] = clauses;

  if (parser.parseKeyword("ins") || parseOperandsAndTypes(parser, inputs))
    return failure();
  if (inputs.operands.size() != 3 || inputs.types.size() != 3)
    return parser.emitError(inputs.loc)
           << "expected 3 operands 'ins' (query, key, value) with their types, "
              "got "
           << inputs.operands.size() << " and " << inputs.types.size();
  if (parser.parseKeyword("outs") || parseOperandsAndTypes(parser, outs))
    return failure();

  if (succeeded(parser.parseOptionalKeyword("scale"))) {
    if (parser.parseLParen())
      return failure();
    OptionalParseResult operand =
        parser.parseOptionalOperand(scale.operands.emplace_back());
    if (operand.has_value()) {
      if (*operand || parser.parseColonType(scale.types.emplace_back()))
        return failure();
    } else {
      scale.operands.clear();
      double number;
      if (parser.parseFloat(number))
        return failure();
      properties.static_scale = builder.getF64FloatAttr(number);
    }
    if (parser.parseRParen())
      return failure();
  }

  if (succeeded(parser.parseOptionalKeyword("offset"))) {
    if (parser.parseLParen())
      return failure();
    if (succeeded(parser.parseOptionalKeyword("bottom_right")))
      properties.bottom_right = builder.getUnitAttr();
    else if (parser.parseOperand(offset.operands.emplace_back()) ||
             parser.parseColonType(offset.types.emplace_back()))
      return failure();
    if (parser.parseRParen())
      return failure();
  }

  return parseOptionalClause(parser, "sink", sink);
}

/// `dropout` to the attributes.
template <typename Op>
ParseResult parseRegions(OpAsmParser &parser, OperationState &state,
                         CommonClauses &clauses) {
  Builder &builder = parser.getBuilder();
  auto &properties = state.getOrAddProperties<typename Op::Properties>();
  auto &[inputs, outs, scale, offset, sink, dropout, scoreCaptures,
         maskCaptures, attributesLoc] = clauses;

  if (succeeded(parser.parseOptionalKeyword("dropout"))) {
    double rate;
    dropout.operands.resize(2);
    if (parser.parseLParen() || parser.parseFloat(rate) ||
        parser.parseComma() || parser.parseOperand(dropout.operands[0]) ||
        parser.parseComma() || parser.parseOperand(dropout.operands[1]) ||
        parser.parseRParen())
      return failure();
    properties.dropout_rate = builder.getF64FloatAttr(rate);
    dropout.types = {builder.getI64Type(), builder.getI32Type()};
  }

  Region *score = state.addRegion(), *mask = state.addRegion();
  scoreCaptures.loc = maskCaptures.loc = parser.getCurrentLocation();
  if (parseScoreAndMask(parser, *score, scoreCaptures.operands,
                        scoreCaptures.types, *mask, maskCaptures.operands,
                        maskCaptures.types, inputs.types[0]))
    return failure();

  attributesLoc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  for (StringAttr name : state.name.getAttributeNames())
    if (state.attributes.get(name))
      return parser.emitError(attributesLoc)
             << "expected '" << name.getValue()
             << "' in its clause, not in the attribute dictionary";
  return success();
}

/// Resolves the operands of all segments, in the order of the op.
ParseResult resolve(OpAsmParser &parser, OperationState &state,
                    ArrayRef<OperandSegment *> segments) {
  for (OperandSegment *segment : segments)
    if (parser.resolveOperands(segment->operands, segment->types, segment->loc,
                               state.operands))
      return failure();
  return success();
}

int32_t count(const OperandSegment &segment) {
  return int32_t(segment.operands.size());
}

void addResultTypes(OperationState &state, const OperandSegment &outs) { // A9
  for (Type type : outs.types)
    if (isa<RankedTensorType>(type))
      state.addTypes(type);
}

} // namespace

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  CommonClauses clauses;
  OperandSegment sequences;
  if (parseOperands<AttentionOp>(parser, state, clauses))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("sequences"))) {
    if (parseOperandsAndTypes(parser, sequences))
      return failure();
    if (sequences.operands.size() != 2 || sequences.types.size() != 2)
      return parser.emitError(sequences.loc)
             << "expected 2 operands 'sequences' "
                "(cumulative_query, cumulative_key) with "
                "their types, got "
             << sequences.operands.size() << " and " << sequences.types.size();
  }

  if (parseRegions<AttentionOp>(parser, state, clauses) ||
      resolve(parser, state,
              {&clauses.inputs, &clauses.outs, &clauses.scale, &clauses.offset,
               &clauses.sink, &sequences, &clauses.dropout,
               &clauses.scoreCaptures, &clauses.maskCaptures}))
    return failure();
  int32_t perSequence = count(sequences) / 2,
          perDropout = count(clauses.dropout) / 2;
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      1,
      1,
      1,
      count(clauses.outs),
      count(clauses.scale),
      count(clauses.offset),
      count(clauses.sink),
      perSequence,
      perSequence,
      perDropout,
      perDropout,
      count(clauses.scoreCaptures),
      count(clauses.maskCaptures)};
  addResultTypes(state, clauses.outs);
  return success();
}

/// An error if a clause comes that has no place where the parser is.
static ParseResult parseNoMoreStages(OpAsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("sequences")))
    return parser.emitError(loc)
           << "'sequences' is not supported by attn.multi_token_attention";
  for (StringRef keyword :
       {"convolve_before", "mix_before", "convolve_after", "mix_after"})
    if (succeeded(parser.parseOptionalKeyword(keyword)))
      return parser.emitError(loc)
             << "expected 'convolve_before', 'mix_before', 'convolve_after' "
                "and "
                "'mix_after' once and in this order, before dropout, score and "
                "mask; got '"
             << keyword << "' too late";
  return success();
}

ParseResult MultiTokenAttentionOp::parse(OpAsmParser &parser,
                                         OperationState &state) {
  CommonClauses clauses;
  OperandSegment kernelBefore, mixingBefore, kernelAfter, mixingAfter;
  if (parseOperands<MultiTokenAttentionOp>(parser, state, clauses) ||
      parseOptionalClause(parser, "convolve_before", kernelBefore) ||
      parseOptionalClause(parser, "mix_before", mixingBefore) ||
      parseOptionalClause(parser, "convolve_after", kernelAfter) ||
      parseOptionalClause(parser, "mix_after", mixingAfter) ||
      parseNoMoreStages(parser) ||
      parseRegions<MultiTokenAttentionOp>(parser, state, clauses) ||
      parseNoMoreStages(parser) ||
      resolve(parser, state,
              {&clauses.inputs, &clauses.outs, &clauses.scale, &clauses.offset,
               &clauses.sink, &kernelBefore, &mixingBefore, &kernelAfter,
               &mixingAfter, &clauses.dropout, &clauses.scoreCaptures,
               &clauses.maskCaptures}))
    return failure();
  int32_t perDropout = count(clauses.dropout) / 2;
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      1,
      1,
      1,
      count(clauses.outs),
      count(clauses.scale),
      count(clauses.offset),
      count(clauses.sink),
      count(kernelBefore),
      count(mixingBefore),
      count(kernelAfter),
      count(mixingAfter),
      perDropout,
      perDropout,
      count(clauses.scoreCaptures),
      count(clauses.maskCaptures)};
  addResultTypes(state, clauses.outs);
  return success();
}

static void printOperands(OpAsmPrinter &printer, StringRef keyword,
                          ValueRange operands) {
  if (operands.empty())
    return;
  printer << ' ' << keyword << '(' << operands << " : " << operands.getTypes()
          << ')';
}

static void printRegion(OpAsmPrinter &printer, StringRef keyword,
                        Region &region, OperandRange captures,
                        unsigned leading) {
  printer << keyword << '(';
  llvm::interleaveComma(region.getArguments().take_front(leading), printer);
  printer << ')';
  if (!captures.empty()) {
    printer << " captures(";
    llvm::interleaveComma(
        llvm::zip(region.getArguments().drop_front(leading), captures), printer,
        [&](auto pair) {
          auto [argument, operand] = pair;
          printer << argument;
          if (argument.getType() != operand.getType())
            printer << " : " << argument.getType();
          printer << " = " << operand << " : " << operand.getType();
        });
    printer << ')';
  }
  printer << ' ';
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

ParseResult attn::parseScoreAndMask(
    OpAsmParser &parser, Region &score,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &scoreCaptures,
    SmallVectorImpl<Type> &scoreTypes, Region &mask,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &maskCaptures,
    SmallVectorImpl<Type> &maskTypes, Type rows) {
  OperandSegment ofScore, ofMask;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("score"))) {
    // The region's types follow the rows'; the verifier, which runs later, has
    // more to say about them.
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(rows));
    if (!element)
      return parser.emitError(loc)
             << "a score needs a tensor of floats, got " << rows;
    if (parseScores(parser, score, ofScore,
                    AttentionOp::getAccumulationType(element)))
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("mask"))) {
    if (parseMasks(parser, mask, ofMask))
      return failure();
    SMLoc after = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword("score")))
      return parser.emitError(after) << "expected 'score' before 'mask'";
  }
  llvm::append_range(scoreCaptures, ofScore.operands);
  llvm::append_range(scoreTypes, ofScore.types);
  llvm::append_range(maskCaptures, ofMask.operands);
  llvm::append_range(maskTypes, ofMask.types);
  return success();
}

void attn::printScoreAndMask(OpAsmPrinter &printer, Operation *, Region &score,
                             OperandRange scoreCaptures, TypeRange,
                             Region &mask, OperandRange maskCaptures, TypeRange,
                             Type) {
  if (!score.empty())
    printRegion(printer, "score", score, scoreCaptures,
                AttentionOp::kNumScoreArguments);
  if (!score.empty() && !mask.empty())
    printer << ' ';
  if (!mask.empty())
    printRegion(printer, "mask", mask, maskCaptures,
                AttentionOp::kNumMaskArguments);
}

/// `ins` to `sink`.
template <typename Op>
static void printCommonOperands(OpAsmPrinter &printer, Op op) {
  printOperands(printer, "ins", {op.getQuery(), op.getKey(), op.getValue()});
  printOperands(printer, "outs", op.getOuts());
  if (FloatAttr scale = op.getStaticScaleAttr()) {
    printer << " scale(";
    printer.printFloat(scale.getValue());
    printer << ')';
  }
  if (Value scale = op.getScale())
    printOperands(printer, "scale", scale);
  if (op.getBottomRight())
    printer << " offset(bottom_right)";
  if (Value offset = op.getOffset())
    printOperands(printer, "offset", offset);
  if (Value sink = op.getSink())
    printOperands(printer, "sink", sink);
}

/// `dropout` to the attributes.
template <typename Op> static void printRegions(OpAsmPrinter &printer, Op op) {
  if (FloatAttr rate = op.getDropoutRateAttr()) {
    printer << " dropout(";
    printer.printFloat(rate.getValue());
    printer << ", " << op.getDropoutSeed() << ", " << op.getDropoutCall()
            << ')';
  }
  if (op.hasScore() || op.hasMask())
    printer << ' ';
  printScoreAndMask(printer, op, op.getScore(), op.getScoreCaptures(),
                    op.getScoreCaptures().getTypes(), op.getMask(),
                    op.getMaskCaptures(), op.getMaskCaptures().getTypes(),
                    op.getQuery().getType());
  printer.printOptionalAttrDict(op->getDiscardableAttrDictionary().getValue());
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printCommonOperands(printer, *this);
  if (isPacked())
    printOperands(printer, "sequences",
                  {getCumulativeQuery(), getCumulativeKey()});
  printRegions(printer, *this);
}

void MultiTokenAttentionOp::print(OpAsmPrinter &printer) {
  printCommonOperands(printer, *this);
  for (auto [keyword, operand] :
       {std::pair("convolve_before", getKernelBefore()),
        std::pair("mix_before", getMixingBefore()),
        std::pair("convolve_after", getKernelAfter()),
        std::pair("mix_after", getMixingAfter())})
    if (operand)
      printOperands(printer, keyword, operand);
  printRegions(printer, *this);
}
