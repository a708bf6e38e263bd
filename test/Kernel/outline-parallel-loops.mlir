// RUN: attn-opt %s -split-input-file -attn-outline-parallel-loops -canonicalize \
// RUN:   | FileCheck %s
// RUN: attn-opt %s -split-input-file -attn-outline-parallel-loops \
// RUN:   -convert-scf-to-cf -convert-to-runtime-calls -expand-strided-metadata \
// RUN:   -finalize-memref-to-llvm -convert-arith-to-llvm -convert-vector-to-llvm \
// RUN:   -convert-cf-to-llvm -convert-func-to-llvm -reconcile-unrealized-casts \
// RUN:   | FileCheck %s --check-prefix=LLVM

// Nothing is left between the parallel loop and LLVM.
// LLVM-NOT: unrealized_conversion_cast

// A buffer and a scalar are passed on, a constant is copied.

// CHECK-DAG: llvm.func @attn_rt_parallel_ranges(!llvm.ptr, !llvm.ptr, i64)
// CHECK-DAG: llvm.func @attn_rt_next_range(!llvm.ptr) -> !llvm.ptr
// CHECK-LABEL: func.func @rank_1(
// CHECK-SAME: %[[BUFFER:.*]]: memref<?xf32, strided<[?]>>, %[[VALUE:.*]]: f32, %[[N:.*]]: index)
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[FUNCTION:.*]] = constant @rank_1_parallel_0
// CHECK: %[[CONTEXT:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(f32, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>
// CHECK: %[[COUNT:.*]] = arith.maxsi %[[N]], %[[ZERO]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr inbounds %[[CONTEXT]][0, 0]
// CHECK: llvm.store %[[VALUE]], %[[FIELD]]
// CHECK: %[[DESCRIPTOR:.*]] = builtin.unrealized_conversion_cast %[[BUFFER]]
// CHECK: llvm.store %[[DESCRIPTOR]]
// CHECK: %[[COUNT64:.*]] = arith.index_cast %[[COUNT]] : index to i64
// CHECK: %[[ADDRESS:.*]] = builtin.unrealized_conversion_cast %[[FUNCTION]]
// CHECK: llvm.call @attn_rt_parallel_ranges(%[[ADDRESS]], %[[CONTEXT]], %[[COUNT64]])
// CHECK-NEXT: return

// CHECK-LABEL: func.func private @rank_1_parallel_0(
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[START:.*]]: !llvm.ptr)
// CHECK-DAG: %[[NULL:.*]] = llvm.mlir.zero
// CHECK-DAG: %[[CONSTANT:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-DAG: %[[FROM:.*]] = llvm.getelementptr inbounds %[[CONTEXT]][0, 0]
// CHECK-DAG: %[[VALUE:.*]] = llvm.load %[[FROM]] : !llvm.ptr -> f32
// CHECK-DAG: %[[BUFFER:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<?xf32, strided<[?]>>
// CHECK: scf.while (%[[RANGE:.*]] = %[[START]])
// CHECK: %[[BEGIN:.*]] = llvm.load %[[RANGE]] : !llvm.ptr -> i64
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[BEGIN]]
// CHECK: %[[SECOND:.*]] = llvm.getelementptr inbounds %[[RANGE]][1]
// CHECK: %[[END:.*]] = llvm.load %[[SECOND]] : !llvm.ptr -> i64
// CHECK: %[[LAST:.*]] = arith.index_cast %[[END]]
// CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK: %[[SUM:.*]] = arith.addf %[[VALUE]], %[[CONSTANT]]
// CHECK: memref.store %[[SUM]], %[[BUFFER]][%[[I]]]
// CHECK: }
// CHECK: %[[NEXT:.*]] = llvm.call @attn_rt_next_range(%[[RANGE]])
// CHECK: %[[MORE:.*]] = llvm.icmp "ne" %[[NEXT]], %[[NULL]]
// CHECK: scf.condition(%[[MORE]]) %[[NEXT]]
func.func @rank_1(%buffer: memref<?xf32, strided<[?]>>, %value: f32, %n: index) {
  %constant = arith.constant 2.0 : f32
  scf.forall (%i) in (%n) {
    %sum = arith.addf %value, %constant : f32
    memref.store %sum, %buffer[%i] : memref<?xf32, strided<[?]>>
  }
  return
}

// -----

// Bounds and steps of all kinds. The last dimension is the fastest.

