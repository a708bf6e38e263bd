// RUN: attn-opt %s -attn-split-sequences | FileCheck %s

!t = tensor<1x4x?x16xf32>
!kv = tensor<1x2x?x16xf32>

// Rows before the first and after the last sequence are filled, and no others;
// each sequence is attention on slices, with its own offset, and its number in
// place of `b`.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x4x?x16xf32>, %[[K:[^:]*]]: tensor<1x2x?x16xf32>
// CHECK-SAME: %[[CQ:[^:]*]]: tensor<?xi32>, %[[CK:[^:]*]]: tensor<?xi32>, %[[OFF:[^:]*]]: tensor<?xi64>, %[[LEN:[^:]*]]: tensor<?xindex>
// CHECK: %[[BOUNDS:.*]] = tensor.dim %[[CQ]]
// CHECK: %[[NUMBER:.*]] = arith.subi %[[BOUNDS]], %{{.*}}
// CHECK: tensor.extract %[[CQ]][%c0]
// CHECK: tensor.extract %[[CQ]][%[[NUMBER]]]
// CHECK: %[[LENGTH:.*]] = tensor.dim %[[Q]], %{{.*}}
// CHECK-NOT: linalg.fill {{.*}} tensor<1x4x?x16xf32>)
// CHECK: %[[BEFORE:.*]] = tensor.extract_slice %{{.*}}[0, 0, %c0, 0] [1, 4, %[[FIRST:.*]], 16]
// CHECK: linalg.fill ins(%cst : f32) outs(%[[BEFORE]]
// CHECK: %[[REST:.*]] = arith.subi %[[LENGTH]], %[[LAST:.*]] : index
// CHECK: %[[AFTER:.*]] = tensor.extract_slice %{{.*}}[0, 0, %[[LAST]], 0] [1, 4, %[[REST]], 16]
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[AFTER]]
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: linalg.fill ins(%[[INF]] : f32)
// CHECK: scf.for %[[N:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK-DAG: tensor.extract_slice %[[Q]][0, 0, %[[BEGIN:.*]], 0] [1, 4, %[[COUNT:.*]], 16]
// CHECK-DAG: tensor.extract_slice %[[K]][0, 0, %{{.*}}, 0] [1, 2, %{{.*}}, 16]
// CHECK: %[[P:.*]] = tensor.extract %[[OFF]][%[[N]]]
// CHECK: attn.attention
// CHECK-NOT: sequences
// CHECK-SAME: offset(%[[P]] : i64)
// CHECK-SAME: captures(%[[C0:.*]] = %[[LEN]] : tensor<?xindex>, %[[C1:.*]] = %[[N]] : index)
// CHECK: tensor.extract %[[C0]][%[[C1]]]
// CHECK: tensor.insert_slice %{{.*}}[0, 0, %[[BEGIN]], 0] [1, 4, %[[COUNT]], 16]
func.func @packed(%q: !t, %k: !kv, %v: !kv, %o: !t, %l: tensor<1x4x?xf32>,
                  %cq: tensor<?xi32>, %ck: tensor<?xi32>,
                  %offset: tensor<?xi64>, %len: tensor<?xindex>)
    -> (!t, tensor<1x4x?xf32>) {
  %r:2 = attn.attention ins(%q, %k, %v : !t, !kv, !kv)
      outs(%o, %l : !t, tensor<1x4x?xf32>) offset(%offset : tensor<?xi64>)
      sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>)
      mask key_padding(%len : tensor<?xindex>)
  return %r#0, %r#1 : !t, tensor<1x4x?xf32>
}

// The random numbers of dropout count sequences, so that it stays packed.
// CHECK-LABEL: func.func @dropout
// CHECK-NOT: scf.for
// CHECK: attn.attention {{.*}} sequences
func.func @dropout(%q: !t, %k: !kv, %v: !kv, %o: !t, %cq: tensor<?xi32>,
                   %ck: tensor<?xi32>, %seed: i64, %call: i32) -> !t {
  %r = attn.attention ins(%q, %k, %v : !t, !kv, !kv) outs(%o : !t)
      sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>)
      dropout(0.5, %seed, %call)
  return %r : !t
}

// CHECK-LABEL: func.func @not_packed
// CHECK-NOT: scf.for
func.func @not_packed(%q: !t, %k: !kv, %v: !kv, %o: !t) -> !t {
  %r = attn.attention ins(%q, %k, %v : !t, !kv, !kv) outs(%o : !t)
  return %r : !t
}
