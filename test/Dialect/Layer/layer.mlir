// RUN: attn-opt %s -canonicalize | attn-opt | FileCheck %s

// CHECK-LABEL: func.func @rope(
// CHECK: attn.rope half_split ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x2x?x8xf16>, tensor<?x3xf32>, tensor<?x3xf32>) outs(%{{.*}} : tensor<?x2x?x8xf16>) offset(%{{.*}} : tensor<?xi32>)
// CHECK-NEXT: attn.rope interleaved ins({{.*}}) outs(%{{.*}} : tensor<?x2x?x8xf16>) positions(%{{.*}} : tensor<?x?xi64>)
func.func @rope(%x: tensor<?x2x?x8xf16>, %t: tensor<?x3xf32>,
                %offset: tensor<?xi32>, %positions: tensor<?x?xi64>)
    -> tensor<?x2x?x8xf16> {
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<?x2x?x8xf16>,
      tensor<?x3xf32>, tensor<?x3xf32>) outs(%x : tensor<?x2x?x8xf16>)
      offset(%offset : tensor<?xi32>)
  %1 = attn.rope interleaved ins(%0, %t, %t : tensor<?x2x?x8xf16>,
      tensor<?x3xf32>, tensor<?x3xf32>) outs(%x : tensor<?x2x?x8xf16>)
      positions(%positions : tensor<?x?xi64>)
  return %1 : tensor<?x2x?x8xf16>
}

// An offset of 0 is left out; casts are folded into the op.
// CHECK-LABEL: func.func @rope_folds(
// CHECK: attn.rope half_split ins({{.*}} : tensor<1x2x3x8xf16>, tensor<9x3xf32>, tensor<9x3xf32>) outs(%{{.*}} : tensor<1x2x3x8xf16>){{$}}
func.func @rope_folds(%x: tensor<1x2x3x8xf16>, %t: tensor<9x3xf32>)
    -> tensor<?x2x?x8xf16> {
  %c0 = arith.constant 0 : i64
  %0 = tensor.cast %x : tensor<1x2x3x8xf16> to tensor<?x2x?x8xf16>
  %1 = attn.rope half_split ins(%0, %t, %t : tensor<?x2x?x8xf16>,
      tensor<9x3xf32>, tensor<9x3xf32>) outs(%0 : tensor<?x2x?x8xf16>)
      offset(%c0 : i64)
  return %1 : tensor<?x2x?x8xf16>
}

// CHECK-LABEL: func.func @merge(
// CHECK: attn.merge ins({{.*}} : tensor<?x2x?x8xf16>, tensor<?x2x?xf32>, tensor<?x2x?x8xf16>, tensor<?x2x?xf32>) outs(%{{.*}}, %{{.*}} : tensor<?x2x?x8xf16>, tensor<?x2x?xf32>)
// CHECK-NEXT: attn.merge ins({{.*}}) outs(%{{.*}} : tensor<?x2x?x8xf16>){{$}}
func.func @merge(%o: tensor<?x2x?x8xf16>, %l: tensor<?x2x?xf32>)
    -> tensor<?x2x?x8xf16> {
  %0:2 = attn.merge ins(%o, %l, %o, %l : tensor<?x2x?x8xf16>, tensor<?x2x?xf32>,
      tensor<?x2x?x8xf16>, tensor<?x2x?xf32>)
      outs(%o, %l : tensor<?x2x?x8xf16>, tensor<?x2x?xf32>)
  %1 = attn.merge ins(%0#0, %0#1, %o, %l : tensor<?x2x?x8xf16>,
      tensor<?x2x?xf32>, tensor<?x2x?x8xf16>, tensor<?x2x?xf32>)
      outs(%o : tensor<?x2x?x8xf16>)
  return %1 : tensor<?x2x?x8xf16>
}

// CHECK-LABEL: func.func @head_norm(
// CHECK: attn.head_norm ins(%{{.*}}, %{{.*}} : tensor<?x2x?x8xf16>, tensor<8xf32>) outs(%{{.*}} : tensor<?x2x?x8xf16>) epsilon(9.9{{.*}}E-7) layer(3)
// CHECK-NEXT: attn.head_norm ins(%{{.*}}, %{{.*}} : tensor<?x2x?x8xf16>, tensor<2x8xf16>) outs(%{{.*}} : tensor<?x2x?x8xf16>){{$}}
// CHECK-NEXT: attn.head_norm ins(%{{.*}} : tensor<?x2x?x8xf16>) outs(%{{.*}} : tensor<?x2x?x8xf16>){{$}}
func.func @head_norm(%x: tensor<?x2x?x8xf16>, %w: tensor<8xf32>,
                     %p: tensor<2x8xf16>) -> tensor<?x2x?x8xf16> {
  %0 = attn.head_norm ins(%x, %w : tensor<?x2x?x8xf16>, tensor<8xf32>)
      outs(%x : tensor<?x2x?x8xf16>) epsilon(1.0e-6) layer(3)
  %1 = attn.head_norm ins(%0, %p : tensor<?x2x?x8xf16>, tensor<2x8xf16>)
      outs(%x : tensor<?x2x?x8xf16>) epsilon(1.0e-5)
  %2 = attn.head_norm ins(%1 : tensor<?x2x?x8xf16>)
      outs(%x : tensor<?x2x?x8xf16>)
  return %2 : tensor<?x2x?x8xf16>
}

// A rate of 0 is no dropout. Where sizes may differ, they are still to be checked.
// CHECK-LABEL: func.func @dropout(
// CHECK: %[[R:.*]] = attn.dropout ins(%{{.*}} : tensor<?x?x8xf16>) outs(%{{.*}} : tensor<?x?x8xf16>) rate(1.000000e-01, %{{.*}}, %{{.*}})
// CHECK: %[[S:.*]] = attn.dropout ins(%{{.*}} : tensor<?x?x8xf16>) outs(%{{.*}} : tensor<?x?x8xf16>) rate(0.000000e+00, %{{.*}}, %{{.*}})
// CHECK-NEXT: return %[[R]], %[[S]]
func.func @dropout(%x: tensor<?x?x8xf16>, %n: index, %seed: i64, %call: i32)
    -> (tensor<?x?x8xf16>, tensor<?x?x8xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = attn.dropout ins(%x : tensor<?x?x8xf16>) outs(%x : tensor<?x?x8xf16>)
      rate(0.1, %seed, %call)
  %b = tensor.dim %0, %c0 : tensor<?x?x8xf16>
  %s = tensor.dim %0, %c1 : tensor<?x?x8xf16>
  %same = tensor.empty(%b, %s) : tensor<?x?x8xf16>
  %1 = attn.dropout ins(%0 : tensor<?x?x8xf16>) outs(%same : tensor<?x?x8xf16>)
      rate(0.0, %seed, %call)
  %other = tensor.empty(%b, %n) : tensor<?x?x8xf16>
  %2 = attn.dropout ins(%x : tensor<?x?x8xf16>) outs(%other : tensor<?x?x8xf16>)
      rate(0.0, %seed, %call)
  return %1, %2 : tensor<?x?x8xf16>, tensor<?x?x8xf16>
}
