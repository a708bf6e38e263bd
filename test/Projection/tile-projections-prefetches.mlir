// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-plan -attn-tile-projections \
// RUN:   -canonicalize -cse -mlir-print-local-scope | FileCheck %s
// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true, l1_bytes = 49152, l2_bytes = 2097152}" \
// RUN:   -attn-plan -attn-tile-projections -canonicalize -cse -mlir-print-local-scope | FileCheck %s --check-prefix=TILES

// Few rows read the weight as a stream, which goes on in the panel of the next iteration.
// Products of many rows fetch their shares of the next panel, or after the last one of the
// first panel's next features, and of the next features of their own pack. After the last
// block of features, there are no others.
// CHECK-LABEL: func.func @any(
// CHECK-SAME: %{{[^:]*}}: tensor<1x?x2048xf32>, %[[W:[^:]*]]: tensor<32x2048x64xf32>
// CHECK: scf.forall (%[[I:.*]]) in (%{{.*}})
// CHECK: %[[AHEAD:.*]] = affine.min affine_map<(d0) -> (d0 * -64 + 1984, 64)>(%[[I]])
// CHECK: %[[NUMBER:.*]] = affine.apply affine_map<(d0, d1) -> (d1 + d0 floordiv 64)>(%[[AHEAD]], %[[I]])
// CHECK: %[[PANEL:.*]] = tensor.extract_slice %[[W]][%[[NUMBER]], 0, %{{.*}}] [1, 2048, 64]
// CHECK: attn.prefetch %[[PANEL]][%c0] to %c2048 stream(2048) : tensor<2048x64xf32>
// CHECK: linalg.generic
// CHECK: scf.forall (%[[ROW:.*]], %{{.*}}) in (%{{.*}}, 8)
// CHECK: scf.for %[[BLOCK:[^ ]*]] = %c0 to %c4
// CHECK: scf.for %[[P:[^ ]*]] = %c0 to
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %c4
// CHECK: %[[COLUMN:.*]] = arith.select %[[EXISTS]], %{{.*}}, %c0
// CHECK: %[[AT:.*]] = arith.select %[[EXISTS]], %c0, %c342
// CHECK: %[[NEXT:.*]] = tensor.extract_slice %[[W]][%{{.*}}, %[[AT]], %{{.*}}] [1, 342, 64]
// CHECK: attn.prefetch %[[NEXT]][%c0] to %c342 spread share(%[[P]] of 64) : tensor<342x64xf32>
// CHECK: %[[LATER:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}, 342, 0] [1, 342, 6]
// CHECK: attn.prefetch %[[LATER]][%c0] to %c342 spread share(%[[BLOCK]] of 4) : tensor<342x6xf32>
// CHECK: linalg.generic
// CHECK: scf.for %{{[^ ]*}} = %c342 to %c1710 step %c342
// CHECK-COUNT-2: attn.prefetch
// CHECK: scf.for %[[LAST:[^ ]*]] = %c0 to %c4
// CHECK: attn.prefetch %{{.*}} spread share(%{{.*}} of 64) : tensor<338x64xf32>
// CHECK-NOT: attn.prefetch
// CHECK: return
func.func @any(%x: tensor<1x?x2048xf32>, %w: tensor<32x2048x64xf32>, %y: tensor<1x?x2048xf32>) -> tensor<1x?x2048xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x?x2048xf32>, tensor<32x2048x64xf32>)
      outs(%y : tensor<1x?x2048xf32>)
  return %0 : tensor<1x?x2048xf32>
}

// -----

