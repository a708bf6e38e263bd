// RUN: attn-opt %s --split-input-file --attn-gradient="results=0" -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-gradient="results=0 saved=true" -canonicalize -cse | FileCheck %s --check-prefix=SAVED

!q = tensor<?x4x?x16xf32>
!k = tensor<?x2x?x16xf32>
!lse = tensor<?x4x?xf32>

// The attention gives its log-sum-exp, which its gradient needs, and is not
// computed again where it is saved.
// CHECK-LABEL: func.func @attention_gradient(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x?x16xf32>, %[[K:[^:]*]]: tensor<?x2x?x16xf32>, %[[V:[^:]*]]: tensor<?x2x?x16xf32>, %[[SINK:[^:]*]]: tensor<4xf32>, %[[D:[^:]*]]: tensor<?x4x?x16xf32>)
// CHECK-SAME: -> (tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>, tensor<4xf32>)
// CHECK: %[[O:.*]]:2 = attn.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-SAME: sink(%[[SINK]] :
// CHECK: %[[G:.*]]:4 = attn.attention_backward ins(%[[Q]], %[[K]], %[[V]], %[[O]]#0, %[[O]]#1, %[[D]] :
// CHECK-SAME: sink(%[[SINK]] : tensor<4xf32>) gradients(sink) mask(
// CHECK: return %[[G]]#0, %[[G]]#1, %[[G]]#2, %[[G]]#3

// SAVED-LABEL: func.func @attention_gradient(
// SAVED-SAME: %[[D:[^:]*]]: tensor<?x4x?x16xf32>) ->
// SAVED: attn.attention ins
func.func @attention(%q: !q, %k: !k, %v: !k, %sink: tensor<4xf32>) -> !q {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %n = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %n) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%init : !q)
      sink(%sink : tensor<4xf32>) mask causal
  return %o : !q
}

// -----

!q = tensor<1x4x5x16xf32>
!lse = tensor<1x4x5xf32>

// CHECK-LABEL: func.func @both_gradient(
// CHECK: attn.attention ins
// SAVED-LABEL: func.func @both_gradient(
// SAVED-SAME: %[[Q:[^:]*]]: tensor<1x4x5x16xf32>, %[[O:[^:]*]]: tensor<1x4x5x16xf32>, %[[LSE:[^:]*]]: tensor<1x4x5xf32>, %[[D:[^:]*]]: tensor<1x4x5x16xf32>)
// SAVED-NOT: attn.attention ins
// SAVED: %[[G:.*]]:3 = attn.attention_backward ins(%[[Q]], %[[Q]], %[[Q]], %[[O]], %[[LSE]], %[[D]] :
// Three parts of one argument are added.
// SAVED: %[[S:.*]] = linalg.add ins(%[[G]]#0, %[[G]]#1 :
// SAVED: %[[T:.*]] = linalg.add ins(%[[S]], %[[G]]#2 :
// SAVED: return %[[T]]
func.func @both(%q: !q) -> (!q, !lse) {
  %init = tensor.empty() : !q
  %l = tensor.empty() : !lse
  %o:2 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init, %l : !q, !lse)
  return %o#0, %o#1 : !q, !lse
}

// -----

!x = tensor<2x5x8xf32>
!h = tensor<2x2x5x4xf32>

