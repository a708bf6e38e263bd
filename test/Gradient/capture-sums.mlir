// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 256}" -attn-plan -attn-tile-backward -canonicalize -mlir-print-local-scope | FileCheck %s

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

// Gradients of captures: an iteration goes over all sequences. What is loaded
// for the distance of a query from a key is added to sums for each distance,
// those of a key as a line: of every sixteenth key after each other, whose lines
// do not overlap. A head then adds each sum that is not 0 at its place.
// CHECK-LABEL: func.func @distances
// CHECK: scf.forall (%{{.*}}) in (8)
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [1, 127] [1, 1] : tensor<8x127xf64> to tensor<1x127xf64>
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: linalg.fill {{.*}} -> tensor<144xf64>
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16
// CHECK: scf.for %[[FROM:.*]] = %c0 to %c16 step %c1
// CHECK: scf.for %{{.*}} = %[[FROM]] to %c64 step %c16
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}] [16] [1] : tensor<144xf64> to tensor<16xf64>
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK: arith.addf %{{.*}}, %[[WIDE]] : f64
// CHECK: scf.for %[[I:.*]] = %c0 to %c127 step %c1
// CHECK: %[[SUM:.*]] = tensor.extract %{{.*}}[%[[I]]] : tensor<144xf64>
// CHECK: arith.cmpf une, %[[SUM]]
// CHECK: %[[OLD:.*]] = tensor.extract %{{.*}} : tensor<1x127xf64>
// CHECK: arith.addf %[[OLD]], %[[SUM]] : f64
func.func @distances(%q: !q, %lse: !lse, %t: tensor<8x127xf32>) -> tensor<8x127xf32> {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %t : !q, !q, !q, tensor<8x127xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<8x127xf32>) {
        %c = arith.constant 63 : index
        %d = arith.subi %p, %j : index
        %e = arith.addi %d, %c : index
        %y = tensor.extract %x[%h, %e] : tensor<8x127xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %r#3 : tensor<8x127xf32>
}

// -----

!q = tensor<2x8x?x64xf32>
!lse = tensor<2x8x?xf32>

// However the place depends on the distance; of any lengths.
// CHECK-LABEL: func.func @buckets
// CHECK: %[[SIZE:.*]] = affine.apply affine_map<()[s0, s1] -> (s0 + s1 + 16)>
// CHECK: tensor.empty(%[[SIZE]]) : tensor<?xf64>
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}] [16] [1] : tensor<?xf64> to tensor<16xf64>
// CHECK-NOT: math.log
// CHECK: arith.cmpf une
// CHECK: math.log
func.func @buckets(%q: !q, %lse: !lse, %t: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %t : !q, !q, !q, tensor<8x8xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<8x8xf32>) {
        %c0 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        %one = arith.constant 1.0 : f32
        %d = arith.subi %p, %j : index
        %far = arith.maxsi %d, %c0 : index
        %w = arith.index_cast %far : index to i64
        %f = arith.sitofp %w : i64 to f32
        %g = arith.addf %f, %one : f32
        %l = math.log %g : f32
        %i = arith.fptosi %l : f32 to i64
        %e = arith.index_cast %i : i64 to index
        %m = arith.minsi %e, %c7 : index
        %y = tensor.extract %x[%m, %h] : tensor<8x8xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      } mask causal
  return %r#3 : tensor<8x8xf32>
}

// The query's own place counts as well: one by one.
// CHECK-LABEL: func.func @no_distance
// CHECK-NOT: tensor<?xf64>
// CHECK: tensor.extract %{{.*}} : tensor<64x16xf32>
// CHECK: arith.cmpf une
func.func @no_distance(%q: !q, %lse: !lse, %t: tensor<4xf32>) -> tensor<4xf32> {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %t : !q, !q, !q, tensor<4xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<4xf32>) {
        %c3 = arith.constant 3 : index
        %d = arith.subi %p, %j : index
        %a = arith.andi %d, %c3 : index
        %e = arith.andi %p, %a : index
        %y = tensor.extract %x[%e] : tensor<4xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %r#3 : tensor<4xf32>
}

// -----

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>
!kinds = tensor<64xi32>

