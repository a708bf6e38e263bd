// RUN: attn-opt %s --convert-attn-to-linalg | FileCheck %s
// RUN: attn-opt %S/../../examples/multi_token/paper.mlir -attn-cpu-pipeline -o /dev/null

// A strip of 16 rows of the output and, of those before them, as many as there
// are and the convolutions reach; never all queries by all keys.
// CHECK-LABEL: func.func @reference
// CHECK-NOT: attn.
// CHECK-NOT: tensor<{{.*}}1000x2000x
// CHECK-DAG: %[[HALO:.*]] = arith.constant 3 : index
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[BEFORE:.*]] = arith.minui %{{.*}}, %[[HALO]]
// CHECK: arith.addi %[[BEFORE]], %{{.*}} : index
// CHECK: tensor.empty(%{{.*}}, %{{.*}}) : tensor<2x?x?xf32>
// CHECK-NOT: attn.
// CHECK-NOT: tensor<{{.*}}1000x2000x
// CHECK: return
func.func @reference(%query: tensor<1x2x1000x8xf32>,
                     %key: tensor<1x1x2000x8xf32>,
                     %init: tensor<1x2x1000x8xf32>,
                     %kernel: tensor<2x4x3xf32>, %weights: tensor<1x2x2xf32>)
    -> tensor<1x2x1000x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<1x2x1000x8xf32>,
          tensor<1x1x2000x8xf32>, tensor<1x1x2000x8xf32>)
      outs(%init : tensor<1x2x1000x8xf32>)
      convolve_before(%kernel : tensor<2x4x3xf32>)
      mix_after(%weights : tensor<1x2x2xf32>)
      mask causal
  return %0 : tensor<1x2x1000x8xf32>
}
