// RUN: attn-opt %s -attn-split-keys -canonicalize -cse | FileCheck %s
// Loops may have lost the dimensions that have one iteration.
// RUN: attn-opt %s -canonicalize -attn-split-keys -canonicalize -cse | FileCheck %s

// The chunks of every head are computed in one parallel loop, from nothing each,
// and merged in another.

// CHECK-LABEL: func.func @all_keys(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x2x3x16xf32>, %[[K:[^:]*]]: tensor<?x2x?x16xf32>, %{{[^:]*}}: tensor<?x2x3x16xf32>, %{{[^:]*}}: tensor<?x2x16xf32>, %[[B:[^:]*]]: index, %[[N:[^:]*]]: index)
// CHECK-DAG: %[[MOST:.*]] = arith.maxsi %[[N]], %c0
// CHECK-DAG: %[[COUNT:.*]] = arith.ceildivui %[[MOST]], %c512
// CHECK-DAG: %[[OS:.*]] = tensor.empty(%[[B]], %{{.*}}) : tensor<?x2x?x3x16xf32>
// CHECK-DAG: %[[MS:.*]] = tensor.empty(%[[B]], %{{.*}}) : tensor<?x2x?x16xf32>
// CHECK-NOT: scf.for
// CHECK: %[[STATES:.*]]:3 = scf.forall (%[[I:.*]], %[[H:.*]], %[[C:.*]]) in (%[[B]], 2, %[[COUNT]])
// CHECK-SAME: -> (tensor<?x2x?x3x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>)
// CHECK: %[[BEGIN:.*]] = arith.muli %[[C]], %c512
// CHECK: attn.online_attention layout<rows> {{.*}} at(%c0, %c0, %c0, %[[BEGIN]])
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[I]], %[[H]], %[[C]], 0, 0] [1, 1, 1, 3, 16]
// CHECK: scf.forall (%[[I:.*]], %[[H:.*]]) in (%[[B]], 2)
// CHECK-DAG: %[[OI:.*]] = tensor.extract_slice %[[STATES]]#0[%[[I]], %[[H]], 0, 0, 0] [1, 1, %[[COUNT]], 3, 16] [1, 1, 1, 1, 1] : tensor<?x2x?x3x16xf32> to tensor<?x3x16xf32>
// CHECK-DAG: %[[MI:.*]] = tensor.extract_slice %[[STATES]]#1[%[[I]], %[[H]], 0, 0] [1, 1, %[[COUNT]], 16]
// CHECK-DAG: %[[LI:.*]] = tensor.extract_slice %[[STATES]]#2[%[[I]], %[[H]], 0, 0] [1, 1, %[[COUNT]], 16]
// CHECK-NOT: attn.online_attention
// CHECK: linalg.generic {{.*}} ins(%[[MI]] :
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[LI]] :
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[OI]] :
// CHECK-NOT: attn.online_attention
func.func @all_keys(%query: tensor<?x2x3x16xf32>, %key: tensor<?x2x?x16xf32>,
    %out: tensor<?x2x3x16xf32>, %sums: tensor<?x2x16xf32>, %batch: index, %keys: index)
    -> (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %no = arith.constant false
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %0:2 = scf.forall (%b, %h, %i) = (0, 0, 0) to (%batch, 2, 3) step (1, 1, 3)
      shared_outs(%o = %out, %l = %sums) -> (tensor<?x2x3x16xf32>, tensor<?x2x16xf32>) {
    %q = tensor.extract_slice %query[%b, %h, 0, 0] [1, 1, 3, 16] [1, 1, 1, 1]
        : tensor<?x2x3x16xf32> to tensor<3x16xf32>
    %k = tensor.extract_slice %key[%b, %h, 0, 0] [1, 1, %keys, 16] [1, 1, 1, 1]
        : tensor<?x2x?x16xf32> to tensor<?x16xf32>
    %e0 = tensor.empty() : tensor<3x16xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %o0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x16xf32>) -> tensor<3x16xf32>
    %m0 = linalg.fill ins(%infinity : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %s:3 = attn.online_attention layout<rows>
        ins(%q, %k, %k : tensor<3x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>)
        outs(%o0, %m0, %l0 : tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %c0, %c0) queries(%c3) exact(%no)
        {attn.plan = #attn.plan<chunk = 512>}
      -> tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s#0 into %o[%b, %h, 0, 0] [1, 1, 3, 16] [1, 1, 1, 1]
          : tensor<3x16xf32> into tensor<?x2x3x16xf32>
      tensor.parallel_insert_slice %s#2 into %l[%b, %h, 0] [1, 1, 16] [1, 1, 1]
          : tensor<16xf32> into tensor<?x2x16xf32>
    }
  }
  return %0#0, %0#1 : tensor<?x2x3x16xf32>, tensor<?x2x16xf32>
}