// Rows of a weight without panels are far apart: blocks of features of four blocks of columns
// each go by, then those of the next tile.
// CHECK-LABEL: func.func @rows_apart(
// CHECK-SAME: %{{[^:]*}}: tensor<1x4x4096xf32>, %[[W:[^:]*]]: tensor<4096x1024xf32>
// CHECK: scf.forall (%[[TILE:.*]]) in (4)
// CHECK: scf.for %[[AT:[^ ]*]] = %c0 to %c4096 step %c256
// CHECK: scf.for %[[BLOCK:[^ ]*]] = %c0 to %c4 step %c1
// CHECK: tensor.extract_slice %[[W]][%[[AT]], %{{.*}}] [256, 64]
// CHECK: %[[IS_BLOCK:.*]] = arith.cmpi slt, %{{.*}}, %c4
// CHECK: %[[ARE_FEATURES:.*]] = arith.cmpi slt, %{{.*}}, %c4096
// CHECK: %[[IN_TILE:.*]] = arith.select %[[ARE_FEATURES]], %{{.*}}, %c0
// CHECK: %[[COLUMN_IN_TILE:.*]] = arith.select %[[ARE_FEATURES]], %c0, %{{.*}}
// CHECK: %[[COLUMN:.*]] = arith.select %[[IS_BLOCK]], %{{.*}}, %[[COLUMN_IN_TILE]]
// CHECK: %[[FEATURE:.*]] = arith.select %[[IS_BLOCK]], %[[AT]], %[[IN_TILE]]
// CHECK: %[[NEXT:.*]] = tensor.extract_slice %[[W]][%[[FEATURE]], %{{.*}}] [256, 64]
// CHECK: attn.prefetch %[[NEXT]][%c0] to %c256 stream(16000) : tensor<256x64xf32>
// CHECK: linalg.generic
func.func @rows_apart(%x: tensor<1x4x4096xf32>, %w: tensor<4096x1024xf32>, %y: tensor<1x4x1024xf32>) -> tensor<1x4x1024xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x4x4096xf32>, tensor<4096x1024xf32>)
      outs(%y : tensor<1x4x1024xf32>)
  return %0 : tensor<1x4x1024xf32>
}

// -----

// On tiles, the rows stay: the panel's next features follow, and after the last ones the
// next panel. Sums of the next pack are in the first level when they are added to, and so
// are the lines of the result.
// TILES-LABEL: func.func @pairs(
// TILES-SAME: %{{[^:]*}}: tensor<1x?x2048xbf16>, %[[W:[^:]*]]: tensor<64x1024x32x2xbf16>
// TILES: scf.for %[[BLOCK:[^ ]*]] = %c0 to %c16
// TILES: scf.for %[[P:[^ ]*]] = %c0 to
// TILES: %[[NEXT:.*]] = tensor.extract_slice %[[W]][%{{.*}}, 256, 0, 0] [1, 256, 32, 2]
// TILES: %[[PAIRS:.*]] = tensor.expand_shape %[[NEXT]]
// TILES: attn.prefetch %[[PAIRS]][%c0] to %c16 spread share(%[[P]] of 8) : tensor<16x16x32x2xbf16>
// TILES: attn.prefetch %{{.*}}[%c0] to %c32 for_write spread : tensor<32x32xf32>
// TILES: linalg.generic
// TILES: scf.for %{{[^ ]*}} = %c16 to %c48
// TILES: scf.for %[[Q:[^ ]*]] = %c0 to
// TILES: attn.prefetch %{{.*}} spread share(%[[Q]] of 8)
// TILES: scf.for %[[R:[^ ]*]] = %c0 to
// TILES: arith.select
// TILES: attn.prefetch %{{.*}} spread share(%[[R]] of 8)
// TILES: attn.prefetch %{{.*}}[%c0] to %c32 for_write spread : tensor<32x32xf32>
// TILES: attn.prefetch %{{.*}}[%c0] to %c32 for_write spread : tensor<?x32xbf16>
// TILES-NOT: attn.prefetch
// TILES: return

// Vectors have no steps that long.
// CHECK-LABEL: func.func @pairs(
// CHECK-NOT: spread
// CHECK: return
func.func @pairs(%x: tensor<1x?x2048xbf16>, %w: tensor<64x1024x32x2xbf16>, %y: tensor<1x?x2048xbf16>) -> tensor<1x?x2048xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x?x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%y : tensor<1x?x2048xbf16>)
  return %0 : tensor<1x?x2048xbf16>
}
