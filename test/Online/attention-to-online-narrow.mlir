// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-plan -attn-attention-to-online -canonicalize -cse | FileCheck %s

!h = tensor<1x1x20x16xf16>
!k = tensor<1x1x?x16xf16>

// Queries are converted in the tile, keys and values not yet.
// CHECK-LABEL: func.func @tile
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x1x20x16xf16>, %[[K:[^:]*]]: tensor<1x1x?x16xf16>, %[[V:[^:]*]]: tensor<1x1x?x16xf16>
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.mulf %[[X]], %{{.*}} : f32
// CHECK-DAG: %[[KEYS:.*]] = tensor.extract_slice %[[K]][0, 0, 0, 0] [1, 1, %{{.*}}, 16] {{.*}} to tensor<?x16xf16>
// CHECK-DAG: %[[VALUES:.*]] = tensor.extract_slice %[[V]][0, 0, 0, 0] [1, 1, %{{.*}}, 16] {{.*}} to tensor<?x16xf16>
// CHECK: attn.online_attention ins(%{{.*}}, %[[KEYS]], %[[VALUES]] : tensor<16x32xf32>, tensor<?x16xf16>, tensor<?x16xf16>)
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @tile(%q: !h, %k: !k, %v: !k, %o: !h) -> !h {
  %r = attn.attention ins(%q, %k, %v : !h, !k, !k) outs(%o : !h)
  return %r : !h
}

// The scale is of f32, so that it is not rounded.
// CHECK-LABEL: func.func @scale
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: attn.online_attention ins({{.*}} : tensor<16x32xf32>,
func.func @scale(%q: !h, %k: !k, %o: !h, %scale: f32) -> !h {
  %r = attn.attention ins(%q, %k, %k : !h, !k, !k) outs(%o : !h)
      scale(%scale : f32)
  return %r : !h
}

// Of f64, everything is, in half as many lanes.
// CHECK-LABEL: func.func @double
// CHECK: attn.online_attention ins({{.*}} : tensor<16x24xf64>, tensor<20x16xf64>, tensor<20x16xf64>)
// CHECK-SAME: outs({{.*}} : tensor<16x24xf64>, tensor<24xf64>, tensor<24xf64>)
func.func @double(%q: tensor<1x1x20x16xf64>) -> tensor<1x1x20x16xf64> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x20x16xf64>, tensor<1x1x20x16xf64>,
          tensor<1x1x20x16xf64>) outs(%q : tensor<1x1x20x16xf64>)
  return %r : tensor<1x1x20x16xf64>
}
