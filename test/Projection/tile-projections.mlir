// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, bf16_dot = true}" -attn-plan -attn-tile-projections -canonicalize -verify-diagnostics | FileCheck %s

// One row: the weight is read where it lies, a head of 64 columns at a time.
// CHECK-LABEL: func.func @few(
// CHECK-SAME: %[[X:.*]]: tensor<1x1x512xf32>, %[[W:.*]]: tensor<2x512x64xi8>
// CHECK: scf.forall (%[[N:.*]]) in (2)
// CHECK-NOT: scf.for
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[W]][%[[N]], 0, 0] [1, 512, 64]
// CHECK-SAME: to tensor<512x64xi8>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[PART]] : tensor<1x512xf32>, tensor<512x64xi8>)
// CHECK: scf.forall.in_parallel
// CHECK-NOT: attn.projection
// CHECK: return
func.func @few(%x: tensor<1x1x512xf32>, %w: tensor<2x512x64xi8>,
               %s: tensor<128xf32>, %y: tensor<1x2x1x64xf32>)
    -> tensor<1x2x1x64xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x1x512xf32>, tensor<2x512x64xi8>)
      outs(%y : tensor<1x2x1x64xf32>) scales(%s : tensor<128xf32>)
  return %0 : tensor<1x2x1x64xf32>
}

// -----

// Of more features than the caches have room for, a block at a time.
// CHECK-LABEL: func.func @few_in_blocks(
// CHECK-SAME: %[[W:[^:]*]]: tensor<2x5000x64xi8>
// CHECK: scf.forall (%[[N:.*]]) in (2)
// CHECK: scf.for %[[K:.*]] = %c0 to %c3334 step %c1667
// CHECK: tensor.extract_slice %[[W]][%[[N]], %[[K]], 0] [1, 1667, 64]
// CHECK: tensor.extract_slice %[[W]][%[[N]], 3334, 0] [1, 1666, 64]
// CHECK: scf.forall.in_parallel
func.func @few_in_blocks(%x: tensor<1x1x5000xf32>, %w: tensor<2x5000x64xi8>,
                         %s: tensor<128xf32>, %y: tensor<1x2x1x64xf32>)
    -> tensor<1x2x1x64xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x1x5000xf32>, tensor<2x5000x64xi8>)
      outs(%y : tensor<1x2x1x64xf32>) scales(%s : tensor<128xf32>)
  return %0 : tensor<1x2x1x64xf32>
}

// -----

// Many rows are packed in parallel, and tiles pack what they multiply of the weight, of
// f16 or of f32. There are enough tiles for 16 cores, if that is possible.
// CHECK-LABEL: func.func @many(
// CHECK: %[[PACKS:.*]] = scf.forall {{.*}} -> (tensor<17x64x6xf32>)
// CHECK: linalg.transpose
// CHECK: scf.forall (%{{.*}}) in (8)
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: tensor.extract_slice %[[PACKS]]
// CHECK-NOT: attn.projection
// CHECK: return
func.func @many(%x: tensor<1x100x64xf32>, %w: tensor<64x512xf16>,
                %y: tensor<1x100x512xf32>) -> tensor<1x100x512xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xf32>, tensor<64x512xf16>)
      outs(%y : tensor<1x100x512xf32>)
  return %0 : tensor<1x100x512xf32>
}

// -----

// CHECK-LABEL: func.func @packed(
// CHECK-SAME: %[[W:[^:]*]]: tensor<64x512xf32>
// CHECK: scf.forall (%{{.*}}) in (8)
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[W]][0, %{{.*}}] [64, 64]
// CHECK: %[[COLUMNS:.*]] = bufferization.alloc_tensor() copy(%[[PART]]) : tensor<64x64xf32>
// CHECK: scf.for
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[COLUMNS]] : tensor<64x6xf32>, tensor<64x64xf32>)
// CHECK: return
func.func @packed(%x: tensor<1x100x64xf32>, %w: tensor<64x512xf32>,
                  %y: tensor<1x100x512xf32>) -> tensor<1x100x512xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xf32>, tensor<64x512xf32>)
      outs(%y : tensor<1x100x512xf32>)
  return %0 : tensor<1x100x512xf32>
}

// -----

