// RUN: attn-opt %s -attn-reference-pipeline | FileCheck %s
// RUN: attn-opt %s -attn-reference-pipeline -mlir-print-op-generic | FileCheck %s --check-prefix=OPS

// Only the LLVM dialect is left.
// OPS: "builtin.module"
// OPS-NOT: {{^ *(%.* = )?"[a-km-z]}}

// A caller's buffers arrive by address, whatever the function is.
// CHECK-LABEL: llvm.func @attention(
// CHECK: llvm.func @_mlir_ciface_attention(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
func.func @attention(%query: tensor<?x8x?x16xbf16>, %key: tensor<?x2x?x16xbf16>,
                     %value: tensor<?x2x?x16xbf16>) -> tensor<?x8x?x16xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : tensor<?x8x?x16xbf16>
  %length = tensor.dim %query, %c2 : tensor<?x8x?x16xbf16>
  %init = tensor.empty(%batch, %length) : tensor<?x8x?x16xbf16>
  %output = attn.attention
      ins(%query, %key, %value : tensor<?x8x?x16xbf16>, tensor<?x2x?x16xbf16>,
          tensor<?x2x?x16xbf16>)
      outs(%init : tensor<?x8x?x16xbf16>)
      score softcap(30.0)
      mask causal
  return %output : tensor<?x8x?x16xbf16>
}

// Calls are inlined, and what is not public is gone.
// CHECK-NOT: @twice
// CHECK-LABEL: llvm.func @calls(
func.func private @twice(%a: tensor<?xf32>) -> tensor<?xf32> {
  %b = arith.addf %a, %a : tensor<?xf32>
  return %b : tensor<?xf32>
}
func.func @calls(%a: tensor<?xf32>) -> tensor<?xf32> {
  %b = call @twice(%a) : (tensor<?xf32>) -> tensor<?xf32>
  %c = math.tanh %b : tensor<?xf32>
  return %c : tensor<?xf32>
}
