// RUN: attn-opt %s -attn-attention-to-online -canonicalize -cse | FileCheck %s

!h = tensor<1x1x20x16xf16>
!k = tensor<1x1x?x16xf16>
!q4 = tensor<2x4x20x16xf16>
!k4 = tensor<2x2x?x16xf16>

// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0)[s0] -> (-d0 + s0, 256)>

// Queries are converted in the tile. All heads of keys and values are converted
// at once, before the loop, for both ops.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x4x20x16xf16>, %[[K:[^:]*]]: tensor<2x2x?x16xf16>, %[[V:[^:]*]]: tensor<2x2x?x16xf16>
// CHECK: %[[N:.*]] = tensor.dim %[[K]], %c2
// CHECK: %[[WK:.*]] = scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) = (0, 0, 0) to (2, 2, %{{.*}}) step (1, 1, 256) {{.*}} -> (tensor<2x2x?x16xf32>)
// CHECK: %[[ROW:.*]] = affine.min #[[ROWS]](%[[I]])
// CHECK: %[[FROM:.*]] = tensor.extract_slice %[[K]][%[[B]], %[[H]], %[[I]], 0] [1, 1, %[[ROW]], 16]
// CHECK: linalg.generic {{.*}} ins(%[[FROM]] :
// CHECK: arith.extf
// CHECK: %[[WV:.*]] = scf.forall {{.*}} -> (tensor<2x2x?x16xf32>)
// CHECK: tensor.extract_slice %[[V]]
// CHECK: arith.extf
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (2, 4) {{.*}} -> (tensor<2x4x20x16xf16>)
// CHECK: %[[G:.*]] = affine.apply
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.mulf %[[X]], %{{.*}} : f32
// CHECK: %[[KH:.*]] = tensor.extract_slice %[[WK]][%[[B]], %[[G]], 0, 0] [1, 1, %{{.*}}, 16] {{.*}} to tensor<?x16xf32>
// CHECK: %[[VH:.*]] = tensor.extract_slice %[[WV]][%[[B]], %[[G]], 0, 0] [1, 1, %{{.*}}, 16] {{.*}} to tensor<?x16xf32>
// CHECK: attn.online_attention ins(%{{.*}}, %[[KH]], %[[VH]] : tensor<16x32xf32>,
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: attn.online_attention ins(%{{.*}}, %[[KH]], %[[VH]] : tensor<16x32xf32>,
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @shared(%q: !q4, %k: !k4, %v: !k4, %o: !q4) -> !q4 {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %k, %c2 : !k4
  %m = tensor.dim %v, %c2 : !k4
  %r = scf.forall (%b, %h) in (2, 4) shared_outs(%out = %o) -> !q4 {
    %g = affine.apply affine_map<(h) -> (h floordiv 2)>(%h)
    %qs = tensor.extract_slice %q[%b, %h, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !q4 to !h
    %os = tensor.extract_slice %out[%b, %h, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !q4 to !h
    %ks = tensor.extract_slice %k[%b, %g, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1] : !k4 to !k
    %vs = tensor.extract_slice %v[%b, %g, 0, 0] [1, 1, %m, 16] [1, 1, 1, 1] : !k4 to !k
    %x = attn.attention ins(%qs, %ks, %vs : !h, !k, !k) outs(%os : !h)
    %y = attn.attention ins(%x, %ks, %vs : !h, !k, !k) outs(%os : !h)
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %out[%b, %h, 0, 0] [1, 1, 20, 16]
          [1, 1, 1, 1] : !h into !q4
    }
  }
  return %r : !q4
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

// CHECK-LABEL: func.func @double
// CHECK-NOT: attn.online_attention
func.func @double(%q: tensor<1x1x20x16xf64>) -> tensor<1x1x20x16xf64> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x20x16xf64>, tensor<1x1x20x16xf64>,
          tensor<1x1x20x16xf64>) outs(%q : tensor<1x1x20x16xf64>)
  return %r : tensor<1x1x20x16xf64>
}
