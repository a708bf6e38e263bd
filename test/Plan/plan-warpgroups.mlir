// RUN: attn-opt %s -attn-target="{gpu_warpgroups = true}" -attn-plan=workgroups \
// RUN:   -split-input-file -verify-diagnostics | FileCheck %s

!long = tensor<?x8x?x128xf16>
!short = tensor<?x8x?x64xbf16>
!mixed = tensor<?x8x?x50xf16>

// Four warps multiply many queries of 16 bits together, in blocks of 128 keys.
// CHECK-LABEL: func.func @long
// CHECK: attn.plan = #attn.plan<layout = mma, heads = 1, rows = 128, lanes = 16, head_size = 128, keys = 128, warpgroups = true>
func.func @long(%q: !long) -> !long {
  %r = attn.attention ins(%q, %q, %q : !long, !long, !long) outs(%q : !long)
      score softcap(20.0) mask causal
  return %r : !long
}

// CHECK-LABEL: func.func @short
// CHECK: rows = 128, lanes = 16, head_size = 64, keys = 128, warpgroups = true>
func.func @short(%q: !short) -> !short {
  %r = attn.attention ins(%q, %q, %q : !short, !short, !short) outs(%q : !short)
  return %r : !short
}

// Rows are padded to whole panels; keys and values are of sizes of their own.
// CHECK-LABEL: func.func @padded
// CHECK: lanes = 16, head_size = 50, keys = 128, warpgroups = true>
func.func @padded(%q: !mixed, %v: !long) -> !long {
  %r = attn.attention ins(%q, %q, %v : !mixed, !mixed, !long) outs(%v : !long)
  return %r : !long
}

// What is said of tiles stays.
// CHECK-LABEL: func.func @said
// CHECK: rows = 128, lanes = 16, head_size = 64, keys = 64, warpgroups = true>
func.func @said(%q: !short) -> !short {
  %r = attn.attention ins(%q, %q, %q : !short, !short, !short) outs(%q : !short)
      {attn.plan = #attn.plan<rows = 128, lanes = 16, keys = 64, warpgroups = true>}
  return %r : !short
}

// -----

!f32 = tensor<?x8x?x64xf32>
!f80 = tensor<?x8x?x80xf16>
!f16 = tensor<?x8x?x64xf16>
!few = tensor<?x8x64x64xf16>
!tiles = tensor<1x8x300x64xf16>

// CHECK-LABEL: func.func @wide
// CHECK-NOT: warpgroups
func.func @wide(%q: !f32) -> !f32 {
  %r = attn.attention ins(%q, %q, %q : !f32, !f32, !f32) outs(%q : !f32)
  return %r : !f32
}

// 80 elements are no whole panels.
func.func @head(%q: !f80) -> !f80 {
  %r = attn.attention ins(%q, %q, %q : !f80, !f80, !f80) outs(%q : !f80)
  return %r : !f80
}
func.func @value(%q: !f16, %v: !f80) -> !f80 {
  %r = attn.attention ins(%q, %q, %v : !f16, !f16, !f80) outs(%v : !f80)
  return %r : !f80
}

func.func @dropout(%q: !f16, %seed: i64, %call: i32) -> !f16 {
  %r = attn.attention ins(%q, %q, %q : !f16, !f16, !f16) outs(%q : !f16)
      dropout(0.5, %seed, %call)
  return %r : !f16
}

func.func @cache(%q: !f16, %c: tensor<?x8x4096x64xf16>, %n: tensor<?xi64>,
                 %size: index) -> !f16 {
  %k = attn.cache_read ins(%c : tensor<?x8x4096x64xf16>) lengths(%n : tensor<?xi64>)
      size(%size) -> !f16
  %r = attn.attention ins(%q, %k, %k : !f16, !f16, !f16) outs(%q : !f16)
  return %r : !f16
}

// A tile of half as many rows has them all.
func.func @few(%q: !few, %k: !f16) -> !few {
  %r = attn.attention ins(%q, %k, %k : !few, !f16, !f16) outs(%q : !few)
  return %r : !few
}

// 24 tiles would leave most of 128 multiprocessors without one.
func.func @few_tiles(%q: !tiles, %k: !f16) -> !tiles {
  %r = attn.attention ins(%q, %q, %q : !tiles, !tiles, !tiles) outs(%q : !tiles)
  return %r : !tiles
}

func.func @tall(%q: !f16) -> !f16 {
  %r = attn.attention ins(%q, %q, %q : !f16, !f16, !f16) outs(%q : !f16)
      {attn.plan = #attn.plan<lanes = 32>}
  return %r : !f16
}
func.func @large_blocks(%q: !f16) -> !f16 {
  %r = attn.attention ins(%q, %q, %q : !f16, !f16, !f16) outs(%q : !f16)
      {attn.plan = #attn.plan<keys = 272>}
  return %r : !f16
}

// CHECK: func.func @small_tiles
func.func @small_tiles(%q: !f16) -> !f16 {
  %r = attn.attention ins(%q, %q, %q : !f16, !f16, !f16) outs(%q : !f16)
      {attn.plan = #attn.plan<rows = 32>}
  return %r : !f16
}

// -----

!q = tensor<2x8x1000x64xf16>

// 128 tiles are enough, one for each multiprocessor.
// CHECK-LABEL: func.func @enough_tiles
// CHECK: rows = 128, lanes = 16, head_size = 64, keys = 128, warpgroups = true>
func.func @enough_tiles(%q: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %r : !q
}

// Fewer queries than a tile has are computed in one of whole warpgroups.
// CHECK-LABEL: func.func @one_tile
// CHECK: rows = 128, lanes = 16, head_size = 64, keys = 128, warpgroups = true>
func.func @one_tile(%q: tensor<16x8x65x64xf16>) -> tensor<16x8x65x64xf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<16x8x65x64xf16>, tensor<16x8x65x64xf16>, tensor<16x8x65x64xf16>)
      outs(%q : tensor<16x8x65x64xf16>)
  return %r : tensor<16x8x65x64xf16>
}

// -----

!q = tensor<?x8x?x80xf16>

func.func @impossible(%q: !q) -> !q {
  // expected-error @below {{attn.plan: warpgroups: expected a GPU of sm_90a, many queries of f16 or bf16, 128 'rows' of 16 'lanes', at most 128 'keys', no cache and no dropout, and heads of 64 or 128 elements}}
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.plan = #attn.plan<warpgroups = true>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf16>

func.func @impossible_lanes(%q: !q) -> !q {
  // expected-error @below {{attn.plan: warpgroups: expected}}
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.plan = #attn.plan<lanes = 32, warpgroups = true>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf16>

module attributes {attn.target = #attn.target<>} {
func.func @other_gpu(%q: !q) -> !q {
  // expected-error @below {{attn.plan: warpgroups: expected}}
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.plan = #attn.plan<warpgroups = true>}
  return %r : !q
}
}
