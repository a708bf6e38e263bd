//===- AttentionOpAssembly.cpp - The attention ops' text ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops' descriptions have their syntax.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/AttentionOpAssembly.h"
#include "dialect/Attention/AttentionRegionParser.h"
#include "dialect/AttnOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

Clause attn::scoreClause(OpAsmParser &parser, ParsedRegion &score,
                         const OperandSegment &rows) {
  return {"score", [&]() -> ParseResult {
            SMLoc loc = score.captures.loc = parser.getCurrentLocation();
            // The region's types follow the rows'; the verifier, which runs
            // later, has more to say about them.
            Type type = rows.types[0];
            auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
            if (!element)
              return parser.emitError(loc)
                     << "a score needs a tensor of floats, got " << type;
            return parseScores(parser, score,
                               AttentionOp::getAccumulationType(element));
          }};
}

Clause attn::maskClause(OpAsmParser &parser, ParsedRegion &mask) {
  return {"mask", [&] {
            mask.captures.loc = parser.getCurrentLocation();
            return parseMasks(parser, mask);
          }};
}

ParseResult attn::finishScoreAndMask(OpAsmParser &parser, ParsedRegion &score,
                                     ParsedRegion &mask, CallShape shape) {
  shape.unpack();
  return failure(finishRegion(parser, score, shape, /*firstIndex=*/1) ||
                 finishRegion(parser, mask, shape, /*firstIndex=*/0));
}

namespace {

/// Whether an op's dropout may be that of a part of another op's (A8).
template <typename Op>
constexpr bool canBePart = requires(Op op) { op.getDropoutLine(); };

/// What the ops have in common.
struct CommonOperands {
  OperandSegment inputs, outs, scale, offset, sink, sequences, counts, dropout,
      dropoutLine, dropoutKey;
  ParsedRegion score, mask;
};

/// `ins`, of `count` operands with these names, and perhaps one more, and
/// `outs`.
ParseResult parseMainOperands(OpAsmParser &parser, CommonOperands &operands,
                              size_t count = 3,
                              StringRef names = "(query, key, value)",
                              bool orOneMore = false) {
  OperandSegment &inputs = operands.inputs;
  if (parser.parseKeyword("ins") || parseOperandsAndTypes(parser, inputs))
    return failure();
  size_t size = inputs.operands.size();
  if (inputs.types.size() != size ||
      (size != count && !(orOneMore && size == count + 1)))
    return parser.emitError(inputs.loc)
           << "expected " << count << (orOneMore ? " or " : "")
           << (orOneMore ? Twine(count + 1).str() : "") << " operands 'ins' "
           << names << " with their types, got " << size << " and "
           << inputs.types.size();
  return failure(parser.parseKeyword("outs") ||
                 parseOperandsAndTypes(parser, operands.outs));
}

/// `(number)` or `(%s : type)`.
ParseResult parseScale(OpAsmParser &parser, OperandSegment &scale,
                       FloatAttr &number) {
  if (parser.parseLParen())
    return failure();
  OptionalParseResult operand =
      parser.parseOptionalOperand(scale.operands.emplace_back());
  if (operand.has_value()) {
    if (*operand || parser.parseColonType(scale.types.emplace_back()))
      return failure();
  } else {
    scale.operands.clear();
    double value;
    if (parser.parseFloat(value))
      return failure();
    number = parser.getBuilder().getF64FloatAttr(value);
  }
  return parser.parseRParen();
}

/// `(bottom_right)` or `(%o : type)`.
ParseResult parseOffset(OpAsmParser &parser, OperandSegment &offset,
                        UnitAttr &bottomRight) {
  if (parser.parseLParen())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("bottom_right")))
    bottomRight = parser.getBuilder().getUnitAttr();
  else if (parser.parseOperand(offset.operands.emplace_back()) ||
           parser.parseColonType(offset.types.emplace_back()))
    return failure();
  return parser.parseRParen();
}

