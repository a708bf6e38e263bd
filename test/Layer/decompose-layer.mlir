// RUN: attn-opt %s -attn-decompose-layer | FileCheck %s

!x = tensor<?x?x6xf32>
!rows = tensor<?x1x?x4xf32>

// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[X:.*]]: tensor<?x?x6xf32>, %[[W:.*]]: tensor<6x16xf32>, %[[WO:.*]]: tensor<8x6xf32>)
// CHECK: %[[P:.*]]:3 = attn.projection ins(%[[X]], %[[W]] : {{.*}}) outs({{.*}} : tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>)
// CHECK: %[[A:.*]] = attn.attention ins(%[[P]]#0, %[[P]]#1, %[[P]]#2 : {{.*}} mask(
// CHECK: %[[Y:.*]] = attn.projection ins(%[[A]], %[[WO]] : {{.*}}) outs(%[[X]] : tensor<?x?x6xf32>)
// CHECK: return %[[Y]]
func.func @plain(%x: !x, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) -> !x {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : !x)
      outs(%x : !x) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      mask causal
  return %0 : !x
}

// CHECK-LABEL: func.func @cached(
// CHECK: %[[AFTER:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<?xi32>) outs(%{{.*}} : tensor<?xi64>)
// CHECK: arith.extsi %{{.*}} : i32 to i64
// CHECK: attn.projection
// CHECK-SAME: scales(%{{.*}} : tensor<8xf32>) bias(
// CHECK: attn.projection
// CHECK: attn.projection
// CHECK: %[[GATE:.*]] = attn.projection {{.*}} outs(%{{.*}} : tensor<?x2x?x1xf32>)
// CHECK: attn.head_norm
// CHECK: %[[Q:.*]] = attn.rope interleaved {{.*}} offset(%[[N:.*]] : tensor<?xi32>)
// CHECK: attn.head_norm
// CHECK: attn.rope interleaved {{.*}} offset(%[[N]] : tensor<?xi32>)
// CHECK: %[[K:.*]] = attn.cache_append {{.*}} lengths(%[[N]] : tensor<?xi32>)
// CHECK: %[[KR:.*]] = attn.cache_read ins(%[[K]] : {{.*}}) lengths(%[[AFTER]] : tensor<?xi64>)
// CHECK: %[[V:.*]] = attn.cache_append
// CHECK: %[[VR:.*]] = attn.cache_read ins(%[[V]] : {{.*}}) lengths(%[[AFTER]] : tensor<?xi64>)
// CHECK: %[[A:.*]] = attn.attention ins(%[[Q]], %[[KR]], %[[VR]] : {{.*}}) outs(%{{.*}}) scale(5.000000e-01) offset(%[[N]] : tensor<?xi32>) sink(%{{.*}}) dropout(1.000000e-01, %{{.*}}, %{{.*}}) mask(%{{[^)]*}}) {
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[GATE]] :
// CHECK: math.exp
// CHECK: %[[O:.*]] = attn.projection
// CHECK: %[[D:.*]] = attn.dropout ins(%[[O]] : {{.*}} rate(2.000000e-01
// CHECK: return %[[D]], %[[K]], %[[V]]
func.func @cached(%x: !x, %k: !rows, %v: !rows, %wq: tensor<6x8xi8>,
    %sq: tensor<8xf32>, %bq: tensor<8xf32>, %wk: tensor<6x4xf32>,
    %wo: tensor<8x6xf32>, %g: tensor<6x2xf32>, %nq: tensor<4xf32>,
    %nk: tensor<1x4xf32>, %t: tensor<?x2xf32>, %n: tensor<?xi32>,
    %sink: tensor<2xf16>, %seed: i64, %call: i32) -> (!x, !rows, !rows) {
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : !x)
      outs(%x, %k, %v : !x, !rows, !rows)
      query(%wq, %sq, %bq : tensor<6x8xi8>, tensor<8xf32>, tensor<8xf32>)
      key(%wk : tensor<6x4xf32>) value(%wk : tensor<6x4xf32>)
      output(%wo : tensor<8x6xf32>) gate heads(%g : tensor<6x2xf32>)
      norms(%nq, %nk : tensor<4xf32>, tensor<1x4xf32>)
      rope interleaved(%t, %t : tensor<?x2xf32>, tensor<?x2xf32>)
      lengths(%n : tensor<?xi32>) scale(0.5) sink(%sink : tensor<2xf16>)
      dropout(0.1, 0.2, %seed, %call) mask causal
  return %0#0, %0#1, %0#2 : !x, !rows, !rows
}

