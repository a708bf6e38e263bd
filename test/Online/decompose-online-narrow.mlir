// RUN: attn-opt %s -attn-decompose-online -canonicalize -cse | FileCheck %s

!q = tensor<16x32xf32>
!k = tensor<100x16xf16>
!v = tensor<100x24xf16>
!o = tensor<24x32xf32>
!l = tensor<32xf32>

// Keys and values are widened where they are used.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: %[[Q:[^:]*]]: tensor<16x32xf32>, %[[K:[^:]*]]: tensor<100x16xf16>, %[[V:[^:]*]]: tensor<100x24xf16>
// CHECK: %[[KEYS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[K]] : tensor<100x16xf16>) outs(%{{.*}} : tensor<100x16xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f16, %{{.*}}: f32):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT: linalg.yield %[[WIDE]]
// CHECK: linalg.matmul ins(%[[KEYS]], %[[Q]] : tensor<100x16xf32>, tensor<16x32xf32>)
// CHECK: attn.online_softmax
// CHECK: %[[VALUES:.*]] = linalg.generic {{.*}} ins(%[[V]] : tensor<100x24xf16>) outs(%{{.*}} : tensor<100x24xf32>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.extf
// CHECK: arith.mulf
// CHECK: linalg.matmul indexing_maps {{.*}} ins(%[[VALUES]], %{{.*}} : tensor<100x24xf32>, tensor<100x32xf32>)
func.func @narrow(%q: !q, %k: !k, %v: !v, %o: !o, %m: !l, %l: !l) -> !o {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %v : !q, !k, !v)
      outs(%o, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%c32)
      exact(%no) -> !o, !l, !l
  return %r#0 : !o
}

// Exact sums widen value by value.
// CHECK-LABEL: func.func @exact
// CHECK: scf.if
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<100x24xf16>, tensor<100x32xf32>)
// CHECK: } else {
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<100x24xf16>) outs(%{{.*}} : tensor<100x24xf32>)
func.func @exact(%q: !q, %k: !k, %v: !v, %o: !o, %m: !l, %l: !l, %exact: i1)
    -> !o {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %r:3 = attn.online_attention ins(%q, %k, %v : !q, !k, !v)
      outs(%o, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%c32)
      exact(%exact) -> !o, !l, !l
  return %r#0 : !o
}

// Values take the place of keys of the same size.
// CHECK-LABEL: func.func @same_size
// CHECK-SAME: %[[Q:[^:]*]]: tensor<16x32xf32>, %[[K:[^:]*]]: tensor<?x16xf16>, %[[V:[^:]*]]: tensor<?x16xf16>
// CHECK: %[[ROWS:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 16] [1, 1] : tensor<64x16xf32> to tensor<?x16xf32>
// CHECK: %[[KEYS:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<?x16xf16>) outs(%[[ROWS]] : tensor<?x16xf32>)
// CHECK: linalg.matmul ins(%[[KEYS]],
// CHECK: %[[VALUES:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<?x16xf16>) outs(%[[KEYS]] : tensor<?x16xf32>)
// CHECK: linalg.matmul indexing_maps {{.*}} ins(%[[VALUES]],
func.func @same_size(%q: !q, %k: tensor<?x16xf16>, %v: tensor<?x16xf16>,
                     %o: !q, %m: !l, %l: !l) -> !q {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %n = tensor.dim %k, %c0 : tensor<?x16xf16>
  %count = affine.min affine_map<()[n] -> (n, 64)>()[%n]
  %ks = tensor.extract_slice %k[0, 0] [%count, 16] [1, 1]
      : tensor<?x16xf16> to tensor<?x16xf16>
  %vs = tensor.extract_slice %v[0, 0] [%count, 16] [1, 1]
      : tensor<?x16xf16> to tensor<?x16xf16>
  %r:3 = attn.online_attention
      ins(%q, %ks, %vs : !q, tensor<?x16xf16>, tensor<?x16xf16>)
      outs(%o, %m, %l : !q, !l, !l) at(%c0, %c0, %c0, %c0) queries(%c32)
      exact(%no) -> !q, !l, !l
  return %r#0 : !q
}
