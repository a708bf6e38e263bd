// RUN: attn-opt %s -attn-add-runtime-checks -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @extract(
// CHECK: cf.assert %{{.*}}, "'tensor.extract' op out-of-bounds access
// CHECK: tensor.extract
func.func @extract(%a: tensor<?xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<?xf32>
  return %x : f32
}

// CHECK-LABEL: func.func @signed_division(
// CHECK-SAME: %[[A:[^:]*]]: i32, %[[B:[^:]*]]: i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[MIN:.*]] = arith.constant -2147483648 : i32
// CHECK-DAG: %[[MINUS_ONE:.*]] = arith.constant -1 : i32
// CHECK: %[[NONZERO:.*]] = arith.cmpi ne, %[[B]], %[[ZERO]]
// CHECK: cf.assert %[[NONZERO]], "'arith.divsi' op division by zero"
// CHECK: %[[DIVIDEND:.*]] = arith.cmpi ne, %[[A]], %[[MIN]]
// CHECK: %[[DIVISOR:.*]] = arith.cmpi ne, %[[B]], %[[MINUS_ONE]]
// CHECK: %[[FITS:.*]] = arith.ori %[[DIVIDEND]], %[[DIVISOR]]
// CHECK: cf.assert %[[FITS]], "'arith.divsi' op quotient does not fit its type"
// CHECK: arith.divsi %[[A]], %[[B]]
func.func @signed_division(%a: i32, %b: i32) -> i32 {
  %q = arith.divsi %a, %b : i32
  return %q : i32
}

// CHECK-LABEL: func.func @unsigned_division(
// CHECK-COUNT-1: cf.assert
// CHECK-NOT: cf.assert
func.func @unsigned_division(%a: index, %b: index) -> index {
  %q = index.divu %a, %b
  return %q : index
}

// What is known needs no check.
// CHECK-LABEL: func.func @constant_divisor(
// CHECK-NOT: cf.assert
// CHECK: return
func.func @constant_divisor(%a: index) -> index {
  %c8 = arith.constant 8 : index
  %q = arith.divsi %a, %c8 : index
  return %q : index
}

// CHECK-LABEL: func.func @concat(
// CHECK: cf.assert %{{.*}}, "'tensor.concat' op dimension 1 of input 1 differs from that of input 0"
func.func @concat(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c = tensor.concat dim(0) %a, %b
      : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @expand_shape(
// CHECK: cf.assert %{{.*}}, "'tensor.expand_shape' op dimension 0 of the source is not the product of the result's dimensions"
func.func @expand_shape(%a: tensor<?xf32>, %n: index, %m: index)
    -> tensor<?x?xf32> {
  %b = tensor.expand_shape %a [[0, 1]] output_shape [%n, %m]
      : tensor<?xf32> into tensor<?x?xf32>
  return %b : tensor<?x?xf32>
}

// The region is the lowering's: what it yields may not count.
// CHECK-LABEL: func.func @attention_region(
// CHECK-NOT: arith.divsi' op
// CHECK: attn.attention
// CHECK-NOT: cf.assert
func.func @attention_region(%q: tensor<1x1x4x8xf32>, %init: tensor<1x1x4x8xf32>)
    -> tensor<1x1x4x8xf32> {
  %out = attn.attention
      ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>,
          tensor<1x1x4x8xf32>)
      outs(%init : tensor<1x1x4x8xf32>)
      mask(%b, %h, %p, %j) {
        %x = arith.divsi %p, %j : index
        %keep = arith.cmpi sle, %x, %p : index
        attn.yield %keep : i1
      }
  return %out : tensor<1x1x4x8xf32>
}
