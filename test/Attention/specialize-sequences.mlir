// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-specialize-queries -mlir-print-local-scope | FileCheck %s

!q = tensor<1x8x?x64xf32>
!kv = tensor<1x2x?x64xf32>

// Sequences of any lengths are in tiles of each form: of as many queries as fill
// four vectors, of those that would leave a tile half empty, and of more.
// CHECK-LABEL: func.func @any
// CHECK: arith.cmpi ult, %{{.*}}, %c16 : index
// CHECK: attn.attention
// CHECK: arith.cmpi ugt, %{{.*}}, %c15 : index
// CHECK: arith.cmpi ult, %{{.*}}, %c128 : index
// CHECK: attn.attention
// CHECK: arith.cmpi ugt, %{{.*}}, %c127 : index
// CHECK: attn.attention
// CHECK-NOT: attn.attention
// CHECK: return
func.func @any(%q: !q, %k: !kv, %starts: tensor<?xi32>) -> !q {
  %0 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q)
      sequences(%starts, %starts : tensor<?xi32>, tensor<?xi32>)
  return %0 : !q
}

// -----

!q = tensor<1x8x?x64xf32>
!kv = tensor<1x2x?x64xf32>

// CHECK-LABEL: func.func @few
// CHECK-NOT: attn.queries
// CHECK: arith.cmpi ult, %{{.*}}, %c16 : index
// CHECK: attn.attention
// CHECK-NOT: attn.attention
// CHECK: return
func.func @few(%q: !q, %k: !kv, %starts: tensor<?xi32>) -> !q {
  %0 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q)
      sequences(%starts, %starts : tensor<?xi32>, tensor<?xi32>)
      {attn.queries = array<i64: 1, 15>}
  return %0 : !q
}

// CHECK-LABEL: func.func @few_and_more
// CHECK: arith.cmpi ult, %{{.*}}, %c16 : index
// CHECK: attn.attention
// CHECK: arith.cmpi ult, %{{.*}}, %c128 : index
// CHECK: attn.attention
// CHECK-NOT: attn.attention
// CHECK: return
func.func @few_and_more(%q: !q, %k: !kv, %starts: tensor<?xi32>) -> !q {
  %0 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q)
      sequences(%starts, %starts : tensor<?xi32>, tensor<?xi32>)
      {attn.queries = array<i64: 1, 16>}
  return %0 : !q
}

// -----

// Without an end, a range is right for sequences of any number of queries: no tile
// asks how many its sequence has.
!q = tensor<4x8x?x64xf32>
!kv = tensor<4x2x?x64xf32>

// CHECK-LABEL: func.func @many
// CHECK-NOT: arith.cmpi ugt
// CHECK: attn.attention
// CHECK-NOT: attn.attention
// CHECK: return
func.func @many(%q: !q, %k: !kv, %counts: tensor<4xi64>) -> !q {
  %0 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q)
      counts(%counts : tensor<4xi64>)
      {attn.queries = array<i64: 1000, 9223372036854775807>}
  return %0 : !q
}

// Also where there are few rows: none is left out.
// CHECK-LABEL: func.func @many_of_few_rows
// CHECK: attn.attention
// CHECK-NOT: attn.attention
// CHECK: return
func.func @many_of_few_rows(%q: tensor<1x8x64x64xf32>, %k: tensor<1x2x64x64xf32>,
                            %starts: tensor<?xi32>) -> tensor<1x8x64x64xf32> {
  %0 = attn.attention ins(%q, %k, %k : tensor<1x8x64x64xf32>, tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>)
      outs(%q : tensor<1x8x64x64xf32>)
      sequences(%starts, %starts : tensor<?xi32>, tensor<?xi32>)
      {attn.queries = array<i64: 9223372036854775807, 9223372036854775807>}
  return %0 : tensor<1x8x64x64xf32>
}

// Without a promise, there is no form for more.
// CHECK-LABEL: func.func @few_rows
// CHECK-COUNT-2: attn.attention
// CHECK-NOT: attn.attention
// CHECK: return
func.func @few_rows(%q: tensor<1x8x64x64xf32>, %k: tensor<1x2x64x64xf32>,
                    %starts: tensor<?xi32>) -> tensor<1x8x64x64xf32> {
  %0 = attn.attention ins(%q, %k, %k : tensor<1x8x64x64xf32>, tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>)
      outs(%q : tensor<1x8x64x64xf32>)
      sequences(%starts, %starts : tensor<?xi32>, tensor<?xi32>)
  return %0 : tensor<1x8x64x64xf32>
}
