// A decoder block of Llama in PyTorch, with weights as arguments, as torch-mlir
// 20261001 writes it (linalg-on-tensors): RMS norms, projections, rotary embeddings,
// causal attention of four query heads on two key/value heads, and a gated MLP.

#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map2 = affine_map<(d0, d1, d2) -> (d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0, d1) -> (0, d1)>
#map7 = affine_map<(d0, d1) -> (d0, 0)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1) -> ()>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map14 = affine_map<(d0, d1, d2) -> (d1, d2)>
module {
  func.func @block(%arg0: tensor<2x8x32xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32>, %arg3: tensor<32x32xf32>, %arg4: tensor<32x16xf32>, %arg5: tensor<32x16xf32>, %arg6: tensor<32x32xf32>, %arg7: tensor<32x48xf32>, %arg8: tensor<48x32xf32>, %arg9: tensor<32x48xf32>, %arg10: tensor<32xf32>, %arg11: tensor<32xf32>) -> tensor<2x8x32xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %true = arith.constant true
    %cst_1 = arith.constant 1.000000e+00 : f32
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<2x4x8x8xf32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_4 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_5 = arith.constant dense<true> : tensor<8x8xi1>
    %cst_6 = arith.constant 0xFFF0000000000000 : f64
    %cst_7 = arith.constant 0.59460355750136051 : f64
    %cst_8 = arith.constant 1.000000e-05 : f64
    %cst_9 = arith.constant 3.200000e+01 : f32
    %0 = tensor.empty() : tensor<2x8x32xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %arg0 : tensor<2x8x32xf32>, tensor<2x8x32xf32>) outs(%0 : tensor<2x8x32xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x32xf32>
    %2 = tensor.empty() : tensor<2x8x1xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<2x8x1xf32>) -> tensor<2x8x1xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%1 : tensor<2x8x32xf32>) outs(%3 : tensor<2x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.addf %in, %out : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x1xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<2x8x1xf32>) outs(%2 : tensor<2x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.divf %in, %cst_9 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x1xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5 : tensor<2x8x1xf32>) outs(%2 : tensor<2x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.truncf %cst_8 : f64 to f32
      %89 = arith.addf %in, %88 : f32
      linalg.yield %89 : f32
    } -> tensor<2x8x1xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6 : tensor<2x8x1xf32>) outs(%2 : tensor<2x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = math.rsqrt %in : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x1xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %7 : tensor<2x8x32xf32>, tensor<2x8x1xf32>) outs(%0 : tensor<2x8x32xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x32xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8, %arg10 : tensor<2x8x32xf32>, tensor<32xf32>) outs(%0 : tensor<2x8x32xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x32xf32>
    %collapsed = tensor.collapse_shape %9 [[0, 1], [2]] : tensor<2x8x32xf32> into tensor<16x32xf32>
    %10 = tensor.empty() : tensor<16x32xf32>
    %11 = linalg.fill ins(%cst : f32) outs(%10 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %12 = linalg.matmul ins(%collapsed, %arg3 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%11 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %expanded = tensor.expand_shape %12 [[0, 1], [2, 3]] output_shape [2, 8, 4, 8] : tensor<16x32xf32> into tensor<2x8x4x8xf32>
    %13 = tensor.empty() : tensor<2x4x8x8xf32>
    %transposed = linalg.transpose ins(%expanded : tensor<2x8x4x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) permutation = [0, 2, 1, 3] 
    %14 = tensor.empty() : tensor<16x16xf32>
    %15 = linalg.fill ins(%cst : f32) outs(%14 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %16 = linalg.matmul ins(%collapsed, %arg4 : tensor<16x32xf32>, tensor<32x16xf32>) outs(%15 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %expanded_10 = tensor.expand_shape %16 [[0, 1], [2, 3]] output_shape [2, 8, 2, 8] : tensor<16x16xf32> into tensor<2x8x2x8xf32>
    %17 = tensor.empty() : tensor<2x2x8x8xf32>
    %transposed_11 = linalg.transpose ins(%expanded_10 : tensor<2x8x2x8xf32>) outs(%17 : tensor<2x2x8x8xf32>) permutation = [0, 2, 1, 3] 
    %18 = linalg.matmul ins(%collapsed, %arg5 : tensor<16x32xf32>, tensor<32x16xf32>) outs(%15 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %expanded_12 = tensor.expand_shape %18 [[0, 1], [2, 3]] output_shape [2, 8, 2, 8] : tensor<16x16xf32> into tensor<2x8x2x8xf32>
    %transposed_13 = linalg.transpose ins(%expanded_12 : tensor<2x8x2x8xf32>) outs(%17 : tensor<2x2x8x8xf32>) permutation = [0, 2, 1, 3] 
    %extracted_slice = tensor.extract_slice %transposed[0, 0, 0, 0] [2, 4, 8, 4] [1, 1, 1, 1] : tensor<2x4x8x8xf32> to tensor<2x4x8x4xf32>
    %extracted_slice_14 = tensor.extract_slice %transposed[0, 0, 0, 4] [2, 4, 8, 4] [1, 1, 1, 1] : tensor<2x4x8x8xf32> to tensor<2x4x8x4xf32>
    %19 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed, %arg1 : tensor<2x4x8x8xf32>, tensor<8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x8xf32>
    %20 = tensor.empty() : tensor<2x4x8x4xf32>
    %21 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_14 : tensor<2x4x8x4xf32>) outs(%20 : tensor<2x4x8x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.negf %in : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x4xf32>
    %concat = tensor.concat dim(3) %21, %extracted_slice : (tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>) -> tensor<2x4x8x8xf32>
    %22 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat, %arg2 : tensor<2x4x8x8xf32>, tensor<8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x8xf32>
    %23 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %22 : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.addf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x8xf32>
    %extracted_slice_15 = tensor.extract_slice %transposed_11[0, 0, 0, 0] [2, 2, 8, 4] [1, 1, 1, 1] : tensor<2x2x8x8xf32> to tensor<2x2x8x4xf32>
    %extracted_slice_16 = tensor.extract_slice %transposed_11[0, 0, 0, 4] [2, 2, 8, 4] [1, 1, 1, 1] : tensor<2x2x8x8xf32> to tensor<2x2x8x4xf32>
    %24 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_11, %arg1 : tensor<2x2x8x8xf32>, tensor<8x8xf32>) outs(%17 : tensor<2x2x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x2x8x8xf32>
    %25 = tensor.empty() : tensor<2x2x8x4xf32>
    %26 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_16 : tensor<2x2x8x4xf32>) outs(%25 : tensor<2x2x8x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.negf %in : f32
      linalg.yield %88 : f32
    } -> tensor<2x2x8x4xf32>
    %concat_17 = tensor.concat dim(3) %26, %extracted_slice_15 : (tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>) -> tensor<2x2x8x8xf32>
    %27 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_17, %arg2 : tensor<2x2x8x8xf32>, tensor<8x8xf32>) outs(%17 : tensor<2x2x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x2x8x8xf32>
    %28 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %27 : tensor<2x2x8x8xf32>, tensor<2x2x8x8xf32>) outs(%17 : tensor<2x2x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.addf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x2x8x8xf32>
    %29 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.truncf %cst_7 : f64 to f32
      %89 = arith.mulf %in, %88 : f32
      linalg.yield %89 : f32
    } -> tensor<2x4x8x8xf32>
    %30 = tensor.empty() : tensor<8xi64>
    %31 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel"]} outs(%30 : tensor<8xi64>) {
    ^bb0(%out: i64):
      %88 = linalg.index 0 : index
      %89 = arith.index_cast %88 : index to i64
      linalg.yield %89 : i64
    } -> tensor<8xi64>
    %expanded_18 = tensor.expand_shape %31 [[0, 1]] output_shape [1, 8] : tensor<8xi64> into tensor<1x8xi64>
    %expanded_19 = tensor.expand_shape %31 [[0, 1]] output_shape [8, 1] : tensor<8xi64> into tensor<8x1xi64>
    %32 = tensor.empty() : tensor<8x8xi64>
    %33 = linalg.generic {indexing_maps = [#map6, #map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%expanded_18, %expanded_19 : tensor<1x8xi64>, tensor<8x1xi64>) outs(%32 : tensor<8x8xi64>) {
    ^bb0(%in: i64, %in_36: i64, %out: i64):
      %88 = arith.subi %in, %in_36 : i64
      linalg.yield %88 : i64
    } -> tensor<8x8xi64>
    %34 = tensor.empty() : tensor<8x8xi1>
    %35 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%33 : tensor<8x8xi64>) outs(%34 : tensor<8x8xi1>) {
    ^bb0(%in: i64, %out: i1):
      %88 = arith.cmpi sle, %in, %c0_i64 : i64
      linalg.yield %88 : i1
    } -> tensor<8x8xi1>
    %36 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%35, %cst_5 : tensor<8x8xi1>, tensor<8x8xi1>) outs(%34 : tensor<8x8xi1>) {
    ^bb0(%in: i1, %in_36: i1, %out: i1):
      %88 = arith.andi %in, %in_36 : i1
      linalg.yield %88 : i1
    } -> tensor<8x8xi1>
    %37 = tensor.empty() : tensor<8x8xf32>
    %38 = linalg.generic {indexing_maps = [#map8, #map9, #map9, #map8], iterator_types = ["parallel", "parallel"]} ins(%36, %cst_3, %cst_4 : tensor<8x8xi1>, tensor<f32>, tensor<f32>) outs(%37 : tensor<8x8xf32>) {
    ^bb0(%in: i1, %in_36: f32, %in_37: f32, %out: f32):
      %88 = arith.select %in, %in_36, %in_37 : f32
      linalg.yield %88 : f32
    } -> tensor<8x8xf32>
    %39 = tensor.empty() : tensor<2x2x2x8x8xf32>
    %40 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<2x2x8x8xf32>) outs(%39 : tensor<2x2x2x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x8x8xf32>
    %collapsed_20 = tensor.collapse_shape %40 [[0], [1, 2], [3], [4]] : tensor<2x2x2x8x8xf32> into tensor<2x4x8x8xf32>
    %41 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%transposed_13 : tensor<2x2x8x8xf32>) outs(%39 : tensor<2x2x2x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x8x8xf32>
    %transposed_21 = linalg.transpose ins(%collapsed_20 : tensor<2x4x8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) permutation = [0, 1, 3, 2] 
    %42 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_21 : tensor<2x4x8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.truncf %cst_7 : f64 to f32
      %89 = arith.mulf %in, %88 : f32
      linalg.yield %89 : f32
    } -> tensor<2x4x8x8xf32>
    %collapsed_22 = tensor.collapse_shape %29 [[0, 1], [2], [3]] : tensor<2x4x8x8xf32> into tensor<8x8x8xf32>
    %collapsed_23 = tensor.collapse_shape %42 [[0, 1], [2], [3]] : tensor<2x4x8x8xf32> into tensor<8x8x8xf32>
    %43 = tensor.empty() : tensor<8x8x8xf32>
    %44 = linalg.fill ins(%cst : f32) outs(%43 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %45 = linalg.batch_matmul ins(%collapsed_22, %collapsed_23 : tensor<8x8x8xf32>, tensor<8x8x8xf32>) outs(%44 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %expanded_24 = tensor.expand_shape %45 [[0, 1], [2], [3]] output_shape [2, 4, 8, 8] : tensor<8x8x8xf32> into tensor<2x4x8x8xf32>
    %46 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_24, %38 : tensor<2x4x8x8xf32>, tensor<8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.addf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x8xf32>
    %47 = tensor.empty() : tensor<2x4x8xi64>
    %48 = linalg.fill ins(%c0_i64 : i64) outs(%47 : tensor<2x4x8xi64>) -> tensor<2x4x8xi64>
    %49 = tensor.empty() : tensor<2x4x8xf32>
    %50 = linalg.fill ins(%cst_0 : f32) outs(%49 : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %51:2 = linalg.generic {indexing_maps = [#map3, #map12, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%46 : tensor<2x4x8x8xf32>) outs(%50, %48 : tensor<2x4x8xf32>, tensor<2x4x8xi64>) {
    ^bb0(%in: f32, %out: f32, %out_36: i64):
      %88 = linalg.index 3 : index
      %89 = arith.index_cast %88 : index to i64
      %90 = arith.maximumf %in, %out : f32
      %91 = arith.cmpf ogt, %in, %out : f32
      %92 = arith.select %91, %89, %out_36 : i64
      linalg.yield %90, %92 : f32, i64
    } -> (tensor<2x4x8xf32>, tensor<2x4x8xi64>)
    %expanded_25 = tensor.expand_shape %51#0 [[0], [1], [2, 3]] output_shape [2, 4, 8, 1] : tensor<2x4x8xf32> into tensor<2x4x8x1xf32>
    %52 = linalg.generic {indexing_maps = [#map3, #map13, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%46, %expanded_25 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.subf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x8xf32>
    %53 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%52 : tensor<2x4x8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = math.exp %in : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x8xf32>
    %54 = tensor.empty() : tensor<2x4x8x1xf32>
    %55 = linalg.fill ins(%cst : f32) outs(%54 : tensor<2x4x8x1xf32>) -> tensor<2x4x8x1xf32>
    %56 = linalg.generic {indexing_maps = [#map3, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%53 : tensor<2x4x8x8xf32>) outs(%55 : tensor<2x4x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.addf %in, %out : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x1xf32>
    %57 = linalg.generic {indexing_maps = [#map3, #map13, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53, %56 : tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.divf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x8xf32>
    %58 = tensor.empty() : tensor<2x4x8x8xi1>
    %59 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%46 : tensor<2x4x8x8xf32>) outs(%58 : tensor<2x4x8x8xi1>) {
    ^bb0(%in: f32, %out: i1):
      %88 = arith.extf %in : f32 to f64
      %89 = arith.cmpf oeq, %88, %cst_6 : f64
      linalg.yield %89 : i1
    } -> tensor<2x4x8x8xi1>
    %60 = tensor.empty() : tensor<2x4x8x1xi1>
    %61 = linalg.fill ins(%true : i1) outs(%60 : tensor<2x4x8x1xi1>) -> tensor<2x4x8x1xi1>
    %62 = linalg.generic {indexing_maps = [#map3, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%59 : tensor<2x4x8x8xi1>) outs(%61 : tensor<2x4x8x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %88 = arith.andi %in, %out : i1
      linalg.yield %88 : i1
    } -> tensor<2x4x8x1xi1>
    %63 = linalg.generic {indexing_maps = [#map13, #map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%62, %cst_2, %57 : tensor<2x4x8x1xi1>, tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) outs(%13 : tensor<2x4x8x8xf32>) {
    ^bb0(%in: i1, %in_36: f32, %in_37: f32, %out: f32):
      %88 = arith.select %in, %in_36, %in_37 : f32
      linalg.yield %88 : f32
    } -> tensor<2x4x8x8xf32>
    %collapsed_26 = tensor.collapse_shape %63 [[0, 1], [2], [3]] : tensor<2x4x8x8xf32> into tensor<8x8x8xf32>
    %collapsed_27 = tensor.collapse_shape %41 [[0, 1, 2], [3], [4]] : tensor<2x2x2x8x8xf32> into tensor<8x8x8xf32>
    %64 = linalg.batch_matmul ins(%collapsed_26, %collapsed_27 : tensor<8x8x8xf32>, tensor<8x8x8xf32>) outs(%44 : tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %expanded_28 = tensor.expand_shape %64 [[0, 1], [2], [3]] output_shape [2, 4, 8, 8] : tensor<8x8x8xf32> into tensor<2x4x8x8xf32>
    %65 = tensor.empty() : tensor<2x8x4x8xf32>
    %transposed_29 = linalg.transpose ins(%expanded_28 : tensor<2x4x8x8xf32>) outs(%65 : tensor<2x8x4x8xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_30 = tensor.collapse_shape %transposed_29 [[0], [1], [2, 3]] : tensor<2x8x4x8xf32> into tensor<2x8x32xf32>
    %66 = tensor.empty() : tensor<2x32x32xf32>
    %67 = linalg.generic {indexing_maps = [#map14, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg6 : tensor<32x32xf32>) outs(%66 : tensor<2x32x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x32x32xf32>
    %68 = linalg.fill ins(%cst : f32) outs(%0 : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    %69 = linalg.batch_matmul ins(%collapsed_30, %67 : tensor<2x8x32xf32>, tensor<2x32x32xf32>) outs(%68 : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    %70 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %69 : tensor<2x8x32xf32>, tensor<2x8x32xf32>) outs(%0 : tensor<2x8x32xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.addf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x32xf32>
    %71 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%70, %70 : tensor<2x8x32xf32>, tensor<2x8x32xf32>) outs(%0 : tensor<2x8x32xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x32xf32>
    %72 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%71 : tensor<2x8x32xf32>) outs(%3 : tensor<2x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.addf %in, %out : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x1xf32>
    %73 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%72 : tensor<2x8x1xf32>) outs(%2 : tensor<2x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.divf %in, %cst_9 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x1xf32>
    %74 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%73 : tensor<2x8x1xf32>) outs(%2 : tensor<2x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.truncf %cst_8 : f64 to f32
      %89 = arith.addf %in, %88 : f32
      linalg.yield %89 : f32
    } -> tensor<2x8x1xf32>
    %75 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%74 : tensor<2x8x1xf32>) outs(%2 : tensor<2x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = math.rsqrt %in : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x1xf32>
    %76 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%70, %75 : tensor<2x8x32xf32>, tensor<2x8x1xf32>) outs(%0 : tensor<2x8x32xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x32xf32>
    %77 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%76, %arg11 : tensor<2x8x32xf32>, tensor<32xf32>) outs(%0 : tensor<2x8x32xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x32xf32>
    %collapsed_31 = tensor.collapse_shape %77 [[0, 1], [2]] : tensor<2x8x32xf32> into tensor<16x32xf32>
    %78 = tensor.empty() : tensor<16x48xf32>
    %79 = linalg.fill ins(%cst : f32) outs(%78 : tensor<16x48xf32>) -> tensor<16x48xf32>
    %80 = linalg.matmul ins(%collapsed_31, %arg7 : tensor<16x32xf32>, tensor<32x48xf32>) outs(%79 : tensor<16x48xf32>) -> tensor<16x48xf32>
    %expanded_32 = tensor.expand_shape %80 [[0, 1], [2]] output_shape [2, 8, 48] : tensor<16x48xf32> into tensor<2x8x48xf32>
    %81 = tensor.empty() : tensor<2x8x48xf32>
    %82 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_32 : tensor<2x8x48xf32>) outs(%81 : tensor<2x8x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %88 = arith.negf %in : f32
      %89 = math.exp %88 : f32
      %90 = arith.addf %89, %cst_1 : f32
      %91 = arith.divf %cst_1, %90 : f32
      linalg.yield %91 : f32
    } -> tensor<2x8x48xf32>
    %83 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_32, %82 : tensor<2x8x48xf32>, tensor<2x8x48xf32>) outs(%81 : tensor<2x8x48xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x48xf32>
    %84 = linalg.matmul ins(%collapsed_31, %arg9 : tensor<16x32xf32>, tensor<32x48xf32>) outs(%79 : tensor<16x48xf32>) -> tensor<16x48xf32>
    %expanded_33 = tensor.expand_shape %84 [[0, 1], [2]] output_shape [2, 8, 48] : tensor<16x48xf32> into tensor<2x8x48xf32>
    %85 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%83, %expanded_33 : tensor<2x8x48xf32>, tensor<2x8x48xf32>) outs(%81 : tensor<2x8x48xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.mulf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x48xf32>
    %collapsed_34 = tensor.collapse_shape %85 [[0, 1], [2]] : tensor<2x8x48xf32> into tensor<16x48xf32>
    %86 = linalg.matmul ins(%collapsed_34, %arg8 : tensor<16x48xf32>, tensor<48x32xf32>) outs(%11 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %expanded_35 = tensor.expand_shape %86 [[0, 1], [2]] output_shape [2, 8, 32] : tensor<16x32xf32> into tensor<2x8x32xf32>
    %87 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%70, %expanded_35 : tensor<2x8x32xf32>, tensor<2x8x32xf32>) outs(%0 : tensor<2x8x32xf32>) {
    ^bb0(%in: f32, %in_36: f32, %out: f32):
      %88 = arith.addf %in, %in_36 : f32
      linalg.yield %88 : f32
    } -> tensor<2x8x32xf32>
    return %87 : tensor<2x8x32xf32>
  }
}

