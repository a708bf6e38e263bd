// Leaves of a text what a program looks for. The program is attn-opt, dozens of times.
// UNSUPPORTED: leaves-kernels

// RUN: rm -rf %t && mkdir %t
// RUN: printf '#!/bin/sh\nattn-opt "$1" --attn-cpu-pipeline -mlir-print-ir-after=attn-decompose-online -o /dev/null 2>&1 | grep -q online_dropout\n' > %t/test.sh
// RUN: chmod +x %t/test.sh
// RUN: attn-reduce %s --test %t/test.sh -o %t/small.mlir
// RUN: FileCheck %s --input-file=%t/small.mlir --implicit-check-not=arith. \
// RUN:   --implicit-check-not=mask --implicit-check-not=score
// CHECK: func.func @attend(
// CHECK: attn.attention
// CHECK-SAME: dropout(

// RUN: printf '#!/bin/sh\nexit 1\n' > %t/never.sh && chmod +x %t/never.sh
// RUN: not attn-reduce %s --test %t/never.sh 2>&1 | FileCheck %s --check-prefix=NEVER
// NEVER: error: --test: expected the program to exit with 0 for what the input says
// RUN: not attn-reduce %s --test %t/missing.sh 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: --test: cannot execute {{.*}}missing.sh: 
// RUN: not attn-reduce %t/missing.mlir --test %t/test.sh 2>&1 \
// RUN:   | FileCheck %s --check-prefix=INPUT
// INPUT: error: {{.*}}missing.mlir: cannot be read

func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func @attend(%query: tensor<1x2x4x8xf32>, %key: tensor<1x1x4x8xf32>,
                  %value: tensor<1x1x4x8xf32>, %bias: tensor<4xf32>,
                  %seed: i64, %call: i32) -> (tensor<1x2x4x8xf32>, tensor<4xf32>) {
  %twice = arith.mulf %bias, %bias : tensor<4xf32>
  %init = tensor.empty() : tensor<1x2x4x8xf32>
  %scaled = arith.addf %query, %query : tensor<1x2x4x8xf32>
  %output = attn.attention
      ins(%scaled, %key, %value : tensor<1x2x4x8xf32>, tensor<1x1x4x8xf32>,
          tensor<1x1x4x8xf32>)
      outs(%init : tensor<1x2x4x8xf32>)
      dropout(0.5, %seed, %call)
      score softcap(3.0), bias(%bias : tensor<4xf32>)
      mask causal, sliding_window(2, 0)
  %sum = arith.addf %output, %output : tensor<1x2x4x8xf32>
  return %sum, %twice : tensor<1x2x4x8xf32>, tensor<4xf32>
}
