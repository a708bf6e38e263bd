// RUN: attn-opt %s -attn-split-index-casts | FileCheck %s
// RUN: attn-opt %s -attn-split-index-casts -canonicalize | FileCheck %s --check-prefix=CANONICAL

// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: %[[I:.*]]: index
// CHECK: %[[S:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK: %[[S8:.*]] = arith.trunci %[[S]] : i64 to i8
// CHECK: arith.index_cast %[[S8]] : i8 to index
// CHECK: %[[U:.*]] = arith.index_castui %[[I]] : index to i64
// CHECK: %[[U8:.*]] = arith.trunci %[[U]] : i64 to i8
// CHECK: arith.index_castui %[[U8]] : i8 to index
// CANONICAL-LABEL: func.func @narrow(
// CANONICAL-COUNT-2: arith.trunci
func.func @narrow(%i: index) -> (index, index) {
  %0 = arith.index_cast %i : index to i8
  %1 = arith.index_cast %0 : i8 to index
  %2 = arith.index_castui %i : index to i8
  %3 = arith.index_castui %2 : i8 to index
  return %1, %3 : index, index
}

// CHECK-LABEL: func.func @wide(
// CHECK-SAME: %[[I:.*]]: i128
// CHECK: %[[LOW:.*]] = arith.trunci %[[I]] : i128 to i64
// CHECK: %[[S:.*]] = arith.index_cast %[[LOW]] : i64 to index
// CHECK: %[[S64:.*]] = arith.index_cast %[[S]] : index to i64
// CHECK: arith.extsi %[[S64]] : i64 to i128
// CHECK: %[[U64:.*]] = arith.index_castui %[[S]] : index to i64
// CHECK: arith.extui %[[U64]] : i64 to i128
// CANONICAL-LABEL: func.func @wide(
// CANONICAL: arith.trunci
func.func @wide(%i: i128) -> (i128, i128) {
  %0 = arith.index_cast %i : i128 to index
  %1 = arith.index_cast %0 : index to i128
  %2 = arith.index_castui %0 : index to i128
  return %1, %2 : i128, i128
}

// CHECK-LABEL: func.func @tensors(
// CHECK: %[[S:.*]] = arith.index_cast %{{.*}} : tensor<?xindex> to tensor<?xi64>
// CHECK: arith.trunci %[[S]] : tensor<?xi64> to tensor<?xi32>
func.func @tensors(%i: tensor<?xindex>) -> tensor<?xi32> {
  %0 = arith.index_cast %i : tensor<?xindex> to tensor<?xi32>
  return %0 : tensor<?xi32>
}

// What loses nothing, what reinterprets a buffer, and what has no such pattern.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: arith.trunci
// CHECK: return
func.func @others(%i: index, %n: i8, %m: memref<4xindex>)
    -> (index, i64, memref<4xi32>, i8) {
  %0 = arith.index_cast %n : i8 to index
  %1 = arith.index_castui %i : index to i64
  %2 = arith.index_cast %m : memref<4xindex> to memref<4xi32>
  %3 = index.casts %i : index to i8
  return %0, %1, %2, %3 : index, i64, memref<4xi32>, i8
}

// CHECK-LABEL: func.func @region(
// CHECK: mask
// CHECK: arith.trunci %{{.*}} : i64 to i8
func.func @region(%q: tensor<1x1x9x4xf32>, %o: tensor<1x1x9x4xf32>) -> tensor<1x1x9x4xf32> {
  %0 = attn.attention ins(%q, %q, %q : tensor<1x1x9x4xf32>, tensor<1x1x9x4xf32>, tensor<1x1x9x4xf32>)
      outs(%o : tensor<1x1x9x4xf32>)
      mask(%b, %h, %p, %j) {
        %n = arith.index_cast %p : index to i8
        %w = arith.index_cast %n : i8 to index
        %keep = arith.cmpi sle, %w, %j : index
        attn.yield %keep : i1
      }
  return %0 : tensor<1x1x9x4xf32>
}
