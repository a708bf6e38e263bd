// One query of each of four heads that share a key/value head, on paged caches:
// keys and values are read in their pages, and nothing of them is gathered.
// DEFINE: %{type} = f16
// DEFINE: %{buffers} = sed 's/f16/%{type}/g' %s | attn-opt \
// DEFINE:   --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true}" -attn-cpu-pipeline \
// DEFINE:   -mlir-print-ir-after=buffer-loop-hoisting -o %t 2>&1 \
// DEFINE:   | FileCheck %s --implicit-check-not='alloc{{.*}}memref<?x2x?x64' \
// DEFINE:       --implicit-check-not='remark:'

// RUN: %{buffers}
// REDEFINE: %{type} = bf16
// RUN: %{buffers}
// REDEFINE: %{type} = f32
// RUN: %{buffers}

!q = tensor<?x8x1x64xf16>
!kv = tensor<?x2x?x64xf16>
!cache = tensor<?x2x16x64xf16>
!lengths = tensor<?xi32>
!table = tensor<?x?xi32>

// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %{{[^:]*}}: {{.*}}, %[[KEYS:[^:]*]]: memref<?x2x16x64x[[TYPE:[a-z0-9]*]], {{[^%]*}}, %[[VALUES:[^:]*]]: memref<?x2x16x64x[[TYPE]], {{[^%]*}}, %{{[^:]*}}: {{[^%]*}}, %[[TABLE:[^:]*]]: memref<?x?xi32,
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) in (%{{.*}}, 2, %{{.*}})
// CHECK: scf.while
// CHECK: scf.for
// CHECK: %[[NUMBER:.*]] = arith.divui %{{.*}}, %c16
// CHECK: %[[ENTRY:.*]] = memref.load %[[TABLE]][%[[B]], %[[NUMBER]]]
// CHECK: %[[PAGE:.*]] = arith.index_cast %[[ENTRY]]
// CHECK: memref.subview %[[KEYS]][%[[PAGE]], %[[H]],
// CHECK: memref.subview %[[VALUES]][%{{.*}}, %[[H]],
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<?x64x[[TYPE]], {{.*}}, memref<4x64xf32
// CHECK: attn.online_softmax outs({{.*}} : memref<16x16xf32>,
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<?x4xf32, {{.*}}, memref<?x64x[[TYPE]],
func.func @decode(%query: !q, %keys: !cache, %values: !cache,
                  %lengths: !lengths, %table: !table, %n: index) -> !q {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %query, %c0 : !q
  %init = tensor.empty(%batch) : !q
  %key = attn.cache_read ins(%keys : !cache) lengths(%lengths : !lengths)
      table(%table : !table) size(%n) -> !kv
  %value = attn.cache_read ins(%values : !cache) lengths(%lengths : !lengths)
      table(%table : !table) size(%n) -> !kv
  %output = attn.attention ins(%query, %key, %value : !q, !kv, !kv)
      outs(%init : !q) mask key_padding(%lengths : !lengths)
  return %output : !q
}
