// RUN: attn-opt %s --canonicalize --split-input-file | FileCheck %s

// Each pattern where it applies, where it must not, and on dynamic sizes.

//===----------------------------------------------------------------------===//
// Trivial regions
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @identity_score
// CHECK: attn.attention
// CHECK-NOT: score
// CHECK-NOT: captures
// CHECK: return
func.func @identity_score(%x: tensor<1x2x3x4xf32>, %t: tensor<2xf32>)
    -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score(%s, %b, %h, %p, %j) captures(%c = %t : tensor<2xf32>) {
        %e = tensor.extract %c[%h] : tensor<2xf32>
        attn.yield %s : f32
      }
  return %r : tensor<1x2x3x4xf32>
}

// -----

// A constant score, or another argument of its type, is not the score.
// CHECK-LABEL: func.func @constant_score
// CHECK: score
// CHECK-NEXT: %[[C:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: attn.yield %[[C]] : f32
// CHECK-LABEL: func.func @capture_score
// CHECK: score({{.*}}) captures(%[[T:.*]] = %{{.*}} : f32) {
// CHECK-NEXT: attn.yield %[[T]] : f32
func.func @constant_score(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score(%s, %b, %h, %p, %j) {
        %c = arith.constant 1.0 : f32
        attn.yield %c : f32
      }
  return %r : tensor<1x2x3x4xf32>
}
func.func @capture_score(%x: tensor<1x2x3x4xf32>, %c: f32)
    -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score(%s, %b, %h, %p, %j) captures(%t = %c : f32) {
        attn.yield %t : f32
      }
  return %r : tensor<1x2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @true_mask
// CHECK: attn.attention
// CHECK-NOT: mask
// CHECK: return
func.func @true_mask(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %true = arith.constant true
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask sliding_window(-1, -1), (%b, %h, %p, %j) captures(%t = %true : i1) {
        attn.yield %t : i1
      }
  return %r : tensor<1x2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @false_mask
// CHECK: mask(
// CHECK-NEXT: %[[FALSE:.*]] = arith.constant false
// CHECK-NEXT: attn.yield %[[FALSE]] : i1
func.func @false_mask(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        %f = arith.constant false
        attn.yield %f : i1
      }
  return %r : tensor<1x2x3x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

// One of two equal captures stays, and none that is not used; constants move
// into the region, whatever dialect they come from.
// CHECK-LABEL: func.func @captures(
// CHECK-SAME: %{{.*}}: tensor<1x2x3x4xf32>, %[[T:[^:]*]]: tensor<2xf32>
// CHECK-NOT: constant
// CHECK: score({{.*}}) captures(%[[A:[^ ]*]] = %[[T]] : tensor<2xf32>) {
// CHECK-NEXT: %[[C:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: %[[E:.*]] = tensor.extract %[[A]]
// CHECK: %[[F:.*]] = tensor.extract %[[A]]
// CHECK: arith.mulf %{{.*}}, %[[C]] : f32
// CHECK: } mask(%{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]]) {
// CHECK-NEXT: %[[N:.*]] = arith.constant 2 : index
// CHECK-NEXT: arith.cmpi {{.*}} %[[J]], %[[N]] : index
func.func @captures(%x: tensor<1x2x3x4xf32>, %t: tensor<2xf32>, %u: i32)
    -> tensor<1x2x3x4xf32> {
  %two = arith.constant 2.0 : f32
  %n = index.constant 2
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score(%s, %b, %h, %p, %j)
          captures(%c = %t : tensor<2xf32>, %unused = %u : i32,
                   %d = %t : tensor<2xf32>, %two = %two : f32) {
        %e = tensor.extract %c[%h] : tensor<2xf32>
        %f = tensor.extract %d[%b] : tensor<2xf32>
        %y = arith.addf %e, %f : f32
        %z = arith.mulf %y, %two : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %p, %j) captures(%m = %n : index) {
        %keep = arith.cmpi slt, %j, %m : index
        attn.yield %keep : i1
      }
  return %r : tensor<1x2x3x4xf32>
}

// -----

// Constants of a foreign dialect would not be allowed in the region.
// CHECK-LABEL: func.func @foreign_constant(
// CHECK-NOT: llvm
// CHECK: mask({{.*}}) {
// CHECK-NEXT: %[[C:.*]] = arith.constant 7 : i32
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK-NEXT: arith.cmpi {{.*}} %[[I]], %[[C]] : i32
func.func @foreign_constant(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %c = llvm.mlir.constant(7 : i32) : i32
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%m = %c : i32) {
        %i = arith.index_cast %j : index to i32
        %keep = arith.cmpi slt, %i, %m : i32
        attn.yield %keep : i1
      }
  return %r : tensor<1x2x3x4xf32>
}