/// `(number, %seed, %call)` and, of an op that may be a part, `, %line`,
/// `, key = %key : type` and `, heads = number`.
template <typename Op>
ParseResult parseDropout(OpAsmParser &parser, OperandSegment &dropout,
                         OperandSegment &line, OperandSegment &key,
                         typename Op::Properties &properties) {
  Builder &builder = parser.getBuilder();
  double number;
  dropout.operands.resize(2);
  if (parser.parseLParen() || parser.parseFloat(number) ||
      parser.parseComma() || parser.parseOperand(dropout.operands[0]) ||
      parser.parseComma() || parser.parseOperand(dropout.operands[1]))
    return failure();
  dropout.types = {builder.getI64Type(), builder.getI32Type()};
  properties.dropout_rate = builder.getF64FloatAttr(number);
  if constexpr (canBePart<Op>) {
    bool goesOn = succeeded(parser.parseOptionalComma());
    OptionalParseResult given;
    if (goesOn)
      given = parser.parseOptionalOperand(line.operands.emplace_back());
    if (given.has_value()) {
      line.types.push_back(builder.getIndexType());
      if (*given)
        return failure();
      goesOn = succeeded(parser.parseOptionalComma());
    } else {
      line.operands.clear();
    }
    if (goesOn && succeeded(parser.parseOptionalKeyword("key"))) {
      if (parser.parseEqual() ||
          parser.parseOperand(key.operands.emplace_back()) ||
          parser.parseColonType(key.types.emplace_back()))
        return failure();
      goesOn = succeeded(parser.parseOptionalComma());
    }
    int64_t heads;
    if (goesOn) {
      if (parser.parseKeyword("heads") || parser.parseEqual() ||
          parser.parseInteger(heads))
        return failure();
      properties.dropout_heads = builder.getI64IntegerAttr(heads);
    }
  }
  return parser.parseRParen();
}

/// The clauses that all ops have, behind the op's own, and the attributes.
template <typename Op>
ParseResult parseClausesOf(OpAsmParser &parser, OperationState &state,
                           CommonOperands &operands,
                           SmallVector<Clause> clauses) {
  auto &properties = state.getOrAddProperties<typename Op::Properties>();
  operands.score.region = state.addRegion();
  operands.mask.region = state.addRegion();
  clauses.append(
      {{"scale",
        [&] {
          return parseScale(parser, operands.scale, properties.static_scale);
        }},
       {"offset",
        [&] {
          return parseOffset(parser, operands.offset, properties.bottom_right);
        }},
       operandClause(parser, "sink", operands.sink),
       {"dropout",
        [&] {
          return parseDropout<Op>(parser, operands.dropout,
                                  operands.dropoutLine, operands.dropoutKey,
                                  properties);
        }},
       scoreClause(parser, operands.score, operands.inputs),
       maskClause(parser, operands.mask)});
  Type query = operands.inputs.types[0], key = operands.inputs.types[1];
  if (parseClauses(parser, clauses) || parseAttributes(parser, state))
    return failure();
  return finishScoreAndMask(parser, operands.score, operands.mask,
                            {getStaticSize(query, 0), getStaticSize(query, 1),
                             getStaticSize(query, 2), getStaticSize(key, 2),
                             operands.offset, operands.sequences,
                             operands.counts, bool(properties.bottom_right)});
}

/// Resolves the operands of all segments behind the inputs, of which the last
/// may be absent.
template <typename Op>
ParseResult resolve(OpAsmParser &parser, OperationState &state,
                    CommonOperands &operands,
                    ArrayRef<OperandSegment *> segments) {
  auto &sizes =
      state.getOrAddProperties<typename Op::Properties>().operandSegmentSizes;
  size_t firstSize = std::size(sizes) - segments.size();
  int32_t numInputs;
  if (resolveSegments(parser, state, &operands.inputs, numInputs) ||
      resolveSegments(parser, state, segments,
                      MutableArrayRef(sizes).drop_front(firstSize)))
    return failure();
  std::fill_n(sizes.begin(), firstSize, 0);
  std::fill_n(sizes.begin(), numInputs, 1);
  for (Type type : operands.outs.types) // A9
    if (isa<RankedTensorType>(type))
      state.addTypes(type);
  return success();
}

/// One of the operands of a clause as a segment of its own; without one if
/// there are not so many.
OperandSegment getOnly(const OperandSegment &all, size_t index) {
  if (all.operands.size() <= index)
    return {};
  return {{all.operands[index]}, {all.types[index]}, all.loc};
}

} // namespace

