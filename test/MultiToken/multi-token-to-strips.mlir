// RUN: attn-opt %s --attn-plan --attn-multi-token-to-strips --split-input-file --verify-diagnostics | FileCheck %s

// Keys are transposed once, those of whole blocks without a copy. A tile of 60 rows
// has at least 5 rows before them for the convolution; the heads of a group of mixing
// are computed together.
// CHECK-LABEL: func.func @paper
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2)
// CHECK: scf.if
// CHECK: linalg.transpose
// CHECK: } else {
// CHECK: linalg.transpose
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) = (0, 0, 0) to (%{{.*}}, 2, %{{.*}}) step (1, 1, 60)
// The scores of the keys before the first block's window.
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<66x16xf32>)
// A window has those of a block, and of 32 keys of the one before it.
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 0] [1, 66, 32] {{.*}} into tensor<1x66x96xf32>
// The next block is fetched meanwhile.
// CHECK: attn.prefetch %{{.*}} to %{{.*}} spread : tensor<?x2x?x
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<66x64xf32>)
// Of a block that is not full, only parts in which the mask may keep a position.
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<6x32xf32>)
// A block that is full is not masked.
// CHECK: scf.if
// CHECK: linalg.index
// Where nothing is hidden, the window is convolved as it is.
// CHECK: %[[FINITE:.*]] = attn.all_finite %{{.*}} : tensor<1x65x96xf32>
// CHECK: scf.if %[[FINITE]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x65x74xf32>, tensor<1x6x11xf32>) outs(%{{.*}} : tensor<60x64xf32>)
// CHECK: } else {
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x17x26xf32>, tensor<1x6x11xf32>) outs(%{{.*}} : tensor<12x16xf32>)
// CHECK: bufferization.materialize_in_destination
// CHECK: math.exp2
// Products with what hidden values hold are left out only if they show.
// CHECK: scf.while
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<12x8xf32>)
// CHECK: attn.all_finite
// CHECK: tensor.parallel_insert_slice
// CHECK-NOT: attn.multi_token_attention
func.func @paper(%query: tensor<?x4x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                 %value: tensor<?x2x?x8xf32>, %init: tensor<?x4x?x8xf32>,
                 %kernel: tensor<4x6x11xf32>, %weights: tensor<2x2x2xf32>)
    -> tensor<?x4x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %value : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x4x?x8xf32>)
      convolve_before(%kernel : tensor<4x6x11xf32>)
      mix_after(%weights : tensor<2x2x2xf32>)
      mask causal
  return %0 : tensor<?x4x?x8xf32>
}

// -----

// Without stages after the softmax, keys go through a strip of 8 blocks. The first
// window of a chunk begins with the scores that are the chunk's before it: keys are
// transposed 48 positions earlier.
// CHECK-LABEL: func.func @chunks
// CHECK-DAG: %[[C48:.*]] = arith.constant 48 : index
// CHECK: arith.subi %{{.*}}, %[[C48]]
// CHECK: linalg.transpose
// CHECK: scf.while
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<66x16xf32>)
// CHECK: scf.for {{.*}} -> (tensor<1x60x8xf32>, tensor<1x60xf32>, tensor<1x60xf32>, tensor<1x66x32xf32>)
// CHECK: tensor.empty() : tensor<1x60x528xf32>
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<66x64xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x65x74xf32>, tensor<1x6x11xf32>)
// An online softmax: sums so far are multiplied by exp(m - new m).
// CHECK: arith.maximumf
// CHECK: math.exp2
// CHECK: math.exp2
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<12x8xf32>)
// CHECK: attn.all_finite
func.func @chunks(%query: tensor<?x4x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                  %value: tensor<?x2x?x8xf32>, %init: tensor<?x4x?x8xf32>,
                  %kernel: tensor<4x6x11xf32>) -> tensor<?x4x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %value : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x4x?x8xf32>)
      convolve_before(%kernel : tensor<4x6x11xf32>)
      mask causal
  return %0 : tensor<?x4x?x8xf32>
}

// -----

// A kernel of more keys: windows overlap by those of 64. All positions count, so that
// there are no parts, and the values are multiplied with all rows at once.
// CHECK-LABEL: func.func @wide_kernel
// CHECK: scf.while
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<66x32xf32>)
// CHECK: tensor.empty() : tensor<1x66x128xf32>
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<66x64xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x61x98xf32>, tensor<1x2x35xf32>) outs(%{{.*}} : tensor<60x64xf32>)
// CHECK: math.exp2
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<60x8xf32>)
func.func @wide_kernel(%query: tensor<?x4x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                       %value: tensor<?x2x?x8xf32>, %init: tensor<?x4x?x8xf32>,
                       %kernel: tensor<4x2x35xf32>) -> tensor<?x4x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %value : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x4x?x8xf32>)
      convolve_before(%kernel : tensor<4x2x35xf32>)
  return %0 : tensor<?x4x?x8xf32>
}

// -----

