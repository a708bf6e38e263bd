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
