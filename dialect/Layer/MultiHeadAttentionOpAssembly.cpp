//===- MultiHeadAttentionOpAssembly.cpp - A layer's text ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The op's description has its syntax.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/AttentionOpAssembly.h"
#include "dialect/AttnOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// `keyword(first, second)`.
static ParseResult parsePair(OpAsmParser &parser, StringRef keyword,
                             IntegerAttr &first, IntegerAttr &second) {
  int64_t numbers[2];
  if (parser.parseKeyword(keyword) || parser.parseLParen() ||
      parser.parseInteger(numbers[0]) || parser.parseComma() ||
      parser.parseInteger(numbers[1]) || parser.parseRParen())
    return failure();
  first = parser.getBuilder().getI64IntegerAttr(numbers[0]);
  second = parser.getBuilder().getI64IntegerAttr(numbers[1]);
  return success();
}

/// `(number)`.
static ParseResult parseNumber(OpAsmParser &parser, FloatAttr &attribute) {
  double number;
  if (parser.parseLParen() || parser.parseFloat(number) || parser.parseRParen())
    return failure();
  attribute = parser.getBuilder().getF64FloatAttr(number);
  return success();
}
static ParseResult parseNumber(OpAsmParser &parser, IntegerAttr &attribute) {
  int64_t number;
  if (parser.parseLParen() || parser.parseInteger(number) ||
      parser.parseRParen())
    return failure();
  attribute = parser.getBuilder().getI64IntegerAttr(number);
  return success();
}

/// `kind(%operands : types)`, with a kind of an enumeration of two.
template <typename Attr, typename Kind>
static ParseResult parseKind(OpAsmParser &parser, OperandSegment &operands,
                             Attr &attribute,
                             std::optional<Kind> (*symbolize)(StringRef)) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Kind> kind = symbolize(word);
  if (!kind)
    return parser.emitError(loc)
           << "expected '" << stringifyEnum(Kind(0)) << "' or '"
           << stringifyEnum(Kind(1)) << "', got '" << word << "'";
  attribute = Attr::get(parser.getContext(), *kind);
  return parseOperandsAndTypes(parser, operands);
}

namespace {
/// Segments in the order of the op.
struct Operands {
  OperandSegment input, source, memory, outs, qkv, query, key, value, output,
      gate, norms, outputNorm, rope, positions, sequences, offset, lengths,
      counts, table, size, sink, dropoutSeed, dropoutCall;
  ParsedRegion score, mask;
};

using Properties = MultiHeadAttentionOp::Properties;
} // namespace

/// `(rate, rate, %seed, %call)`.
static ParseResult parseDropout(OpAsmParser &parser, Operands &operands,
                                Properties &properties) {
  Builder &builder = parser.getBuilder();
  double probabilities, output;
  if (parser.parseLParen() || parser.parseFloat(probabilities) ||
      parser.parseComma() || parser.parseFloat(output) || parser.parseComma() ||
      parser.parseOperand(operands.dropoutSeed.operands.emplace_back()) ||
      parser.parseComma() ||
      parser.parseOperand(operands.dropoutCall.operands.emplace_back()) ||
      parser.parseRParen())
    return failure();
  operands.dropoutSeed.types = {builder.getI64Type()};
  operands.dropoutCall.types = {builder.getI32Type()};
  properties.probability_rate = builder.getF64FloatAttr(probabilities);
  properties.output_rate = builder.getF64FloatAttr(output);
  return success();
}

/// `(%size)`.
static ParseResult parseSize(OpAsmParser &parser, OperandSegment &size) {
  size.types = {parser.getBuilder().getIndexType()};
  return failure(parser.parseLParen() ||
                 parser.parseOperand(size.operands.emplace_back()) ||
                 parser.parseRParen());
}

static SmallVector<Clause> getClauses(OpAsmParser &parser, Operands &operands,
                                      Properties &properties) {
  return {
      operandClause(parser, "source", operands.source),
      operandsClause(parser, "memory", operands.memory),
      operandsClause(parser, "outs", operands.outs),
      operandsClause(parser, "qkv", operands.qkv),
      operandsClause(parser, "query", operands.query),
      operandsClause(parser, "key", operands.key),
      operandsClause(parser, "value", operands.value),
      operandsClause(parser, "output", operands.output),
      {"gate",
       [&] {
         return parseKind(parser, operands.gate, properties.gate_kind,
                          symbolizeGateKind);
       }},
      operandsClause(parser, "norms", operands.norms),
      operandClause(parser, "output_norm", operands.outputNorm),
      {"layer", [&] { return parseNumber(parser, properties.layer); }},
      {"epsilon", [&] { return parseNumber(parser, properties.epsilon); }},
      {"rope",
       [&] {
         return parseKind(parser, operands.rope, properties.pairing,
                          symbolizeRopePairing);
       }},
      operandClause(parser, "positions", operands.positions),
      operandsClause(parser, "sequences", operands.sequences),
      operandClause(parser, "offset", operands.offset),
      operandClause(parser, "lengths", operands.lengths),
      operandClause(parser, "counts", operands.counts),
      {"ring",
       [&] {
         properties.ring = parser.getBuilder().getUnitAttr();
         return success();
       }},
      operandClause(parser, "table", operands.table),
      {"size", [&] { return parseSize(parser, operands.size); }},
      {"scale", [&] { return parseNumber(parser, properties.static_scale); }},
      operandClause(parser, "sink", operands.sink),
      {"dropout", [&] { return parseDropout(parser, operands, properties); }},
      scoreClause(parser, operands.score, operands.input),
      maskClause(parser, operands.mask)};
}

