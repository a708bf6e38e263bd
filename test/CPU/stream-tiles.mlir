// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-vectorize-contractions -canonicalize -cse | FileCheck %s

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>

// A panel of the weight stays in the first-level cache, which loads of rows leave
// alone. Each product fetches its share of the next panel, of the rows' next
// features, and of the sums of the next rows.
// CHECK-LABEL: func.func @panels(
// CHECK-SAME: %[[ROWS:[^:]*]]: memref<?x32x32x32xbf16>, %[[W:[^:]*]]: memref<8x512x32x2xbf16>
// CHECK-SAME: %[[SUMS:[^:]*]]: memref<8x4x32x32xf32>
// CHECK: scf.for %[[PANEL:[^ ]*]] = %c0 to %c8
// CHECK: scf.for %[[PACK:[^ ]*]] = %c0 to %c4
// CHECK: %[[NEXT_PANEL:.*]] = memref.subview %[[W]][%{{.*}}, %{{.*}}, 0, 0] [1, 256, 32, 2]
// CHECK: %[[PANEL_PAIRS:.*]] = memref.expand_shape %[[NEXT_PANEL]]
// CHECK: %[[NEXT_ROWS:.*]] = memref.subview %[[ROWS]][%[[PACK]], %{{.*}}, 0, 0] [1, 16, 32, 32]
// CHECK: %[[ROW_PAIRS:.*]] = memref.expand_shape %[[NEXT_ROWS]]
// CHECK: %[[NEXT_SUMS:.*]] = memref.subview %[[SUMS]][%[[PANEL]], %{{.*}}, 0, 0]
// CHECK: scf.for %[[STEP:[^ ]*]] = %c0 to %c16
// CHECK-COUNT-8: memref.prefetch %[[PANEL_PAIRS]][%[[STEP]], {{.*}} locality<2>
// CHECK-COUNT-4: memref.prefetch %[[ROW_PAIRS]][%[[STEP]], {{.*}} locality<2>
// CHECK-COUNT-4: memref.prefetch %[[NEXT_SUMS]][{{.*}} locality<3>
// CHECK-NOT: memref.prefetch
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloaddt164.internal"
// CHECK-COUNT-2: amx.tile_load
// CHECK-COUNT-4: amx.tile_mulf
func.func @panels(%rows: memref<?x32x32x32xbf16>, %w: memref<8x512x32x2xbf16>,
                  %sums: memref<8x4x32x32xf32>, %at: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %j = %c0 to %c8 step %c1 {
    %panel = memref.subview %w[%j, %at, 0, 0] [1, 256, 32, 2] [1, 1, 1, 1]
        : memref<8x512x32x2xbf16> to memref<256x32x2xbf16, strided<[64, 2, 1], offset: ?>>
    %b = memref.expand_shape %panel [[0, 1], [2], [3]] output_shape [16, 16, 32, 2]
        : memref<256x32x2xbf16, strided<[64, 2, 1], offset: ?>>
        into memref<16x16x32x2xbf16, strided<[1024, 64, 2, 1], offset: ?>>
    scf.for %i = %c0 to %c4 step %c1 {
      %pack = memref.subview %rows[%i, %at, 0, 0] [1, 16, 32, 32] [1, 1, 1, 1]
          : memref<?x32x32x32xbf16> to memref<16x32x32xbf16, strided<[1024, 32, 1], offset: ?>>
      %a = memref.expand_shape %pack [[0], [1], [2, 3]] output_shape [16, 32, 16, 2]
          : memref<16x32x32xbf16, strided<[1024, 32, 1], offset: ?>>
          into memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
      %c = memref.subview %sums[%j, %i, 0, 0] [1, 1, 32, 32] [1, 1, 1, 1]
          : memref<8x4x32x32xf32> to memref<32x32xf32, strided<[32, 1], offset: ?>>
      linalg.generic {indexing_maps = [#a, #b, #c],
          iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
          ins(%a, %b : memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>,
                       memref<16x16x32x2xbf16, strided<[1024, 64, 2, 1], offset: ?>>)
          outs(%c : memref<32x32xf32, strided<[32, 1], offset: ?>>) {
      ^bb0(%x: bf16, %y: bf16, %sum: f32):
        %0 = arith.extf %x : bf16 to f32
        %1 = arith.extf %y : bf16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %sum, %2 : f32
        linalg.yield %3 : f32
      }
    }
  }
  return
}

// -----

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>

// Operands that fit into the first-level cache are left to it.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: memref.prefetch
// CHECK-NOT: tileloaddt1
// CHECK: amx.tile_mulf
func.func @small(%rows: memref<4x4x32x16x2xbf16>, %b: memref<4x16x32x2xbf16>,
                 %sums: memref<4x32x32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.subview %rows[%i, 0, 0, 0, 0] [1, 4, 32, 16, 2] [1, 1, 1, 1, 1]
        : memref<4x4x32x16x2xbf16> to memref<4x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
    %c = memref.subview %sums[%i, 0, 0] [1, 32, 32] [1, 1, 1]
        : memref<4x32x32xf32> to memref<32x32xf32, strided<[32, 1], offset: ?>>
    linalg.generic {indexing_maps = [#a, #b, #c],
        iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%a, %b : memref<4x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>,
                     memref<4x16x32x2xbf16>)
        outs(%c : memref<32x32xf32, strided<[32, 1], offset: ?>>) {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.extf %y : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}

// -----

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// Both blocks of a panel go by before the next panel. What comes next is the second
// block, and then the first one of the next panel; rows stay. The second one's
// results get their lines, of which there may be fewer than of a product.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME: %{{[^:]*}}: memref<4x32x32x32xbf16>, %[[W:[^:]*]]: memref<8x512x32x2xbf16>
// CHECK: scf.for %[[PANEL:[^ ]*]] = %c0 to %c8
// CHECK: scf.for %{{[^ ]*}} = %c0 to %c4
// CHECK: %[[NEXT:.*]] = memref.subview %[[W]][%[[PANEL]], 256, 0, 0] [1, 256, 32, 2]
// CHECK: %[[NEXT_PAIRS:.*]] = memref.expand_shape %[[NEXT]]
// CHECK: scf.for %[[STEP:[^ ]*]] = %c0 to %c16
// CHECK-COUNT-8: memref.prefetch %[[NEXT_PAIRS]][%[[STEP]], {{.*}} read, locality<2>
// CHECK-COUNT-4: memref.prefetch %{{.*}} read, locality<3>
// CHECK-NOT: memref.prefetch
// CHECK: scf.for %{{[^ ]*}} = %c0 to %c4
// CHECK: %[[LATER:.*]] = arith.select %{{.*}}, %{{.*}}, %[[PANEL]]
// CHECK: %[[FIRST:.*]] = memref.subview %[[W]][%[[LATER]], 0, 0, 0] [1, 256, 32, 2]
// CHECK: %[[FIRST_PAIRS:.*]] = memref.expand_shape %[[FIRST]]
// CHECK: %[[RESULT:.*]] = memref.subview %{{.*}} : memref<?x256xbf16> to memref<?x32xbf16
// CHECK: scf.for %[[STEP:[^ ]*]] = %c0 to %c16
// CHECK-COUNT-8: memref.prefetch %[[FIRST_PAIRS]][%[[STEP]], {{.*}} read, locality<2>
// CHECK-COUNT-4: memref.prefetch %{{.*}} read, locality<3>
// CHECK-COUNT-2: memref.prefetch %[[RESULT]][{{.*}} write, locality<3>
// CHECK-NOT: memref.prefetch
// CHECK: linalg.generic
// CHECK: arith.truncf
func.func @blocks(%rows: memref<4x32x32x32xbf16>, %w: memref<8x512x32x2xbf16>,
                  %sums: memref<4x32x32xf32>, %results: memref<?x256xbf16>,
                  %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  scf.for %j = %c0 to %c8 step %c1 {
    %column = arith.muli %j, %c32 : index
    %panel0 = memref.subview %w[%j, 0, 0, 0] [1, 256, 32, 2] [1, 1, 1, 1]
        : memref<8x512x32x2xbf16> to memref<256x32x2xbf16, strided<[64, 2, 1], offset: ?>>
    %b0 = memref.expand_shape %panel0 [[0, 1], [2], [3]] output_shape [16, 16, 32, 2]
        : memref<256x32x2xbf16, strided<[64, 2, 1], offset: ?>>
        into memref<16x16x32x2xbf16, strided<[1024, 64, 2, 1], offset: ?>>
    scf.for %i = %c0 to %c4 step %c1 {
      %pack = memref.subview %rows[%i, 0, 0, 0] [1, 16, 32, 32] [1, 1, 1, 1]
          : memref<4x32x32x32xbf16> to memref<16x32x32xbf16, strided<[1024, 32, 1], offset: ?>>
      %a = memref.expand_shape %pack [[0], [1], [2, 3]] output_shape [16, 32, 16, 2]
          : memref<16x32x32xbf16, strided<[1024, 32, 1], offset: ?>>
          into memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
      %c = memref.subview %sums[%i, 0, 0] [1, 32, 32] [1, 1, 1]
          : memref<4x32x32xf32> to memref<32x32xf32, strided<[32, 1], offset: ?>>
      linalg.generic {indexing_maps = [#a, #b, #c],
          iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
          ins(%a, %b0 : memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>,
                        memref<16x16x32x2xbf16, strided<[1024, 64, 2, 1], offset: ?>>)
          outs(%c : memref<32x32xf32, strided<[32, 1], offset: ?>>) {
      ^bb0(%x: bf16, %y: bf16, %sum: f32):
        %0 = arith.extf %x : bf16 to f32
        %1 = arith.extf %y : bf16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %sum, %2 : f32
        linalg.yield %3 : f32
      }
    }
    %panel256 = memref.subview %w[%j, 256, 0, 0] [1, 256, 32, 2] [1, 1, 1, 1]
        : memref<8x512x32x2xbf16> to memref<256x32x2xbf16, strided<[64, 2, 1], offset: ?>>
    %b256 = memref.expand_shape %panel256 [[0, 1], [2], [3]] output_shape [16, 16, 32, 2]
        : memref<256x32x2xbf16, strided<[64, 2, 1], offset: ?>>
        into memref<16x16x32x2xbf16, strided<[1024, 64, 2, 1], offset: ?>>
    scf.for %i = %c0 to %c4 step %c1 {
      %pack = memref.subview %rows[%i, 16, 0, 0] [1, 16, 32, 32] [1, 1, 1, 1]
          : memref<4x32x32x32xbf16> to memref<16x32x32xbf16, strided<[1024, 32, 1], offset: ?>>
      %a = memref.expand_shape %pack [[0], [1], [2, 3]] output_shape [16, 32, 16, 2]
          : memref<16x32x32xbf16, strided<[1024, 32, 1], offset: ?>>
          into memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
      %c = memref.subview %sums[%i, 0, 0] [1, 32, 32] [1, 1, 1]
          : memref<4x32x32xf32> to memref<32x32xf32, strided<[32, 1], offset: ?>>
      linalg.generic {indexing_maps = [#a, #b, #c],
          iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
          ins(%a, %b256 : memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>,
                        memref<16x16x32x2xbf16, strided<[1024, 64, 2, 1], offset: ?>>)
          outs(%c : memref<32x32xf32, strided<[32, 1], offset: ?>>) {
      ^bb0(%x: bf16, %y: bf16, %sum: f32):
        %0 = arith.extf %x : bf16 to f32
        %1 = arith.extf %y : bf16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %sum, %2 : f32
        linalg.yield %3 : f32
      }
      %row = arith.muli %i, %c32 : index
      %rest = arith.subi %n, %row : index
      %count = arith.minsi %rest, %c32 : index
      %result = memref.subview %results[%row, %column] [%count, 32] [1, 1]
          : memref<?x256xbf16> to memref<?x32xbf16, strided<[256, 1], offset: ?>>
      %part = memref.subview %c[0, 0] [%count, 32] [1, 1]
          : memref<32x32xf32, strided<[32, 1], offset: ?>>
          to memref<?x32xf32, strided<[32, 1], offset: ?>>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%part : memref<?x32xf32, strided<[32, 1], offset: ?>>)
          outs(%result : memref<?x32xbf16, strided<[256, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: bf16):
        %0 = arith.truncf %x : f32 to bf16
        linalg.yield %0 : bf16
      }
    }
  }
  return
}
