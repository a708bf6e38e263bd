// RUN: attn-opt %s | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s

// `rows` reads by the row of the query, p - offset, instead of its position.

// CHECK-LABEL: func.func @no_offset(
// CHECK: mask(%{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) captures(%[[T:.*]] = %arg1 : tensor<3x?xi1>) {
// CHECK-NEXT: tensor.extract %[[T]][%[[P]], %[[J]]]
// CHECK-NEXT: attn.yield
func.func @no_offset(%x: tensor<1x2x3x4xf32>, %t: tensor<3x?xi1>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) mask boolean rows(%t : tensor<3x?xi1>)
  return
}

// The offset may come later, and be read by both.
// CHECK-LABEL: func.func @scalar(
// CHECK: offset(%arg2 : i32) score(%[[S:.*]], %{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) captures(%[[T:.*]] = %arg1 : tensor<?x?xf32>, %[[O:.*]] = %arg2 : i32) {
// CHECK-NEXT: %[[FIRST:.*]] = arith.index_cast %[[O]] : i32 to index
// CHECK-NEXT: %[[I:.*]] = arith.subi %[[P]], %[[FIRST]] : index
// CHECK-NEXT: %[[TERM:.*]] = tensor.extract %[[T]][%[[I]], %[[J]]]
// CHECK-NEXT: arith.addf %[[S]], %[[TERM]]
// CHECK: } mask({{.*}}) captures(%{{.*}} = %arg3 : tensor<?x?xi1>, %{{.*}} = %arg2 : i32) {
func.func @scalar(%x: tensor<1x2x3x4xf32>, %t: tensor<?x?xf32>, %o: i32,
                  %m: tensor<?x?xi1>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask causal, boolean rows(%m : tensor<?x?xi1>)
      score bias rows(%t : tensor<?x?xf32>)
      offset(%o : i32)
  return
}

// Positions and rows may stand in one list.
// CHECK-LABEL: func.func @per_batch(
// CHECK: mask(%[[B:.*]], %[[H:.*]], %[[P:.*]], %[[J:.*]]) captures(%[[T:.*]] = %arg1 : tensor<1x2x?x?xi1>, %[[U:.*]] = %arg1 : tensor<1x2x?x?xi1>, %[[O:.*]] = %arg2 : tensor<1xi64>) {
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[O]][%[[B]]] : tensor<1xi64>
// CHECK-NEXT: %[[FIRST:.*]] = arith.index_cast %[[E]] : i64 to index
// CHECK-NEXT: %[[I:.*]] = arith.subi %[[P]], %[[FIRST]] : index
// CHECK: tensor.extract %[[T]][%{{.*}}, %[[H]], %[[I]], %[[J]]]
// CHECK: tensor.extract %[[U]][%{{.*}}, %[[H]], %[[P]], %[[J]]]
func.func @per_batch(%x: tensor<1x2x3x4xf32>, %t: tensor<1x2x?x?xi1>,
                     %o: tensor<1xi64>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) offset(%o : tensor<1xi64>)
      mask boolean rows(%t : tensor<1x2x?x?xi1>),
           boolean(%t : tensor<1x2x?x?xi1>)
  return
}

// CHECK-LABEL: func.func @bottom_right(
// CHECK: mask(%{{.*}}, %{{.*}}, %[[P:.*]], %{{.*}}) captures(%{{.*}} = %arg2 : tensor<3x5xi1>) {
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT: arith.subi %[[P]], %[[TWO]] : index
func.func @bottom_right(%x: tensor<1x2x3x4xf32>, %k: tensor<1x2x5x4xf32>,
                        %t: tensor<3x5xi1>) {
  %r = attn.attention
      ins(%x, %k, %k : tensor<1x2x3x4xf32>, tensor<1x2x5x4xf32>,
          tensor<1x2x5x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) offset(bottom_right)
      mask boolean rows(%t : tensor<3x5xi1>)
  return
}

