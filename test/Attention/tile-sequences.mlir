// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-tile-attention -verify-diagnostics | FileCheck %s

!t = tensor<1x4x?x16xf16>
!kv = tensor<1x2x?x16xf16>
!l = tensor<1x4x?xf32>

// Rows of no sequence are filled; then each tile looks for its sequence, and has
// the rows and the keys of that, its offset, and its number in place of `b`, if the
// sequence has so many rows.
// CHECK-DAG: #[[REST:.*]] = affine_map<(d0)[s0] -> (32, -d0 + s0)>
// CHECK-LABEL: func.func @packed
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x4x?x16xf16>, %[[K:[^:]*]]: tensor<1x2x?x16xf16>
// CHECK-SAME: %[[CQ:[^:]*]]: tensor<?xi32>, %[[CK:[^:]*]]: tensor<?xi32>, %[[OFF:[^:]*]]: tensor<?xi64>, %[[LEN:[^:]*]]: tensor<?xindex>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[Q]]
// CHECK: %[[BOUNDS:.*]] = tensor.dim %[[CQ]]
// CHECK: %[[NUMBER:.*]] = arith.subi %[[BOUNDS]], %{{.*}}
// CHECK: %[[FILLED:.*]]:2 = scf.forall (%{{.*}}, %[[H:.*]], %[[R:.*]]) in (1, 4, %{{.*}})
// CHECK: tensor.extract %[[CQ]][%c0
// CHECK: %[[AFTER:.*]] = arith.cmpi sle, %{{.*}}, %[[R]]
// CHECK: tensor.extract %[[CQ]][%[[NUMBER]]]
// CHECK: %[[BEFORE:.*]] = arith.cmpi slt, %[[R]], %{{.*}}
// CHECK: %[[SOME:.*]] = arith.andi %[[AFTER]], %[[BEFORE]]
// CHECK: arith.select %[[SOME]], %c0{{.*}}, %c16
// CHECK: arith.select %[[SOME]], %c0{{.*}}, %c1
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: tensor.insert %[[INF]]
// CHECK: %[[FULL:.*]] = arith.divui %[[ROWS]], %c32
// CHECK: %[[SOME:.*]] = arith.addi %[[FULL]], %[[NUMBER]]
// CHECK: %[[TILES:.*]] = arith.select %{{.*}}, %c0{{.*}}, %[[SOME]]
// CHECK: scf.forall (%[[H:.*]], %[[T:.*]]) in (4, %[[TILES]]) shared_outs(%[[O:.*]] = %[[FILLED]]#0, %[[L:.*]] = %[[FILLED]]#1)
// CHECK: %[[N:.*]]:2 = scf.while
// CHECK: tensor.extract %[[CQ]]
// CHECK: arith.divui %{{.*}}, %c32
// CHECK: arith.cmpi ule, %{{.*}}, %[[T]]
// CHECK: %[[FIRST_ROW:.*]] = arith.index_cast
// CHECK: %[[OWN:.*]] = arith.subi %{{.*}}, %[[FIRST_ROW]] : index
// CHECK: %[[COUNT:.*]] = arith.minui %[[OWN]], %[[ROWS]]
// CHECK: %[[NEEDED:.*]] = arith.cmpi ult, %[[BEGIN:.*]], %[[COUNT]]
// CHECK: %[[I:.*]] = arith.select %[[NEEDED]], %[[BEGIN]], %[[COUNT]]
// CHECK: %[[TILE:.*]] = affine.min #[[REST]](%[[I]])[%[[COUNT]]]
// CHECK: %[[AT:.*]] = affine.apply #{{.*}}(%[[I]])[%[[FIRST_ROW]], %[[COUNT]], %[[TILE]]]
// CHECK: %[[OT:.*]] = tensor.extract_slice %[[O]][0, %[[H]], %[[AT]], 0] [1, 1, %[[TILE]], 16]
// CHECK: %[[LT:.*]] = tensor.extract_slice %[[L]][0, %[[H]], %[[AT]]] [1, 1, %[[TILE]]]
// CHECK: %[[RESULTS:.*]]:2 = scf.if %[[NEEDED]]
// CHECK: tensor.extract %[[OFF]][%[[N]]#0]
// CHECK: tensor.extract %[[CK]]
// CHECK: %[[FIRST_KEY:.*]] = arith.index_cast
// CHECK: %[[OWN_KEYS:.*]] = arith.subi %{{.*}}, %[[FIRST_KEY]] : index
// CHECK: %[[KEYS:.*]] = arith.minui %[[OWN_KEYS]], %{{.*}}
// CHECK: tensor.extract_slice %[[Q]][0, %[[H]], %{{.*}}, 0] [1, 1, %[[TILE]], 16]
// CHECK: tensor.extract_slice %[[K]][0, %{{.*}}, %[[FIRST_KEY]], 0] [1, 1, %[[KEYS]], 16]
// CHECK: attn.attention
// CHECK-SAME: outs(%[[OT]], %[[LT]] :
// CHECK-SAME: captures(%[[C0:.*]] = %[[LEN]] : tensor<?xindex>, %[[C1:.*]] = %[[N]]#0 : index)
// CHECK: tensor.extract %[[C0]][%[[C1]]]
// CHECK: } else {
// CHECK: scf.yield %[[OT]], %[[LT]]
// CHECK: tensor.parallel_insert_slice %[[RESULTS]]#0 into %[[O]][0, %[[H]], %[[AT]], 0] [1, 1, %[[TILE]], 16]
// CHECK: tensor.parallel_insert_slice %[[RESULTS]]#1 into %[[L]][0, %[[H]], %[[AT]]] [1, 1, %[[TILE]]]
func.func @packed(%q: !t, %k: !kv, %v: !kv, %o: !t, %l: !l,
                  %cq: tensor<?xi32>, %ck: tensor<?xi32>,
                  %offset: tensor<?xi64>, %len: tensor<?xindex>) -> (!t, !l) {
  %r:2 = attn.attention ins(%q, %k, %v : !t, !kv, !kv)
      outs(%o, %l : !t, !l) offset(%offset : tensor<?xi64>)
      sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>)
      mask key_padding(%len : tensor<?xindex>)
  return %r#0, %r#1 : !t, !l
}

