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
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[O]][0, 0, 0, 0] [%{{.*}}, 8, 1, 64] [1, 1, 1, 1]
// CHECK: %[[SUM:.*]] = tensor.extract_slice %[[L]][0, 0, 0] [%{{.*}}, 8, 1] [1, 1, 1]
// CHECK: %[[QUERY:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 0] [%{{.*}}, 8, 1, 64] [1, 1, 1, 1]
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

// For a CPU, few are as many as leave tiles of one head half empty.
// FEW-LABEL: func.func @write_and_return
// FEW-SAME: %[[Q:[^:]*]]: tensor<?x8x?x64xf16>
// FEW: %[[LSE:.*]] = scf.if
// FEW: %[[FEW:.*]] = affine.min affine_map<()[s0] -> (s0, 63)>()[%[[LENGTH:.*]]]
// FEW: %[[QUERY:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 0] [%{{.*}}, 8, %[[FEW]], 64] [1, 1, 1, 1]
// FEW: attn.attention ins(%[[QUERY]],
// FEW: } else {
// FEW: attn.attention
// FEW-NOT: attn.attention
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

// A write into what is still read stays where it is.
// CHECK-LABEL: func.func @update
// CHECK: %[[OLD:.*]] = bufferization.to_tensor %[[BUFFER:.*]] restrict writable
// CHECK: %[[NEW:.*]] = scf.if
// CHECK-NOT: materialize
// CHECK: bufferization.materialize_in_destination %[[OLD]] in restrict writable %{{.*}}
// CHECK: bufferization.materialize_in_destination %[[NEW]] in restrict writable %[[BUFFER]]
func.func @update(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>,
                  %updated: memref<?x8x?x64xf16>, %out: memref<?x8x?x64xf16>) {
  %0 = bufferization.to_tensor %updated restrict writable
      : memref<?x8x?x64xf16> to tensor<?x8x?x64xf16>
  %1 = attn.attention
      ins(%q, %k, %k : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>,
          tensor<?x2x?x64xf16>)
      outs(%0 : tensor<?x8x?x64xf16>)
  bufferization.materialize_in_destination %0 in restrict writable %out
      : (tensor<?x8x?x64xf16>, memref<?x8x?x64xf16>) -> ()
  bufferization.materialize_in_destination %1 in restrict writable %updated
      : (tensor<?x8x?x64xf16>, memref<?x8x?x64xf16>) -> ()
  return
}

// -----

// A known number of queries.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: scf.if
// FEW-LABEL: func.func @left_alone
// FEW-NOT: scf.if
// CHECK: return
func.func @left_alone(%q: tensor<?x8x1x64xf16>, %k: tensor<?x2x?x64xf16>)
    -> tensor<?x8x1x64xf16> {
  %0 = attn.attention ins(%q, %k, %k : tensor<?x8x1x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
      outs(%q : tensor<?x8x1x64xf16>)
  return %0 : tensor<?x8x1x64xf16>
}

// -----

// Heads of their own fill tiles as queries do, and two of their queries are
// multiplied together. A tile of many is half empty with as many as half of it
// has. A plan says how many rows to cut.
!q = tensor<1x2x?x64xf32>
// FEW-LABEL: func.func @own_heads
// FEW: tensor.extract_slice {{.*}} [1, 2, 1, 64]
// FEW: affine.min affine_map<()[s0] -> (s0, 16)>
// FEW: attn.attention
// FEW: affine.min affine_map<()[s0] -> (s0, 32)>
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

// -----

// Sequences of a ragged batch: those of at most 15 queries, all heads of a group
// together, those of at most 63, and others, in tiles of one head. Each has its own
// keys, here those of its batch entry.
!q = tensor<1x8x?x64xf32>
!kv = tensor<?x2x?x64xf32>
// FEW-LABEL: func.func @sequences
// FEW-SAME: %[[Q:[^:]*]]: tensor<1x8x?x64xf32>, %[[K:[^:]*]]: tensor<?x2x?x64xf32>, %[[CU:[^:]*]]: tensor<?xi32>, %[[P:[^:]*]]: tensor<?xi32>
// FEW: %[[FILLED:.*]] = scf.forall
// FEW: %[[FEW:.*]] = scf.forall (%[[H:.*]], %[[N:.*]]) = (0, 0) to (8, %{{.*}}) step (4, 1) shared_outs(%{{.*}} = %[[FILLED]])
// FEW-NOT: scf.while
// FEW: %[[BEGIN:.*]] = tensor.extract %[[CU]][%[[N]]]
// FEW: arith.cmpi ult, %{{.*}}, %c16
// FEW: affine.min affine_map<(d0)[s0] -> (15, -d0 + s0)>
// FEW: scf.if
// FEW-NOT: attn.prefetch
// FEW: %[[FIRST:.*]] = tensor.extract %[[P]][%[[N]]]
// FEW: tensor.extract_slice %[[Q]][0, %[[H]], %{{.*}}, 0] [1, 4, %{{.*}}, 64]
// FEW: tensor.extract_slice %[[K]][%[[N]], %{{.*}}, 0, 0] [1, 1, %{{.*}}, 64]
// FEW: attn.attention
// FEW: attn.plan = #attn.plan<chunk = 1024>
// FEW: } else {
// FEW: %[[SOME:.*]] = scf.forall {{.*}} step (4, 1) shared_outs(%{{.*}} = %[[FEW]])
// FEW: arith.cmpi ugt, %[[COUNT:.*]], %c15
// FEW: arith.cmpi ult, %[[COUNT]], %c64
// FEW: attn.attention
// FEW: %[[MANY:.*]] = scf.forall (%[[HEAD:.*]], %[[T:.*]]) in (8, %{{.*}}) shared_outs(%[[O:.*]] = %[[SOME]])
// FEW: %[[M:.*]]:2 = scf.while
// FEW: arith.cmpi ule, %{{.*}}, %[[T]]
// FEW: arith.cmpi ugt, %{{.*}}, %c63
// FEW: scf.if
// FEW: attn.prefetch %[[Q]][%{{.*}}, %[[HEAD]], %{{.*}}] to
// FEW: attn.prefetch %[[O]][%{{.*}}, %[[HEAD]], %{{.*}}] to
// FEW: attn.prefetch %[[O]][%{{.*}}, %[[HEAD]], %{{.*}}] to {{.*}} for_write
// FEW: %[[NEXT:.*]] = arith.addi %[[M]]#0, %c1
// FEW: %[[ENTRY:.*]] = arith.minsi %[[NEXT]]
// FEW: attn.prefetch %[[K]][%[[ENTRY]], %{{.*}}, %{{.*}}] to
// FEW: tensor.extract_slice %[[Q]][0, %{{.*}}, %{{.*}}, 0] [1, 1, %{{.*}}, 64]
// FEW: attn.attention
// FEW: rows = 32
// FEW-NOT: scf.forall (
// FEW: return %[[MANY]]
func.func @sequences(%q: !q, %k: !kv, %cu: tensor<?xi32>, %p: tensor<?xi32>) -> !q {
  %0 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q)
      offset(%p : tensor<?xi32>) sequences(%cu : tensor<?xi32>) mask causal
  return %0 : !q
}

