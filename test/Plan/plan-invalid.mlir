// RUN: attn-opt %s -attn-plan -split-input-file -verify-diagnostics

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @layout(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: layout: expected bf16, an even head size, and a target that multiplies pairs for 'pairs'}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<layout = pairs>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @rows(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: layout: expected few queries, at most 8, and head sizes of at least 8 that are multiples of 4 for 'rows'}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<layout = rows>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @mma(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: layout: expected 'mma' for a GPU, and only for one}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<layout = mma>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @heads(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: heads: expected 1 or the 4 that share keys and values, got 3}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<heads = 3>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @lanes(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: lanes: expected a power of 2 and multiple of 8, got 12}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<lanes = 12>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @size(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: head_size: expected 64 for 'lanes', got 96}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<head_size = 96>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @chunk(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: chunk: expected a multiple of 256, got 100}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<chunk = 100>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @columns(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: columns: is not of attention, but of a projection}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<columns = 64>}
  return %r : !q
}

// -----

!x = tensor<1x?x1024xf32>
!w = tensor<64x1024x32xf32>
!y = tensor<1x?x2048xf32>
func.func @pairs(%x: !x, %w: !w, %y: !y) -> !y {
  // expected-error @below {{attn.plan: layout: expected a weight of bf16 or i8, a multiple of 32 features, and a target that multiplies pairs for 'pairs'}}
  %r = attn.projection ins(%x, %w : !x, !w) outs(%y : !y)
      {attn.plan = #attn.plan<layout = pairs>}
  return %r : !y
}

// -----

!x = tensor<1x?x1024xf32>
!w = tensor<64x1024x32xf32>
!y = tensor<1x?x2048xf32>
func.func @keys(%x: !x, %w: !w, %y: !y) -> !y {
  // expected-error @below {{attn.plan: heads, head_size, keys, chunk, warpgroups and batch_invariant: are of attention, not of a projection}}
  %r = attn.projection ins(%x, %w : !x, !w) outs(%y : !y)
      {attn.plan = #attn.plan<keys = 64>}
  return %r : !y
}

// -----

!q = tensor<1x1x0x64xf32>
func.func @reference(%q: !q) -> !q {
  // expected-error @below {{attn.plan: is left to the reference lowering, because it is empty}}
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.plan = #attn.plan<rows = 4>}
  return %r : !q
}

// -----

!q = tensor<1x4x40x8xf32>
!k = tensor<1x2x90x8xf32>
func.func @multi_token(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: expected 'rows' and 'keys' alone, got #attn.plan<lanes = 8>}}
  %r = attn.multi_token_attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<lanes = 8>}
  return %r : !q
}

// -----

!q = tensor<1x4x40x8xf32>
!k = tensor<1x2x90x8xf32>
func.func @multi_token_keys(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: keys: expected a multiple of 64, got 60}}
  %r = attn.multi_token_attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<keys = 60>}
  return %r : !q
}

// -----

// After the softmax, a convolution reads across strips of some of the keys.
!q = tensor<1x4x40x8xf32>
!k = tensor<1x2x90x8xf32>
func.func @multi_token_convolution(%q: !q, %k: !k, %w: tensor<4x3x5xf32>) -> !q {
  // expected-error @below {{attn.plan: expected 'rows' alone, got #attn.plan<keys = 64>}}
  %r = attn.multi_token_attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      convolve_after(%w : tensor<4x3x5xf32>) {attn.plan = #attn.plan<keys = 64>}
  return %r : !q
}

// -----

!m = tensor<16x32xf32>
!l = tensor<32xf32>
func.func @chunk(%m: !m, %k: tensor<?x16xf32>, %l: !l, %n: index) -> (!m, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  // expected-error @below {{attn.plan: chunk: expected a multiple of 256, got 300}}
  %r:3 = attn.online_attention
      ins(%m, %k, %k : !m, tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%m, %l, %l : !m, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) {attn.plan = #attn.plan<chunk = 300>} -> !m, !l, !l
  return %r#0, %r#1, %r#2 : !m, !l, !l
}

// -----

!q = tensor<1x1x8x64xf32>
func.func @rest_without_rows(%q: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      // expected-error @below {{rest: expected a plan with 'rows' and without a rest of its own}}
      {attn.plan = #attn.plan<rows = 4, rest = <layout = rows>>}
  return %r : !q
}

// -----

!q = tensor<1x1x8x64xf32>
func.func @invariant_rows(%q: !q) -> !q {
  // expected-error @below {{attn.plan: batch_invariant: expected neither 'rows', nor a 'chunk' or 'rest', which few queries alone have}}
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.plan = #attn.plan<layout = rows, batch_invariant = true>}
  return %r : !q
}

// -----

!q = tensor<1x1x8x64xf32>
func.func @invariant_chunk(%q: !q) -> !q {
  // expected-error @below {{attn.plan: batch_invariant: expected neither 'rows', nor a 'chunk' or 'rest', which few queries alone have}}
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.plan = #attn.plan<chunk = 256, batch_invariant = true>}
  return %r : !q
}

// -----

func.func @invariant_projection(%x: tensor<1x?x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x?x64xf32> {
  // expected-error @below {{attn.plan: heads, head_size, keys, chunk, warpgroups and batch_invariant: are of attention, not of a projection}}
  %r = attn.projection ins(%x, %w : tensor<1x?x64xf32>, tensor<64x64xf32>)
      outs(%x : tensor<1x?x64xf32>) {attn.plan = #attn.plan<batch_invariant = true>}
  return %r : tensor<1x?x64xf32>
}

// -----

!q = tensor<1x4x8x64xf32>
!kv = tensor<1x1x8x64xf32>
func.func @dropout(%q: !q, %kv: !kv, %seed: i64, %call: i32) -> !q {
  // expected-error @below {{attn.plan: heads: expected 1 with dropout, got 4}}
  %r = attn.attention ins(%q, %kv, %kv : !q, !kv, !kv) outs(%q : !q)
      dropout(0.1, %seed, %call) {attn.plan = #attn.plan<heads = 4>}
  return %r : !q
}

// -----

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
func.func @packs(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: packs: expected none for 'lanes', got 'kept'}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<packs = kept>}
  return %r : !q
}

// -----

!x = tensor<1x?x64xf32>
!w = tensor<64x64xf32>
func.func @block_of_projection(%x: !x, %w: !w) -> !x {
  // expected-error @below {{attn.plan: packs: expected 'shared', or, of one batch entry and one result whose rows no other projection reads, 'kept', got 'block'}}
  %r = attn.projection ins(%x, %w : !x, !w) outs(%x : !x)
      {attn.plan = #attn.plan<packs = block>}
  return %r : !x
}

// -----

!x = tensor<2x?x64xf32>
!w = tensor<64x64xf32>
func.func @kept_of_batches(%x: !x, %w: !w) -> !x {
  // expected-error @below {{attn.plan: packs: expected 'shared', or, of one batch entry}}
  %r = attn.projection ins(%x, %w : !x, !w) outs(%x : !x)
      {attn.plan = #attn.plan<packs = kept>}
  return %r : !x
}