// A transposed matrix is packed from where it lies: of any number of rows, by the loop
// over few, and by the one over many.
// CHECK-DAG: #[[MAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[W:[^:]*]]: tensor<512x64xbf16>
// CHECK-NOT: tensor<64x512xbf16>
// CHECK: scf.forall
// CHECK: %[[FEW:.*]] = tensor.extract_slice %[[W]][%{{.*}}, 0] [64, 64]
// CHECK: linalg.generic {indexing_maps = [#[[MAP]], {{.*}}} ins(%[[FEW]] :
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.extf
// CHECK: scf.forall
// CHECK: scf.forall
// CHECK: %[[MANY:.*]] = tensor.extract_slice %[[W]][%{{.*}}, 0] [64, 64]
// CHECK: linalg.generic {indexing_maps = [#[[MAP]], {{.*}}} ins(%[[MANY]] :
// CHECK: return
func.func @transposed(%x: tensor<?x?x64xf32>, %w: tensor<512x64xbf16>,
                      %y: tensor<?x?x512xf32>) -> tensor<?x?x512xf32> {
  %e = tensor.empty() : tensor<64x512xbf16>
  %t = linalg.transpose ins(%w : tensor<512x64xbf16>) outs(%e : tensor<64x512xbf16>)
      permutation = [1, 0]
  %0 = attn.projection ins(%x, %t : tensor<?x?x64xf32>, tensor<64x512xbf16>)
      outs(%y : tensor<?x?x512xf32>)
  return %0 : tensor<?x?x512xf32>
}

// -----

// Panels are read where they lie, whatever they are made of.
// CHECK-LABEL: func.func @transposed_panels(
// CHECK: %[[T:.*]] = linalg.transpose
// CHECK: tensor.extract_slice %[[T]][%{{.*}}, 0, 0] [1, 64, 64]
// CHECK-NOT: bufferization.alloc_tensor
// CHECK: return
func.func @transposed_panels(%x: tensor<1x100x64xf32>, %w: tensor<8x64x64xf32>,
                             %y: tensor<1x100x512xf32>) -> tensor<1x100x512xf32> {
  %e = tensor.empty() : tensor<8x64x64xf32>
  %t = linalg.transpose ins(%w : tensor<8x64x64xf32>) outs(%e : tensor<8x64x64xf32>)
      permutation = [0, 2, 1]
  %0 = attn.projection ins(%x, %t : tensor<1x100x64xf32>, tensor<8x64x64xf32>)
      outs(%y : tensor<1x100x512xf32>)
  return %0 : tensor<1x100x512xf32>
}

// -----

// Rows of several batch entries have tiles of columns alone, as many as end at the same
// time: 9 of a block on 16 cores.
// CHECK-LABEL: func.func @even_threads(
// CHECK: scf.forall (%{{.*}}) in (9)
// CHECK: return
func.func @even_threads(%x: tensor<2x100x64xf32>, %w: tensor<64x576xf32>,
                        %y: tensor<2x100x576xf32>) -> tensor<2x100x576xf32> {
  %0 = attn.projection ins(%x, %w : tensor<2x100x64xf32>, tensor<64x576xf32>)
      outs(%y : tensor<2x100x576xf32>)
  return %0 : tensor<2x100x576xf32>
}

// -----

// Any number of rows: one of two loops has none. It is a loop over tiles of columns
// alone, which have no tiles of rows.
// CHECK-LABEL: func.func @any(
// CHECK: %[[FEW:.*]] = arith.cmpi ule, %[[ROWS:.*]], %{{.*}} : index
// CHECK-DAG: arith.select %[[FEW]], %[[ROWS]], %c0
// CHECK-DAG: arith.select %[[FEW]], %c0, %[[ROWS]]
// CHECK: %[[TILES:.*]] = affine.min #{{.*}}()[
// CHECK-NEXT: %{{.*}} = scf.forall (%{{[^,]*}}) in (%[[TILES]]) shared_outs({{.*}}) -> (tensor<?x?x128xf32>)
// CHECK-COUNT-2: scf.forall.in_parallel
// CHECK-NOT: attn.projection
// CHECK: return
func.func @any(%x: tensor<?x?x64xbf16>, %w: tensor<4x32x32x2xbf16>,
               %y: tensor<?x?x128xf32>) -> tensor<?x?x128xf32> {
  %0 = attn.projection ins(%x, %w : tensor<?x?x64xbf16>, tensor<4x32x32x2xbf16>)
      outs(%y : tensor<?x?x128xf32>)
  return %0 : tensor<?x?x128xf32>
}

// -----

