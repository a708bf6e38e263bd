// RUN: attn-opt %s -attn-multi-token-to-elements -canonicalize -cse \
// RUN:   -verify-diagnostics | FileCheck %s

!rows = tensor<1x4x9x16xf16>

// Each step is a parallel loop over what it gives. Three rows of the output have two
// before them that the convolution sees.
// CHECK-LABEL: func.func @stages
// CHECK-SAME: %[[Q:[a-z0-9]*]]: tensor<1x4x9x16xf16>, %[[K:[a-z0-9]*]]: tensor<1x2x13x16xf16>, %[[V:[a-z0-9]*]]: tensor<1x2x13x16xf16>
// CHECK-SAME: %[[KERNEL:[a-z0-9]*]]: tensor<4x3x5xf16>, %[[WEIGHTS:[a-z0-9]*]]: tensor<2x2x2xf32>
// CHECK: %[[SCORES:.*]] = scf.forall {{.*}} in (4, 5, 13)
// CHECK: scf.if
// CHECK: scf.for
// CHECK: tensor.extract %[[Q]]
// CHECK: tensor.extract %[[K]]
// CHECK: math.fma
// CHECK: %[[CONVOLVED:.*]] = scf.forall {{.*}} in (4, 5, 13)
// What is hidden is 0, and counts as 0; so does what is outside.
// CHECK: tensor.extract %[[SCORES]]
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %{{.*}} to %c3
// CHECK: scf.for
// CHECK: %[[S:.*]] = tensor.extract %[[SCORES]]
// CHECK: %[[HIDDEN:.*]] = arith.cmpf oeq, %[[S]]
// CHECK: arith.select %[[HIDDEN]]
// CHECK: tensor.extract %[[KERNEL]]
// CHECK: %[[LARGEST:.*]] = scf.forall {{.*}} in (4, 5)
// CHECK: arith.maximumf
// CHECK: %[[SUMS:.*]] = scf.forall {{.*}} in (4, 5)
// CHECK: math.exp
// CHECK: %[[PROBABILITIES:.*]] = scf.forall {{.*}} in (4, 5, 13)
// CHECK: arith.divf
// CHECK: %[[MIXED:.*]] = scf.forall {{.*}} in (4, 5, 13)
// CHECK: tensor.extract %[[WEIGHTS]]
// CHECK: tensor.extract %[[PROBABILITIES]]
// CHECK: %[[OUTPUT:.*]] = scf.forall {{.*}} in (4, 3, 16)
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tensor.extract %[[MIXED]]
// CHECK: tensor.extract %[[V]]
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: return %[[OUTPUT]]
func.func @stages(%query: !rows, %key: tensor<1x2x13x16xf16>,
    %value: tensor<1x2x13x16xf16>, %kernel: tensor<4x3x5xf16>,
    %weights: tensor<2x2x2xf32>) -> tensor<1x4x3x16xf16> {
  %init = tensor.empty() : tensor<1x4x3x16xf16>
  // expected-remark@+1 {{is computed element by element, and keeps the scores of all its queries and keys in memory}}
  %output = attn.multi_token_attention
      ins(%query, %key, %value : !rows, tensor<1x2x13x16xf16>, tensor<1x2x13x16xf16>)
      outs(%init : tensor<1x4x3x16xf16>)
      convolve_before(%kernel : tensor<4x3x5xf16>)
      mix_after(%weights : tensor<2x2x2xf32>)
      mask causal
  return %output : tensor<1x4x3x16xf16>
}
