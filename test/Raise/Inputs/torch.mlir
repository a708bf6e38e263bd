// Attention of PyTorch, as torch-mlir 20261001 writes it (linalg-on-tensors):
// scaled_dot_product_attention with is_causal, and with enable_gqa; a product of
// f16 with a large negative number where a mask holds, and a softmax in f32; a
// softcap with -inf outside of a window of 4 keys.

#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, 0)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> ()>
#map6 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map11 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> ()>
module {
  func.func @causal(%arg0: tensor<2x4x8x16xf32>, %arg1: tensor<2x4x8x16xf32>, %arg2: tensor<2x4x8x12xf32>) -> tensor<2x4x8x12xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %true = arith.constant true
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<2x4x8x8xf32>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_3 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_4 = arith.constant dense<true> : tensor<8x8xi1>
    %cst_5 = arith.constant 0xFFF0000000000000 : f64
    %cst_6 = arith.constant 5.000000e-01 : f32
    %0 = tensor.empty() : tensor<2x4x8x16xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x8x16xf32>) outs(%0 : tensor<2x4x8x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = arith.mulf %in, %cst_6 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x8x16xf32>
    %2 = tensor.empty() : tensor<8xi64>
    %3 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel"]} outs(%2 : tensor<8xi64>) {
    ^bb0(%out: i64):
      %38 = linalg.index 0 : index
      %39 = arith.index_cast %38 : index to i64
      linalg.yield %39 : i64
    } -> tensor<8xi64>
    %expanded = tensor.expand_shape %3 [[0, 1]] output_shape [1, 8] : tensor<8xi64> into tensor<1x8xi64>
    %expanded_7 = tensor.expand_shape %3 [[0, 1]] output_shape [8, 1] : tensor<8xi64> into tensor<8x1xi64>
    %4 = tensor.empty() : tensor<8x8xi64>
    %5 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%expanded, %expanded_7 : tensor<1x8xi64>, tensor<8x1xi64>) outs(%4 : tensor<8x8xi64>) {
    ^bb0(%in: i64, %in_14: i64, %out: i64):
      %38 = arith.subi %in, %in_14 : i64
      linalg.yield %38 : i64
    } -> tensor<8x8xi64>
    %6 = tensor.empty() : tensor<8x8xi1>
    %7 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<8x8xi64>) outs(%6 : tensor<8x8xi1>) {
    ^bb0(%in: i64, %out: i1):
      %38 = arith.cmpi sle, %in, %c0_i64 : i64
      linalg.yield %38 : i1
    } -> tensor<8x8xi1>
    %8 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%7, %cst_4 : tensor<8x8xi1>, tensor<8x8xi1>) outs(%6 : tensor<8x8xi1>) {
    ^bb0(%in: i1, %in_14: i1, %out: i1):
      %38 = arith.andi %in, %in_14 : i1
      linalg.yield %38 : i1
    } -> tensor<8x8xi1>
    %9 = tensor.empty() : tensor<8x8xf32>
    %10 = linalg.generic {indexing_maps = [#map4, #map5, #map5, #map4], iterator_types = ["parallel", "parallel"]} ins(%8, %cst_2, %cst_3 : tensor<8x8xi1>, tensor<f32>, tensor<f32>) outs(%9 : tensor<8x8xf32>) {
    ^bb0(%in: i1, %in_14: f32, %in_15: f32, %out: f32):
      %38 = arith.select %in, %in_14, %in_15 : f32
      linalg.yield %38 : f32
    } -> tensor<8x8xf32>
    %11 = tensor.empty() : tensor<2x4x16x8xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x8x16xf32>) outs(%11 : tensor<2x4x16x8xf32>) permutation = [0, 1, 3, 2] 
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed : tensor<2x4x16x8xf32>) outs(%11 : tensor<2x4x16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = arith.mulf %in, %cst_6 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x16x8xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x8x16xf32> into tensor<8x8x16xf32>
    %collapsed_8 = tensor.collapse_shape %12 [[0, 1], [2], [3]] : tensor<2x4x16x8xf32> into tensor<8x16x8xf32>
    %13 = tensor.empty() : tensor<8x8x8xf32>
    %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %15 = linalg.batch_matmul ins(%collapsed, %collapsed_8 : tensor<8x8x16xf32>, tensor<8x16x8xf32>) outs(%14 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %expanded_9 = tensor.expand_shape %15 [[0, 1], [2], [3]] output_shape [2, 4, 8, 8] : tensor<8x8x8xf32> into tensor<2x4x8x8xf32>
    %16 = tensor.empty() : tensor<2x4x8x8xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map6, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9, %10 : tensor<2x4x8x8xf32>, tensor<8x8xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %38 = arith.addf %in, %in_14 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x8x8xf32>
    %18 = tensor.empty() : tensor<2x4x8xi64>
    %19 = linalg.fill ins(%c0_i64 : i64) outs(%18 : tensor<2x4x8xi64>) -> tensor<2x4x8xi64>
    %20 = tensor.empty() : tensor<2x4x8xf32>
    %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %22:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x8x8xf32>) outs(%21, %19 : tensor<2x4x8xf32>, tensor<2x4x8xi64>) {
    ^bb0(%in: f32, %out: f32, %out_14: i64):
      %38 = linalg.index 3 : index
      %39 = arith.index_cast %38 : index to i64
      %40 = arith.maximumf %in, %out : f32
      %41 = arith.cmpf ogt, %in, %out : f32
      %42 = arith.select %41, %39, %out_14 : i64
      linalg.yield %40, %42 : f32, i64
    } -> (tensor<2x4x8xf32>, tensor<2x4x8xi64>)
    %expanded_10 = tensor.expand_shape %22#0 [[0], [1], [2, 3]] output_shape [2, 4, 8, 1] : tensor<2x4x8xf32> into tensor<2x4x8x1xf32>
    %23 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %expanded_10 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %38 = arith.subf %in, %in_14 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x8x8xf32>
    %24 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x8x8xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = math.exp %in : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x8x8xf32>
    %25 = tensor.empty() : tensor<2x4x8x1xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<2x4x8x1xf32>) -> tensor<2x4x8x1xf32>
    %27 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<2x4x8x8xf32>) outs(%26 : tensor<2x4x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = arith.addf %in, %out : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x8x1xf32>
    %28 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %27 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_14: f32, %out: f32):
      %38 = arith.divf %in, %in_14 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x8x8xf32>
    %29 = tensor.empty() : tensor<2x4x8x8xi1>
    %30 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x8x8xf32>) outs(%29 : tensor<2x4x8x8xi1>) {
    ^bb0(%in: f32, %out: i1):
      %38 = arith.extf %in : f32 to f64
      %39 = arith.cmpf oeq, %38, %cst_5 : f64
      linalg.yield %39 : i1
    } -> tensor<2x4x8x8xi1>
    %31 = tensor.empty() : tensor<2x4x8x1xi1>
    %32 = linalg.fill ins(%true : i1) outs(%31 : tensor<2x4x8x1xi1>) -> tensor<2x4x8x1xi1>
    %33 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%30 : tensor<2x4x8x8xi1>) outs(%32 : tensor<2x4x8x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %38 = arith.andi %in, %out : i1
      linalg.yield %38 : i1
    } -> tensor<2x4x8x1xi1>
    %34 = linalg.generic {indexing_maps = [#map8, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33, %cst_1, %28 : tensor<2x4x8x1xi1>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: i1, %in_14: f32, %in_15: f32, %out: f32):
      %38 = arith.select %in, %in_14, %in_15 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x8x8xf32>
    %collapsed_11 = tensor.collapse_shape %34 [[0, 1], [2], [3]] : tensor<2x4x8x8xf32> into tensor<8x8x8xf32>
    %collapsed_12 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x8x12xf32> into tensor<8x8x12xf32>
    %35 = tensor.empty() : tensor<8x8x12xf32>
    %36 = linalg.fill ins(%cst : f32) outs(%35 : tensor<8x8x12xf32>) -> tensor<8x8x12xf32>
    %37 = linalg.batch_matmul ins(%collapsed_11, %collapsed_12 : tensor<8x8x8xf32>, tensor<8x8x12xf32>) outs(%36 : tensor<8x8x12xf32>) -> tensor<8x8x12xf32>
    %expanded_13 = tensor.expand_shape %37 [[0, 1], [2], [3]] output_shape [2, 4, 8, 12] : tensor<8x8x12xf32> into tensor<2x4x8x12xf32>
    return %expanded_13 : tensor<2x4x8x12xf32>
  }
  func.func @grouped(%arg0: tensor<2x4x8x16xf32>, %arg1: tensor<2x2x8x16xf32>, %arg2: tensor<2x2x8x12xf32>) -> tensor<2x4x8x12xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %true = arith.constant true
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<2x4x8x8xf32>
    %cst_2 = arith.constant 0xFFF0000000000000 : f64
    %cst_3 = arith.constant 5.000000e-01 : f32
    %0 = tensor.empty() : tensor<2x4x8x16xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x8x16xf32>) outs(%0 : tensor<2x4x8x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.mulf %in, %cst_3 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x16xf32>
    %2 = tensor.empty() : tensor<2x2x2x8x16xf32>
    %3 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x2x8x16xf32>) outs(%2 : tensor<2x2x2x8x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x8x16xf32>
    %collapsed = tensor.collapse_shape %3 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x16xf32> into tensor<2x4x8x16xf32>
    %4 = tensor.empty() : tensor<2x2x2x8x12xf32>
    %5 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x2x8x12xf32>) outs(%4 : tensor<2x2x2x8x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x8x12xf32>
    %6 = tensor.empty() : tensor<2x4x16x8xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<2x4x8x16xf32>) outs(%6 : tensor<2x4x16x8xf32>) permutation = [0, 1, 3, 2] 
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed : tensor<2x4x16x8xf32>) outs(%6 : tensor<2x4x16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.mulf %in, %cst_3 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x16x8xf32>
    %collapsed_4 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x8x16xf32> into tensor<8x8x16xf32>
    %collapsed_5 = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<2x4x16x8xf32> into tensor<8x16x8xf32>
    %8 = tensor.empty() : tensor<8x8x8xf32>
    %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %10 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x8x16xf32>, tensor<8x16x8xf32>) outs(%9 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %expanded = tensor.expand_shape %10 [[0, 1], [2], [3]] output_shape [2, 4, 8, 8] : tensor<8x8x8xf32> into tensor<2x4x8x8xf32>
    %11 = tensor.empty() : tensor<2x4x8xi64>
    %12 = linalg.fill ins(%c0_i64 : i64) outs(%11 : tensor<2x4x8xi64>) -> tensor<2x4x8xi64>
    %13 = tensor.empty() : tensor<2x4x8xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %15:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded : tensor<2x4x8x8xf32>) outs(%14, %12 : tensor<2x4x8xf32>, tensor<2x4x8xi64>) {
    ^bb0(%in: f32, %out: f32, %out_10: i64):
      %32 = linalg.index 3 : index
      %33 = arith.index_cast %32 : index to i64
      %34 = arith.maximumf %in, %out : f32
      %35 = arith.cmpf ogt, %in, %out : f32
      %36 = arith.select %35, %33, %out_10 : i64
      linalg.yield %34, %36 : f32, i64
    } -> (tensor<2x4x8xf32>, tensor<2x4x8xi64>)
    %expanded_6 = tensor.expand_shape %15#0 [[0], [1], [2, 3]] output_shape [2, 4, 8, 1] : tensor<2x4x8xf32> into tensor<2x4x8x1xf32>
    %16 = tensor.empty() : tensor<2x4x8x8xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %expanded_6 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %32 = arith.subf %in, %in_10 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x8x8xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.exp %in : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %19 = tensor.empty() : tensor<2x4x8x1xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%19 : tensor<2x4x8x1xf32>) -> tensor<2x4x8x1xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x4x8x8xf32>) outs(%20 : tensor<2x4x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.addf %in, %out : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x1xf32>
    %22 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %21 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %32 = arith.divf %in, %in_10 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %23 = tensor.empty() : tensor<2x4x8x8xi1>
    %24 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x8x8xf32>) outs(%23 : tensor<2x4x8x8xi1>) {
    ^bb0(%in: f32, %out: i1):
      %32 = arith.extf %in : f32 to f64
      %33 = arith.cmpf oeq, %32, %cst_2 : f64
      linalg.yield %33 : i1
    } -> tensor<2x4x8x8xi1>
    %25 = tensor.empty() : tensor<2x4x8x1xi1>
    %26 = linalg.fill ins(%true : i1) outs(%25 : tensor<2x4x8x1xi1>) -> tensor<2x4x8x1xi1>
    %27 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<2x4x8x8xi1>) outs(%26 : tensor<2x4x8x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %32 = arith.andi %in, %out : i1
      linalg.yield %32 : i1
    } -> tensor<2x4x8x1xi1>
    %28 = linalg.generic {indexing_maps = [#map8, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27, %cst_1, %22 : tensor<2x4x8x1xi1>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) outs(%16 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: i1, %in_10: f32, %in_11: f32, %out: f32):
      %32 = arith.select %in, %in_10, %in_11 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %collapsed_7 = tensor.collapse_shape %28 [[0, 1], [2], [3]] : tensor<2x4x8x8xf32> into tensor<8x8x8xf32>
    %collapsed_8 = tensor.collapse_shape %5 [[0, 1, 2], [3], [4]] : tensor<2x2x2x8x12xf32> into tensor<8x8x12xf32>
    %29 = tensor.empty() : tensor<8x8x12xf32>
    %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<8x8x12xf32>) -> tensor<8x8x12xf32>
    %31 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<8x8x8xf32>, tensor<8x8x12xf32>) outs(%30 : tensor<8x8x12xf32>) -> tensor<8x8x12xf32>
    %expanded_9 = tensor.expand_shape %31 [[0, 1], [2], [3]] output_shape [2, 4, 8, 12] : tensor<8x8x12xf32> into tensor<2x4x8x12xf32>
    return %expanded_9 : tensor<2x4x8x12xf32>
  }
  func.func @half(%arg0: tensor<2x4x8x16xf16>, %arg1: tensor<2x4x8x16xf16>, %arg2: tensor<2x4x8x12xf16>, %arg3: tensor<2x1x8x8xi1>) -> tensor<2x4x8x12xf16> {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<-6.550400e+04> : tensor<f16>
    %cst_2 = arith.constant 2.500000e-01 : f16
    %0 = tensor.empty() : tensor<2x4x16x8xf16>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x8x16xf16>) outs(%0 : tensor<2x4x16x8xf16>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x8x16xf16> into tensor<8x8x16xf16>
    %collapsed_3 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x16x8xf16> into tensor<8x16x8xf16>
    %1 = tensor.empty() : tensor<8x8x8xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %3 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x8x16xf16>, tensor<8x16x8xf16>) outs(%2 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %4 = tensor.empty() : tensor<8x8x8xf16>
    %5 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3 : tensor<8x8x8xf32>) outs(%4 : tensor<8x8x8xf16>) {
    ^bb0(%in: f32, %out: f16):
      %28 = arith.truncf %in : f32 to f16
      linalg.yield %28 : f16
    } -> tensor<8x8x8xf16>
    %expanded = tensor.expand_shape %5 [[0, 1], [2], [3]] output_shape [2, 4, 8, 8] : tensor<8x8x8xf16> into tensor<2x4x8x8xf16>
    %6 = tensor.empty() : tensor<2x4x8x8xf16>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x8x8xf16>) outs(%6 : tensor<2x4x8x8xf16>) {
    ^bb0(%in: f16, %out: f16):
      %28 = arith.mulf %in, %cst_2 : f16
      linalg.yield %28 : f16
    } -> tensor<2x4x8x8xf16>
    %8 = linalg.generic {indexing_maps = [#map12, #map13, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg3, %cst_1, %7 : tensor<2x1x8x8xi1>, tensor<f16>, tensor<2x4x8x8xf16>) outs(%6 : tensor<2x4x8x8xf16>) {
    ^bb0(%in: i1, %in_8: f16, %in_9: f16, %out: f16):
      %28 = arith.select %in, %in_8, %in_9 : f16
      linalg.yield %28 : f16
    } -> tensor<2x4x8x8xf16>
    %9 = tensor.empty() : tensor<2x4x8x8xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<2x4x8x8xf16>) outs(%9 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f16, %out: f32):
      %28 = arith.extf %in : f16 to f32
      linalg.yield %28 : f32
    } -> tensor<2x4x8x8xf32>
    %11 = tensor.empty() : tensor<2x4x8xi64>
    %12 = linalg.fill ins(%c0_i64 : i64) outs(%11 : tensor<2x4x8xi64>) -> tensor<2x4x8xi64>
    %13 = tensor.empty() : tensor<2x4x8xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %15:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%10 : tensor<2x4x8x8xf32>) outs(%14, %12 : tensor<2x4x8xf32>, tensor<2x4x8xi64>) {
    ^bb0(%in: f32, %out: f32, %out_8: i64):
      %28 = linalg.index 3 : index
      %29 = arith.index_cast %28 : index to i64
      %30 = arith.maximumf %in, %out : f32
      %31 = arith.cmpf ogt, %in, %out : f32
      %32 = arith.select %31, %29, %out_8 : i64
      linalg.yield %30, %32 : f32, i64
    } -> (tensor<2x4x8xf32>, tensor<2x4x8xi64>)
    %expanded_4 = tensor.expand_shape %15#0 [[0], [1], [2, 3]] output_shape [2, 4, 8, 1] : tensor<2x4x8xf32> into tensor<2x4x8x1xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %expanded_4 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%9 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %28 = arith.subf %in, %in_8 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x8x8xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x4x8x8xf32>) outs(%9 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = math.exp %in : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x8x8xf32>
    %18 = tensor.empty() : tensor<2x4x8x1xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<2x4x8x1xf32>) -> tensor<2x4x8x1xf32>
    %20 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x8x8xf32>) outs(%19 : tensor<2x4x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %28 = arith.addf %in, %out : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x8x1xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %20 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%9 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %28 = arith.divf %in, %in_8 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x8x8xf32>
    %22 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x4x8x8xf32>) outs(%6 : tensor<2x4x8x8xf16>) {
    ^bb0(%in: f32, %out: f16):
      %28 = arith.truncf %in : f32 to f16
      linalg.yield %28 : f16
    } -> tensor<2x4x8x8xf16>
    %collapsed_5 = tensor.collapse_shape %22 [[0, 1], [2], [3]] : tensor<2x4x8x8xf16> into tensor<8x8x8xf16>
    %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x8x12xf16> into tensor<8x8x12xf16>
    %23 = tensor.empty() : tensor<8x8x12xf32>
    %24 = linalg.fill ins(%cst : f32) outs(%23 : tensor<8x8x12xf32>) -> tensor<8x8x12xf32>
    %25 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x8x8xf16>, tensor<8x8x12xf16>) outs(%24 : tensor<8x8x12xf32>) -> tensor<8x8x12xf32>
    %26 = tensor.empty() : tensor<8x8x12xf16>
    %27 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel", "parallel", "parallel"]} ins(%25 : tensor<8x8x12xf32>) outs(%26 : tensor<8x8x12xf16>) {
    ^bb0(%in: f32, %out: f16):
      %28 = arith.truncf %in : f32 to f16
      linalg.yield %28 : f16
    } -> tensor<8x8x12xf16>
    %expanded_7 = tensor.expand_shape %27 [[0, 1], [2], [3]] output_shape [2, 4, 8, 12] : tensor<8x8x12xf16> into tensor<2x4x8x12xf16>
    return %expanded_7 : tensor<2x4x8x12xf16>
  }
  func.func @softcap(%arg0: tensor<2x4x8x16xf32>, %arg1: tensor<2x4x8x16xf32>, %arg2: tensor<2x4x8x12xf32>) -> tensor<2x4x8x12xf32> {
    %c4_i64 = arith.constant 4 : i64
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant 2.500000e-01 : f32
    %cst_3 = arith.constant 5.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x16x8xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x8x16xf32>) outs(%0 : tensor<2x4x16x8xf32>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x8x16xf32> into tensor<8x8x16xf32>
    %collapsed_4 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x16x8xf32> into tensor<8x16x8xf32>
    %1 = tensor.empty() : tensor<8x8x8xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %3 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<8x8x16xf32>, tensor<8x16x8xf32>) outs(%2 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %expanded = tensor.expand_shape %3 [[0, 1], [2], [3]] output_shape [2, 4, 8, 8] : tensor<8x8x8xf32> into tensor<2x4x8x8xf32>
    %4 = tensor.empty() : tensor<2x4x8x8xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x8x8xf32>) outs(%4 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.mulf %in, %cst_2 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<2x4x8x8xf32>) outs(%4 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.divf %in, %cst_3 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<2x4x8x8xf32>) outs(%4 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.tanh %in : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<2x4x8x8xf32>) outs(%4 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.mulf %in, %cst_3 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %9 = tensor.empty() : tensor<8xi64>
    %10 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel"]} outs(%9 : tensor<8xi64>) {
    ^bb0(%out: i64):
      %32 = linalg.index 0 : index
      %33 = arith.index_cast %32 : index to i64
      linalg.yield %33 : i64
    } -> tensor<8xi64>
    %expanded_5 = tensor.expand_shape %10 [[0, 1]] output_shape [8, 1] : tensor<8xi64> into tensor<8x1xi64>
    %expanded_6 = tensor.expand_shape %10 [[0, 1]] output_shape [1, 8] : tensor<8xi64> into tensor<1x8xi64>
    %11 = tensor.empty() : tensor<8x8xi64>
    %12 = linalg.generic {indexing_maps = [#map3, #map2, #map4], iterator_types = ["parallel", "parallel"]} ins(%expanded_5, %expanded_6 : tensor<8x1xi64>, tensor<1x8xi64>) outs(%11 : tensor<8x8xi64>) {
    ^bb0(%in: i64, %in_11: i64, %out: i64):
      %32 = arith.subi %in, %in_11 : i64
      linalg.yield %32 : i64
    } -> tensor<8x8xi64>
    %13 = tensor.empty() : tensor<8x8xi1>
    %14 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<8x8xi64>) outs(%13 : tensor<8x8xi1>) {
    ^bb0(%in: i64, %out: i1):
      %32 = arith.cmpi sge, %in, %c0_i64 : i64
      linalg.yield %32 : i1
    } -> tensor<8x8xi1>
    %15 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<8x8xi64>) outs(%13 : tensor<8x8xi1>) {
    ^bb0(%in: i64, %out: i1):
      %32 = arith.cmpi slt, %in, %c4_i64 : i64
      linalg.yield %32 : i1
    } -> tensor<8x8xi1>
    %16 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%14, %15 : tensor<8x8xi1>, tensor<8x8xi1>) outs(%13 : tensor<8x8xi1>) {
    ^bb0(%in: i1, %in_11: i1, %out: i1):
      %32 = arith.andi %in, %in_11 : i1
      linalg.yield %32 : i1
    } -> tensor<8x8xi1>
    %17 = linalg.generic {indexing_maps = [#map6, #map, #map13, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %8, %cst_1 : tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) outs(%4 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: i1, %in_11: f32, %in_12: f32, %out: f32):
      %32 = arith.select %in, %in_11, %in_12 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %18 = tensor.empty() : tensor<2x4x8xi64>
    %19 = linalg.fill ins(%c0_i64 : i64) outs(%18 : tensor<2x4x8xi64>) -> tensor<2x4x8xi64>
    %20 = tensor.empty() : tensor<2x4x8xf32>
    %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %22:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x8x8xf32>) outs(%21, %19 : tensor<2x4x8xf32>, tensor<2x4x8xi64>) {
    ^bb0(%in: f32, %out: f32, %out_11: i64):
      %32 = linalg.index 3 : index
      %33 = arith.index_cast %32 : index to i64
      %34 = arith.maximumf %in, %out : f32
      %35 = arith.cmpf ogt, %in, %out : f32
      %36 = arith.select %35, %33, %out_11 : i64
      linalg.yield %34, %36 : f32, i64
    } -> (tensor<2x4x8xf32>, tensor<2x4x8xi64>)
    %expanded_7 = tensor.expand_shape %22#0 [[0], [1], [2, 3]] output_shape [2, 4, 8, 1] : tensor<2x4x8xf32> into tensor<2x4x8x1xf32>
    %23 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %expanded_7 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%4 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %32 = arith.subf %in, %in_11 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %24 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x8x8xf32>) outs(%4 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.exp %in : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %25 = tensor.empty() : tensor<2x4x8x1xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<2x4x8x1xf32>) -> tensor<2x4x8x1xf32>
    %27 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<2x4x8x8xf32>) outs(%26 : tensor<2x4x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.addf %in, %out : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x1xf32>
    %28 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %27 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%4 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %32 = arith.divf %in, %in_11 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x8xf32>
    %collapsed_8 = tensor.collapse_shape %28 [[0, 1], [2], [3]] : tensor<2x4x8x8xf32> into tensor<8x8x8xf32>
    %collapsed_9 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x8x12xf32> into tensor<8x8x12xf32>
    %29 = tensor.empty() : tensor<8x8x12xf32>
    %30 = linalg.fill ins(%cst : f32) outs(%29 : tensor<8x8x12xf32>) -> tensor<8x8x12xf32>
    %31 = linalg.batch_matmul ins(%collapsed_8, %collapsed_9 : tensor<8x8x8xf32>, tensor<8x8x12xf32>) outs(%30 : tensor<8x8x12xf32>) -> tensor<8x8x12xf32>
    %expanded_10 = tensor.expand_shape %31 [[0, 1], [2], [3]] output_shape [2, 4, 8, 12] : tensor<8x8x12xf32> into tensor<2x4x8x12xf32>
    return %expanded_10 : tensor<2x4x8x12xf32>
  }
}