// Tiles of about the same size, though one of the most columns and a small one would
// be as many: 9 of 18 blocks each.
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0) -> (d0 * 288)>
// CHECK-LABEL: func.func @even_tiles(
// CHECK: scf.forall (%[[TILE:.*]]) in (2) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<1x100x576xf32>)
// CHECK: %[[COLUMN:.*]] = affine.apply #[[FIRST]](%[[TILE]])
// CHECK: tensor.extract_slice %[[OUT]][0, 0, %[[COLUMN]]] [1, 100, 288]
// CHECK: return
func.func @even_tiles(%x: tensor<1x100x64xbf16>, %w: tensor<18x32x32x2xbf16>,
                      %y: tensor<1x100x576xf32>) -> tensor<1x100x576xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xbf16>, tensor<18x32x32x2xbf16>)
      outs(%y : tensor<1x100x576xf32>)
  return %0 : tensor<1x100x576xf32>
}

// -----

// The same of rows: 86 packs of 6 are twice 43.
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0) -> (d0 * 258)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0) -> (d0 * -258 + 512, 258)>
// CHECK-LABEL: func.func @even_rows(
// CHECK: scf.forall (%[[TILE:.*]]) in (2) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<1x512x64xf32>)
// CHECK-DAG: affine.apply #[[ROW]](%[[TILE]])
// CHECK-DAG: affine.min #[[ROWS]](%[[TILE]])
// CHECK: return
func.func @even_rows(%x: tensor<1x512x64xf32>, %w: tensor<64x64xf32>,
                     %y: tensor<1x512x64xf32>) -> tensor<1x512x64xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x512x64xf32>, tensor<64x64xf32>)
      outs(%y : tensor<1x512x64xf32>)
  return %0 : tensor<1x512x64xf32>
}

// -----

// The same of whole heads: 5 of them and 4, of 2 blocks each.
// CHECK-DAG: #[[BLOCKS:.*]] = affine_map<(d0) -> (d0 * -10 + 18, 10)>
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0) -> (d0 * 5)>
// CHECK-LABEL: func.func @even_heads(
// CHECK: scf.forall (%[[TILE:.*]]) in (2) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<1x9x100x64xf32>)
// CHECK: affine.min #[[BLOCKS]](%[[TILE]])
// CHECK: %[[HEAD:.*]] = affine.apply #[[FIRST]](%[[TILE]])
// CHECK: tensor.extract_slice %[[OUT]][0, %[[HEAD]], 0, 0] [1, %{{.*}}, 100, 64]
// CHECK: return
func.func @even_heads(%x: tensor<1x100x64xbf16>, %w: tensor<18x32x32x2xbf16>,
                      %y: tensor<1x9x100x64xf32>) -> tensor<1x9x100x64xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xbf16>, tensor<18x32x32x2xbf16>)
      outs(%y : tensor<1x9x100x64xf32>)
  return %0 : tensor<1x9x100x64xf32>
}

// -----

// One tile has more columns where an input has parts, which are more bytes.
// CHECK-LABEL: func.func @wide_tile_of_parts(
// CHECK: scf.forall {{.*}} -> (tensor<4x2x3x32x32xbf16>)
// CHECK: tensor.empty() : tensor<32x32xf32>
// CHECK-NOT: scf.forall
// CHECK: return
func.func @wide_tile_of_parts(%x: tensor<1x100x64xf32>, %w: tensor<18x32x32x2xbf16>,
                              %y: tensor<1x100x576xf32>) -> tensor<1x100x576xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xf32>, tensor<18x32x32x2xbf16>)
      outs(%y : tensor<1x100x576xf32>)
  return %0 : tensor<1x100x576xf32>
}

// -----

// f32 times pairs of bf16: three parts of bf16 are packed, and multiplied by the
// same columns in one product.
// CHECK-LABEL: func.func @parts(
// CHECK: %[[PACKS:.*]] = scf.forall {{.*}} -> (tensor<4x2x3x32x32xbf16>)
// CHECK: arith.bitcast
// CHECK: arith.andi
// CHECK: arith.bitcast
// CHECK: arith.cmpf oeq
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: scf.forall.in_parallel
// CHECK: %[[PACK:.*]] = tensor.extract_slice %[[PACKS]][%{{.*}}, 0, 0, 0, 0] [1, 2, 3, 32, 32]
// CHECK: %[[PAIRS:.*]] = tensor.expand_shape %[[PACK]]
// CHECK: linalg.generic {{.*}} ins(%[[PAIRS]], %{{.*}} : tensor<2x3x32x16x2xbf16>, tensor<2x16x64x2xbf16>)
// CHECK-NOT: linalg.generic {{.*}} ins(%[[PAIRS]]
// CHECK: return
func.func @parts(%x: tensor<1x100x64xf32>, %w: tensor<2x32x64x2xbf16>,
                 %y: tensor<1x100x128xf32>) -> tensor<1x100x128xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xf32>, tensor<2x32x64x2xbf16>)
      outs(%y : tensor<1x100x128xf32>)
  return %0 : tensor<1x100x128xf32>
}

