// RUN: attn-opt %s --split-input-file --transform-interpreter --canonicalize --verify-diagnostics | FileCheck %s

// Tiles of one batch entry, two of four heads that share a key/value head, and
// eight rows. Regions, offset and sink are those of the whole op.

// CHECK-DAG: #[[ROWS_OF:.*]] = affine_map<(d0) -> (d0 * 8)>
// CHECK-DAG: #[[HEADS:.*]] = affine_map<(d0) -> (d0 * 2)>
// CHECK-DAG: #[[GROUP:.*]] = affine_map<(d0) -> (d0 floordiv 2)>

// CHECK-LABEL: func.func @within_groups
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x8x?x16xf32>, %[[K:[^:]*]]: tensor<?x2x?x16xf32>, %[[V:[^:]*]]: tensor<?x2x?x16xf32>, %{{[^:]*}}: tensor<?x8x?x16xf32>, %{{[^:]*}}: tensor<?x8x?xf32>, %[[SINK:[^:]*]]: tensor<8xf32>, %[[OFFSETS:[^:]*]]: tensor<?xi32>, %[[SLOPES:[^:]*]]: tensor<8xf32>
// CHECK: scf.forall (%[[B:.*]], %[[HT:.*]], %[[IT:.*]]) in (%{{.*}}, 4, %{{.*}}) shared_outs(%[[O:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}})
// CHECK-DAG: %[[I:.*]] = affine.apply #[[ROWS_OF]](%[[IT]])
// CHECK-DAG: %[[H:.*]] = affine.apply #[[HEADS]](%[[HT]])
// CHECK-DAG: %[[G:.*]] = affine.apply #[[GROUP]](%[[HT]])
// CHECK-DAG: %[[QT:.*]] = tensor.extract_slice %[[Q]][%[[B]], %[[H]], %[[I]], 0] [1, 2, %[[ROWS:.*]], 16]
// CHECK-DAG: %[[KT:.*]] = tensor.extract_slice %[[K]][%[[B]], %[[G]], 0, 0] [1, 1, %{{.*}}, 16]
// CHECK-DAG: %[[VT:.*]] = tensor.extract_slice %[[V]][%[[B]], %[[G]], 0, 0] [1, 1, %{{.*}}, 16]
// CHECK-DAG: %[[OT:.*]] = tensor.extract_slice %[[O]][%[[B]], %[[H]], %[[I]], 0] [1, 2, %[[ROWS]], 16]
// CHECK-DAG: %[[LT:.*]] = tensor.extract_slice %[[L]][%[[B]], %[[H]], %[[I]]] [1, 2, %[[ROWS]]]
// CHECK-DAG: %[[ST:.*]] = tensor.extract_slice %[[SINK]][%[[H]]] [2] [1] : tensor<8xf32> to tensor<2xf32>
// CHECK-DAG: %[[X:.*]] = tensor.extract %[[OFFSETS]][%[[B]]]
// CHECK-DAG: %[[XI:.*]] = arith.index_cast %[[X]] : i32 to index
// CHECK-DAG: %[[P:.*]] = arith.addi %[[XI]], %[[I]] : index
// CHECK: %[[R:.*]]:2 = attn.attention ins(%[[QT]], %[[KT]], %[[VT]] : {{[^)]*}}) outs(%[[OT]], %[[LT]] : {{[^)]*}})
// CHECK-SAME: offset(%[[P]] : index)
// CHECK-SAME: sink(%[[ST]] : tensor<2xf32>)
// CHECK-SAME: captures(%[[C:.*]] = %[[SLOPES]] : tensor<8xf32>, %[[C1:.*]] = %[[H]] : index)
// CHECK: %[[HEAD:.*]] = arith.addi %{{.*}}, %[[C1]] : index
// CHECK: tensor.extract %[[C]][%[[HEAD]]]
// CHECK: tensor.parallel_insert_slice %[[R]]#0 into %[[O]][%[[B]], %[[H]], %[[I]], 0] [1, 2, %[[ROWS]], 16]
// CHECK: tensor.parallel_insert_slice %[[R]]#1 into %[[L]][%[[B]], %[[H]], %[[I]]] [1, 2, %[[ROWS]]]
func.func @within_groups(
    %q: tensor<?x8x?x16xf32>, %k: tensor<?x2x?x16xf32>,
    %v: tensor<?x2x?x16xf32>, %o: tensor<?x8x?x16xf32>, %l: tensor<?x8x?xf32>,
    %sink: tensor<8xf32>, %offsets: tensor<?xi32>, %slopes: tensor<8xf32>)
    -> (tensor<?x8x?x16xf32>, tensor<?x8x?xf32>) {
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<?x8x?x16xf32>, tensor<?x2x?x16xf32>,
          tensor<?x2x?x16xf32>)
      outs(%o, %l : tensor<?x8x?x16xf32>, tensor<?x8x?xf32>)
      offset(%offsets : tensor<?xi32>)
      sink(%sink : tensor<8xf32>)
      score alibi(%slopes : tensor<8xf32>)
      mask causal
  return %r#0, %r#1 : tensor<?x8x?x16xf32>, tensor<?x8x?xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 2, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Whole groups: four query heads, two key/value heads.