// Of the keys that a mask may keep, which differ from one sequence to another, there
// are as many chunks as of the most. Chunks begin at multiples of 256.

// CHECK-LABEL: func.func @window(
// CHECK-SAME: %[[POSITIONS:[^:]*]]: tensor<?xi32>
// CHECK: %[[MOST:.*]] = scf.for %[[B:.*]] = %c0 to %{{.*}} step %c1 iter_args(%[[SO_FAR:.*]] = %c0)
// CHECK:   tensor.extract %[[POSITIONS]][%[[B]]]
// CHECK-NOT: scf.for
// CHECK-NOT: linalg
// CHECK:   arith.andi %{{.*}}, %c-256
// CHECK:   %[[MAX:.*]] = arith.maxsi %[[SO_FAR]], %{{.*}}
// CHECK:   scf.yield %[[MAX]]
// CHECK: %[[COUNT:.*]] = arith.ceildivui %[[MOST]], %c512
// CHECK: scf.forall (%[[B:.*]], %{{.*}}, %[[C:.*]]) in (%{{.*}}, 2, %[[COUNT]])
// CHECK: tensor.extract %[[POSITIONS]][%[[B]]]
// CHECK: %[[FIRST:.*]] = arith.andi %{{.*}}, %c-256
// CHECK: %[[OFFSET:.*]] = arith.muli %[[C]], %c512
// CHECK: %[[BEGIN:.*]] = arith.addi %[[FIRST]], %[[OFFSET]]
// CHECK: attn.online_attention layout<rows> {{.*}} at(%c0, %c0, %{{.*}}, %[[BEGIN]])
func.func @window(%positions: tensor<?xi32>, %query: tensor<?x2x3x16xf32>,
    %key: tensor<?x2x?x16xf32>, %out: tensor<?x2x3x16xf32>, %batch: index,
    %keys: index) -> tensor<?x2x3x16xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %no = arith.constant false
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %0 = scf.forall (%b, %h, %i) = (0, 0, 0) to (%batch, 2, 3) step (1, 1, 3)
      shared_outs(%o = %out) -> (tensor<?x2x3x16xf32>) {
    %stored = tensor.extract %positions[%b] : tensor<?xi32>
    %position = arith.index_cast %stored : i32 to index
    %q = tensor.extract_slice %query[%b, %h, 0, 0] [1, 1, 3, 16] [1, 1, 1, 1]
        : tensor<?x2x3x16xf32> to tensor<3x16xf32>
    %k = tensor.extract_slice %key[%b, %h, 0, 0] [1, 1, %keys, 16] [1, 1, 1, 1]
        : tensor<?x2x?x16xf32> to tensor<?x16xf32>
    %e0 = tensor.empty() : tensor<3x16xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %o0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x16xf32>) -> tensor<3x16xf32>
    %m0 = linalg.fill ins(%infinity : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %l0 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %s:3 = attn.online_attention layout<rows>
        ins(%q, %k, %k : tensor<3x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>)
        outs(%o0, %m0, %l0 : tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %position, %c0) queries(%c3) exact(%no) mask {
      ^bb0(%mb: index, %mh: index, %p: index, %j: index):
        %c700 = arith.constant 700 : index
        %low = arith.subi %p, %c700 : index
        %after = arith.cmpi sge, %j, %low : index
        %before = arith.cmpi sle, %j, %p : index
        %keep = arith.andi %after, %before : i1
        attn.yield %keep : i1
      } {attn.plan = #attn.plan<chunk = 512>}
      -> tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s#0 into %o[%b, %h, 0, 0] [1, 1, 3, 16] [1, 1, 1, 1]
          : tensor<3x16xf32> into tensor<?x2x3x16xf32>
    }
  }
  return %0 : tensor<?x2x3x16xf32>
}

// One chunk stays.

// CHECK-LABEL: func.func @stay(
// CHECK-COUNT-1: scf.forall (
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @stay(%q: tensor<64x32xf32>, %k: tensor<512x64xf32>,
    %out: tensor<1x1x64x64x32xf32>, %o: tensor<64x32xf32>, %m: tensor<32xf32>)
    -> tensor<1x1x64x64x32xf32> {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %0 = scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 2, 32) step (1, 1, 32)
      shared_outs(%all = %out) -> (tensor<1x1x64x64x32xf32>) {
    %s:3 = attn.online_attention
        ins(%q, %k, %k : tensor<64x32xf32>, tensor<512x64xf32>, tensor<512x64xf32>)
        outs(%o, %m, %m : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>)
        at(%c0, %c0, %c0, %c0) queries(%c0) exact(%no)
        {attn.plan = #attn.plan<chunk = 512>}
      -> tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s#0 into %all[%b, %h, %i, 0, 0] [1, 1, 1, 64, 32] [1, 1, 1, 1, 1]
          : tensor<64x32xf32> into tensor<1x1x64x64x32xf32>
    }
  }
  return %0 : tensor<1x1x64x64x32xf32>
}