// A rotation is undone, a projection multiplies by the transposed weight, and
// what a result does not depend on has a gradient of 0.
// CHECK-LABEL: func.func @layer_gradient(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x5x8xf32>, %[[W:[^:]*]]: tensor<8x8xf32>, %[[U:[^:]*]]: tensor<3xf32>, %[[D:[^:]*]]: tensor<2x2x5x4xf32>)
// CHECK: %[[R:.*]] = attn.rope half_split ins(%[[D]], %{{.*}}, %{{.*}} :
// CHECK: %[[T:.*]] = linalg.transpose ins(%[[W]] : tensor<8x8xf32>)
// CHECK: %[[DX:.*]] = attn.projection ins(%[[R]], %[[T]] : tensor<2x2x5x4xf32>, tensor<8x8xf32>)
// CHECK: attn.projection ins(%{{.*}}, %{{.*}} : tensor<1x8x10xf32>, tensor<10x8xf32>)
// CHECK: %[[Z:.*]] = linalg.fill {{.*}} -> tensor<3xf32>
// CHECK: return %[[DX]], %{{.*}}, %[[Z]]
func.func @layer(%x: !x, %w: tensor<8x8xf32>, %unused: tensor<3xf32>) -> !h {
  %0 = tensor.empty() : !h
  %h = attn.projection ins(%x, %w : !x, tensor<8x8xf32>) outs(%0 : !h)
  %c = arith.constant dense<1.0> : tensor<5x2xf32>
  %r = attn.rope half_split ins(%h, %c, %c : !h, tensor<5x2xf32>, tensor<5x2xf32>) outs(%0 : !h)
  return %r : !h
}

// -----

!q = tensor<?x4x?x8xf32>
!k = tensor<?x2x?x8xf32>

// Multi-token attention is computed again by its gradient, which has those of its
// stages and, where they are wanted, of the sink and of captures.
// CHECK-LABEL: func.func @stages_gradient(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x?x8xf32>, %[[K:[^:]*]]: tensor<?x2x?x8xf32>, %[[W:[^:]*]]: tensor<4x3x5xf32>, %[[M:[^:]*]]: tensor<2x2x2xf32>, %[[S:[^:]*]]: tensor<4xf32>, %[[D:[^:]*]]: tensor<?x4x?x8xf32>)
// CHECK-NOT: attn.multi_token_attention ins
// CHECK: %[[G:.*]]:6 = attn.multi_token_attention_backward ins(%[[Q]], %[[K]], %[[K]], %[[D]] :
// CHECK-SAME: sink(%[[S]] : tensor<4xf32>) convolve_before(%[[W]] : tensor<4x3x5xf32>) mix_after(%[[M]] : tensor<2x2x2xf32>) gradients(sink) mask(
// CHECK: %[[KEY:.*]] = linalg.add ins(%[[G]]#1, %[[G]]#2 :
// CHECK: return %[[G]]#0, %[[KEY]], %[[G]]#3, %[[G]]#4, %[[G]]#5
func.func @stages(%q: !q, %k: !k, %w: tensor<4x3x5xf32>, %m: tensor<2x2x2xf32>,
                  %s: tensor<4xf32>) -> !q {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %n = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %n) : !q
  %o = attn.multi_token_attention ins(%q, %k, %k : !q, !k, !k) outs(%init : !q)
      sink(%s : tensor<4xf32>) convolve_before(%w : tensor<4x3x5xf32>)
      mix_after(%m : tensor<2x2x2xf32>) mask causal
  return %o : !q
}

// -----

!x = tensor<2x5x8xf32>
!y = tensor<2x5x4xf32>

// What is added passes its gradient on, and a projection whose result the derivative
// does not need is not computed again. Gradients of the columns of one weight lie side
// by side.
// CHECK-LABEL: func.func @residual_gradient(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x5x8xf32>, %{{[^:]*}}: tensor<8x8xf32>, %[[D:[^:]*]]: tensor<2x5x4xf32>)
// CHECK-NOT: attn.projection ins(%[[X]]
// CHECK-NOT: linalg.fill
// CHECK: attn.projection ins(%[[D]],
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [8, 4]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 4] [8, 4]
// CHECK-NOT: attn.projection ins(%[[X]]
func.func @residual(%x: !x, %w: tensor<8x8xf32>) -> !y {
  %0 = tensor.empty() : !y
  %a, %b = attn.projection ins(%x, %w : !x, tensor<8x8xf32>) outs(%0, %0 : !y, !y)
  %sum = arith.addf %a, %b : !y
  return %sum : !y
}
