// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-fold-groups -canonicalize -cse -mlir-print-local-scope | FileCheck %s

!q = tensor<?x8x3x64xf16>
!kv = tensor<?x2x?x64xf16>
!l = tensor<?x8x3xf32>

// Two key/value heads, each with four query heads of three queries, which are 12
// rows. What the regions see is of the row: query head 4 h + r mod 4, position
// offset[b] + r / 4.
// CHECK-LABEL: func.func @group
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x8x3x64xf16>, %[[K:[^:]*]]: tensor<?x2x?x64xf16>, %[[V:[^:]*]]: tensor<?x2x?x64xf16>, %[[O:[^:]*]]: tensor<?x8x3x64xf16>, %[[L:[^:]*]]: tensor<?x8x3xf32>, %[[P:[^:]*]]: tensor<?xi32>, %[[SLOPES:[^:]*]]: tensor<8xf32>
// CHECK: %[[HEADS:.*]] = tensor.expand_shape %[[Q]] {{\[\[}}0], [1, 2], [3], [4]] output_shape [%{{.*}}, 2, 4, 3, 64]
// CHECK: %[[QUERIES:.*]] = linalg.transpose ins(%[[HEADS]] : tensor<?x2x4x3x64xf16>) outs(%{{.*}} : tensor<?x2x3x4x64xf16>) permutation = [0, 1, 3, 2, 4]
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %[[QUERIES]] {{\[\[}}0], [1], [2, 3], [4]] : tensor<?x2x3x4x64xf16> into tensor<?x2x12x64xf16>
// CHECK: %[[R:.*]]:2 = attn.attention ins(%[[ROWS]], %[[K]], %[[V]] : tensor<?x2x12x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<?x2x12x64xf16>, tensor<?x2x12xf32>)
// CHECK-NOT: offset
// CHECK-SAME: score(%s, %b, %h, %p, %j) captures(%[[S:[^ ]*]] = %[[SLOPES]] : tensor<8xf32>, %[[PS:[^ ]*]] = %[[P]] : tensor<?xi32>)
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[FIRST:.*]] = arith.muli %h, %[[FOUR]]
// CHECK-DAG: %[[MEMBER:.*]] = arith.remsi %p, %[[FOUR]]
// CHECK-DAG: %[[HEAD:.*]] = arith.addi %[[FIRST]], %[[MEMBER]]
// CHECK-DAG: %[[QUERY:.*]] = arith.divsi %p, %[[FOUR]]
// CHECK-DAG: %[[X:.*]] = tensor.extract %[[PS]][%b]
// CHECK-DAG: %[[OFFSET:.*]] = arith.index_cast %[[X]] : i32 to index
// CHECK-DAG: %[[POSITION:.*]] = arith.addi %[[OFFSET]], %[[QUERY]]
// CHECK-DAG: tensor.extract %[[S]][%[[HEAD]]]
// CHECK-DAG: arith.subi %[[POSITION]], %j
// CHECK: mask(%b, %h, %p, %j) captures(%[[PM:[^ ]*]] = %[[P]] : tensor<?xi32>)
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[QUERY:.*]] = arith.divsi %p, %[[FOUR]]
// CHECK-DAG: %[[X:.*]] = tensor.extract %[[PM]][%b]
// CHECK: arith.cmpi sle, %j, %{{.*}}
// CHECK: %[[QUERIES:.*]] = tensor.expand_shape %[[R]]#0 {{\[\[}}0], [1], [2, 3], [4]] output_shape [%{{.*}}, 2, 3, 4, 64]
// CHECK: %[[OUT:.*]] = tensor.expand_shape %[[O]] {{\[\[}}0], [1, 2], [3], [4]] output_shape [%{{.*}}, 2, 4, 3, 64]
// CHECK: %[[HEADS:.*]] = linalg.transpose ins(%[[QUERIES]] : {{.*}}) outs(%[[OUT]] : {{.*}}) permutation = [0, 1, 3, 2, 4]
// CHECK: %[[OUTPUT:.*]] = tensor.collapse_shape %[[HEADS]] {{\[\[}}0], [1, 2], [3], [4]] : tensor<?x2x4x3x64xf16> into tensor<?x8x3x64xf16>
// CHECK: tensor.expand_shape %[[R]]#1 {{\[\[}}0], [1], [2, 3]] output_shape [%{{.*}}, 2, 3, 4]
// CHECK: %[[SUMS:.*]] = linalg.transpose {{.*}} permutation = [0, 1, 3, 2]
// CHECK: %[[LSE:.*]] = tensor.collapse_shape %[[SUMS]]
// CHECK: return %[[OUTPUT]], %[[LSE]]
func.func @group(%q: !q, %k: !kv, %v: !kv, %o: !q, %l: !l, %p: tensor<?xi32>,
                 %s: tensor<8xf32>) -> (!q, !l) {
  %r:2 = attn.attention ins(%q, %k, %v : !q, !kv, !kv) outs(%o, %l : !q, !l)
      offset(%p : tensor<?xi32>) score alibi(%s : tensor<8xf32>) mask causal
  return %r#0, %r#1 : !q, !l
}

