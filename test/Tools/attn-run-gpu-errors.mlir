// What a kernel of a GPU asserts ends the run with the message that other
// pipelines have, but for numbers, and says which thread found it.

// REQUIRES: gpu
// RUN: attn-run %s --entry numbers --out %t.npy
// RUN: not attn-run %s --entry packed --pipeline gpu-emulator --random 1 --arg %t.npy 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not={{.}}
// CHECK: attn-run: error: {{.*}}attn-run-gpu-errors.mlir:[[#@LINE + 14]]:8: 'attn.attention' op argument 'sequences': expected numbers that do not decrease, none below 0 or above the query length, in block (0, 0, 0), thread (2, 0, 0)

func.func @numbers() -> tensor<4xi32> {
  %0 = arith.constant dense<[0, 5, 2, 8]> : tensor<4xi32>
  return %0 : tensor<4xi32>
}

!packed = tensor<1x2x8x16xf32>
!batch = tensor<3x2x9x16xf32>

func.func @packed(%sequences: tensor<4xi32>, %query: !packed, %key: !batch,
                  %value: !batch) -> !packed {
  %init = tensor.empty() : !packed
  // One sequence begins before the one that it follows ends.
  %r = attn.attention ins(%query, %key, %value : !packed, !batch, !batch)
      outs(%init : !packed) sequences(%sequences : tensor<4xi32>)
  return %r : !packed
}
