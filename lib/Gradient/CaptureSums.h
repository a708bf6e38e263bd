//===- CaptureSums.h - Gradients of captures in tiles -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GRADIENT_CAPTURESUMS_H
#define ATTN_GRADIENT_CAPTURESUMS_H

#include "dialect/AttnOps.h"
#include "lib/Gradient/GradientBuilder.h"

#include <memory>

namespace mlir::attn {

/// Something that a capture's gradient is a sum over (G2): a load of it, or the
/// scalar itself.
struct CaptureVariable {
  size_t capture; ///< Number among those that have a gradient.
  Region slope;   ///< The derivative of the score with respect to it.
  /// Each yields an index of the load.
  std::vector<std::unique_ptr<Region>> indices;
  /// Where the positions of a block are loaded from.
  enum class Form {
    /// From one place.
    Uniform,
    /// From a place that the distance between query and key decides.
    Distances,
    /// Each index is of the query, or of the key and one of few.
    Groups,
    /// Those of a key from elements that follow each other, query by query.
    Queries,
    /// Those of a query from elements that follow each other, key by key.
    Keys,
    /// From anywhere.
    Scattered
  } form;
  /// Of groups: the indices that the key decides.
  SmallVector<size_t> ofKeys;
  /// Of distances and of groups: the number of its own sums.
  size_t ownSums = 0;
};

/// Finds the form of a variable that is loaded from `indices` in a score, of a
/// capture of `type`.
void findForm(Region &score, ArrayRef<Value> indices, ShapedType type,
              CaptureVariable &variable);

/// One head of the queries of a sequence.
struct CaptureHead {
  Value number, head, offset; ///< `b`, `h` and `p` of the first query.
  OpFoldResult queryLength, keyLength;
  Value firstHead; ///< Of the iteration.
};

/// One block of positions.
struct CaptureBlock {
  CaptureHead of;
  Value position, firstKey; ///< `p` and `j` of the first.
  OpFoldResult numQueries, numKeys;
};

/// The sums of one parallel iteration, which has some of the heads: of the
/// gradients of all captures that the op asks for.
class CaptureSums {
public:
  explicit CaptureSums(AttentionBackwardOp op) : op(op) {}

  /// Finds the variables; an error where the score has no derivative.
  LogicalResult prepare();
  bool isEmpty() const { return captures.empty(); }
  /// What is not summed in tiles; empty if all is.
  StringRef findObstacle();
  MutableArrayRef<std::unique_ptr<CaptureVariable>> getVariables() {
    return variables;
  }

  /// Tensors for the sums of `numIterations` of `numHeads` heads each, and
  /// which part of each one iteration has.
  SmallVector<Value> emitParts(GradientBuilder &b, int64_t numIterations);
  TensorBox getBox(GradientBuilder &b, size_t capture, Value part,
                   Value iteration, Value firstHead, int64_t numHeads);
  /// The gradients, from the sums of all iterations.
  Value emitGradient(GradientBuilder &b, size_t capture, Value part);

  // The sums of an iteration, of all captures, are carried along. Behind them
  // are those of the distances of a head, and of the groups of a tile, between
  // these calls.

  void beginHead(GradientBuilder &b, const CaptureHead &head, int64_t lanes,
                 SmallVectorImpl<Value> &sums);
  void endHead(GradientBuilder &b, const CaptureHead &head,
               SmallVectorImpl<Value> &sums);
  void beginTile(GradientBuilder &b, int64_t lanes,
                 SmallVectorImpl<Value> &sums);
  /// `block` has any keys.
  void endTile(GradientBuilder &b, const CaptureBlock &block,
               SmallVectorImpl<Value> &sums);
  /// Adds a block. `gradients`, `(K, L)`, are what to add at each position, 0
  /// where nothing is.
  void add(GradientBuilder &b, const CaptureVariable &variable, Value gradients,
           const CaptureBlock &block, MutableArrayRef<Value> sums);

private:
  struct Capture {
    Value operand, out;
    /// The dimension that every load indexes by the head, if there is one:
    /// iterations then have parts of the sums of their own.
    std::optional<size_t> headDim;
    int64_t getRank() const {
      return cast<ShapedType>(out.getType()).getRank();
    }
  };

  void findHeadDim(Capture &capture, size_t number);

  // Places.
  Value emitIndex(GradientBuilder &b, const CaptureVariable &variable,
                  size_t dim, const CaptureHead &of, Value p, Value j);
  SmallVector<Value> emitPlace(GradientBuilder &b,
                               const CaptureVariable &variable,
                               const CaptureHead &of, Value p, Value j);
  Value isInside(GradientBuilder &b, const CaptureVariable &variable,
                 size_t dim, Value index, OpFoldResult length = {});
  Value isInside(GradientBuilder &b, const CaptureVariable &variable,
                 ArrayRef<Value> at, OpFoldResult length = {});
  SmallVector<Value> toOwn(GradientBuilder &b, const CaptureVariable &variable,
                           SmallVector<Value> at, Value firstHead);
  Value addAt(GradientBuilder &b, const CaptureVariable &variable, Value added,
              ArrayRef<Value> at, Value firstHead, Value sums);
  Value addUnlessZero(GradientBuilder &b, const CaptureVariable &variable,
                      Value added, function_ref<SmallVector<Value>()> emitPlace,
                      Value firstHead, Value sums);

  // Sums of a tile.
  SmallVector<int64_t> getGroups(const CaptureVariable &variable) const;
  Value addGroups(GradientBuilder &b, const CaptureVariable &variable,
                  const CaptureBlock &block, Value lane, Value ofTile,
                  Value sums);

  // Blocks.
  Value sumKeys(GradientBuilder &b, Value gradients, const CaptureBlock &block);
  Value addBlock(GradientBuilder &b, const CaptureVariable &variable,
                 Value gradients, const CaptureBlock &block, Value sums);
  Value addToDistances(GradientBuilder &b, Value gradients,
                       const CaptureBlock &block, Value sums);
  Value addToGroups(GradientBuilder &b, const CaptureVariable &variable,
                    Value gradients, const CaptureBlock &block, Value sums);
  Value addPosition(GradientBuilder &b, const CaptureVariable &variable,
                    Value gradients, const CaptureBlock &block, Value row,
                    Value lane, Value sums);
  Value addLines(GradientBuilder &b, const CaptureVariable &variable,
                 Value gradients, const CaptureBlock &block, Value sums);

  AttentionBackwardOp op;
  SmallVector<Capture> captures;
  std::vector<std::unique_ptr<CaptureVariable>> variables;
};

} // namespace mlir::attn

#endif // ATTN_GRADIENT_CAPTURESUMS_H