// The offset is that of the queries' number, not of the rows'.
// CHECK-LABEL: func.func @bottom_right
// CHECK: %[[N:.*]] = tensor.dim %{{.*}}, %c2
// CHECK: %[[OFFSET:.*]] = affine.apply affine_map<()[s0] -> (s0 - 3)>()[%[[N]]]
// CHECK: attn.attention
// CHECK-NOT: bottom_right
// CHECK-SAME: mask(%b, %h, %p, %j) captures(%[[C:[^ ]*]] = %[[OFFSET]] : index)
// CHECK: arith.addi %[[C]], %{{.*}}
func.func @bottom_right(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !kv, !kv) outs(%o : !q)
      offset(bottom_right) mask causal
  return %r : !q
}

// Nothing is computed of what a region does not look at.
// CHECK-LABEL: func.func @scalar_offset
// CHECK-SAME: %[[P:[a-z0-9]*]]: i64
// CHECK: attn.attention
// CHECK-SAME: score(%s, %b, %h, %p, %j) {
// CHECK-NOT: arith.remsi
// CHECK: } mask(%b, %h, %p, %j) captures(%[[C:[^ ]*]] = %[[P]] : i64)
// CHECK-NOT: arith.remsi
// CHECK: arith.index_cast %[[C]] : i64 to index
func.func @scalar_offset(%q: !q, %k: !kv, %v: !kv, %o: !q, %p: i64) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !kv, !kv) outs(%o : !q)
      offset(%p : i64) score softcap(20.0) mask sliding_window(8, 0)
  return %r : !q
}

// A result of any length, which is that of the query.
// CHECK-LABEL: func.func @dynamic_result
// CHECK: attn.attention {{.*}} outs(%{{.*}} : tensor<?x2x12x64xf16>)
// CHECK: %[[R:.*]] = tensor.collapse_shape %{{.*}} into tensor<?x8x3x64xf16>
// CHECK: tensor.cast %[[R]] : tensor<?x8x3x64xf16> to tensor<?x8x?x64xf16>
func.func @dynamic_result(%q: !q, %k: !kv, %v: !kv, %o: tensor<?x8x?x64xf16>)
    -> tensor<?x8x?x64xf16> {
  %r = attn.attention ins(%q, %k, %v : !q, !kv, !kv)
      outs(%o : tensor<?x8x?x64xf16>)
  return %r : tensor<?x8x?x64xf16>
}

// -----

// The position of one query is the offset, here 0.
!q = tensor<?x8x1x64xf32>
!kv = tensor<?x1x?x64xf32>
// CHECK-LABEL: func.func @one_query
// CHECK: attn.attention ins({{.*}} : tensor<?x1x8x64xf32>, tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>)
// CHECK-SAME: mask(%b, %h, %p, %j) {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0
// CHECK-NEXT: arith.cmpi sle, %j, %[[ZERO]]
func.func @one_query(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !kv, !kv) outs(%o : !q) mask causal
  return %r : !q
}

// -----

// What stays: queries that fill tiles of one head, any number of them, and heads of
// their own.
!kv = tensor<?x2x?x64xf32>
// CHECK-LABEL: func.func @others
// CHECK-NOT: tensor.collapse_shape
// CHECK: return
func.func @others(%many: tensor<?x8x128x64xf32>, %any: tensor<?x8x?x64xf32>,
                  %own: tensor<?x2x1x64xf32>, %k: !kv)
    -> (tensor<?x8x128x64xf32>, tensor<?x8x?x64xf32>, tensor<?x2x1x64xf32>) {
  %0 = attn.attention ins(%many, %k, %k : tensor<?x8x128x64xf32>, !kv, !kv)
      outs(%many : tensor<?x8x128x64xf32>)
  %1 = attn.attention ins(%any, %k, %k : tensor<?x8x?x64xf32>, !kv, !kv)
      outs(%any : tensor<?x8x?x64xf32>)
  %2 = attn.attention ins(%own, %k, %k : tensor<?x2x1x64xf32>, !kv, !kv)
      outs(%own : tensor<?x2x1x64xf32>)
  return %0, %1, %2 : tensor<?x8x128x64xf32>, tensor<?x8x?x64xf32>,
      tensor<?x2x1x64xf32>
}

