// RUN: attn-opt %s --split-input-file --attn-tangent="results=0" -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-tangent="results=0 saved=true" -canonicalize -cse | FileCheck %s --check-prefix=SAVED

!q = tensor<?x4x?x16xf32>
!k = tensor<?x2x?x16xf32>

// CHECK-LABEL: func.func @attention_tangent(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x?x16xf32>, %[[K:[^:]*]]: tensor<?x2x?x16xf32>, %[[V:[^:]*]]: tensor<?x2x?x16xf32>, %[[SINK:[^:]*]]: tensor<4xf32>, %[[DQ:[^:]*]]: tensor<?x4x?x16xf32>, %[[DK:[^:]*]]: tensor<?x2x?x16xf32>, %[[DV:[^:]*]]: tensor<?x2x?x16xf32>, %[[DS:[^:]*]]: tensor<4xf32>)
// CHECK-SAME: -> tensor<?x4x?x16xf32>
// CHECK: %[[O:.*]]:2 = attn.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK: %[[T:.*]] = attn.attention_tangent ins(%[[Q]], %[[K]], %[[V]], %[[O]]#0, %[[O]]#1 :
// CHECK-SAME: sink(%[[SINK]] : tensor<4xf32>) tangents(query = %[[DQ]], key = %[[DK]], value = %[[DV]], sink = %[[DS]] :
// CHECK: return %[[T]]

// SAVED-LABEL: func.func @attention_tangent(
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

// What is saved is not computed again.
// CHECK-LABEL: func.func @both_tangent(
// CHECK: attn.attention ins
// SAVED-LABEL: func.func @both_tangent(
// SAVED-SAME: %[[Q:[^:]*]]: tensor<1x4x5x16xf32>, %[[O:[^:]*]]: tensor<1x4x5x16xf32>, %[[LSE:[^:]*]]: tensor<1x4x5xf32>, %[[D:[^:]*]]: tensor<1x4x5x16xf32>)
// SAVED-NOT: attn.attention ins
// SAVED: %[[T:.*]]:2 = attn.attention_tangent ins(%[[Q]], %[[Q]], %[[Q]], %[[O]], %[[LSE]] :
// SAVED-SAME: tangents(query = %[[D]], key = %[[D]], value = %[[D]] :
// SAVED: return %[[T]]#0
func.func @both(%q: !q) -> (!q, !lse) {
  %init = tensor.empty() : !q
  %l = tensor.empty() : !lse
  %o:2 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init, %l : !q, !lse)
  return %o#0, %o#1 : !q, !lse
}

// -----

!x = tensor<2x5x8xf32>
!h = tensor<2x2x5x4xf32>

// What is linear is applied to tangents: of the input, and of the weight.
// CHECK-LABEL: func.func @layer_tangent(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x5x8xf32>, %[[W:[^:]*]]: tensor<8x8xf32>, %[[DX:[^:]*]]: tensor<2x5x8xf32>, %[[DW:[^:]*]]: tensor<8x8xf32>)
// CHECK: %[[A:.*]] = attn.projection ins(%[[DX]], %[[W]] :
// CHECK: %[[B:.*]] = attn.projection ins(%[[X]], %[[DW]] :
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]] :
// CHECK: %[[R:.*]] = attn.rope half_split ins(%[[S]], %[[C:.*]], %[[C]] :
// CHECK-NOT: attn.rope
// CHECK: return %[[R]]
func.func @layer(%x: !x, %w: tensor<8x8xf32>) -> !h {
  %0 = tensor.empty() : !h
  %h = attn.projection ins(%x, %w : !x, tensor<8x8xf32>) outs(%0 : !h)
  %c = arith.constant dense<1.0> : tensor<5x2xf32>
  %r = attn.rope half_split ins(%h, %c, %c : !h, tensor<5x2xf32>, tensor<5x2xf32>) outs(%0 : !h)
  return %r : !h
}

// -----

// A sum has a tangent that does not need it.
// CHECK-LABEL: func.func @sums_tangent(
// CHECK: linalg.generic
// CHECK-SAME: ins(%{{[^,]*}} : tensor<3x4xf32>) outs(%{{[^,]*}} : tensor<3xf32>)
func.func @sums(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x4xf32>) outs(%zero : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
  } -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// -----

// A product computes both.
// CHECK-LABEL: func.func @products_tangent(
// CHECK: linalg.generic
// CHECK-SAME: outs(%{{[^,]*}}, %{{[^,]*}} : tensor<3xf32>, tensor<3xf32>)
func.func @products(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x4xf32>) outs(%one : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      linalg.yield %c : f32
  } -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// -----

// Loops and branches carry tangents along.
// CHECK-LABEL: func.func @loop_tangent(
// CHECK: scf.for {{.*}} iter_args(%{{[^,]*}} = %{{[^,]*}}, %{{[^,]*}} = %{{[^,)]*}}) -> (f32, f32)
// CHECK: scf.if %{{.*}} -> (f32, f32)
func.func @loop(%x: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f32) {
    %odd = arith.cmpi ugt, %i, %c1 : index
    %b = scf.if %odd -> (f32) {
      %s = math.sin %a : f32
      scf.yield %s : f32
    } else {
      scf.yield %a : f32
    }
    %c = arith.mulf %b, %x : f32
    scf.yield %c : f32
  }
  return %r : f32
}
