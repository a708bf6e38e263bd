// Element-wise operations and norms, fused and in parallel, against plain loops: whole
// tiles of rows, a last one that is smaller, and one row alone.
// UNSUPPORTED: leaves-kernels
//
// RUN: attn-run %s --entry rows --random 1 --pipeline reference --out %t.0.npy --out %t.1.npy
// RUN: attn-run %s --entry rows --random 1 --threads 2 --expect %t.0.npy --expect %t.1.npy
// RUN: attn-run %s --entry ragged --random 1 --pipeline reference --out %t.0.npy --out %t.1.npy
// RUN: attn-run %s --entry ragged --random 1 --threads 2 --expect %t.0.npy --expect %t.1.npy
// RUN: attn-run %s --entry one --random 1 --pipeline reference --out %t.0.npy --out %t.1.npy
// RUN: attn-run %s --entry one --random 1 --threads 2 --expect %t.0.npy --expect %t.1.npy

#rows = affine_map<(i, j) -> (i, j)>
#sums = affine_map<(i, j) -> (i)>
#row = affine_map<(i, j) -> (j)>

func.func private @norm(%x: tensor<?x576xf32>, %y: tensor<?x576xf32>,
                        %weight: tensor<576xf32>)
    -> (tensor<?x576xf32>, tensor<?x576xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x576xf32>
  %sum = linalg.generic {indexing_maps = [#rows, #rows],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x576xf32>) outs(%y : tensor<?x576xf32>) {
  ^bb0(%a: f32, %b: f32):
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
  %out = tensor.empty(%n) : tensor<?x576xf32>
  %normed = linalg.generic {indexing_maps = [#rows, #sums, #row, #rows],
                            iterator_types = ["parallel", "parallel"]}
      ins(%sum, %squares, %weight : tensor<?x576xf32>, tensor<?xf32>, tensor<576xf32>)
      outs(%out : tensor<?x576xf32>) {
  ^bb0(%a: f32, %s: f32, %w: f32, %unused: f32):
    %0 = arith.addf %s, %one : f32
    %1 = math.sqrt %0 : f32
    %2 = arith.divf %a, %1 : f32
    %3 = arith.mulf %2, %w : f32
    linalg.yield %3 : f32
  } -> tensor<?x576xf32>
  return %sum, %normed : tensor<?x576xf32>, tensor<?x576xf32>
}

func.func @rows(%x: tensor<?x576xf32>, %y: tensor<?x576xf32>, %w: tensor<576xf32>)
    -> (tensor<?x576xf32>, tensor<?x576xf32>) {
  %0:2 = call @norm(%x, %y, %w)
      : (tensor<?x576xf32>, tensor<?x576xf32>, tensor<576xf32>)
      -> (tensor<?x576xf32>, tensor<?x576xf32>)
  return %0#0, %0#1 : tensor<?x576xf32>, tensor<?x576xf32>
}

func.func @ragged(%x: tensor<100x576xf32>, %y: tensor<100x576xf32>,
                  %w: tensor<576xf32>) -> (tensor<100x576xf32>, tensor<100x576xf32>) {
  %x1 = tensor.cast %x : tensor<100x576xf32> to tensor<?x576xf32>
  %y1 = tensor.cast %y : tensor<100x576xf32> to tensor<?x576xf32>
  %0:2 = call @norm(%x1, %y1, %w)
      : (tensor<?x576xf32>, tensor<?x576xf32>, tensor<576xf32>)
      -> (tensor<?x576xf32>, tensor<?x576xf32>)
  %1 = tensor.cast %0#0 : tensor<?x576xf32> to tensor<100x576xf32>
  %2 = tensor.cast %0#1 : tensor<?x576xf32> to tensor<100x576xf32>
  return %1, %2 : tensor<100x576xf32>, tensor<100x576xf32>
}

func.func @one(%x: tensor<1x576xf32>, %y: tensor<1x576xf32>, %w: tensor<576xf32>)
    -> (tensor<1x576xf32>, tensor<1x576xf32>) {
  %x1 = tensor.cast %x : tensor<1x576xf32> to tensor<?x576xf32>
  %y1 = tensor.cast %y : tensor<1x576xf32> to tensor<?x576xf32>
  %0:2 = call @norm(%x1, %y1, %w)
      : (tensor<?x576xf32>, tensor<?x576xf32>, tensor<576xf32>)
      -> (tensor<?x576xf32>, tensor<?x576xf32>)
  %1 = tensor.cast %0#0 : tensor<?x576xf32> to tensor<1x576xf32>
  %2 = tensor.cast %0#1 : tensor<?x576xf32> to tensor<1x576xf32>
  return %1, %2 : tensor<1x576xf32>, tensor<1x576xf32>
}
