// RUN: attn-opt %s -attn-decompose-online -canonicalize | FileCheck %s

// CHECK-DAG: #[[KEY:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: #[[QUERY:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d1, d3)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
// CHECK-DAG: #[[VALUE:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0, d3, d4)>
// CHECK-DAG: #[[WEIGHT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2, d3, d1, d4)>
// CHECK-DAG: #[[PACK:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>
// CHECK-DAG: #[[INPACK:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>

!q = tensor<8x32x2xbf16>
!k = tensor<100x16xbf16>
!v = tensor<4x24x32xbf16>
!o = tensor<24x32xf32>
!l = tensor<32xf32>

// 100 keys in 4 packs, of which the softmax rounds the weights.
// CHECK-LABEL: func.func @plain
// CHECK-SAME: %[[Q:[^:]*]]: tensor<8x32x2xbf16>, %[[K:[^:]*]]: tensor<100x16xbf16>, %[[V:[^:]*]]: tensor<4x24x32xbf16>, %[[O:[^:]*]]: tensor<24x32xf32>
// CHECK-SAME: %[[SCALE:[^:]*]]: f32)
// CHECK: %[[KP:.*]] = tensor.expand_shape %[[K]] {{.*}} into tensor<100x8x2xbf16>
// CHECK: %[[DOT:.*]] = linalg.generic {indexing_maps = [#[[KEY]], #[[QUERY]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%[[KP]], %[[Q]] : {{.*}}) outs(%{{.*}} : tensor<100x32xf32>)
// CHECK-COUNT-2: arith.extf
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: tensor.insert_slice %[[DOT]] into %{{.*}}[0, 0] [100, 32] [1, 1] : tensor<100x32xf32> into tensor<128x32xf32>
// CHECK: %[[S:.*]]:5 = attn.online_softmax outs({{.*}} : tensor<128x32xf32>, {{.*}}, tensor<64x32x2xbf16>) {{.*}} scale(%[[SCALE]] : f32)
// CHECK: %[[W:.*]] = tensor.expand_shape %[[S]]#4 {{.*}} : tensor<64x32x2xbf16> into tensor<4x16x32x2xbf16>

// The rescale factor stands right before the product that it starts.
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%[[S]]#3 : tensor<32xf32>) outs(%[[O]] : tensor<24x32xf32>)
// CHECK: %[[VP:.*]] = tensor.expand_shape %[[V]] {{.*}} into tensor<4x24x16x2xbf16>
// CHECK-NOT: linalg
// CHECK: linalg.generic {indexing_maps = [#[[VALUE]], #[[WEIGHT]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%[[VP]], %[[W]] : {{.*}}) outs(%[[C]] : tensor<24x32xf32>)
func.func @plain(%q: !q, %k: !k, %v: !v, %acc: !o, %m: !l, %l: !l, %n: index,
                 %scale: f32) -> (!o, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : !q, !k, !v)
      outs(%acc, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) scale(%scale : f32) -> !o, !l, !l
  return %r#0, %r#1, %r#2 : !o, !l, !l
}

// What dropout leaves is rounded in a step of its own, with the weights of the 28 keys that
// there are not as those of hidden positions.
// CHECK-LABEL: func.func @dropout
// CHECK-DAG: %[[HIDDEN:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: attn.online_softmax outs({{.*}}, {{.*}}, {{.*}}, {{[^,]*}} : {{.*}}xf32>)
// CHECK: %[[D:.*]] = attn.online_dropout
// CHECK: tensor.extract_slice %[[D]][100, 0] [28, 32]
// CHECK: %[[REST:.*]] = linalg.fill ins(%[[HIDDEN]] : f32)
// CHECK: %[[P:.*]] = tensor.insert_slice %[[REST]] into %[[D]][100, 0] [28, 32]
// CHECK: %[[PP:.*]] = tensor.expand_shape %[[P]] {{.*}} : tensor<128x32xf32> into tensor<4x16x2x32xf32>
// CHECK: linalg.generic {indexing_maps = [#[[ROWS]], #{{.*}}], {{.*}}} ins(%[[PP]] : {{.*}}) outs(%{{.*}} : tensor<4x16x32x2xbf16>)
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @dropout(%q: !q, %k: !k, %v: !v, %acc: !o, %m: !l, %l: !l, %n: index,
                   %seed: i64, %call: i32) -> (!o, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : !q, !k, !v)
      outs(%acc, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) dropout(0.5, %seed, %call, %c0, %c0) -> !o, !l, !l
  return %r#0, %r#1, %r#2 : !o, !l, !l
}

// The exact sum is of weights that are not rounded, where those of keys that there are not
// are those of hidden positions.
// CHECK-LABEL: func.func @exact
// CHECK-DAG: %[[HIDDEN:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: %[[S:.*]]:5 = attn.online_softmax
// CHECK: scf.if
// CHECK: %[[REST:.*]] = linalg.fill ins(%[[HIDDEN]] : f32)
// CHECK: tensor.insert_slice %[[REST]] into %[[S]]#0[100, 0] [28, 32]
// CHECK: tensor.expand_shape %{{.*}} : tensor<128x32xf32> into tensor<4x32x32xf32>
// CHECK: linalg.generic {indexing_maps = [#[[PACK]], #[[INPACK]], #{{.*}}], iterator_types = ["parallel", "reduction", "reduction", "parallel"]} {{.*}} : tensor<4x24x32xbf16>, tensor<4x32x32xf32>)
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.select
// CHECK-NOT: arith.truncf
// CHECK: } else {
// CHECK: tensor.expand_shape %[[S]]#4
func.func @exact(%q: !q, %k: !k, %v: !v, %acc: !o, %m: !l, %l: !l, %n: index,
                 %exact: i1) -> (!o, !l, !l) {
  %c0 = arith.constant 0 : index
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : !q, !k, !v)
      outs(%acc, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%exact) -> !o, !l, !l
  return %r#0, %r#1, %r#2 : !o, !l, !l
}

// Values that are not in packs are packed with their block.
// CHECK-LABEL: func.func @block
// CHECK-SAME: %[[V:[^:]*]]: tensor<100x24xbf16>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: attn.online_softmax
// CHECK: scf.if
// CHECK: linalg.generic {{.*}} ins(%[[V]], %{{.*}} : tensor<100x24xbf16>, tensor<100x32xf32>)
// CHECK: arith.select
// CHECK: } else {
// CHECK: %[[P:.*]] = linalg.pack %[[V]] padding_value(%[[ZERO]] : bf16) inner_dims_pos = [0] inner_tiles = [32] into %{{.*}} : tensor<100x24xbf16> -> tensor<4x24x32xbf16>
// CHECK: tensor.expand_shape %[[P]] {{.*}} into tensor<4x24x16x2xbf16>
func.func @block(%v: tensor<100x24xbf16>, %q: !q, %k: !k, %acc: !o, %m: !l,
                 %l: !l, %n: index, %exact: i1) -> (!o, !l, !l) {
  %c0 = arith.constant 0 : index
  %r:3 = attn.online_attention layout<pairs>
      ins(%q, %k, %v : !q, !k, tensor<100x24xbf16>)
      outs(%acc, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%exact) -> !o, !l, !l
  return %r#0, %r#1, %r#2 : !o, !l, !l
}
