// Every example passes its check with random arguments, on both pipelines for CPUs.
// UNSUPPORTED: sanitizer

// RUN: rm -rf %t && mkdir %t
// RUN: attn-run %s --entry sequences --out %t/before.npy --out %t/after.npy \
// RUN:   --out %t/table.npy --out %t/tokens.npy --out %t/narrow.npy
// RUN: attn-run %s --entry forks --out %t/fork-before.npy \
// RUN:   --out %t/fork-after.npy --out %t/fork-table.npy
// RUN: attn-run %s --entry ragged --out %t/ragged-after.npy \
// RUN:   --out %t/cu-seqlens.npy --out %t/ragged-query.npy --out %t/ragged-row.npy
// RUN: attn-run %s --entry latents --out %t/latent-query.npy --out %t/latent.npy
// RUN: attn-run %s --entry prompt --out %t/unfolded-query.npy \
// RUN:   --out %t/latents.npy --out %t/turned.npy
// RUN: attn-run %s --entry packed --out %t/model-before.npy \
// RUN:   --out %t/model-after.npy --out %t/model-table.npy --out %t/model-tokens.npy \
// RUN:   --out %t/model-sequences.npy --out %t/model-positions.npy

// DEFINE: %{file} =
// DEFINE: %{arguments} =
// DEFINE: %{check} = attn-run %{file} %{arguments} --random 1 --check

// REDEFINE: %{file} = %examples/smollm2/attention.mlir
// RUN: %{check} && %{check} --pipeline reference

// REDEFINE: %{file} = %examples/multi_token/paper.mlir
// RUN: %{check} && %{check} --pipeline reference

// REDEFINE: %{file} = %examples/layer/decoder.mlir
// REDEFINE: %{arguments} = --arg 2x32x576
// RUN: %{check}
// REDEFINE: %{arguments} = --arg %t/tokens.npy --arg - --arg - --arg - --arg - \
// REDEFINE:   --arg - --arg - --arg %t/before.npy
// RUN: %{check} && %{check} --pipeline reference

// REDEFINE: %{file} = %examples/layer/cross.mlir
// REDEFINE: %{arguments} = --entry memory --arg %t/narrow.npy
// RUN: %{check} && %{check} --pipeline reference
// REDEFINE: %{arguments} = --entry layer --arg %t/narrow.npy --arg - --arg - \
// REDEFINE:   --arg %t/after.npy
// RUN: %{check} && %{check} --pipeline reference

// REDEFINE: %{file} = %examples/decode/step.mlir
// REDEFINE: %{arguments} = --arg - --arg - --arg - --arg - --arg - \
// REDEFINE:   --arg %t/table.npy --arg %t/before.npy --arg %t/after.npy
// RUN: %{check} && %{check} --pipeline reference

// REDEFINE: %{file} = %examples/decode/shared_prefix.mlir
// REDEFINE: %{arguments} = --arg - --arg - --arg - --arg - --arg - \
// REDEFINE:   --arg %t/fork-table.npy --arg %t/fork-before.npy \
// REDEFINE:   --arg %t/fork-after.npy --arg 1:index
// RUN: %{check} && %{check} --pipeline reference

// REDEFINE: %{file} = %examples/decode/latent.mlir
// REDEFINE: %{arguments} = --arg %t/latent-query.npy --arg %t/latent.npy --arg - \
// REDEFINE:   --arg %t/table.npy --arg %t/before.npy --arg %t/after.npy
// RUN: %{check} && %{check} --pipeline reference

// REDEFINE: %{file} = %examples/decode/latent_prompt.mlir
// REDEFINE: %{arguments} = --arg %t/unfolded-query.npy --arg %t/latents.npy \
// REDEFINE:   --arg %t/turned.npy
// RUN: %{check} && %{check} --pipeline reference

// REDEFINE: %{file} = %examples/decode/ragged.mlir
// REDEFINE: %{arguments} = --arg %t/ragged-query.npy --arg %t/ragged-row.npy \
// REDEFINE:   --arg %t/ragged-row.npy --arg - --arg - --arg %t/table.npy \
// REDEFINE:   --arg %t/before.npy --arg %t/ragged-after.npy \
// REDEFINE:   --arg %t/cu-seqlens.npy
// RUN: %{check} && %{check} --pipeline reference