// -----

// A batch of which some rows count, at most 3 of each entry: no form for more.
!q = tensor<?x8x3x64xf32>
!kv = tensor<?x2x?x64xf32>
// FEW-LABEL: func.func @counts
// FEW-SAME: %[[Q:[^:]*]]: tensor<?x8x3x64xf32>, %[[K:[^:]*]]: tensor<?x2x?x64xf32>, %[[COUNTS:[^:]*]]: tensor<?xi64>
// FEW: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (%{{.*}}, 8, 3)
// FEW: %[[COUNT:.*]] = tensor.extract %[[COUNTS]][%[[B]]]
// FEW: %[[INDEX:.*]] = arith.index_cast %[[COUNT]]
// FEW: arith.cmpi slt, %[[I]], %[[INDEX]]
// FEW: scf.forall (%{{.*}}, %[[N:.*]]) =
// FEW: tensor.extract %[[COUNTS]][%[[N]]]
// FEW: tensor.extract_slice %[[Q]][%[[N]], %{{.*}}, %{{.*}}, 0] [1, 4, %{{.*}}, 64]
// FEW: tensor.extract_slice %[[K]][%[[N]], %{{.*}}, 0, 0] [1, 1, %{{.*}}, 64]
// FEW: attn.attention
// FEW-NOT: counts
// FEW-NOT: attn.attention
// FEW: return
func.func @counts(%q: !q, %k: !kv, %n: tensor<?xi64>) -> !q {
  %0 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q)
      counts(%n : tensor<?xi64>)
  return %0 : !q
}

// -----

// What a plan says is said of the tiles of every form.
!q = tensor<1x8x?x64xf32>
!kv = tensor<?x2x?x64xf32>
// FEW-LABEL: func.func @planned_sequences
// FEW: attn.plan = #attn.plan<keys = 32, chunk = 1024>
// FEW: attn.plan = #attn.plan<keys = 32, chunk = 1024>
// FEW: attn.plan = #attn.plan<{{.*}}keys = 32>
// FEW-NOT: attn.attention
func.func @planned_sequences(%q: !q, %k: !kv, %cu: tensor<?xi32>) -> !q {
  %0 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%q : !q)
      sequences(%cu : tensor<?xi32>) {attn.plan = #attn.plan<keys = 32>}
  return %0 : !q
}

// -----

