// A layer through both pipelines and against the oracle, which sanitizers would watch
// for long.
// UNSUPPORTED: leaves-kernels
//
// RUN: attn-run %s --random 1 --check --threads 2 | FileCheck %s
// RUN: attn-run %s --random 1 --check --pipeline reference | FileCheck %s

// CHECK: result 0: 64x64x12xf32
// CHECK-NEXT: passed
// CHECK: result 1: 64x2x64x8xf32
// CHECK-NEXT: passed
// CHECK: result 2: 64x2x64x8xf32
// CHECK-NEXT: passed

!x = tensor<?x?x12xf32>
!cache = tensor<?x2x?x8xf32>
!table = tensor<?x4xf32>

func.func @layer(%x: !x, %w: tensor<12x64xbf16>, %wo: tensor<32x12xbf16>,
                 %t: !table, %norm: tensor<8xf32>,
                 %k: !cache {bufferization.writable = true},
                 %v: !cache {bufferization.writable = true},
                 %lengths: tensor<?xi32>) -> (!x, !cache, !cache) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : !x
  %s = tensor.dim %x, %c1 : !x
  %init = tensor.empty(%b, %s) : !x
  %y, %keys, %values = attn.multi_head_attention heads(4, 2) sizes(8, 8)
      ins(%x : !x) outs(%init, %k, %v : !x, !cache, !cache)
      qkv(%w : tensor<12x64xbf16>) output(%wo : tensor<32x12xbf16>)
      norms(%norm, %norm : tensor<8xf32>, tensor<8xf32>)
      rope half_split(%t, %t : !table, !table)
      lengths(%lengths : tensor<?xi32>) mask causal
  return %y, %keys, %values : !x, !cache, !cache
}
