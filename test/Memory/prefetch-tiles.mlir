// RUN: attn-opt %s -allow-unregistered-dialect -attn-prefetch-tiles -canonicalize -mlir-print-local-scope | FileCheck %s

// A row of 32 floats has two cache lines. The last tile has nothing after it.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:[^:]*]]: memref<4x100x32xf32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C10:.*]] = arith.constant 10 : index
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[C100:.*]] = arith.constant 100 : index
// CHECK: scf.forall (%[[B:.*]], %[[I:.*]]) = (0, 0) to (4, 100) step (1, 10)
// CHECK: memref.subview %[[X]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[I]], %[[C10]]
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %{{.*}}
// CHECK: %[[LAST:.*]] = arith.minsi %[[NEXT]], %[[C100]]
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[LAST]] step %[[C1]]
// CHECK: memref.prefetch %[[X]][%[[B]], %[[ROW]], %[[C0]]], read, locality<2>, data
// CHECK: memref.prefetch %[[X]][%[[B]], %[[ROW]], %[[C16]]], read, locality<2>, data
// CHECK-NOT: memref.prefetch
func.func @rows(%x: memref<4x100x32xf32>) {
  scf.forall (%b, %i) = (0, 0) to (4, 100) step (1, 10) {
    %t = memref.subview %x[%b, %i, 0] [1, 10, 32] [1, 1, 1]
        : memref<4x100x32xf32> to memref<10x32xf32, strided<[32, 1], offset: ?>>
    "test.use"(%t) : (memref<10x32xf32, strided<[32, 1], offset: ?>>) -> ()
  }
  return
}

// Not what stays where it is, nor columns, nor rows with gaps between elements.
// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.prefetch
func.func @others(%x: memref<4x100x32xf32>,
                  %gaps: memref<100x32xf32, strided<[?, ?]>>) {
  scf.forall (%b, %i) = (0, 0) to (4, 10) step (1, 1) {
    %t = memref.subview %x[%b, 0, 0] [1, 10, 32] [1, 1, 1]
        : memref<4x100x32xf32> to memref<10x32xf32, strided<[32, 1], offset: ?>>
    %u = memref.subview %x[0, 0, %i] [1, 10, 1] [1, 1, 1]
        : memref<4x100x32xf32> to memref<10x1xf32, strided<[32, 1], offset: ?>>
    %v = memref.subview %gaps[%i, 0] [1, 32] [1, 1]
        : memref<100x32xf32, strided<[?, ?]>> to memref<1x32xf32, strided<[?, ?], offset: ?>>
    "test.use"(%t, %u, %v)
        : (memref<10x32xf32, strided<[32, 1], offset: ?>>,
           memref<10x1xf32, strided<[32, 1], offset: ?>>,
           memref<1x32xf32, strided<[?, ?], offset: ?>>) -> ()
  }
  return
}

