//===- ReportOps.td - What regions could not compute -------*- tablegen -*-===//
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

def Attn_ReportUndefinedOp : Attn_Op<"report_undefined", [
    MemoryEffects<[MemWrite]>]> {
  let summary = "fails a call where the value of a region is undefined";
  let description = [{
    If `undefined` is true, the call fails, at its end: of all that is reported
    for one region, the least counts, in the order of `reason`, `first` and
    `second`, which is the same on every pipeline and for any number of threads.
    What was computed meanwhile is not specified.

    `reason` is the number of one of `reasons`, where `{0}` and `{1}` stand for
    `first` and `second`. Lowerings of regions make this op.

    ```mlir
    attn.report_undefined %undefined, "'attn.attention' op 'mask' region"
        with (%first, %second) as %reason of ["index {0} of {1}"]
    ```
  }];
  let arguments = (ins I1:$undefined, StrAttr:$message, I64:$first, I64:$second,
    Index:$reason, StrArrayAttr:$reasons);
  let assemblyFormat = [{
    $undefined `,` $message `with` `(` $first `,` $second `)` `as` $reason
    `of` $reasons attr-dict
  }];
  let hasCanonicalizeMethod = 1;
}

#endif // ATTN_DIALECT_ATTENTION_REPORTOPS_TD
