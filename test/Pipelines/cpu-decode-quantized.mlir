// One query of each of four heads that share a key/value head, on caches of i8: keys
// and values are read in their pages, converted as they are loaded, and multiplied
// by their scales once for a row.
// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true}" -attn-cpu-pipeline \
// RUN:   -mlir-print-ir-after=buffer-loop-hoisting -o %t 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not='alloc{{.*}}memref<?x2x?x64' \
// RUN:       --implicit-check-not='remark:'

!q = tensor<?x8x1x64xf32>
!kv = tensor<?x2x?x64xf32>
!cache = tensor<?x2x16x64xi8>
!scales = tensor<?x2x16xf32>
!lengths = tensor<?xi32>
!table = tensor<?x?xi32>

// CHECK-LABEL: func.func @decode(
// CHECK: scf.while
// CHECK: scf.for
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<?x64xi8, {{.*}}, memref<4x64xf32{{.*}}) outs(%[[SCORES:.*]] : memref<?x4xf32,
// CHECK: arith.sitofp
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<?xf32, {{.*}}) outs(%{{.*}} : memref<?x16xf32,
// CHECK: attn.online_softmax outs({{.*}} : memref<16x16xf32>,
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<?xf32, {{.*}}) outs(%{{.*}} : memref<?x16xf32,
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<?x4xf32, {{.*}}, memref<?x64xi8,
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