// A sink of each head becomes one of each row.
// CHECK-LABEL: func.func @sink
// CHECK-SAME: %[[S:[^ ]*]]: tensor<8xf32>
// CHECK: %[[SINKS:.*]] = tensor.expand_shape %[[S]] {{\[\[}}0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
// CHECK: attn.attention {{.*}} sink(%[[SINKS]] : tensor<2x4xf32>)
func.func @sink(%s: tensor<8xf32>, %q: tensor<?x8x1x64xf32>, %k: !kv)
    -> tensor<?x8x1x64xf32> {
  %0 = attn.attention ins(%q, %k, %k : tensor<?x8x1x64xf32>, !kv, !kv)
      outs(%q : tensor<?x8x1x64xf32>) sink(%s : tensor<8xf32>)
  return %0 : tensor<?x8x1x64xf32>
}

// All queries of a head have its sink.
// CHECK-LABEL: func.func @sink_of_queries
// CHECK-SAME: %[[S:[^ ]*]]: tensor<?xf16>
// CHECK: %[[HEADS:.*]] = tensor.cast %[[S]] : tensor<?xf16> to tensor<8xf16>
// CHECK: %[[GROUPS:.*]] = tensor.expand_shape %[[HEADS]] {{\[\[}}0, 1]] output_shape [2, 4]
// CHECK: %[[ALL:.*]] = linalg.broadcast ins(%[[GROUPS]] : tensor<2x4xf16>) outs(%{{.*}} : tensor<2x3x4xf16>) dimensions = [1]
// CHECK: %[[SINKS:.*]] = tensor.collapse_shape %[[ALL]] {{\[\[}}0], [1, 2]] : tensor<2x3x4xf16> into tensor<2x12xf16>
// CHECK: attn.attention {{.*}} sink(%[[SINKS]] : tensor<2x12xf16>)
func.func @sink_of_queries(%s: tensor<?xf16>, %q: tensor<?x8x3x64xf32>, %k: !kv)
    -> tensor<?x8x3x64xf32> {
  %0 = attn.attention ins(%q, %k, %k : tensor<?x8x3x64xf32>, !kv, !kv)
      outs(%q : tensor<?x8x3x64xf32>) sink(%s : tensor<?xf16>)
  return %0 : tensor<?x8x3x64xf32>
}

// CHECK-LABEL: func.func @sink_of_rows
// CHECK-SAME: %[[S:[^ ]*]]: tensor<8x?xf32>
// CHECK: %[[CAST:.*]] = tensor.cast %[[S]] : tensor<8x?xf32> to tensor<8x3xf32>
// CHECK: %[[GROUPS:.*]] = tensor.expand_shape %[[CAST]] {{\[\[}}0, 1], [2]] output_shape [2, 4, 3]
// CHECK: %[[QUERIES:.*]] = linalg.transpose ins(%[[GROUPS]] : tensor<2x4x3xf32>) outs(%{{.*}} : tensor<2x3x4xf32>) permutation = [0, 2, 1]
// CHECK: %[[SINKS:.*]] = tensor.collapse_shape %[[QUERIES]] {{\[\[}}0], [1, 2]] : tensor<2x3x4xf32> into tensor<2x12xf32>
// CHECK: attn.attention {{.*}} sink(%[[SINKS]] : tensor<2x12xf32>)
func.func @sink_of_rows(%s: tensor<8x?xf32>, %q: tensor<?x8x3x64xf32>, %k: !kv)
    -> tensor<?x8x3x64xf32> {
  %0 = attn.attention ins(%q, %k, %k : tensor<?x8x3x64xf32>, !kv, !kv)
      outs(%q : tensor<?x8x3x64xf32>) sink(%s : tensor<8x?xf32>)
  return %0 : tensor<?x8x3x64xf32>
}

