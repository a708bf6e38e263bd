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

#include "dialect/AttnOps.h"
#include "dialect/NamedMasksAndScores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

/// Operands of one segment with their types, resolved once all are parsed.
struct Segment {
  SmallVector<UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc; ///< Of the list, for messages.
};

/// The part of an op that its `score` or its `mask` list describes.
class RegionParser {
public:
  RegionParser(OpAsmParser &parser, Region &region, Segment &captures,
               ArrayRef<Type> leading, bool isScore)
      : parser(parser), builder(parser.getContext()), region(region),
        captures(captures), isScore(isScore) {
    Block &block = region.emplaceBlock();
    Location loc = parser.getEncodedSourceLoc(parser.getCurrentLocation());
    for (Type type : leading)
      block.addArgument(type, loc);
    builder.setInsertionPointToEnd(&block);
  }

  ParseResult parse() {
    if (parser.parseCommaSeparatedList([&] { return parseItem(); }))
      return failure();
    YieldOp::create(builder, loc(), value);
    return success();
  }

private:
  Location loc() { return parser.getEncodedSourceLoc(itemLoc); }
  RegionBuilder at() { return {builder, loc()}; }
  Block &block() { return region.front(); }
  Position position() {
    unsigned first = isScore ? 1 : 0;
    return {block().getArgument(first), block().getArgument(first + 1),
            block().getArgument(first + 2), block().getArgument(first + 3)};
  }
  /// The score that the next item gets.
  Value scoreSoFar() { return value ? value : block().getArgument(0); }

  ParseResult parseItem() {
    itemLoc = parser.getCurrentLocation();
    OptionalParseResult written = parseOptionalRegion();
    if (written.has_value())
      return *written;
    StringRef name; // Empty if there is none, which no name is.
    (void)parser.parseOptionalKeyword(&name);
    return isScore ? parseScore(name) : parseMask(name);
  }

  ParseResult parseScore(StringRef name) {
    if (name == "softcap")
      return parseSoftcap();
    Value tensor;
    if (name == "alibi") {
      if (parseTensor(tensor, 1, 1, llvm::IsaPred<FloatType>, "floats"))
        return failure();
      value = buildAlibi(at(), scoreSoFar(), position(), tensor);
      return success();
    }
    if (name == "bias") {
      if (parseTensor(tensor, 0, 4, llvm::IsaPred<FloatType>, "floats"))
        return failure();
      value = buildBias(at(), scoreSoFar(), position(), tensor);
      return success();
    }
    return parser.emitError(itemLoc)
           << "unknown score '" << name
           << "', expected softcap, alibi, bias or a region";
  }

  ParseResult parseSoftcap() {
    Value cap;
    if (parser.parseLParen())
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    if (OptionalParseResult operand = parseOptionalCapture(cap);
        operand.has_value()) {
      if (*operand)
        return failure();
      if (!isa<FloatType>(cap.getType()))
        return parser.emitError(loc)
               << "softcap: expected a float, got " << cap.getType();
    } else {
      auto type = cast<FloatType>(scoreSoFar().getType());
      APFloat number(0.0);
      if (parser.parseFloat(type.getFloatSemantics(), number))
        return failure();
      if (!number.isFiniteNonZero() || number.isNegative())
        return parser.emitError(loc)
               << "softcap: expected a positive number that is finite in "
               << type << ", got " << number.convertToDouble();
      cap = arith::ConstantOp::create(builder, this->loc(),
                                      builder.getFloatAttr(type, number));
    }
    value = buildSoftcap(at(), scoreSoFar(), cap);
    return parser.parseRParen();
  }

  ParseResult parseMask(StringRef name) {
    Value first, second;
    auto isInteger = [](Type type) {
      return type.isSignlessIntOrIndex() && !type.isInteger(1);
    };
    auto isBoolean = [](Type type) { return type.isInteger(1); };
    if (name == "causal") {
      addMask(buildCausal(at(), position()));
      return success();
    }
    if (name == "sliding_window") {
      int64_t left, right;
      if (parser.parseLParen() || parseWindowSize(left) ||
          parser.parseComma() || parseWindowSize(right) || parser.parseRParen())
        return failure();
      addMask(buildSlidingWindow(at(), position(), left, right));
      return success();
    }
    if (name == "prefix_lm") {
      if (parseTensor(first, 1, 1, isInteger, "integers"))
        return failure();
      addMask(buildPrefixLM(at(), position(), first));
      return success();
    }
    if (name == "key_padding") {
      SMLoc loc = parser.getCurrentLocation();
      auto isElement = [](Type type) { return type.isSignlessIntOrIndex(); };
      if (parseTensor(first, 1, 2, isElement, "integers or i1"))
        return failure();
      auto type = cast<ShapedType>(first.getType());
      if (type.getElementType().isInteger(1) != (type.getRank() == 2))
        return parser.emitError(loc)
               << "expected integers of shape (B) or i1 of shape (B, Skv), got "
               << type;
      addMask(buildKeyPadding(at(), position(), first));
      return success();
    }
    if (name == "document") {
      SMLoc loc = parser.getCurrentLocation();
      if (parseDocument(first, second))
        return failure();
      for (Value tensor : {first, second}) {
        auto type = dyn_cast<ShapedType>(tensor.getType());
        if (!isa<RankedTensorType, MemRefType>(tensor.getType()) ||
            type.getRank() != 2 || !isInteger(type.getElementType()) ||
            type.getElementType() != getElementTypeOrSelf(first.getType()))
          return parser.emitError(loc)
                 << "document: expected two tensors of one integer type and of "
                    "shape (B, S), got "
                 << first.getType() << " and " << second.getType();
      }
      addMask(buildDocument(at(), position(), first, second));
      return success();
    }
    if (name == "boolean") {
      if (parseTensor(first, 0, 4, isBoolean, "i1"))
        return failure();
      addMask(buildBoolean(at(), position(), first));
      return success();
    }
    return parser.emitError(itemLoc)
           << "unknown mask '" << name
           << "', expected causal, sliding_window, prefix_lm, key_padding, "
              "document, boolean or a region";
  }

