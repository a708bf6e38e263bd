// RUN: attn-opt %s -allow-unregistered-dialect -attn-pack-in-tiles -canonicalize -mlir-print-local-scope \
// RUN:   -verify-diagnostics | FileCheck %s

!head = memref<64x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
!some = memref<?x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
!pack = memref<64x32xbf16, strided<[32, 1], offset: ?>>
!rows = memref<32x64xbf16, strided<[64, 1], offset: ?>>

// A tile packs what its window has and the tile's before it had not. The ring has
// room for twice as many packs as it sees, at least 32, at most 64, and one more,
// because blocks of two packs go on where the ring ends. Lines of a pack that were
// fetched become rows; packs of other heads, which are none now, are not fetched.
// Where it packs several, the rows of the next one are fetched.
// CHECK-LABEL: func.func @window
// CHECK-SAME: %[[V:[^:]*]]: memref<2x8x2048x64xbf16>, %[[FIRSTS:[^:]*]]: memref<64xindex>
// CHECK-NOT: memref.alloc
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (2, 8, 64)
// CHECK: %[[FIRST:.*]] = memref.load %[[FIRSTS]][%[[I]]]
// CHECK: %[[NUMBER:.*]] = affine.apply affine_map<()[s0] -> (s0 floordiv 32)>()[%[[FIRST]]]
// CHECK: %[[RING:.*]] = memref.alloc() {alignment = 64 : i64, attn.kept} : memref<65x64x32xbf16>
// CHECK: %[[STATE:.*]] = memref.alloc() {attn.kept} : memref<5xindex>
// CHECK-NEXT: memref.store %c-1, %[[STATE]][%c4]
// CHECK: %[[END:.*]] = arith.addi %[[NUMBER]], %c9
// CHECK: %[[CAPACITY:.*]] = memref.load %[[STATE]][%c4]
// CHECK: %[[LOW:.*]] = memref.load %[[STATE]][%c2]
// CHECK: %[[HIGH:.*]] = memref.load %[[STATE]][%c3]
// CHECK: arith.cmpi sge, %[[CAPACITY]], %c9
// CHECK: %[[BATCH:.*]] = memref.load %[[STATE]][%c0]
// CHECK: arith.cmpi eq, %[[BATCH]], %[[B]]
// CHECK: memref.store %[[B]], %[[STATE]][%c0]
// CHECK: %[[HEAD:.*]] = memref.load %[[STATE]][%c1]
// CHECK: arith.cmpi eq, %[[HEAD]], %[[H]]
// CHECK: memref.store %[[H]], %[[STATE]][%c1]
// CHECK: arith.cmpi sle, %[[NUMBER]], %[[HIGH]]
// CHECK: arith.cmpi sle, %[[LOW]], %[[END]]
// CHECK: %[[ROOM:.*]] = arith.select %[[VALID:.*]], %[[CAPACITY]], %c32
// CHECK: arith.select %[[VALID]], %[[LOW]], %[[NUMBER]]
// CHECK: arith.select %[[VALID]], %[[HIGH]], %[[NUMBER]]
// CHECK: memref.store %{{.*}}, %[[STATE]][%c2]
// CHECK: memref.store %{{.*}}, %[[STATE]][%c3]
// CHECK: memref.store %[[ROOM]], %[[STATE]][%c4]
// CHECK: %[[START:.*]] = arith.remui %[[NUMBER]], %[[ROOM]]
// CHECK: scf.for %[[P:.*]] = %{{.*}} to %[[LAST:.*]] step %c1 {
// CHECK:   %[[NEXT:.*]] = arith.addi %[[P]], %c1
// CHECK:   %[[AFTER:.*]] = arith.addi %[[P]], %c2
// CHECK:   %[[LIMIT:.*]] = arith.minsi %[[AFTER]], %[[LAST]]
// CHECK:   %[[ROWS:.*]] = arith.muli %[[LIMIT]], %c32
// CHECK:   %[[END_ROW:.*]] = arith.minsi %[[ROWS]], %c2048
// CHECK:   %[[NEXT_ROW:.*]] = arith.muli %[[NEXT]], %c32
// CHECK:   scf.for %[[ROW:.*]] = %[[NEXT_ROW]] to %[[END_ROW]] step %c1 {
// CHECK-NEXT: memref.prefetch %[[V]][%[[B]], %[[H]], %[[ROW]], %c0]
// CHECK-NEXT: memref.prefetch %[[V]][%[[B]], %[[H]], %[[ROW]], %c32]
// CHECK-NEXT: }
// CHECK:   %[[SLOT:.*]] = arith.select
// CHECK:   %[[TO:.*]] = memref.subview %[[RING]][%[[SLOT]], 0, 0] [1, 64, 32]
// CHECK:   %[[ROW:.*]] = affine.apply affine_map<(d0) -> (d0 * 32)>(%[[P]])
// CHECK:   %[[FROM:.*]] = memref.subview %[[V]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 32, 64]
// CHECK:   linalg.transpose ins(%[[FROM]] : {{.*}}) outs(%[[TO]] : {{.*}})
// CHECK:   %[[IS_FIRST:.*]] = arith.cmpi slt, %[[SLOT]], %c1
// CHECK:   scf.if %[[IS_FIRST]] {
// CHECK:     %[[PAST:.*]] = arith.addi %[[SLOT]], %[[ROOM]]
// CHECK:     %[[AGAIN:.*]] = memref.subview %[[RING]][%[[PAST]], 0, 0]
// CHECK:     memref.copy %[[TO]], %[[AGAIN]]
// CHECK: scf.while
// CHECK:   scf.for %[[J:.*]] =
// CHECK-NOT: memref.prefetch
// CHECK:     %[[ABOVE:.*]] = arith.addi %[[J]], %c1
// CHECK:     %[[FIRST_ROW:.*]] = arith.divui %[[ABOVE]], %c2
// CHECK:     scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK-NEXT:  memref.prefetch %[[V]][%[[B]], %[[H]], %[[ROW]], %c0]
// CHECK-NEXT:  memref.prefetch %[[V]][%[[B]], %[[H]], %[[ROW]], %c32]
// CHECK-NEXT: }
// CHECK-NOT: memref.prefetch
// CHECK:     %[[BLOCK:.*]] = memref.subview %[[RING]][%{{.*}}, 0, 0] [2, 64, 32]
// CHECK:     "test.use"(%[[BLOCK]])
func.func @window(%v: memref<2x8x2048x64xbf16>, %firsts: memref<64xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %false = arith.constant false
  %packs = memref.alloc() : memref<2x8x64x64x32xbf16>
  scf.forall (%b, %h, %i) in (2, 8, 64) {
    %to = memref.subview %packs[%b, %h, %i, 0, 0] [1, 1, 1, 64, 32] [1, 1, 1, 1, 1]
        : memref<2x8x64x64x32xbf16> to !pack
    scf.for %j = %c0 to %c2 step %c2 {
      memref.prefetch %packs[%b, %h, %i, %j, %c0], read, locality<2>, data : memref<2x8x64x64x32xbf16>
    }
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %v[%b, %h, %row, 0] [1, 1, 32, 64] [1, 1, 1, 1]
        : memref<2x8x2048x64xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%b, %h, %i) in (2, 8, 64) {
    %head = memref.subview %packs[%b, %h, 0, 0, 0] [1, 1, 64, 64, 32] [1, 1, 1, 1, 1]
        : memref<2x8x64x64x32xbf16> to !head
    %first = memref.load %firsts[%i] : memref<64xindex>
    scf.while (%exact = %false) : (i1) -> () {
      %number = affine.apply affine_map<()[s0] -> (s0 floordiv 32)>()[%first]
      %range = memref.subview %head[%number, 0, 0] [9, 64, 32] [1, 1, 1]
          : !head to memref<9x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
      scf.for %j = %c0 to %c8 step %c2 {
        scf.for %line = %j to %c8 step %c1 {
          memref.prefetch %head[%c3, %line, %c0], read, locality<2>, data : !head
        }
        scf.for %other = %c2 to %c8 step %c1 {
          memref.prefetch %packs[%c0, %other, %c0, %c0, %c0], read, locality<2>, data : memref<2x8x64x64x32xbf16>
        }
        %block = memref.subview %range[%j, 0, 0] [2, 64, 32] [1, 1, 1]
            : memref<9x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
            to memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
        "test.use"(%block) : (memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>) -> ()
      }
      scf.condition(%exact)
    } do {
      scf.yield %false : i1
    }
  }
  return
}

