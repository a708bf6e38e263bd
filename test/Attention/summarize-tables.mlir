// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-summarize-tables -mlir-print-local-scope -verify-diagnostics | FileCheck %s

!q = tensor<1x2x?x8xf32>
!table = tensor<1x?xi32>

// Read at queries and at keys: the smaller blocks serve both. One summary for
// all ops, right after the table, outside of any loop over the ops.
// CHECK-LABEL: func.func @documents(
// CHECK-SAME: %[[TABLE:[^:,]*]]: tensor<1x?xi32>,
// CHECK: %[[SIZE:.*]] = tensor.dim %[[TABLE]]
// CHECK: %[[BLOCKS:.*]] = affine.apply affine_map<()[s0] -> (s0 ceildiv 32)>()[%[[SIZE]]]
// CHECK: tensor.empty(%[[BLOCKS]]) : tensor<1x?xi32>
// CHECK: attn.block_range ins(%[[TABLE]] : tensor<1x?xi32>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<1x?xi32>, tensor<1x?xi32>) blocks [1, 32]
// CHECK-NOT: attn.block_range
// CHECK: scf.for
// CHECK: attn.attention
// CHECK: attn.attention
func.func @documents(%t: !table, %x: !q, %n: index) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> !q {
    %a = attn.attention ins(%x, %y, %y : !q, !q, !q) outs(%y : !q)
        mask causal, document(%t, %t : !table, !table)
    %b = attn.attention ins(%a, %a, %a : !q, !q, !q) outs(%y : !q)
        mask document(%t, %t : !table, !table)
    scf.yield %b : !q
  }
  return %r : !q
}

// -----

!q = tensor<2x2x96x8xf32>

// CHECK-LABEL: func.func @boolean(
// CHECK: tensor.empty() : tensor<2x1x3x2xi1>
// CHECK: attn.block_range ins(%{{.*}} : tensor<2x1x96x96xi1>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<2x1x3x2xi1>, tensor<2x1x3x2xi1>) blocks [1, 1, 32, 64]
func.func @boolean(%x: !q, %keep: tensor<2x1x96x96xi1>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      mask boolean(%keep : tensor<2x1x96x96xi1>)
  return %r : !q
}

// -----

!q = tensor<1x2x?x8xf32>

// Sums, differences and quotients of positions.
// CHECK-LABEL: func.func @indices(
// CHECK-DAG: attn.block_range ins(%{{.*}} : tensor<?xi8>) {{.*}} blocks [32]
// CHECK-DAG: attn.block_range ins(%{{.*}} : tensor<?x?xi16>) {{.*}} blocks [16, 64]
func.func @indices(%x: !q, %t: tensor<?xi8>, %u: tensor<?x?xi16>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      mask(%b, %h, %p, %j) captures(%v = %t : tensor<?xi8>,
                                    %w = %u : tensor<?x?xi16>) {
        %c2 = arith.constant 2 : index
        %d = arith.subi %p, %j : index
        %half = arith.divui %p, %c2 : index
        %next = arith.addi %j, %c2 : index
        %e = tensor.extract %v[%d] : tensor<?xi8>
        %f = tensor.extract %w[%half, %next] : tensor<?x?xi16>
        %g = arith.extsi %e : i8 to i16
        %keep = arith.cmpi slt, %f, %g : i16
        attn.yield %keep : i1
      }
  return %r : !q
}

// -----

!q = tensor<1x1x12x8xf32>
!k = tensor<1x1x?x8xf32>
!table = tensor<4x?xi32>

// Of rows that are three queries of four heads, as a group is folded, heads are
// quotients and queries are remainders.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[TABLE:[^:,]*]]: tensor<4x?xi32>
// CHECK: attn.block_range ins(%[[TABLE]] {{.*}} blocks [4, 12]
func.func @rows(%x: !q, %k: !k, %t: !table) -> !q {
  %r = attn.attention ins(%x, %k, %k : !q, !k, !k) outs(%x : !q)
      mask(%b, %h, %p, %j) captures(%v = %t : !table) {
        %c3 = arith.constant 3 : index
        %zero = arith.constant 0 : i32
        %head = arith.divsi %p, %c3 : index
        %query = arith.remsi %p, %c3 : index
        %e = tensor.extract %v[%head, %query] : !table
        %keep = arith.cmpi sgt, %e, %zero : i32
        attn.yield %keep : i1
      }
  return %r : !q
}

// -----

!q = tensor<1x2x?x8xf32>

