// RUN: attn-opt %s -attn-pack-rows-in-tiles -canonicalize -mlir-print-local-scope | FileCheck %s

!pack = memref<4096x32xbf16, strided<[32, 1], offset: ?>>
!rows = memref<32x4096xbf16, strided<[4096, 1], offset: ?>>
!wide_pack = memref<2048x32xf32, strided<[32, 1], offset: ?>>
!wide_rows = memref<32x2048xf32, strided<[2048, 1], offset: ?>>

// A tile of 4 packs, 1 MB, packs its rows, unless the one before it was of the same
// ones. What it reads is numbered from its first pack on, and no packs are fetched
// for packing.
// CHECK-LABEL: func.func @any
// CHECK-SAME: %[[X:[^:]*]]: memref<?x4096xbf16>, %{{[^:]*}}: memref<4x4096x32xbf16>, %[[N:[^:]*]]: index
// CHECK-NOT: memref.alloc
// CHECK: scf.forall (%[[R:.*]], %{{.*}}) in (%{{.*}}, 4)
// CHECK: %[[PACKS:.*]] = memref.alloc() {alignment = 64 : i64, attn.kept} : memref<4x4096x32xbf16>
// CHECK: %[[STATE:.*]] = memref.alloc() {attn.kept} : memref<1xindex>
// CHECK-NEXT: memref.store %c-1, %[[STATE]][%c0]
// CHECK-NEXT: %[[PACKED:.*]] = memref.load %[[STATE]][%c0]
// CHECK-NEXT: %[[OTHER:.*]] = arith.cmpi ne, %[[PACKED]], %[[R]]
// CHECK-NEXT: scf.if %[[OTHER]] {
// CHECK-NEXT:   memref.store %[[R]], %[[STATE]][%c0]
// CHECK-NEXT:   %[[FIRST:.*]] = arith.muli %[[R]], %c4
// CHECK-NEXT:   %[[PAST:.*]] = arith.addi %[[FIRST]], %c4
// CHECK-NEXT:   %[[END:.*]] = arith.minsi %[[PAST]], %[[N]]
// CHECK-NEXT:   scf.for %[[I:.*]] = %[[FIRST]] to %[[END]] step %c1 {
// CHECK-NOT:      memref.prefetch
// CHECK:          %[[P:.*]] = arith.subi %[[I]], %[[FIRST]]
// CHECK-NEXT:     %[[TO:.*]] = memref.subview %[[PACKS]][%[[P]], 0, 0] [1, 4096, 32]
// CHECK-NEXT:     %[[ROW:.*]] = affine.apply affine_map<(d0) -> (d0 * 32)>(%[[I]])
// CHECK-NEXT:     %[[FROM:.*]] = memref.subview %[[X]][%[[ROW]], 0] [32, 4096]
// CHECK-NEXT:     linalg.transpose ins(%[[FROM]] : {{.*}}) outs(%[[TO]] : {{.*}})
// CHECK-NOT: affine.apply
// CHECK: scf.for %[[P:.*]] = %c0 to
// CHECK-NEXT: memref.subview %[[PACKS]][%[[P]], 0, 0] [1, 4096, 32]
// CHECK: return
func.func @any(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>, %n: index,
               %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc(%n) : memref<?x4096x32xbf16>
  scf.forall (%i) in (%n) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<?x4096x32xbf16> to !pack
    scf.for %j = %c0 to %c1 step %c1 {
      memref.prefetch %packs[%j, %c0, %c0], read, locality<2>, data : memref<?x4096x32xbf16>
    }
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 4096] [1, 1] : memref<?x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<?x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// 9 packs are more than stay in the cache.
// CHECK-LABEL: func.func @known
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in
// CHECK: memref.alloc() {alignment = 64 : i64, attn.kept} : memref<4x4096x32xbf16>
// CHECK: arith.minsi %{{.*}}, %c9
// CHECK: linalg.transpose
// CHECK: return
func.func @known(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>, %n: index,
                 %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc() : memref<9x4096x32xbf16>
  scf.forall (%i) in (9) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<9x4096x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 4096] [1, 1] : memref<?x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<9x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// 5 packs stay in the cache as they are.
