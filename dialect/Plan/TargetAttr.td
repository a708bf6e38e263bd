//===----------------------------------------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_PLAN_TARGETATTR_TD
#define ATTN_DIALECT_PLAN_TARGETATTR_TD

include "dialect/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Attn_TargetNumber<string value>
    : DefaultValuedParameter<"int64_t", value>;
def Attn_TargetFlag : DefaultValuedParameter<"bool", "false">;

def Attn_TargetAttr : AttrDef<Attn_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the machine that kernels are compiled for";
  let description = [{
    As `attn.target` of a module, says what lowerings may know of the machine: the
    runtime writes it, `attn-opt --attn-target` does, or a user. What is not written
    is that of the default, a machine with AVX2 and FMA: output of the tools does not
    depend on where they run.

    ```mlir
    module attributes {attn.target = #attn.target<
        vector_bits = 512, vector_registers = 32, scalef = true, bf16_dot = true,
        l2_bytes = 1048576>} {}
    ```

    | name | |
    |---|---|
    | `vector_bits` | width of a vector register: 128, 256 or 512 |
    | `vector_registers` | number of them: 8, 16 or 32 |
    | `scalef` | `x * 2^floor(y)` is one instruction (AVX512F's `vscalef`), as is `vreduce` |
    | `bf16_dot` | dot products of pairs of bf16, on vectors of 512 bits (AVX512-BF16), beat converting them to f32 |
    | `bf16_tiles` | products of tiles of pairs of bf16 (AMX-BF16), besides AVX512-BF16 |
    | `i8_dot` | dot products of four i8, unsigned and signed (AVX512-VNNI, or AVX-VNNI on 256 bits) |
    | `quantize_queries` | not the machine's, but its user's choice: keys in caches of i8 are multiplied as integers where there are `i8_dot`, with queries that are rounded to i8; faster, and less exact |
    | `cores` | cores, each of which may run a thread of a kernel |
    | `l1_bytes`, `l2_bytes` | what one core has of a cache of the first two levels: of one that several share, its part; `l2_bytes = 0`: there is no second one |
    | `line_bytes` | size of a line of them, which is fetched as a whole |
    | `page_bytes` | size of a page of virtual memory |
    | `memory_ns`, `memory_gbs` | time from a prefetch to its line where the memory is busy, and the bytes that one core reads from it in a nanosecond: their product is what has to be under way, beside what the processor's own prefetchers see to: the runtime writes 128 and 16 for Intel's Xeons |
    | `l3_ns` | time from a prefetch to its line in the cache behind those, which cores share; the runtime writes 80 for Intel's Xeons |
    | `fetch_level` | the level of cache that lines which are fetched ahead go to: 2, or 1 where the first has as many under way; the runtime writes 1, and a `memory_ns` of 250, for AMD's Zen 5 |
    | `lane_gflops` | floating-point operations in a nanosecond that attention of many rows computes on a core for each lane of f32 |
    | `kernel_ns` | time that an attention takes besides these, while its loops begin and end |
    | `gpu_multiprocessors` | multiprocessors of the GPU, each of which computes several workgroups at once |
    | `gpu_shared_bytes` | workgroup memory of one of them |
    | `gpu_warpgroups` | four warps multiply together, and read factors from workgroup memory on their own (`wgmma` of sm_90a) |

    The GPU of the default has as much workgroup memory as sm_86, the least of all, and
    128 multiprocessors.

    DLTI's specifications have no entry for most of these, and none with a default.
  }];
  let parameters = (ins
    Attn_TargetNumber<"256">:$vector_bits,
    Attn_TargetNumber<"16">:$vector_registers,
    Attn_TargetFlag:$scalef, Attn_TargetFlag:$bf16_dot,
    Attn_TargetFlag:$bf16_tiles, Attn_TargetFlag:$i8_dot,
    Attn_TargetFlag:$quantize_queries,
    Attn_TargetNumber<"16">:$cores,
    Attn_TargetNumber<"1 << 15">:$l1_bytes,
    Attn_TargetNumber<"1 << 20">:$l2_bytes,
    Attn_TargetNumber<"64">:$line_bytes,
    Attn_TargetNumber<"4096">:$page_bytes,
    Attn_TargetNumber<"500">:$memory_ns,
    Attn_TargetNumber<"32">:$memory_gbs,
    Attn_TargetNumber<"20">:$l3_ns,
    Attn_TargetNumber<"2">:$fetch_level,
    Attn_TargetNumber<"8">:$lane_gflops,
    Attn_TargetNumber<"20000">:$kernel_ns,
    Attn_TargetNumber<"128">:$gpu_multiprocessors,
    Attn_TargetNumber<"100 << 10">:$gpu_shared_bytes,
    Attn_TargetFlag:$gpu_warpgroups);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral kModuleAttr = "attn.target";
    /// Lanes of f32 in a vector register.
    int64_t getLanes() const { return getVectorBits() / 32; }
    /// Whether bf16 is multiplied in pairs.
    bool hasPairs() const {
      return getVectorBits() == 512 && (getBf16Dot() || getBf16Tiles());
    }
    /// How many elements of rows are then multiplied at once.
    int64_t getPairMultiple() const { return getBf16Tiles() ? 32 : 2; }
    /// Numbers of i8 that one dot product takes; 0 if there is none. Vectors of
    /// 128 bits have no such instructions.
    int64_t getBytesOfI8Dot() const {
      return getI8Dot() && getVectorBits() > 128 ? getVectorBits() / 8 : 0;
    }
  }];
}

#endif // ATTN_DIALECT_PLAN_TARGETATTR_TD
