// What is found depends on the machine; that it is written, kept and used does not.
// It is found by compiling kernels.
// UNSUPPORTED: leaves-kernels

// RUN: rm -rf %t && mkdir %t
// RUN: attn-tune %s --entry f --sizes 1x4x32x16,1x4x96x16 --seconds 0.2 \
// RUN:   --cache-dir %t/cache -o %t/tuned.mlir 2>&1 | FileCheck %s --check-prefix=TUNE
// RUN: attn-run %t/tuned.mlir --entry f --arg 1x4x32x16 --arg 1x4x96x16 --check
// RUN: attn-run %s --entry f --arg 1x4x32x16 --arg 1x4x96x16 --cache-dir %t/cache \
// RUN:   --check --remarks | FileCheck %s --check-prefix=LATER
// TUNE: {{[0-9]+}} plan{{s?}} tried{{.*}}; the {{compiler's are the best|best are}}
// LATER: loaded from the disk cache
// LATER: passed

// Updated in place, caches are as they should be after tuning.
// RUN: attn-run %s --entry append --tune=0.2 --random 1 --arg 1x2x3x16 --arg 1x2x8x16 --check \
// RUN:   --json %t/report.json | FileCheck %s --check-prefix=CALL
// RUN: FileCheck %s --check-prefix=JSON --input-file %t/report.json
// RUN: attn-tune %s --entry append --random 1 --arg 1x2x3x16 --arg 1x2x8x16 --seconds 0 \
// RUN:   2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not attn-tune %s --entry append --arg 1x2x3x16 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not attn-tune %s --entry append --sizes 1x2x3x16,1x2x8 --random 1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RANK
// RUN: not attn-tune %s --entry append --sizes 1x2x3x16 --arg - 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not attn-tune %s --entry f --sizes 1x4x32x16,1x4x96x17 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not attn-tune %s --seconds soon 2>&1 | FileCheck %s --check-prefix=SECONDS
// RUN: not attn-run %s --tune=-1 2>&1 | FileCheck %s --check-prefix=TUNE-SECONDS
// RUN: not attn-run %s --tune --pipeline reference --entry f --random 1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PIPELINE
// RUN: not attn-tune %t/none.mlir 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not attn-tune 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: attn-tune --help | FileCheck %s --check-prefix=HELP

// RUN: cp %s %t/own.mlir
// RUN: not attn-tune %t/own.mlir --entry f --random 1 -o %t/own.mlir 2>&1 | FileCheck %s --check-prefix=OWN

// RUN: attn-run %s --entry f --arg 1x4x5x16 --random 3 --tune=0.1 | FileCheck %s --check-prefix=CALL
// RUN: not attn-run %s --entry f --arg 4x5x16 --random 3 2>&1 | FileCheck %s --check-prefix=RANKS

// CALL-DAG: tuned: {{[0-9]+}} plan
// CALL-DAG: result 0
// JSON: "tuning"
// JSON: "tried"
// NONE: 0 plans tried, as long as there was time; the compiler's are the best
// NONE: attn.attention
// MISSING: attn-tune: error: argument 1 'cache' (tensor<1x2x?x16xf32>) is not given: use --arg, or --random
// RANK: attn-tune: error: argument 1 'cache' (tensor<1x2x?x16xf32>): expected 4 sizes, got '1x2x8'
// BOTH: attn-tune: error: expected --sizes or --arg, not both
// SIZE: attn-tune: error: {{.*}}17
// SECONDS: attn-tune: error: --seconds: expected seconds, such as 2.5, got 'soon'
// TUNE-SECONDS: attn-run: error: --tune: expected seconds, such as 2.5, got '-1'
// PIPELINE: attn-run: error: pipeline: expected 'cpu' to tune, got 'reference'
// FILE: none.mlir: cannot open
// INPUT: attn-tune: error: expected one input file, got 0; see --help
// HELP: --sizes <sizes,...>
// OWN: attn-tune: error: {{.*}}own.mlir
// RANKS: attn-run: error: argument 0 'q' (tensor<1x4x?x16xf32>): expected 4 sizes, got '4x5x16'

func.func @f(%q: tensor<1x4x?x16xf32>, %k: tensor<1x4x?x16xf32>) -> tensor<1x4x?x16xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x4x?x16xf32>
  %init = tensor.empty(%n) : tensor<1x4x?x16xf32>
  %r = attn.attention ins(%q, %k, %k : tensor<1x4x?x16xf32>, tensor<1x4x?x16xf32>, tensor<1x4x?x16xf32>)
      outs(%init : tensor<1x4x?x16xf32>) mask causal
  return %r : tensor<1x4x?x16xf32>
}

func.func @append(%new: tensor<1x2x3x16xf32>,
                  %cache: tensor<1x2x?x16xf32> {bufferization.writable = true},
                  %lengths: tensor<1xi32>) -> (tensor<1x2x3x16xf32>, tensor<1x2x?x16xf32>) {
  %c3 = arith.constant 3 : i32
  %appended = attn.cache_append ins(%new : tensor<1x2x3x16xf32>) outs(%cache : tensor<1x2x?x16xf32>)
      lengths(%lengths : tensor<1xi32>)
  %after = tensor.generate {
  ^bb0(%i: index):
    %before = tensor.extract %lengths[%i] : tensor<1xi32>
    %sum = arith.addi %before, %c3 : i32
    tensor.yield %sum : i32
  } : tensor<1xi32>
  %c2 = arith.constant 2 : index
  %size = tensor.dim %cache, %c2 : tensor<1x2x?x16xf32>
  %key = attn.cache_read ins(%appended : tensor<1x2x?x16xf32>)
      lengths(%after : tensor<1xi32>) size(%size) -> tensor<1x2x?x16xf32>
  %init = tensor.empty() : tensor<1x2x3x16xf32>
  %r = attn.attention ins(%new, %key, %key : tensor<1x2x3x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
      outs(%init : tensor<1x2x3x16xf32>) offset(%lengths : tensor<1xi32>)
      mask causal, key_padding(%after : tensor<1xi32>)
  return %r, %appended : tensor<1x2x3x16xf32>, tensor<1x2x?x16xf32>
}
