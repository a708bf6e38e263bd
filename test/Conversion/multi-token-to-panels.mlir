// RUN: attn-opt %s --attn-multi-token-to-panels --split-input-file --verify-diagnostics | FileCheck %s

// Keys are transposed once. A tile of 48 rows has at least 5 rows before them for
// the convolution; the heads of a group of mixing are computed together.
// CHECK-LABEL: func.func @paper
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2)
// CHECK: linalg.transpose
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) = (0, 0, 0) to (%{{.*}}, 2, %{{.*}}) step (1, 1, 48)
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<56x64xf32>)
// A block that is full is not masked.
// CHECK: scf.if
// CHECK: linalg.index
// A block with what its convolution reads around it.
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x53x74xf32>, tensor<1x6x11xf32>) outs(%{{.*}} : tensor<48x64xf32>)
// CHECK: math.exp2
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<48x8xf32>)
// CHECK: attn.all_finite
// CHECK: tensor.parallel_insert_slice
// CHECK-NOT: attn.multi_token_attention
func.func @paper(%query: tensor<?x4x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                 %value: tensor<?x2x?x8xf32>, %init: tensor<?x4x?x8xf32>,
                 %kernel: tensor<4x6x11xf32>, %weights: tensor<2x2x2xf32>)
    -> tensor<?x4x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %value : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x4x?x8xf32>)
      convolve_before(%kernel : tensor<4x6x11xf32>)
      mix_after(%weights : tensor<2x2x2xf32>)
      mask causal
  return %0 : tensor<?x4x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @in_f64
// CHECK: attn.multi_token_attention
func.func @in_f64(%x: tensor<1x1x?x8xf64>, %kernel: tensor<1x2x3xf64>)
    -> tensor<1x1x?x8xf64> {
  // expected-remark @+1 {{is lowered by the reference path, because its element type is f64}}
  %0 = attn.multi_token_attention
      ins(%x, %x, %x : tensor<1x1x?x8xf64>, tensor<1x1x?x8xf64>,
          tensor<1x1x?x8xf64>)
      outs(%x : tensor<1x1x?x8xf64>)
      convolve_before(%kernel : tensor<1x2x3xf64>)
  return %0 : tensor<1x1x?x8xf64>
}

// -----

// CHECK-LABEL: func.func @large_kernel
// CHECK: attn.multi_token_attention
func.func @large_kernel(%x: tensor<1x1x?x8xf32>,
                        %kernel: tensor<1x3000000000x1xf32>)
    -> tensor<1x1x?x8xf32> {
  // expected-remark @+1 {{is lowered by the reference path, because a kernel has more than 2048 taps per head}}
  %0 = attn.multi_token_attention
      ins(%x, %x, %x : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>,
          tensor<1x1x?x8xf32>)
      outs(%x : tensor<1x1x?x8xf32>)
      convolve_before(%kernel : tensor<1x3000000000x1xf32>)
  return %0 : tensor<1x1x?x8xf32>
}
