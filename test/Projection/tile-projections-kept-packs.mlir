// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, bf16_dot = true, l2_bytes = 1048576}" -attn-plan -attn-tile-projections -canonicalize -mlir-print-local-scope | FileCheck %s

// Rows of a number that is not known, of 1 MB in a tile: tiles of the same rows and
// other columns find the packs of the tile before them.
// CHECK-LABEL: func.func @any(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x?x2048xbf16>
// CHECK: scf.forall (%[[ROW:.*]], %{{.*}}) in (%{{.*}}, 4)
// CHECK: %[[FIRST:.*]] = affine.apply affine_map<(d0) -> (d0 * 8)>(%[[ROW]])
// CHECK: %[[COUNT:.*]] = affine.min affine_map<(d0)[s0] -> (8, d0 * -8 + s0 ceildiv 32)>(%[[ROW]])
// CHECK: %[[PACKS:.*]], %[[FROM:.*]], %[[TO:.*]], %{{.*}} = attn.kept_packs[%[[FIRST]], %[[COUNT]]] : tensor<8x64x1x32x32xbf16>
// CHECK: %[[ALL:.*]] = scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %c1 iter_args(%[[ROOM:.*]] = %[[PACKS]])
// CHECK:   %[[P:.*]] = affine.apply affine_map<(d0, d1) -> (d0 - d1 * 8)>(%[[I]], %[[ROW]])
// CHECK:   tensor.extract_slice %[[ROOM]][%[[P]], 0, 0, 0, 0] [1, 64, 1, 32, 32]
// CHECK:   %[[AT:.*]] = affine.apply affine_map<(d0) -> (d0 * 32)>(%[[I]])
// CHECK:   tensor.extract_slice %[[X]][0, %[[AT]], 0]
// CHECK: scf.for %[[BLOCK:.*]] = %c0 to
// CHECK: scf.for %[[P:.*]] = %c0 to
// CHECK: tensor.extract_slice %[[ALL]][%[[P]], 0, 0, 0, 0]
// CHECK: scf.forall.in_parallel
func.func @any(%x: tensor<1x?x2048xbf16>, %w: tensor<64x1024x32x2xbf16>, %y: tensor<1x?x2048xbf16>) -> tensor<1x?x2048xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x?x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%y : tensor<1x?x2048xbf16>)
  return %0 : tensor<1x?x2048xbf16>
}

// -----

// All packs stay in the cache.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: attn.kept_packs
// CHECK: return
func.func @small(%x: tensor<1x288x2048xbf16>, %w: tensor<64x1024x32x2xbf16>, %y: tensor<1x288x2048xbf16>) -> tensor<1x288x2048xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x288x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%y : tensor<1x288x2048xbf16>)
  return %0 : tensor<1x288x2048xbf16>
}

// -----

// CHECK-LABEL: func.func @known(
// CHECK: attn.kept_packs
func.func @known(%x: tensor<1x1024x2048xbf16>, %w: tensor<64x1024x32x2xbf16>, %y: tensor<1x1024x2048xbf16>) -> tensor<1x1024x2048xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x1024x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%y : tensor<1x1024x2048xbf16>)
  return %0 : tensor<1x1024x2048xbf16>
}

// -----

// Tiles of 8 packs of more features do not stay in the cache.
// CHECK-LABEL: func.func @large(
// CHECK-NOT: attn.kept_packs
// CHECK: return
func.func @large(%x: tensor<1x?x4096xbf16>, %w: tensor<64x2048x32x2xbf16>, %y: tensor<1x?x2048xbf16>) -> tensor<1x?x2048xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x?x4096xbf16>, tensor<64x2048x32x2xbf16>)
      outs(%y : tensor<1x?x2048xbf16>)
  return %0 : tensor<1x?x2048xbf16>
}

// -----

// Two loops would pack the same rows.
// CHECK-LABEL: func.func @shared(
// CHECK-NOT: attn.kept_packs
// CHECK: return
func.func @shared(%x: tensor<1x?x2048xbf16>, %w: tensor<64x1024x32x2xbf16>, %v: tensor<64x1024x32x2xbf16>,
                  %y: tensor<1x?x2048xbf16>, %z: tensor<1x?x2048xbf16>)
    -> (tensor<1x?x2048xbf16>, tensor<1x?x2048xbf16>) {
  %0 = attn.projection ins(%x, %w : tensor<1x?x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%y : tensor<1x?x2048xbf16>)
  %1 = attn.projection ins(%x, %v : tensor<1x?x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%z : tensor<1x?x2048xbf16>)
  return %0, %1 : tensor<1x?x2048xbf16>, tensor<1x?x2048xbf16>
}

// -----

// The columns after the last whole block have a loop of their own.
// CHECK-LABEL: func.func @rest(
// CHECK-NOT: attn.kept_packs
// CHECK: return
func.func @rest(%x: tensor<1x?x2048xbf16>, %w: tensor<64x1024x32x2xbf16>, %y: tensor<1x?x2016xbf16>, %z: tensor<1x?x32xbf16>)
    -> (tensor<1x?x2016xbf16>, tensor<1x?x32xbf16>) {
  %0:2 = attn.projection ins(%x, %w : tensor<1x?x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%y, %z : tensor<1x?x2016xbf16>, tensor<1x?x32xbf16>)
  return %0#0, %0#1 : tensor<1x?x2016xbf16>, tensor<1x?x32xbf16>
}

// -----

// What a tile packs would have been written by others.
// CHECK-LABEL: func.func @in_place(
// CHECK-NOT: attn.kept_packs
// CHECK: return
func.func @in_place(%x: tensor<1x?x2048xbf16>, %w: tensor<64x1024x32x2xbf16>) -> tensor<1x?x2048xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x?x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%x : tensor<1x?x2048xbf16>)
  return %0 : tensor<1x?x2048xbf16>
}

// -----

// Products of f32 take longer than what they wait for.
// CHECK-LABEL: func.func @f32(
// CHECK-NOT: attn.kept_packs
// CHECK: return
func.func @f32(%x: tensor<1x?x512xf32>, %w: tensor<512x512xf32>, %y: tensor<1x?x512xf32>) -> tensor<1x?x512xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x?x512xf32>, tensor<512x512xf32>)
      outs(%y : tensor<1x?x512xf32>)
  return %0 : tensor<1x?x512xf32>
}

// -----

// A gate and what it opens are multiplied in the same tiles, by the same packs.
// CHECK-LABEL: func.func @gated(
// CHECK: attn.kept_packs
// CHECK-NOT: attn.kept_packs
// CHECK: return
func.func @gated(%x: tensor<1x?x2048xbf16>, %w: tensor<64x1024x32x2xbf16>, %v: tensor<64x1024x32x2xbf16>,
                 %y: tensor<1x?x2048xbf16>) -> tensor<1x?x2048xbf16> {
  %gate = attn.projection ins(%x, %w : tensor<1x?x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%y : tensor<1x?x2048xbf16>)
  %up = attn.projection ins(%x, %v : tensor<1x?x2048xbf16>, tensor<64x1024x32x2xbf16>)
      outs(%y : tensor<1x?x2048xbf16>)
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>,
                                        affine_map<(a, b, c) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%gate, %up : tensor<1x?x2048xbf16>, tensor<1x?x2048xbf16>) outs(%y : tensor<1x?x2048xbf16>) {
  ^bb0(%g: bf16, %u: bf16, %o: bf16):
    %p = arith.mulf %g, %u : bf16
    linalg.yield %p : bf16
  } -> tensor<1x?x2048xbf16>
  return %0 : tensor<1x?x2048xbf16>
}
