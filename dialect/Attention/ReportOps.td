//===- ReportOps.td - Failures with numbers ----------------*- tablegen -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_REPORTOPS_TD
#define ATTN_DIALECT_ATTENTION_REPORTOPS_TD

include "dialect/AttnDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_ReportOp : Attn_Op<"report", [
    MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "fails a call with a message that has numbers";
  let description = [{
    If `failed` is true, the call fails, at its end or where a `cf.assert` ends
    it before, with this message. Of all that is reported for one region, the
    least counts, in the order of `reason`, `numbers` and `position`, which is
    the same on every pipeline and for any number of threads. What was computed
    meanwhile is not specified.

    `reason` is the number of one of `reasons`, where `{0}` to `{3}` stand for
    `numbers`, of which there are at most four. `position` is empty or `b`, `h`,
    `p` and `j` of a score or mask region, which the message names. Lowerings of
    regions make this op, and checks of operands, before their `cf.assert`.

    ```mlir
    attn.report %undefined, "'attn.attention' op 'mask' region"
        with (%first, %second) as %reason of ["index {0} of {1}"]
        at (%b, %h, %p, %j)
    ```
  }];
  let arguments = (ins I1:$failed, StrAttr:$message, Variadic<I64>:$numbers,
    Index:$reason, StrArrayAttr:$reasons, Variadic<Index>:$position);
  let assemblyFormat = [{
    $failed `,` $message `with` `(` $numbers `)` `as` $reason `of` $reasons
    (`at` `(` $position^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    static constexpr unsigned kMaxNumbers = 4;
  }];
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_ATTENTION_REPORTOPS_TD