// CHECK-DAG: #[[HEADS:.*]] = affine_map<(d0) -> (d0 * 4)>
// CHECK-DAG: #[[GROUPS:.*]] = affine_map<(d0) -> (d0 * 2)>
// CHECK-LABEL: func.func @whole_groups
// CHECK-SAME: tensor<2x8x5x16xf32>, %[[K:[^:]*]]: tensor<2x4x7x16xf32>
// CHECK: scf.forall (%[[HT:.*]]) in (2)
// CHECK-DAG: %[[G:.*]] = affine.apply #[[GROUPS]](%[[HT]])
// CHECK-DAG: tensor.extract_slice %[[K]][0, %[[G]], 0, 0] [2, 2, 7, 16]
// CHECK: attn.attention ins(%{{.*}} : tensor<2x4x5x16xf32>, tensor<2x2x7x16xf32>, tensor<2x2x7x16xf32>)
func.func @whole_groups(%q: tensor<2x8x5x16xf32>, %k: tensor<2x4x7x16xf32>)
    -> tensor<2x8x5x16xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<2x8x5x16xf32>, tensor<2x4x7x16xf32>,
          tensor<2x4x7x16xf32>)
      outs(%q : tensor<2x8x5x16xf32>)
  return %r : tensor<2x8x5x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile of several batch entries has an offset for each.

// CHECK-LABEL: func.func @batches
// CHECK-SAME: %[[OFFSETS:[^:]*]]: tensor<4xi32>
// CHECK: scf.forall
// CHECK: %[[X:.*]] = tensor.extract_slice %[[OFFSETS]][%{{.*}}] [2] [1] : tensor<4xi32> to tensor<2xi32>
// CHECK: attn.attention {{.*}} offset(%[[X]] : tensor<2xi32>)
func.func @batches(%x: tensor<4x1x5x16xf32>, %offsets: tensor<4xi32>)
    -> tensor<4x1x5x16xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<4x1x5x16xf32>, tensor<4x1x5x16xf32>,
          tensor<4x1x5x16xf32>)
      outs(%x : tensor<4x1x5x16xf32>)
      offset(%offsets : tensor<4xi32>)
      mask causal
  return %r : tensor<4x1x5x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [2]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Tiles of heads that straddle groups: three query heads to a group.

func.func @straddles(%q: tensor<2x6x5x16xf32>, %k: tensor<2x2x7x16xf32>)
    -> tensor<2x6x5x16xf32> {
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %r = attn.attention
      ins(%q, %k, %k : tensor<2x6x5x16xf32>, tensor<2x2x7x16xf32>,
          tensor<2x2x7x16xf32>)
      outs(%q : tensor<2x6x5x16xf32>)
  return %r : tensor<2x6x5x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 2, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Rows of several batch entries with an offset for each.

func.func @offsets(%q: tensor<2x6x5x16xf32>, %k: tensor<2x2x7x16xf32>, %offsets: tensor<2xi32>)
    -> tensor<2x6x5x16xf32> {
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %r = attn.attention
      ins(%q, %k, %k : tensor<2x6x5x16xf32>, tensor<2x2x7x16xf32>,
          tensor<2x2x7x16xf32>)
      outs(%q : tensor<2x6x5x16xf32>)
      offset(%offsets : tensor<2xi32>)
      mask causal
  return %r : tensor<2x6x5x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [2, 0, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Random numbers count heads of the whole op: a tile has the line of its first
// one, which a tile of it adds to its own.

// CHECK-DAG: #[[LINES:.*]] = affine_map<(d0)[s0] -> (d0 * 18 + s0)>
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32, %[[FIRST:[^:]*]]: index
// CHECK: scf.forall (%[[B:.*]]) in (2)
// CHECK: %[[LINE:.*]] = affine.apply #[[LINES]](%[[B]])[%[[FIRST]]]
// CHECK: dropout(5.000000e-01, %[[SEED]], %[[CALL]], %[[LINE]])
func.func @dropout(%q: tensor<6x6x5x16xf32>, %k: tensor<6x2x7x16xf32>, %seed: i64, %call: i32, %first: index)
    -> tensor<6x6x5x16xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<6x6x5x16xf32>, tensor<6x2x7x16xf32>,
          tensor<6x2x7x16xf32>)
      outs(%q : tensor<6x6x5x16xf32>)
      dropout(0.5, %seed, %call, %first)
  return %r : tensor<6x6x5x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [3, 0, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Of some heads of several batch entries, a tile says how many heads the whole has.

// CHECK-LABEL: func.func @some_heads
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32, %[[KEYS:[^:]*]]: tensor<6xindex>
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (3, 6)
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[KEYS]][%{{.*}}] [2] [1] : tensor<6xindex> to tensor<2xindex>
// CHECK: dropout(5.000000e-01, %[[SEED]], %[[CALL]], %{{.*}}, key = %[[SLICE]] : tensor<2xindex>, heads = 6)
func.func @some_heads(%q: tensor<6x6x5x16xf32>, %k: tensor<6x2x7x16xf32>, %seed: i64, %call: i32, %keys: tensor<6xindex>)
    -> tensor<6x6x5x16xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<6x6x5x16xf32>, tensor<6x2x7x16xf32>,
          tensor<6x2x7x16xf32>)
      outs(%q : tensor<6x6x5x16xf32>)
      dropout(0.5, %seed, %call, key = %keys : tensor<6xindex>)
  return %r : tensor<6x6x5x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [2, 1, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A row of a packed batch has no fixed sequence.

func.func @packed(%q: tensor<1x6x?x16xf32>, %k: tensor<1x2x?x16xf32>, %starts: tensor<?xi32>)
    -> tensor<1x6x?x16xf32> {
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  // expected-note @below {{when applied to this op}}
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x6x?x16xf32>, tensor<1x2x?x16xf32>,
          tensor<1x2x?x16xf32>)
      outs(%q : tensor<1x6x?x16xf32>)
      sequences(%starts, %starts : tensor<?xi32>, tensor<?xi32>)
  return %r : tensor<1x6x?x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{failed to apply}}
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 1, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
