// RUN: attn-opt %s --transform-interpreter --canonicalize | FileCheck %s

// Split-KV: four chunks of keys, each with a state of its own, merged by
// log-sum-exp.

// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0)[s0] -> (d0 * (s0 ceildiv 4))>
// CHECK-DAG: #[[LANES:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[STATE:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[STACK:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[FACTORS:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[Q:[^:]*]]: tensor<64x32xf32>, %[[K:[^:]*]]: tensor<?x64xf32>, %[[V:[^:]*]]: tensor<?x80xf32>, %[[O:[^:]*]]: tensor<80x32xf32>, %[[M:[^:]*]]: tensor<32xf32>, %[[L:[^:]*]]: tensor<32xf32>, %[[N:[^:]*]]: index, %{{[^:]*}}: i1, %[[SCALE:[^:]*]]: f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[INF:.*]] = arith.constant 0xFF800000 : f32

// A chunk starts from nothing.
// CHECK-DAG: %[[O0:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<4x80x32xf32>)
// CHECK-DAG: %[[M0:.*]] = linalg.fill ins(%[[INF]] : f32) outs(%{{.*}} : tensor<4x32xf32>)
// CHECK-DAG: %[[L0:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<4x32xf32>)
// CHECK: %[[P:.*]]:3 = scf.forall (%[[I:.*]]) in (4) shared_outs(%[[OS:.*]] = %[[O0]], %[[MS:.*]] = %[[M0]], %[[LS:.*]] = %[[L0]])

// The regions still see the keys' numbers in the whole.
// CHECK-DAG: %[[J:.*]] = affine.apply #[[FIRST]](%[[I]])
// CHECK-DAG: %[[FIRST_KEY:.*]] = arith.addi %[[N]], %[[J]] : index
// CHECK-DAG: %[[OI:.*]] = tensor.extract_slice %[[OS]][%[[I]], 0, 0] [1, 80, 32] [1, 1, 1] : tensor<4x80x32xf32> to tensor<80x32xf32>
// CHECK-DAG: %[[MI:.*]] = tensor.extract_slice %[[MS]][%[[I]], 0] [1, 32] [1, 1] : tensor<4x32xf32> to tensor<32xf32>
// CHECK-DAG: %[[LI:.*]] = tensor.extract_slice %[[LS]][%[[I]], 0] [1, 32] [1, 1] : tensor<4x32xf32> to tensor<32xf32>
// CHECK-DAG: %[[KI:.*]] = tensor.extract_slice %[[K]][%[[J]], 0] [%[[SIZE:.*]], 64]
// CHECK-DAG: %[[VI:.*]] = tensor.extract_slice %[[V]][%[[J]], 0] [%[[SIZE]], 80]
// CHECK: %[[T:.*]]:3 = attn.online_attention ins(%[[Q]], %[[KI]], %[[VI]] : {{[^)]*}}) outs(%[[OI]], %[[MI]], %[[LI]] : {{[^)]*}}) at(%{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST_KEY]])
// CHECK-SAME: scale(%[[SCALE]] : f32) mask {
// CHECK: tensor.parallel_insert_slice %[[T]]#0 into %[[OS]][%[[I]], 0, 0]
// CHECK: tensor.parallel_insert_slice %[[T]]#1 into %[[MS]][%[[I]], 0]
// CHECK: tensor.parallel_insert_slice %[[T]]#2 into %[[LS]][%[[I]], 0]

// The maximum of all, and of the op's own state.
// CHECK: %[[MR:.*]] = linalg.generic {indexing_maps = [#[[STATE]], #[[LANES]]], iterator_types = ["reduction", "parallel"]} ins(%[[P]]#1 : tensor<4x32xf32>) outs(%[[M]] : tensor<32xf32>)
// CHECK: arith.maximumf

// That state in units of the new maximum; -inf is as good as itself.
// CHECK: %[[OWN:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[M]], %[[MR]] : tensor<32xf32>, tensor<32xf32>) outs(%{{.*}} : tensor<32xf32>)
// CHECK-NEXT: ^bb0(%[[OLD:.*]]: f32, %[[NEW:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[SAME:.*]] = arith.cmpf oeq, %[[OLD]], %[[NEW]]
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[OLD]], %[[NEW]]
// CHECK-NEXT: %[[X:.*]] = arith.mulf %[[D]], %{{.*}}
// CHECK-NEXT: %[[E:.*]] = math.exp2 %[[X]]
// CHECK-NEXT: %[[F:.*]] = arith.select %[[SAME]], %{{.*}}, %[[E]]
// CHECK-NEXT: linalg.yield %[[F]]
// CHECK: %[[LC:.*]] = linalg.generic {{.*}} ins(%[[OWN]] : tensor<32xf32>) outs(%[[L]] : tensor<32xf32>)
// CHECK: arith.mulf
// CHECK: %[[OC:.*]] = linalg.generic {{.*}} ins(%[[OWN]] : tensor<32xf32>) outs(%[[O]] : tensor<80x32xf32>)
// CHECK: arith.mulf