/// The clauses and operands of an attention that may have sequences, with
/// `clauses` of its own and segments that lie behind those of all.
template <typename Op>
static ParseResult parseRest(OpAsmParser &parser, OperationState &state,
                             CommonOperands &operands,
                             SmallVector<Clause> clauses = {},
                             ArrayRef<OperandSegment *> behind = {}) {
  OperandSegment &sequences = operands.sequences;
  auto parseSequences = [&]() -> ParseResult {
    if (parseOperandsAndTypes(parser, sequences))
      return failure();
    size_t numOperands = sequences.operands.size();
    if (numOperands < 1 || numOperands > 2 ||
        sequences.types.size() != numOperands)
      return parser.emitError(sequences.loc)
             << "expected 1 or 2 operands 'sequences' (cumulative_query, "
                "cumulative_key) with their types, got "
             << numOperands << " and " << sequences.types.size();
    return success();
  };
  clauses.append({{"sequences", parseSequences},
                  operandClause(parser, "counts", operands.counts)});
  if (parseClausesOf<Op>(parser, state, operands, clauses))
    return failure();
  OperandSegment ofQuery = getOnly(sequences, 0), ofKey = getOnly(sequences, 1),
                 seed = getOnly(operands.dropout, 0),
                 call = getOnly(operands.dropout, 1);
  SmallVector<OperandSegment *> segments = {&operands.outs,
                                            &operands.scale,
                                            &operands.offset,
                                            &operands.sink,
                                            &ofQuery,
                                            &ofKey,
                                            &operands.counts,
                                            &seed,
                                            &call,
                                            &operands.dropoutLine,
                                            &operands.dropoutKey,
                                            &operands.score.captures,
                                            &operands.mask.captures};
  llvm::append_range(segments, behind);
  return resolve<Op>(parser, state, operands, segments);
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  CommonOperands operands;
  return failure(parseMainOperands(parser, operands) ||
                 parseRest<AttentionOp>(parser, state, operands));
}

/// `gradients(sink, number, ...)` (G2).
template <typename Op>
static Clause gradientsClause(OpAsmParser &parser, OperationState &state) {
  auto &properties = state.getOrAddProperties<typename Op::Properties>();
  properties.of_captures = parser.getBuilder().getDenseI64ArrayAttr({});
  return {"gradients", [&]() -> ParseResult {
            SmallVector<int64_t> captures;
            auto parseOne = [&]() -> ParseResult {
              if (!properties.of_sink && captures.empty() &&
                  succeeded(parser.parseOptionalKeyword("sink"))) {
                properties.of_sink = parser.getBuilder().getUnitAttr();
                return success();
              }
              return parser.parseInteger(captures.emplace_back());
            };
            if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                               parseOne))
              return failure();
            properties.of_captures =
                parser.getBuilder().getDenseI64ArrayAttr(captures);
            return success();
          }};
}

ParseResult AttentionBackwardOp::parse(OpAsmParser &parser,
                                       OperationState &state) {
  CommonOperands operands;
  if (parseMainOperands(parser, operands, 6,
                        "(query, key, value, output, log-sum-exp, output "
                        "gradient and, optionally, log-sum-exp gradient)",
                        /*orOneMore=*/true) ||
      parseRest<AttentionBackwardOp>(
          parser, state, operands,
          {gradientsClause<AttentionBackwardOp>(parser, state)}))
    return failure();
  return success();
}

ParseResult AttentionTangentOp::parse(OpAsmParser &parser,
                                      OperationState &state) {
  CommonOperands operands;
  constexpr StringRef kNames[] = {"query", "key", "value", "sink"};
  // Of those, and of captures.
  OperandSegment segments[std::size(kNames) + 1];
  SmallVector<int64_t> captures;
  auto parseTangents = [&]() -> ParseResult {
    SmallVector<size_t> order; // Segments of the operands.
    auto parseTangent = [&]() -> ParseResult {
      StringRef name;
      size_t segment = std::size(kNames);
      SMLoc loc = parser.getCurrentLocation();
      OptionalParseResult number =
          parser.parseOptionalInteger(captures.emplace_back());
      if (number.has_value() && *number)
        return failure();
      if (!number.has_value()) {
        captures.pop_back();
        if (failed(parser.parseOptionalKeyword(&name)))
          return parser.emitError(loc, "expected what a tangent is of: query, "
                                       "key, value, sink, or the number of a "
                                       "capture of the score");
        segment = size_t(llvm::find(kNames, name) - std::begin(kNames));
        if (segment == std::size(kNames))
          return parser.emitError(loc)
                 << "expected query, key, value, sink or a number in "
                    "'tangents', got '"
                 << name << "'";
      }
      if (!order.empty() &&
          (segment < order.back() ||
           (segment == order.back() && segment != std::size(kNames))))
        return parser.emitError(loc, "expected 'tangents' once each, in the "
                                     "order query, key, value, sink, captures");
      order.push_back(segment);
      return failure(
          parser.parseEqual() ||
          parser.parseOperand(segments[segment].operands.emplace_back()));
    };
    SMLoc loc = parser.getCurrentLocation();
    SmallVector<Type> types;
    if (parser.parseLParen() || parser.parseCommaSeparatedList(parseTangent) ||
        parser.parseColonTypeList(types) || parser.parseRParen())
      return failure();
    if (types.size() != order.size())
      return parser.emitError(loc) << "expected the types of " << order.size()
                                   << " tangents, got " << types.size();
    for (auto [segment, type] : llvm::zip(order, types)) {
      segments[segment].loc = loc;
      segments[segment].types.push_back(type);
    }
    return success();
  };
  SmallVector<OperandSegment *> behind;
  for (OperandSegment &segment : segments)
    behind.push_back(&segment);
  if (parseMainOperands(parser, operands, 5,
                        "(query, key, value, output, log-sum-exp)") ||
      parseRest<AttentionTangentOp>(parser, state, operands,
                                    {{"tangents", parseTangents}}, behind))
    return failure();
  state.getOrAddProperties<Properties>().of_captures =
      parser.getBuilder().getDenseI64ArrayAttr(captures);
  return success();
}

