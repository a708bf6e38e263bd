//===- AttentionOpAssembly.cpp - attn.attention: parser and printer -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   attn.attention ins(q, k, v : types) outs(output[, log-sum-exp] : types)
//       [scale(number | %s : type)] [offset(bottom_right | %o : type)]
//       [sink(%s : type)] [sequences(%cu_q, %cu_k : types)]
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

} // namespace

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  auto &properties = state.getOrAddProperties<Properties>();
  OperandSegment inputs, outs, scale, offset, sink, sequences, dropout,
      scoreCaptures, maskCaptures;

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

  if (parseOptionalClause(parser, "sink", sink))
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

  SMLoc attributesLoc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  for (StringAttr name : state.name.getAttributeNames())
    if (state.attributes.get(name))
      return parser.emitError(attributesLoc)
             << "expected '" << name.getValue()
             << "' in its clause, not in the attribute dictionary";

  for (OperandSegment *segment :
       {&inputs, &outs, &scale, &offset, &sink, &sequences, &dropout,
        &scoreCaptures, &maskCaptures})
    if (parser.resolveOperands(segment->operands, segment->types, segment->loc,
                               state.operands))
      return failure();
  auto count = [](const OperandSegment &segment) {
    return int32_t(segment.operands.size());
  };
  int32_t perSequence = count(sequences) / 2, perDropout = count(dropout) / 2;
  properties.operandSegmentSizes = {1,
                                    1,
                                    1,
                                    count(outs),
                                    count(scale),
                                    count(offset),
                                    count(sink),
                                    perSequence,
                                    perSequence,
                                    perDropout,
                                    perDropout,
                                    count(scoreCaptures),
                                    count(maskCaptures)};
  for (Type type : outs.types) // A9
    if (isa<RankedTensorType>(type))
      state.addTypes(type);
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

void AttentionOp::print(OpAsmPrinter &printer) {
  printOperands(printer, "ins", {getQuery(), getKey(), getValue()});
  printOperands(printer, "outs", getOuts());
  if (FloatAttr scale = getStaticScaleAttr()) {
    printer << " scale(";
    printer.printFloat(scale.getValue());
    printer << ')';
  }
  if (Value scale = getScale())
    printOperands(printer, "scale", scale);
  if (getBottomRight())
    printer << " offset(bottom_right)";
  if (Value offset = getOffset())
    printOperands(printer, "offset", offset);
  if (Value sink = getSink())
    printOperands(printer, "sink", sink);
  if (isPacked())
    printOperands(printer, "sequences",
                  {getCumulativeQuery(), getCumulativeKey()});
  if (FloatAttr rate = getDropoutRateAttr()) {
    printer << " dropout(";
    printer.printFloat(rate.getValue());
    printer << ", " << getDropoutSeed() << ", " << getDropoutCall() << ')';
  }
  if (hasScore() || hasMask())
    printer << ' ';
  printScoreAndMask(printer, *this, getScore(), getScoreCaptures(),
                    getScoreCaptures().getTypes(), getMask(), getMaskCaptures(),
                    getMaskCaptures().getTypes(), getQuery().getType());
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}
