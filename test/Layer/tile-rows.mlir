// RUN: attn-opt %s -attn-tile-rows -canonicalize -cse -mlir-print-local-scope | FileCheck %s

#rows = affine_map<(i, j) -> (i, j)>
#sums = affine_map<(i, j) -> (i)>

// A sum of tensors, its rows' squares and what is divided by them are one loop. Only
// the sum, which others read, is written as a whole.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME: %[[X:.*]]: tensor<?x576xf32>, %[[Y:.*]]: tensor<?x576xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]]
// CHECK-NOT: linalg
// CHECK: %[[R:.*]]:2 = scf.forall (%[[I:.*]]) = (0) to (%[[N]]) step (16)
// CHECK-SAME: shared_outs(%[[SUM:.*]] = %{{.*}}, %[[OUT:.*]] = %{{.*}})
// CHECK: %[[ROWS:.*]] = affine.min affine_map<(d0)[s0] -> (-d0 + s0, 16)>(%[[I]])[%[[N]]]
// CHECK: %[[A:.*]] = tensor.extract_slice %[[X]][%[[I]], 0] [%[[ROWS]], 576]
// CHECK: %[[B:.*]] = tensor.extract_slice %[[Y]][%[[I]], 0] [%[[ROWS]], 576]
// CHECK: %[[PART:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]] :
// CHECK: %[[LOCAL:.*]] = tensor.empty() : tensor<16xf32>
// CHECK: %[[USED:.*]] = tensor.extract_slice %[[LOCAL]][0] [%[[ROWS]]]
// CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} outs(%[[USED]] :
// CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}} ins(%[[PART]] : {{.*}}) outs(%[[ZEROS]] :
// CHECK: %[[NORMED:.*]] = linalg.generic {{.*}} ins(%[[PART]], %[[SQUARES]] :
// CHECK: tensor.parallel_insert_slice %[[PART]] into %[[SUM]][%[[I]], 0]
// CHECK: tensor.parallel_insert_slice %[[NORMED]] into %[[OUT]][%[[I]], 0]
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @norm(%x: tensor<?x576xf32>, %y: tensor<?x576xf32>)
    -> (tensor<?x576xf32>, tensor<?x576xbf16>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x576xf32>
  %init = tensor.empty(%n) : tensor<?x576xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #rows, #rows],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<?x576xf32>, tensor<?x576xf32>)
      outs(%init : tensor<?x576xf32>) {
  ^bb0(%a: f32, %b: f32, %unused: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?x576xf32>
  %sums = tensor.empty(%n) : tensor<?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%sums : tensor<?xf32>) -> tensor<?xf32>
  %squares = linalg.generic {indexing_maps = [#rows, #sums],
                             iterator_types = ["parallel", "reduction"]}
      ins(%sum : tensor<?x576xf32>) outs(%zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  %out = tensor.empty(%n) : tensor<?x576xbf16>
  %normed = linalg.generic {indexing_maps = [#rows, #sums, #rows],
                            iterator_types = ["parallel", "parallel"]}
      ins(%sum, %squares : tensor<?x576xf32>, tensor<?xf32>)
      outs(%out : tensor<?x576xbf16>) {
  ^bb0(%a: f32, %s: f32, %unused: bf16):
    %0 = arith.divf %a, %s : f32
    %1 = arith.truncf %0 : f32 to bf16
    linalg.yield %1 : bf16
  } -> tensor<?x576xbf16>
  return %sum, %normed : tensor<?x576xf32>, tensor<?x576xbf16>
}

// What is added to is updated in place.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[X:.*]]: tensor<1x512x1024xf32>, %[[Y:.*]]: tensor<1x512x1024xf32>
// CHECK: scf.forall (%[[I:.*]]) = (0) to (512) step (8) shared_outs(%[[OUT:.*]] = %[[Y]])
// CHECK-DAG: %[[A:.*]] = tensor.extract_slice %[[X]][0, %[[I]], 0] [1, 8, 1024]
// CHECK-DAG: %[[B:.*]] = tensor.extract_slice %[[OUT]][0, %[[I]], 0] [1, 8, 1024]
// CHECK: linalg.generic {{.*}} ins(%[[A]] : tensor<1x8x1024xf32>) outs(%[[B]] :
func.func @accumulate(%x: tensor<1x512x1024xf32>, %y: tensor<1x512x1024xf32>)
    -> tensor<1x512x1024xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x512x1024xf32>) outs(%y : tensor<1x512x1024xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<1x512x1024xf32>
  return %0 : tensor<1x512x1024xf32>
}

// Rows of a rotary embedding are tokens, with all heads of each.
// CHECK-LABEL: func.func @rope(
// CHECK: scf.forall (%[[I:.*]]) = (0) to (%{{.*}}) step (16)
// CHECK: tensor.extract_slice %{{.*}}[0, 0, %[[I]], 0] [1, 9, %{{.*}}, 64]
// CHECK: attn.rope
func.func @rope(%x: tensor<1x9x?x64xf32>, %cosine: tensor<?x32xf32>,
                %sine: tensor<?x32xf32>, %y: tensor<1x9x?x64xf32>)
    -> tensor<1x9x?x64xf32> {
  %0 = attn.rope half_split
      ins(%x, %cosine, %sine : tensor<1x9x?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>)
      outs(%y : tensor<1x9x?x64xf32>)
  return %0 : tensor<1x9x?x64xf32>
}

// A column's sum needs all rows, and so does what reads it. A transposed tensor's
// rows, too few to be tiled, are not those of what it is made of.
// CHECK-LABEL: func.func @apart(
// CHECK: scf.forall (%{{.*}}) = (0) to (%{{.*}}) step (256)
// CHECK: arith.mulf
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]
// CHECK: scf.forall (%{{.*}}) = (0) to (%{{.*}}) step (256)
// CHECK: arith.addf
// CHECK-NOT: scf.forall (
// CHECK: arith.subf
func.func @apart(%x: tensor<?x32xf32>, %y: tensor<32x?xf32>, %column: tensor<32xf32>)
    -> tensor<32x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %init = tensor.empty(%n) : tensor<?x32xf32>
  %squares = linalg.generic {indexing_maps = [#rows, #rows],
                             iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x32xf32>) outs(%init : tensor<?x32xf32>) {
  ^bb0(%a: f32, %unused: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x32xf32>
  %total = linalg.generic {indexing_maps = [#rows, affine_map<(i, j) -> (j)>],
                           iterator_types = ["reduction", "parallel"]}
      ins(%squares : tensor<?x32xf32>) outs(%column : tensor<32xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.maximumf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<32xf32>
  %shifted = linalg.generic {
      indexing_maps = [#rows, affine_map<(i, j) -> (j)>, #rows],
      iterator_types = ["parallel", "parallel"]}
      ins(%squares, %total : tensor<?x32xf32>, tensor<32xf32>)
      outs(%init : tensor<?x32xf32>) {
  ^bb0(%a: f32, %s: f32, %unused: f32):
    %0 = arith.addf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<?x32xf32>
  %turned = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, #rows],
      iterator_types = ["parallel", "parallel"]}
      ins(%shifted : tensor<?x32xf32>) outs(%y : tensor<32x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.subf %b, %a : f32
    linalg.yield %0 : f32
  } -> tensor<32x?xf32>
  return %turned : tensor<32x?xf32>
}

// Not what is one tile.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: scf.forall
func.func @small(%x: tensor<4x512xf32>, %y: tensor<4x512xf32>) -> tensor<4x512xf32> {
  %0 = linalg.generic {indexing_maps = [#rows, #rows],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x512xf32>) outs(%y : tensor<4x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<4x512xf32>
  return %0 : tensor<4x512xf32>
}

// Nor what has no rows, or no elements in them.
// CHECK-LABEL: func.func @scalar(
// CHECK-NOT: scf.forall
func.func @scalar(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>],
                       iterator_types = []}
      ins(%x : tensor<f32>) outs(%y : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @empty(
// CHECK-NOT: scf.forall
func.func @empty(%x: tensor<?x0xf32>, %y: tensor<?x0xf32>) -> tensor<?x0xf32> {
  %0 = linalg.generic {indexing_maps = [#rows, #rows],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x0xf32>) outs(%y : tensor<?x0xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<?x0xf32>
  return %0 : tensor<?x0xf32>
}

// Where rows of what is computed on the way are longer, those count.
// CHECK-LABEL: func.func @longer(
// CHECK: scf.forall (%{{.*}}) = (0) to (%{{.*}}) step (2)
func.func @longer(%x: tensor<?x4096xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x4096xf32>
  %sums = tensor.empty(%n) : tensor<?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%sums : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#rows, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x4096xf32>) outs(%zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #rows],
                       iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<?xf32>) outs(%y : tensor<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// Rows of a transposed matrix are columns of what it was.
// CHECK-LABEL: func.func @transposed(
// CHECK: scf.forall (%[[I:.*]]) = (0) to (64) step (16)
// CHECK:   tensor.extract_slice %{{.*}}[0, %[[I]]] [512, 16]
// CHECK:   linalg.transpose ins(%{{.*}} : tensor<512x16xf32>)
func.func @transposed(%x: tensor<512x64xf32>, %y: tensor<64x512xf32>)
    -> tensor<64x512xf32> {
  %0 = linalg.transpose ins(%x : tensor<512x64xf32>) outs(%y : tensor<64x512xf32>)
      permutation = [1, 0]
  return %0 : tensor<64x512xf32>
}

// Elements of a list are rows.
// CHECK-LABEL: func.func @list(
// CHECK: scf.forall (%[[I:.*]]) = (0) to (%{{.*}}) step (8192)
// CHECK:   tensor.extract_slice %{{.*}}[%[[I]]] [%{{.*}}] [1] : tensor<?xf32> to tensor<?xf32>
func.func @list(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %b, %a : f32
    linalg.yield %1 : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
