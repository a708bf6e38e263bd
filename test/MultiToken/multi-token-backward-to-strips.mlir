// RUN: attn-opt %s --attn-plan --attn-multi-token-to-strips --split-input-file --verify-diagnostics | FileCheck %s

// A tile of 48 rows has those before them that convolutions see. Heads that are
// mixed are computed together, and so are those that share keys, one group after
// the other.
// CHECK-LABEL: func.func @paper
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2)
// CHECK: linalg.transpose
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2)
// CHECK: linalg.transpose
// The kernel is turned around.
// CHECK: tensor.extract %{{.*}} : tensor<4x6x11xf32>
// CHECK: %[[PARTS:.*]]:6 = scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2)
// Scores, of which the last rows are convolved; and the softmax of these.
// CHECK: tensor.empty(%{{.*}}) : tensor<2x54x?xf32>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x53x74xf32>, tensor<1x6x11xf32>) outs(%{{.*}} : tensor<48x64xf32>)
// CHECK: math.exp2
// The gradients of values, and of the weights.
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<48x?xf32>, tensor<48x8xf32>) outs(%{{.*}} : tensor<?x8xf32>)
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<48x64xf32>)
// Those of mixing, before and after it.
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x2x48xf32>)
// CHECK: math.fma
// That of the kernel, and the convolution transposed, of rows that 0 follows.
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x53x74xf32>, tensor<48x64xf32>) outs(%{{.*}} : tensor<1x6x11xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x59x74xf32>, tensor<1x6x11xf32>) outs(%{{.*}} : tensor<54x64xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<54x8xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x8xf32>)
// CHECK: attn.all_finite
// CHECK: tensor.parallel_insert_slice
// What is not finite is computed once more.
// CHECK: scf.if
// CHECK: attn.multi_token_attention_backward
// CHECK-NOT: attn.plan
func.func @paper(%query: tensor<?x4x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                 %value: tensor<?x2x?x8xf32>, %gradient: tensor<?x4x?x8xf32>,
                 %kernel: tensor<4x6x11xf32>, %weights: tensor<2x2x2xf32>)
    -> (tensor<?x4x?x8xf32>, tensor<4x6x11xf32>, tensor<2x2x2xf32>) {
  %0:5 = attn.multi_token_attention_backward
      ins(%query, %key, %value, %gradient : tensor<?x4x?x8xf32>,
          tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x4x?x8xf32>)
      outs(%query, %key, %value, %kernel, %weights : tensor<?x4x?x8xf32>,
           tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<4x6x11xf32>,
           tensor<2x2x2xf32>)
      convolve_before(%kernel : tensor<4x6x11xf32>)
      mix_after(%weights : tensor<2x2x2xf32>)
      mask causal
  return %0#0, %0#3, %0#4 : tensor<?x4x?x8xf32>, tensor<4x6x11xf32>,
      tensor<2x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @captures
// CHECK-NOT: scf.forall
func.func @captures(%q: tensor<1x2x9x8xf32>, %m: tensor<1x2x2xf32>,
                    %t: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark @+1 {{is lowered by the reference path, because it has the gradient of a capture}}
  %0:5 = attn.multi_token_attention_backward
      ins(%q, %q, %q, %q : tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>,
          tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
      outs(%q, %q, %q, %m, %t : tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>,
           tensor<1x2x9x8xf32>, tensor<1x2x2xf32>, tensor<2xf32>)
      mix_before(%m : tensor<1x2x2xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%a = %t : tensor<2xf32>) {
        %x = tensor.extract %a[%h] : tensor<2xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %0#4 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @double
// CHECK-NOT: scf.forall
func.func @double(%q: tensor<1x2x9x8xf64>, %m: tensor<1x2x2xf64>) -> tensor<1x2x2xf64> {
  // expected-remark @+1 {{is lowered by the reference path, because its element type is f64}}
  %0:4 = attn.multi_token_attention_backward
      ins(%q, %q, %q, %q : tensor<1x2x9x8xf64>, tensor<1x2x9x8xf64>,
          tensor<1x2x9x8xf64>, tensor<1x2x9x8xf64>)
      outs(%q, %q, %q, %m : tensor<1x2x9x8xf64>, tensor<1x2x9x8xf64>,
           tensor<1x2x9x8xf64>, tensor<1x2x2xf64>)
      mix_before(%m : tensor<1x2x2xf64>)
  return %0#3 : tensor<1x2x2xf64>
}

// -----

func.func @no_rows(%q: tensor<1x2x9x8xf32>, %m: tensor<1x2x2xf32>) -> tensor<1x2x2xf32> {
  // expected-error @+1 {{attn.plan: expected 'rows' alone, got #attn.plan<keys = 64>}}
  %0:4 = attn.multi_token_attention_backward
      ins(%q, %q, %q, %q : tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>,
          tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
      outs(%q, %q, %q, %m : tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>,
           tensor<1x2x9x8xf32>, tensor<1x2x2xf32>)
      mix_before(%m : tensor<1x2x2xf32>) {attn.plan = #attn.plan<keys = 64>}
  return %0#3 : tensor<1x2x2xf32>
}
