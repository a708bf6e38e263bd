// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true, l2_bytes = 2097152}" \
// RUN:   -attn-plan -attn-tile-backward -canonicalize -mlir-print-local-scope | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true, l2_bytes = 2097152}" \
// RUN:   -attn-plan | FileCheck %s --check-prefix=PLAN
// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true, l2_bytes = 2097152}" \
// RUN:   -attn-cpu-pipeline | FileCheck %s --check-prefix=TILES

!q = tensor<?x8x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!lse = tensor<?x8x?xf32>

// PLAN-LABEL: func.func @causal
// PLAN: attn.plan = #attn.plan<layout = pairs, heads = 1, rows = 64, lanes = 16, keys = 64, chunk = 1024, packs = shared>

// An iteration packs its keys. One chunk of them after the other has sums, and
// those of queries are kept as tiles.
// CHECK-LABEL: func.func @causal
// CHECK: scf.forall
// CHECK: %[[PACKS:.*]] = linalg.pack {{.*}} inner_dims_pos = [0] inner_tiles = [32] {{.*}} tensor<?x64xbf16> -> tensor<?x64x32xbf16>
// CHECK: linalg.fill {{.*}} outs(%{{.*}} : tensor<1x?x64x64xf32>)
// CHECK: scf.for %{{.*}} step %c1024 iter_args(%{{.*}}) -> (tensor<1x?x64x64xf32>, tensor<?x64x
// A tile that sees nothing of a chunk does nothing.
// CHECK: scf.for %{{.*}} step %c64
// CHECK: scf.if
// CHECK: linalg.transpose ins(%{{.*}} : tensor<64x32x2xbf16>)
// CHECK: scf.for %{{.*}} step %c64 iter_args(%{{.*}}) -> (tensor<64x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
// Gradients of products are rounded, with rows of 0 after them that fill a pack.
// CHECK: attn.online_softmax
// CHECK: %[[MISSING:.*]] = affine.apply affine_map<()[s0] -> (-s0 + (s0 ceildiv 32) * 32)>()[%{{.*}}]
// CHECK: linalg.fill ins(%{{.*}} : bf16) outs(%{{.*}} : tensor<?x64xbf16>)
// CHECK: tensor.extract_slice %[[PACKS]]{{.*}} to tensor<?x64x32xbf16>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x64x16x2xbf16>, tensor<?x16x64x2xbf16>) outs(%{{.*}} : tensor<64x64xf32>)
// CHECK-COUNT-2: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32x2xbf16>, tensor<32x64x2xbf16>) outs(%{{.*}} : tensor<?x64xf32>)

// All five products.
// TILES-COUNT-5: tdpbf16ps
func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %do: !q) -> (!q, !k, !k) {
  %dq, %dk, %dv = attn.attention_backward
      ins(%q, %k, %v, %o, %lse, %do : !q, !k, !k, !q, !lse, !q)
      outs(%q, %k, %v : !q, !k, !k) mask causal
  return %dq, %dk, %dv : !q, !k, !k
}

// -----

!q = tensor<2x8x128x64xbf16>
!v = tensor<2x8x128x32xbf16>
!lse = tensor<2x8x128xf32>

// PLAN-LABEL: func.func @whole
// PLAN: attn.plan = #attn.plan<layout = pairs, {{.*}} rows = 128, lanes = 16, keys = 64, chunk = 1024, packs = shared>

// Blocks of a known number of keys, which fill packs, and one chunk.
// CHECK-LABEL: func.func @whole
// CHECK: linalg.pack
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64 iter_args(%{{.*}}) -> (tensor<64x128xf32>, tensor<128x64xf32>, tensor<128x32xf32>)
// CHECK-NOT: linalg.fill ins(%{{.*}} : bf16)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x64x16x2xbf16>, tensor<2x16x128x2xbf16>) outs(%{{.*}} : tensor<64x128xf32>)
// CHECK: attn.all_finite
func.func @whole(%q: !q, %v: !v, %lse: !lse) -> (!q, !q, !v) {
  %r:3 = attn.attention_backward ins(%q, %q, %v, %v, %lse, %v : !q, !q, !v, !v, !lse, !v)
      outs(%q, %q, %v : !q, !q, !v)
  return %r#0, %r#1, %r#2 : !q, !q, !v
}

// -----

!q = tensor<2x8x40x128xbf16>
!k = tensor<2x8x4096x128xbf16>
!lse = tensor<2x8x40xf32>

// No more rows than queries, and fewer keys of longer heads.
// PLAN-LABEL: func.func @few
// PLAN: attn.plan = #attn.plan<layout = pairs, {{.*}} rows = 64, lanes = 16, keys = 64, chunk = 512, packs = shared>
func.func @few(%q: !q, %k: !k, %lse: !lse) -> (!q, !k, !k) {
  %r:3 = attn.attention_backward ins(%q, %k, %k, %q, %lse, %q : !q, !k, !k, !q, !lse, !q)
      outs(%q, %k, %k : !q, !k, !k)
  return %r#0, %r#1, %r#2 : !q, !k, !k
}