// None: what b and h alone say, indices that are loaded, an element for
// many positions, and what a score reads.
// CHECK-LABEL: func.func @none(
// CHECK-NOT: attn.block_range
func.func @none(%x: !q, %lengths: tensor<?xi32>,
                %order: tensor<2x?xindex>, %blocks: tensor<?x?xi1>,
                %bias: tensor<?xi32>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      score(%s, %b, %h, %p, %j) captures(%v = %bias : tensor<?xi32>) {
        %e = tensor.extract %v[%j] : tensor<?xi32>
        %f = arith.sitofp %e : i32 to f32
        %t = arith.addf %s, %f : f32
        attn.yield %t : f32
      }
      mask key_padding(%lengths : tensor<?xi32>), (%b, %h, %p, %j)
        captures(%o = %order : tensor<2x?xindex>,
                 %k = %blocks : tensor<?x?xi1>) {
        %c64 = arith.constant 64 : index
        %row = arith.divui %p, %c64 : index
        %column = arith.divui %j, %c64 : index
        %block = tensor.extract %k[%row, %column] : tensor<?x?xi1>
        %other = tensor.extract %o[%b, %row] : tensor<2x?xindex>
        %loaded = tensor.extract %o[%b, %other] : tensor<2x?xindex>
        %product = arith.muli %p, %j : index
        // expected-remark @+1 {{hides no block of keys as a whole, because its index is neither loaded nor a sum, difference, quotient or remainder of positions}}
        %far = tensor.extract %o[%b, %product] : tensor<2x?xindex>
        %light = arith.cmpi slt, %far, %loaded : index
        %keep = arith.andi %block, %light : i1
        attn.yield %keep : i1
      }
  return %r : !q
}

// -----

!q = tensor<1x2x?x8xf32>
!table = tensor<1x?xi32>

// None: the caller has the ranges. Of the other tensor, it has not.
// CHECK-LABEL: func.func @given(
// CHECK-SAME: %[[TABLE:[^:,]*]]: tensor<1x?xi32>,
// CHECK-SAME: %[[OTHER:[^:,]*]]: tensor<1x?xi32>)
// CHECK-NOT: attn.block_range ins(%[[TABLE]]
// CHECK: attn.block_range ins(%[[OTHER]]
// CHECK-NOT: attn.block_range
// CHECK: attn.with_block_range %[[TABLE]]
// CHECK-NOT: attn.block_range
func.func @given(%x: !q, %t: !table, %r: tensor<2x1x?xi32>, %u: !table) -> !q {
  %known = attn.with_block_range %t, %r blocks [1, 32]
      : !table, tensor<2x1x?xi32>
  %a = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      mask document(%known, %u : !table, !table)
  return %a : !q
}

// -----

!q = tensor<1x2x?x8xf32>

// Sums that are loaded at queries and at keys, of floats.
// CHECK-LABEL: func.func @sums(
// CHECK: attn.block_range ins(%{{.*}} : tensor<2x?xf32>) {{.*}} blocks [1, 32]
func.func @sums(%x: !q, %t: tensor<2x?xf32>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      mask(%b, %h, %p, %j) captures(%v = %t : tensor<2x?xf32>) {
        %least = arith.constant -8.0 : f32
        %at = tensor.extract %v[%h, %p] : tensor<2x?xf32>
        %from = tensor.extract %v[%h, %j] : tensor<2x?xf32>
        %lost = arith.subf %at, %from : f32
        %keep = arith.cmpf oge, %lost, %least : f32
        attn.yield %keep : i1
      }
  return %r : !q
}

// -----

!q = tensor<1x8x?x64xf32>
!lse = tensor<1x8x?xf32>
!table = tensor<?xi32>

// Derivatives skip blocks as well. Of a score, tables that say where it loads have
// ranges.
// CHECK-LABEL: func.func @derivatives(
// CHECK-SAME: %{{[^:,]*}}: tensor<1x8x?x64xf32>, %{{[^:,]*}}: tensor<1x8x?xf32>, %[[DOCUMENTS:[^:,]*]]: tensor<?xi32>, %[[KINDS:[^:,]*]]: tensor<?xi32>,
// CHECK-DAG: attn.block_range ins(%[[DOCUMENTS]] : {{.*}} blocks [32]
// CHECK-DAG: attn.block_range ins(%[[KINDS]] : {{.*}} blocks [32]
// CHECK: attn.attention_backward
func.func @derivatives(%x: !q, %lse: !lse, %d: !table, %k: !table, %t: tensor<4xf32>) -> !q {
  %r:3 = attn.attention_backward ins(%x, %x, %x, %x, %lse, %x : !q, !q, !q, !q, !lse, !q)
      outs(%x, %x, %x : !q, !q, !q)
      score(%s, %b, %h, %p, %j) captures(%u = %k : !table, %v = %t : tensor<4xf32>) {
        %kind = tensor.extract %u[%p] : !table
        %i = arith.index_cast %kind : i32 to index
        %y = tensor.extract %v[%i] : tensor<4xf32>
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %p, %j) captures(%w = %d : !table) {
        %p32 = tensor.extract %w[%p] : !table
        %j32 = tensor.extract %w[%j] : !table
        %same = arith.cmpi eq, %p32, %j32 : i32
        attn.yield %same : i1
      }
  return %r#0 : !q
}
