// RUN: attn-opt %s --split-input-file \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN: | FileCheck %s

// A9: results lie in the buffers of `outs`, which are not read; captured tensors
// are buffers in the regions too.

// CHECK-LABEL: func.func @attention_a9_in_place(
// CHECK-SAME: %[[Q:[^:]*]]: memref<1x2x3x4xf32>, %[[K:[^:]*]]: memref<1x1x5x4xf32>, %[[O:[^:]*]]: memref<1x2x3x4xf32>, %[[L:[^:]*]]: memref<1x2x3xf32>
// CHECK-NEXT: attn.attention ins(%[[Q]], %[[K]], %[[K]] : memref<1x2x3x4xf32>, memref<1x1x5x4xf32>, memref<1x1x5x4xf32>) outs(%[[O]], %[[L]] : memref<1x2x3x4xf32>, memref<1x2x3xf32>)
// CHECK-NEXT: return %[[O]], %[[L]]
func.func @attention_a9_in_place(
    %q: tensor<1x2x3x4xf32>, %k: tensor<1x1x5x4xf32>,
    %o: tensor<1x2x3x4xf32> {bufferization.writable = true},
    %l: tensor<1x2x3xf32> {bufferization.writable = true})
    -> (tensor<1x2x3x4xf32>, tensor<1x2x3xf32>) {
  %r:2 = attn.attention
      ins(%q, %k, %k : tensor<1x2x3x4xf32>, tensor<1x1x5x4xf32>,
          tensor<1x1x5x4xf32>)
      outs(%o, %l : tensor<1x2x3x4xf32>, tensor<1x2x3xf32>)
  return %r#0, %r#1 : tensor<1x2x3x4xf32>, tensor<1x2x3xf32>
}

// -----

// One allocation for the empty tensor, and no copy into it.
// CHECK-LABEL: func.func @attention_a9_empty(
// CHECK-NEXT: %[[A:.*]] = memref.alloc() {{.*}} : memref<1x2x3x4xf32>
// CHECK-NEXT: attn.attention {{.*}} outs(%[[A]] : memref<1x2x3x4xf32>)
// CHECK-NEXT: return %[[A]]
func.func @attention_a9_empty(%q: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %o = tensor.empty() : tensor<1x2x3x4xf32>
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return %r : tensor<1x2x3x4xf32>
}

// -----

// What the buffer held is lost, so a later read of it gets a buffer of its own;
// since the op does not read it, nothing is copied there.
// CHECK-LABEL: func.func @attention_a9_read_later(
// CHECK-SAME: %[[Q:[^:]*]]: memref<1x2x3x4xf32>, %[[O:[^:]*]]: memref<1x2x3x4xf32>
// CHECK-NEXT: %[[A:.*]] = memref.alloc() {{.*}} : memref<1x2x3x4xf32>
// CHECK-NEXT: attn.attention {{.*}} outs(%[[A]] : memref<1x2x3x4xf32>)
// CHECK-NEXT: return %[[A]], %[[O]]
func.func @attention_a9_read_later(
    %q: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32> {bufferization.writable = true})
    -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return %r, %o : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// -----

// The query is read while the output is written: they may not share.
// CHECK-LABEL: func.func @output_is_query(
// CHECK-SAME: %[[Q:[^:]*]]: memref<1x2x3x4xf32>
// CHECK-NEXT: %[[A:.*]] = memref.alloc() {{.*}} : memref<1x2x3x4xf32>
// CHECK-NOT: memref.copy
// CHECK: attn.attention ins(%[[Q]], {{.*}}) outs(%[[A]] : memref<1x2x3x4xf32>)
func.func @output_is_query(
    %q: tensor<1x2x3x4xf32> {bufferization.writable = true},
    %k: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%q : tensor<1x2x3x4xf32>)
  return %r : tensor<1x2x3x4xf32>
}

// -----

// Nor may a captured tensor and the output.
// CHECK-LABEL: func.func @output_is_captured(
// CHECK-SAME: %[[Q:[^:]*]]: memref<1x2x3x3xf32>, %[[O:[^:]*]]: memref<1x2x3x3xf32>
// CHECK-NEXT: %[[A:.*]] = memref.alloc() {{.*}} : memref<1x2x3x3xf32>
// CHECK: attn.attention {{.*}} outs(%[[A]] : memref<1x2x3x3xf32>) score({{.*}}) captures(%{{.*}} = %[[O]] : memref<1x2x3x3xf32>) {
func.func @output_is_captured(
    %q: tensor<1x2x3x3xf32>,
    %o: tensor<1x2x3x3xf32> {bufferization.writable = true})
    -> tensor<1x2x3x3xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>,
          tensor<1x2x3x3xf32>)
      outs(%o : tensor<1x2x3x3xf32>) score bias(%o : tensor<1x2x3x3xf32>)
  return %r : tensor<1x2x3x3xf32>
}

// -----

