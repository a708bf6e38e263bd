// A cache that is updated in place is an argument and a result; the interpreter
// sees what it held before.
// RUN: attn-run %s --entry append --random 1 --check | FileCheck %s
// RUN: attn-run %s --entry append --random 1 --check --pipeline reference | FileCheck %s
// CHECK: argument 1 'keys': 64x2x64x4xbf16 from random
// CHECK: result 0: 64x2x64x4xbf16
// CHECK-NEXT: passed
// CHECK: result 1: 64x2x64x4xf32
// CHECK-NEXT: passed

// The kernel's error, which names the argument, comes before the interpreter's.
// RUN: attn-run %s --entry below --out %t.npy
// RUN: not attn-run %s --entry append --arg - --arg - --arg %t.npy --random 1 \
// RUN:   --check 2>&1 | FileCheck %s --check-prefix=LENGTHS
// LENGTHS: 'attn.cache_append' op argument 'lengths': expected numbers from 0 to 2^61: got -1 for sequence 0
func.func @append(%rows: tensor<?x2x?x4xf32>,
                  %keys: tensor<?x2x?x4xbf16> {bufferization.writable = true},
                  %lengths: tensor<?xi32>)
    -> (tensor<?x2x?x4xbf16>, tensor<?x2x?x4xf32>) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %keys, %c2 : tensor<?x2x?x4xbf16>
  %0 = attn.cache_append ins(%rows : tensor<?x2x?x4xf32>)
      outs(%keys : tensor<?x2x?x4xbf16>) lengths(%lengths : tensor<?xi32>)
  %1 = attn.cache_read ins(%0 : tensor<?x2x?x4xbf16>)
      lengths(%lengths : tensor<?xi32>) size(%n) -> tensor<?x2x?x4xf32>
  return %0, %1 : tensor<?x2x?x4xbf16>, tensor<?x2x?x4xf32>
}

func.func @below() -> tensor<2xi32> {
  %lengths = arith.constant dense<[-1, 0]> : tensor<2xi32>
  return %lengths : tensor<2xi32>
}
