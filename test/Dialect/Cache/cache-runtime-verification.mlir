// RUN: attn-opt %s -attn-add-runtime-checks -split-input-file | FileCheck %s

// C9: all checks come before the first write, whatever is appended to.
// CHECK-LABEL: func.func @c9_before_all_writes(
// CHECK-NOT: = attn.cache_append
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'lengths': expected numbers from 0 to 2^61"
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'counts': expected numbers from 0 to the number of rows"
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'lengths': a sequence would be longer than the cache's capacity"
// CHECK-NOT: = attn.cache_append
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'lengths': expected numbers from 0 to 2^61"
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'counts': expected numbers from 0 to the number of rows"
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'lengths': a sequence would be longer than the cache's capacity"
// CHECK: = attn.cache_append
// CHECK-NOT: cf.assert
// CHECK: = attn.cache_append
func.func @c9_before_all_writes(
    %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>, %keys: tensor<?x2x?x4xf32>,
    %values: tensor<?x2x?x4xf32>, %lengths: tensor<?xi32>, %counts: tensor<?xi32>)
    -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) {
  %0 = attn.cache_append ins(%k : tensor<?x2x?x4xf32>)
      outs(%keys : tensor<?x2x?x4xf32>) lengths(%lengths : tensor<?xi32>)
      counts(%counts : tensor<?xi32>)
  %1 = attn.cache_append ins(%v : tensor<?x2x?x4xf32>)
      outs(%values : tensor<?x2x?x4xf32>) lengths(%lengths : tensor<?xi32>)
      counts(%counts : tensor<?xi32>)
  return %0, %1 : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>
}

// -----

// Of rows that are computed before, only the size is looked at. A read of what
// was appended is checked before that is.
// CHECK-LABEL: func.func @c9_before_rope(
// CHECK-DAG: "'attn.rope' op a position is below 0 or not in the tables 'cosine' and 'sine'"
// CHECK-DAG: "'attn.cache_read' op operand 'lengths': expected numbers from 0 to 2^61"
// CHECK: = attn.rope
// CHECK-NOT: cf.assert
// CHECK: = attn.cache_append
// CHECK-NOT: cf.assert
// CHECK: = attn.cache_read
func.func @c9_before_rope(
    %k: tensor<?x2x?x4xf32>, %rotated: tensor<?x2x?x4xf32>, %t: tensor<?x2xf32>,
    %keys: tensor<?x2x16x4xf32>, %lengths: tensor<?xi32>)
    -> tensor<?x2x9x4xf32> {
  %0 = attn.rope half_split ins(%k, %t, %t : tensor<?x2x?x4xf32>,
      tensor<?x2xf32>, tensor<?x2xf32>) outs(%rotated : tensor<?x2x?x4xf32>)
      offset(%lengths : tensor<?xi32>)
  %1 = attn.cache_append ins(%0 : tensor<?x2x?x4xf32>)
      outs(%keys : tensor<?x2x16x4xf32>) lengths(%lengths : tensor<?xi32>) ring
  %2 = attn.cache_read ins(%1 : tensor<?x2x16x4xf32>)
      lengths(%lengths : tensor<?xi32>) ring -> tensor<?x2x9x4xf32>
  return %2 : tensor<?x2x9x4xf32>
}

// -----

// CHECK-LABEL: func.func @c9_ring(
// CHECK: "'attn.cache_append' op more rows are appended than the ring holds"
func.func @c9_ring(%k: tensor<?x2x?x4xf32>, %keys: tensor<?x2x16x4xf32>,
                   %lengths: tensor<?xi32>) -> tensor<?x2x16x4xf32> {
  %0 = attn.cache_append ins(%k : tensor<?x2x?x4xf32>)
      outs(%keys : tensor<?x2x16x4xf32>) lengths(%lengths : tensor<?xi32>) ring
  return %0 : tensor<?x2x16x4xf32>
}

// -----

// CHECK-LABEL: func.func @c9_paged(
// CHECK: "'attn.cache_append' op operand 'lengths': a sequence would be longer than its pages in operand 'table' hold"
// CHECK: "'attn.cache_append' op operand 'table': a page to be written is not one of the cache's"
// CHECK: "'attn.cache_append' op operand 'table': a page to be written stands elsewhere in the used part of the table"
func.func @c9_paged(%k: tensor<?x2x?x4xf32>, %keys: tensor<?x2x16x4xf32>,
                    %lengths: tensor<?xi32>, %table: tensor<?x?xi32>)
    -> tensor<?x2x16x4xf32> {
  %0 = attn.cache_append ins(%k : tensor<?x2x?x4xf32>)
      outs(%keys : tensor<?x2x16x4xf32>) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>)
  return %0 : tensor<?x2x16x4xf32>
}

// -----

// On buffers, what is counted of pages is freed again.
// CHECK-LABEL: func.func @c9_paged_buffers(
// CHECK: %[[USES:.*]] = memref.alloc
// CHECK: memref.dealloc %[[USES]]
// CHECK: attn.cache_append ins
func.func @c9_paged_buffers(%k: memref<?x2x?x4xf32>, %keys: memref<?x2x16x4xf32>,
                            %lengths: memref<?xi32>, %table: memref<?x?xi32>) {
  attn.cache_append ins(%k : memref<?x2x?x4xf32>)
      outs(%keys : memref<?x2x16x4xf32>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>)
  return
}

