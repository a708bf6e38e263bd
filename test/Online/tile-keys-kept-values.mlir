// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, bf16_dot = true}" -attn-plan -attn-tile-attention \
// RUN:   -attn-attention-to-online -attn-tile-keys \
// RUN:   -canonicalize -cse -mlir-print-local-scope | FileCheck %s

// What a tile sees begins further on for each tile: it packs the values that the
// tile before it did not see, from a multiple of 32 keys on. The rows of the pack
// after the one that is packed are fetched. Two packs of a block are side by side
// where the first place of the ring comes again after the last.
// CHECK-LABEL: func.func @window(
// CHECK-SAME: %{{[^:]*}}: tensor<2x4x?x16xbf16>, %{{[^:]*}}: tensor<2x4x?x16xbf16>, %[[V:[^:]*]]: tensor<2x4x?x24xbf16>
// CHECK-NOT: linalg.pack
// CHECK: %[[LENGTH:.*]] = tensor.dim %[[V]], %c2
// CHECK: %[[MOST:.*]] = affine.apply affine_map<()[s0] -> (s0 ceildiv 32)>()[%[[LENGTH]]]
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) = (0, 0, 0)
// CHECK: %[[HEAD:.*]] = tensor.extract_slice %[[V]][%[[B]], %[[H]], 0, 0]
// CHECK: %[[ROWS:.*]] = tensor.extract_slice %[[HEAD]]{{.*}} to tensor<?x24xbf16>
// CHECK: %[[LOW:.*]] = arith.andi %{{.*}}, %c-32
// CHECK: %[[COUNT:.*]] = arith.subi %{{.*}}, %[[LOW]]
// CHECK: %[[FIRST:.*]] = affine.apply affine_map<()[s0] -> (s0 floordiv 32)>()[%[[LOW]]]
// CHECK: %[[PACKS:.*]], %[[FROM:.*]], %[[TO:.*]], %[[CAPACITY:.*]] = attn.kept_packs[%[[FIRST]], %{{.*}}] of(%[[B]], %[[H]]) most(%[[MOST]]) overlap 1 : tensor<?x24x32xbf16>
// CHECK: %[[START:.*]] = arith.remui %[[FIRST]], %[[CAPACITY]]
// CHECK: %[[RING:.*]] = scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %c1 iter_args(%[[ROOM:.*]] = %[[PACKS]])
// CHECK:   %[[ROW:.*]] = affine.apply affine_map<()[s0] -> (s0 * 32)>()[%[[I]]]
// CHECK:   %[[NUM_ROWS:.*]] = affine.min
// CHECK:   %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK:   %[[NEXT_ROW:.*]] = arith.muli %[[NEXT]], %c32
// CHECK:   attn.prefetch %[[ROWS]][%[[NEXT_ROW]]] to %{{.*}} : tensor<?x24xbf16>
// CHECK:   %[[PART:.*]] = tensor.extract_slice %[[ROWS]][%[[ROW]], 0] [%[[NUM_ROWS]], 24]
// CHECK:   %[[PLACE:.*]] = arith.select
// CHECK:   %[[IS_FIRST:.*]] = arith.cmpi slt, %[[PLACE]], %c1
// CHECK:   %[[PLACES:.*]] = arith.select %[[IS_FIRST]], %c2, %c1
// CHECK:   scf.for %[[N:.*]] = %c0 to %[[PLACES]] step %c1
// CHECK:     %[[PAST:.*]] = arith.muli %[[N]], %[[CAPACITY]]
// CHECK:     %[[AT:.*]] = arith.addi %[[PLACE]], %[[PAST]]
// CHECK:     linalg.pack %[[PART]] padding_value({{.*}}) inner_dims_pos = [0] inner_tiles = [32]
// CHECK:     tensor.insert_slice %{{.*}} into %{{.*}}[%[[AT]], 0, 0]
// CHECK: scf.while
// CHECK: scf.for %[[J:.*]] = %c0 to %[[COUNT]] step %c64
// CHECK: %[[N:.*]] = arith.divui %[[J]], %c32
// CHECK: %[[AFTER:.*]] = arith.addi %[[START]], %[[N]]
// CHECK: %[[PLACE:.*]] = arith.select %{{.*}}, %[[AFTER]], %{{.*}}
// CHECK: %[[BLOCK:.*]] = tensor.extract_slice %[[RING]][%[[PLACE]], 0, 0]
// CHECK: attn.online_attention layout<pairs> packed_values {{.*}}ins(%{{.*}}, %{{.*}}, %[[BLOCK]] :
func.func @window(%q: tensor<2x4x?x16xbf16>, %k: tensor<2x4x?x16xbf16>, %v: tensor<2x4x?x24xbf16>, %o: tensor<2x4x?x24xbf16>) -> tensor<2x4x?x24xbf16> {
  %r = attn.attention ins(%q, %k, %v : tensor<2x4x?x16xbf16>, tensor<2x4x?x16xbf16>, tensor<2x4x?x24xbf16>)
      outs(%o : tensor<2x4x?x24xbf16>) mask causal, sliding_window(255, 0)
  return %r : tensor<2x4x?x24xbf16>
}

// -----

// Which page rows are on is looked up for each pack: those of the next one are not
// fetched. Only the last pack is padded.
// CHECK-LABEL: func.func @pages(
// CHECK: attn.kept_packs
// CHECK: scf.for
// CHECK-NOT: attn.prefetch
// CHECK: scf.if
// CHECK: tensor.extract %
// CHECK: linalg.transpose
// CHECK: else
// CHECK: linalg.fill
// CHECK: linalg.transpose
// CHECK: scf.while
// CHECK: return
func.func @pages(%q: tensor<1x2x64x32xbf16>, %keys: tensor<?x2x64x32xbf16>, %values: tensor<?x2x64x32xbf16>,
                 %table: tensor<1x?xi32>, %lengths: tensor<1xi32>, %n: index, %o: tensor<1x2x64x32xbf16>) -> tensor<1x2x64x32xbf16> {
  %k = attn.cache_read ins(%keys : tensor<?x2x64x32xbf16>) lengths(%lengths : tensor<1xi32>) table(%table : tensor<1x?xi32>) size(%n) -> tensor<1x2x?x32xbf16>
  %v = attn.cache_read ins(%values : tensor<?x2x64x32xbf16>) lengths(%lengths : tensor<1xi32>) table(%table : tensor<1x?xi32>) size(%n) -> tensor<1x2x?x32xbf16>
  %r = attn.attention ins(%q, %k, %v : tensor<1x2x64x32xbf16>, tensor<1x2x?x32xbf16>, tensor<1x2x?x32xbf16>)
      outs(%o : tensor<1x2x64x32xbf16>) mask sliding_window(100, 0)
  return %r : tensor<1x2x64x32xbf16>
}

// -----

// What begins at the first key for every tile is packed once for all.
// CHECK-LABEL: func.func @causal(
// CHECK: linalg.pack
// CHECK: scf.forall
// CHECK-NOT: attn.kept_packs
// CHECK: return
func.func @causal(%q: tensor<2x4x?x16xbf16>, %k: tensor<2x4x?x16xbf16>, %v: tensor<2x4x?x24xbf16>, %o: tensor<2x4x?x24xbf16>) -> tensor<2x4x?x24xbf16> {
  %r = attn.attention ins(%q, %k, %v : tensor<2x4x?x16xbf16>, tensor<2x4x?x16xbf16>, tensor<2x4x?x24xbf16>)
      outs(%o : tensor<2x4x?x24xbf16>) mask causal
  return %r : tensor<2x4x?x24xbf16>
}