// -----

// A capture of each region stays its own; constant tensors stay outside.
// CHECK-LABEL: func.func @captures_stay(
// CHECK: %[[CST:.*]] = arith.constant dense
// CHECK: score({{.*}}) captures(%{{.*}} = %[[CST]] : tensor<2xf32>) {
// CHECK: mask({{.*}}) captures(%{{.*}} = %[[CST]] : tensor<2xf32>) {
func.func @captures_stay(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score(%s, %b, %h, %p, %j) captures(%t = %c : tensor<2xf32>) {
        %e = tensor.extract %t[%h] : tensor<2xf32>
        attn.yield %e : f32
      }
      mask(%b, %h, %p, %j) captures(%t = %c : tensor<2xf32>) {
        %e = tensor.extract %t[%h] : tensor<2xf32>
        %i = math.isnan %e : f32
        attn.yield %i : i1
      }
  return %r : tensor<1x2x3x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

// Casts fold into the op, also into what its region captures.
// CHECK-LABEL: func.func @casts(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x2x3x4xf32>, %[[T:[^:]*]]: tensor<2xf32>
// CHECK: %[[R:.*]] = attn.attention ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) outs(%[[Q]] : tensor<1x2x3x4xf32>) score({{.*}}) captures(%[[A:.*]] = %[[T]] : tensor<2xf32>) {
// CHECK: tensor.extract %[[A]][%{{.*}}] : tensor<2xf32>
// CHECK: tensor.cast %[[R]] : tensor<1x2x3x4xf32> to tensor<?x2x?x4xf32>
func.func @casts(%q: tensor<1x2x3x4xf32>, %t: tensor<2xf32>)
    -> tensor<?x2x?x4xf32> {
  %x = tensor.cast %q : tensor<1x2x3x4xf32> to tensor<?x2x?x4xf32>
  %u = tensor.cast %t : tensor<2xf32> to tensor<?xf32>
  %r = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>)
      score alibi(%u : tensor<?xf32>)
  return %r : tensor<?x2x?x4xf32>
}

// -----

// Not a cast that adds static sizes.
// CHECK-LABEL: func.func @cast_to_static(
// CHECK: tensor.cast %{{.*}} : tensor<?xf32> to tensor<2xf32>
// CHECK: captures(%{{.*}} = %{{.*}} : tensor<2xf32>)
func.func @cast_to_static(%x: tensor<?x2x?x4xf32>, %t: tensor<?xf32>)
    -> tensor<?x2x?x4xf32> {
  %u = tensor.cast %t : tensor<?xf32> to tensor<2xf32>
  %r = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>)
      score alibi(%u : tensor<2xf32>)
  return %r : tensor<?x2x?x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Scale
//===----------------------------------------------------------------------===//

// 1/sqrt(4) is the default.
// CHECK-LABEL: func.func @attention_a4_default(
// CHECK: attn.attention
// CHECK-NOT: scale
// CHECK: return
func.func @attention_a4_default(%x: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  %half = arith.constant 0.5 : f32
  %r = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) scale(%half : f32)
  return %r : tensor<?x2x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @attention_a4_constant(
// CHECK-NOT: arith.constant
// CHECK: scale(2.500000e-01)
func.func @attention_a4_constant(%x: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  %quarter = arith.constant 0.25 : f32
  %r = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) scale(%quarter : f32)
  return %r : tensor<?x2x?x4xf32>
}