/// The clauses and operands of multi-token attention.
template <typename Op>
static ParseResult parseMultiTokenRest(OpAsmParser &parser,
                                       OperationState &state,
                                       CommonOperands &operands,
                                       SmallVector<Clause> clauses = {}) {
  OperandSegment kernelBefore, mixingBefore, kernelAfter, mixingAfter;
  clauses.append({operandClause(parser, "convolve_before", kernelBefore),
                  operandClause(parser, "mix_before", mixingBefore),
                  operandClause(parser, "convolve_after", kernelAfter),
                  operandClause(parser, "mix_after", mixingAfter)});
  if (parseClausesOf<Op>(parser, state, operands, clauses))
    return failure();
  OperandSegment seed = getOnly(operands.dropout, 0),
                 call = getOnly(operands.dropout, 1);
  return resolve<Op>(parser, state, operands,
                     {&operands.outs, &operands.scale, &operands.offset,
                      &operands.sink, &kernelBefore, &mixingBefore,
                      &kernelAfter, &mixingAfter, &seed, &call,
                      &operands.score.captures, &operands.mask.captures});
}

ParseResult MultiTokenAttentionOp::parse(OpAsmParser &parser,
                                         OperationState &state) {
  CommonOperands operands;
  return failure(
      parseMainOperands(parser, operands) ||
      parseMultiTokenRest<MultiTokenAttentionOp>(parser, state, operands));
}