// A layer of a model, with weights of either type.
// RUN: cat %S/Inputs/f32-factors.mlir %examples/smollm2/activations.mlir \
// RUN:   %examples/smollm2/weights_bf16.mlir %examples/smollm2/model.mlir \
// RUN:   | sed -f %S/Inputs/smollm2-sizes.sed > %t/model-bf16.mlir
// RUN: cat %S/Inputs/f32-factors.mlir %examples/smollm2/activations.mlir \
// RUN:   %examples/smollm2/weights_i8.mlir %examples/smollm2/model.mlir \
// RUN:   | sed -f %S/Inputs/smollm2-sizes.sed > %t/model-i8.mlir
// REDEFINE: %{arguments} = --entry layer --arg %t/model-tokens.npy \
// REDEFINE:   --arg - --arg - --arg - --arg - --arg - --arg - --arg - --arg - \
// REDEFINE:   --arg - --arg - --arg - --arg - --arg - --arg - --arg - --arg - \
// REDEFINE:   --arg 0.00001:f32 --arg - --arg - --arg - --arg - \
// REDEFINE:   --arg %t/model-table.npy --arg %t/model-before.npy \
// REDEFINE:   --arg %t/model-after.npy --arg %t/model-sequences.npy \
// REDEFINE:   --arg %t/model-positions.npy
// REDEFINE: %{file} = %t/model-bf16.mlir
// RUN: %{check} && %{check} --pipeline reference
// REDEFINE: %{file} = %t/model-i8.mlir
// RUN: %{check} && %{check} --pipeline reference

// Three sequences with one new token each for decoding, or seven for a layer.
func.func @sequences() -> (tensor<3xi32>, tensor<3xi32>, tensor<3x3xi32>,
                           tensor<3x7x576xf32>, tensor<3x7x512xf32>) {
  %before = arith.constant dense<[17, 0, 40]> : tensor<3xi32>
  %after = arith.constant dense<[18, 1, 41]> : tensor<3xi32>
  %table = arith.constant dense<[[3, 9, -1], [60, -1, -1], [7, 0, 8]]> : tensor<3x3xi32>
  %tokens = tensor.generate {
  ^bb0(%i: index, %j: index, %k: index):
    %number = func.call @wave(%i, %j, %k) : (index, index, index) -> f32
    tensor.yield %number : f32
  } : tensor<3x7x576xf32>
  %narrow = tensor.extract_slice %tokens[0, 0, 0] [3, 7, 512] [1, 1, 1]
      : tensor<3x7x576xf32> to tensor<3x7x512xf32>
  return %before, %after, %table, %tokens, %narrow
      : tensor<3xi32>, tensor<3xi32>, tensor<3x3xi32>, tensor<3x7x576xf32>,
        tensor<3x7x512xf32>
}

// Two sequences with one page in common.
func.func @forks() -> (tensor<2xi32>, tensor<2xi32>, tensor<2x3xi32>) {
  %before = arith.constant dense<[16, 40]> : tensor<2xi32>
  %after = arith.constant dense<[17, 41]> : tensor<2xi32>
  %table = arith.constant dense<[[5, 2, -1], [5, 63, 4]]> : tensor<2x3xi32>
  return %before, %after, %table : tensor<2xi32>, tensor<2xi32>, tensor<2x3xi32>
}

// The three sequences with one, nine and two new tokens.
func.func @ragged() -> (tensor<3xi32>, tensor<4xi32>, tensor<1x8x12x64xf32>,
                        tensor<1x2x12x64xf32>) {
  %after = arith.constant dense<[18, 9, 42]> : tensor<3xi32>
  %cu_seqlens = arith.constant dense<[0, 1, 10, 12]> : tensor<4xi32>
  %query = tensor.generate {
  ^bb0(%b: index, %i: index, %j: index, %k: index):
    %number = func.call @wave(%i, %j, %k) : (index, index, index) -> f32
    tensor.yield %number : f32
  } : tensor<1x8x12x64xf32>
  %row = tensor.extract_slice %query[0, 3, 0, 0] [1, 2, 12, 64] [1, 1, 1, 1]
      : tensor<1x8x12x64xf32> to tensor<1x2x12x64xf32>
  return %after, %cu_seqlens, %query, %row
      : tensor<3xi32>, tensor<4xi32>, tensor<1x8x12x64xf32>,
        tensor<1x2x12x64xf32>
}

