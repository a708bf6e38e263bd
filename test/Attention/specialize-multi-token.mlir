// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-specialize-queries -mlir-print-local-scope | FileCheck %s

!q = tensor<1x2x?x16xf32>
!kv = tensor<1x1x64x16xf32>

// Tiles of as many rows as the form is for. What is written is written in each.
// CHECK-LABEL: func.func @any_number
// CHECK-SAME: %[[O:[^:]*]]: tensor<1x2x?x16xf32>, %[[OUT:[^:]*]]: memref
// CHECK: %[[ROWS:.*]] = tensor.dim %[[O]], %c2
// CHECK: %[[LAST:.*]] = arith.subi %[[ROWS]], %c1
// CHECK: %[[ONE:.*]] = arith.cmpi ult, %[[LAST]], %c1
// CHECK: scf.if %[[ONE]] {
// CHECK: %[[OF_ONE:.*]] = attn.multi_token_attention
// CHECK: {attn.plan = #attn.plan<rows = 1>}
// CHECK: bufferization.materialize_in_destination %[[OF_ONE]] in restrict writable %[[OUT]]
// CHECK: } else {
// CHECK: arith.cmpi ult, %{{.*}}, %c6
// CHECK: {attn.plan = #attn.plan<rows = 6>}
// CHECK: arith.cmpi ult, %{{.*}}, %c24
// CHECK: {attn.plan = #attn.plan<rows = 24>}
// CHECK: attn.multi_token_attention
// CHECK-NOT: attn.plan
// CHECK: return
func.func @any_number(%q: !q, %k: !kv, %o: !q, %out: memref<1x2x?x16xf32>,
                      %kernel: tensor<2x3x3xf32>) {
  %r = attn.multi_token_attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o : !q)
      convolve_before(%kernel : tensor<2x3x3xf32>) mask causal
  bufferization.materialize_in_destination %r in restrict writable %out
      : (!q, memref<1x2x?x16xf32>) -> ()
  return
}

// -----

!q = tensor<1x2x?x16xf32>
!kv = tensor<1x1x64x16xf32>

// Of calls with 2 to 6 rows, one form, in the keys that were said.
// CHECK-LABEL: func.func @some_numbers
// CHECK-NOT: scf.if
// CHECK: attn.multi_token_attention
// CHECK: {attn.plan = #attn.plan<rows = 6, keys = 64>}
// CHECK-NOT: attn.multi_token_attention
// CHECK: return
func.func @some_numbers(%q: !q, %k: !kv, %o: !q, %w: tensor<1x2x2xf32>) -> !q {
  %r = attn.multi_token_attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o : !q)
      mix_after(%w : tensor<1x2x2xf32>)
      {attn.queries = array<i64: 2, 6>, attn.plan = #attn.plan<keys = 64>}
  return %r : !q
}

// -----

!q = tensor<1x2x?x16xf32>
!last = tensor<1x2x4x16xf32>
!kv = tensor<1x1x64x16xf32>

// A known number, and tiles that were said, have no forms.
// CHECK-LABEL: func.func @known
// CHECK-NOT: scf.if
// CHECK-COUNT-2: attn.multi_token_attention
// CHECK-NOT: attn.multi_token_attention
// CHECK: return
func.func @known(%q: !q, %k: !kv, %last: !last, %o: !q, %w: tensor<1x2x2xf32>)
    -> (!last, !q) {
  %r = attn.multi_token_attention ins(%q, %k, %k : !q, !kv, !kv) outs(%last : !last)
      mix_before(%w : tensor<1x2x2xf32>)
  %s = attn.multi_token_attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o : !q)
      mix_before(%w : tensor<1x2x2xf32>) {attn.plan = #attn.plan<rows = 12>}
  return %r, %s : !last, !q
}

// -----

!q = tensor<1x2x?x16xf32>
!l = tensor<1x2x?xf32>
!kv = tensor<1x1x64x16xf32>

// One result is written, the other one comes out of the condition.
// CHECK-LABEL: func.func @write_and_return
// CHECK-SAME: %[[OUT:[^:]*]]: memref<1x2x?x16xf32>
// CHECK: %[[SUMS:.*]] = scf.if %{{.*}} -> (tensor<1x2x?xf32>) {
// CHECK: %[[ONE:.*]]:2 = attn.multi_token_attention
// CHECK: bufferization.materialize_in_destination %[[ONE]]#0 in restrict writable %[[OUT]]
// CHECK: scf.yield %[[ONE]]#1
// CHECK: } else {
// CHECK: return %[[SUMS]]
func.func @write_and_return(%q: !q, %k: !kv, %o: !q, %l: !l, %out: memref<1x2x?x16xf32>,
                            %w: tensor<1x2x2xf32>) -> !l {
  %r:2 = attn.multi_token_attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o, %l : !q, !l)
      mix_before(%w : tensor<1x2x2xf32>)
  bufferization.materialize_in_destination %r#0 in restrict writable %out
      : (!q, memref<1x2x?x16xf32>) -> ()
  return %r#1 : !l
}

// -----

!q = tensor<1x2x?x16xf32>
!kv = tensor<1x1x64x16xf32>

// What is written to a view that is made later is written there, and what is left to
// the reference path has one form.
// CHECK-LABEL: func.func @others
// CHECK: %[[R:.*]] = scf.if
// CHECK: %[[VIEW:.*]] = memref.subview
// CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[VIEW]]
// CHECK-NOT: scf.if
// CHECK: attn.multi_token_attention
// CHECK-NOT: scf.if
// CHECK: return
func.func @others(%q: !q, %k: !kv, %o: !q, %out: memref<1x2x?x16xf32>, %n: index,
                  %w: tensor<1x2x2xf32>, %seed: i64, %call: i32) -> !q {
  %r = attn.multi_token_attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o : !q)
      mix_before(%w : tensor<1x2x2xf32>)
  %view = memref.subview %out[0, 0, 0, 0] [1, 2, %n, 16] [1, 1, 1, 1]
      : memref<1x2x?x16xf32> to memref<1x2x?x16xf32, strided<[?, ?, 16, 1]>>
  bufferization.materialize_in_destination %r in restrict writable %view
      : (!q, memref<1x2x?x16xf32, strided<[?, ?, 16, 1]>>) -> ()
  %s = attn.multi_token_attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o : !q)
      mix_before(%w : tensor<1x2x2xf32>) dropout(0.5, %seed, %call)
  return %s : !q
}
