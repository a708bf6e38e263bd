// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --cse | FileCheck %s --check-prefix=CSE
// RUN: attn-opt %s --attn-reference-pipeline | FileCheck %s --check-prefix=LOWER
// RUN: attn-opt %s \
// RUN:   --attn-reference-pipeline="vector-bits=512 vector-registers=32 scalef" \
// RUN:   | FileCheck %s --check-prefix=LOWER
// RUN: not attn-opt %s --attn-reference-pipeline=vector-bits=wide 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TARGET
// RUN: not attn-opt %s --no-such-pass 2>&1 | FileCheck %s --check-prefix=OPTION
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

// TARGET: for the --vector-bits option: 'wide' value invalid for uint argument
// OPTION: Unknown command line argument '--no-such-pass'
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