// CHECK-LABEL: func.func @small
// CHECK: memref.alloc{{.*}} : memref<{{.*}}x4096x32xbf16>
// CHECK-NEXT: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @small(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>, %n: index,
                 %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc() : memref<5x4096x32xbf16>
  scf.forall (%i) in (5) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<5x4096x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 4096] [1, 1] : memref<?x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<5x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// Tiles of 6 packs do not stay in the cache.
// CHECK-LABEL: func.func @large
// CHECK: memref.alloc{{.*}} : memref<{{.*}}x4096x32xbf16>
// CHECK-NEXT: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @large(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>, %n: index,
                 %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc(%n) : memref<?x4096x32xbf16>
  scf.forall (%i) in (%n) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<?x4096x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 4096] [1, 1] : memref<?x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (6, s0 - d0 * 6)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 6)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<?x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// Two loops would pack the same rows.
// CHECK-LABEL: func.func @shared
// CHECK: memref.alloc{{.*}} : memref<{{.*}}x4096x32xbf16>
// CHECK-NEXT: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @shared(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>, %n: index,
                  %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc(%n) : memref<?x4096x32xbf16>
  scf.forall (%i) in (%n) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<?x4096x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 4096] [1, 1] : memref<?x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<?x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  scf.forall (%r) in (%tiles) {
    scf.for %p = %c0 to %c1 step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<?x4096x32xbf16> to !pack
      %to = memref.subview %y[%p, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<4x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// How many packs a tile reads is not known to be at most 4.
// CHECK-LABEL: func.func @unbounded
// CHECK: memref.alloc{{.*}} : memref<{{.*}}x4096x32xbf16>
// CHECK-NEXT: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @unbounded(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>, %n: index,
                     %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc(%n) : memref<?x4096x32xbf16>
  scf.forall (%i) in (%n) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<?x4096x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 4096] [1, 1] : memref<?x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = arith.addi %n, %tiles : index
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<?x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// Packs of other rows than those of the tile.
// CHECK-LABEL: func.func @other_rows
// CHECK: memref.alloc{{.*}} : memref<{{.*}}x4096x32xbf16>
// CHECK-NEXT: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @other_rows(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>, %n: index,
                      %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc(%n) : memref<?x4096x32xbf16>
  scf.forall (%i) in (%n) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<?x4096x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 4096] [1, 1] : memref<?x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %tiles)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<?x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// What is packed changes before the tiles.
// CHECK-LABEL: func.func @changed_before
// CHECK: memref.alloc{{.*}} : memref<{{.*}}x4096x32xbf16>
// CHECK-NEXT: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @changed_before(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>, %n: index,
                          %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc(%n) : memref<?x4096x32xbf16>
  scf.forall (%i) in (%n) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<?x4096x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 4096] [1, 1] : memref<?x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  %cst = arith.constant 0.0 : bf16
  linalg.fill ins(%cst : bf16) outs(%x : memref<?x4096xbf16>)
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<?x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// Tiles write what is packed.
// CHECK-LABEL: func.func @in_place
// CHECK: memref.alloc{{.*}} : memref<{{.*}}x4096x32xbf16>
// CHECK-NEXT: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @in_place(%y: memref<4x4096x32xbf16>, %n: index, %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.collapse_shape %y [[0, 1, 2]] : memref<4x4096x32xbf16> into memref<524288xbf16>
  %rows = memref.expand_shape %x [[0, 1]] output_shape [128, 4096]
      : memref<524288xbf16> into memref<128x4096xbf16>
  %packs = memref.alloc(%n) : memref<?x4096x32xbf16>
  scf.forall (%i) in (%n) {
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<?x4096x32xbf16> to !pack
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %rows[%row, 0] [32, 4096] [1, 1] : memref<128x4096xbf16> to !rows
    linalg.transpose ins(%from : !rows) outs(%to : !pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<?x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}

// Products of f32 do not wait for packs.
// CHECK-LABEL: func.func @wide
// CHECK: memref.alloc{{.*}} : memref<{{.*}}x2048x32xf32>
// CHECK-NEXT: scf.forall
// CHECK: linalg.transpose
// CHECK: scf.forall
// CHECK-NOT: linalg.transpose
// CHECK: return
func.func @wide(%x: memref<?x2048xf32>, %y: memref<4x2048x32xf32>, %n: index,
               %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc(%n) : memref<?x2048x32xf32>
  scf.forall (%i) in (%n) {
    %to = memref.subview %packs[%i, 0, 0] [1, 2048, 32] [1, 1, 1]
        : memref<?x2048x32xf32> to !wide_pack
    scf.for %j = %c0 to %c1 step %c1 {
      memref.prefetch %packs[%j, %c0, %c0], read, locality<2>, data : memref<?x2048x32xf32>
    }
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [32, 2048] [1, 1] : memref<?x2048xf32> to !wide_rows
    linalg.transpose ins(%from : !wide_rows) outs(%to : !wide_pack) permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 2048, 32] [1, 1, 1]
        : memref<4x2048x32xf32> to !wide_pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 2048, 32] [1, 1, 1]
          : memref<?x2048x32xf32> to !wide_pack
      linalg.copy ins(%pack : !wide_pack) outs(%to : !wide_pack)
    }
  }
  return
}

