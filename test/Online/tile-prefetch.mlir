// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-tile-attention \
// RUN:   -attn-attention-to-online -mlir-print-local-scope | FileCheck %s --check-prefix=TILE
// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-tile-attention \
// RUN:   -attn-attention-to-online -attn-tile-keys \
// RUN:   -canonicalize -cse -mlir-print-local-scope | FileCheck %s
// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-tile-attention \
// RUN:   -attn-attention-to-online -attn-tile-keys -attn-decompose-online \
// RUN:   -canonicalize -cse -mlir-print-local-scope | FileCheck %s --check-prefix=STEPS

// Tiles go forward: each block of keys fetches some of the next 32 queries, of the
// output's rows and, after those that the tile sees, of keys and values. The lines
// that the tile stores are fetched after its last block.
// TILE-LABEL: func.func @forward(
// TILE-COUNT-2: attn.prefetch %{{.*}} to %{{[^ ]*}} : tensor<2x4x128x32xf32>
// TILE: attn.prefetch %{{.*}} to %{{[^ ]*}} for_write : tensor<2x4x128x32xf32>
// TILE: attn.online_attention next_tile 32 ins

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x4x128x32xf32>, %{{[^:]*}}: tensor<2x4x?x32xf32>
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) = (0, 0, 0) to (2, 4, 128) step (1, 1, 32) shared_outs(%[[O:.*]] =
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c32
// CHECK: %[[AFTER:.*]] = arith.addi %[[I]], %c64
// CHECK: %[[END:.*]] = arith.minsi %[[AFTER]], %c128
// CHECK-NOT: attn.prefetch
// CHECK: %[[AHEAD:.*]] = arith.andi %{{.*}}, %c1023
// CHECK-NOT: attn.prefetch
// CHECK: %[[NUM_ROWS:.*]] = arith.subi %[[END]], %[[NEXT]]
// CHECK: %[[BLOCKS:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK: %[[SHARE:.*]] = arith.ceildivsi %[[NUM_ROWS]], %[[BLOCKS]]
// CHECK: scf.while
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c64
// CHECK: %[[NUMBER:.*]] = arith.divui %[[J]], %c64
// CHECK: %[[DONE:.*]] = arith.muli %[[NUMBER]], %[[SHARE]]
// CHECK: %[[ROW:.*]] = arith.addi %[[NEXT]], %[[DONE]]
// CHECK: %[[PAST:.*]] = arith.addi %[[ROW]], %[[SHARE]]
// CHECK: %[[LAST:.*]] = arith.minsi %[[PAST]], %[[END]]
// CHECK: attn.prefetch %[[Q]][%[[B]], %[[H]], %[[ROW]]] to %[[LAST]] : tensor<2x4x128x32xf32>
// CHECK: attn.prefetch %[[O]][%[[B]], %[[H]], %[[ROW]]] to %[[LAST]] : tensor<2x4x128x32xf32>
// CHECK: attn.prefetch %{{.*}} to %{{.*}} : tensor<?x32xf32>
// CHECK: attn.prefetch %{{.*}} to %{{.*}} : tensor<?x32xf32>
// CHECK-NOT: attn.prefetch
// CHECK: attn.online_attention ins
// CHECK: scf.condition
// CHECK: } do {
// CHECK: attn.prefetch %[[O]][%[[B]], %[[H]], %[[I]]] to %[[NEXT]] for_write

// Queries before the softmax, output after it, keys before the product with values,
// and values at first. Of a block that is skipped, all of them at once.
// STEPS-LABEL: func.func @forward(
// STEPS-SAME: %[[Q:[^:]*]]: tensor<2x4x128x32xf32>
// STEPS: scf.forall {{.*}} shared_outs(%[[O:.*]] =
// STEPS: scf.for
// STEPS: attn.prefetch %{{.*}} : tensor<?x32xf32>
// STEPS: scf.if
// STEPS-NEXT: attn.prefetch %[[Q]]
// STEPS-NEXT: attn.prefetch %[[O]]
// STEPS-NEXT: attn.prefetch %{{.*}} : tensor<?x32xf32>
// STEPS-NEXT: scf.yield
// STEPS: linalg.matmul
// STEPS: attn.prefetch %[[Q]]
// STEPS-NEXT: attn.online_softmax
// STEPS: attn.prefetch %[[O]]
// STEPS: scf.if
// STEPS: } else {
// STEPS-NEXT: attn.prefetch %{{.*}} : tensor<?x32xf32>
// STEPS-NEXT: linalg.generic
// STEPS: linalg.matmul
// STEPS-NOT: attn.prefetch
// STEPS: scf.condition
func.func @forward(%q: tensor<2x4x128x32xf32>, %k: tensor<2x4x?x32xf32>, %v: tensor<2x4x?x32xf32>, %o: tensor<2x4x128x32xf32>) -> tensor<2x4x128x32xf32> {
  %r = attn.attention ins(%q, %k, %v : tensor<2x4x128x32xf32>, tensor<2x4x?x32xf32>, tensor<2x4x?x32xf32>)
      outs(%o : tensor<2x4x128x32xf32>) mask causal
  return %r : tensor<2x4x128x32xf32>
}

// -----

// The first tile may be smaller, so that tiles go back from the end. There is nothing
// before the first key, from which all tiles see keys: each fetches some of the next
// head, if that has at most 1024.
// TILE-LABEL: func.func @backward(
// TILE: attn.online_attention next_tile -32 ins

// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x4x?x32xf32>, %[[K:[^:]*]]: tensor<2x4x?x32xf32>, %[[V:[^:]*]]: tensor<2x4x?x32xf32>
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) = (0, 0, 0) to
// CHECK: %[[FIRST:.*]] = affine.apply affine_map<(d0)[s0, s1] -> (-d0 + s0 - s1)>(%[[I]])
// CHECK: %[[BEFORE:.*]] = arith.subi %[[FIRST]], %c32
// CHECK: %[[NEXT:.*]] = arith.maxsi %[[BEFORE]], %c0
// CHECK: %[[HEAD:.*]] = arith.addi %[[H]], %c1
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[HEAD]], %c4
// CHECK: %[[SHORT:.*]] = arith.cmpi sle, %{{.*}}, %c1024
// CHECK: %[[BOTH:.*]] = arith.andi %[[EXISTS]], %[[SHORT]]
// CHECK: arith.select %[[BOTH]], %{{.*}}, %[[I]]
// CHECK: scf.for
// CHECK: attn.prefetch %[[Q]][%[[B]], %[[H]], %{{.*}}] to
// CHECK: attn.prefetch %{{.*}}[%[[B]], %[[H]], %{{.*}}] to
// CHECK: attn.prefetch %[[K]][%[[B]], %[[HEAD]], %{{.*}}] to
// CHECK: attn.prefetch %[[V]][%[[B]], %[[HEAD]], %{{.*}}] to
// CHECK: attn.online_attention ins
func.func @backward(%q: tensor<2x4x?x32xf32>, %k: tensor<2x4x?x32xf32>, %v: tensor<2x4x?x32xf32>, %o: tensor<2x4x?x32xf32>) -> tensor<2x4x?x32xf32> {
  %r = attn.attention ins(%q, %k, %v : tensor<2x4x?x32xf32>, tensor<2x4x?x32xf32>, tensor<2x4x?x32xf32>)
      outs(%o : tensor<2x4x?x32xf32>) mask causal
  return %r : tensor<2x4x?x32xf32>
}