// -----

// CHECK-LABEL: func.func @c13(
// CHECK: "'attn.cache_read' op operand 'scales': dimension 0 (number of pages) is not that of operand 'cache'"
// CHECK: "'attn.cache_read' op operand 'size': expected a number of at least 0"
// CHECK: "'attn.cache_read' op operand 'lengths': a sequence is longer than its pages in operand 'table' hold"
// CHECK: "'attn.cache_read' op operand 'table': a used page is not one of the cache's"
func.func @c13(%keys: tensor<?x2x16x4xi8>, %scales: tensor<?x2x16xf32>,
               %lengths: tensor<?xi32>, %table: tensor<?x?xi32>, %n: index)
    -> tensor<?x2x?x4xf32> {
  %0 = attn.cache_read ins(%keys, %scales : tensor<?x2x16x4xi8>,
      tensor<?x2x16xf32>) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%n) -> tensor<?x2x?x4xf32>
  return %0 : tensor<?x2x?x4xf32>
}

// -----

// C12: once for key and value that are of one kind and length.
// CHECK-LABEL: func.func @c12(
// CHECK: "'attn.attention' op operand 'key': the mask keeps a row that is absent from the cache"
// CHECK-NOT: operand 'value': the mask
// CHECK: = attn.attention
func.func @c12(%q: tensor<?x2x?x4xf32>, %keys: tensor<?x2x?x4xf32>,
               %values: tensor<?x2x?x4xf32>, %lengths: tensor<?xi32>, %n: index)
    -> tensor<?x2x?x4xf32> {
  %k = attn.cache_read ins(%keys : tensor<?x2x?x4xf32>)
      lengths(%lengths : tensor<?xi32>) size(%n) -> tensor<?x2x?x4xf32>
  %v = attn.cache_read ins(%values : tensor<?x2x?x4xf32>)
      lengths(%lengths : tensor<?xi32>) size(%n) -> tensor<?x2x?x4xf32>
  %0 = attn.attention ins(%q, %k, %v : tensor<?x2x?x4xf32>,
      tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) outs(%q : tensor<?x2x?x4xf32>)
      offset(%lengths : tensor<?xi32>) mask causal
  return %0 : tensor<?x2x?x4xf32>
}

// -----

// A ring that is too small is found before its oldest row is overwritten.
// CHECK-LABEL: func.func @append_and_attend(
// CHECK: "'attn.attention' op operand 'key': the mask keeps a row that is absent from the cache"
// CHECK: = attn.cache_append
// CHECK-NOT: cf.assert
// CHECK: = attn.attention
func.func @append_and_attend(%q: tensor<1x2x1x4xf32>, %k: tensor<1x2x1x4xf32>,
                             %keys: tensor<1x2x16x4xf32>,
                             %lengths: tensor<1xi32>, %after: tensor<1xi32>,
                             %n: index) -> (tensor<1x2x1x4xf32>,
                                            tensor<1x2x16x4xf32>) {
  %stored = attn.cache_append ins(%k : tensor<1x2x1x4xf32>)
      outs(%keys : tensor<1x2x16x4xf32>) lengths(%lengths : tensor<1xi32>) ring
  %key = attn.cache_read ins(%stored : tensor<1x2x16x4xf32>)
      lengths(%after : tensor<1xi32>) ring size(%n) -> tensor<1x2x?x4xf32>
  %0 = attn.attention ins(%q, %key, %key : tensor<1x2x1x4xf32>,
      tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>) outs(%q : tensor<1x2x1x4xf32>)
      offset(bottom_right) mask sliding_window(20, 0)
  return %0, %stored : tensor<1x2x1x4xf32>, tensor<1x2x16x4xf32>
}

// -----

// CHECK-LABEL: func.func @c9_packed_rows(
// CHECK-SAME: %{{[^:]*}}: tensor<1x2x?x4xf32>, %{{[^:]*}}: tensor<?x2x?x4xf32>, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[CU:[^:]*]]: tensor<?xi32>
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'sequences': dimension 0 (number of sequences + 1) is not that of operand 'lengths'"
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'sequences': expected numbers that do not decrease, none below 0 or above the number of rows"
// CHECK: tensor.extract %[[LENGTHS]]
// CHECK: tensor.extract %[[CU]]
// CHECK: cf.assert {{.*}}"'attn.cache_append' op operand 'lengths': a sequence would be longer than the cache's capacity"
// CHECK: = attn.cache_append
func.func @c9_packed_rows(
    %rows: tensor<1x2x?x4xf32>, %cache: tensor<?x2x?x4xf32>,
    %lengths: tensor<?xi32>, %cu: tensor<?xi32>) -> tensor<?x2x?x4xf32> {
  %0 = attn.cache_append ins(%rows : tensor<1x2x?x4xf32>)
      outs(%cache : tensor<?x2x?x4xf32>) lengths(%lengths : tensor<?xi32>)
      sequences(%cu : tensor<?xi32>)
  return %0 : tensor<?x2x?x4xf32>
}