  void addMask(Value keep) {
    value = value ? arith::AndIOp::create(builder, loc(), value, keep) : keep;
  }

  ParseResult parseWindowSize(int64_t &size) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseInteger(size))
      return failure();
    if (size < -1 || size > AttentionOp::kMaxOffset)
      return parser.emitError(loc)
             << "sliding_window: expected a size from 0 to "
             << AttentionOp::kMaxOffset << ", or -1 for no bound, got " << size;
    return success();
  }

  ParseResult parseDocument(Value &first, Value &second) {
    UnresolvedOperand operands[2];
    Type types[2];
    if (parser.parseLParen() || parser.parseOperand(operands[0]) ||
        parser.parseComma() || parser.parseOperand(operands[1]) ||
        parser.parseColon() || parser.parseType(types[0]) ||
        parser.parseComma() || parser.parseType(types[1]) ||
        parser.parseRParen())
      return failure();
    first = addCapture(operands[0], types[0]);
    second = addCapture(operands[1], types[1]);
    return success();
  }

  /// `(%operand : type)`, a tensor of rank `minRank` to `maxRank`.
  ParseResult parseTensor(Value &argument, int64_t minRank, int64_t maxRank,
                          function_ref<bool(Type)> isElement,
                          StringRef elements) {
    if (parser.parseLParen())
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    UnresolvedOperand operand;
    Type type;
    if (parser.parseOperand(operand) || parser.parseColonType(type) ||
        parser.parseRParen())
      return failure();
    auto shaped = dyn_cast<ShapedType>(type);
    if (!isa<RankedTensorType, MemRefType>(type) ||
        shaped.getRank() < minRank || shaped.getRank() > maxRank ||
        !isElement(shaped.getElementType())) {
      InFlightDiagnostic error = parser.emitError(loc)
                                 << "expected a tensor of " << elements
                                 << " and of rank " << minRank;
      if (maxRank != minRank)
        error << " to " << maxRank;
      return error << ", got " << type;
    }
    argument = addCapture(operand, type);
    return success();
  }

  /// `%operand : type`.
  OptionalParseResult parseOptionalCapture(Value &argument) {
    UnresolvedOperand operand;
    OptionalParseResult result = parser.parseOptionalOperand(operand);
    if (!result.has_value() || *result)
      return result;
    Type type;
    if (parser.parseColonType(type))
      return failure();
    argument = addCapture(operand, type);
    return success();
  }

  Value addCapture(UnresolvedOperand operand, Type type) {
    return addCapture(operand, type, /*argumentType=*/type);
  }
  Value addCapture(UnresolvedOperand operand, Type type, Type argumentType) {
    captures.operands.push_back(operand);
    captures.types.push_back(type);
    return block().addArgument(argumentType, loc());
  }

  /// `(%s, %b, %h, %p, %j) captures(%x = %operand : type, ...) {...}`: parsed
  /// as a region of its own, then moved behind the items before it. Where the
  /// argument is less static than the operand it is `%x : type = ...`.
  OptionalParseResult parseOptionalRegion() {
    SmallVector<OpAsmParser::Argument> arguments;
    SMLoc loc = parser.getCurrentLocation();
    if (failed(parser.parseOptionalLParen()))
      return std::nullopt;
    if (parser.parseArgumentList(arguments) || parser.parseRParen())
      return failure();
    unsigned leading = isScore ? AttentionOp::kNumScoreArguments
                               : AttentionOp::kNumMaskArguments;
    if (arguments.size() != leading)
      return parser.emitError(loc)
             << "expected " << leading << " arguments "
             << (isScore ? "(s, b, h, p, j)" : "(b, h, p, j)") << ", got "
             << arguments.size();
    SmallVector<Value> replacements;
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      argument.type = block().getArgument(index).getType();
      replacements.push_back(
          isScore && index == 0 ? scoreSoFar() : block().getArgument(index));
    }
    auto parseCapture = [&]() -> ParseResult {
      OpAsmParser::Argument argument;
      UnresolvedOperand operand;
      Type operandType;
      if (parser.parseArgument(argument))
        return failure();
      if (succeeded(parser.parseOptionalColon()) &&
          parser.parseType(argument.type))
        return failure();
      if (parser.parseEqual() || parser.parseOperand(operand) ||
          parser.parseColonType(operandType))
        return failure();
      if (!argument.type)
        argument.type = operandType;
      replacements.push_back(addCapture(operand, operandType, argument.type));
      arguments.push_back(argument);
      return success();
    };
    if (succeeded(parser.parseOptionalKeyword("captures")) &&
        parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                       parseCapture))
      return failure();

    Region written;
    if (parser.parseRegion(written, arguments, /*enableNameShadowing=*/true))
      return failure();
    if (!written.hasOneBlock() || written.front().empty() ||
        !isa<YieldOp>(written.front().back()))
      return parser.emitError(loc)
             << "expected a region of one block that ends in attn.yield";
    auto yield = cast<YieldOp>(written.front().back());
    Value yielded = yield.getValue();
    Type expected =
        isScore ? block().getArgument(0).getType() : Type(builder.getI1Type());
    if (yielded.getType() != expected) {
      yield.emitOpError() << "expected the '" << (isScore ? "score" : "mask")
                          << "' region to yield " << expected << ", got "
                          << yielded.getType();
      return failure();
    }
    for (auto [argument, replacement] :
         llvm::zip(written.getArguments(), replacements)) {
      if (yielded == argument)
        yielded = replacement;
      argument.replaceAllUsesWith(replacement);
    }
    yield.erase();
    block().getOperations().splice(block().end(),
                                   written.front().getOperations());
    if (isScore)
      value = yielded;
    else
      addMask(yielded);
    return success();
  }

  OpAsmParser &parser;
  OpBuilder builder;
  Region &region;
  Segment &captures;
  bool isScore;
  SMLoc itemLoc;
  Value value;
};

