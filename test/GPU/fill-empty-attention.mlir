// RUN: attn-opt %s -attn-fill-empty-attention | FileCheck %s

!q = tensor<2x4x3x16xf16>
!none = tensor<2x2x0x16xf16>
!l = tensor<2x4x3xf32>

// CHECK-DAG: #[[HEAD:.*]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// CHECK-LABEL: func.func @no_keys
// CHECK-SAME: %[[O:[^:]*]]: tensor<2x4x3x16xf16>, %[[L:[^:]*]]: tensor<2x4x3xf32>)
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f16
// CHECK: %[[R:.*]] = linalg.fill ins(%[[ZERO]] : f16) outs(%[[O]]
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[S:.*]] = linalg.fill ins(%[[INF]] : f32) outs(%[[L]]
// CHECK: return %[[R]], %[[S]]
func.func @no_keys(%q: !q, %k: !none, %o: !q, %l: !l) -> (!q, !l) {
  %r:2 = attn.attention ins(%q, %k, %k : !q, !none, !none) outs(%o, %l : !q, !l)
  return %r#0, %r#1 : !q, !l
}

// CHECK-LABEL: func.func @sink(
// CHECK-SAME: %[[O:[^:]*]]: tensor<2x4x3x16xf16>, %[[L:[^:]*]]: tensor<2x4x3xf32>, %[[SINK:[^:]*]]: tensor<4xf16>
// CHECK: linalg.generic {indexing_maps = [#[[HEAD]], {{.*}} ins(%[[SINK]] : tensor<4xf16>) outs(%[[L]]
// CHECK: arith.extf
func.func @sink(%q: !q, %k: !none, %o: !q, %l: !l, %sink: tensor<4xf16>) -> (!q, !l) {
  %r:2 = attn.attention ins(%q, %k, %k : !q, !none, !none) outs(%o, %l : !q, !l)
      sink(%sink : tensor<4xf16>)
  return %r#0, %r#1 : !q, !l
}

// CHECK-LABEL: func.func @sink_per_row
// CHECK: linalg.generic {indexing_maps = [#[[ROW]],
func.func @sink_per_row(%q: !q, %k: !none, %o: !q, %l: !l, %sink: tensor<4x3xf32>) -> (!q, !l) {
  %r:2 = attn.attention ins(%q, %k, %k : !q, !none, !none) outs(%o, %l : !q, !l)
      sink(%sink : tensor<4x3xf32>)
  return %r#0, %r#1 : !q, !l
}

// CHECK-LABEL: func.func @no_queries
// CHECK-SAME: %[[O:[^:]*]]: tensor<2x4x0x16xf16>)
// CHECK-NEXT: return %[[O]]
func.func @no_queries(%k: tensor<2x2x9x16xf16>, %o: tensor<2x4x0x16xf16>)
    -> tensor<2x4x0x16xf16> {
  %r = attn.attention
      ins(%o, %k, %k : tensor<2x4x0x16xf16>, tensor<2x2x9x16xf16>,
          tensor<2x2x9x16xf16>)
      outs(%o : tensor<2x4x0x16xf16>)
  return %r : tensor<2x4x0x16xf16>
}

// CHECK-LABEL: func.func @packed(
// CHECK: linalg.fill
// CHECK-NOT: attn.attention
func.func @packed(%q: tensor<1x4x3x16xf16>, %k: tensor<1x2x0x16xf16>, %c: tensor<?xi32>)
    -> tensor<1x4x3x16xf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x4x3x16xf16>, tensor<1x2x0x16xf16>,
          tensor<1x2x0x16xf16>)
      outs(%q : tensor<1x4x3x16xf16>)
      sequences(%c, %c : tensor<?xi32>, tensor<?xi32>)
  return %r : tensor<1x4x3x16xf16>
}

// CHECK-LABEL: func.func @packed_sink(
// CHECK-SAME: %[[SINK:[^:]*]]: tensor<4xf16>, %[[C:[^:]*]]: tensor<?xi32>)
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f16
// CHECK: %[[E:.*]] = arith.extf %[[IN]]
// CHECK: %[[AT:.*]] = linalg.index 2
// CHECK: tensor.extract %[[C]]
// CHECK: arith.cmpi sle, {{.*}}, %[[AT]]
// CHECK: tensor.extract %[[C]]
// CHECK: arith.cmpi slt, %[[AT]]
// CHECK: %[[SOME:.*]] = arith.andi
// CHECK: arith.select %[[SOME]], %[[E]], %{{.*}} : f32
func.func @packed_sink(%q: tensor<1x4x3x16xf16>, %k: tensor<?x2x0x16xf16>,
                       %l: tensor<1x4x3xf32>, %sink: tensor<4xf16>, %c: tensor<?xi32>)
    -> (tensor<1x4x3x16xf16>, tensor<1x4x3xf32>) {
  %r:2 = attn.attention
      ins(%q, %k, %k : tensor<1x4x3x16xf16>, tensor<?x2x0x16xf16>,
          tensor<?x2x0x16xf16>)
      outs(%q, %l : tensor<1x4x3x16xf16>, tensor<1x4x3xf32>)
      sink(%sink : tensor<4xf16>)
      sequences(%c : tensor<?xi32>)
  return %r#0, %r#1 : tensor<1x4x3x16xf16>, tensor<1x4x3xf32>
}

// CHECK-LABEL: func.func @counts_sink(
// CHECK-SAME: %[[N:[^:]*]]: tensor<2xi32>)
// CHECK: linalg.generic
// CHECK: %[[B:.*]] = linalg.index 0
// CHECK: tensor.extract %[[N]][%[[B]]]
// CHECK: arith.cmpi slt
// CHECK: arith.select
func.func @counts_sink(%q: !q, %k: !none, %o: !q, %l: !l, %sink: tensor<4xf16>,
                       %n: tensor<2xi32>) -> (!q, !l) {
  %r:2 = attn.attention ins(%q, %k, %k : !q, !none, !none) outs(%o, %l : !q, !l)
      sink(%sink : tensor<4xf16>) counts(%n : tensor<2xi32>)
  return %r#0, %r#1 : !q, !l
}

// A dynamic size may be 0 or not.
// CHECK-LABEL: func.func @stay
// CHECK: attn.attention
func.func @stay(%q: tensor<1x4x3x16xf16>, %any: tensor<1x2x?x16xf16>)
    -> tensor<1x4x3x16xf16> {
  %r = attn.attention
      ins(%q, %any, %any : tensor<1x4x3x16xf16>, tensor<1x2x?x16xf16>,
          tensor<1x2x?x16xf16>)
      outs(%q : tensor<1x4x3x16xf16>)
  return %r : tensor<1x4x3x16xf16>
}
