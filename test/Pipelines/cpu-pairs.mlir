// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true, bf16_dot = true}" -attn-cpu-pipeline \
// RUN:   -verify-diagnostics -o %t
// RUN: FileCheck %s --check-prefix=DOT --input-file=%t
// RUN: attn-opt %t -mlir-print-op-generic | FileCheck %s --check-prefix=OPS
// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true, bf16_tiles = true}" -attn-cpu-pipeline \
// RUN:   -verify-diagnostics -mlir-print-ir-after=attn-bufferize-kernels -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BUFFERS --implicit-check-not=2048x2048
// RUN: FileCheck %s --check-prefix=TILE --input-file=%t
// RUN: attn-opt %t -mlir-print-op-generic | FileCheck %s --check-prefix=OPS

// Only the LLVM dialect is left, and no remark.
// OPS: "builtin.module"
// OPS-NOT: {{^ *(%.* = )?"[a-km-z]}}

!x = tensor<1x8x2048x64xbf16>

// Values are packed in parallel, then tiles computed.
// TILE-LABEL: llvm.func @attention(
// TILE-COUNT-2: llvm.call @attn_rt_parallel_ranges
// TILE: llvm.x86.tdpbf16ps.internal
// DOT-LABEL: llvm.func @attention(
// DOT-COUNT-2: llvm.call @attn_rt_parallel_ranges
// DOT: llvm.x86.avx512bf16.dpbf16ps.512
// DOT-NOT: llvm.x86.t

// Buffers of the size of the values, of the result and of a tile of queries.
// BUFFERS-LABEL: func.func @attention(
// BUFFERS: memref.alloc() {{.*}} : memref<1x8x64x64x32xbf16>
// BUFFERS: scf.forall
// BUFFERS: memref.alloc() {{.*}} : memref<1x8x2048x64xbf16>
// BUFFERS-NOT: memref.alloc{{.*}}2048
// BUFFERS: scf.forall {{.*}} to (8, 2048) step (1, 32)
// BUFFERS-NOT: memref.alloc{{.*}}2048
// BUFFERS-NOT: 2048x64xf32
func.func @attention(%q: !x, %k: !x, %v: !x, %o: !x) -> !x {
  %r = attn.attention ins(%q, %k, %v : !x, !x, !x) outs(%o : !x) mask causal
  return %r : !x
}
