//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARDING_LINKATTR_TD
#define ATTN_DIALECT_SHARDING_LINKATTR_TD

include "dialect/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Attn_LinkAttr : AttrDef<Attn_Dialect, "Link"> {
  let mnemonic = "link";
  let summary = "what messages between ranks take";
  let description = [{
    As `attn.link` of a `shard.grid`, says what a message of `n` bytes takes between
    ranks that all send at the same time: `latency_ns + 1000 * n / bandwidth_mbs`
    nanoseconds. Besides, an exchange takes `step_ns`, until ranks that wait for each
    other have come together. Where ranks are `shared` ones, processes of one machine,
    the cores that compute copy messages, too, so that nothing of these is hidden. The
    runtime writes what it measured when the ranks met; the default is that of two
    processes of one machine.

    ```mlir
    shard.grid @ranks(shape = 4) {attn.link = #attn.link<latency_ns = 8000, bandwidth_mbs = 50000>}
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "2000">:$latency_ns,
    DefaultValuedParameter<"int64_t", "4000">:$bandwidth_mbs,
    DefaultValuedParameter<"int64_t", "20000">:$step_ns,
    DefaultValuedParameter<"bool", "false">:$shared);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral kName = "attn.link";
  }];
}

#endif // ATTN_DIALECT_SHARDING_LINKATTR_TD