// -----

// That there are no keys does not show in slices: each row has a sink or not.
!t = tensor<1x4x9x16xf16>
!kv = tensor<1x2x0x16xf16>
// CHECK-LABEL: func.func @no_keys
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (1, 4, 9)
// CHECK: scf.forall
// CHECK: attn.attention
func.func @no_keys(%q: !t, %k: !kv, %o: !t, %c: tensor<?xi32>,
                   %sink: tensor<4xf32>) -> !t {
  %r = attn.attention ins(%q, %k, %k : !t, !kv, !kv) outs(%o : !t)
      sink(%sink : tensor<4xf32>)
      sequences(%c, %c : tensor<?xi32>, tensor<?xi32>)
  return %r : !t
}

// -----

// The random numbers of dropout count the sequences of the whole op, and so does
// the line of a tile.
!t = tensor<1x4x?x16xf16>
!kv = tensor<1x2x?x16xf16>
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32
// CHECK: scf.forall
// CHECK: scf.forall (%[[H:[^,]*]], %{{[^,]*}}) in
// CHECK: %[[N:.*]]:2 = scf.while
// CHECK: %[[LINE:.*]] = affine.apply #{{.*}}()[%[[H]], %[[N]]#0]
// CHECK: dropout(5.000000e-01, %[[SEED]], %[[CALL]], %[[LINE]])
func.func @dropout(%q: !t, %k: !kv, %v: !kv, %o: !t, %c: tensor<?xi32>,
                   %seed: i64, %call: i32) -> !t {
  %r = attn.attention ins(%q, %k, %v : !t, !kv, !kv) outs(%o : !t)
      sequences(%c, %c : tensor<?xi32>, tensor<?xi32>)
      dropout(0.5, %seed, %call)
  return %r : !t
}
