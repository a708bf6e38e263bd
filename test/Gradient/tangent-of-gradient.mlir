// RUN: attn-opt %s --attn-gradient="of=f results=0" --attn-tangent="of=f_gradient wrt=0" --verify-diagnostics -canonicalize | FileCheck %s

!q = tensor<1x2x5x4xf32>

// The product of the Hessian and a vector: the forward pass has a tangent of its
// own, and the gradient becomes loops that carry tangents.
// CHECK-LABEL: func.func @f_gradient_tangent(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x2x5x4xf32>, %[[G:[^:]*]]: tensor<1x2x5x4xf32>, %[[D:[^:]*]]: tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
// CHECK: attn.attention ins(%[[Q]], %[[Q]], %[[Q]] :
// CHECK: attn.attention_tangent
// CHECK-SAME: tangents(query = %[[D]], key = %[[D]], value = %[[D]] :
// CHECK: scf.for
// CHECK-NOT: attn.attention_backward
// CHECK: return
func.func @f(%q: !q) -> !q {
  %init = tensor.empty() : !q
  // expected-remark @+1 {{has the tangent of its reference lowering, for it has none of its own}}
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q) mask causal
  return %o : !q
}
