// RUN: attn-opt %s -split-input-file -attn-record-positions | FileCheck %s
// RUN: attn-opt %s -split-input-file -attn-record-positions \
// RUN:   | attn-opt -split-input-file | FileCheck %s
// RUN: attn-opt %s -split-input-file -attn-record-positions --attn-target="{vector_bits = 512}" -attn-plan -attn-fold-groups \
// RUN:   -attn-tile-attention -canonicalize -cse | FileCheck %s --check-prefix=TILE

!q = tensor<2x8x3x64xf32>
!kv = tensor<2x2x?x64xf32>

// A load may be outside. A tile of three queries of four heads says of which of
// them, and of which batch entry.
// CHECK-LABEL: func.func @load
// CHECK: score(%s, %b, %h, %p, %j)
// CHECK: attn.yield %{{.*}} at(%b, %h, %p, %j) : f32
// CHECK: mask(%b, %h, %p, %j)
// CHECK: attn.yield %{{.*}} at(%b, %h, %p, %j) : i1
// TILE-LABEL: func.func @load
// TILE-SAME: %[[OFFSET:[a-z0-9]*]]: index
// TILE: scf.forall (%[[B:.*]], %[[H:.*]]) in (2, 2)
// TILE: score(%s, %b, %h, %p, %j) captures({{.*}}%[[O:[^ ]*]] = %[[OFFSET]] : index, %[[B0:[^ ]*]] = %[[B]] : index, %[[H0:[^ ]*]] = %[[H]] : index)
// TILE-DAG: %[[C4:.*]] = arith.constant 4 : index
// TILE-DAG: %[[FIRST:.*]] = arith.muli %[[H0]], %[[C4]]
// TILE-DAG: %[[MEMBER:.*]] = arith.remsi %p, %[[C4]]
// TILE-DAG: %[[HEAD:.*]] = arith.addi %[[FIRST]], %[[MEMBER]]
// TILE-DAG: %[[ROW:.*]] = arith.divsi %p, %[[C4]]
// TILE-DAG: %[[POSITION:.*]] = arith.addi %[[O]], %[[ROW]]
// TILE: attn.yield %{{.*}} at(%[[B0]], %[[HEAD]], %[[POSITION]], %j) : f32
func.func @load(%q: !q, %k: !kv, %o: !q, %offset: index, %bias: tensor<?xf32>,
                %keep: tensor<?x?xi1>) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%o : !q)
      offset(%offset : index) score bias(%bias : tensor<?xf32>)
      mask causal, boolean(%keep : tensor<?x?xi1>)
  return %r : !q
}

// -----

// What has a value at every position says none.
// CHECK-LABEL: func.func @defined
// CHECK-COUNT-2: attn.attention
// CHECK-NOT: at(
// CHECK: return
func.func @defined(%x: tensor<1x1x8x4xf32>, %n: index) -> tensor<1x1x8x4xf32> {
  %0 = attn.attention
      ins(%x, %x, %x : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>)
      outs(%x : tensor<1x1x8x4xf32>) score softcap(30.0)
      mask causal, (%b, %h, %q, %k) captures(%i = %n : index) {
        %c4 = arith.constant 4 : index
        %0 = arith.subi %q, %k : index
        %1 = arith.remsi %0, %c4 : index
        %2 = arith.shrui %1, %c4 : index
        %3 = arith.cmpi slt, %2, %i : index
        attn.yield %3 : i1
      }
  %1 = attn.attention
      ins(%x, %x, %x : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>)
      outs(%0 : tensor<1x1x8x4xf32>)
  return %1 : tensor<1x1x8x4xf32>
}

// -----

// Operations of integers without a result.
// CHECK-LABEL: func.func @operations
// CHECK-COUNT-3: attn.yield %{{.*}} at(%b, %h, %p, %j) : i1
func.func @operations(%x: tensor<1x1x8x4xf32>, %n: index) -> tensor<1x1x8x4xf32> {
  %0 = attn.attention
      ins(%x, %x, %x : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>)
      outs(%x : tensor<1x1x8x4xf32>)
      mask (%b, %h, %q, %k) captures(%i = %n : index) {
        %1 = arith.remsi %q, %i : index
        %2 = arith.cmpi slt, %k, %1 : index
        attn.yield %2 : i1
      }
  %3 = attn.attention
      ins(%x, %x, %x : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>)
      outs(%0 : tensor<1x1x8x4xf32>)
      mask (%b, %h, %q, %k) {
        %1 = arith.shli %q, %k : index
        %2 = arith.cmpi slt, %k, %1 : index
        attn.yield %2 : i1
      }
  // The quotient of the least number does not fit.
  %4 = attn.attention
      ins(%x, %x, %x : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>)
      outs(%3 : tensor<1x1x8x4xf32>)
      mask (%b, %h, %q, %k) {
        %minus = arith.constant -1 : index
        %1 = arith.divsi %q, %minus : index
        %2 = arith.cmpi slt, %k, %1 : index
        attn.yield %2 : i1
      }
  return %4 : tensor<1x1x8x4xf32>
}
