// A step of decoding whose queries and new keys are rotated: the queries of a group
// where a chunk of its keys is, the keys where the cache has them. No buffer has all of
// the rotated queries or keys.
// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true}" -attn-cpu-pipeline \
// RUN:   -mlir-print-ir-after=buffer-loop-hoisting -o %t 2>&1 \
// RUN: | FileCheck %s --implicit-check-not='{{alloc\(%.*x8x1x64xf32>}}' \
// RUN:     --implicit-check-not='x2x1x64xf32>' --implicit-check-not='remark:'

!query = tensor<?x8x1x64xf32>
!row = tensor<?x2x1x64xf32>
!cache = tensor<?x2x?x64xf32>
!lengths = tensor<?xi32>
!table = tensor<?x32xf32>
!all = tensor<?x2x?x64xf32>

// CHECK-LABEL: func.func @step(
// CHECK: memref.alloc(%{{.*}}) {{.*}} : memref<?x2x4x64xf32>
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}, 2, %{{.*}})
// CHECK: %[[TURNED:.*]] = memref.alloc() {{.*}} : memref<1x4x1x64xf32>
// CHECK: linalg.generic
// CHECK: memref.expand_shape %[[TURNED]]
// CHECK: scf.while
func.func @step(%query: !query, %key: !row, %value: !row, %cos: !table, %sin: !table,
                %key_cache: !cache {bufferization.writable = true},
                %value_cache: !cache {bufferization.writable = true},
                %before: !lengths, %after: !lengths)
    -> (!query, !cache, !cache) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : !query
  %qe = tensor.empty(%batch) : !query
  %ke = tensor.empty(%batch) : !row
  %q = attn.rope half_split ins(%query, %cos, %sin : !query, !table, !table)
      outs(%qe : !query) offset(%before : !lengths)
  %kr = attn.rope half_split ins(%key, %cos, %sin : !row, !table, !table)
      outs(%ke : !row) offset(%before : !lengths)
  %keys = attn.cache_append ins(%kr : !row) outs(%key_cache : !cache) lengths(%before : !lengths)
  %values = attn.cache_append ins(%value : !row) outs(%value_cache : !cache) lengths(%before : !lengths)
  %size = tensor.dim %key_cache, %c2 : !cache
  %k = attn.cache_read ins(%keys : !cache) lengths(%after : !lengths) size(%size) -> !all
  %v = attn.cache_read ins(%values : !cache) lengths(%after : !lengths) size(%size) -> !all
  %init = tensor.empty(%batch) : !query
  %output = attn.attention ins(%q, %k, %v : !query, !all, !all)
      outs(%init : !query) mask key_padding(%after : !lengths)
  return %output, %keys, %values : !query, !cache, !cache
}
