//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What is computed of captured tensors before their elements are loaded.
//

#ifndef ATTN_DIALECT_ATTENTION_TABLEOPS_TD
#define ATTN_DIALECT_ATTENTION_TABLEOPS_TD

include "dialect/AttnDialect.td"
include "dialect/Shared/DestinationStyle.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/RuntimeVerifiableOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ValueBoundsOpInterface.td"

def Attn_BlockRangeOp : Attn_Op<"block_range", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>]> {
  let summary = "the range of the numbers in each block of a table";
  let description = [{
    Cuts `table` into blocks of the sizes `blocks`, one for each dimension, and
    writes the smallest and the largest element of every block into the two
    `outs`, which have the rank and the element type of the table and
    `ceildiv(size, block)` elements in each dimension; the last block of a
    dimension may be smaller. Elements are integers of at most 64 bits or
    `index` and compare as signed numbers, except that true is larger than
    false; or floats, f16, bf16, f32 or f64: of a block with a NaN, both are.

    The mask analysis reads it as the values that a load can have in a block of
    positions: where the documents of some queries are 3 to 3 and those of some
    keys 1 to 2, no query sees a key of its own document.

    ```mlir
    %low, %high = attn.block_range ins(%documents : tensor<2x?xi32>)
        outs(%l, %h : tensor<2x?xi32>, tensor<2x?xi32>) blocks [1, 64]
        -> tensor<2x?xi32>, tensor<2x?xi32>
    ```
  }];
  let arguments = (ins AnyShaped:$table, Variadic<AnyShaped>:$outs,
                       DenseI64ArrayAttr:$blocks);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $table `:` type($table) `)` `outs` `(` $outs `:` type($outs) `)`
    `blocks` $blocks attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    Value getLow() { return getOuts()[0]; }
    Value getHigh() { return getOuts()[1]; }
    /// Whether there are ranges of elements of this type.
    static bool isElementType(Type type) {
      return type.isIndex() || type.isF16() || type.isBF16() || type.isF32() ||
             type.isF64() ||
             (type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64);
    }
    bool readsOperand(OpOperand &operand) { return !isDpsInit(&operand); }
    MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let extraClassDefinition = destinationEffects;
  let hasVerifier = 1;
}

def Attn_WithBlockRangeOp : Attn_Op<"with_block_range", [
    Pure, AllTypesMatch<["table", "result"]>,
    DeclareOpInterfaceMethods<RuntimeVerifiableOpInterface>,
    DeclareOpInterfaceMethods<ValueBoundsOpInterface,
                              ["populateBoundsForShapedValueDim"]>]> {
  let summary = "a table, and the range of the numbers in each of its blocks";
  let description = [{
    Gives `table`, of which the mask analysis then knows the ranges of blocks as
    if an `attn.block_range` had computed them: `ranges[0, ...]` are the smallest
    elements and `ranges[1, ...]` the largest. So many kernels can share what was
    computed once.

    Sizes of blocks are powers of two, so that another size has another number of
    blocks, or gives the same ranges; a number that does not fit the table is an
    error when the kernel runs. That the ranges are those of the elements is not
    checked. If they are not, keys that the mask keeps may be skipped, and those
    that it hides may count.

    ```mlir
    %summarized = attn.with_block_range %documents, %ranges blocks [1, 32]
        : tensor<2x?xi32>, tensor<2x2x?xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$ranges,
                       DenseI64ArrayAttr:$blocks);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $table `,` $ranges `blocks` $blocks attr-dict `:` type($table) `,`
    type($ranges)
  }];
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_ATTENTION_TABLEOPS_TD
