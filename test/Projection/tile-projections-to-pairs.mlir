// RUN: attn-opt %s --attn-target="{vector_bits = 512, bf16_dot = true, bf16_tiles = true}" -attn-plan -attn-tile-projections -canonicalize \
// RUN:   | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 512, bf16_dot = true}" -attn-plan -attn-tile-projections -canonicalize \
// RUN:   | FileCheck %s --check-prefix=VECTORS
// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-plan -attn-tile-projections -canonicalize \
// RUN:   | FileCheck %s --check-prefix=NONE

// NONE-NOT: 32x16x2

// Panels of i8 become pairs of bf16 for many rows of bf16, blocks of at most 256
// features at a time.
// CHECK-LABEL: func.func @integers(
// CHECK-SAME: %{{[^:]*}}: tensor<1x100x576xbf16>, %[[W:[^:]*]]: tensor<2x576x64xi8>
// CHECK: %[[PAIRS:.*]] = scf.forall (%[[P:.*]], %[[K:.*]]) in (2, 3) {{.*}} -> (tensor<2x288x64x2xbf16>)
// CHECK: %[[TO:.*]] = tensor.extract_slice %{{.*}}[%[[P]], %{{.*}}, 0, 0] [1, 96, 64, 2]
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[W]][%[[P]], %{{.*}}, 0] [1, 192, 64]
// CHECK: %[[ROWS:.*]] = tensor.expand_shape %[[PART]] {{.*}} into tensor<96x2x64xi8>
// CHECK: linalg.generic {{.*}} ins(%[[ROWS]] : tensor<96x2x64xi8>) outs(%[[TO]] : tensor<96x64x2xbf16>)
// CHECK: arith.sitofp %{{.*}} : i8 to bf16
// CHECK: tensor.extract_slice %[[PAIRS]]
// CHECK: linalg.generic {{.*}} : tensor<18x32x16x2xbf16>, tensor<18x16x64x2xbf16>)
// CHECK: return

// VECTORS-LABEL: func.func @integers(
// VECTORS: scf.forall {{.*}} -> (tensor<2x288x64x2xbf16>)
// VECTORS: tensor<18x32x16x2xbf16>, tensor<18x16x64x2xbf16>)
// VECTORS: return
func.func @integers(%x: tensor<1x100x576xbf16>, %w: tensor<2x576x64xi8>,
                    %s: tensor<128xf32>, %y: tensor<1x100x128xbf16>)
    -> tensor<1x100x128xbf16> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x576xbf16>, tensor<2x576x64xi8>)
      outs(%y : tensor<1x100x128xbf16>) scales(%s : tensor<128xf32>)
  return %0 : tensor<1x100x128xbf16>
}

// So they do for the parts of f32, if tiles multiply them.
// CHECK-LABEL: func.func @parts(
// CHECK: scf.forall {{.*}} -> (tensor<4x2x3x32x32xbf16>)
// CHECK: scf.forall {{.*}} -> (tensor<2x32x64x2xbf16>)
// CHECK: tensor<2x3x32x16x2xbf16>, tensor<2x16x64x2xbf16>)
// CHECK: return

// VECTORS-LABEL: func.func @parts(
// VECTORS-NOT: bf16
// VECTORS: return
func.func @parts(%x: tensor<1x100x64xf32>, %w: tensor<2x64x64xi8>,
                 %s: tensor<128xf32>, %y: tensor<1x100x128xf32>)
    -> tensor<1x100x128xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xf32>, tensor<2x64x64xi8>)
      outs(%y : tensor<1x100x128xf32>) scales(%s : tensor<128xf32>)
  return %0 : tensor<1x100x128xf32>
}

// Integers in pairs, and bf16 that is in none.
// CHECK-LABEL: func.func @pairs_of_integers(
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<32x64x2xi8>) outs(%{{.*}} : tensor<32x64x2xbf16>)
// CHECK: return
func.func @pairs_of_integers(%x: tensor<1x100x64xbf16>, %w: tensor<2x32x64x2xi8>,
                             %s: tensor<128xf32>, %y: tensor<1x100x128xf32>)
    -> tensor<1x100x128xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xbf16>, tensor<2x32x64x2xi8>)
      outs(%y : tensor<1x100x128xf32>) scales(%s : tensor<128xf32>)
  return %0 : tensor<1x100x128xf32>
}

// CHECK-LABEL: func.func @panels(
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<32x2x64xbf16>) outs(%{{.*}} : tensor<32x64x2xbf16>)
// CHECK: return
func.func @panels(%x: tensor<1x100x64xbf16>, %w: tensor<2x64x64xbf16>,
                  %y: tensor<1x100x128xf32>) -> tensor<1x100x128xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xbf16>, tensor<2x64x64xbf16>)
      outs(%y : tensor<1x100x128xf32>)
  return %0 : tensor<1x100x128xf32>
}

// Few rows read the integers where they lie, and convert no panel. Where there are no tiles,
// it takes more rows to pay for that.
// VECTORS-LABEL: func.func @any(
// VECTORS: arith.cmpi ule, %{{.*}}, %c64 : index
// CHECK-LABEL: func.func @any(
// CHECK-SAME: %{{[^:]*}}: tensor<1x?x64xbf16>, %[[W:[^:]*]]: tensor<2x64x64xi8>
// CHECK: arith.cmpi ule, %{{.*}}, %c16 : index
// CHECK-DAG: %[[MANY:.*]] = arith.select %{{.*}}, %c0, %{{.*}} : index
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<64x64xi8>)
// CHECK: %[[N:.*]] = affine.min #{{.*}}()[%[[MANY]]]
// CHECK: tensor.empty(%[[N]]) : tensor<?x32x64x2xbf16>
// CHECK: scf.forall (%{{.*}}) in (%[[N]])
// CHECK: return
func.func @any(%x: tensor<1x?x64xbf16>, %w: tensor<2x64x64xi8>,
               %s: tensor<128xf32>, %y: tensor<1x?x128xf32>)
    -> tensor<1x?x128xf32> {
  %0 = attn.projection ins(%x, %w : tensor<1x?x64xbf16>, tensor<2x64x64xi8>)
      outs(%y : tensor<1x?x128xf32>) scales(%s : tensor<128xf32>)
  return %0 : tensor<1x?x128xf32>
}

// Weights without panels, and features that do not fill tiles.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: bf16
// CHECK: return
func.func @others(%x: tensor<1x100x64xf32>, %w: tensor<64x64xi8>,
                  %v: tensor<1x48x64xi8>, %s: tensor<64xf32>,
                  %y: tensor<1x100x64xf32>, %z: tensor<1x100x48xf32>)
    -> (tensor<1x100x64xf32>, tensor<1x100x64xf32>) {
  %0 = attn.projection ins(%x, %w : tensor<1x100x64xf32>, tensor<64x64xi8>)
      outs(%y : tensor<1x100x64xf32>) scales(%s : tensor<64xf32>)
  %1 = attn.projection ins(%z, %v : tensor<1x100x48xf32>, tensor<1x48x64xi8>)
      outs(%y : tensor<1x100x64xf32>) scales(%s : tensor<64xf32>)
  return %0, %1 : tensor<1x100x64xf32>, tensor<1x100x64xf32>
}
