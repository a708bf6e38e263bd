// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-plan -attn-attention-to-online | FileCheck %s

// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1) -> (d1, d0)>

!h = tensor<1x1x20x16xf32>
!k = tensor<1x1x?x16xf32>
!v = tensor<1x1x?x24xf32>
!o = tensor<1x1x20x24xf32>

// 20 queries in 32 lanes: padded with 0, and scaled by 1 / sqrt(16).
// CHECK-LABEL: func.func @plain
// CHECK: linalg.fill {{.*}} outs(%{{.*}} : tensor<32x16xf32>)
// CHECK: %[[S:.*]] = arith.constant 2.500000e-01 : f32
// CHECK: arith.mulf %{{.*}}, %[[S]]
// CHECK: tensor.insert_slice %{{.*}} [20, 16] [1, 1] : tensor<20x16xf32> into tensor<32x16xf32>
// CHECK: %[[T:.*]] = linalg.transpose ins(%{{.*}} : tensor<32x16xf32>) outs(%{{.*}} : tensor<16x32xf32>)
// CHECK: %[[R:.*]]:3 = attn.online_attention ins(%[[T]], %{{.*}} : tensor<16x32xf32>, tensor<?x16xf32>, tensor<?x24xf32>)
// CHECK-SAME: outs({{.*}} : tensor<24x32xf32>, tensor<32xf32>, tensor<32xf32>)
// CHECK-SAME: queries(%c20
// CHECK: arith.divf
// CHECK-NOT: linalg.transpose
// CHECK: linalg.generic {indexing_maps = [#[[COLUMNS]], #{{.*}}, #{{.*}}], {{.*}} outs(%{{.*}} : tensor<32x24xf32>)
// CHECK: arith.mulf
// CHECK: tensor.insert_slice {{.*}} [1, 1, 20, 24] {{.*}} into tensor<1x1x20x24xf32>
// CHECK-NOT: math.log
func.func @plain(%q: !h, %k: !k, %v: !v, %o: !o) -> !o {
  %r = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o : !o)
  return %r : !o
}

// A whole tile of queries is scaled where it is, and transposed meanwhile.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x1x32x16xf32>
// CHECK-NOT: linalg.fill {{.*}} tensor<32x16xf32>
// CHECK: %[[ROWS:.*]] = tensor.extract_slice %{{.*}}[0, 0] [32, 16] [1, 1]
// CHECK: %[[T:.*]] = linalg.generic {indexing_maps = [#[[COLUMNS]], #{{.*}}], {{.*}} ins(%[[ROWS]] : {{.*}}) outs(%{{.*}} : tensor<16x32xf32>)
// CHECK: arith.mulf
// CHECK: attn.online_attention ins(%[[T]],
func.func @whole(%q: tensor<1x1x32x16xf32>, %k: !k, %v: !v, %o: tensor<1x1x32x24xf32>) -> tensor<1x1x32x24xf32> {
  %r = attn.attention ins(%q, %k, %v : tensor<1x1x32x16xf32>, !k, !v) outs(%o : tensor<1x1x32x24xf32>)
  return %r : tensor<1x1x32x24xf32>
}

// The sink starts the state; the log-sum-exp is that of the end.
// CHECK-LABEL: func.func @sink_score_lse
// CHECK: %[[K:.*]] = tensor.extract %{{.*}} : tensor<1xf32>
// CHECK: %[[NO:.*]] = arith.cmpf ule, %[[K]], %{{.*}} : f32
// CHECK: %[[M:.*]] = arith.select %[[NO]], %{{.*}}, %[[K]] : f32
// CHECK: linalg.fill ins(%[[M]] : f32)
// CHECK: %[[NONE:.*]] = arith.cmpf ule, %[[K]], %{{.*}} : f32
// CHECK: %[[L:.*]] = arith.select %[[NONE]], %{{.*}} : f32
// CHECK: linalg.fill ins(%[[L]] : f32)
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[K]], %[[K]] : f32
// CHECK: arith.select %[[NAN]], %[[K]], %{{.*}} : f32
// CHECK: %[[R:.*]]:3 = attn.online_attention
// CHECK-SAME: score {
// CHECK: linalg.generic {{.*}} ins(%[[R]]#1, %[[R]]#2, %{{.*}} : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
// CHECK-NEXT: ^bb0(%[[M:.*]]: f32, %[[SUM:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[LOG:.*]] = math.log %[[SUM]]
// CHECK: %[[LSE:.*]] = arith.addf %[[M]], %[[LOG]]
// CHECK: arith.select %{{.*}}, %[[M]], %[[LSE]]
// CHECK: tensor.insert_slice {{.*}} into tensor<1x1x20xf32>
func.func @sink_score_lse(%q: !h, %k: !k, %v: !v, %o: !o, %l: tensor<1x1x20xf32>,
                          %s: tensor<1xf32>) -> (!o, tensor<1x1x20xf32>) {
  %r:2 = attn.attention ins(%q, %k, %v : !h, !k, !v)
      outs(%o, %l : !o, tensor<1x1x20xf32>) sink(%s : tensor<1xf32>)
      score softcap(30.0)
  return %r#0, %r#1 : !o, tensor<1x1x20xf32>
}

// A tile of a larger op has its line, and others the line 0.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32, %[[LINE:[^:]*]]: index
// CHECK: attn.online_attention {{.*}} dropout(1.000000e-01, %[[SEED]], %[[CALL]], %[[LINE]])
// CHECK: attn.online_attention {{.*}} dropout(1.000000e-01, %[[SEED]], %[[CALL]], %c0{{.*}})
func.func @dropout(%q: !h, %k: !k, %v: !v, %o: !o, %seed: i64, %call: i32,
                   %line: index) -> (!o, !o) {
  %r = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o : !o)
      dropout(0.1, %seed, %call, %line)
  %s = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o : !o)
      dropout(0.1, %seed, %call)
  return %r, %s : !o, !o
}

// Without a bound of the number of queries there is no tile.
// CHECK-LABEL: func.func @unbounded
// CHECK-NOT: attn.online_attention
func.func @unbounded(%q: !k, %o: !k) -> !k {
  %r = attn.attention ins(%q, %q, %q : !k, !k, !k) outs(%o : !k)
  return %r : !k
}
