//===- ItemReads.h - What named masks and scores read -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a name means depends on the op's sizes and its offset, and clauses may
// stand in any order: it is finished when all of them are parsed.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_ITEMREADS_H
#define ATTN_DIALECT_ATTENTION_ITEMREADS_H

#include "dialect/Attention/Clauses.h"

namespace mlir::attn {

/// What a dimension of a tensor is indexed by.
enum class Axis { Batch, Head, Position, Row, Key };

/// A dimension of a tensor that a named mask or score reads.
struct ItemRead {
  SMLoc loc;
  std::string reader; ///< "boolean(%t)"
  int64_t dim, size;
  Axis axis;
  bool broadcasts; ///< A size of 1 stands for any.
};

/// A score or a mask region, with the operands that its last arguments are.
struct ParsedRegion {
  Region *region = nullptr;
  OperandSegment captures;
  SmallVector<ItemRead> reads;
  /// The results stand for the row of the query until the offset is known.
  struct PendingRow {
    SMLoc loc;
    std::string reader;
    Operation *row;
  };
  SmallVector<PendingRow> rows;
};

/// What an op says of its calls. Sizes may be dynamic; batch entries are
/// sequences, whose lengths are dynamic, where a batch is packed.
struct CallShape {
  int64_t batch, heads, queries, keys;
  const OperandSegment &offset;    ///< Empty if there is none.
  const OperandSegment &sequences; ///< Likewise, or cumulative lengths.
  const OperandSegment &counts;    ///< Likewise.
  bool bottomRight = false;

  bool isPacked() const { return !sequences.types.empty(); }
  bool arePackedKeys() const { return sequences.types.size() == 2; }
  /// Corrects what packing changes.
  void unpack();
};

/// A size of a type that need not be what the verifier expects.
int64_t getStaticSize(Type type, int64_t dim);

/// Puts rows in their place, and checks the sizes that are known.
ParseResult finishRegion(OpAsmParser &parser, ParsedRegion &parsed,
                         const CallShape &shape, unsigned firstIndex);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_ITEMREADS_H