// -----

// One row of f16 has no parts, but is multiplied in f32 by the pairs.
// CHECK-LABEL: func.func @few_parts(
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: scf.forall
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x2x16x2xf32>, tensor<2x16x64x2xbf16>) outs(%{{.*}} : tensor<1x64xf32>)
// CHECK: scf.forall.in_parallel
// CHECK: return
func.func @few_parts(%x: tensor<1x1x64xf16>, %w: tensor<2x32x64x2xbf16>,
                     %y: tensor<1x1x128xf16>) -> tensor<1x1x128xf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x1x64xf16>, tensor<2x32x64x2xbf16>)
      outs(%y : tensor<1x1x128xf16>)
  return %0 : tensor<1x1x128xf16>
}

// -----

// A head that ends within a vector is a tile.
// CHECK-LABEL: func.func @heads
// CHECK: tensor.extract_slice %{{.*}} [16, 72] [1, 1]
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x72xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}} : tensor<4x72xf32> into tensor<1x2x4x72xf32>
// CHECK-NOT: attn.projection
// CHECK: return
func.func @heads(%x: tensor<1x4x16xf32>, %w: tensor<16x144xf32>,
                 %y: tensor<1x2x4x72xf32>) -> tensor<1x2x4x72xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x4x16xf32>, tensor<16x144xf32>)
      outs(%y : tensor<1x2x4x72xf32>)
  return %0 : tensor<1x2x4x72xf32>
}

// -----

func.func @long_heads(%x: tensor<1x4x16xf32>, %w: tensor<16x514xf32>,
                      %y: tensor<1x2x4x257xf32>) -> tensor<1x2x4x257xf32> {
  // expected-remark@+1 {{is lowered by the reference path, because its panels or long heads do not fill vectors}}
  %0 = attn.projection ins(%x, %w : tensor<1x4x16xf32>, tensor<16x514xf32>)
      outs(%y : tensor<1x2x4x257xf32>)
  return %0 : tensor<1x2x4x257xf32>
}

// -----

func.func @too_many(%x: tensor<2x4611686018427387904x16xf32>, %w: tensor<16x16xf32>,
                    %y: tensor<2x4611686018427387904x16xf32>)
    -> tensor<2x4611686018427387904x16xf32> {
  // expected-remark@+1 {{is lowered by the reference path, because it has more rows than an index counts}}
  %0 = attn.projection
      ins(%x, %w : tensor<2x4611686018427387904x16xf32>, tensor<16x16xf32>)
      outs(%y : tensor<2x4611686018427387904x16xf32>)
  return %0 : tensor<2x4611686018427387904x16xf32>
}

// -----

func.func @f64(%x: tensor<1x4x16xf64>, %w: tensor<16x16xf64>,
               %y: tensor<1x4x16xf64>) -> tensor<1x4x16xf64> {
  // expected-remark@+1 {{is lowered by the reference path, because its element type is f64}}
  %0 = attn.projection ins(%x, %w : tensor<1x4x16xf64>, tensor<16x16xf64>)
      outs(%y : tensor<1x4x16xf64>)
  return %0 : tensor<1x4x16xf64>
}

// -----

// Projections of one input read the same rows: one of pairs twice, whose packs of
// bf16 are not those of the one in f32.
// CHECK-LABEL: func.func @shared_rows(
// CHECK: %[[PAIRS:.*]] = scf.forall {{.*}} -> (tensor<4x2x1x32x32xbf16>)
// CHECK: tensor.extract_slice %[[PAIRS]]
// CHECK-NOT: -> (tensor<4x2x1x32x32xbf16>)
// CHECK: tensor.extract_slice %[[PAIRS]]
// CHECK: %[[ROWS:.*]] = scf.forall {{.*}} -> (tensor<17x64x6xf32>)
// CHECK: tensor.extract_slice %[[ROWS]]
// CHECK: return
func.func @shared_rows(%x: tensor<1x100x64xbf16>, %v: tensor<4x32x32x2xbf16>,
                       %w: tensor<64x128xbf16>, %y: tensor<1x100x128xbf16>)
    -> (tensor<1x100x128xbf16>, tensor<1x100x128xbf16>, tensor<1x100x128xbf16>) {
  %0 = attn.projection ins(%x, %v : tensor<1x100x64xbf16>, tensor<4x32x32x2xbf16>)
      outs(%y : tensor<1x100x128xbf16>)
  %1 = attn.projection ins(%x, %v : tensor<1x100x64xbf16>, tensor<4x32x32x2xbf16>)
      outs(%y : tensor<1x100x128xbf16>)
  %2 = attn.projection ins(%x, %w : tensor<1x100x64xbf16>, tensor<64x128xbf16>)
      outs(%y : tensor<1x100x128xbf16>)
  return %0, %1, %2
      : tensor<1x100x128xbf16>, tensor<1x100x128xbf16>, tensor<1x100x128xbf16>
}

