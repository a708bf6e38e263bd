//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What warps of a GPU do together, and no other dialect has.
//

#ifndef ATTN_DIALECT_DEVICE_WARPOPS_TD
#define ATTN_DIALECT_DEVICE_WARPOPS_TD

include "dialect/AttnDialect.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_AnyInWarpOp : Attn_Op<"any_in_warp", [Pure]> {
  let summary = "whether something is true of a row of this warp";
  let description = [{
    Of what is known of each row of a workgroup's tile, or of each element: true in the warps that have a
    row of which it is true, or an element. In a branch on it, warps compute what changes nothing in
    the rows of others. Nothing there waits for all warps, which may not come.
  }];
  let arguments = (ins VectorOfRankAndType<[1, 2], [I1]>:$rows);
  let results = (outs I1:$result);
  let assemblyFormat = "$rows attr-dict `:` type($rows)";
}

def Attn_ProducersOp : Attn_Op<"producers", [
    SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "what the producers of a workgroup execute";
  let description = [{
    In a launch with `attn.producers`, the last so many threads execute what is in
    these operations, with what that needs, and nothing else; the others execute the
    rest.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def Attn_ReadPanelsOp : Attn_Op<"read_panels", [MemoryEffects<[MemRead]>]> {
  let summary = "a factor of a product, where wgmma reads it";
  let description = [{
    A matrix (N, D) in workgroup memory, in D / 64 panels (N, 64) of 16 bits, one
    behind another: rows of a panel have 128 bytes, and the 16 of elements `8 c` to
    `8 c + 7` of row `r` are those from `8 (c ^ r % 8)` on, so that eight rows are in
    different banks. This is PTX's swizzle of 128 bytes (PTX ISA 8.5, 9.7.15.5.1). The
    matrix begins at a multiple of 1,024 bytes, and N is a multiple of 8.
  }];
  let arguments = (ins MemRefRankOf<[F16, BF16], [3]>:$panels);
  let results = (outs VectorOfRankAndType<[2], [F16, BF16]>:$result);
  let assemblyFormat = "$panels attr-dict `:` type($panels) `to` type($result)";
  let hasVerifier = 1;
}

def Attn_FactorPair : AnyTypeOf<[
    VectorOfLengthAndType<[2], [F16]>, VectorOfLengthAndType<[2], [BF16]>]>;

def Attn_TransposeInWarpOp : Attn_Op<"transpose_in_warp", [
    Pure, SameOperandsAndResultType]> {
  let summary = "the transpose of 8x8 elements that a warp has";
  let description = [{
    PTX's `movmatrix` (PTX ISA 8.5, 9.7.14.5.16): lane `4 g + t` has columns `2 t` and
    `2 t + 1` of row `g`. All lanes of a warp execute it.
  }];
  let arguments = (ins Attn_FactorPair:$pair);
  let results = (outs Attn_FactorPair:$result);
  let assemblyFormat = "$pair attr-dict `:` type($pair)";
}

def Attn_WarpgroupMmaOp : Attn_Op<"warpgroup_mma", [
    AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a product of 64 rows that a warpgroup begins to compute";
  let description = [{
    Four warps, with 128 threads, begin to add the product of a matrix in their
    registers and one in workgroup memory to `sums`, or to 0 if there are none: PTX's
    `wgmma.fence`, a `wgmma.mma_async` m64nNk16 with f32 sums for each of `steps`, and
    `wgmma.commit_group` (PTX ISA 8.5, 9.7.15). All threads of the warpgroup execute
    the same operation.

    Warp `w` has rows `16 w` to `16 w + 15`. Lane `4 g + t` has, of rows `g + 8 h` and
    columns `8 n + 2 t + e`, `sums[4 n + 2 h + e]`, and, of the 16 columns of the first
    factor that step `s` takes, the pair `lhs[4 s + 2 c + h]` of columns `8 c + 2 t`
    and the next one.

    Instead of pairs, `lhs` may be a matrix descriptor of the first factor in workgroup
    memory, 64 rows of `element_type`, K-major; `lhs_steps` is what each step adds to it.

    `rhs` is a matrix descriptor of the second factor, N `columns` and 16 rows for each
    step, with the rows of columns next to each other (K-major), or, if `transposed`,
    with the columns of a row (MN-major). `steps` is what each step adds to it, in
    units of 16 bytes.

    The results, and what is read of workgroup memory, may not be touched before
    `attn.warpgroup_wait` on the results.
  }];
  let arguments = (ins
    Variadic<AnyTypeOf<[Attn_FactorPair, I64]>>:$lhs, I64:$rhs,
    Variadic<F32>:$sums, I64Attr:$columns, DenseI64ArrayAttr:$steps,
    UnitAttr:$transposed, OptionalAttr<DenseI64ArrayAttr>:$lhs_steps,
    OptionalAttr<TypeAttr>:$element_type);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = [{
    `lhs` `(` $lhs `:` type($lhs) `)` `rhs` `(` $rhs `)`
    (`transposed` $transposed^)? (`sums` `(` $sums^ `:` type($sums) `)`)?
    `columns` $columns `steps` $steps
    (`lhs_steps` $lhs_steps^ `of` $element_type)? attr-dict `:` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether both factors are in workgroup memory.
    bool readsBoth() { return getLhsSteps().has_value(); }
    /// The type of elements of the factors.
    ::mlir::Type getFactorType() {
      if (readsBoth())
        return *getElementType();
      return ::llvm::cast<::mlir::VectorType>(getLhs().front().getType())
          .getElementType();
    }
  }];
}

def Attn_WarpgroupWaitOp : Attn_Op<"warpgroup_wait", [
    AllTypesMatch<["sums", "results"]>]> {
  let summary = "waits for products of a warpgroup";
  let description = [{
    Waits until all but the `pending` youngest `attn.warpgroup_mma` of this warp have
    ended: PTX's `wgmma.wait_group`. `sums` are the results of one that has, and the
    op's results what it computed. All of a warp execute the same operation.
  }];
  let arguments = (ins Variadic<F32>:$sums, I64Attr:$pending);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = "$sums `pending` $pending attr-dict `:` type($sums)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// As many as `wgmma.wait_group` may leave pending, at most.
    static constexpr int64_t kMostPending = 7;
  }];
}

#endif // ATTN_DIALECT_DEVICE_WARPOPS_TD