// Which page rows are on is looked up for each pack: those of the next one are
// not fetched.
// CHECK-LABEL: func.func @pages
// CHECK: scf.for
// CHECK-NOT: memref.prefetch
// CHECK:   memref.load
// CHECK:   linalg.transpose
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @pages(%v: memref<?x8x32x64xbf16>, %table: memref<2x64xindex>, %firsts: memref<64xindex>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %packs = memref.alloc() : memref<2x8x64x64x32xbf16>
  scf.forall (%b, %h, %i) in (2, 8, 64) {
    %to = memref.subview %packs[%b, %h, %i, 0, 0] [1, 1, 1, 64, 32] [1, 1, 1, 1, 1]
        : memref<2x8x64x64x32xbf16> to !pack
    %page = memref.load %table[%b, %i] : memref<2x64xindex>
    %from = memref.subview %v[%page, %h, 0, 0] [1, 1, 32, 64] [1, 1, 1, 1]
        : memref<?x8x32x64xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%b, %h, %i) in (2, 8, 64) {
    %head = memref.subview %packs[%b, %h, 0, 0, 0] [1, 1, 64, 64, 32] [1, 1, 1, 1, 1]
        : memref<2x8x64x64x32xbf16> to !head
    %first = memref.load %firsts[%i] : memref<64xindex>
    %range = memref.subview %head[%first, 0, 0] [8, 64, 32] [1, 1, 1]
        : !head to memref<8x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
    scf.for %j = %c0 to %c8 step %c2 {
      %block = memref.subview %range[%j, 0, 0] [2, 64, 32] [1, 1, 1]
          : memref<8x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
          to memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
      "test.use"(%block) : (memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>) -> ()
    }
  }
  return
}

