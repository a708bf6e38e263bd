// RUN: attn-opt %s --split-input-file | attn-opt --split-input-file | FileCheck %s
// RUN: attn-opt %s --split-input-file --mlir-print-op-generic | attn-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @paper
// CHECK: attn.multi_token_attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) outs(%{{.*}} : tensor<?x8x?x64xf32>)
// CHECK-SAME: convolve_before(%{{.*}} : tensor<8x6x11xf32>) mix_after(%{{.*}} : tensor<4x2x2xf32>)
// CHECK-SAME: mask(%[[B:.*]], %[[H:.*]], %[[P:.*]], %[[J:.*]]) {
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[P]] : index
func.func @paper(%query: tensor<?x8x?x64xf32>, %key: tensor<?x2x?x64xf32>,
                 %value: tensor<?x2x?x64xf32>, %init: tensor<?x8x?x64xf32>,
                 %kernel: tensor<8x6x11xf32>, %weights: tensor<4x2x2xf32>)
    -> tensor<?x8x?x64xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %value : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>,
          tensor<?x2x?x64xf32>)
      outs(%init : tensor<?x8x?x64xf32>)
      convolve_before(%kernel : tensor<8x6x11xf32>)
      mix_after(%weights : tensor<4x2x2xf32>)
      mask causal
  return %0 : tensor<?x8x?x64xf32>
}

// -----

// CHECK-LABEL: func.func @everything
// CHECK: attn.multi_token_attention ins
// CHECK-SAME: scale(%{{.*}} : f32) offset(%{{.*}} : tensor<2xi32>) sink(%{{.*}} : tensor<4xbf16>)
// CHECK-SAME: convolve_before(%{{.*}} : tensor<4x3x5xf32>) mix_before(%{{.*}} : tensor<1x4x4xbf16>) convolve_after(%{{.*}} : tensor<4x2x1x3xf16>)
// CHECK-SAME: dropout(5.000000e-01, %{{.*}}, %{{.*}}) score(
// CHECK: mask(
func.func @everything(%query: tensor<2x4x7x8xbf16>, %key: tensor<2x2x9x8xbf16>,
                      %value: tensor<2x2x9x3xbf16>, %init: tensor<2x4x5x3xbf16>,
                      %lse: tensor<2x4x5xf32>, %scale: f32,
                      %offset: tensor<2xi32>, %sink: tensor<4xbf16>,
                      %kernel: tensor<4x3x5xf32>, %weights: tensor<1x4x4xbf16>,
                      %after: tensor<4x2x1x3xf16>, %seed: i64, %call: i32)
    -> (tensor<2x4x5x3xbf16>, tensor<2x4x5xf32>) {
  %0:2 = attn.multi_token_attention
      ins(%query, %key, %value : tensor<2x4x7x8xbf16>, tensor<2x2x9x8xbf16>,
          tensor<2x2x9x3xbf16>)
      outs(%init, %lse : tensor<2x4x5x3xbf16>, tensor<2x4x5xf32>)
      scale(%scale : f32) offset(%offset : tensor<2xi32>)
      sink(%sink : tensor<4xbf16>)
      convolve_before(%kernel : tensor<4x3x5xf32>)
      mix_before(%weights : tensor<1x4x4xbf16>)
      convolve_after(%after : tensor<4x2x1x3xf16>)
      dropout(0.5, %seed, %call)
      score softcap(30.0)
      mask causal
  return %0#0, %0#1 : tensor<2x4x5x3xbf16>, tensor<2x4x5xf32>
}

// -----

// CHECK-LABEL: func.func @on_buffers
// CHECK: attn.multi_token_attention ins
// CHECK-SAME: scale(2.500000e-01) offset(bottom_right) convolve_after
func.func @on_buffers(%query: memref<1x1x?x8xf64>, %key: memref<1x1x?x8xf64>,
                      %value: memref<1x1x?x8xf64>, %output: memref<1x1x?x8xf64>,
                      %kernel: memref<1x2x3xf64>) {
  attn.multi_token_attention
      ins(%query, %key, %value : memref<1x1x?x8xf64>, memref<1x1x?x8xf64>,
          memref<1x1x?x8xf64>)
      outs(%output : memref<1x1x?x8xf64>)
      scale(0.25) offset(bottom_right)
      convolve_after(%kernel : memref<1x2x3xf64>)
  return
}