/// `keyword ( %operand : type )`, if the keyword is there.
ParseResult parseOptionalClause(OpAsmParser &parser, StringRef keyword,
                                Segment &segment) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return failure(parser.parseLParen() ||
                 parser.parseOperand(segment.operands.emplace_back()) ||
                 parser.parseColonType(segment.types.emplace_back()) ||
                 parser.parseRParen());
}

/// `keyword ( %operands : types )`.
ParseResult parseOperandsAndTypes(OpAsmParser &parser, Segment &segment) {
  segment.loc = parser.getCurrentLocation();
  return failure(
      parser.parseLParen() || parser.parseOperandList(segment.operands) ||
      parser.parseColonTypeList(segment.types) || parser.parseRParen());
}

} // namespace

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  auto &properties = state.getOrAddProperties<Properties>();
  Segment inputs, outs, scale, offset, sink, sequences, dropout, scoreCaptures,
      maskCaptures;

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
  Type index = builder.getIndexType();
  if (succeeded(parser.parseOptionalKeyword("score"))) {
    // The region's types follow the query's; the verifier, which runs later,
    // has more to say about it.
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(inputs.types[0]));
    if (!element)
      return parser.emitError(inputs.loc)
             << "operand 'query': expected a tensor of floats, got "
             << inputs.types[0];
    Type s = getAccumulationType(element);
    if (RegionParser(parser, *score, scoreCaptures,
                     {s, index, index, index, index}, /*isScore=*/true)
            .parse())
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("mask"))) {
    if (RegionParser(parser, *mask, maskCaptures, {index, index, index, index},
                     /*isScore=*/false)
            .parse())
      return failure();
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword("score")))
      return parser.emitError(loc) << "expected 'score' before 'mask'";
  }

  SMLoc attributesLoc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  for (StringAttr name : state.name.getAttributeNames())
    if (state.attributes.get(name))
      return parser.emitError(attributesLoc)
             << "expected '" << name.getValue()
             << "' in its clause, not in the attribute dictionary";

  for (Segment *segment : {&inputs, &outs, &scale, &offset, &sink, &sequences,
                           &dropout, &scoreCaptures, &maskCaptures})
    if (parser.resolveOperands(segment->operands, segment->types, segment->loc,
                               state.operands))
      return failure();
  auto count = [](const Segment &segment) {
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
  if (region.empty())
    return;
  printer << ' ' << keyword << '(';
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
  printRegion(printer, "score", getScore(), getScoreCaptures(),
              kNumScoreArguments);
  printRegion(printer, "mask", getMask(), getMaskCaptures(), kNumMaskArguments);
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}
