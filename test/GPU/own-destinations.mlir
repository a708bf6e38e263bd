// RUN: attn-opt %s -attn-own-destinations | FileCheck %s

!rows = tensor<?x2x?x16xf16>
!sums = tensor<?x2x?xf32>

// One tensor.empty for all becomes one of each: the last one keeps it.
// CHECK-LABEL: func.func @shared
// CHECK: %[[O:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x2x?x16xf16>
// CHECK: %[[L:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x2x?xf32>
// CHECK: %[[O1:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x2x?x16xf16>
// CHECK: %[[L1:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x2x?xf32>
// CHECK: attn.attention {{.*}} outs(%[[O1]], %[[L1]] :
// CHECK: %[[O2:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x2x?x16xf16>
// CHECK: attn.attention {{.*}} outs(%[[O2]], %[[L]] :
// CHECK: attn.merge {{.*}} outs(%[[O]] :
func.func @shared(%q: !rows, %k: !rows, %b: index, %n: index) -> !rows {
  %init = tensor.empty(%b, %n) : !rows
  %sums = tensor.empty(%b, %n) : !sums
  %x:2 = attn.attention ins(%q, %k, %k : !rows, !rows, !rows) outs(%init, %sums : !rows, !sums)
  %y:2 = attn.attention ins(%q, %q, %k : !rows, !rows, !rows) outs(%init, %sums : !rows, !sums)
  %r = attn.merge ins(%x#0, %x#1, %y#0, %y#1 : !rows, !sums, !rows, !sums) outs(%init : !rows)
  return %r : !rows
}

// An argument and a constant cannot be written, but for an argument that is to be.
// CHECK-LABEL: func.func @others
// CHECK: %[[TENSOR:.*]] = bufferization.to_tensor
// CHECK: attn.attention {{.*}} outs(%[[TENSOR]] :
// CHECK: %[[O1:.*]] = tensor.empty(
// CHECK: attn.attention {{.*}} outs(%[[O1]] :
// CHECK: %[[O2:.*]] = tensor.empty() : tensor<1x1x4x16xf16>
// CHECK: attn.attention {{.*}} outs(%[[O2]] :
func.func @others(%q: !rows, %c: tensor<1x1x4x16xf16>, %m: memref<?x2x?x16xf16>)
    -> (!rows, !rows, tensor<1x1x4x16xf16>) {
  %t = bufferization.to_tensor %m restrict writable : memref<?x2x?x16xf16> to !rows
  %x = attn.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%t : !rows)
  %y = attn.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%q : !rows)
  %zero = arith.constant dense<0.0> : tensor<1x1x4x16xf16>
  %z = attn.attention ins(%c, %c, %c : tensor<1x1x4x16xf16>, tensor<1x1x4x16xf16>, tensor<1x1x4x16xf16>)
      outs(%zero : tensor<1x1x4x16xf16>)
  return %x, %y, %z : !rows, !rows, tensor<1x1x4x16xf16>
}

// One's own stays; its sizes may be asked for.
// CHECK-LABEL: func.func @own
// CHECK-COUNT-1: tensor.empty
// CHECK-NOT: tensor.empty
func.func @own(%q: !rows, %b: index, %n: index) -> (!rows, index) {
  %c0 = arith.constant 0 : index
  %init = tensor.empty(%b, %n) : !rows
  %d = tensor.dim %init, %c0 : !rows
  %x = attn.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%init : !rows)
  return %x, %d : !rows, index
}
