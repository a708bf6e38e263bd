// RUN: attn-opt %s -canonicalize -split-input-file | FileCheck %s

// Casts to less static types are folded into the op.
// CHECK-LABEL: func.func @append_casts(
// CHECK: %[[R:.*]] = attn.cache_append ins(%{{.*}} : tensor<2x2x1x4xf32>) outs(%{{.*}} : tensor<2x2x16x4xf32>) lengths(%{{.*}} : tensor<2xi32>)
// CHECK-NEXT: %[[C:.*]] = tensor.cast %[[R]]
// CHECK-NEXT: return %[[C]]
func.func @append_casts(%rows: tensor<2x2x1x4xf32>, %cache: tensor<2x2x16x4xf32>,
                        %lengths: tensor<2xi32>) -> tensor<?x2x?x4xf32> {
  %0 = tensor.cast %rows : tensor<2x2x1x4xf32> to tensor<?x2x?x4xf32>
  %1 = tensor.cast %cache : tensor<2x2x16x4xf32> to tensor<?x2x?x4xf32>
  %2 = tensor.cast %lengths : tensor<2xi32> to tensor<?xi32>
  %3 = attn.cache_append ins(%0 : tensor<?x2x?x4xf32>)
      outs(%1 : tensor<?x2x?x4xf32>) lengths(%2 : tensor<?xi32>)
  return %3 : tensor<?x2x?x4xf32>
}

// -----

// CHECK-LABEL: func.func @read_casts(
// CHECK: attn.cache_read ins(%{{.*}} : tensor<2x2x16x4xf32>) lengths(%{{.*}} : tensor<2xi32>) size(%{{.*}}) -> tensor<?x2x?x4xf32>
func.func @read_casts(%cache: tensor<2x2x16x4xf32>, %lengths: tensor<2xi32>,
                      %n: index) -> tensor<?x2x?x4xf32> {
  %1 = tensor.cast %cache : tensor<2x2x16x4xf32> to tensor<?x2x?x4xf32>
  %2 = tensor.cast %lengths : tensor<2xi32> to tensor<?xi32>
  %3 = attn.cache_read ins(%1 : tensor<?x2x?x4xf32>)
      lengths(%2 : tensor<?xi32>) size(%n) -> tensor<?x2x?x4xf32>
  return %3 : tensor<?x2x?x4xf32>
}

// -----

// A constant size goes into the result's type; a negative one is an error at
// run time.
// CHECK-LABEL: func.func @read_size(
// CHECK: attn.cache_read ins(%{{.*}} : tensor<?x2x?x4xf32>) lengths(%{{.*}} : tensor<?xi32>) -> tensor<?x2x7x4xf32>
// CHECK: attn.cache_read {{.*}} size(%c-1)
func.func @read_size(%cache: tensor<?x2x?x4xf32>, %lengths: tensor<?xi32>)
    -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) {
  %c7 = arith.constant 7 : index
  %negative = arith.constant -1 : index
  %0 = attn.cache_read ins(%cache : tensor<?x2x?x4xf32>)
      lengths(%lengths : tensor<?xi32>) size(%c7) -> tensor<?x2x?x4xf32>
  %1 = attn.cache_read ins(%cache : tensor<?x2x?x4xf32>)
      lengths(%lengths : tensor<?xi32>) size(%negative) -> tensor<?x2x?x4xf32>
  return %0, %1 : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>
}

// -----

// Nothing is left of a read that no one uses; an append that no one uses writes
// nothing.
// CHECK-LABEL: func.func @unused(
// CHECK-NEXT: return
func.func @unused(%cache: tensor<2x2x16x4xf32>, %lengths: tensor<2xi32>) {
  %0 = attn.cache_append ins(%cache : tensor<2x2x16x4xf32>)
      outs(%cache : tensor<2x2x16x4xf32>) lengths(%lengths : tensor<2xi32>)
  %1 = attn.cache_read ins(%0 : tensor<2x2x16x4xf32>)
      lengths(%lengths : tensor<2xi32>) -> tensor<2x2x3x4xf32>
  return
}
