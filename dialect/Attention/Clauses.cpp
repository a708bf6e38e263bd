//===- Clauses.cpp - Clauses of an op's text ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/Clauses.h"
#include "dialect/AttnDialect.h"

#include "mlir/IR/Dialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;

ParseResult attn::parseOperandsAndTypes(OpAsmParser &parser,
                                        OperandSegment &segment) {
  segment.loc = parser.getCurrentLocation();
  return failure(
      parser.parseLParen() || parser.parseOperandList(segment.operands) ||
      parser.parseColonTypeList(segment.types) || parser.parseRParen());
}

ParseResult attn::resolveSegments(OpAsmParser &parser, OperationState &state,
                                  ArrayRef<OperandSegment *> segments,
                                  MutableArrayRef<int32_t> sizes) {
  for (auto [segment, size] : llvm::zip_equal(segments, sizes)) {
    if (parser.resolveOperands(segment->operands, segment->types, segment->loc,
                               state.operands))
      return failure();
    size = int32_t(segment->operands.size());
  }
  return success();
}

Clause attn::operandClause(OpAsmParser &parser, StringRef keyword,
                           OperandSegment &segment) {
  return {keyword, [&] {
            return failure(
                parser.parseLParen() ||
                parser.parseOperand(segment.operands.emplace_back()) ||
                parser.parseColonType(segment.types.emplace_back()) ||
                parser.parseRParen());
          }};
}

Clause attn::operandsClause(OpAsmParser &parser, StringRef keyword,
                            OperandSegment &segment) {
  return {keyword, [&] { return parseOperandsAndTypes(parser, segment); }};
}

ParseResult attn::parseClauses(OpAsmParser &parser, ArrayRef<Clause> clauses) {
  SmallVector<StringRef> seen;
  auto parseOne = [&](SMLoc loc, const Clause &clause) -> ParseResult {
    if (llvm::is_contained(seen, clause.keyword))
      return parser.emitError(loc)
             << "expected clause '" << clause.keyword << "' once, got it again";
    seen.push_back(clause.keyword);
    return clause.parse();
  };
  bool found = true;
  while (found) {
    SMLoc loc = parser.getCurrentLocation();
    const Clause *clause = llvm::find_if(clauses, [&](const Clause &clause) {
      return succeeded(parser.parseOptionalKeyword(clause.keyword));
    });
    found = clause != clauses.end();
    if (found && parseOne(loc, *clause))
      return failure();
  }
  return parseEndOfClauses(
      parser,
      llvm::map_to_vector(clauses, [](const Clause &c) { return c.keyword; }));
}

/// The word that the next token is; empty if it is none. The parser can only
/// take a word, and what follows an op may be the name of the next.
static StringRef peekWord(OpAsmParser &parser) {
  const char *begin = parser.getCurrentLocation().getPointer(), *end = begin;
  auto isPart = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
  };
  if (llvm::isAlpha(*begin) || *begin == '_')
    while (isPart(*end)) // The text ends in a 0.
      ++end;
  return {begin, size_t(end - begin)};
}

/// Whether an operation of some dialect has this name, which the parser tries
/// where the op around has it as its default. None has this dialect.
static bool isOperation(MLIRContext *context, StringRef word) {
  return llvm::any_of(context->getLoadedDialects(), [&](Dialect *dialect) {
    return !isa<AttnDialect>(dialect) &&
           RegisteredOperationName::lookup(
               (dialect->getNamespace() + "." + word).str(), context)
               .has_value();
  });
}

ParseResult attn::parseEndOfClauses(OpAsmParser &parser,
                                    ArrayRef<StringRef> keywords) {
  StringRef word = peekWord(parser);
  if (word.empty() || word.contains('.') || word == "loc" ||
      isOperation(parser.getContext(), word))
    return success();
  InFlightDiagnostic error = parser.emitError(parser.getCurrentLocation())
                             << "expected another operation or a clause (";
  llvm::interleaveComma(keywords, error);
  return error << "), got '" << word << "'";
}

ParseResult attn::parseEndOfClauses(OpAsmParser &parser,
                                    std::initializer_list<StringRef> keywords) {
  return parseEndOfClauses(parser, ArrayRef(keywords));
}

void attn::printEndOfClauses(OpAsmPrinter &, Operation *,
                             std::initializer_list<StringRef>) {}

ParseResult attn::parseAttributes(OpAsmParser &parser, OperationState &state) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  for (StringAttr name : state.name.getAttributeNames())
    if (state.attributes.get(name))
      return parser.emitError(loc)
             << "expected '" << name.getValue()
             << "' in its clause, not in the attribute dictionary";
  return success();
}

void attn::printOperandsClause(OpAsmPrinter &printer, StringRef keyword,
                               ValueRange operands) {
  if (operands.empty())
    return;
  printer << ' ' << keyword << '(' << operands << " : " << operands.getTypes()
          << ')';
}

void attn::printNumberClause(OpAsmPrinter &printer, StringRef keyword,
                             FloatAttr number) {
  if (!number)
    return;
  printer << ' ' << keyword << '(';
  printer.printFloat(number.getValue());
  printer << ')';
}
