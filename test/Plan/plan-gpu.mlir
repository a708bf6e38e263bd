// RUN: attn-opt %s -attn-plan=workgroups -split-input-file -verify-diagnostics \
// RUN:   | FileCheck %s

!q = tensor<?x8x?x128xf16>

// Warps have 32 rows of f16 and bf16, and so many keys of a block as registers are
// left for.
// CHECK-LABEL: func.func @long
// CHECK: attn.plan = #attn.plan<layout = mma, heads = 1, rows = 128, lanes = 32, head_size = 128, keys = 32>
func.func @long(%q: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf16>

// What changes scores takes registers, too.
// CHECK-LABEL: func.func @score
// CHECK: lanes = 32, head_size = 64, keys = 32>
func.func @score(%q: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q) score softcap(20.0)
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf16>

// Tiles that a user has made small have more warps.
// CHECK-LABEL: func.func @small_tiles
// CHECK: rows = 64, lanes = 16, head_size = 64, keys = 64>
func.func @small_tiles(%q: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.plan = #attn.plan<rows = 64>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x144xf16>

// CHECK-LABEL: func.func @no_registers
// CHECK: rows = 64, lanes = 16, head_size = 144, keys = 16>
func.func @no_registers(%q: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %r : !q
}

// -----

!q = tensor<2x8x300x64xf16>

// 48 tiles of 128 queries are too few for the GPU of the default, and enough for one
// of 40 multiprocessors.
// CHECK-LABEL: func.func @few_tiles
// CHECK: rows = 64, lanes = 16, head_size = 64, keys = 64>
func.func @few_tiles(%q: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %r : !q
}

// CHECK: module attributes {attn.target
// CHECK: rows = 128, lanes = 32, head_size = 64, keys = 64>
module attributes {attn.target = #attn.target<gpu_multiprocessors = 40>} {
func.func @enough_tiles(%q: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %r : !q
}
}

// -----

!q = tensor<?x8x?x64xf16>

func.func @lanes(%q: !q) -> !q {
  // expected-error @below {{attn.plan: lanes: expected at most 32 on a GPU, got 64}}
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.plan = #attn.plan<lanes = 64>}
  return %r : !q
}

// -----

!q = tensor<?x8x1x64xf16>
!k = tensor<?x2x?x64xf16>
!longq = tensor<?x8x1x128xf16>
!longk = tensor<?x2x?x128xf16>
!manyq = tensor<?x8x8x128xf16>

// Of one query, a workgroup has one warp: blocks are so small that an A100 has room for
// eight of them, with a block each. Of two warps, there are four workgroups.
// CHECK: module attributes {attn.target
module attributes {attn.target = #attn.target<gpu_shared_bytes = 167936>} {
// CHECK-LABEL: func.func @one_query
// CHECK: rows = 4, lanes = 16, head_size = 64, keys = 64, chunk = 256>
func.func @one_query(%q: !q, %k: !k) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
  return %r : !q
}
// CHECK-LABEL: func.func @one_query_of_long_heads
// CHECK: rows = 4, lanes = 16, head_size = 128, keys = 32, chunk = 256>
func.func @one_query_of_long_heads(%q: !longq, %k: !longk) -> !longq {
  %r = attn.attention ins(%q, %k, %k : !longq, !longk, !longk) outs(%q : !longq)
  return %r : !longq
}
// CHECK-LABEL: func.func @eight_queries
// CHECK: rows = 32, lanes = 16, head_size = 128, keys = 64, chunk = 256>
func.func @eight_queries(%q: !manyq, %k: !longk) -> !manyq {
  %r = attn.attention ins(%q, %k, %k : !manyq, !longk, !longk) outs(%q : !manyq)
  return %r : !manyq
}
}
