// RUN: attn-opt %s --convert-attn-to-linalg --split-input-file --verify-diagnostics | FileCheck %s

// A strip of 16 rows, and of those before them that the convolution sees, with
// all keys; and back. The kernel is turned around once.
// CHECK-LABEL: func.func @convolution
// CHECK-COUNT-3: scf.for
// CHECK: tensor.extract %{{.*}} : tensor<2x3x5xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.empty(%{{.*}}, %{{.*}}) : tensor<2x?x?xf32>
// The scores are convolved, and so are their gradients.
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x?x?xf32>)
// CHECK: math.exp
// The gradient of the kernel.
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x?x5xf32>)
// CHECK-NOT: attn.multi_token_attention
func.func @convolution(%q: tensor<?x2x?x4xf32>, %k: tensor<?x1x?x4xf32>,
                       %v: tensor<?x1x?x4xf32>, %o: tensor<?x2x?x4xf32>,
                       %w: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %0:4 = attn.multi_token_attention_backward
      ins(%q, %k, %v, %o : tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>,
          tensor<?x1x?x4xf32>, tensor<?x2x?x4xf32>)
      outs(%q, %k, %v, %w : tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>,
           tensor<?x1x?x4xf32>, tensor<2x3x5xf32>)
      convolve_before(%w : tensor<2x3x5xf32>) mask causal
  return %0#3 : tensor<2x3x5xf32>
}

// -----

func.func @memrefs(%q: memref<1x2x5x4xf32>, %w: memref<1x2x2xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention_backward' on memrefs is not lowered by this pass: expected tensors}}
  attn.multi_token_attention_backward
      ins(%q, %q, %q, %q : memref<1x2x5x4xf32>, memref<1x2x5x4xf32>,
          memref<1x2x5x4xf32>, memref<1x2x5x4xf32>)
      outs(%q, %q, %q, %w : memref<1x2x5x4xf32>, memref<1x2x5x4xf32>,
           memref<1x2x5x4xf32>, memref<1x2x2xf32>)
      mix_after(%w : memref<1x2x2xf32>)
  return
}