/// Of the attention of a layer, which reads as many keys as a cache says.
static CallShape getCallShape(const Operands &operands,
                              const Properties &properties) {
  Type input = operands.input.types[0];
  int64_t keys = getStaticSize(input, 1);
  bool hasCache = !operands.lengths.operands.empty();
  if (hasCache)
    keys = ShapedType::kDynamic;
  else if (!operands.source.types.empty())
    keys = getStaticSize(operands.source.types[0], 1);
  else if (!operands.memory.types.empty())
    keys = getStaticSize(operands.memory.types[0], 2);
  return {getStaticSize(input, 0),
          properties.query_heads.getInt(),
          getStaticSize(input, 1),
          keys,
          hasCache ? operands.lengths : operands.offset,
          operands.sequences,
          operands.counts};
}

ParseResult MultiHeadAttentionOp::parse(OpAsmParser &parser,
                                        OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  Operands all;
  all.score.region = state.addRegion();
  all.mask.region = state.addRegion();
  if (parsePair(parser, "heads", properties.query_heads,
                properties.key_value_heads) ||
      parsePair(parser, "sizes", properties.key_size, properties.value_size) ||
      parser.parseKeyword("ins") ||
      operandClause(parser, "ins", all.input).parse() ||
      parseClauses(parser, getClauses(parser, all, properties)))
    return failure();
  for (auto [keyword, segment] :
       {std::pair("outs", &all.outs), std::pair("output", &all.output)})
    if (segment->operands.empty())
      return parser.emitError(parser.getCurrentLocation())
             << "expected clause '" << keyword << "'";
  if (parseAttributes(parser, state) ||
      finishScoreAndMask(parser, all.score, all.mask,
                         getCallShape(all, properties)) ||
      resolveSegments(parser, state,
                      {&all.input,        &all.source,      &all.memory,
                       &all.outs,         &all.qkv,         &all.query,
                       &all.key,          &all.value,       &all.output,
                       &all.gate,         &all.norms,       &all.outputNorm,
                       &all.rope,         &all.positions,   &all.sequences,
                       &all.offset,       &all.lengths,     &all.counts,
                       &all.table,        &all.size,        &all.sink,
                       &all.dropoutSeed,  &all.dropoutCall, &all.score.captures,
                       &all.mask.captures},
                      properties.operandSegmentSizes))
    return failure();
  state.addTypes(all.outs.types); // L10
  return success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// ` keyword kind(%operands : types)`.
template <typename Kind>
static void printKind(OpAsmPrinter &printer, StringRef keyword,
                      std::optional<Kind> kind, OperandRange operands) {
  if (kind)
    printOperandsClause(printer, (keyword + " " + stringifyEnum(*kind)).str(),
                        operands);
}

/// `heads` to `output`.
static void printRows(OpAsmPrinter &printer, MultiHeadAttentionOp op) {
  auto printOptional = [&](StringRef keyword, Value operand) {
    if (operand)
      printOperandsClause(printer, keyword, operand);
  };
  printer << " heads(" << op.getQueryHeads() << ", " << op.getKeyValueHeads()
          << ") sizes(" << op.getKeySize() << ", " << op.getValueSize() << ')';
  printOptional("ins", op.getInput());
  printOptional("source", op.getSource());
  printOperandsClause(printer, "memory", op.getMemory());
  printOperandsClause(printer, "outs", op.getOuts());
  printOperandsClause(printer, "qkv", op.getQkv());
  printOperandsClause(printer, "query", op.getQuery());
  printOperandsClause(printer, "key", op.getKey());
  printOperandsClause(printer, "value", op.getValue());
  printOperandsClause(printer, "output", op.getOutput());
}

void MultiHeadAttentionOp::print(OpAsmPrinter &printer) {
  auto printOptional = [&](StringRef keyword, Value operand) {
    if (operand)
      printOperandsClause(printer, keyword, operand);
  };
  printRows(printer, *this);
  printKind(printer, "gate", getGateKind(), getGate());
  printOperandsClause(printer, "norms", getNorms());
  printOptional("output_norm", getOutputNorm());
  if (std::optional<uint64_t> layer = getLayer())
    printer << " layer(" << int64_t(*layer) << ')';
  if (getEpsilon().convertToDouble() != 1.0e-5)
    printNumberClause(printer, "epsilon", getEpsilonAttr());
  printKind(printer, "rope", getPairing(), getRope());
  printOptional("positions", getPositions());
  printOperandsClause(printer, "sequences", getSequences());
  printOptional("offset", getOffset());
  printOptional("lengths", getLengths());
  printOptional("counts", getCounts());
  if (getRing())
    printer << " ring";
  printOptional("table", getTable());
  if (Value size = getSize())
    printer << " size(" << size << ')';
  printNumberClause(printer, "scale", getStaticScaleAttr());
  printOptional("sink", getSink());
  if (getProbabilityRate()) {
    printer << " dropout(";
    printer.printFloat(getProbabilityRateAttr().getValue());
    printer << ", ";
    printer.printFloat(getOutputRateAttr().getValue());
    printer << ", " << getDropoutSeed() << ", " << getDropoutCall() << ')';
  }
  printScoreAndMask(printer, getScore(), getScoreCaptures(), getMask(),
                    getMaskCaptures());
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}
