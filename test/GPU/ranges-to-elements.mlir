// RUN: attn-opt %s -attn-ranges-to-elements -canonicalize -cse -split-input-file \
// RUN:   | FileCheck %s

// Eight loads at a time, of which those behind the end are of the last element.
// CHECK-LABEL: func.func @documents
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<2x?xi32>
// CHECK: %[[R:.*]]:2 = scf.forall (%[[B:.*]], %[[N:.*]]) in (2, %{{.*}}) shared_outs
// CHECK: %[[FIRST:.*]] = arith.muli %[[N]], %c64
// CHECK: %[[ANY:.*]] = tensor.extract %[[TABLE]][%[[B]], %[[FIRST]]]
// CHECK: %[[BEHIND:.*]] = arith.addi %[[FIRST]], %c64
// CHECK: %[[END:.*]] = arith.minsi %[[BEHIND]], %dim
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %c1
// CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %[[END]] step %c8 iter_args(%[[LOW:.*]] = %[[ANY]], %[[HIGH:.*]] = %[[ANY]])
// CHECK: %[[X:.*]] = tensor.extract %[[TABLE]][%[[B]], %[[I]]]
// CHECK: arith.minsi %[[LOW]], %[[X]]
// CHECK: arith.maxsi %[[HIGH]], %[[X]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK: %[[INSIDE:.*]] = arith.minsi %[[NEXT]], %[[LAST]]
// CHECK: tensor.extract %[[TABLE]][%[[B]], %[[INSIDE]]]
// CHECK-COUNT-6: tensor.extract %[[TABLE]]
// CHECK-NOT: tensor.extract %[[TABLE]]
// CHECK-COUNT-2: tensor.parallel_insert_slice
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @documents(%table: tensor<2x?xi32>, %out: tensor<2x?xi32>)
    -> (tensor<2x?xi32>, tensor<2x?xi32>) {
  %low, %high = attn.block_range ins(%table : tensor<2x?xi32>)
      outs(%out, %out : tensor<2x?xi32>, tensor<2x?xi32>) blocks [1, 64]
      -> tensor<2x?xi32>, tensor<2x?xi32>
  return %low, %high : tensor<2x?xi32>, tensor<2x?xi32>
}

// -----

// Rows one by one; true is larger than false.
// CHECK-LABEL: func.func @booleans
// CHECK: scf.forall
// CHECK: scf.for %{{.*}} step %c1
// CHECK: scf.for %{{.*}} step %c3
// CHECK: arith.minui
// CHECK: arith.maxui
func.func @booleans(%table: tensor<?x?xi1>, %out: tensor<?x?xi1>) -> tensor<?x?xi1> {
  %low, %high = attn.block_range ins(%table : tensor<?x?xi1>)
      outs(%out, %out : tensor<?x?xi1>, tensor<?x?xi1>) blocks [4, 3]
      -> tensor<?x?xi1>, tensor<?x?xi1>
  return %high : tensor<?x?xi1>
}

// -----

// CHECK-LABEL: func.func @floats
// CHECK: arith.minimumf
// CHECK: arith.maximumf
func.func @floats(%table: tensor<256xf16>, %out: tensor<4xf16>) -> tensor<4xf16> {
  %low, %high = attn.block_range ins(%table : tensor<256xf16>)
      outs(%out, %out : tensor<4xf16>, tensor<4xf16>) blocks [64]
      -> tensor<4xf16>, tensor<4xf16>
  return %low : tensor<4xf16>
}
