// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-tile-attention -verify-diagnostics | FileCheck %s
// RUN: attn-opt %s -split-input-file --attn-target="{bf16_dot = true, vector_bits = 512}" -attn-plan -attn-tile-attention -verify-diagnostics | FileCheck %s --check-prefix=PAIRS

!q = tensor<?x4x?x16xf32>
!kv = tensor<?x2x?x16xf32>

// A key/value head serves a group. Regions count from the whole tensor. A tile
// of fewer rows has the first ones.
// CHECK-DAG: #[[REST:.*]] = affine_map<(d0)[s0] -> (32, -d0 + s0)>
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0)[s0, s1] -> (-d0 + s0 - s1)>
// CHECK-LABEL: func.func @grouped
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x?x16xf32>, %[[K:[^:]*]]: tensor<?x2x?x16xf32>
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) = (0, 0, 0) to (%{{.*}}, 4, %{{.*}}) step (1, 1, 32)
// CHECK-DAG: %[[N:.*]] = affine.min #[[REST]](%[[I]])
// CHECK-DAG: %[[F:.*]] = affine.apply #[[FIRST]](%[[I]])[%{{.*}}, %[[N]]]
// CHECK-DAG: %[[G:.*]] = affine.apply #{{.*}}[%[[H]]]
// CHECK-DAG: tensor.extract_slice %[[Q]][%[[B]], %[[H]], %[[F]], 0] [1, 1, %[[N]], 16]
// CHECK-DAG: tensor.extract_slice %[[K]][%[[B]], %[[G]], 0, 0] [1, 1, %{{.*}}, 16]
// CHECK: attn.attention
// CHECK-SAME: offset(%[[F]] : index)
// CHECK-SAME: captures(%[[C:[^ ]*]] = %{{[^ ]*}} : tensor<4xf32>, %[[C1:.*]] = %[[H]] : index)
// CHECK: tensor.extract %[[C]][%[[C1]]]
// CHECK: mask(
func.func @grouped(%q: !q, %k: !kv, %v: !kv, %o: !q, %s: tensor<4xf32>) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !kv, !kv) outs(%o : !q)
      score alibi(%s : tensor<4xf32>) mask causal
  return %r : !q
}

// Larger tiles without a mask; an offset per batch entry, and the row on top.
// CHECK-LABEL: func.func @offset
// CHECK: scf.forall (%[[B:.*]], %{{.*}}, %[[I:.*]]) = {{.*}} step (1, 1, 64)
// CHECK: %[[F:.*]] = affine.apply #{{.*}}(%[[I]])
// CHECK: %[[X:.*]] = tensor.extract %{{.*}}[%[[B]]] : tensor<?xi32>
// CHECK: %[[Y:.*]] = arith.index_cast %[[X]] : i32 to index
// CHECK: %[[Z:.*]] = arith.addi %[[Y]], %[[F]]
// CHECK: attn.attention {{.*}} offset(%[[Z]] : index)
func.func @offset(%q: !q, %k: !kv, %v: !kv, %o: !q, %p: tensor<?xi32>) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !kv, !kv) outs(%o : !q)
      offset(%p : tensor<?xi32>)
  return %r : !q
}

// CHECK-LABEL: func.func @bottom_right
// CHECK: affine.apply
// CHECK: attn.attention
// CHECK-NOT: bottom_right
func.func @bottom_right(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !kv, !kv) outs(%o : !q)
      offset(bottom_right) mask causal
  return %r : !q
}

// CHECK-LABEL: func.func @sink_and_lse
// CHECK: scf.forall {{.*}} -> (tensor<?x4x?x16xf32>, tensor<?x4x?xf32>)
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}] [1] [1] : tensor<4xf32> to tensor<1xf32>
// CHECK: tensor.parallel_insert_slice %{{.*}} : tensor<1x1x?x16xf32>
// CHECK: tensor.parallel_insert_slice %{{.*}} : tensor<1x1x?xf32>
func.func @sink_and_lse(%q: !q, %k: !kv, %v: !kv, %o: !q, %l: tensor<?x4x?xf32>,
                        %s: tensor<4xf32>) -> (!q, tensor<?x4x?xf32>) {
  %r:2 = attn.attention ins(%q, %k, %v : !q, !kv, !kv)
      outs(%o, %l : !q, tensor<?x4x?xf32>) sink(%s : tensor<4xf32>)
  return %r#0, %r#1 : !q, tensor<?x4x?xf32>
}

// -----

// Tiles of one size.
!q = tensor<1x4x96x16xf32>
// CHECK-LABEL: func.func @whole
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[I:.*]]) = (0, 0, 0) to (1, 4, 96) step (1, 1, 32)
// CHECK-NOT: affine.min
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, %{{.*}}, %[[I]], 0] [1, 1, 32, 16]
func.func @whole(%q: !q, %o: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%o : !q) mask causal
  return %r : !q
}

// -----

// Fewer queries than a tile has are one, with their number.
!q = tensor<?x4x5x16xf32>
!kv = tensor<?x4x?x16xf32>
// CHECK-LABEL: func.func @few
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[I:.*]]) = (0, 0, 0) to (%{{.*}}, 4, 5) step (1, 1, 5)
// CHECK-NOT: affine.min
// CHECK: attn.attention ins({{.*}} : tensor<1x1x5x16xf32>,
func.func @few(%q: !q, %k: !kv, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o : !q) mask causal
  return %r : !q
}

// -----

