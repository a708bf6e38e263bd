// RUN: attn-opt %s -attn-decompose-aggregates | FileCheck %s
// RUN: attn-opt %s -attn-cpu-pipeline -o /dev/null
// RUN: attn-opt %s -attn-reference-pipeline -o /dev/null

// CHECK-LABEL: func.func @softmax(
// CHECK-NOT: linalg.softmax
// CHECK: linalg.generic
// CHECK: arith.max
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: arith.divf
func.func @softmax(%query: tensor<1x1x?x16xf32>, %x: tensor<?x8xf32>)
    -> (tensor<1x1x?x16xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : tensor<1x1x?x16xf32>
  %init = tensor.empty(%length) : tensor<1x1x?x16xf32>
  %output = attn.attention
      ins(%query, %query, %query : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>,
          tensor<1x1x?x16xf32>)
      outs(%init : tensor<1x1x?x16xf32>)
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%rows) : tensor<?x8xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x8xf32>)
      outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %output, %y : tensor<1x1x?x16xf32>, tensor<?x8xf32>
}

// Rows of 4 in tiles, of any number; the last one is filled up.
// CHECK-LABEL: func.func @pack(
// CHECK-NOT: linalg.pack
// CHECK: linalg.transpose
func.func @pack(%x: tensor<?x16xf32>, %tiles: index) -> tensor<4x?x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%tiles) : tensor<4x?x4x4xf32>
  %y = linalg.pack %x padding_value(%zero : f32) outer_dims_perm = [1, 0]
      inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %empty
      : tensor<?x16xf32> -> tensor<4x?x4x4xf32>
  return %y : tensor<4x?x4x4xf32>
}

// CHECK-LABEL: func.func @unpack(
// CHECK-NOT: linalg.unpack
// CHECK: linalg.transpose
func.func @unpack(%x: tensor<4x?x4x4xf32>, %rows: index) -> tensor<?x16xf32> {
  %empty = tensor.empty(%rows) : tensor<?x16xf32>
  %y = linalg.unpack %x outer_dims_perm = [1, 0]
      inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %empty
      : tensor<4x?x4x4xf32> -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// Both give what they are defined to.
// RUN: rm -rf %t && mkdir %t
// RUN: attn-run %s --entry rows --random 1 --out %t/x.npy
// RUN: attn-run %s --entry pack --arg %t/x.npy --arg 5:index --check --out %t/packed.npy
// RUN: attn-run %s --entry unpack --arg %t/packed.npy --arg 19:index --check
// RUN: attn-run %s --entry unpack --arg %t/packed.npy --arg 19:index --expect %t/x.npy
// RUN: attn-run %s --entry pack --arg %t/x.npy --arg 5:index --check --pipeline reference
// RUN: not attn-run %s --entry pack --arg %t/x.npy --arg 4:index 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FEW
// FEW: error: {{.*}}out-of-bounds along dimension 0
// RUN: not attn-run %s --entry unpack --arg %t/packed.npy --arg 21:index 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MANY
// MANY: error: {{.*}}out-of-bounds along dimension 0
func.func @rows(%x: tensor<19x16xf32>) -> tensor<19x16xf32> {
  return %x : tensor<19x16xf32>
}
