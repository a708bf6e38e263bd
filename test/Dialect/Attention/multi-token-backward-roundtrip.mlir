// RUN: attn-opt %s --split-input-file | attn-opt --split-input-file | FileCheck %s
// RUN: attn-opt %s --split-input-file --mlir-print-op-generic | attn-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @paper
// CHECK: attn.multi_token_attention_backward ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x8x?x64xf32>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<8x6x11xf32>, tensor<4x2x2xf32>)
// CHECK-SAME: convolve_before(%{{.*}} : tensor<8x6x11xf32>) mix_after(%{{.*}} : tensor<4x2x2xf32>)
// CHECK-SAME: mask(%[[B:.*]], %[[H:.*]], %[[P:.*]], %[[J:.*]]) {
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[P]] : index
func.func @paper(%query: tensor<?x8x?x64xf32>, %key: tensor<?x2x?x64xf32>,
                 %value: tensor<?x2x?x64xf32>, %output: tensor<?x8x?x64xf32>,
                 %kernel: tensor<8x6x11xf32>, %weights: tensor<4x2x2xf32>)
    -> tensor<8x6x11xf32> {
  %0:5 = attn.multi_token_attention_backward
      ins(%query, %key, %value, %output : tensor<?x8x?x64xf32>,
          tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x8x?x64xf32>)
      outs(%query, %key, %value, %kernel, %weights : tensor<?x8x?x64xf32>,
           tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<8x6x11xf32>,
           tensor<4x2x2xf32>)
      convolve_before(%kernel : tensor<8x6x11xf32>)
      mix_after(%weights : tensor<4x2x2xf32>)
      mask causal
  return %0#3 : tensor<8x6x11xf32>
}

// -----

// CHECK-LABEL: func.func @everything
// CHECK: attn.multi_token_attention_backward ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}, tensor<2x4x5xf32>)
// CHECK-SAME: scale(%{{.*}} : f32) offset(%{{.*}} : tensor<2xi32>) sink(%{{.*}} : tensor<4xbf16>)
// CHECK-SAME: mix_before(%{{.*}} : tensor<1x4x4xbf16>) convolve_after(%{{.*}} : tensor<4x2x1x3xf16>)
// CHECK-SAME: gradients(sink, 1) dropout(5.000000e-01, %{{.*}}, %{{.*}}) score(
func.func @everything(%query: tensor<2x4x7x8xbf16>, %key: tensor<2x2x9x8xbf16>,
                      %value: tensor<2x2x9x3xbf16>, %do: tensor<2x4x5x3xbf16>,
                      %dl: tensor<2x4x5xf32>, %scale: f32,
                      %offset: tensor<2xi32>, %sink: tensor<4xbf16>,
                      %weights: tensor<1x4x4xbf16>,
                      %after: tensor<4x2x1x3xf16>, %seed: i64, %call: i32,
                      %x: f32, %y: f32, %dy: tensor<f32>) -> tensor<f32> {
  %0:7 = attn.multi_token_attention_backward
      ins(%query, %key, %value, %do, %dl : tensor<2x4x7x8xbf16>,
          tensor<2x2x9x8xbf16>, tensor<2x2x9x3xbf16>, tensor<2x4x5x3xbf16>,
          tensor<2x4x5xf32>)
      outs(%query, %key, %value, %weights, %after, %sink, %dy
           : tensor<2x4x7x8xbf16>, tensor<2x2x9x8xbf16>, tensor<2x2x9x3xbf16>,
             tensor<1x4x4xbf16>, tensor<4x2x1x3xf16>, tensor<4xbf16>,
             tensor<f32>)
      scale(%scale : f32) offset(%offset : tensor<2xi32>)
      sink(%sink : tensor<4xbf16>)
      mix_before(%weights : tensor<1x4x4xbf16>)
      convolve_after(%after : tensor<4x2x1x3xf16>)
      gradients(sink, 1) dropout(0.5, %seed, %call)
      score(%s, %b, %h, %p, %j) captures(%u = %x : f32, %w = %y : f32) {
        %0 = arith.mulf %s, %w : f32
        %1 = arith.addf %0, %u : f32
        attn.yield %1 : f32
      }
  return %0#6 : tensor<f32>
}
