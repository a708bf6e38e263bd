//===- AllFiniteLowering.cpp - attn.all_finite as vector code -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A float is infinite or NaN if all bits of its exponent are set. So the
// largest of the bits without the sign, as an unsigned integer, decides.
//

#include "lib/CPU/AttnToVector/AttnToVector.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

class AllFiniteLowering {
public:
  AllFiniteLowering(AllFiniteOp op, TargetAttr target)
      : source(op.getSource()), type(cast<MemRefType>(source.getType())),
        floatType(cast<FloatType>(type.getElementType())), b(op, target, 1),
        lanes(getLanes(type, std::max<int64_t>(1, target.getVectorBits() /
                                                      floatType.getWidth()))),
        bits(b.getIntegerType(floatType.getWidth())) {}

  Value lower() {
    auto vector = VectorType::get(lanes, bits);
    Value zeros = b.integer(vector, 0), zero = b.integer(bits, 0);
    SmallVector<Value> largest = buildLoops({}, {zeros, zero});
    Value all = b.create<vector::ReductionOp>(vector::CombiningKind::MAXUI,
                                              largest[0], largest[1]);
    APInt infinity =
        APFloat::getInf(floatType.getFloatSemantics()).bitcastToAPInt();
    Value limit = b.constant(b.getIntegerAttr(bits, infinity));
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, all, limit);
  }

private:
  /// Those of a register, or of the few that a row has.
  static int64_t getLanes(MemRefType type, int64_t width) {
    constexpr int64_t kRegisters = 4;
    int64_t row = type.getRank() > 0 ? type.getShape().back() : 0;
    bool fits = row > 0 && row % width == 0 && row <= kRegisters * width;
    return fits ? row : width;
  }

  /// Loops over the dimensions after `outer`, carrying the largest bits of each
  /// lane and those of single elements.
  SmallVector<Value> buildLoops(ArrayRef<Value> outer, ValueRange carried) {
    int64_t dim = int64_t(outer.size());
    SmallVector<Value> indices(outer);
    if (dim == type.getRank())
      return {carried[0], include(load(indices, bits), carried[1])};
    Value zero = b.index(0);
    Value size = b.createOrFold<memref::DimOp>(source, dim);
    indices.emplace_back();
    if (dim + 1 < type.getRank())
      return b.loop(zero, size, 1, carried, [&](Value i, ValueRange carried) {
        indices.back() = i;
        return buildLoops(indices, carried);
      });

    Value whole = zero, vectors = carried[0];
    if (type.isLastDimUnitStride()) {
      auto vector = VectorType::get(lanes, bits);
      Value rest = b.remUI(size, lanes);
      whole = b.subI(size, rest);
      auto body = [&](Value i, ValueRange carried) -> SmallVector<Value> {
        indices.back() = i;
        return {include(load(indices, vector), carried[0])};
      };
      vectors = b.loop(zero, whole, lanes, vectors, body).front();
    }
    auto body = [&](Value i, ValueRange carried) -> SmallVector<Value> {
      indices.back() = i;
      return {include(load(indices, bits), carried[0])};
    };
    Value scalars = b.loop(whole, size, 1, carried[1], body).front();
    return {vectors, scalars};
  }

  /// The bits of elements, as `bitsType`.
  Value load(ValueRange indices, Type bitsType) {
    Value loaded;
    if (auto vector = dyn_cast<VectorType>(bitsType))
      loaded =
          b.create<vector::LoadOp>(vector.clone(floatType), source, indices);
    else
      loaded = b.create<memref::LoadOp>(source, indices);
    return b.create<arith::BitcastOp>(bitsType, loaded);
  }

  Value include(Value loaded, Value largest) {
    APInt mask = APInt::getSignedMaxValue(floatType.getWidth());
    Type type = loaded.getType();
    Value magnitudes = b.integer(type, mask.getSExtValue());
    Value magnitude = b.create<arith::AndIOp>(loaded, magnitudes);
    return b.create<arith::MaxUIOp>(magnitude, largest);
  }

  Value source;
  MemRefType type;
  FloatType floatType;
  LaneBuilder b;
  int64_t lanes;
  Type bits;
};

} // namespace

LogicalResult attn::lowerAllFinite(AllFiniteOp op, TargetAttr target) {
  if (!isa<MemRefType>(op.getSource().getType()))
    return op.emitOpError()
           << "is lowered on memrefs only, got " << op.getSource().getType();
  op.replaceAllUsesWith(AllFiniteLowering(op, target).lower());
  op.erase();
  return success();
}
