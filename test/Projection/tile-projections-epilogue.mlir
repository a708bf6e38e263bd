// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, bf16_dot = true, bf16_tiles = true}" -attn-plan -attn-tile-projections -canonicalize -mlir-print-local-scope | FileCheck %s

#all = affine_map<(b, i, j) -> (b, i, j)>
#columns = affine_map<(b, i, j) -> (j)>

// A residual and factors of columns are read where sums are stored, of few rows and of
// many, and nothing of the projection is stored without them.
// CHECK-LABEL: func.func @residual(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x?x64xbf16>, %[[W:[^:]*]]: tensor<4x32x32x2xbf16>, %[[R:[^:]*]]: tensor<1x?x128xf32>, %[[F:[^:]*]]: tensor<128xf32>
// CHECK: %[[OUT:.*]] = tensor.empty(%{{.*}}) : tensor<1x?x128xf32>
// CHECK: %[[FEW:.*]] = scf.forall {{.*}} shared_outs(%{{.*}} = %[[OUT]])
// CHECK: tensor.extract_slice %[[R]][0, 0, %{{.*}}] [1, %{{.*}}, 32] [1, 1, 1] : tensor<1x?x128xf32> to tensor<?x32xf32>
// CHECK: tensor.extract_slice %[[F]][%{{.*}}] [32] [1]
// CHECK: %[[MANY:.*]] = scf.forall (%[[TILE:[^ ]*]]) in {{.*}} shared_outs(%{{.*}} = %[[FEW]])
// CHECK: attn.kept_packs{{.*}} : tensor<8x2x1x32x32xbf16>
// CHECK: scf.for %[[BLOCK:[^ ]*]] = %c0 to %c4
// CHECK: scf.for %[[PACK:[^ ]*]] =
// CHECK-DAG: %[[ROW:.*]] = affine.apply affine_map<(d0, d1) -> (d0 * 256 + d1 * 32)>(%[[TILE]], %[[PACK]])
// CHECK-DAG: %[[ROWS:.*]] = tensor.extract_slice %[[R]][0, %[[ROW]], %{{.*}}] [1, %{{.*}}, 32] [1, 1, 1] : tensor<1x?x128xf32> to tensor<?x32xf32>
// CHECK-DAG: %[[PART:.*]] = tensor.extract_slice %[[F]][%{{.*}}] [32] [1]
// CHECK: linalg.generic
// CHECK-SAME: indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: ins(%{{.*}}, %[[ROWS]], %[[PART]] :
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: scf.forall.in_parallel
// CHECK-NEXT: parallel_insert_slice
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: return %[[MANY]]
func.func @residual(%x: tensor<1x?x64xbf16>, %w: tensor<4x32x32x2xbf16>,
                    %r: tensor<1x?x128xf32>, %f: tensor<128xf32>)
    -> tensor<1x?x128xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<1x?x64xbf16>
  %init = tensor.empty(%n) : tensor<1x?x128xf32>
  %y = attn.projection ins(%x, %w : tensor<1x?x64xbf16>, tensor<4x32x32x2xbf16>)
      outs(%init : tensor<1x?x128xf32>)
  %rows = tensor.dim %y, %c1 : tensor<1x?x128xf32>
  %out = tensor.empty(%rows) : tensor<1x?x128xf32>
  %sum = linalg.generic {indexing_maps = [#all, #all, #columns, #all],
                         iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r, %y, %f : tensor<1x?x128xf32>, tensor<1x?x128xf32>, tensor<128xf32>)
      outs(%out : tensor<1x?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %unused: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<1x?x128xf32>
  return %sum : tensor<1x?x128xf32>
}

// -----

#heads = affine_map<(b, h, i, j) -> (b, h, i, j)>
#rows = affine_map<(b, h, i, j) -> (b, i)>

// Into heads, with a number for each row. A result of bf16 is rounded before.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: %[[R:[^:]*]]: tensor<2x20xf32>
// CHECK: tensor.extract_slice %[[R]][%{{.*}}, %{{.*}}] [1, 1] [1, 1] : tensor<2x20xf32> to tensor<1xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK: arith.truncf
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK-NOT: tensor<2x2x20x32xbf16>
// CHECK: return
func.func @heads(%r: tensor<2x20xf32>, %x: tensor<2x20x64xbf16>,
                 %w: tensor<2x32x32x2xbf16>) -> tensor<2x2x20x32xf32> {
  %init = tensor.empty() : tensor<2x2x20x32xbf16>
  %y = attn.projection ins(%x, %w : tensor<2x20x64xbf16>, tensor<2x32x32x2xbf16>)
      outs(%init : tensor<2x2x20x32xbf16>)
  %out = tensor.empty() : tensor<2x2x20x32xf32>
  %0 = linalg.generic {
      indexing_maps = [#heads, #rows, #heads],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %r : tensor<2x2x20x32xbf16>, tensor<2x20xf32>)
      outs(%out : tensor<2x2x20x32xf32>) {
  ^bb0(%a: bf16, %b: f32, %unused: f32):
    %1 = arith.extf %a : bf16 to f32
    %2 = arith.mulf %1, %b : f32
    linalg.yield %2 : f32
  } -> tensor<2x2x20x32xf32>
  return %0 : tensor<2x2x20x32xf32>
}

// -----

#all = affine_map<(b, i, j) -> (b, i, j)>

// A gate and what it opens are computed block by block, the gate's into a tensor of a
// block. The projection of the same rows in between does with them.
// CHECK-LABEL: func.func @gate(
// CHECK-SAME: %[[W:[^:]*]]: tensor<16x32x32x2xbf16>, %[[V:[^:]*]]: tensor<16x32x32x2xbf16>
// CHECK: scf.forall {{.*}} -> (tensor<10x2x1x32x32xbf16>)
// CHECK-NOT: -> (tensor<10x2x1x32x32xbf16>)
// CHECK: scf.forall {{.*}} -> (tensor<1x300x32xf32>)
// CHECK: scf.forall
// CHECK: scf.for %[[BLOCK:[^ ]*]] = %c0 to %c16
// CHECK: %[[LOCAL:.*]] = tensor.empty() : tensor<1x160x32xbf16>
// CHECK: tensor.extract_slice %[[W]][%[[BLOCK]],
// CHECK: %[[GATE:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[LOCAL]])
// CHECK: tensor.extract_slice %[[V]][%[[BLOCK]],
// CHECK: tensor.extract_slice %[[GATE]]#1[0, %{{.*}}, 0] [1, %{{.*}}, 32]
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @gate(%w: tensor<16x32x32x2xbf16>, %v: tensor<16x32x32x2xbf16>,
                %x: tensor<1x300x64xbf16>, %u: tensor<1x32x32x2xbf16>)
    -> (tensor<1x300x512xbf16>, tensor<1x300x32xf32>) {
  %init = tensor.empty() : tensor<1x300x512xbf16>
  %gate = attn.projection ins(%x, %w : tensor<1x300x64xbf16>, tensor<16x32x32x2xbf16>)
      outs(%init : tensor<1x300x512xbf16>)
  %init1 = tensor.empty() : tensor<1x300x32xf32>
  %other = attn.projection ins(%x, %u : tensor<1x300x64xbf16>, tensor<1x32x32x2xbf16>)
      outs(%init1 : tensor<1x300x32xf32>)
  %up = attn.projection ins(%x, %v : tensor<1x300x64xbf16>, tensor<16x32x32x2xbf16>)
      outs(%init : tensor<1x300x512xbf16>)
  %0 = linalg.generic {indexing_maps = [#all, #all, #all],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%gate, %up : tensor<1x300x512xbf16>, tensor<1x300x512xbf16>)
      outs(%init : tensor<1x300x512xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %unused: bf16):
    %1 = arith.mulf %a, %b : bf16
    linalg.yield %1 : bf16
  } -> tensor<1x300x512xbf16>
  return %0, %other : tensor<1x300x512xbf16>, tensor<1x300x32xf32>
}

// -----

#all = affine_map<(b, i, j) -> (b, i, j)>

// Of other rows, a gate is a projection by itself.
// CHECK-LABEL: func.func @other_rows(
// CHECK: scf.forall {{.*}} -> (tensor<10x2x1x32x32xbf16>)
// CHECK: scf.forall {{.*}} -> (tensor<1x300x32xbf16>)
// CHECK: scf.forall {{.*}} -> (tensor<10x3x1x32x32xbf16>)
// CHECK: scf.forall {{.*}} -> (tensor<1x300x32xbf16>)
// CHECK: arith.mulf %{{.*}} : bf16
// CHECK: return
func.func @other_rows(%w: tensor<1x32x32x2xbf16>, %v: tensor<1x48x32x2xbf16>,
                      %x: tensor<1x300x64xbf16>, %z: tensor<1x300x96xbf16>)
    -> tensor<1x300x32xbf16> {
  %init = tensor.empty() : tensor<1x300x32xbf16>
  %gate = attn.projection ins(%x, %w : tensor<1x300x64xbf16>, tensor<1x32x32x2xbf16>)
      outs(%init : tensor<1x300x32xbf16>)
  %init1 = tensor.empty() : tensor<1x300x32xbf16>
  %up = attn.projection ins(%z, %v : tensor<1x300x96xbf16>, tensor<1x48x32x2xbf16>)
      outs(%init1 : tensor<1x300x32xbf16>)
  %0 = linalg.generic {indexing_maps = [#all, #all, #all],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%gate, %up : tensor<1x300x32xbf16>, tensor<1x300x32xbf16>)
      outs(%init : tensor<1x300x32xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %unused: bf16):
    %1 = arith.mulf %a, %b : bf16
    linalg.yield %1 : bf16
  } -> tensor<1x300x32xbf16>
  return %0 : tensor<1x300x32xbf16>
}

// -----

#all = affine_map<(b, i, j) -> (b, i, j)>
#turned = affine_map<(b, i, j) -> (b, j, i)>

// Not what is read elsewhere too, what an element needs others of, what is added to in
// place, what asks for its place, or columns of what lies in rows.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-4: linalg.generic {{.*}} : tensor<1x32x32xf32>
// CHECK: return
func.func @others(%x: tensor<1x32x32xf32>, %w: tensor<32x32xf32>)
    -> (tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>,
        tensor<1x32x32xf32>, tensor<1x32x32xf32>) {
  %init = tensor.empty() : tensor<1x32x32xf32>
  %twice = attn.projection ins(%x, %w : tensor<1x32x32xf32>, tensor<32x32xf32>)
      outs(%init : tensor<1x32x32xf32>)
  %0 = linalg.generic {indexing_maps = [#all, #all],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%twice : tensor<1x32x32xf32>) outs(%init : tensor<1x32x32xf32>) {
  ^bb0(%a: f32, %unused: f32):
    %5 = arith.negf %a : f32
    linalg.yield %5 : f32
  } -> tensor<1x32x32xf32>
  %turned = attn.projection ins(%x, %w : tensor<1x32x32xf32>, tensor<32x32xf32>)
      outs(%init : tensor<1x32x32xf32>)
  %1 = linalg.generic {indexing_maps = [#all, #turned, #all],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%turned, %x : tensor<1x32x32xf32>, tensor<1x32x32xf32>)
      outs(%init : tensor<1x32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %unused: f32):
    %5 = arith.addf %a, %b : f32
    linalg.yield %5 : f32
  } -> tensor<1x32x32xf32>
  %added = attn.projection ins(%x, %w : tensor<1x32x32xf32>, tensor<32x32xf32>)
      outs(%init : tensor<1x32x32xf32>)
  %2 = linalg.generic {indexing_maps = [#all, #all],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%added : tensor<1x32x32xf32>) outs(%x : tensor<1x32x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %5 = arith.addf %a, %b : f32
    linalg.yield %5 : f32
  } -> tensor<1x32x32xf32>
  %placed = attn.projection ins(%x, %w : tensor<1x32x32xf32>, tensor<32x32xf32>)
      outs(%init : tensor<1x32x32xf32>)
  %3 = linalg.generic {indexing_maps = [#all, #all],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%placed : tensor<1x32x32xf32>) outs(%init : tensor<1x32x32xf32>) {
  ^bb0(%a: f32, %unused: f32):
    %5 = linalg.index 1 : index
    %6 = arith.index_cast %5 : index to i32
    %7 = arith.sitofp %6 : i32 to f32
    %8 = arith.addf %a, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<1x32x32xf32>
  return %twice, %0, %1, %2, %3
      : tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>,
        tensor<1x32x32xf32>, tensor<1x32x32xf32>
}