// What begins at the first key for every tile is packed once for all.
// CHECK-LABEL: func.func @causal
// CHECK: memref.alloc
// CHECK: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @causal(%v: memref<8x2048x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %packs = memref.alloc() : memref<8x64x64x32xbf16>
  scf.forall (%h, %i) in (8, 64) {
    %to = memref.subview %packs[%h, %i, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1]
        : memref<8x64x64x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %v[%h, %row, 0] [1, 32, 64] [1, 1, 1]
        : memref<8x2048x64xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%h, %i) in (8, 64) {
    %head = memref.subview %packs[%h, 0, 0, 0] [1, 64, 64, 32] [1, 1, 1, 1]
        : memref<8x64x64x32xbf16> to !head
    %range = memref.subview %head[0, 0, 0] [%i, 64, 32] [1, 1, 1]
        : !head to memref<?x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
    scf.for %j = %c0 to %i step %c2 {
      %block = memref.subview %range[%j, 0, 0] [2, 64, 32] [1, 1, 1]
          : !some to memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
      "test.use"(%block) : (memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>) -> ()
    }
  }
  return
}

// Nor does a tile pack where anything else than blocks is read.
// CHECK-LABEL: func.func @others
// CHECK-NOT: attn.kept
// CHECK: return
func.func @others(%v: memref<8x2048x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %packs = memref.alloc() : memref<8x64x64x32xbf16>
  scf.forall (%h, %i) in (8, 64) {
    %to = memref.subview %packs[%h, %i, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1]
        : memref<8x64x64x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %v[%h, %row, 0] [1, 32, 64] [1, 1, 1]
        : memref<8x2048x64xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%h, %i) in (8, 64) {
    %head = memref.subview %packs[%h, 0, 0, 0] [1, 64, 64, 32] [1, 1, 1, 1]
        : memref<8x64x64x32xbf16> to !head
    %range = memref.subview %head[%i, 0, 0] [%i, 64, 32] [1, 1, 1]
        : !head to memref<?x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
    "test.use"(%range) : (!some) -> ()
  }
  return
}

// Blocks that are not cut from a view of what a tile sees are packed for all heads,
// as views of views are when upstream has folded them into one.
// CHECK-LABEL: func.func @folded
// CHECK-NOT: attn.kept
// CHECK: return
func.func @folded(%v: memref<8x2048x64xbf16>, %firsts: memref<64xindex>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  // expected-remark @+1 {{not packed by the tiles that read it: blocks are no views of what a tile sees of its head}}
  %packs = memref.alloc() : memref<8x64x64x32xbf16>
  scf.forall (%h, %i) in (8, 64) {
    %to = memref.subview %packs[%h, %i, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1]
        : memref<8x64x64x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %v[%h, %row, 0] [1, 32, 64] [1, 1, 1]
        : memref<8x2048x64xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%h, %i) in (8, 64) {
    %first = memref.load %firsts[%i] : memref<64xindex>
    scf.for %j = %c0 to %c8 step %c2 {
      %at = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%j)[%first]
      %block = memref.subview %packs[%h, %at, 0, 0] [1, 2, 64, 32] [1, 1, 1, 1]
          : memref<8x64x64x32xbf16>
          to memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
      "test.use"(%block) : (memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>) -> ()
    }
  }
  return
}

// Those that begin at the first key are packed for all heads in any case.
// CHECK-LABEL: func.func @folded_causal
// CHECK-NOT: attn.kept
// CHECK: return
func.func @folded_causal(%v: memref<8x2048x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %packs = memref.alloc() : memref<8x64x64x32xbf16>
  scf.forall (%h, %i) in (8, 64) {
    %to = memref.subview %packs[%h, %i, 0, 0] [1, 1, 64, 32] [1, 1, 1, 1]
        : memref<8x64x64x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %v[%h, %row, 0] [1, 32, 64] [1, 1, 1]
        : memref<8x2048x64xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%h, %i) in (8, 64) {
    scf.for %j = %c0 to %i step %c64 {
      %at = affine.apply affine_map<(d0) -> (d0 floordiv 32)>(%j)
      %block = memref.subview %packs[%h, %at, 0, 0] [1, 2, 64, 32] [1, 1, 1, 1]
          : memref<8x64x64x32xbf16>
          to memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>
      "test.use"(%block) : (memref<2x64x32xbf16, strided<[2048, 32, 1], offset: ?>>) -> ()
    }
  }
  return
}
