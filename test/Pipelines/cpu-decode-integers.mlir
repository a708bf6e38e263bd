// Keys of i8 multiplied as integers, down to the instruction, where they lie in pages.
// RUN: attn-opt %s \
// RUN:   --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true, i8_dot = true, quantize_queries = true}" -attn-cpu-pipeline \
// RUN:   -mlir-print-ir-after=buffer-loop-hoisting -o %t 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not='alloc{{.*}}memref<?x2x?x64' \
// RUN:       --implicit-check-not='remark:'
// RUN: mlir-translate --mlir-to-llvmir %t | opt -O2 -S -mtriple=x86_64-linux-gnu -mcpu=icelake-server \
// RUN:   | llc -mcpu=icelake-server | FileCheck %s --check-prefix=AVX512
// RUN: attn-opt %s \
// RUN:   --attn-target="{vector_bits = 256, vector_registers = 16, i8_dot = true, quantize_queries = true}" -attn-cpu-pipeline \
// RUN:   | mlir-translate --mlir-to-llvmir | opt -O2 -S -mtriple=x86_64-linux-gnu -mcpu=alderlake \
// RUN:   | llc -mcpu=alderlake | FileCheck %s --check-prefix=AVX2
// RUN: attn-opt %s \
// RUN:   --attn-target="{vector_bits = 256, vector_registers = 16, quantize_queries = true}" -attn-cpu-pipeline \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: attn-opt %s \
// RUN:   --attn-target="{vector_bits = 128, vector_registers = 16, i8_dot = true, quantize_queries = true}" -attn-cpu-pipeline \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: attn-compile %s --cpu icelake-server --quantize-queries -o %t.o --header %t.h
// RUN: llvm-objdump -d %t.o | FileCheck %s --check-prefix=AVX512
// RUN: attn-compile %s --cpu icelake-server -o %t.o --header %t.h
// RUN: llvm-objdump -d %t.o | FileCheck %s --check-prefix=DEFAULT

// DEFAULT-NOT: vpdpbusd
// AVX512: vpdpbusd {{.*}}%zmm
// AVX2: vpdpbusd {{.*}}%ymm
// NONE: remark: multiplies keys of i8 as numbers of f32: the target has no dot products of i8

!q = tensor<?x8x1x64xf32>
!kv = tensor<?x2x?x64xf32>
!cache = tensor<?x2x16x64xi8>
!scales = tensor<?x2x16xf32>
!lengths = tensor<?xi32>
!table = tensor<?x?xi32>

// Queries are rounded before the loops over keys.
// CHECK-LABEL: func.func @decode(
// CHECK: scf.forall
// CHECK: math.roundeven
// CHECK: scf.while
// CHECK-NOT: math.roundeven
// CHECK: scf.for
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<?x64xi8, {{.*}}, memref<4x64xi8{{.*}}) outs(%{{.*}} : memref<?x4xi32,
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<?x16xi32, {{.*}}, memref<?xf32, {{.*}}, memref<16xf32>) outs(%{{.*}} : memref<?x16xf32,
// CHECK: attn.online_softmax
func.func @decode(%query: !q, %keys: !cache, %values: !cache, %key_scales: !scales,
                  %value_scales: !scales, %lengths: !lengths, %table: !table,
                  %n: index) -> !q {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %query, %c0 : !q
  %init = tensor.empty(%batch) : !q
  %key = attn.cache_read ins(%keys, %key_scales : !cache, !scales)
      lengths(%lengths : !lengths) table(%table : !table) size(%n) -> !kv
  %value = attn.cache_read ins(%values, %value_scales : !cache, !scales)
      lengths(%lengths : !lengths) table(%table : !table) size(%n) -> !kv
  %output = attn.attention ins(%query, %key, %value : !q, !kv, !kv)
      outs(%init : !q) mask key_padding(%lengths : !lengths)
  return %output : !q
}