// Many heads are mixed by products of matrices, row by row. Head by head, an online
// softmax stores the weights of chunks of 8 blocks and the largest scores that they are
// relative to. As many fit as there are keys, whatever a tile sees of them.
// CHECK-LABEL: func.func @stored_weights
// CHECK: %[[KEYS:.*]] = tensor.dim %arg1, %c2
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) = (0, 0, 0)
// CHECK: %[[CHUNKS:.*]] = arith.ceildivui %[[KEYS]], %c512
// CHECK: tensor.empty(%[[CHUNKS]]) : tensor<?x16x60x528xf32>
// CHECK: tensor.empty(%[[CHUNKS]]) : tensor<?x16x60xf32>
// CHECK: scf.for %[[FIRST:[^ ]*]] = {{.*}} -> (tensor<?x16x60x528xf32>, tensor<?x16x60xf32>, tensor<16x60xf32>, tensor<16x60xf32>)
// CHECK: scf.for %[[CHUNK:[^ ]*]] = {{.*}} -> (tensor<?x16x60x528xf32>, tensor<?x16x60xf32>, tensor<1x60xf32>, tensor<1x60xf32>)
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<60x64xf32>)
// CHECK: arith.maximumf
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[%[[CHUNK]], %[[FIRST]], 0, 0]
// CHECK: scf.while
// CHECK-NOT: linalg.matmul {{.*}} outs(%{{.*}} : tensor<60x64xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<16x16xf32>, tensor<16x64xf32>) outs(%{{.*}} : tensor<16x64xf32>)
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<12x8xf32>)
func.func @stored_weights(%query: tensor<?x16x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                          %init: tensor<?x16x?x8xf32>, %weights: tensor<1x16x16xf32>)
    -> tensor<?x16x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<?x16x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x16x?x8xf32>)
      mix_after(%weights : tensor<1x16x16xf32>)
      mask causal
  return %0 : tensor<?x16x?x8xf32>
}

// -----

// Heads that are mixed before the softmax have a chunk together, and one of no more
// keys than there are.
// CHECK-LABEL: func.func @mixed_twice
// CHECK: tensor.empty() : tensor<1x6x60x208xf32>
// CHECK: scf.for {{.*}} -> (tensor<1x6x60x208xf32>, tensor<1x6x60xf32>, tensor<2x60xf32>, tensor<2x60xf32>)
// CHECK: scf.while
func.func @mixed_twice(%query: tensor<?x6x?x8xf32>, %key: tensor<?x2x150x8xf32>,
                       %init: tensor<?x6x?x8xf32>, %before: tensor<3x2x2xf32>,
                       %after: tensor<2x3x3xf32>) -> tensor<?x6x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<?x6x?x8xf32>, tensor<?x2x150x8xf32>,
          tensor<?x2x150x8xf32>)
      outs(%init : tensor<?x6x?x8xf32>)
      mix_before(%before : tensor<3x2x2xf32>)
      mix_after(%after : tensor<2x3x3xf32>)
  return %0 : tensor<?x6x?x8xf32>
}

// -----

// Of a convolution after the softmax, no chunk of weights is complete: 48 rows have a
// strip of all keys.
// CHECK-LABEL: func.func @rows_of_strip
// CHECK: step (1, 1, 48)
// CHECK: -> (tensor<1x54x?xf32>)
// CHECK: scf.while
func.func @rows_of_strip(%query: tensor<?x2x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                         %init: tensor<?x2x?x8xf32>, %kernel: tensor<2x6x3xf32>)
    -> tensor<?x2x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x2x?x8xf32>)
      convolve_after(%kernel : tensor<2x6x3xf32>)
      mask causal
  return %0 : tensor<?x2x?x8xf32>
}

// -----

// 16 heads have 24 rows of one.
// CHECK-LABEL: func.func @strip_of_all_keys
// CHECK: linalg.matmul {{.*}} outs(%{{.*}} : tensor<30x64xf32>)
// CHECK: -> (tensor<16x30x?xf32>)
// CHECK: scf.while
func.func @strip_of_all_keys(%query: tensor<?x16x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                             %init: tensor<?x16x?x8xf32>, %kernel: tensor<16x2x3xf32>,
                             %weights: tensor<1x16x16xf32>) -> tensor<?x16x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<?x16x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x16x?x8xf32>)
      convolve_after(%kernel : tensor<16x2x3xf32>)
      mix_after(%weights : tensor<1x16x16xf32>)
      mask causal
  return %0 : tensor<?x16x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @in_f64
// CHECK: attn.multi_token_attention
func.func @in_f64(%x: tensor<1x1x?x8xf64>, %kernel: tensor<1x2x3xf64>)
    -> tensor<1x1x?x8xf64> {
  // expected-remark @+1 {{is lowered by the reference path, because its element type is f64}}
  %0 = attn.multi_token_attention
      ins(%x, %x, %x : tensor<1x1x?x8xf64>, tensor<1x1x?x8xf64>,
          tensor<1x1x?x8xf64>)
      outs(%x : tensor<1x1x?x8xf64>)
      convolve_before(%kernel : tensor<1x2x3xf64>)
  return %0 : tensor<1x1x?x8xf64>
}

// -----

// CHECK-LABEL: func.func @large_kernel
// CHECK: attn.multi_token_attention
func.func @large_kernel(%x: tensor<1x1x?x8xf32>,
                        %kernel: tensor<1x3000000000x1xf32>)
    -> tensor<1x1x?x8xf32> {
  // expected-remark @+1 {{is lowered by the reference path, because a kernel has more than 2048 taps per head}}
  %0 = attn.multi_token_attention
      ins(%x, %x, %x : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>,
          tensor<1x1x?x8xf32>)
      outs(%x : tensor<1x1x?x8xf32>)
      convolve_before(%kernel : tensor<1x3000000000x1xf32>)
  return %0 : tensor<1x1x?x8xf32>
}
