// Many queries on a cache, of every type, in pages of any number of positions:
// neither keys nor values are gathered as a whole. In pairs, values are packed once, as
// they are without a cache.
// DEFINE: %{cached} = f16
// DEFINE: %{read} = f16
// DEFINE: %{rows} = 16
// DEFINE: %{more} =
// DEFINE: %{buffers} = sed 's/cached/%{cached}/g; s/f64/%{read}/g; s/rows/%{rows}/g' %s \
// DEFINE:   | attn-opt --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true%{more}}" -attn-cpu-pipeline \
// DEFINE:     -mlir-print-ir-after=buffer-loop-hoisting -o %t 2>&1 \
// DEFINE:   | FileCheck %s --implicit-check-not='alloc{{.*}}memref<?x2x?x64x{{[a-z]}}' \
// DEFINE:       --implicit-check-not='written out as a whole'

// RUN: %{buffers}
// REDEFINE: %{rows} = ?
// RUN: %{buffers}
// REDEFINE: %{cached} = bf16
// REDEFINE: %{read} = bf16
// RUN: %{buffers}
// REDEFINE: %{more} = , bf16_tiles = true
// RUN: %{buffers}
// REDEFINE: %{rows} = 12
// RUN: %{buffers}
// REDEFINE: %{rows} = 64
// RUN: %{buffers}
// REDEFINE: %{cached} = f16
// REDEFINE: %{read} = f32
// RUN: %{buffers}

!q = tensor<?x8x100x64xf64>
!kv = tensor<?x2x?x64xf64>
!cache = tensor<?x2xrowsx64xcached>
!lengths = tensor<?xi32>
!table = tensor<?x?xi32>

// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: %{{[^:]*}}: {{.*}}, %[[KEYS:[^:]*]]: memref<?x2x{{[^,]*}}, {{[^%]*}}, %[[VALUES:[^:]*]]: memref<?x2x
// CHECK-DAG: memref.subview %[[KEYS]]
// CHECK-DAG: memref.subview %[[VALUES]]
// CHECK: attn.online_softmax
func.func @prefill(%query: !q, %keys: !cache, %values: !cache, %lengths: !lengths,
                   %table: !table, %offset: tensor<?xi32>, %n: index) -> !q {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %query, %c0 : !q
  %init = tensor.empty(%batch) : !q
  %key = attn.cache_read ins(%keys : !cache) lengths(%lengths : !lengths)
      table(%table : !table) size(%n) -> !kv
  %value = attn.cache_read ins(%values : !cache) lengths(%lengths : !lengths)
      table(%table : !table) size(%n) -> !kv
  %output = attn.attention ins(%query, %key, %value : !q, !kv, !kv)
      outs(%init : !q) offset(%offset : tensor<?xi32>) mask causal
  return %output : !q
}
