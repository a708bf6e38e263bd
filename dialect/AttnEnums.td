//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTNENUMS_TD
#define ATTN_DIALECT_ATTNENUMS_TD

include "dialect/AttnDialect.td"
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

def Attn_OnlineLayout : I32Enum<"OnlineLayout", "a layout of online attention", [
    I32EnumCase<"Lanes", 0, "lanes">,
    I32EnumCase<"Rows", 1, "rows">,
    I32EnumCase<"Pairs", 2, "pairs">,
    I32EnumCase<"Mma", 3, "mma">]> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    How the operands of `attn.online_attention` lie, and so which instructions
    multiply them:

    - `lanes`: the lanes of vectors are queries;
    - `rows`: they are elements of a head, for no more queries than lanes;
    - `pairs`: they are queries, and pairs of bf16 are multiplied and added, by
      dot products or tiles of a CPU;
    - `mma`: a tile of queries is a matrix of rows, for the matrix units of a
      GPU. These take f16 and bf16; f32 is multiplied by lanes.
  }];
}

def Attn_OnlineLayoutAttr : EnumAttr<Attn_Dialect, Attn_OnlineLayout, "layout"> {
  let assemblyFormat = "`<` $value `>`";
}

def Attn_Packs : I32Enum<"Packs", "where packs of rows are made", [
    I32EnumCase<"Block", 0, "block">,
    I32EnumCase<"Shared", 1, "shared">,
    I32EnumCase<"Kept", 2, "kept">]> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    Where what tiles multiply in packs is packed, the values of attention in
    pairs or the rows of a projection:

    - `block`: in each block of keys, by the tile that reads it;
    - `shared`: before the parallel loop over tiles, for all of them;
    - `kept`: in the tiles, each of which keeps packs for the next of its thread.
  }];
}

def Attn_Reshard : I32EnumAttr<"Reshard", "how a tensor is distributed again", [
    I32EnumAttrCase<"RowsToHeads", 0, "rows_to_heads">,
    I32EnumAttrCase<"HeadsToRows", 1, "heads_to_rows">,
    I32EnumAttrCase<"RowsToWhole", 2, "rows_to_whole">,
    I32EnumAttrCase<"WholeToRows", 3, "whole_to_rows">]> {
  let cppNamespace = "::mlir::attn";
}

#endif // ATTN_DIALECT_ATTNENUMS_TD
