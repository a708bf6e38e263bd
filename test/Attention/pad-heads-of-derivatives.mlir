// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true}" -attn-plan -attn-pad-heads -canonicalize | FileCheck %s

!q = tensor<2x8x?x72xf32>
!v = tensor<2x8x?x40xf32>
!lse = tensor<2x8x?xf32>

// Elements of heads are lanes of gradients: rows of queries, keys, values and of
// what is of them end with zeros, and what is computed begins with what was asked.
// CHECK-LABEL: func.func @gradients
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x8x?x72xf32>, %[[V:[^:]*]]: tensor<2x8x?x40xf32>, %[[LSE:[^:]*]]: tensor<2x8x?xf32>
// CHECK-COUNT-2: scf.forall {{.*}} -> (tensor<2x8x?x80xf32>)
// CHECK-COUNT-3: scf.forall {{.*}} -> (tensor<2x8x?x48xf32>)
// CHECK: %[[R:.*]]:3 = attn.attention_backward
// CHECK-SAME: tensor<2x8x?x80xf32>, tensor<2x8x?x80xf32>, tensor<2x8x?x48xf32>, tensor<2x8x?x48xf32>, tensor<2x8x?xf32>, tensor<2x8x?x48xf32>
// CHECK-SAME: outs({{.*}} : tensor<2x8x?x80xf32>, tensor<2x8x?x80xf32>, tensor<2x8x?x48xf32>)
// CHECK-SAME: scale(0.117851{{[0-9]*}})
// CHECK-SAME: head_size = 80
// CHECK-DAG: scf.forall {{.*}} shared_outs(%[[OUT:.*]] = %[[Q]]) -> (tensor<2x8x?x72xf32>)
// CHECK-DAG: tensor.extract_slice %[[R]]#0{{.*}}, 80]
// CHECK-DAG: tensor.extract_slice %[[R]]#2{{.*}}, 48]
// CHECK: return
func.func @gradients(%q: !q, %v: !v, %lse: !lse) -> (!q, !q, !v) {
  %r:3 = attn.attention_backward ins(%q, %q, %v, %v, %lse, %v : !q, !q, !v, !v, !lse, !v)
      outs(%q, %q, %v : !q, !q, !v)
  return %r#0, %r#1, %r#2 : !q, !q, !v
}

// Sizes that fill vectors stay, and so do tangents of f32, of which queries are
// lanes.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: scf.forall
// CHECK: attn.attention_backward
// CHECK-NOT: scf.forall
// CHECK: attn.attention_tangent
// CHECK-NOT: scf.forall
// CHECK: return
!w = tensor<2x8x64x48xf32>
!l = tensor<2x8x64xf32>
func.func @whole(%w: !w, %lse: !l, %q: !q, %v: !v, %s: !lse) -> (!w, !w, !w, !v) {
  %r:3 = attn.attention_backward ins(%w, %w, %w, %w, %lse, %w : !w, !w, !w, !w, !l, !w)
      outs(%w, %w, %w : !w, !w, !w)
  %t = attn.attention_tangent ins(%q, %q, %v, %v, %s : !q, !q, !v, !v, !lse)
      outs(%v : !v) tangents(value = %v : !v)
  return %r#0, %r#1, %r#2, %t : !w, !w, !w, !v
}

// Tangents in pairs of bf16, in which no row is a fraction of a vector; that of the
// log-sum-exp has no such rows.
!b = tensor<2x8x64x72xbf16>
!c = tensor<2x8x64x3xbf16>
// CHECK-LABEL: func.func @tangents
// CHECK: %[[T:.*]]:2 = attn.attention_tangent
// CHECK-SAME: tensor<2x8x64x80xbf16>, tensor<2x8x64x80xbf16>, tensor<2x8x64x16xbf16>, tensor<2x8x64x16xbf16>, tensor<2x8x64xf32>
// CHECK-SAME: tangents(query = %{{.*}}, value = %{{.*}} : tensor<2x8x64x80xbf16>, tensor<2x8x64x16xbf16>)
// CHECK: %[[O:.*]] = scf.forall {{.*}} -> (tensor<2x8x64x3xbf16>)
// CHECK: return %[[O]], %[[T]]#1
func.func @tangents(%q: !b, %v: !c, %lse: !l) -> (!c, !l) {
  %r:2 = attn.attention_tangent ins(%q, %q, %v, %v, %lse : !b, !b, !c, !c, !l)
      outs(%v, %lse : !c, !l) tangents(query = %q, value = %v : !b, !c)
  return %r#0, %r#1 : !c, !l
}
