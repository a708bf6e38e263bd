// RUN: attn-opt %s -attn-decompose-online -canonicalize | FileCheck %s

!q = tensor<16x32xf32>
!k = tensor<64x16xf32>
!l = tensor<32xf32>

// Of keys that every query sees, followed by a window, a block may hold the end
// of the one and the beginning of the other, or nothing before or after: its
// first key is a multiple of 16, and 16 are left at least. A full block is as it
// was.
// CHECK-DAG: #[[FIRST:.*]] = affine_map<()[s0] -> (63, s0)>
// CHECK-DAG: #[[LEAST:.*]] = affine_map<()[s0, s1] -> (-s0 + s1, 16)>
// CHECK-DAG: #[[SIZE:.*]] = affine_map<()[s0, s1] -> (-s0 + 64, 64, s1)>
// CHECK-LABEL: func.func @sinks
// CHECK-SAME: %[[K:[^:]*]]: tensor<64x16xf32>
// CHECK-SAME: %[[J:[^:]*]]: index) ->
// CHECK: scf.if
// CHECK: } else {
// CHECK: %[[ROWS:.*]]:2 = scf.if %[[PARTIAL:.*]] -> (index, index) {
// CHECK: arith.maxsi
// CHECK: } else {
// CHECK-NEXT: scf.yield %c0, %c64
// CHECK: %[[ANY:.*]] = affine.min #[[FIRST]]()[%[[ROWS]]#0]
// CHECK: %[[BEGIN:.*]] = arith.andi %[[ANY]], %c-16
// CHECK: %[[WANTED:.*]] = affine.max #[[LEAST]]()[%[[BEGIN]], %[[ROWS]]#1]
// CHECK: %[[COUNT:.*]] = affine.min #[[SIZE]]()[%[[BEGIN]], %[[WANTED]]]
// CHECK: %[[KEYS:.*]] = tensor.extract_slice %[[K]][%[[BEGIN]], 0] [%[[COUNT]], 16] [1, 1]
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[K]][%[[BEGIN]], 0] [%[[COUNT]], 16] [1, 1]
// CHECK: %[[AT:.*]] = arith.addi %[[J]], %[[BEGIN]]
// CHECK: linalg.matmul ins(%[[KEYS]], %{{.*}} : tensor<?x16xf32>
// CHECK: attn.online_softmax {{.*}} at(%c0, %c0, %{{.*}}, %[[AT]]) queries(%c32) keys(%[[COUNT]]) partial(%[[PARTIAL]])
// CHECK: linalg.matmul {{.*}} ins(%[[VALUES]], %{{.*}} : tensor<?x16xf32>
func.func @sinks(%k: !k, %q: !q, %acc: !q, %m: !l, %l: !l, %i0: index,
                 %j0: index) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %i0, %j0) queries(%c32)
      exact(%no) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c4 = arith.constant 4 : index
      %c500 = arith.constant 500 : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %c500 : index
      %sink = arith.cmpi slt, %j, %c4 : index
      %keep = arith.ori %near, %sink : i1
      attn.yield %keep : i1
    } -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// In packs, values begin with a pack, and keys where the mask may keep one or 16
// are left: of keys 64 to 127, every 128th but the first 127 is the last. Rows of
// weights before those are hidden.
// CHECK-LABEL: func.func @packs
// CHECK-SAME: %[[K:[^:]*]]: tensor<64x32xbf16>, %[[V:[^:]*]]: tensor<2x16x32xbf16>
// CHECK: %[[HIDDEN:.*]] = arith.constant -0.000000e+00 : f32
// CHECK-NOT: scf.if
// CHECK: %[[PACK:.*]] = tensor.extract_slice %[[K]][32, 0] [32, 32] [1, 1]
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[V]][1, 0, 0] [1, 16, 32] [1, 1, 1]
// CHECK: %[[ALL:.*]] = tensor.empty() : tensor<96x32xf32>
// CHECK: %[[KEYS:.*]] = tensor.extract_slice %[[PACK]][16, 0] [16, 32] [1, 1]
// CHECK: tensor.expand_shape %[[KEYS]]
// CHECK: %[[SOFTMAX:.*]]:4 = attn.online_softmax {{.*}} at(%c0, %c0, %c500, %c112) queries(%c32) keys(%c16)
// CHECK: %[[WEIGHTS:.*]] = tensor.insert_slice %[[SOFTMAX]]#0 into %[[ALL]][16, 0] [64, 32] [1, 1]
// CHECK: %[[LEAD:.*]] = tensor.extract_slice %[[WEIGHTS]][0, 0] [16, 32] [1, 1]
// CHECK: linalg.fill ins(%[[HIDDEN]] : f32) outs(%[[LEAD]] :
// CHECK: tensor.expand_shape %[[VALUES]]
func.func @packs(%k: tensor<64x32xbf16>, %v: tensor<2x16x32xbf16>,
                 %q: tensor<16x32x2xbf16>, %acc: !q, %m: !l, %l: !l)
    -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c500 = arith.constant 500 : index
  %no = arith.constant false
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<16x32x2xbf16>, tensor<64x32xbf16>,
          tensor<2x16x32xbf16>)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c500, %c64) queries(%c32)
      exact(%no) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c127 = arith.constant 127 : index
      %rest = arith.andi %j, %c127 : index
      %keep = arith.cmpi eq, %rest, %c127 : index
      attn.yield %keep : i1
    } -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// A window hides nothing between its ends, which the loop over keys has already.
// CHECK-LABEL: func.func @window
// CHECK-NOT: tensor.extract_slice %{{.*}} to tensor<?x16xf32>
// CHECK: linalg.matmul ins(%arg0, %{{.*}} : tensor<64x16xf32>
func.func @window(%k: !k, %q: !q, %acc: !q, %m: !l, %l: !l, %i0: index,
                  %j0: index) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %i0, %j0) queries(%c32)
      exact(%no) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c500 = arith.constant 500 : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %c500 : index
      %past = arith.cmpi sle, %j, %i : index
      %keep = arith.andi %near, %past : i1
      attn.yield %keep : i1
    } -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}