// What a merge alone reads is merged in each form for a CPU, by rows of what it
// is merged with, so that tiles can do it.
!q = tensor<1x8x?x64xf32>
!kv = tensor<1x2x?x64xf32>
!l = tensor<1x8x?xf32>
// CHECK-LABEL: func.func @merged
// CHECK: %[[R:.*]]:2 = scf.if
// CHECK: attn.merge ins(%{{.*}}, %{{.*}}, %[[R]]#0, %[[R]]#1 :
// FEW-LABEL: func.func @merged
// FEW-SAME: %[[Q:[^:]*]]: tensor<1x8x?x64xf32>, %[[K:[^:]*]]: tensor<1x2x?x64xf32>, %[[O:[^:]*]]: tensor<1x8x?x64xf32>, %[[L:[^:]*]]: tensor<1x8x?xf32>
// FEW: %[[R:.*]]:2 = scf.if
// FEW: %[[STEP:.*]]:2 = attn.attention
// FEW-NEXT: %[[NEXT:.*]]:2 = attn.merge ins(%[[ROWS:[^,]*]], %[[SUMS:[^,]*]], %[[STEP]]#0, %[[STEP]]#1 : {{.*}}) outs(%[[ROWS]], %[[SUMS]] :
// FEW: tensor.insert_slice %[[NEXT]]#0 into %[[O]][0, 0, 0, 0] [1, 8, %{{.*}}, 64]
// FEW: tensor.insert_slice %[[NEXT]]#1 into %[[L]][0, 0, 0] [1, 8, %{{.*}}]
// FEW: } else {
// FEW: %[[MANY:.*]]:2 = attn.attention ins(%[[Q]],
// FEW-NEXT: attn.merge ins(%[[O]], %[[L]], %[[MANY]]#0, %[[MANY]]#1 : {{.*}}) outs(%[[O]], %[[L]] :
// FEW: }
// FEW-NOT: attn.merge
// FEW: return %[[R]]#0, %[[R]]#1
func.func @merged(%q: !q, %k: !kv, %o: !q, %l: !l) -> (!q, !l) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !q
  %e = tensor.empty(%n) : !q
  %f = tensor.empty(%n) : !l
  %r:2 = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%e, %f : !q, !l)
  %m:2 = attn.merge ins(%o, %l, %r#0, %r#1 : !q, !l, !q, !l) outs(%o, %l : !q, !l)
  return %m#0, %m#1 : !q, !l
}

// -----

// Of an op that says how many queries calls have, what some of these need: one
// form without a condition, or those that the range has parts of.
!q = tensor<1x2x?x64xf32>
// FEW-LABEL: func.func @one
// FEW-NOT: scf.if
// FEW: tensor.extract_slice {{.*}} [1, 2, 1, 64]
// FEW: attn.attention
// FEW-NOT: attn.queries
// FEW-NOT: attn.attention
// FEW: return
func.func @one(%q: !q) -> !q {
  %0 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.queries = array<i64: 1, 1>}
  return %0 : !q
}
// FEW-LABEL: func.func @few
// FEW-NOT: scf.if
// FEW: affine.min affine_map<()[s0] -> (s0, 16)>
// FEW: attn.attention
// FEW-NOT: attn.attention
// FEW: return
func.func @few(%q: !q) -> !q {
  %0 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.queries = array<i64: 2, 16>}
  return %0 : !q
}
// FEW-LABEL: func.func @many
// FEW-SAME: %[[Q:[^:]*]]: tensor
// FEW-NOT: scf.if
// FEW: attn.attention ins(%[[Q]], %[[Q]], %[[Q]]
// FEW-NOT: attn.attention
// FEW: return
func.func @many(%q: !q) -> !q {
  %0 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.queries = array<i64: 33, 9223372036854775807>}
  return %0 : !q
}
// FEW-LABEL: func.func @few_and_many
// FEW: scf.if
// FEW: affine.min affine_map<()[s0] -> (s0, 16)>
// FEW-COUNT-2: attn.attention
// FEW-NOT: attn.attention
// FEW: return
func.func @few_and_many(%q: !q) -> !q {
  %0 = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      {attn.queries = array<i64: 16, 17>}
  return %0 : !q
}

// -----

// Rows that ranks share are many: they have one form.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: scf.if
// FEW-LABEL: func.func @shared
// FEW-NOT: scf.if
// FEW: attn.attention
func.func @shared(%q: tensor<?x8x?x64xf16>, %k: tensor<?x8x?x64xf16>, %init: tensor<?x8x?x64xf16>)
    -> tensor<?x8x?x64xf16> {
  %o = attn.attention ins(%q, %k, %k : tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>)
      outs(%init : tensor<?x8x?x64xf16>) {attn.queries = array<i64: 9223372036854775807, 9223372036854775807>}
  return %o : tensor<?x8x?x64xf16>
}

// -----

// Floats of 8 bits are converted once for a tile of lanes, and once for each
// position of rows: there are no tiles of those.
// CHECK-LABEL: func.func @float8
// FEW-LABEL: func.func @float8
// FEW: affine.min affine_map<()[s0] -> (s0, 4)>
// FEW: affine.min affine_map<()[s0] -> (s0, 127)>
func.func @float8(%q: tensor<1x8x?x64xf32>, %keys: tensor<1x2x64x64xf8E4M3FN>,
                  %lengths: tensor<1xi32>) -> tensor<1x8x?x64xf32> {
  %k = attn.cache_read ins(%keys : tensor<1x2x64x64xf8E4M3FN>) lengths(%lengths : tensor<1xi32>)
      -> tensor<1x2x64x64xf32>
  %r = attn.attention ins(%q, %k, %k : tensor<1x8x?x64xf32>, tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>)
      outs(%q : tensor<1x8x?x64xf32>)
  return %r : tensor<1x8x?x64xf32>
}
