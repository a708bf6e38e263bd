// RUN: attn-opt %s -attn-decompose-online -canonicalize -cse | FileCheck %s

!q = tensor<3x32xf32>
!k = tensor<64x32xf16>
!v = tensor<64x16xf16>
!o = tensor<3x16xf32>
!l = tensor<16xf32>

// CHECK-DAG: #[[JD:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[QD:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[JQ:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[WQ:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[VD:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>

// Scores have their queries in the first of the lanes, and 0 in the others.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[Q:[^:]*]]: tensor<3x32xf32>, %[[K:[^:]*]]: tensor<64x32xf16>, %[[V:[^:]*]]: tensor<64x16xf16>, %[[O:[^:]*]]: tensor<3x16xf32>
// CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} outs(%{{.*}} : tensor<64x16xf32>)
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[ZEROS]][0, 0] [64, 3] [1, 1]
// CHECK: %[[S:.*]] = linalg.generic {indexing_maps = [#[[JD]], #[[QD]], #[[JQ]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[K]], %[[Q]] : tensor<64x32xf16>, tensor<3x32xf32>) outs(%[[PART]] : tensor<64x3xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f16, %[[Y:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[WIDE]], %[[Y]]
// CHECK-NEXT: arith.addf %[[SUM]], %[[PRODUCT]]
// CHECK: %[[SCORES:.*]] = tensor.insert_slice %[[S]] into %[[ZEROS]][0, 0] [64, 3]
// CHECK: %[[P:.*]]:4 = attn.online_softmax outs(%[[SCORES]], {{.*}} : tensor<64x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK: %[[W:.*]] = tensor.extract_slice %[[P]]#0[0, 0] [64, 3] [1, 1]
// CHECK: %[[C:.*]] = tensor.extract_slice %[[P]]#3[0] [3] [1] : tensor<16xf32> to tensor<3xf32>
// CHECK: %[[CORRECTED:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<3xf32>) outs(%[[O]] : tensor<3x16xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[WQ]], #[[VD]], #[[JQ]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[W]], %[[V]] : tensor<64x3xf32>, tensor<64x16xf16>) outs(%[[CORRECTED]] : tensor<3x16xf32>)
// CHECK-NOT: attn.online_attention
func.func @rows(%q: !q, %k: !k, %v: !v, %o: !o, %m: !l, %l: !l) -> !o {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %no = arith.constant false
  %r:3 = attn.online_attention layout<rows> ins(%q, %k, %v : !q, !k, !v)
      outs(%o, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%c3)
      exact(%no) -> !o, !l, !l
  return %r#0 : !o
}

// Of exact blocks, hidden products are left out: those of the weight -0.0.
// CHECK-LABEL: func.func @exact
// CHECK: attn.online_softmax
// CHECK: scf.if
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<64x16xf16>, tensor<64x3xf32>) outs(%{{.*}} : tensor<3x16xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f16, %[[W:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK-DAG: %[[BITS:.*]] = arith.bitcast %[[W]] : f32 to i32
// CHECK-DAG: %[[HIDDEN:.*]] = arith.cmpi eq, %[[BITS]], %{{.*}}
// CHECK-DAG: %[[WIDE:.*]] = arith.extf %[[X]]
// CHECK-DAG: %[[PRODUCT:.*]] = arith.mulf %[[WIDE]], %[[W]]
// CHECK-DAG: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[PRODUCT]]
// CHECK: arith.select %[[HIDDEN]], %[[SUM]], %[[NEXT]]
// CHECK: } else {
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
func.func @exact(%q: !q, %k: !k, %v: !v, %o: !o, %m: !l, %l: !l, %exact: i1)
    -> !o {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %r:3 = attn.online_attention layout<rows> ins(%q, %k, %v : !q, !k, !v)
      outs(%o, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%c3)
      exact(%exact) -> !o, !l, !l
  return %r#0 : !o
}

// Elements of i8 are converted as they are loaded, not before. The scale of a key is
// multiplied with its scores and that of a value with its weights, once for a row. Not so the weights of exact blocks, of which -0.0 says that they are
// hidden: -0.0 times NaN would be NaN.
// CHECK-LABEL: func.func @quantized
// CHECK-SAME: %[[K:[^:]*]]: tensor<?x32xi8>, %[[V:[^:]*]]: tensor<?x16xi8>, %[[KS:[^:]*]]: tensor<?xf32>, %[[VS:[^:]*]]: tensor<?xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32xi8>, tensor<3x32xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: i8, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NEXT: arith.sitofp %[[X]] : i8 to f32
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : tensor<?xf32>) outs(%{{.*}} : tensor<?x16xf32>)
// CHECK: attn.online_softmax
// CHECK: scf.if
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x16xi8>, tensor<?x3xf32>, tensor<?xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: i8, %[[W:.*]]: f32, %[[SCALE:.*]]: f32, %{{.*}}: f32):
// CHECK-DAG: %[[WIDE:.*]] = arith.sitofp %[[X]] : i8 to f32
// CHECK-DAG: %[[VALUE:.*]] = arith.mulf %[[WIDE]], %[[SCALE]]
// CHECK-DAG: arith.mulf %[[VALUE]], %[[W]]
// CHECK: } else {
// CHECK: %[[FACTORS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : tensor<?xf32>) outs(%{{.*}} : tensor<?x16xf32>)
// CHECK: %[[CORRECTED:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<3x16xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<?x3xf32>, tensor<?x16xi8>) outs(%[[CORRECTED]]
func.func @quantized(%k: tensor<?x32xi8>, %v: tensor<?x16xi8>, %ks: tensor<?xf32>,
    %vs: tensor<?xf32>, %q: !q, %o: !o, %m: !l, %l: !l, %exact: i1, %j: index) -> !o {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = affine.min affine_map<(d0) -> (-d0 + 100, 32)>(%j)
  %k0 = tensor.extract_slice %k[0, 0] [%n, 32] [1, 1] : tensor<?x32xi8> to tensor<?x32xi8>
  %v0 = tensor.extract_slice %v[0, 0] [%n, 16] [1, 1] : tensor<?x16xi8> to tensor<?x16xi8>
  %ks0 = tensor.extract_slice %ks[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %vs0 = tensor.extract_slice %vs[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k0, %v0 : !q, tensor<?x32xi8>, tensor<?x16xi8>)
      key_scales(%ks0 : tensor<?xf32>) value_scales(%vs0 : tensor<?xf32>)
      outs(%o, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%c3)
      exact(%exact) -> !o, !l, !l
  return %r#0 : !o
}
