// What runs, in each of its forms.

// RUN: attn-run %s --emit=mlir | FileCheck %s --check-prefix=MLIR
// MLIR: module {
// MLIR-NOT: attn.attention
// MLIR: llvm.func @attn_kernel(

// RUN: attn-run %s --emit llvm | FileCheck %s --check-prefix=LLVM
// LLVM: target triple =
// LLVM: define {{.*}}void @attn_entry(ptr

// RUN: rm -rf %t && mkdir %t
// RUN: attn-run %s -S -o %t/kernel.s
// RUN: FileCheck %s --check-prefix=ASM --input-file=%t/kernel.s
// ASM: .globl attn_entry
// ASM-LABEL: attn_entry:
// ASM: ret
// RUN: attn-run %s --emit=asm | cmp - %t/kernel.s

// RUN: attn-run %s --emit=obj -o %t/kernel.o
// RUN: llvm-nm %t/kernel.o | FileCheck %s --check-prefix=OBJECT
// OBJECT: T attn_entry

// Of another lowering, and for a processor without AVX.
// RUN: attn-run %s -S --pipeline reference | FileCheck %s --check-prefix=REFERENCE
// REFERENCE: attn_entry:
// RUN: attn-run %s -S --cpu x86-64-v2 \
// RUN:   | FileCheck %s --check-prefix=SSE --implicit-check-not=%%ymm
// SSE: attn_entry:

// RUN: %if gpu %{ not attn-run %s --emit=llvm --pipeline gpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GPU %}
// GPU: error: pipeline 'gpu': its code is that of two processors

// RUN: not attn-run %s --emit=ptx 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: --emit: expected mlir, llvm, asm or obj, got 'ptx'
// RUN: not attn-run %s -S --emit=llvm 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: -S: expected --emit=asm or none, got 'llvm'
// RUN: not attn-run %s -S --check 2>&1 | FileCheck %s --check-prefix=CHECKED
// CHECKED: error: --check: expected no --emit and no -S, with which nothing is run
// RUN: not attn-run %s --random 1 -o %t/result 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: -o: expected --emit or -S; --out is for results
// RUN: cp %s %t/same.mlir
// RUN: not attn-run %t/same.mlir -S -o %t/same.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SAME
// SAME: error: -o: expected another file than that of the input

func.func @attend(%query: tensor<1x2x4x8xf32>, %key: tensor<1x1x4x8xf32>,
                  %value: tensor<1x1x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %init = tensor.empty() : tensor<1x2x4x8xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x2x4x8xf32>, tensor<1x1x4x8xf32>,
          tensor<1x1x4x8xf32>)
      outs(%init : tensor<1x2x4x8xf32>)
      mask causal
  return %output : tensor<1x2x4x8xf32>
}
