// RUN: attn-opt %s -attn-rows-to-elements -canonicalize -cse -split-input-file \
// RUN:   | FileCheck %s

!rows = tensor<2x3x?x16xf16>
!table = tensor<64x4xf32>

// An element of a pair turns with the other one; the rest of a row is copied.
// CHECK-LABEL: func.func @rope
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3x?x16xf16>, %[[COS:[^:]*]]: tensor<64x4xf32>, %[[SIN:[^:]*]]: tensor<64x4xf32>, %[[OFFSETS:[^:]*]]: tensor<2xi32>
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]], %[[D:.*]]) in (2, 3, %{{.*}}, 16)
// CHECK: %[[ROTATED:.*]] = arith.cmpi slt, %[[D]], %c8
// CHECK: %[[E:.*]] = scf.if %[[ROTATED]] -> (f16)
// CHECK: %[[SECOND:.*]] = arith.cmpi sge, %[[D]], %c4
// CHECK: %[[BEFORE:.*]] = arith.subi %[[D]], %c4
// CHECK: %[[K:.*]] = arith.select %[[SECOND]], %[[BEFORE]], %[[D]]
// CHECK: %[[OFFSET:.*]] = tensor.extract %[[OFFSETS]][%[[B]]]
// CHECK: %[[P:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK: tensor.extract %[[X]][%[[B]], %[[H]], %[[I]], %[[D]]]
// CHECK: tensor.extract %[[COS]][%[[P]], %[[K]]]
// CHECK: tensor.extract %[[X]][%[[B]], %[[H]], %[[I]], %{{.*}}]
// CHECK: tensor.extract %[[SIN]][%[[P]], %[[K]]]
// CHECK: else
// CHECK: tensor.extract %[[X]][%[[B]], %[[H]], %[[I]], %[[D]]]
// CHECK: tensor.insert %[[E]]
func.func @rope(%x: !rows, %cosine: !table, %sine: !table, %offsets: tensor<2xi32>,
                %out: !rows) -> !rows {
  %r = attn.rope half_split ins(%x, %cosine, %sine : !rows, !table, !table)
      outs(%out : !rows) offset(%offsets : tensor<2xi32>)
  return %r : !rows
}

// -----

!rows = tensor<?x3x?x16xf32>
!cache = tensor<9x3x8x16xi8>
!scales = tensor<9x3x8xf32>

// Scales first, row by row, then the elements, which read them. A row that is not new
// has no place, and its page is not looked up.
// CHECK-LABEL: func.func @append
// CHECK-SAME: %[[ROWS:[^:]*]]: tensor<?x3x?x16xf32>, %[[CACHE:[^:]*]]: tensor<9x3x8x16xi8>, %[[OLD:[^:]*]]: tensor<9x3x8xf32>
// CHECK: %[[SCALES:.*]] = scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (%{{.*}}, 3, %{{.*}}) shared_outs(%[[ALL:.*]] = %[[OLD]])
// CHECK: %[[NEW:.*]] = arith.cmpi slt, %[[I]], %{{.*}}
// CHECK: %[[PLACE:.*]]:2 = scf.if %[[NEW]] -> (index, index)
// CHECK: arith.remui %{{.*}}, %c8
// CHECK: tensor.extract %{{.*}} : tensor<?x?xi32>
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[ALL]][%[[PLACE]]#0, %[[H]], %[[PLACE]]#1]
// CHECK: %[[STORED:.*]] = scf.if %[[NEW]]
// CHECK: scf.for
// CHECK: arith.maximumf
// CHECK: tensor.insert
// CHECK: scf.yield %[[SLICE]]
// CHECK: tensor.parallel_insert_slice %[[STORED]] into %[[ALL]][%[[PLACE]]#0, %[[H]], %[[PLACE]]#1]
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}, %[[D:.*]]) in (%{{.*}}, 3, %{{.*}}, 16) shared_outs(%{{.*}} = %[[CACHE]])
// CHECK: tensor.extract %[[SCALES]]
// CHECK: math.roundeven
// CHECK: arith.fptosi %{{.*}} : f32 to i8
// CHECK-NOT: attn.
func.func @append(%rows: !rows, %cache: !cache, %scales: !scales, %table: tensor<?x?xi32>,
                  %lengths: tensor<?xi32>, %counts: tensor<?xi32>) -> (!cache, !scales) {
  %r:2 = attn.cache_append ins(%rows : !rows) outs(%cache, %scales : !cache, !scales)
      lengths(%lengths : tensor<?xi32>) counts(%counts : tensor<?xi32>)
      table(%table : tensor<?x?xi32>)
  return %r#0, %r#1 : !cache, !scales
}

// -----

// The sequence of a packed row is the last one that begins there or before.
// CHECK-LABEL: func.func @append_packed
// CHECK-SAME: %[[ROWS:[^:]*]]: tensor<1x2x?x16xf16>, %{{.*}}, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[BEGINS:[^:]*]]: tensor<?xi32>)
// CHECK: scf.forall (%[[H:.*]], %[[I:.*]], %[[D:.*]]) in (2, %{{.*}}, 16)
// CHECK: %[[FOUND:.*]]:2 = scf.while
// CHECK: scf.condition
// CHECK: tensor.extract %[[BEGINS]]
// CHECK: arith.cmpi sle, %{{.*}}, %[[I]]
// CHECK: tensor.extract %[[BEGINS]][%[[FOUND]]#0]
// CHECK: %[[BEGIN:.*]] = arith.index_cast
// CHECK: %[[NUMBER:.*]] = arith.subi %[[I]], %[[BEGIN]]
// CHECK: %[[BEGUN:.*]] = arith.cmpi sle, %[[BEGIN]], %[[I]]
// CHECK: %[[ENDS:.*]] = arith.cmpi slt, %[[FOUND]]#0, %{{.*}}
// CHECK: %[[NEW:.*]] = arith.andi %[[BEGUN]], %[[ENDS]]
// CHECK: scf.if %[[NEW]] -> (index)
// CHECK: tensor.extract %[[LENGTHS]][%[[FOUND]]#0]
// CHECK: arith.addi %{{.*}}, %[[NUMBER]]
// CHECK: tensor.extract %[[ROWS]][%{{.*}}, %[[H]], %[[I]], %[[D]]]
// CHECK-NOT: attn.
func.func @append_packed(%rows: tensor<1x2x?x16xf16>, %cache: tensor<?x2x?x16xf16>,
                         %lengths: tensor<?xi32>, %begins: tensor<?xi32>)
    -> tensor<?x2x?x16xf16> {
  %r = attn.cache_append ins(%rows : tensor<1x2x?x16xf16>)
      outs(%cache : tensor<?x2x?x16xf16>)
      lengths(%lengths : tensor<?xi32>) sequences(%begins : tensor<?xi32>)
  return %r : tensor<?x2x?x16xf16>
}
