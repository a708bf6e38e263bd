// RUN: not attn-opt %s -attn-print-blocks 2>&1 | FileCheck %s
// RUN: attn-opt %s -attn-print-blocks="query-length=16" -o %t 2>&1 | FileCheck %s --check-prefix=SOME

// Counts say how many of the 64 queries a sequence has: the last of 16 is at the end
// of the keys.
// CHECK: :8: error: query length of a sequence is not known while compiling: say with query-length for which to show the blocks
// SOME: 16 queries
func.func @counts(%q: tensor<2x4x64x32xf32>, %k: tensor<2x2x64x32xf32>, %c: tensor<2xi32>) -> tensor<2x4x64x32xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<2x4x64x32xf32>, tensor<2x2x64x32xf32>, tensor<2x2x64x32xf32>) outs(%q : tensor<2x4x64x32xf32>) offset(bottom_right) counts(%c : tensor<2xi32>) mask causal
  return %r : tensor<2x4x64x32xf32>
}