// Of a sequence, what its cumulative lengths say.
// CHECK-LABEL: func.func @packed(
// CHECK: mask(%[[B:.*]], %{{.*}}, %[[P:.*]], %{{.*}}) captures(%{{.*}} = %arg1 : tensor<?x?x?xi1>, %[[CQ:.*]] = %arg2 : tensor<?xi32>, %[[CK:.*]] = %arg3 : tensor<?xi32>) {
// CHECK: tensor.extract %[[CQ]][%[[B]]]
// CHECK: tensor.extract %[[CQ]][%{{.*}}]
// CHECK: %[[QUERIES:.*]] = arith.subi
// CHECK: tensor.extract %[[CK]][%[[B]]]
// CHECK: %[[KEYS:.*]] = arith.subi
// CHECK: %[[FIRST:.*]] = arith.subi %[[KEYS]], %[[QUERIES]]
// CHECK: arith.subi %[[P]], %[[FIRST]]
func.func @packed(%x: tensor<1x2x?x4xf32>, %t: tensor<?x?x?xi1>,
                  %cq: tensor<?xi32>, %ck: tensor<?xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>,
          tensor<1x2x?x4xf32>)
      outs(%x : tensor<1x2x?x4xf32>)
      mask boolean rows(%t : tensor<?x?x?xi1>), causal
      sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>) offset(bottom_right)
  return
}

// What has no dimension of queries needs no offset.
// CHECK-LABEL: func.func @of_keys(
// CHECK: mask({{.*}}) captures(%{{.*}} = %arg1 : tensor<?xi1>) {
// CHECK-NEXT: tensor.extract
// CHECK-NEXT: attn.yield
func.func @of_keys(%x: tensor<1x2x?x4xf32>, %t: tensor<?xi1>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>,
          tensor<1x2x?x4xf32>)
      outs(%x : tensor<1x2x?x4xf32>) offset(bottom_right)
      mask boolean rows(%t : tensor<?xi1>)
  return
}

// CHECK-LABEL: func.func @memrefs(
// CHECK: memref.load %{{.*}}[%b] : memref<?xi32>
func.func @memrefs(%x: memref<1x2x3x4xf32>, %t: memref<?x?xi1>,
                   %o: memref<?xi32>) {
  attn.attention
      ins(%x, %x, %x : memref<1x2x3x4xf32>, memref<1x2x3x4xf32>,
          memref<1x2x3x4xf32>)
      outs(%x : memref<1x2x3x4xf32>) offset(%o : memref<?xi32>)
      mask boolean rows(%t : memref<?x?xi1>)
  return
}

// A layer counts from what its cache holds.
// CHECK-LABEL: func.func @layer(
// CHECK: mask(%[[B:.*]], %{{.*}}, %[[P:.*]], %{{.*}}) captures(%{{.*}} = %arg3 : tensor<3x?xi1>, %[[N:.*]] = %arg4 : tensor<1xi32>) {
// CHECK-NEXT: tensor.extract %[[N]][%[[B]]]
func.func @layer(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>,
                 %wo: tensor<8x6xf32>, %t: tensor<3x?xi1>, %n: tensor<1xi32>,
                 %c: tensor<1x1x8x4xf32>) {
  %y:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) mask boolean rows(%t : tensor<3x?xi1>)
      outs(%x, %c, %c : tensor<1x3x6xf32>, tensor<1x1x8x4xf32>,
           tensor<1x1x8x4xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      lengths(%n : tensor<1xi32>)
  return
}

// Tensors may be larger than what is read, and a size of 1 stands for any.
// CHECK-LABEL: func.func @sizes(
func.func @sizes(%x: tensor<2x4x3x4xf32>, %t: tensor<2x1x5x9xi1>,
                 %s: tensor<9xf32>, %p: tensor<3xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>,
          tensor<2x4x3x4xf32>)
      outs(%x : tensor<2x4x3x4xf32>) score alibi(%s : tensor<9xf32>)
      mask boolean rows(%t : tensor<2x1x5x9xi1>), key_padding(%p : tensor<3xi32>)
  return
}
