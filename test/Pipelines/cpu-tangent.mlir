// RUN: attn-opt %s --attn-tangent -attn-cpu-pipeline | FileCheck %s

!q = tensor<?x4x?x16xf32>
!k = tensor<?x2x?x16xf32>

// The forward pass that the tangent computes again has sizes that only its results
// say: they are checked where these are known.
// CHECK-LABEL: llvm.func @attention(
// CHECK-LABEL: llvm.func @attention_tangent(
// CHECK-NOT: attn.
func.func @attention(%q: !q, %k: !k, %v: !k) -> !q {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %n = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %n) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%init : !q) mask causal
  return %o : !q
}
