// The examples of layers against the oracle: with tokens and weights of the size
// that models have, for which the softmax is not a maximum. Sanitizers would watch
// the oracle for long, and not the kernels.
// UNSUPPORTED: sanitizer
// RUN: rm -rf %t && mkdir %t
// RUN: attn-run %s --entry tokens --random 1 --out %t/x.npy
// RUN: attn-run %s --entry fused --random 2 --out %t/qkv.npy
// RUN: attn-run %s --entry output --random 3 --out %t/output.npy
// RUN: attn-run %s --entry angles --random 4 --out %t/cosine.npy
// RUN: attn-run %s --entry angles --random 5 --out %t/sine.npy
// RUN: attn-run %s --entry cache --random 6 --out %t/cache.npy
// RUN: attn-run %S/../../examples/layer/decoder.mlir --arg %t/x.npy \
// RUN:   --arg %t/qkv.npy --arg %t/output.npy --arg %t/cosine.npy \
// RUN:   --arg %t/sine.npy --arg %t/cache.npy --arg %t/cache.npy --random 7 \
// RUN:   --check | FileCheck %s --check-prefix=DECODER

// DECODER: result 0: 2x5x576xf32
// DECODER-NEXT: passed
// DECODER: result 1: 2x3x9x64xf32
// DECODER-NEXT: passed
// DECODER: result 2: 2x3x9x64xf32
// DECODER-NEXT: passed

// RUN: attn-run %s --entry encoded --random 1 --out %t/e.npy
// RUN: attn-run %s --entry memory --random 2 --out %t/kv.npy
// RUN: attn-run %S/../../examples/layer/cross.mlir --entry memory \
// RUN:   --arg %t/e.npy --arg %t/kv.npy --out %t/k.npy --out %t/v.npy --check \
// RUN:   | FileCheck %s --check-prefix=MEMORY
// RUN: attn-run %s --entry square --random 3 --out %t/w.npy
// RUN: attn-run %s --entry lengths --out %t/lengths.npy
// RUN: attn-run %S/../../examples/layer/cross.mlir --entry layer \
// RUN:   --arg %t/e.npy --arg %t/k.npy --arg %t/v.npy --arg %t/lengths.npy \
// RUN:   --arg %t/w.npy --arg %t/w.npy --check \
// RUN:   | FileCheck %s --check-prefix=CROSS

// MEMORY: result 0: 2x8x7x64xf32
// MEMORY-NEXT: passed
// MEMORY: result 1: 2x8x7x64xf32
// MEMORY-NEXT: passed

// CROSS: result 0: 2x7x512xf32
// CROSS-NEXT: passed

func.func @tokens(%x: tensor<2x5x576xf32>) -> tensor<2x5x576xf32> {
  %by = arith.constant 1.000000e+00 : f32
  %init = tensor.empty() : tensor<2x5x576xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x5x576xf32>) outs(%init : tensor<2x5x576xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %by : f32
    linalg.yield %s : f32
  } -> tensor<2x5x576xf32>
  return %y : tensor<2x5x576xf32>
}

func.func @fused(%x: tensor<576x960xf32>) -> tensor<576x960xf32> {
  %by = arith.constant 4.000000e-02 : f32
  %init = tensor.empty() : tensor<576x960xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<576x960xf32>) outs(%init : tensor<576x960xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %by : f32
    linalg.yield %s : f32
  } -> tensor<576x960xf32>
  return %y : tensor<576x960xf32>
}

func.func @output(%x: tensor<576x576xf32>) -> tensor<576x576xf32> {
  %by = arith.constant 4.000000e-02 : f32
  %init = tensor.empty() : tensor<576x576xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<576x576xf32>) outs(%init : tensor<576x576xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %by : f32
    linalg.yield %s : f32
  } -> tensor<576x576xf32>
  return %y : tensor<576x576xf32>
}

func.func @angles(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %by = arith.constant 7.000000e-01 : f32
  %init = tensor.empty() : tensor<8x32xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x32xf32>) outs(%init : tensor<8x32xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %by : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

func.func @cache(%x: tensor<2x3x9x64xf32>) -> tensor<2x3x9x64xf32> {
  %by = arith.constant 1.000000e+00 : f32
  %init = tensor.empty() : tensor<2x3x9x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x3x9x64xf32>) outs(%init : tensor<2x3x9x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %by : f32
    linalg.yield %s : f32
  } -> tensor<2x3x9x64xf32>
  return %y : tensor<2x3x9x64xf32>
}

func.func @encoded(%x: tensor<2x7x512xf32>) -> tensor<2x7x512xf32> {
  %by = arith.constant 1.000000e+00 : f32
  %init = tensor.empty() : tensor<2x7x512xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x7x512xf32>) outs(%init : tensor<2x7x512xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %by : f32
    linalg.yield %s : f32
  } -> tensor<2x7x512xf32>
  return %y : tensor<2x7x512xf32>
}

func.func @memory(%x: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %by = arith.constant 4.000000e-02 : f32
  %init = tensor.empty() : tensor<512x1024xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x1024xf32>) outs(%init : tensor<512x1024xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %by : f32
    linalg.yield %s : f32
  } -> tensor<512x1024xf32>
  return %y : tensor<512x1024xf32>
}

func.func @square(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %by = arith.constant 4.000000e-02 : f32
  %init = tensor.empty() : tensor<512x512xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<512x512xf32>) outs(%init : tensor<512x512xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %by : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

func.func @lengths() -> tensor<2xi32> {
  %lengths = arith.constant dense<[3, 7]> : tensor<2xi32>
  return %lengths : tensor<2xi32>
}