// The last pack may have fewer rows, and the loop that packs says how many.
// CHECK-LABEL: func.func @fewer_rows
// CHECK: scf.forall (%[[R:.*]], %{{.*}}) in
// CHECK: %[[PACKS:.*]] = memref.alloc() {alignment = 64 : i64, attn.kept} : memref<4x4096x32xbf16>
// CHECK: scf.for %[[I:.*]] = %
// CHECK:   %[[SIZE:.*]] = affine.min affine_map<(d0) -> (d0 * -32 + 287, 32)>(%[[I]])
// CHECK:   %[[P:.*]] = arith.subi %[[I]]
// CHECK:   memref.subview %[[PACKS]][%[[P]], 0, 0] [1, 4096, %[[SIZE]]]
// CHECK:   linalg.transpose
// CHECK: return
func.func @fewer_rows(%x: memref<?x4096xbf16>, %y: memref<4x4096x32xbf16>,
                      %n: index, %tiles: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %packs = memref.alloc() : memref<9x4096x32xbf16>
  scf.forall (%i) in (9) {
    %size = affine.min affine_map<(d0) -> (d0 * -32 + 287, 32)>(%i)
    %to = memref.subview %packs[%i, 0, 0] [1, 4096, %size] [1, 1, 1]
        : memref<9x4096x32xbf16> to memref<4096x?xbf16, strided<[32, 1], offset: ?>>
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %from = memref.subview %x[%row, 0] [%size, 4096] [1, 1]
        : memref<?x4096xbf16> to memref<?x4096xbf16, strided<[4096, 1], offset: ?>>
    linalg.transpose
        ins(%from : memref<?x4096xbf16, strided<[4096, 1], offset: ?>>)
        outs(%to : memref<4096x?xbf16, strided<[32, 1], offset: ?>>)
        permutation = [1, 0]
  }
  scf.forall (%r, %c) in (%tiles, 4) {
    %rest = affine.min affine_map<(d0)[s0] -> (4, s0 - d0 * 4)>(%r)[%n]
    %to = memref.subview %y[%c, 0, 0] [1, 4096, 32] [1, 1, 1]
        : memref<4x4096x32xbf16> to !pack
    scf.for %p = %c0 to %rest step %c1 {
      %number = affine.apply affine_map<(d0, d1) -> (d0 + d1 * 4)>(%p, %r)
      %pack = memref.subview %packs[%number, 0, 0] [1, 4096, 32] [1, 1, 1]
          : memref<9x4096x32xbf16> to !pack
      linalg.copy ins(%pack : !pack) outs(%to : !pack)
    }
  }
  return
}