// One more than that: two tiles, of any number.
!q = tensor<?x4x33x16xf32>
!kv = tensor<?x4x?x16xf32>
// CHECK-LABEL: func.func @one_more
// CHECK: scf.forall {{.*}} to (%{{.*}}, 4, 33) step (1, 1, 32)
// CHECK: affine.min
func.func @one_more(%q: !q, %k: !kv, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o : !q) mask causal
  return %r : !q
}

// -----

// In pairs, tiles have fewer queries, but for the only one.
!q = tensor<1x4x64x16xbf16>
!many = tensor<1x4x65x16xbf16>
!kv = tensor<1x4x?x16xbf16>
// PAIRS-LABEL: func.func @pairs
// PAIRS: scf.forall {{.*}} to (1, 4, 64) step (1, 1, 64)
// PAIRS: scf.forall {{.*}} to (1, 4, 65) step (1, 1, 32)
// PAIRS: scf.forall {{.*}} to (1, 4, 64) step (1, 1, 32)
func.func @pairs(%q: !q, %many: !many, %k: !kv) -> (!q, !many, !q) {
  %0 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q)
  %1 = attn.attention ins(%many, %k, %k : !many, !kv, !kv) outs(%many : !many)
  %2 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q) mask causal
  return %0, %1, %2 : !q, !many, !q
}

// -----

!q = tensor<1x2x8x16xf64>
// CHECK-LABEL: func.func @double
// CHECK: scf.forall
func.func @double(%q: !q, %o: !q) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%o : !q)
  return %r : !q
}

// -----

// A tile knows its line among those of the whole.
!q = tensor<3x2x8x16xf32>
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) =
// CHECK: %[[LINE:.*]] = affine.apply #{{.*}}()[%[[H]], %[[B]]]
// CHECK: dropout(5.000000e-01, %[[SEED]], %[[CALL]], %[[LINE]])
func.func @dropout(%q: !q, %o: !q, %seed: i64, %call: i32) -> !q {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%o : !q)
      dropout(0.5, %seed, %call)
  return %r : !q
}

// -----

// A tile merges its part of what is known before: it is read where it is
// written, and the tile's own results are tensors of its size.
!q = tensor<1x2x256x64xf32>
!l = tensor<1x2x256xf32>
// CHECK-LABEL: func.func @merged
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x2x256x64xf32>, %[[O:[^:]*]]: tensor<1x2x256x64xf32>, %[[L:[^:]*]]: tensor<1x2x256xf32>
// CHECK: %[[R:.*]]:2 = scf.forall (%{{.*}}, %[[H:.*]], %[[I:.*]]) = {{.*}} shared_outs(%[[O1:.*]] = %[[O]], %[[L1:.*]] = %[[L]])
// CHECK-DAG: %[[OWN:.*]] = tensor.empty() : tensor<1x1x[[ROWS:[0-9]+]]x64xf32>
// CHECK-DAG: %[[OWN_LSE:.*]] = tensor.empty() : tensor<1x1x[[ROWS]]xf32>
// CHECK-DAG: %[[OUT:.*]] = tensor.extract_slice %[[OWN]]
// CHECK-DAG: %[[OUT_LSE:.*]] = tensor.extract_slice %[[OWN_LSE]]
// CHECK: %[[PART:.*]]:2 = attn.attention {{.*}} outs(%[[OUT]], %[[OUT_LSE]] :
// CHECK-DAG: %[[OLD:.*]] = tensor.extract_slice %[[O1]][%{{.*}}, %[[H]], %[[I]], 0]
// CHECK-DAG: %[[OLD_LSE:.*]] = tensor.extract_slice %[[L1]][%{{.*}}, %[[H]], %[[I]]]
// CHECK: %[[NEW:.*]]:2 = attn.merge ins(%[[OLD]], %[[OLD_LSE]], %[[PART]]#0, %[[PART]]#1 : {{.*}}) outs(%[[OLD]], %[[OLD_LSE]] :
// CHECK: tensor.parallel_insert_slice %[[NEW]]#0 into %[[O1]]
// CHECK: tensor.parallel_insert_slice %[[NEW]]#1 into %[[L1]]
// CHECK-NOT: attn.merge
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @merged(%q: !q, %o: !q, %l: !l) -> (!q, !l) {
  %e = tensor.empty() : !q
  %f = tensor.empty() : !l
  %r:2 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%e, %f : !q, !l)
  %m:2 = attn.merge ins(%o, %l, %r#0, %r#1 : !q, !l, !q, !l) outs(%o, %l : !q, !l)
  return %m#0, %m#1 : !q, !l
}

// -----

// What is read otherwise too, and what is merged with a part that is known
// later, stays outside.
!q = tensor<1x2x256x64xf32>
!l = tensor<1x2x256xf32>
// CHECK-LABEL: func.func @not_merged
// CHECK: scf.forall.in_parallel
// CHECK-COUNT-2: tensor.parallel_insert_slice
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: attn.merge
// CHECK-COUNT-2: attn.attention
// CHECK-NOT: attn.merge
// CHECK: scf.forall.in_parallel
// CHECK-COUNT-2: tensor.parallel_insert_slice
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: attn.merge
func.func @not_merged(%q: !q, %o: !q, %l: !l) -> (!q, !q, !l) {
  %r:2 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%o, %l : !q, !l)
  %m = attn.merge ins(%o, %l, %r#0, %r#1 : !q, !l, !q, !l) outs(%o : !q)
  %s:2 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%o, %l : !q, !l)
  %t:2 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%o, %l : !q, !l) mask causal
  %n = attn.merge ins(%t#0, %t#1, %s#0, %s#1 : !q, !l, !q, !l) outs(%o : !q)
  return %m, %n, %r#1 : !q, !q, !l
}