// The three sequences with one new token.
func.func @latents() -> (tensor<3x128x1x576xf32>, tensor<3x1x1x576xf32>) {
  %query = tensor.generate {
  ^bb0(%i: index, %j: index, %one: index, %k: index):
    %number = func.call @wave(%i, %j, %k) : (index, index, index) -> f32
    tensor.yield %number : f32
  } : tensor<3x128x1x576xf32>
  %row = tensor.extract_slice %query[0, 7, 0, 0] [3, 1, 1, 576] [1, 1, 1, 1]
      : tensor<3x128x1x576xf32> to tensor<3x1x1x576xf32>
  return %query, %row : tensor<3x128x1x576xf32>, tensor<3x1x1x576xf32>
}

// Two sequences of seven tokens, the last three of which are a prompt's.
func.func @prompt() -> (tensor<2x128x3x192xf32>, tensor<2x7x512xf32>,
                        tensor<2x1x7x64xf32>) {
  %query = tensor.generate {
  ^bb0(%i: index, %j: index, %row: index, %k: index):
    %number = func.call @wave(%row, %j, %k) : (index, index, index) -> f32
    tensor.yield %number : f32
  } : tensor<2x128x3x192xf32>
  %latents = tensor.generate {
  ^bb0(%i: index, %j: index, %k: index):
    %number = func.call @wave(%i, %j, %k) : (index, index, index) -> f32
    tensor.yield %number : f32
  } : tensor<2x7x512xf32>
  %part = tensor.extract_slice %latents[0, 0, 9] [2, 7, 64] [1, 1, 1]
      : tensor<2x7x512xf32> to tensor<2x7x64xf32>
  %turned = tensor.expand_shape %part [[0, 1], [2], [3]] output_shape [2, 1, 7, 64]
      : tensor<2x7x64xf32> into tensor<2x1x7x64xf32>
  return %query, %latents, %turned : tensor<2x128x3x192xf32>,
      tensor<2x7x512xf32>, tensor<2x1x7x64xf32>
}

// Three sequences with five new tokens: three, one and one.
func.func @packed() -> (tensor<3xi32>, tensor<3xi32>, tensor<3x2xi32>,
                        tensor<1x5x576xf32>, tensor<4xi32>, tensor<1x5xi32>) {
  %before = arith.constant dense<[14, 0, 30]> : tensor<3xi32>
  %after = arith.constant dense<[17, 1, 31]> : tensor<3xi32>
  %table = arith.constant dense<[[11, 1], [3, -1], [7, 20]]> : tensor<3x2xi32>
  %sequences = arith.constant dense<[0, 3, 4, 5]> : tensor<4xi32>
  %positions = arith.constant dense<[[14, 15, 16, 0, 30]]> : tensor<1x5xi32>
  %tokens = tensor.generate {
  ^bb0(%i: index, %j: index, %k: index):
    %number = func.call @wave(%i, %j, %k) : (index, index, index) -> f32
    tensor.yield %number : f32
  } : tensor<1x5x576xf32>
  return %before, %after, %table, %tokens, %sequences, %positions
      : tensor<3xi32>, tensor<3xi32>, tensor<3x2xi32>, tensor<1x5x576xf32>,
        tensor<4xi32>, tensor<1x5xi32>
}

// Numbers that look random.
func.func private @wave(%i: index, %j: index, %k: index) -> f32 {
  %c37 = arith.constant 37 : index
  %row = arith.muli %i, %c37 : index
  %line = arith.addi %row, %j : index
  %next = arith.muli %line, %c37 : index
  %sum = arith.addi %next, %k : index
  %square = arith.muli %sum, %sum : index
  %integer = arith.index_cast %square : index to i64
  %angle = arith.sitofp %integer : i64 to f64
  %sine = math.sin %angle : f64
  %number = arith.truncf %sine : f64 to f32
  return %number : f32
}
