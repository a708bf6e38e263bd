//===- SplitIndexCasts.cpp - Casts of indices by way of i64 ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Upstream's canonicalization (MLIR 22.1, ArithCanonicalization.td, patterns
// IndexCastOfIndexCast and IndexCastUIOfIndexCastUI) replaces a cast of a cast
// by what was cast first wherever the outer types agree, without a look at the
// width in between: index -> i8 -> index becomes the identity, which loses the
// truncation, as does i128 -> index -> i128. The patterns should ask that the
// type in between has no fewer bits.
//

#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SPLITINDEXCASTS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// `type`, or a vector or tensor of its shape, with elements of i64.
static Type toI64(Type type) {
  Type i64 = IntegerType::get(type.getContext(), 64);
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(i64);
  return i64;
}

/// Makes a cast from index to few bits, or to many, or from many, one of i64
/// and one between integers. That from few bits loses nothing.
template <typename Cast, typename Extension>
static void splitCast(RewriterBase &rewriter, Cast op) {
  Type from = op.getIn().getType(), to = op.getType();
  if (isa<MemRefType, UnrankedMemRefType>(to))
    return;
  bool toIndex = isa<IndexType>(getElementTypeOrSelf(to));
  Type integer = getElementTypeOrSelf(toIndex ? from : to);
  unsigned width = integer.getIntOrFloatBitWidth();
  if (width == 64 || (toIndex && width < 64))
    return;
  rewriter.setInsertionPoint(op);
  if (toIndex) {
    Value low =
        arith::TruncIOp::create(rewriter, op.getLoc(), toI64(from), op.getIn());
    rewriter.replaceOpWithNewOp<Cast>(op, to, low);
    return;
  }
  Value wide =
      Cast::create(rewriter, op.getLoc(), toI64(to), op.getIn()).getResult();
  if (width < 64)
    rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, to, wide);
  else
    rewriter.replaceOpWithNewOp<Extension>(op, to, wide);
}

/// Makes casts in `root` between an index and an integer of another width than
/// 64 bits casts of i64 and truncations or extensions.
static void splitIndexCasts(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](Operation *op) {
    if (auto cast = dyn_cast<arith::IndexCastOp>(op))
      splitCast<arith::IndexCastOp, arith::ExtSIOp>(rewriter, cast);
    else if (auto cast = dyn_cast<arith::IndexCastUIOp>(op))
      splitCast<arith::IndexCastUIOp, arith::ExtUIOp>(rewriter, cast);
  });
}

namespace {
struct SplitIndexCasts : attn::impl::SplitIndexCastsBase<SplitIndexCasts> {
  void runOnOperation() override { splitIndexCasts(getOperation()); }
};
} // namespace
