// RUN: attn-opt %s --attn-target="{vector_bits = 128, vector_registers = 32}" -attn-cpu-pipeline \
// RUN:   | mlir-translate --mlir-to-llvmir | opt -O2 -S \
// RUN:   > %t.ll
// RUN: llc %t.ll -mtriple=aarch64-linux-gnu -O3 -o - | FileCheck %s

// The contractions stay in registers. (The softmax, whose loops have a smaller
// share of multiply-adds, keeps constants in memory.)
// RUN: llc %t.ll -mtriple=aarch64-linux-gnu -O3 -filetype=obj -o %t.o
// RUN: python3 %scripts/check_spills.py --share=0.3 %t.o

// Products by one element of a vector of keys: no broadcasts in the loops, and
// no calls of library functions.
// CHECK-LABEL: attention_parallel_0:
// CHECK-NOT: bl fma
// CHECK: fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.s[0]
// CHECK: fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.s[0]
// CHECK-NOT: bl fma
// CHECK: .size
func.func @attention(%q: tensor<1x8x?x64xf32>, %k: tensor<1x8x?x64xf32>,
                     %v: tensor<1x8x?x64xf32>, %o: tensor<1x8x?x64xf32>)
    -> tensor<1x8x?x64xf32> {
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>,
          tensor<1x8x?x64xf32>)
      outs(%o : tensor<1x8x?x64xf32>)
      mask causal
  return %r : tensor<1x8x?x64xf32>
}