// And the partial states; nothing is exponentiated for elements of O.
// CHECK: %[[PC:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[P]]#1, %[[MR]] : {{.*}}) outs(%{{.*}} : tensor<4x32xf32>)
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: %[[LR:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[PC]], %[[P]]#2 : {{.*}}) outs(%[[LC]] : tensor<32xf32>)
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: %[[OR:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[STACK]], #{{.*}}], iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[PC]], %[[P]]#0 : {{.*}}) outs(%[[OC]] : tensor<80x32xf32>)
// CHECK: return %[[OR]], %[[MR]], %[[LR]]
func.func @split(%q: tensor<64x32xf32>, %k: tensor<?x64xf32>,
                 %v: tensor<?x80xf32>, %o: tensor<80x32xf32>,
                 %m: tensor<32xf32>, %l: tensor<32xf32>, %n: index, %e: i1,
                 %scale: f32)
    -> (tensor<80x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<64x32xf32>, tensor<?x64xf32>, tensor<?x80xf32>)
      outs(%o, %m, %l : tensor<80x32xf32>, tensor<32xf32>, tensor<32xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) scale(%scale : f32) mask {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      %keep = arith.cmpi sle, %j, %p : index
      attn.yield %keep : i1
    } -> tensor<80x32xf32>, tensor<32xf32>, tensor<32xf32>
  return %r#0, %r#1, %r#2 : tensor<80x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// In rows, of three queries in 16 lanes.

// CHECK-LABEL: func.func @rows
// CHECK: %[[P:.*]]:3 = scf.forall (%[[I:.*]]) in (4) shared_outs({{.*}}) -> (tensor<4x3x32xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
// CHECK: attn.online_attention layout<rows>
// CHECK: %[[MR:.*]] = linalg.generic {{.*}} ins(%[[P]]#1 : tensor<4x16xf32>)
// CHECK: arith.maximumf
// CHECK: %[[OWN:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<16xf32>)
// CHECK: math.exp
// CHECK: %[[OWN3:.*]] = tensor.extract_slice %[[OWN]][0] [3] [1] : tensor<16xf32> to tensor<3xf32>
// CHECK: %[[OC:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], #[[STATE]]], {{.*}} ins(%[[OWN3]] : tensor<3xf32>) outs(%{{.*}} : tensor<3x32xf32>)
// CHECK: %[[PC:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x16xf32>)
// CHECK: math.exp
// CHECK: %[[PC3:.*]] = tensor.extract_slice %[[PC]][0, 0] [4, 3] [1, 1] : tensor<4x16xf32> to tensor<4x3xf32>
// CHECK: linalg.generic {indexing_maps = [#[[FACTORS]], #[[STACK]], #{{.*}}], iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[PC3]], %[[P]]#0 : tensor<4x3xf32>, tensor<4x3x32xf32>) outs(%[[OC]] : tensor<3x32xf32>)
func.func @rows(%q: tensor<3x32xf32>, %k: tensor<?x32xf16>, %o: tensor<3x32xf32>,
                %m: tensor<16xf32>, %n: index, %e: i1)
    -> (tensor<3x32xf32>, tensor<16xf32>, tensor<16xf32>) {
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %k : tensor<3x32xf32>, tensor<?x32xf16>, tensor<?x32xf16>)
      outs(%o, %m, %m : tensor<3x32xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0, %r#1, %r#2 : tensor<3x32xf32>, tensor<16xf32>, tensor<16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.foreach %op : !transform.any_op {
    ^bb0(%one: !transform.any_op):
      %fills:3, %split, %merges:3, %loop =
          transform.structured.tile_reduction_using_forall %one by num_threads = [4]
          : (!transform.any_op) -> (!transform.any_op, !transform.any_op,
             !transform.any_op, !transform.any_op, !transform.any_op,
             !transform.any_op, !transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}
