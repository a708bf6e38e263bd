//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTNENUMS_TD
#define ATTN_DIALECT_ATTNENUMS_TD

include "mlir/IR/EnumAttr.td"

def Attn_RopePairing : I32EnumAttr<"RopePairing", "which elements rotate", [
    I32EnumAttrCase<"HalfSplit", 0, "half_split">,
    I32EnumAttrCase<"Interleaved", 1, "interleaved">]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_GateKind : I32EnumAttr<"GateKind", "what a number of a gate is for", [
    I32EnumAttrCase<"Heads", 0, "heads">,
    I32EnumAttrCase<"Elements", 1, "elements">]> {
  let cppNamespace = "::mlir::attn";
}

#endif // ATTN_DIALECT_ATTNENUMS_TD
