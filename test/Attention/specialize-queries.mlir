// RUN: attn-opt %s -split-input-file -attn-specialize-queries=workgroups -mlir-print-local-scope | FileCheck %s
// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-specialize-queries -mlir-print-local-scope | FileCheck %s --check-prefix=FEW

!q = tensor<?x8x?x64xf16>
!kv = tensor<?x2x?x64xf16>
!l = tensor<?x8x?xf32>

// One query, the first row, or any number. What the caller's buffer is for is
// written in both branches; another use of a result gets it from the condition.
// CHECK-LABEL: func.func @write_and_return
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x8x?x64xf16>, %[[K:[^:]*]]: tensor<?x2x?x64xf16>, %[[O:[^:]*]]: tensor<?x8x?x64xf16>, %[[L:[^:]*]]: tensor<?x8x?xf32>, %[[P:[^:]*]]: index, %[[OUT:[^:]*]]: memref<?x8x?x64xf16>
// CHECK: %[[LENGTH:.*]] = tensor.dim %[[Q]], %c2
// CHECK: %[[LAST:.*]] = arith.subi %[[LENGTH]], %c1
// CHECK: %[[IS_ONE:.*]] = arith.cmpi ult, %[[LAST]], %c1
// CHECK: %[[LSE:.*]] = scf.if %[[IS_ONE]] -> (tensor<?x8x?xf32>) {
// CHECK: %[[QUERY:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 0] [%{{.*}}, 8, 1, 64] [1, 1, 1, 1]
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[O]][0, 0, 0, 0] [%{{.*}}, 8, 1, 64] [1, 1, 1, 1]
// CHECK: %[[SUM:.*]] = tensor.extract_slice %[[L]][0, 0, 0] [%{{.*}}, 8, 1] [1, 1, 1]
// CHECK: %[[STEP:.*]]:2 = attn.attention ins(%[[QUERY]], %[[K]], %[[K]] : tensor<?x8x1x64xf16>, {{.*}}) outs(%[[ROW]], %[[SUM]] : tensor<?x8x1x64xf16>, tensor<?x8x1xf32>) offset(%[[P]] : index) mask
// CHECK: %[[OUT_ROW:.*]] = memref.subview %[[OUT]][0, 0, 0, 0] [%{{.*}}, 8, 1, 64] [1, 1, 1, 1]
// CHECK: bufferization.materialize_in_destination %[[STEP]]#0 in restrict writable %[[OUT_ROW]]
// CHECK: %[[SUMS:.*]] = tensor.insert_slice %[[STEP]]#1 into %[[L]]
// CHECK: scf.yield %[[SUMS]]
// CHECK: } else {
// CHECK: %[[MANY:.*]]:2 = attn.attention ins(%[[Q]], %[[K]], %[[K]] : {{.*}}) outs(%[[O]], %[[L]] : {{.*}}) offset(%[[P]] : index) mask
// CHECK: bufferization.materialize_in_destination %[[MANY]]#0 in restrict writable %[[OUT]]
// CHECK: scf.yield %[[MANY]]#1
// CHECK: }
// CHECK-NOT: materialize
// CHECK: return %[[LSE]]

// For a CPU, few are as many as have a vector of rows in the four heads of a group,
// and as many as leave tiles of one head
// half empty.
// FEW-LABEL: func.func @write_and_return
// FEW: %[[LSE:.*]] = scf.if
// FEW: %[[FOUR:.*]] = affine.min affine_map<()[s0] -> (s0, 4)>()[%[[LENGTH:.*]]]
// FEW: %[[QUERY:.*]] = tensor.extract_slice %{{.*}}[0, 0, 0, 0] [%{{.*}}, 8, %[[FOUR]], 64] [1, 1, 1, 1]
// FEW: attn.attention ins(%[[QUERY]],
// FEW: } else {
// FEW: %[[REST:.*]] = scf.if
// FEW: affine.min affine_map<()[s0] -> (s0, 63)>()[%[[LENGTH]]]
// FEW: attn.attention
// FEW: } else {
// FEW: attn.attention
// FEW: scf.yield %[[REST]]
// FEW: return %[[LSE]]
func.func @write_and_return(%q: !q, %k: !kv, %o: !q, %l: !l, %p: index,
                            %out: memref<?x8x?x64xf16>) -> !l {
  %0:2 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o, %l : !q, !l)
      offset(%p : index) mask causal
  bufferization.materialize_in_destination %0#0 in restrict writable %out
      : (!q, memref<?x8x?x64xf16>) -> ()
  return %0#1 : !l
}

// -----

// A known number of queries, and what the reference lowers.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: scf.if
// FEW-LABEL: func.func @left_alone
// FEW-NOT: scf.if
// CHECK: return
func.func @left_alone(%q: tensor<?x8x1x64xf16>, %k: tensor<?x2x?x64xf16>,
                      %q64: tensor<?x8x?x64xf64>, %k64: tensor<?x2x?x64xf64>,
                      %starts: tensor<?xi32>, %packed: tensor<1x8x?x64xf16>,
                      %keys: tensor<1x2x?x64xf16>)
    -> (tensor<?x8x1x64xf16>, tensor<?x8x?x64xf64>, tensor<1x8x?x64xf16>) {
  %0 = attn.attention ins(%q, %k, %k : tensor<?x8x1x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
      outs(%q : tensor<?x8x1x64xf16>)
  %1 = attn.attention ins(%q64, %k64, %k64 : tensor<?x8x?x64xf64>, tensor<?x2x?x64xf64>, tensor<?x2x?x64xf64>)
      outs(%q64 : tensor<?x8x?x64xf64>)
  %2 = attn.attention ins(%packed, %keys, %keys : tensor<1x8x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>)
      outs(%packed : tensor<1x8x?x64xf16>)
      sequences(%starts, %starts : tensor<?xi32>, tensor<?xi32>)
  return %0, %1, %2 : tensor<?x8x1x64xf16>, tensor<?x8x?x64xf64>, tensor<1x8x?x64xf16>
}

// -----

// Heads of their own fill tiles as queries do, and two of their queries are
// multiplied together; a plan says how many rows to cut.
!q = tensor<1x2x?x64xf32>
// FEW-LABEL: func.func @own_heads
// FEW: tensor.extract_slice {{.*}} [1, 2, 1, 64]
// FEW: affine.min affine_map<()[s0] -> (s0, 16)>
// FEW-COUNT-2: attn.attention
// FEW-NOT: attn.attention
// FEW: func.func @planned
// FEW: tensor.extract_slice {{.*}} [1, 8, 1, 64]
// FEW-COUNT-2: attn.attention
// FEW-NOT: attn.attention
func.func @own_heads(%q: !q) -> !q {
  %0 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %0 : !q
}
func.func @planned(%q: tensor<1x8x?x64xf32>, %k: !q) -> tensor<1x8x?x64xf32> {
  %0 = attn.attention ins(%q, %k, %k : tensor<1x8x?x64xf32>, !q, !q)
      outs(%q : tensor<1x8x?x64xf32>) {attn.plan = #attn.plan<rows = 32>}
  return %0 : tensor<1x8x?x64xf32>
}
