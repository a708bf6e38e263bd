// A cache that is updated in place is an argument and a result; the interpreter
// sees what it held before.
// RUN: attn-run %s --random 1 --check | FileCheck %s
// RUN: attn-run %s --random 1 --check --pipeline reference | FileCheck %s
// CHECK: argument 1 'keys': 64x2x64x4xbf16 from random
// CHECK: result 0: 64x2x64x4xbf16
// CHECK-NEXT: passed
// CHECK: result 1: 64x2x64x4xf32
// CHECK-NEXT: passed
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
