// RUN: attn-opt %s -attn-decompose-online -canonicalize -cse | FileCheck %s

!q = tensor<16x32xf32>
!k = tensor<64x16xf32>
!l = tensor<32xf32>

// The ranges of the blocks that the keys are in, combined, decide: nothing is
// kept if none is true, all if all are. A range of more than a few blocks is
// not looked at.
// CHECK-LABEL: func.func @ranges
// CHECK: %[[RANGE:.*]]:2 = attn.block_range
// CHECK: %[[FIRST:.*]] = arith.divsi %{{.*}}, %c64
// CHECK: arith.cmpi slt, %{{.*}}, %c8
// CHECK: %[[END:.*]] = arith.select
// CHECK: %[[KEPT:.*]]:2 = scf.for %[[BLOCK:.*]] = %[[FIRST]] to %[[END]] step %c1 iter_args(%[[ALL:.*]] = %true, %[[ANY:.*]] = %false)
// CHECK: %[[LOW:.*]] = tensor.extract %[[RANGE]]#0[%[[BLOCK]]]
// CHECK: %[[HIGH:.*]] = tensor.extract %[[RANGE]]#1[%[[BLOCK]]]
// CHECK: arith.andi %[[ALL]], %[[LOW]]
// CHECK: arith.ori %[[ANY]], %[[HIGH]]
// CHECK: scf.if
// CHECK-NEXT: scf.yield
// CHECK: attn.online_softmax
func.func @ranges(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %j0: index,
                  %t: tensor<?xi1>, %o: tensor<?xi1>) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %low, %high = attn.block_range ins(%t : tensor<?xi1>)
      outs(%o, %o : tensor<?xi1>, tensor<?xi1>) blocks [64]
      -> tensor<?xi1>, tensor<?xi1>
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c0, %j0) queries(%c32)
      exact(%no) mask (%t : tensor<?xi1>) {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %table: tensor<?xi1>):
      %keep = tensor.extract %table[%j] : tensor<?xi1>
      attn.yield %keep : i1
    } -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Ranges must dominate the op; without, nothing is looked at.
// CHECK-LABEL: func.func @no_ranges
// CHECK-NOT: scf.for
// CHECK-NOT: tensor.extract %
// CHECK: attn.online_softmax
func.func @no_ranges(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %j0: index,
                     %t: tensor<?xi1>, %o: tensor<?xi1>)
    -> (!q, !l, !l, tensor<?xi1>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c0, %j0) queries(%c32)
      exact(%no) mask (%t : tensor<?xi1>) {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %table: tensor<?xi1>):
      %keep = tensor.extract %table[%j] : tensor<?xi1>
      attn.yield %keep : i1
    } -> !q, !l, !l
  %low, %high = attn.block_range ins(%t : tensor<?xi1>)
      outs(%o, %o : tensor<?xi1>, tensor<?xi1>) blocks [64]
      -> tensor<?xi1>, tensor<?xi1>
  return %r#0, %r#1, %r#2, %low : !q, !l, !l, tensor<?xi1>
}
