// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --cse | FileCheck %s --check-prefix=CSE
// RUN: attn-opt %s --attn-reference-pipeline | FileCheck %s --check-prefix=LOWER
// RUN: attn-opt %s \
// RUN:   --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true}" --attn-reference-pipeline \
// RUN:   | FileCheck %s --check-prefix=LOWER
// RUN: attn-opt %s --attn-target=znver4 | FileCheck %s --check-prefix=ZNVER4
// RUN: attn-opt %s --attn-target=host | FileCheck %s --check-prefix=HOST
// RUN: not attn-opt %s --attn-target=abacus 2>&1 | FileCheck %s --check-prefix=ABACUS
// RUN: not attn-opt %s --attn-target="{vector_bits = 96}" 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not attn-opt %s --attn-target="{wide = 3" 2>&1 | FileCheck %s --check-prefix=BRACE
// RUN: attn-opt %s --attn-target="{vector_bits = 512}" | attn-opt --attn-target=x86-64 \
// RUN:   | FileCheck %s --check-prefix=KEPT
// RUN: not attn-opt %s --no-such-pass 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: cp %s %t.mlir
// RUN: not attn-opt %t.mlir -o %t.mlir 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: cmp %s %t.mlir
// RUN: not attn-opt %S/no-such-file.mlir 2>&1 | FileCheck %s --check-prefix=FILE

// The tool reads the dialect, and runs upstream's passes and ours.

// CHECK-LABEL: func.func @attend
// CHECK-COUNT-2: tensor.empty
// CHECK: attn.attention
// CHECK: attn.yield

// CSE-LABEL: func.func @attend
// CSE-COUNT-1: tensor.empty
// CSE-NOT: tensor.empty
// CSE: attn.attention

// LOWER-NOT: attn.
// LOWER: llvm.func @attend
// LOWER-NOT: attn.attention

// ZNVER4: attn.target = #attn.target<vector_bits = 512, vector_registers = 32, scalef = true, bf16_dot = true, i8_dot = true>
// HOST: attn.target = #attn.target<
// ABACUS: attn-target: cpu: expected a processor that LLVM knows for {{.*}}, got 'abacus'
// BITS: error: vector_bits: expected 128, 256 or 512, got 96
// BRACE: attn-target: cpu: expected a processor
// KEPT: attn.target = #attn.target<vector_bits = 512>
// OPTION: Unknown command line argument '--no-such-pass'
// OUTPUT: error: -o: expected another file than that of the input, got {{.*}}.mlir
// FILE: No such file or directory

func.func @attend(%query: tensor<1x2x4x8xf32>, %key: tensor<1x1x4x8xf32>,
                  %value: tensor<1x1x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %unused = tensor.empty() : tensor<1x2x4x8xf32>
  %init = tensor.empty() : tensor<1x2x4x8xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x2x4x8xf32>, tensor<1x1x4x8xf32>,
          tensor<1x1x4x8xf32>)
      outs(%init : tensor<1x2x4x8xf32>)
      mask causal
  return %output : tensor<1x2x4x8xf32>
}