// -----

// Nothing comes after the only tile of a head.
// TILE-LABEL: func.func @one_tile(
// TILE: attn.online_attention ins
// CHECK-LABEL: func.func @one_tile(
// CHECK-NOT: attn.prefetch
// CHECK: return
func.func @one_tile(%q: tensor<2x4x32x32xf32>, %k: tensor<2x4x?x32xf32>, %v: tensor<2x4x?x32xf32>, %o: tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32> {
  %r = attn.attention ins(%q, %k, %v : tensor<2x4x32x32xf32>, tensor<2x4x?x32xf32>, tensor<2x4x?x32xf32>)
      outs(%o : tensor<2x4x32x32xf32>) mask causal
  return %r : tensor<2x4x32x32xf32>
}

// -----

// Nor the keys of a head with more than 1024, or of the same one.
// CHECK-LABEL: func.func @long(
// CHECK: attn.prefetch %{{.*}} : tensor<2x4x128x32xf32>
// CHECK: attn.prefetch %{{.*}} : tensor<2x4x128x32xf32>
// CHECK-NOT: attn.prefetch %{{.*}} to %{{[^ ]*}} :
// CHECK: return
func.func @long(%q: tensor<2x4x128x32xf32>, %k: tensor<2x4x2048x32xf32>, %v: tensor<2x4x2048x32xf32>, %o: tensor<2x4x128x32xf32>) -> tensor<2x4x128x32xf32> {
  %r = attn.attention ins(%q, %k, %v : tensor<2x4x128x32xf32>, tensor<2x4x2048x32xf32>, tensor<2x4x2048x32xf32>)
      outs(%o : tensor<2x4x128x32xf32>)
  return %r : tensor<2x4x128x32xf32>
}