// Rows may be those of several tiles. Without regions, these have more; those of
// narrower types are in rows.
// CHECK-LABEL: func.func @plain
// CHECK: attn.attention ins({{.*}} : tensor<?x2x36x64xf32>, {{.*}} rows = 32, lanes = 16, {{.*}} rest = <layout = rows, heads = 4, rows = 4,
// CHECK: attn.attention ins({{.*}} : tensor<?x2x36x64xf32>, {{.*}} mask
// CHECK: rows = 32, lanes = 16, {{.*}} rest = <
// CHECK: attn.attention ins({{.*}} : tensor<?x2x36x64xf16>, {{.*}}layout = rows, heads = 4, rows = 16, lanes = 16
func.func @plain(%q: tensor<?x8x9x64xf32>, %k: !kv, %n: tensor<?x8x9x64xf16>,
                 %nk: tensor<?x2x?x64xf16>)
    -> (tensor<?x8x9x64xf32>, tensor<?x8x9x64xf32>, tensor<?x8x9x64xf16>) {
  %0 = attn.attention ins(%q, %k, %k : tensor<?x8x9x64xf32>, !kv, !kv)
      outs(%q : tensor<?x8x9x64xf32>)
  %1 = attn.attention ins(%q, %k, %k : tensor<?x8x9x64xf32>, !kv, !kv)
      outs(%q : tensor<?x8x9x64xf32>) mask causal
  %2 = attn.attention ins(%n, %nk, %nk : tensor<?x8x9x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
      outs(%n : tensor<?x8x9x64xf16>)
  return %0, %1, %2 : tensor<?x8x9x64xf32>, tensor<?x8x9x64xf32>, tensor<?x8x9x64xf16>
}

// But lanes that the rows fill are faster.
// CHECK-LABEL: func.func @full
// CHECK: attn.attention ins({{.*}} : tensor<?x2x64x64xf16>, {{.*}}layout = lanes, heads = 4, rows = 64, lanes = 16
func.func @full(%q: tensor<?x8x16x64xf16>, %k: tensor<?x2x?x64xf16>)
    -> tensor<?x8x16x64xf16> {
  %0 = attn.attention ins(%q, %k, %k : tensor<?x8x16x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
      outs(%q : tensor<?x8x16x64xf16>)
  return %0 : tensor<?x8x16x64xf16>
}

// A number of queries that has a bound.
// CHECK-LABEL: func.func @bounded
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape {{.*}} : tensor<1x2x?x4x64xf32> into tensor<1x2x?x64xf32>
// CHECK: attn.attention ins(%[[ROWS]], {{.*}} mask
// CHECK: arith.divsi %p,
// CHECK: tensor.collapse_shape {{.*}} : tensor<1x2x4x?x64xf32> into tensor<1x8x?x64xf32>
func.func @bounded(%q: tensor<1x8x?x64xf32>, %k: tensor<1x2x?x64xf32>, %n: index)
    -> tensor<1x8x?x64xf32> {
  %m = affine.min affine_map<()[n] -> (n, 5)>()[%n]
  %s = tensor.extract_slice %q[0, 0, 0, 0] [1, 8, %m, 64] [1, 1, 1, 1]
      : tensor<1x8x?x64xf32> to tensor<1x8x?x64xf32>
  %0 = attn.attention ins(%s, %k, %k : tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      outs(%s : tensor<1x8x?x64xf32>) mask causal
  return %0 : tensor<1x8x?x64xf32>
}

// Dropout, whose random numbers count heads; packed batches, and nothing.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: tensor.collapse_shape
// CHECK: return
func.func @apart(%q: tensor<1x8x1x64xf32>, %k: !kv, %cu: tensor<?xi32>,
                 %seed: i64, %call: i32, %none: tensor<0x8x1x64xf32>) {
  %1 = attn.attention ins(%q, %k, %k : tensor<1x8x1x64xf32>, !kv, !kv)
      outs(%q : tensor<1x8x1x64xf32>) dropout(0.5, %seed, %call)
  %2 = attn.attention ins(%q, %k, %k : tensor<1x8x1x64xf32>, !kv, !kv)
      outs(%q : tensor<1x8x1x64xf32>)
      sequences(%cu, %cu : tensor<?xi32>, tensor<?xi32>)
  %3 = attn.attention ins(%none, %k, %k : tensor<0x8x1x64xf32>, !kv, !kv)
      outs(%none : tensor<0x8x1x64xf32>)
  return
}