// CHECK-LABEL: func.func @rank_3(
// CHECK-SAME: %[[N:[^:]*]]: index, %[[M:[^:]*]]: index)
// (n - 1 + 1) / 2 rounded up, times (m - n + 2) / 3, times 8.
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
// CHECK: %[[MAX0:.*]] = arith.maxsi %{{.*}}, %[[ZERO]]
// CHECK: %[[UP0:.*]] = arith.addi %[[MAX0]], %[[C1]]
// CHECK: %[[SIZE0:.*]] = arith.divui %[[UP0]], %[[C2]]
// CHECK: %[[RANGE1:.*]] = arith.subi %[[M]], %[[N]]
// CHECK: %[[MAX1:.*]] = arith.maxsi %[[RANGE1]], %[[ZERO]]
// CHECK: %[[UP1:.*]] = arith.addi %[[MAX1]], %[[C2]]
// CHECK: %[[SIZE1:.*]] = arith.divui %[[UP1]], %[[C3]]
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[SIZE0]], %[[SIZE1]]
// CHECK: %[[TOTAL:.*]] = arith.muli %[[PRODUCT]], %[[C8]]
// CHECK: arith.index_cast %[[TOTAL]]

// CHECK-LABEL: func.func private @rank_3_parallel_0(
// CHECK: scf.for %[[I:.*]] = %
// CHECK: %[[K:.*]] = arith.remui %[[I]], %{{.*}}
// CHECK: %[[REST:.*]] = arith.divui %[[I]], %{{.*}}
// CHECK: %[[K8:.*]] = arith.muli %[[K]], %{{.*}}
// CHECK: %[[J:.*]] = arith.remui %[[REST]], %[[SIZE1:.*]]
// CHECK: %[[H:.*]] = arith.divui %[[REST]], %[[SIZE1]]
// CHECK: %[[J3:.*]] = arith.muli %[[J]], %{{.*}}
// CHECK: %[[JN:.*]] = arith.addi %{{.*}}, %[[J3]]
// CHECK: %[[H2:.*]] = arith.muli %[[H]], %{{.*}}
// CHECK: %[[H1:.*]] = arith.addi %[[H2]], %{{.*}}
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[H1]], %[[JN]], %[[K8]]]
func.func @rank_3(%buffer: memref<?x?x64xf32, strided<[?, ?, 1]>>,
                  %value: vector<4xf32>, %n: index, %m: index) {
  scf.forall (%h, %j, %k) = (1, %n, 0) to (%n, %m, 64) step (2, 3, 8) {
    %element = vector.extract %value[1] : f32 from vector<4xf32>
    memref.store %element, %buffer[%h, %j, %k]
        : memref<?x?x64xf32, strided<[?, ?, 1]>>
  }
  return
}

// -----

// Two loops, one of them in a loop: what they are passed is not allocated there.

// CHECK-LABEL: func.func @two(
// CHECK-DAG: %[[FIRST:.*]] = llvm.alloca
// CHECK-DAG: %[[SECOND:.*]] = llvm.alloca
// CHECK-DAG: %[[F0:.*]] = constant @two_parallel_0
// CHECK-DAG: %[[F1:.*]] = constant @two_parallel_1
// CHECK: %[[A0:.*]] = builtin.unrealized_conversion_cast %[[F0]]
// CHECK: llvm.call @attn_rt_parallel_ranges(%[[A0]], %[[FIRST]],
// CHECK: scf.for
// CHECK-NOT: llvm.alloca
// CHECK: %[[A1:.*]] = builtin.unrealized_conversion_cast %[[F1]]
// CHECK: llvm.call @attn_rt_parallel_ranges(%[[A1]], %[[SECOND]],
// CHECK: func.func private @two_parallel_0(
// CHECK: func.func private @two_parallel_1(
func.func @two(%buffer: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (%n) {
    memref.store %i, %buffer[%i] : memref<?xindex>
  }
  scf.for %j = %c0 to %n step %c1 {
    scf.forall (%i) in (%n) {
      memref.store %j, %buffer[%i] : memref<?xindex>
    }
  }
  return
}

// -----

// No iterations, and nothing to pass.

// CHECK-LABEL: func.func @empty(
// CHECK: %[[NOTHING:.*]] = llvm.mlir.zero
// CHECK: llvm.call @attn_rt_parallel_ranges(%{{.*}}, %[[NOTHING]], %c0
// CHECK-LABEL: func.func private @empty_parallel_0(
func.func @empty() {
  scf.forall (%i, %j) in (0, 7) {
    %scratch = memref.alloca() : memref<1xindex>
    %c0 = arith.constant 0 : index
    memref.store %i, %scratch[%c0] : memref<1xindex>
  }
  return
}