// Every operand, and every attribute; loads read the buffers in place.
// CHECK-LABEL: func.func @every_operand(
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK-NOT: bufferization.to_
// CHECK: {{^ *}}attn.attention
// CHECK-SAME: scale(2.000000e+00)
// CHECK-SAME: offset(%{{[^ ]*}} : memref<2xi32>)
// CHECK-SAME: sink(%{{[^ ]*}} : memref<2xf32>)
// CHECK-SAME: sequences(%{{[^ ]*}}, %{{[^ ]*}} : memref<3xi32>, memref<3xi32>)
// CHECK-SAME: dropout(2.500000e-01, %{{[^ ]*}}, %{{[^ ]*}})
// CHECK-SAME: score(%{{.*}}, %{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}) captures(%[[T:.*]] = %{{.*}} : memref<2xf16>, %[[F:.*]] = %{{.*}} : f32, %{{.*}} = %{{.*}} : memref<i32>) {
// CHECK: memref.load %[[T]][%[[H]]] : memref<2xf16>
// CHECK: arith.mulf %{{.*}}, %[[F]] : f32
// CHECK: } mask(%[[B:.*]], %{{.*}}, %{{.*}}, %{{.*}}) captures(%[[M:.*]] = %{{.*}} : memref<?xindex>) {
// CHECK: memref.load %[[M]][%[[B]]] : memref<?xindex>
// CHECK: } {other.note}
// CHECK-NOT: memref.copy
// CHECK: return
func.func @every_operand(
    %q: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32> {bufferization.writable = true},
    %n: tensor<2xi32>, %s: tensor<2xf32>, %cu: tensor<3xi32>, %seed: i64,
    %call: i32, %t: tensor<2xf16>, %f: f32, %i: tensor<i32>,
    %len: tensor<?xindex>) -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      scale(2.0) offset(%n : tensor<2xi32>) sink(%s : tensor<2xf32>)
      sequences(%cu, %cu : tensor<3xi32>, tensor<3xi32>)
      dropout(0.25, %seed, %call)
      score(%s, %b, %h, %p, %j)
          captures(%c = %t : tensor<2xf16>, %f = %f : f32, %u = %i : tensor<i32>) {
        %e = tensor.extract %c[%h] : tensor<2xf16>
        %w = arith.extf %e : f16 to f32
        %y = arith.mulf %w, %f : f32
        attn.yield %y : f32
      }
      mask key_padding(%len : tensor<?xindex>) {other.note}
  return %r : tensor<1x2x3x4xf32>
}

// -----

// A captured tensor that the same function computes; an argument that is less
// static than it.
// CHECK-LABEL: func.func @computed_capture(
// CHECK: %[[A:.*]] = memref.alloc() {{.*}} : memref<2xf32>
// CHECK: linalg.fill {{.*}} outs(%[[A]] : memref<2xf32>)
// CHECK: attn.attention {{.*}} captures(%[[T:.*]] = %[[A]] : memref<2xf32>) {
// CHECK: memref.load %[[T]][%{{.*}}] : memref<2xf32>
func.func @computed_capture(
    %q: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32> {bufferization.writable = true}, %x: f32)
    -> tensor<1x2x3x4xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %t = linalg.fill ins(%x : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      score(%s, %b, %h, %p, %j) captures(%c : tensor<?xf32> = %t : tensor<2xf32>) {
        %y = tensor.extract %c[%h] : tensor<?xf32>
        attn.yield %y : f32
      }
  return %r : tensor<1x2x3x4xf32>
}

// -----

// In a loop that carries the output.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %{{.*}}: memref<1x2x3x4xf32>, %[[O:[^:]*]]: memref<1x2x3x4xf32>
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: scf.for
// CHECK: attn.attention
// CHECK-NOT: memref.copy
// CHECK: return
func.func @loop(%q: tensor<1x2x3x4xf32>,
                %o: tensor<1x2x3x4xf32> {bufferization.writable = true},
                %n: index) -> tensor<1x2x3x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %o)
      -> (tensor<1x2x3x4xf32>) {
    %y = attn.attention
        ins(%q, %q, %q : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
            tensor<1x2x3x4xf32>)
        outs(%x : tensor<1x2x3x4xf32>) offset(%i : index) mask causal
    scf.yield %y : tensor<1x2x3x4xf32>
  }
  return %r : tensor<1x2x3x4xf32>
}

// -----

// What is on buffers already stays as it is.
// CHECK-LABEL: func.func @buffers(
// CHECK-NEXT: attn.attention
// CHECK-NEXT: return
func.func @buffers(%q: memref<1x2x3x4xf32>, %o: memref<1x2x3x4xf32>) {
  attn.attention
      ins(%q, %q, %q : memref<1x2x3x4xf32>, memref<1x2x3x4xf32>,
          memref<1x2x3x4xf32>)
      outs(%o : memref<1x2x3x4xf32>)
  return
}
