// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 256}" -attn-plan -attn-tile-backward -canonicalize -mlir-print-local-scope | FileCheck %s

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
!lse = tensor<?x8x?xf32>

// Few heads of keys: one query head in an iteration, whose parts are added.
// CHECK-LABEL: func.func @causal
// CHECK: %[[PARTS:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<4x?x2x?x64xf32>
// CHECK: %[[R:.*]]:4 = scf.forall (%[[N:.*]], %[[G:.*]], %[[PART:.*]]) in (%{{.*}}, 2, 4)
// Tiles of queries, and the blocks of keys that the mask may keep.
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c16
// CHECK: arith.minsi
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c64
// CHECK: %[[S:.*]] = linalg.matmul ins(%{{.*}}, %[[QT:.*]] : tensor<?x64xf32>, tensor<64x16xf32>)
// CHECK: %[[P:.*]]:2 = attn.online_softmax outs(%{{.*}}, %[[LSE:.*]] : tensor<64x16xf32>, tensor<16xf32>)
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<64x16xf32>)
// CHECK: linalg.generic
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: arith.cmpf oeq
// CHECK: arith.select
// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK: attn.all_finite
// CHECK: scf.forall.in_parallel
// CHECK: %[[FINITE:.*]] = attn.all_finite %[[R]]#3
// CHECK: scf.if %[[FINITE]]
// CHECK: } else {
// CHECK: attn.attention_backward
// CHECK-NOT: attn.plan
func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %do: !q) -> (!q, !k, !k) {
  %dq, %dk, %dv = attn.attention_backward
      ins(%q, %k, %v, %o, %lse, %do : !q, !k, !k, !q, !lse, !q)
      outs(%q, %k, %v : !q, !k, !k) mask causal
  return %dq, %dk, %dv : !q, !k, !k
}

// -----

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

// The derivative of the score is a region like it; that of a sum is 1, and left
// out.
// CHECK-LABEL: func.func @score
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (2, 8)
// CHECK: attn.online_softmax outs(%{{[^,]*}} : tensor<64x16xf32>)
// CHECK: score {
// CHECK: %[[T:.*]] = math.tanh
// CHECK: %[[T2:.*]] = arith.mulf %[[T]], %[[T]]
// CHECK: %[[D:.*]] = arith.subf %{{.*}}, %[[T2]]
// CHECK: attn.yield
// CHECK: attn.online_softmax outs(%{{[^,]*}}, %{{[^,]*}} : tensor<64x16xf32>, tensor<16xf32>)
// What it makes of a gradient is 0 where it is no normal number.
// CHECK: %[[ABS:.*]] = math.absf
// CHECK: arith.cmpf olt, %[[ABS]], %cst{{.*}} : f32
// CHECK: arith.ori
// CHECK: arith.select
// CHECK-LABEL: func.func @sum
// CHECK-NOT: attn.online_softmax outs(%{{[^,]*}} : tensor<64x16xf32>)
// CHECK-NOT: math.absf
// CHECK: return
func.func @score(%q: !q, %lse: !lse) -> (!q, !q, !q) {
  %r:3 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q : !q, !q, !q) score softcap(3.0)
  return %r#0, %r#1, %r#2 : !q, !q, !q
}
func.func @sum(%q: !q, %lse: !lse, %t: tensor<8xf32>) -> (!q, !q, !q) {
  %r:3 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q : !q, !q, !q) score alibi(%t : tensor<8xf32>)
  return %r#0, %r#1, %r#2 : !q, !q, !q
}

// -----

!t = tensor<1x1x?x64xf32>
!lse = tensor<1x1x?xf32>

// One head: its queries in parts, each of whole tiles, whose sums for keys and for
// the sink are added.
// CHECK-LABEL: func.func @one_head
// CHECK: %[[PARTS:.*]] = tensor.empty(%{{.*}}) : tensor<8x1x1x?x64xf32>
// CHECK: %[[SINKS:.*]] = tensor.empty() : tensor<8x1xf32>
// CHECK: scf.forall (%[[I:.*]]) in (8)
// CHECK: %[[PART:.*]] = arith.remui %[[I]], %c8
// CHECK: %[[FIRST:.*]] = affine.min affine_map<()[s0, s1] -> (s1 * ((s0 ceildiv 128) * 16), s0)>()[%{{.*}}, %[[PART]]]
// CHECK: %[[COUNT:.*]] = affine.min affine_map<()[s0, s1] -> ((s0 ceildiv 128) * 16, s0 - s1)>()[%{{.*}}, %[[FIRST]]]
// CHECK: scf.for %{{.*}} = %c0 to %[[COUNT]] step %c16
// CHECK: scf.forall.in_parallel
// CHECK: tensor.parallel_insert_slice %{{.*}}[0, %{{.*}}, %[[FIRST]], 0] [1, 1, %[[COUNT]], 64]
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[PART]], %{{.*}}] [1, 1] [1, 1] : tensor<1xf32> into tensor<8x1xf32>
// Few queries are no more parts than tiles; where captures have gradients, there is
// one.
// CHECK-LABEL: func.func @two_tiles
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK-LABEL: func.func @one_head_and_capture
// CHECK-NOT: scf.forall
// CHECK: return
func.func @one_head(%q: !t, %o: !t, %lse: !lse, %s: tensor<1xf32>) -> (!t, !t, !t, tensor<1xf32>) {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %o, %lse, %o : !t, !t, !t, !t, !lse, !t)
      outs(%q, %q, %q, %s : !t, !t, !t, tensor<1xf32>) sink(%s : tensor<1xf32>)
      gradients(sink) mask causal
  return %r#0, %r#1, %r#2, %r#3 : !t, !t, !t, tensor<1xf32>
}
!u = tensor<1x1x20x64xf32>
!ulse = tensor<1x1x20xf32>
func.func @two_tiles(%q: !u, %o: !u, %lse: !ulse) -> (!u, !u, !u) {
  %r:3 = attn.attention_backward ins(%q, %q, %q, %o, %lse, %o : !u, !u, !u, !u, !ulse, !u)
      outs(%q, %q, %q : !u, !u, !u) mask causal
  return %r#0, %r#1, %r#2 : !u, !u, !u
}
func.func @one_head_and_capture(%q: !u, %o: !u, %lse: !ulse, %t: tensor<1xf32>) -> (!u, !u, !u, tensor<1xf32>) {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %o, %lse, %o : !u, !u, !u, !u, !ulse, !u)
      outs(%q, %q, %q, %t : !u, !u, !u, tensor<1xf32>) gradients(0) score alibi(%t : tensor<1xf32>)
  return %r#0, %r#1, %r#2, %r#3 : !u, !u, !u, tensor<1xf32>
}
