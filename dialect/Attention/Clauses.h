//===- Clauses.h - Clauses of an op's text ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows an op's main operands is a list of clauses, each a keyword and
// what belongs to it, which may stand in any order. They are printed in one.
// Ops whose format is generated have an `oilist` of them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_CLAUSES_H
#define ATTN_DIALECT_ATTENTION_CLAUSES_H

#include "mlir/IR/OpImplementation.h"

#include <functional>
#include <initializer_list>

namespace mlir::attn {

/// Operands of one segment with their types, resolved once all are parsed.
struct OperandSegment {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc; ///< Of the list, for messages.
};

/// `( %operands : types )`.
ParseResult parseOperandsAndTypes(OpAsmParser &parser, OperandSegment &segment);

/// Resolves the operands of all segments, in the order of the op, and gives the
/// size of each.
ParseResult resolveSegments(OpAsmParser &parser, OperationState &state,
                            ArrayRef<OperandSegment *> segments,
                            MutableArrayRef<int32_t> sizes);

struct Clause {
  StringRef keyword;
  std::function<ParseResult()> parse; ///< What stands behind the keyword.
};

/// `keyword ( %operand : type )`.
Clause operandClause(OpAsmParser &parser, StringRef keyword,
                     OperandSegment &segment);
/// `keyword ( %operands : types )`.
Clause operandsClause(OpAsmParser &parser, StringRef keyword,
                      OperandSegment &segment);

/// Parses those of the clauses that are there, each at most once.
ParseResult parseClauses(OpAsmParser &parser, ArrayRef<Clause> clauses);

/// An error if a word follows that is none of these keywords, which are over,
/// and begins no operation either. Prints nothing.
ParseResult parseEndOfClauses(OpAsmParser &parser,
                              ArrayRef<StringRef> keywords);
ParseResult parseEndOfClauses(OpAsmParser &parser,
                              std::initializer_list<StringRef> keywords);
void printEndOfClauses(OpAsmPrinter &printer, Operation *op,
                       std::initializer_list<StringRef> keywords);

/// The dictionary behind the clauses, which holds nothing that has a clause.
ParseResult parseAttributes(OpAsmParser &parser, OperationState &state);

/// ` keyword(%operands : types)`, if there are any.
void printOperandsClause(OpAsmPrinter &printer, StringRef keyword,
                         ValueRange operands);
/// ` keyword(number)`, if there is one.
void printNumberClause(OpAsmPrinter &printer, StringRef keyword,
                       FloatAttr number);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_CLAUSES_H