// -----

// Rows of a block are not known in another.
// CHECK-LABEL: func.func @rows_of_blocks(
// CHECK: scf.if
// CHECK: scf.forall {{.*}} -> (tensor<17x64x6xf32>)
// CHECK: scf.forall {{.*}} -> (tensor<17x64x6xf32>)
// CHECK: return
func.func @rows_of_blocks(%x: tensor<1x100x64xf32>, %w: tensor<64x128xf32>,
                          %y: tensor<1x100x128xf32>, %which: i1)
    -> (tensor<1x100x128xf32>, tensor<1x100x128xf32>) {
  %0 = scf.if %which -> tensor<1x100x128xf32> {
    %1 = attn.projection ins(%x, %w : tensor<1x100x64xf32>, tensor<64x128xf32>)
        outs(%y : tensor<1x100x128xf32>)
    scf.yield %1 : tensor<1x100x128xf32>
  } else {
    scf.yield %y : tensor<1x100x128xf32>
  }
  %2 = attn.projection ins(%x, %w : tensor<1x100x64xf32>, tensor<64x128xf32>)
      outs(%y : tensor<1x100x128xf32>)
  return %0, %2 : tensor<1x100x128xf32>, tensor<1x100x128xf32>
}

// -----

// Rows of 1024 features in pairs stay in the second-level cache: all blocks of
// features of a panel go by before the next panel, with sums of that panel alone.
// CHECK-LABEL: func.func @rows_stay(
// CHECK-SAME: %{{[^:]*}}: tensor<1x100x1024xbf16>, %[[W:[^:]*]]: tensor<4x512x32x2xbf16>
// CHECK: %[[SUMS:.*]] = tensor.empty() : tensor<1x4x32x32xf32>
// CHECK: scf.for %[[PANEL:[^ ]*]] = %c0 to %c4 step %c1 iter_args(%{{[^ ]*}} = %[[SUMS]],
// CHECK: tensor.extract_slice %[[W]][%[[PANEL]], 0, 0, 0] [1, 256, 32, 2]
// CHECK: scf.for %{{[^ ]*}} = %c0 to %c4
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}} tensor<16x16x32x2xbf16>)
// CHECK: tensor.extract_slice %[[W]][%[[PANEL]], 256, 0, 0] [1, 256, 32, 2]
// CHECK: scf.for %{{[^ ]*}} = %c0 to %c4
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic {{.*}} tensor<16x16x32x2xbf16>)
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: return
func.func @rows_stay(%x: tensor<1x100x1024xbf16>, %w: tensor<4x512x32x2xbf16>,
                     %y: tensor<1x100x128xbf16>) -> tensor<1x100x128xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x1024xbf16>, tensor<4x512x32x2xbf16>)
      outs(%y : tensor<1x100x128xbf16>)
  return %0 : tensor<1x100x128xbf16>
}

// -----

// 256 rows of 4096 features do not stay: a block of features of all panels goes by
// before the next block.
// CHECK-LABEL: func.func @rows_go(
// CHECK-SAME: %{{[^:]*}}: tensor<1x256x4096xbf16>, %[[W:[^:]*]]: tensor<4x2048x32x2xbf16>
// CHECK: %[[SUMS:.*]] = tensor.empty() : tensor<4x8x32x32xf32>
// CHECK: scf.for %[[FIRST:[^ ]*]] = %c0 to %c4 step %c1 iter_args(%{{[^ ]*}} = %[[SUMS]])
// CHECK: tensor.extract_slice %[[W]][%[[FIRST]], 0, 0, 0] [1, 304, 32, 2]
// CHECK: scf.for %[[AT:[^ ]*]] = %c19 to %c114 step %c19
// CHECK: scf.for %[[PANEL:[^ ]*]] = %c0 to %c4
// CHECK: tensor.extract_slice %[[W]][%[[PANEL]], %{{.*}}, 0, 0] [1, 304, 32, 2]
// CHECK: return
func.func @rows_go(%x: tensor<1x256x4096xbf16>, %w: tensor<4x2048x32x2xbf16>,
                   %y: tensor<1x256x128xbf16>) -> tensor<1x256x128xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x256x4096xbf16>, tensor<4x2048x32x2xbf16>)
      outs(%y : tensor<1x256x128xbf16>)
  return %0 : tensor<1x256x128xbf16>
}
