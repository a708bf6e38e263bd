// One query of each of four heads that share a key/value head, for every type and
// for processors with and without instructions on pairs.
// DEFINE: %{type} = f16
// DEFINE: %{more} =
// DEFINE: %{lower} = sed 's/f16/%{type}/g' %s | attn-opt \
// DEFINE:   --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true%{more}}" -attn-cpu-pipeline
// DEFINE: %{buffers} = %{lower} -mlir-print-ir-after=buffer-loop-hoisting -o %t 2>&1 \
// DEFINE:   | FileCheck %s --check-prefix=BUFFERS --implicit-check-not='alloc{{.*}}x2x?x64' \
// DEFINE:       --implicit-check-not='remark:'
// DEFINE: %{vectors} = %{lower} -mlir-print-ir-after=convert-attn-to-vector -o %t 2>&1 \
// DEFINE:   | FileCheck %s --check-prefix=VECTORS --implicit-check-not='attn.online' \
// DEFINE:       --implicit-check-not='linalg.generic'
// DEFINE: %{ops} = attn-opt %t -mlir-print-op-generic | FileCheck %s --check-prefix=OPS

// RUN: %{buffers}
// RUN: %{vectors}
// RUN: %{ops}
// REDEFINE: %{type} = bf16
// RUN: %{buffers}
// RUN: %{vectors}
// RUN: %{ops}
// REDEFINE: %{more} = , bf16_dot = true
// RUN: %{buffers}
// RUN: %{vectors}
// REDEFINE: %{more} = , bf16_tiles = true
// RUN: %{buffers}
// RUN: %{vectors}
// RUN: %{ops}
// REDEFINE: %{more} =
// REDEFINE: %{type} = f32
// RUN: %{buffers}
// RUN: %{vectors}
// RUN: %{ops}

// Four rows are what a vector of 128 bits has lanes for.
// RUN: attn-opt %s --attn-target="{vector_bits = 128, vector_registers = 32}" -attn-cpu-pipeline \
// RUN:   | mlir-translate --mlir-to-llvmir | opt -O2 -S \
// RUN:   | llc -mtriple=aarch64-linux-gnu -O3 | FileCheck %s --check-prefix=AARCH64 --implicit-check-not='bl __'
// AARCH64-LABEL: decode_parallel_0:
// AARCH64: fcvtl v{{[0-9]+}}.4s, v{{[0-9]+}}.4h
// AARCH64: fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.4s
// AARCH64: .size

!q = tensor<?x8x1x64xf16>
!kv = tensor<?x2x?x64xf16>

// A tile for each chunk of keys of a head. Keys and values are read where they are: no
// buffer has their size.
// BUFFERS-LABEL: func.func @decode(
// BUFFERS-SAME: %{{[^:]*}}: {{.*}}, %[[KEY:[^:]*]]: memref<?x2x?x64x[[TYPE:[a-z0-9]*]], {{[^%]*}}, %[[VALUE:[^:]*]]: memref<?x2x?x64x[[TYPE]],
// BUFFERS: scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) in (%{{.*}}, 2, %{{.*}})
// BUFFERS: %[[K1:.*]] = memref.subview %[[KEY]][%[[B]], %[[H]], 0, 0]
// BUFFERS: scf.while
// BUFFERS: scf.for
// BUFFERS: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<?x64x[[TYPE]], {{.*}}, memref<4x64xf32{{.*}}) outs(%{{.*}} : memref<?x4xf32,
// BUFFERS: attn.online_softmax outs({{.*}} : memref<{{16|64}}x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
// BUFFERS: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<?x4xf32, {{.*}}, memref<?x64x[[TYPE]], {{.*}}) outs(%{{.*}} : memref<4x64xf32

// Everything in vectors.
// VECTORS-LABEL: func.func @decode(
// VECTORS: vector.fma {{.*}} : vector<16xf32>
// VECTORS: vector.contract {{.*}} into vector<4x16xf32>

// OPS: "builtin.module"
// OPS-NOT: {{^ *(%.* = )?"[a-km-z]}}
func.func @decode(%query: !q, %key: !kv, %value: !kv, %length: tensor<?xi32>)
    -> !q {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %query, %c0 : !q
  %init = tensor.empty(%batch) : !q
  %output = attn.attention ins(%query, %key, %value : !q, !kv, !kv)
      outs(%init : !q) mask key_padding(%length : tensor<?xi32>)
  return %output : !q
}