// -----

// What is kept is allocated for all ranges of a thread, of any size that is known
// before, and what is stored into it at first is stored once.

// CHECK-LABEL: func.func private @kept_parallel_0(
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[NONE:.*]] = arith.constant -1 : index
// CHECK: %[[RING:.*]] = memref.alloc(%[[SIZE:.*]]) {attn.kept}
// CHECK: %[[STATE:.*]] = memref.alloc() {attn.kept}
// CHECK: memref.store %[[NONE]], %[[STATE]][%[[ZERO]]]
// CHECK: scf.while
// CHECK: scf.for %[[I:.*]] =
// CHECK-NOT: memref.store %[[NONE]]
// CHECK: %[[LAST:.*]] = memref.load %[[STATE]][%[[ZERO]]]
// CHECK: memref.store %[[LAST]], %[[RING]][%[[I]]]
// CHECK: memref.copy %[[RING]]
// CHECK: memref.store %[[I]], %[[STATE]][%[[ZERO]]]
// CHECK: memref.alloc(%[[I]])
// CHECK: memref.dealloc
// CHECK: }
// CHECK: scf.condition
// CHECK: }
// CHECK-DAG: memref.dealloc %[[STATE]]
// CHECK-DAG: memref.dealloc %[[RING]]
// CHECK: return
func.func @kept(%out: memref<?xindex>, %n: index) {
  scf.forall (%i) in (%n) {
    %ring = memref.alloc(%n) {attn.kept} : memref<?xindex>
    %state = memref.alloc() {attn.kept} : memref<1xindex>
    %c0 = arith.constant 0 : index
    %none = arith.constant -1 : index
    memref.store %none, %state[%c0] : memref<1xindex>
    %last = memref.load %state[%c0] : memref<1xindex>
    memref.store %last, %ring[%i] : memref<?xindex>
    memref.copy %ring, %out : memref<?xindex> to memref<?xindex>
    memref.store %i, %state[%c0] : memref<1xindex>
    %other = memref.alloc(%i) : memref<?xindex>
    memref.copy %out, %other : memref<?xindex> to memref<?xindex>
    memref.copy %other, %out : memref<?xindex> to memref<?xindex>
    memref.dealloc %other : memref<?xindex>
    memref.dealloc %state : memref<1xindex>
    memref.dealloc %ring : memref<?xindex>
  }
  return
}

// -----

// An inner loop runs in order. Scratch memory is allocated once for a thread, also
// where it is for an iteration of a loop in order.

// CHECK-LABEL: func.func private @nested_parallel_0(
// CHECK: %[[OUTER:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK: %[[INNER:.*]] = memref.alloc() : memref<4xf32>
// CHECK: scf.while
// CHECK: scf.for
// CHECK: %[[DYNAMIC:.*]] = memref.alloc(%{{.*}})
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[OUTER]]
// CHECK: memref.store %{{.*}}, %[[INNER]]
// CHECK: memref.dealloc %[[DYNAMIC]]
// CHECK: }
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: memref.dealloc %[[INNER]] : memref<4xf32>
// CHECK-NEXT: memref.dealloc %[[OUTER]] : memref<8xf32>
// CHECK-NEXT: return
// CHECK-NOT: attn_rt_parallel_ranges
func.func @nested(%buffer: memref<?xf32>, %value: f32, %n: index) {
  scf.forall (%i) in (%n) {
    %outer = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
    %dynamic = memref.alloc(%i) : memref<?xf32>
    memref.store %value, %dynamic[%i] : memref<?xf32>
    %last = memref.load %dynamic[%i] : memref<?xf32>
    scf.forall (%j) in (4) {
      %inner = memref.alloc() : memref<4xf32>
      memref.store %last, %outer[%j] : memref<8xf32>
      memref.store %value, %inner[%j] : memref<4xf32>
      %a = memref.load %outer[%j] : memref<8xf32>
      %b = memref.load %inner[%j] : memref<4xf32>
      %sum = arith.addf %a, %b : f32
      memref.store %sum, %buffer[%i] : memref<?xf32>
      memref.dealloc %inner : memref<4xf32>
    }
    memref.dealloc %dynamic : memref<?xf32>
    memref.dealloc %outer : memref<8xf32>
  }
  return
}
