//===- DestinationStyle.td - Ops in destination style ------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What ops in destination style define in C++: results have the types of `outs`
// (A9, C8, D4, L10, M4, N5, P6, R5, T11).
//

#ifndef ATTN_DIALECT_SHARED_DESTINATIONSTYLE_TD
#define ATTN_DIALECT_SHARED_DESTINATIONSTYLE_TD

defvar inferDestinationTypes = [{
  LogicalResult $cppClass::inferReturnTypes(MLIRContext *,
                                            std::optional<Location>,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
    inferResultTypes(adaptor.getOuts(), types);
    return success();
  }
}];

defvar reifyDestinations = [{
  LogicalResult
  $cppClass::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &reified) {
    reifyDestinationShapes(builder, getLoc(), getOuts(), reified);
    return success();
  }
}];

/// Of ops that say what operands they read.
defvar destinationEffects = [{
  void $cppClass::getEffects(MemoryEffectList &effects) {
    auto reads = [&](OpOperand &operand) { return readsOperand(operand); };
    getDestinationEffects(*this, reads, effects);
  }
}];

// The right side of `#` is text where it names a `defvar`.
defvar destinationDefinition = !strconcat(
    inferDestinationTypes, reifyDestinations, destinationEffects);

#endif // ATTN_DIALECT_SHARED_DESTINATIONSTYLE_TD
