// Keys of i8 times queries that are rounded to i8.
// RUN: attn-opt %s -split-input-file -verify-diagnostics \
// RUN:   --attn-target="{quantize_queries = true, vector_bits = 256, i8_dot = true}" -attn-decompose-online | FileCheck %s
// Without being asked for, nothing is.
// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 256, i8_dot = true}" -attn-decompose-online 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEFAULT --implicit-check-not='remark:'
// RUN: attn-opt %s -split-input-file --attn-target="{quantize_queries = true}" -attn-decompose-online 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE
// DEFAULT-NOT: xi32>
// NONE: remark: multiplies keys of i8 as numbers of f32: the target has no dot products of i8
// NONE-NOT: xi32>

!q = tensor<3x32xf32>
!o = tensor<3x16xf32>
!l = tensor<16xf32>

// The scale of each query, and its numbers of i8, once, and the sums of products in
// i32, of which there are as many as queries in a row of lanes. Scores are sums times
// both scales. Values are multiplied as before.
// CHECK-LABEL: func.func @integers
// CHECK-SAME: %[[K:[^:]*]]: tensor<?x32xi8>, %[[V:[^:]*]]: tensor<?x16xi8>, %[[KS:[^:]*]]: tensor<?xf32>, %{{[^:]*}}: tensor<?xf32>, %[[Q:[^:]*]]: tensor<3x32xf32>
// CHECK: %[[LARGEST:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[Q]] : tensor<3x32xf32>) outs(%{{.*}} : tensor<3xf32>)
// CHECK: math.absf
// CHECK: arith.maximumf
// CHECK: %[[OF_ROWS:.*]] = linalg.generic {{.*}} outs(%[[LARGEST]] : tensor<3xf32>)
// CHECK: arith.divf %{{.*}}, %cst
// CHECK: %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[Q]], %[[OF_ROWS]] : tensor<3x32xf32>, tensor<3xf32>) outs(%{{.*}} : tensor<3x32xi8>)
// CHECK: math.roundeven
// CHECK: arith.fptosi %{{.*}} : f32 to i8
// CHECK: %[[QS:.*]] = tensor.insert_slice %[[OF_ROWS]] into %{{.*}}[0] [3] [1] : tensor<3xf32> into tensor<16xf32>
// CHECK: %[[K0:.*]] = tensor.extract_slice %[[K]]
// CHECK: %[[KS0:.*]] = tensor.extract_slice %[[KS]]
// CHECK: %[[PART:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[K0]], %[[ROUNDED]] : tensor<?x32xi8>, tensor<3x32xi8>) outs(%{{.*}} : tensor<?x3xi32>)
// CHECK: arith.extsi
// CHECK: arith.extsi
// CHECK: arith.muli
// CHECK: arith.addi
// CHECK: %[[ALL:.*]] = tensor.insert_slice %[[PART]] into %{{.*}}[0, 0] {{.*}} : tensor<?x3xi32> into tensor<32x16xi32>
// CHECK: %[[SUMS:.*]] = tensor.extract_slice %[[ALL]]{{.*}} to tensor<?x16xi32>
// CHECK: linalg.generic {{.*}} ins(%[[SUMS]], %[[KS0]], %[[QS]] : tensor<?x16xi32>, tensor<?xf32>, tensor<16xf32>)
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK-COUNT-2: arith.mulf
// CHECK: attn.online_softmax
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<?x3xf32>, tensor<?x16xi8>)
func.func @integers(%k: tensor<?x32xi8>, %v: tensor<?x16xi8>, %ks: tensor<?xf32>,
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

// -----

!q = tensor<3x48xf32>
!o = tensor<3x16xf32>
!l = tensor<16xf32>

// CHECK-LABEL: func.func @head_size
// CHECK-NOT: xi32>
func.func @head_size(%k: tensor<32x48xi8>, %v: tensor<32x16xi8>, %ks: tensor<32xf32>,
    %q: !q, %o: !o, %m: !l, %l: !l, %exact: i1) -> !o {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  // expected-remark @+1 {{multiplies keys of i8 as numbers of f32: the head size, 48, is not a multiple of 32}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : !q, tensor<32x48xi8>, tensor<32x16xi8>)
      key_scales(%ks : tensor<32xf32>) value_scales(%ks : tensor<32xf32>)
      outs(%o, %m, %l : !o, !l, !l) at(%c0, %c0, %c0, %c0) queries(%c3)
      exact(%exact) -> !o, !l, !l
  return %r#0 : !o
}