// A place for each query and one of four kinds of keys: a tile has sums for
// these, to which lines of keys are added, and adds them at their places.
// CHECK-LABEL: func.func @kinds
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16
// CHECK: %[[GROUPS:.*]] = linalg.fill {{.*}} -> tensor<4x16xf64>
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c64 step %c1
// CHECK: scf.if
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [1, 16] [1, 1] : tensor<4x16xf64> to tensor<16xf64>
// CHECK: scf.for %[[LANE:.*]] = %c0 to %{{.*}} step %c1 iter_args(%{{.*}} = %{{.*}}) -> (tensor<1x4x4xf64>)
// CHECK: scf.for %[[KIND:.*]] = %c0 to %c4 step %c1
// CHECK: %[[SUM:.*]] = tensor.extract %{{.*}}[%[[KIND]], %[[LANE]]] : tensor<4x16xf64>
// CHECK: arith.cmpf une, %[[SUM]]
func.func @kinds(%q: !q, %lse: !lse, %t: tensor<8x4x4xf32>, %u: !kinds) -> tensor<8x4x4xf32> {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %t : !q, !q, !q, tensor<8x4x4xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<8x4x4xf32>, %w = %u : !kinds) {
        %p32 = tensor.extract %w[%p] : !kinds
        %j32 = tensor.extract %w[%j] : !kinds
        %pi = arith.index_cast %p32 : i32 to index
        %ji = arith.index_cast %j32 : i32 to index
        %y = tensor.extract %x[%h, %pi, %ji] : tensor<8x4x4xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %r#3 : tensor<8x4x4xf32>
}

// Of queries alone, a block's sums over its keys.
// CHECK-LABEL: func.func @of_queries
// CHECK: linalg.fill {{.*}} -> tensor<16xf64>
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : tensor<64x16xf32>) outs(%{{.*}} : tensor<16xf32>)
// CHECK: arith.extf
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 iter_args(%{{.*}} = %{{.*}}) -> (tensor<1x64xf64>)
func.func @of_queries(%q: !q, %lse: !lse, %t: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %t : !q, !q, !q, tensor<8x64xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<8x64xf32>) {
        %y = tensor.extract %x[%h, %p] : tensor<8x64xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %r#3 : tensor<8x64xf32>
}

// Kinds of which nobody knows how many there are, or very many: one by one.
// CHECK-LABEL: func.func @dynamic_kinds
// CHECK-NOT: x16xf64>
// CHECK: return
// CHECK-LABEL: func.func @many_kinds
// CHECK-NOT: x16xf64>
// CHECK: return
func.func @dynamic_kinds(%q: !q, %lse: !lse, %t: tensor<8x4x?xf32>, %u: !kinds) -> tensor<8x4x?xf32> {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %t : !q, !q, !q, tensor<8x4x?xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<8x4x?xf32>, %w = %u : !kinds) {
        %p32 = tensor.extract %w[%p] : !kinds
        %j32 = tensor.extract %w[%j] : !kinds
        %pi = arith.index_cast %p32 : i32 to index
        %ji = arith.index_cast %j32 : i32 to index
        %y = tensor.extract %x[%h, %pi, %ji] : tensor<8x4x?xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %r#3 : tensor<8x4x?xf32>
}
func.func @many_kinds(%q: !q, %lse: !lse, %t: tensor<8x4x65xf32>, %u: !kinds) -> tensor<8x4x65xf32> {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %t : !q, !q, !q, tensor<8x4x65xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<8x4x65xf32>, %w = %u : !kinds) {
        %p32 = tensor.extract %w[%p] : !kinds
        %j32 = tensor.extract %w[%j] : !kinds
        %pi = arith.index_cast %p32 : i32 to index
        %ji = arith.index_cast %j32 : i32 to index
        %y = tensor.extract %x[%h, %pi, %ji] : tensor<8x4x65xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %r#3 : tensor<8x4x65xf32>
}

// The keys of a query follow each other: a line for each query.
// CHECK-LABEL: func.func @of_keys
// CHECK: linalg.transpose ins(%{{.*}} : tensor<64x16xf32>)
// CHECK: tensor.extract_slice %{{.*}} [1, 64] [1, 1] : tensor<1x64xf64> to tensor<64xf64>
func.func @of_keys(%q: !q, %lse: !lse, %t: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %t : !q, !q, !q, tensor<8x64xf32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<8x64xf32>) {
        %y = tensor.extract %x[%h, %j] : tensor<8x64xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %r#3 : tensor<8x64xf32>
}