// Tiles of queries that read the same keys do so one after the other, chunk by
// chunk. States are counted from 0 on, one by one.

// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: %[[ROWS:[^ ]*]]: index
// CHECK-DAG: %[[TILES:.*]] = affine.apply #{{.*}}()[%[[ROWS]]]
// CHECK: %[[OS:.*]] = tensor.empty(%[[COUNT:.*]], %[[TILES]]) : tensor<2x?x?x64x32xf32>
// CHECK: %[[STATES:.*]]:2 = scf.forall (%[[H:.*]], %[[C:.*]], %[[I:.*]]) = (0, 0, 0) to (2, %[[COUNT]], %[[ROWS]]) step (1, 1, 32)
// CHECK: %[[NUMBER:.*]] = affine.apply #{{.*}}()[%[[I]]]
// CHECK: attn.online_attention {{.*}} at(%c0, %c0, %[[I]],
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[H]], %[[C]], %[[NUMBER]], 0, 0] [1, 1, 1, 64, 32]
// CHECK: scf.forall (%[[H:.*]], %[[I:.*]]) = (0, 0) to (2, %[[ROWS]]) step (1, 32)
// CHECK: %[[NUMBER:.*]] = affine.apply #{{.*}}()[%[[I]]]
// CHECK: tensor.extract_slice %[[STATES]]#0[%[[H]], 0, %[[NUMBER]], 0, 0] [1, %[[COUNT]], 1, 64, 32]
// CHECK-NOT: attn.online_attention
// CHECK: return
func.func @tiles(%rows: index, %q: tensor<64x32xf32>, %key: tensor<2x?x64xf32>, %keys: index,
    %out: tensor<1x2x?x64x32xf32>, %o: tensor<64x32xf32>, %m: tensor<32xf32>)
    -> tensor<1x2x?x64x32xf32> {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %0 = scf.forall (%h, %i) = (0, 0) to (2, %rows) step (1, 32)
      shared_outs(%all = %out) -> (tensor<1x2x?x64x32xf32>) {
    %k = tensor.extract_slice %key[%h, 0, 0] [1, %keys, 64] [1, 1, 1]
        : tensor<2x?x64xf32> to tensor<?x64xf32>
    %s:3 = attn.online_attention
        ins(%q, %k, %k : tensor<64x32xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
        outs(%o, %m, %m : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>)
        at(%c0, %c0, %i, %c0) queries(%c0) exact(%no)
        {attn.plan = #attn.plan<chunk = 512>}
      -> tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s#0 into %all[0, %h, %i, 0, 0] [1, 1, 1, 64, 32] [1, 1, 1, 1, 1]
          : tensor<64x32xf32> into tensor<1x2x?x64x32xf32>
    }
  }
  return %0 : tensor<1x2x?x64x32xf32>
}

// The only tile of the only head is in no loop.

// CHECK-LABEL: func.func @one_head(
// CHECK: scf.forall (%[[C:.*]]) in (%{{.*}}) shared_outs({{.*}}) -> (tensor<?x3x16xf32>,
// CHECK: attn.online_attention layout<rows>
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[C]], 0, 0] [1, 3, 16]
// CHECK-NOT: attn.online_attention
// CHECK: return
func.func @one_head(%query: tensor<1x1x3x16xf32>, %key: tensor<1x1x?x16xf32>,
    %out: tensor<1x1x3x16xf32>, %keys: index) -> tensor<1x1x3x16xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %no = arith.constant false
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %q = tensor.extract_slice %query[0, 0, 0, 0] [1, 1, 3, 16] [1, 1, 1, 1]
      : tensor<1x1x3x16xf32> to tensor<3x16xf32>
  %k = tensor.extract_slice %key[0, 0, 0, 0] [1, 1, %keys, 16] [1, 1, 1, 1]
      : tensor<1x1x?x16xf32> to tensor<?x16xf32>
  %e0 = tensor.empty() : tensor<3x16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x16xf32>) -> tensor<3x16xf32>
  %m0 = linalg.fill ins(%infinity : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %l0 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
  %s:3 = attn.online_attention layout<rows>
      ins(%q, %k, %k : tensor<3x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%o0, %m0, %l0 : tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%c0, %c0, %c0, %c0) queries(%c3) exact(%no)
      {attn.plan = #attn.plan<chunk = 512>}
      -> tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>
  %r = tensor.insert_slice %s#0 into %out[0, 0, 0, 0] [1, 1, 3, 16] [1, 1, 1, 1]
      : tensor<3x16xf32> into tensor<1x1x3x16xf32>
  return %r : tensor<1x1x3x16xf32>
}