ParseResult MultiTokenAttentionBackwardOp::parse(OpAsmParser &parser,
                                                 OperationState &state) {
  CommonOperands operands;
  return failure(
      parseMainOperands(parser, operands, 4,
                        "(query, key, value, output gradient and, optionally, "
                        "log-sum-exp gradient)",
                        /*orOneMore=*/true) ||
      parseMultiTokenRest<MultiTokenAttentionBackwardOp>(
          parser, state, operands,
          {gradientsClause<MultiTokenAttentionBackwardOp>(parser, state)}));
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printRegion(OpAsmPrinter &printer, StringRef keyword,
                        Region &region, OperandRange captures,
                        unsigned leading) {
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

void attn::printScoreAndMask(OpAsmPrinter &printer, Region &score,
                             OperandRange scoreCaptures, Region &mask,
                             OperandRange maskCaptures) {
  if (!score.empty())
    printRegion(printer, "score", score, scoreCaptures,
                AttentionOp::kNumScoreArguments);
  if (!mask.empty())
    printRegion(printer, "mask", mask, maskCaptures,
                AttentionOp::kNumMaskArguments);
}

/// `ins` to `sink`.
template <typename Op>
static void printCommonOperands(OpAsmPrinter &printer, Op op) {
  SmallVector<Value> inputs = {op.getQuery(), op.getKey(), op.getValue()};
  if constexpr (std::is_same_v<Op, AttentionBackwardOp>) {
    inputs.append({op.getOutput(), op.getLogSumExp(), op.getOutputGradient()});
    if (op.getLogSumExpGradient())
      inputs.push_back(op.getLogSumExpGradient());
  }
  if constexpr (std::is_same_v<Op, MultiTokenAttentionBackwardOp>) {
    inputs.push_back(op.getOutputGradient());
    if (op.getLogSumExpGradient())
      inputs.push_back(op.getLogSumExpGradient());
  }
  if constexpr (std::is_same_v<Op, AttentionTangentOp>)
    inputs.append({op.getOutput(), op.getLogSumExp()});
  printOperandsClause(printer, "ins", inputs);
  printOperandsClause(printer, "outs", op.getOuts());
  printNumberClause(printer, "scale", op.getStaticScaleAttr());
  if (Value scale = op.getScale())
    printOperandsClause(printer, "scale", scale);
  if (op.getBottomRight())
    printer << " offset(bottom_right)";
  if (Value offset = op.getOffset())
    printOperandsClause(printer, "offset", offset);
  if (Value sink = op.getSink())
    printOperandsClause(printer, "sink", sink);
}

/// `dropout` to the attributes.
template <typename Op> static void printRegions(OpAsmPrinter &printer, Op op) {
  if (FloatAttr rate = op.getDropoutRateAttr()) {
    printer << " dropout(";
    printer.printFloat(rate.getValue());
    printer << ", " << op.getDropoutSeed() << ", " << op.getDropoutCall();
    if constexpr (canBePart<Op>) {
      if (Value line = op.getDropoutLine())
        printer << ", " << line;
      if (Value key = op.getDropoutKey())
        printer << ", key = " << key << " : " << key.getType();
      if (std::optional<uint64_t> heads = op.getDropoutHeads())
        printer << ", heads = " << *heads;
    }
    printer << ')';
  }
  printScoreAndMask(printer, op.getScore(), op.getScoreCaptures(), op.getMask(),
                    op.getMaskCaptures());
  printer.printOptionalAttrDict(op->getDiscardableAttrDictionary().getValue());
}

template <typename Op>
static void printSequences(OpAsmPrinter &printer, Op op) {
  if (op.isPacked()) {
    SmallVector<Value> sequences = {op.getCumulativeQuery()};
    if (op.getCumulativeKey())
      sequences.push_back(op.getCumulativeKey());
    printOperandsClause(printer, "sequences", sequences);
  }
  if (op.getCounts())
    printOperandsClause(printer, "counts", op.getCounts());
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printCommonOperands(printer, *this);
  printSequences(printer, *this);
  printRegions(printer, *this);
}

template <typename Op>
static void printGradients(OpAsmPrinter &printer, Op op) {
  SmallVector<std::string> named;
  if (op.getOfSink())
    named.push_back("sink");
  for (int64_t capture : op.getOfCaptures())
    named.push_back(std::to_string(capture));
  if (named.empty())
    return;
  printer << " gradients(";
  llvm::interleaveComma(named, printer);
  printer << ')';
}

void AttentionBackwardOp::print(OpAsmPrinter &printer) {
  printCommonOperands(printer, *this);
  printSequences(printer, *this);
  printGradients(printer, *this);
  printRegions(printer, *this);
}

void AttentionTangentOp::print(OpAsmPrinter &printer) {
  printCommonOperands(printer, *this);
  printSequences(printer, *this);
  SmallVector<Tangent> tangents = getTangents();
  if (!tangents.empty()) {
    printer << " tangents(";
    llvm::interleaveComma(tangents, printer, [&](const Tangent &tangent) {
      StringRef name = tangent.name;
      name.consume_front("capture ");
      printer << name << " = " << tangent.tangent;
    });
    printer << " : ";
    llvm::interleaveComma(tangents, printer, [&](const Tangent &tangent) {
      printer << tangent.tangent.getType();
    });
    printer << ')';
  }
  printRegions(printer, *this);
}

template <typename Op> static void printStages(OpAsmPrinter &printer, Op op) {
  for (auto [keyword, operand] :
       {std::pair("convolve_before", op.getKernelBefore()),
        std::pair("mix_before", op.getMixingBefore()),
        std::pair("convolve_after", op.getKernelAfter()),
        std::pair("mix_after", op.getMixingAfter())})
    if (operand)
      printOperandsClause(printer, keyword, operand);
}

void MultiTokenAttentionOp::print(OpAsmPrinter &printer) {
  printCommonOperands(printer, *this);
  printStages(printer, *this);
  printRegions(printer, *this);
}

void MultiTokenAttentionBackwardOp::print(OpAsmPrinter &printer) {
  printCommonOperands(printer, *this);
  printStages(printer, *this);
  printGradients(printer, *this);
  printRegions(printer, *this);
}