// A tile of 16 queries sees 40 keys. Of 5 blocks of 8 keys, each prefetches 2 of
// the 8 rows of a pack of values, 4 of the 16 keys that come after the range, and
// 4 of the next queries, before and after the softmax.
// CHECK-LABEL: func.func @keys
// CHECK-SAME: %[[Q:[^:]*]]: memref<160x32xf32>, %[[K:[^:]*]]: memref<200x32xf32>, %[[V:[^:]*]]: memref<20x8x16xf32>
// CHECK: scf.forall (%[[I:.*]]) =
// CHECK: %[[FIRST:.*]] = memref.load
// CHECK-NOT: memref.prefetch
// CHECK: %[[DISTANCE_AT:.*]] = affine.apply affine_map<()[s0, s1] -> (s0 - s1 + 24)>()[%[[FIRST]], %[[I]]]
// CHECK: %[[AHEAD:.*]] = arith.andi %[[DISTANCE_AT]], %{{.*}} : index
// CHECK: %[[BEGIN:.*]] = affine.apply affine_map<()[s0, s1] -> (s0 + s1 + 40)>()[%[[FIRST]], %[[AHEAD]]]
// CHECK: %[[END:.*]] = arith.addi %[[BEGIN]], %{{.*}}
// CHECK: %[[FROM:.*]] = arith.maxsi %[[BEGIN]], %{{.*}}
// CHECK: %[[TO:.*]] = arith.minsi %[[END]], %{{.*}}
// CHECK: %[[PACK:.*]] = arith.maxsi
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %[[C8:.*]] {
// CHECK:   %[[DONE_Q:.*]] = arith.muli %{{.*}}, %c4
// CHECK:   %[[AT_Q:.*]] = arith.addi %{{.*}}, %[[DONE_Q]]
// CHECK:   %[[DONE_K:.*]] = arith.muli %{{.*}}, %c4
// CHECK:   %[[AT_K:.*]] = arith.addi %[[FROM]], %[[DONE_K]]
// CHECK:   arith.minsi %{{.*}}, %[[TO]]
// CHECK:   %[[BLOCK:.*]] = arith.divui %[[J]], %[[C8]]
// CHECK:   %[[DONE:.*]] = arith.muli %[[BLOCK]], %c2
// CHECK:   "test.use"
// CHECK:   scf.for %[[ROW:.*]] = %[[AT_Q]]
// CHECK-NEXT: memref.prefetch %[[Q]][%[[ROW]], %c0]
// CHECK-NEXT: memref.prefetch %[[Q]][%[[ROW]], %c16]
// CHECK-NEXT: }
// CHECK:   attn.online_softmax
// CHECK:   scf.for %[[ROW:.*]] = %[[AT_K]]
// CHECK-NEXT: memref.prefetch %[[K]][%[[ROW]], %c0]
// CHECK-NEXT: memref.prefetch %[[K]][%[[ROW]], %c16]
// CHECK-NEXT: }
// CHECK:   scf.for %[[ROW:.*]] = %[[DONE]] to
// CHECK-NEXT: memref.prefetch %[[V]][%[[PACK]], %[[ROW]], %{{.*}}]
// CHECK-NEXT: }
func.func @keys(%q: memref<160x32xf32>, %k: memref<200x32xf32>,
                %v: memref<20x8x16xf32>, %begins: memref<160xindex>,
                %p: memref<16x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>,
                %c: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %false = arith.constant false
  %true = arith.constant true
  scf.forall (%i) = (0) to (160) step (16) {
    %t = memref.subview %q[%i, 0] [16, 32] [1, 1]
        : memref<160x32xf32> to memref<16x32xf32, strided<[32, 1], offset: ?>>
    %first = memref.load %begins[%i] : memref<160xindex>
    %keys = memref.subview %k[%first, 0] [40, 32] [1, 1]
        : memref<200x32xf32> to memref<40x32xf32, strided<[32, 1], offset: ?>>
    %number = arith.divui %first, %c16 : index
    %packs = memref.subview %v[%number, 0, 0] [3, 8, 16] [1, 1, 1]
        : memref<20x8x16xf32> to memref<3x8x16xf32, strided<[128, 16, 1], offset: ?>>
    scf.for %j = %c0 to %c40 step %c8 {
      %block = memref.subview %keys[%j, 0] [8, 32] [1, 1]
          : memref<40x32xf32, strided<[32, 1], offset: ?>>
          to memref<8x32xf32, strided<[32, 1], offset: ?>>
      %pack = arith.divui %j, %c16 : index
      %values = memref.subview %packs[%pack, 0, 0] [1, 8, 16] [1, 1, 1]
          : memref<3x8x16xf32, strided<[128, 16, 1], offset: ?>>
          to memref<1x8x16xf32, strided<[128, 16, 1], offset: ?>>
      "test.use"(%t, %block, %values)
          : (memref<16x32xf32, strided<[32, 1], offset: ?>>,
             memref<8x32xf32, strided<[32, 1], offset: ?>>,
             memref<1x8x16xf32, strided<[128, 16, 1], offset: ?>>) -> ()
      attn.online_softmax
          outs(%p, %m, %l, %c : memref<16x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
          at(%c0, %c0, %i, %j) queries(%c16) keys(%c8) partial(%false)
          defined(%true) exact(%false)
    }
  }
  return
}

// Each tensor between other steps of a block: before the softmax, after it, before
// the correction of the output, and first of all. A block that is skipped fetches
// its share at once.
// CHECK-LABEL: func.func @steps
// CHECK-SAME: %[[Q:[^:]*]]: memref<160x16xf32>, %[[O:[^:]*]]: memref<160x16xf32>, %[[K:[^:]*]]: memref<200x16xf32>, %[[V:[^:]*]]: memref<20x8x16xf32>
// CHECK: scf.for
// CHECK: memref.prefetch %[[V]]
// CHECK: scf.if
// CHECK: memref.prefetch %[[Q]]
// CHECK: memref.prefetch %[[O]]
// CHECK: memref.prefetch %[[K]]
// CHECK: } else {
// CHECK: "test.use"
// CHECK: memref.prefetch %[[Q]]
// CHECK: attn.online_softmax
// CHECK: memref.prefetch %[[O]]
// CHECK: "test.convert"
// CHECK: memref.prefetch %[[K]]
// CHECK: linalg.fill
// CHECK: linalg.fill
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @steps(%q: memref<160x16xf32>, %o: memref<160x16xf32>,
                 %k: memref<200x16xf32>, %v: memref<20x8x16xf32>,
                 %begins: memref<160xindex>, %skips: memref<160xi1>,
                 %p: memref<16x16xf32>, %m: memref<16xf32>,
                 %l: memref<16xf32>, %c: memref<16xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %false = arith.constant false
  %true = arith.constant true
  scf.forall (%i) = (0) to (160) step (16) {
    %t = memref.subview %q[%i, 0] [16, 16] [1, 1]
        : memref<160x16xf32> to memref<16x16xf32, strided<[16, 1], offset: ?>>
    %u = memref.subview %o[%i, 0] [16, 16] [1, 1]
        : memref<160x16xf32> to memref<16x16xf32, strided<[16, 1], offset: ?>>
    %first = memref.load %begins[%i] : memref<160xindex>
    %keys = memref.subview %k[%first, 0] [40, 16] [1, 1]
        : memref<200x16xf32> to memref<40x16xf32, strided<[16, 1], offset: ?>>
    %number = arith.divui %first, %c16 : index
    %packs = memref.subview %v[%number, 0, 0] [3, 8, 16] [1, 1, 1]
        : memref<20x8x16xf32> to memref<3x8x16xf32, strided<[128, 16, 1], offset: ?>>
    scf.for %j = %c0 to %c40 step %c8 {
      %block = memref.subview %keys[%j, 0] [8, 16] [1, 1]
          : memref<40x16xf32, strided<[16, 1], offset: ?>>
          to memref<8x16xf32, strided<[16, 1], offset: ?>>
      %pack = arith.divui %j, %c16 : index
      %values = memref.subview %packs[%pack, 0, 0] [1, 8, 16] [1, 1, 1]
          : memref<3x8x16xf32, strided<[128, 16, 1], offset: ?>>
          to memref<1x8x16xf32, strided<[128, 16, 1], offset: ?>>
      %skip = memref.load %skips[%j] : memref<160xi1>
      scf.if %skip {
      } else {
        "test.use"(%t, %u, %block, %values)
            : (memref<16x16xf32, strided<[16, 1], offset: ?>>,
               memref<16x16xf32, strided<[16, 1], offset: ?>>,
               memref<8x16xf32, strided<[16, 1], offset: ?>>,
               memref<1x8x16xf32, strided<[128, 16, 1], offset: ?>>) -> ()
        attn.online_softmax
            outs(%p, %m, %l, %c : memref<16x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
            at(%c0, %c0, %i, %j) queries(%c16) keys(%c8) partial(%false)
            defined(%true) exact(%false)
        "test.convert"(%p) : (memref<16x16xf32>) -> ()
        linalg.fill ins(%x : f32) outs(%m : memref<16xf32>)
        linalg.fill ins(%x : f32) outs(%p : memref<16x16xf32>)
      }
    }
  }
  return
}

// In pairs, some of each before the softmax and some before the product with values:
// 5 blocks have 2 of the 16 rows before each. Rows that are written are fetched again
// when all blocks are done, those of this tile, into the first-level cache.
// CHECK-LABEL: func.func @pairs
// CHECK-SAME: %[[Q:[^:]*]]: memref<160x16xf32>, %[[O:[^:]*]]: memref<160x16xf32>
// CHECK: scf.forall (%[[I:.*]]) =
// CHECK: scf.for
// CHECK: %[[BEFORE:.*]] = arith.muli %{{.*}}, %c4
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c2
// CHECK: %[[MIDDLE:.*]] = arith.minsi %[[NEXT]], %[[END:.*]] : index
// CHECK: %[[AFTER:.*]] = arith.addi %[[FIRST]], %c4
// CHECK: %[[LAST:.*]] = arith.minsi %[[AFTER]], %[[END]] : index
// CHECK-NOT: memref.prefetch
// CHECK: "test.use"
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[MIDDLE]] step
// CHECK: memref.prefetch %[[Q]][%[[ROW]],
// CHECK: memref.prefetch %[[O]]
// CHECK: attn.online_softmax
// CHECK: scf.for %[[ROW:.*]] = %[[NEXT]] to %[[LAST]] step
// CHECK: memref.prefetch %[[Q]][%[[ROW]],
// CHECK: memref.prefetch %[[O]]
// CHECK: linalg.generic
// CHECK-NOT: memref.prefetch
// CHECK: %[[ALL:.*]] = arith.addi %[[I]], %c16
// CHECK: scf.for %[[ROW:.*]] = %[[I]] to %[[ALL]] step
// CHECK-NEXT: memref.prefetch %[[O]][%[[ROW]], %{{.*}}], write, locality<3>
// CHECK-NOT: memref.prefetch
// CHECK: linalg.copy
// CHECK: return
func.func @pairs(%q: memref<160x16xf32>, %o: memref<160x16xf32>,
                 %keys: memref<40x16xf32>, %values: memref<16x16x2xbf16>,
                 %weights: memref<16x16x2xbf16>, %p: memref<16x16xf32>,
                 %m: memref<16xf32>, %l: memref<16xf32>, %c: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %false = arith.constant false
  %true = arith.constant true
  scf.forall (%i) = (0) to (160) step (16) {
    %t = memref.subview %q[%i, 0] [16, 16] [1, 1]
        : memref<160x16xf32> to memref<16x16xf32, strided<[16, 1], offset: ?>>
    %u = memref.subview %o[%i, 0] [16, 16] [1, 1]
        : memref<160x16xf32> to memref<16x16xf32, strided<[16, 1], offset: ?>>
    scf.for %j = %c0 to %c40 step %c8 {
      "test.use"(%t, %u)
          : (memref<16x16xf32, strided<[16, 1], offset: ?>>,
             memref<16x16xf32, strided<[16, 1], offset: ?>>) -> ()
      attn.online_softmax
          outs(%p, %m, %l, %c : memref<16x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
          at(%c0, %c0, %i, %j) queries(%c16) keys(%c8) partial(%false)
          defined(%true) exact(%false)
      linalg.generic {indexing_maps = [affine_map<(m, n, k, e) -> (m, k, e)>,
                                       affine_map<(m, n, k, e) -> (k, n, e)>,
                                       affine_map<(m, n, k, e) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
          ins(%values, %weights : memref<16x16x2xbf16>, memref<16x16x2xbf16>)
          outs(%p : memref<16x16xf32>) {
      ^bb0(%x: bf16, %y: bf16, %sum: f32):
        %0 = arith.extf %x : bf16 to f32
        %1 = arith.extf %y : bf16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %sum, %2 : f32
        linalg.yield %3 : f32
      }
    }
    linalg.copy ins(%p : memref<16x16xf32>)
        outs(%u : memref<16x16xf32, strided<[16, 1], offset: ?>>)
  }
  return
}

// Element-wise operations read rows in order.
// CHECK-LABEL: func.func @in_order
// CHECK-NOT: memref.prefetch
func.func @in_order(%x: memref<100x32xf32>, %y: memref<100x32xf32>) {
  scf.forall (%i) = (0) to (100) step (10) {
    %t = memref.subview %x[%i, 0] [10, 32] [1, 1]
        : memref<100x32xf32> to memref<10x32xf32, strided<[32, 1], offset: ?>>
    %u = memref.subview %y[%i, 0] [10, 32] [1, 1]
        : memref<100x32xf32> to memref<10x32xf32, strided<[32, 1], offset: ?>>
    linalg.exp ins(%t : memref<10x32xf32, strided<[32, 1], offset: ?>>)
        outs(%u : memref<10x32xf32, strided<[32, 1], offset: ?>>)
  }
  return
}

// Packs: an iteration fetches the rows that the next one transposes, once, if there
// are any.
// CHECK-LABEL: func.func @packs
// CHECK-SAME: %[[V:[^:]*]]: memref<2x100x32xf32>
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[C100:.*]] = arith.constant 100 : index
// CHECK: scf.forall (%[[H:.*]], %[[I:.*]]) in (2, 7)
// CHECK: %[[HERE:.*]] = affine.apply affine_map<(d0) -> (d0 * 16)>(%[[I]])
// CHECK: %[[FIRST:.*]] = arith.addi %[[HERE]], %[[C16]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[HERE]], %c32
// CHECK: %[[LAST:.*]] = arith.minsi %[[AFTER]], %[[C100]]
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[LAST]] step
// CHECK: memref.prefetch %[[V]][%[[H]], %[[ROW]], %c0]
// CHECK: memref.prefetch %[[V]][%[[H]], %[[ROW]], %{{.*}}]
// CHECK: scf.if
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @packs(%v: memref<2x100x32xf32>, %whole: i1, %pack: memref<32x16xf32>) {
  scf.forall (%h, %i) in (2, 7) {
    %row = affine.apply affine_map<(i) -> (i * 16)>(%i)
    scf.if %whole {
      %t = memref.subview %v[%h, %row, 0] [1, 16, 32] [1, 1, 1]
          : memref<2x100x32xf32> to memref<16x32xf32, strided<[32, 1], offset: ?>>
      linalg.transpose ins(%t : memref<16x32xf32, strided<[32, 1], offset: ?>>)
          outs(%pack : memref<32x16xf32>) permutation = [1, 0]
    } else {
      %t = memref.subview %v[%h, %row, 0] [1, 4, 32] [1, 1, 1]
          : memref<2x100x32xf32> to memref<4x32xf32, strided<[32, 1], offset: ?>>
      "test.use"(%t) : (memref<4x32xf32, strided<[32, 1], offset: ?>>) -> ()
    }
  }
  return
}

// All tiles of a head see the keys from the first on: each fetches as many of the
// next head as it has queries, if heads are short. The last head has no next.
// CHECK-LABEL: func.func @heads
// CHECK-SAME: %[[Q:[^:]*]]: memref<1x8x?x16xf32>, %[[K:[^:]*]]: memref<1x8x?x16xf32>
// CHECK: %[[N:.*]] = memref.dim %[[K]]
// CHECK: scf.forall (%[[H:.*]], %[[I:.*]]) =
// CHECK: %[[NEXT:.*]] = arith.addi %[[H]], %c1
// CHECK-DAG: %[[EXISTS:.*]] = arith.cmpi slt, %[[NEXT]], %c8
// CHECK-DAG: %[[SHORT:.*]] = arith.cmpi sle, %[[N]], %c1024
// CHECK: %[[AFTER:.*]] = arith.addi %[[I]], %c16
// CHECK: %[[END:.*]] = arith.minsi %[[AFTER]], %[[N]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[EXISTS]], %[[SHORT]]
// CHECK: %[[LAST:.*]] = arith.select %[[BOTH]], %[[END]], %[[I]]
// CHECK: scf.for
// CHECK: arith.minsi %{{.*}}, %[[LAST]]
// CHECK: memref.prefetch %[[Q]]
// CHECK: attn.online_softmax
// CHECK: memref.prefetch %[[K]][%c0, %[[NEXT]],
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @heads(%q: memref<1x8x?x16xf32>, %k: memref<1x8x?x16xf32>,
                 %p: memref<16x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>,
                 %c: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %false = arith.constant false
  %true = arith.constant true
  %n = memref.dim %k, %c2 : memref<1x8x?x16xf32>
  scf.forall (%h, %i) = (0, 0) to (8, 160) step (1, 16) {
    %t = memref.subview %q[0, %h, %i, 0] [1, 1, 16, 16] [1, 1, 1, 1]
        : memref<1x8x?x16xf32> to memref<16x16xf32, strided<[16, 1], offset: ?>>
    %keys = memref.subview %k[0, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
        : memref<1x8x?x16xf32> to memref<?x16xf32, strided<[16, 1], offset: ?>>
    scf.for %j = %c0 to %n step %c8 {
      %block = memref.subview %keys[%j, 0] [8, 16] [1, 1]
          : memref<?x16xf32, strided<[16, 1], offset: ?>>
          to memref<8x16xf32, strided<[16, 1], offset: ?>>
      "test.use"(%t, %block)
          : (memref<16x16xf32, strided<[16, 1], offset: ?>>,
             memref<8x16xf32, strided<[16, 1], offset: ?>>) -> ()
      attn.online_softmax
          outs(%p, %m, %l, %c : memref<16x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
          at(%c0, %h, %i, %j) queries(%c16) keys(%c8) partial(%false)
          defined(%true) exact(%false)
    }
  }
  return
}
