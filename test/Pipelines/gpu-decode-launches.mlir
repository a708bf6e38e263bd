// REQUIRES: gpu
// RUN: attn-opt %s -attn-gpu-pipeline | FileCheck %s

// Parts of keys, and the merge: no heads are copied around them.
// CHECK-LABEL: func.func @decode(
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @decode(%query: tensor<?x8x1x64xf16>, %key: tensor<?x2x?x64xf16>,
                  %value: tensor<?x2x?x64xf16>) -> tensor<?x8x1x64xf16> {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %query, %c0 : tensor<?x8x1x64xf16>
  %init = tensor.empty(%batch) : tensor<?x8x1x64xf16>
  %output = attn.attention
      ins(%query, %key, %value : tensor<?x8x1x64xf16>, tensor<?x2x?x64xf16>,
          tensor<?x2x?x64xf16>)
      outs(%init : tensor<?x8x1x64xf16>)
  return %output : tensor<?x8x1x64xf16>
}