// -----

// An operand may be infinite, a constant may not.
// CHECK-LABEL: func.func @attention_a4_infinite(
// CHECK: scale(%{{.*}} : f32)
func.func @attention_a4_infinite(%x: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  %inf = arith.constant 0x7F800000 : f32
  %r = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) scale(%inf : f32)
  return %r : tensor<?x2x?x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @attention_a5_zero(
// CHECK-NOT: offset
// CHECK: return
func.func @attention_a5_zero(%x: tensor<?x2x?x4xf32>)
    -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) {
  %c0 = arith.constant 0 : i32
  %zeros = arith.constant dense<0> : tensor<3xi64>
  %r = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) offset(%c0 : i32)
  %s = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) offset(%zeros : tensor<3xi64>)
  return %r, %s : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @attention_a5_kept(
// CHECK: offset(%{{.*}} : i32)
// CHECK: offset(bottom_right)
func.func @attention_a5_kept(%x: tensor<?x2x?x4xf32>)
    -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) {
  %c1 = arith.constant 1 : i32
  %r = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) offset(%c1 : i32)
  %s = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) offset(bottom_right)
  return %r, %s : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @attention_a8_zero(
// CHECK: attn.attention
// CHECK-NOT: dropout
// CHECK: attn.attention
// CHECK-SAME: dropout(5.000000e-01, %{{.*}}, %{{.*}})
func.func @attention_a8_zero(%x: tensor<1x2x3x4xf32>, %seed: i64, %call: i32)
    -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) dropout(0.0, %seed, %call)
  %s = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) dropout(0.5, %seed, %call)
  return %r, %s : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

// The same patterns; an op that writes is not dead.
// CHECK-LABEL: func.func @buffers(
// CHECK: attn.attention
// CHECK-NOT: scale
// CHECK-SAME: captures(%{{.*}} = %{{.*}} : memref<2xf32>) {
// CHECK-NOT: mask
// CHECK: return
func.func @buffers(%x: memref<1x2x3x4xf32>, %o: memref<1x2x3x4xf32>,
                   %t: memref<2xf32>) {
  attn.attention
      ins(%x, %x, %x : memref<1x2x3x4xf32>, memref<1x2x3x4xf32>,
          memref<1x2x3x4xf32>)
      outs(%o : memref<1x2x3x4xf32>) scale(0.5)
      score alibi(%t : memref<2xf32>), alibi(%t : memref<2xf32>)
      mask sliding_window(-1, -1)
  return
}

// -----

//===----------------------------------------------------------------------===//
// The op as a whole
//===----------------------------------------------------------------------===//

// Without a use it is dead.
// CHECK-LABEL: func.func @dead(
// CHECK-NEXT: return
func.func @dead(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) mask causal
  return
}

// -----

// Upstream's pattern for all destination-style ops would crash on an op without
// regions.
// CHECK-LABEL: func.func @cast_without_regions(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x2x3x4xf32>
// CHECK: %[[O:.*]] = tensor.empty() : tensor<1x2x3x4xf32>
// CHECK-NEXT: %[[R:.*]] = attn.attention ins(%[[Q]], %[[Q]], %[[Q]] : {{.*}}) outs(%[[O]] : tensor<1x2x3x4xf32>)
// CHECK-NEXT: %[[C:.*]] = tensor.cast %[[R]] : tensor<1x2x3x4xf32> to tensor<?x2x?x4xf32>
// CHECK-NEXT: return %[[C]]
func.func @cast_without_regions(%q: tensor<1x2x3x4xf32>)
    -> tensor<?x2x?x4xf32> {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %o = tensor.empty(%c1, %c3) : tensor<?x2x?x4xf32>
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%o : tensor<?x2x?x4xf32>)
  return %r : tensor<?x2x?x4xf32>
}
