// RUN: not attn-opt %s -attn-print-blocks 2>&1 | FileCheck %s --check-prefix=QUERY
// RUN: not attn-opt %s -attn-print-blocks="query-length=4" 2>&1 | FileCheck %s --check-prefix=OFFSET
// RUN: not attn-opt %s -attn-print-blocks="query-length=-4" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not attn-opt %s -attn-print-blocks="query-length=4 offset=0 key-length=5" 2>&1 | FileCheck %s --check-prefix=STATIC
// RUN: not attn-opt %s -attn-print-blocks="query-length=4 offset=0 key-block=0" 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not attn-opt %s -attn-print-blocks="query-length=4 offset=2305843009213693953" 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not attn-opt %s -attn-print-blocks="query-length=8000000 offset=0" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not attn-opt %s -attn-print-blocks="query-length=1152921504606846977 offset=0" 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not attn-opt %s -attn-print-blocks="query-length=1152921504606846976 offset=0" 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not attn-opt %s -attn-print-blocks="query-length=four" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not attn-opt %s -attn-print-blocks="query-length=4 offset=0 svg=no/such/folder.svg" 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: cp %s %t.mlir && not attn-opt %t.mlir -attn-print-blocks="query-length=4 offset=0 svg=%t.mlir" 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: cmp %s %t.mlir
// RUN: echo "func.func private @f()" | not attn-opt -attn-print-blocks 2>&1 | FileCheck %s --check-prefix=NONE

// QUERY: [[# @LINE + 14]]:8: error: query length is not known while compiling: say with query-length for which to show the blocks
// OFFSET: :8: error: offset is not known while compiling: say with offset for which to show the blocks
// NEGATIVE:  error: query-length: expected 0 to 2^60, got -4
// STATIC: error: key-length: expected an attn.attention that leaves it open, got 5 for none
// BLOCK:  error: key-block: expected 1 to 2^60, got 0
// FAR: :8: error: offset: expected at most 2^61 in magnitude, got 2305843009213693953
// MANY: :8: error: expected at most 262144 blocks to show, got 500000 x 16 for 1 batch entries and 1 heads that may differ
// HUGE:  error: query-length: expected 0 to 2^60, got 1152921504606846977
// LONG: :8: error: expected at most 262144 blocks to show, got 72057594037927936 x 16
// NUMBER: 'four' value invalid
// FILE: error: svg: {{.*}}folder.svg
// INPUT: error: svg: expected another file than that of the input, got {{.*}}.mlir
// NONE: error: expected an attn.attention to show the blocks of
func.func @f(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x1000x8xf32>, %n: i64) -> tensor<1x2x?x8xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<1x2x?x8xf32>, tensor<1x2x1000x8xf32>, tensor<1x2x1000x8xf32>) outs(%q : tensor<1x2x?x8xf32>) offset(%n : i64) mask causal
  return %r : tensor<1x2x?x8xf32>
}
