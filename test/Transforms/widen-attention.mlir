// RUN: attn-opt %s -attn-widen-attention | FileCheck %s

// CHECK-LABEL: func.func @half
// CHECK-COUNT-3: scf.forall {{.*}} step (1, 1, 256) {{.*}}tensor<?x2x?x16xf32>
// CHECK: attn.attention ins({{.*}}tensor<?x2x?x16xf32>) outs(%{{.*}} : tensor<?x2x?x16xf32>, tensor<?x2x?xf32>)
// CHECK: scf.forall {{.*}} step (1, 1, 256) shared_outs(%{{.*}} = %arg3) -> (tensor<?x2x?x16xf16>)
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @half(%q: tensor<?x2x?x16xf16>, %k: tensor<?x2x?x16xf16>,
                %v: tensor<?x2x?x16xf16>, %o: tensor<?x2x?x16xf16>,
                %l: tensor<?x2x?xf32>)
    -> (tensor<?x2x?x16xf16>, tensor<?x2x?xf32>) {
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<?x2x?x16xf16>, tensor<?x2x?x16xf16>,
          tensor<?x2x?x16xf16>)
      outs(%o, %l : tensor<?x2x?x16xf16>, tensor<?x2x?xf32>)
  return %r#0, %r#1 : tensor<?x2x?x16xf16>, tensor<?x2x?xf32>
}

// CHECK-LABEL: func.func @single
// CHECK-NOT: scf.forall
func.func @single(%q: tensor<1x2x8x16xf32>, %o: tensor<1x2x8x16xf32>)
    -> tensor<1x2x8x16xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>,
          tensor<1x2x8x16xf32>) outs(%o : tensor<1x2x8x16xf32>)
  return %r : tensor<1x2x8x16xf32>
}