// Rates of 0 leave no dropout; finished keys and values are used as they are.
// CHECK-LABEL: func.func @memory(
// CHECK-SAME: %[[X:.*]]: tensor<?x?x6xf32>, %[[K:[^:]*]]: tensor<?x1x?x4xf32>, %[[V:[^:]*]]: tensor<?x1x?x4xf32>
// CHECK: %[[Q:.*]] = attn.projection
// CHECK-NOT: attn.projection
// CHECK: attn.attention ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) outs(%{{[^:]*}} : tensor<?x2x?x4xf32>){{$}}
// CHECK-NOT: attn.dropout
func.func @memory(%x: !x, %k: !rows, %v: !rows, %wq: tensor<6x8xf32>,
    %wo: tensor<8x6xf32>, %seed: i64, %call: i32) -> !x {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : !x)
      memory(%k, %v : !rows, !rows) outs(%x : !x) query(%wq : tensor<6x8xf32>)
      output(%wo : tensor<8x6xf32>) dropout(0.0, 0.0, %seed, %call)
  return %0 : !x
}

// With counts, positions behind a sequence's last are hidden, whatever the mask
// keeps; without a mask, and with one that reads something.
// CHECK-LABEL: func.func @ragged(
// CHECK-SAME: %[[L:[^:]*]]: tensor<?xi32>
// CHECK: %[[AFTER:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?xi64>)
// CHECK: attn.attention {{.*}} mask(%[[B:[^,]*]], %{{.*}}, %{{.*}}, %[[J:.*]]) captures(%[[A:.*]] = %[[AFTER]] : tensor<?xi64>) {
// CHECK-NEXT: %[[N:.*]] = tensor.extract %[[A]][%[[B]]]
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK-NEXT: %[[KEEP:.*]] = arith.cmpi slt, %[[J]], %[[I]]
// CHECK-NEXT: attn.yield %[[KEEP]]
// CHECK: %[[AFTER2:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?xi64>)
// CHECK: attn.attention {{.*}} mask(%{{.*}}) captures(%[[P:.*]] = %[[L]] : tensor<?xi32>, %{{.*}} = %[[AFTER2]] : tensor<?xi64>) {
// CHECK: %[[OLD:.*]] = arith.ori
// CHECK: %[[NEW:.*]] = arith.cmpi slt
// CHECK: %[[BOTH:.*]] = arith.andi %[[OLD]], %[[NEW]]
// CHECK-NEXT: attn.yield %[[BOTH]]
func.func @ragged(%l: tensor<?xi32>, %x: !x, %k: !rows, %v: !rows,
    %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %c: tensor<?xi32>)
    -> (!x, !rows, !rows) {
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : !x)
      outs(%x, %k, %v : !x, !rows, !rows) qkv(%w : tensor<6x16xf32>)
      output(%wo : tensor<8x6xf32>) lengths(%l : tensor<?xi32>)
      counts(%c : tensor<?xi32>)
  %1:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%0#0 : !x)
      outs(%x, %0#1, %0#2 : !x, !rows, !rows) qkv(%w : tensor<6x16xf32>)
      output(%wo : tensor<8x6xf32>) lengths(%l : tensor<?xi32>)
      counts(%c : tensor<?xi32>) mask prefix_lm(%l : tensor<?xi32>)
  return %1#0, %1#1, %1#2 : !x, !rows, !rows
}

// A norm of the output, a gate of its elements, and a packed batch.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: %[[C:[^:]*]]: tensor<?xi32>, %[[P:[^:]*]]: tensor<1x?xi32>
// CHECK: %[[GATE:.*]] = attn.projection {{.*}} outs(%{{.*}} : tensor<1x2x?x4xf32>)
// CHECK: attn.rope half_split {{.*}} positions(%[[P]] : tensor<1x?xi32>)
// CHECK: attn.rope half_split {{.*}} positions(%[[P]] : tensor<1x?xi32>)
// CHECK: %[[A:.*]] = attn.attention {{.*}} sequences(%[[C]], %[[C]]
// CHECK: %[[N:.*]] = attn.head_norm ins(%[[A]], %{{.*}} : {{.*}}) {{.*}} epsilon(1.000000e-03) layer(2)
// CHECK: linalg.generic {{.*}} ins(%[[N]], %[[GATE]] :
func.func @packed(%c: tensor<?xi32>, %p: tensor<1x?xi32>, %x: tensor<1x?x6xf32>,
    %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %g: tensor<6x8xf32>,
    %n: tensor<4xf32>, %t: tensor<?x2xf32>) -> tensor<1x?x6xf32> {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x?x6xf32>) outs(%x : tensor<1x?x6xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      gate elements(%g : tensor<6x8xf32>) output_norm(%n : tensor<4xf32>)
      layer(2) epsilon(1.0e-3)
      rope half_split(%t, %t : tensor<?x2xf32>, tensor<?x2xf32>)
      positions(%p : tensor<1x?xi32>)
      sequences(%c, %c : tensor<?xi32>, tensor<?xi32>) mask causal
  return %0 : tensor<1x?x6xf32>
}
