// RUN: attn-opt %s -attn-tile-keys -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s --attn-target="{quantize_queries = true}" -attn-tile-keys -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=INTEGERS

// Keys and values that are one head of one sequence of a cache.

!q = tensor<16x32xf32>
!l = tensor<32xf32>
!lengths = tensor<?xi32>
!table = tensor<?x?xi32>
!kv = tensor<?x2x?x16xf32>
!head = tensor<1x1x?x16xf32>
!rows = tensor<?x16xf32>

// The largest power of 2 that divides a page: no block leaves one. Positions from
// the sequence's length on have no pages.
// CHECK-LABEL: func.func @paged(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x24x16xf32>, %[[VALUES:[^:]*]]: tensor<?x2x24x16xf32>, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[TABLE:[^:]*]]: tensor<?x?xi32>, %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index,
// CHECK-NOT: attn.cache_read
// CHECK: %[[LENGTH:.*]] = tensor.extract %[[LENGTHS]][%[[B]]]
// CHECK: %[[STORED:.*]] = arith.index_cast %[[LENGTH]]
// CHECK: %[[END:.*]] = arith.minui %[[STORED]], %[[N]]
// CHECK: scf.while
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c8
// CHECK: %[[SIZE:.*]] = affine.min
// CHECK: %[[ROW:.*]] = arith.remui %[[FIRST:.*]], %c24
// CHECK: %[[NUMBER:.*]] = arith.divui %[[FIRST]], %c24
// CHECK: %[[ENTRY:.*]] = tensor.extract %[[TABLE]][%[[B]], %[[NUMBER]]]
// CHECK: %[[PAGE:.*]] = arith.index_cast %[[ENTRY]]
// CHECK: %[[K:.*]] = tensor.extract_slice %[[KEYS]][%[[PAGE]], %[[H]], %[[ROW]], 0] [1, 1, %[[SIZE]], 16]
// CHECK: %[[V:.*]] = tensor.extract_slice %[[VALUES]][%[[PAGE]], %[[H]], %[[ROW]], 0] [1, 1, %[[SIZE]], 16]
// CHECK: attn.online_attention
func.func @paged(%q: !q, %keys: tensor<?x2x24x16xf32>, %values: tensor<?x2x24x16xf32>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index, %acc: !q,
    %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : tensor<?x2x24x16xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values : tensor<?x2x24x16xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !q, !l, !l) at(%b, %h, %c0, %c0) queries(%c32)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Rows before the length less the capacity are overwritten; blocks still begin at
// multiples of their size, so that none wraps around.
// CHECK-LABEL: func.func @ring(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x64x16xf32>, %[[VALUES:[^:]*]]: tensor<?x2x64x16xf32>, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index,
// CHECK-NOT: attn.cache_read
// CHECK: arith.subi %{{.*}}, %c64
// CHECK: %[[NUMBER:.*]] = arith.divui %{{.*}}, %c64
// CHECK: %[[LOW:.*]] = arith.muli %[[NUMBER]], %c64
// CHECK: scf.while
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c64
// CHECK: %[[ROW:.*]] = arith.remui %{{.*}}, %c64
// CHECK: tensor.extract_slice %[[KEYS]][%[[B]], %[[H]], %[[ROW]], 0]
// CHECK: tensor.extract_slice %[[VALUES]][%[[B]], %[[H]], %[[ROW]], 0]
func.func @ring(%q: !q, %keys: tensor<?x2x64x16xf32>, %values: tensor<?x2x64x16xf32>,
    %lengths: !lengths, %b: index, %h: index, %n: index, %acc: !q,
    %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : tensor<?x2x64x16xf32>) lengths(%lengths : !lengths)
      ring size(%n) -> !kv
  %v = attn.cache_read ins(%values : tensor<?x2x64x16xf32>) lengths(%lengths : !lengths)
      ring size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !q, !l, !l) at(%b, %h, %c0, %c0) queries(%c32)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Blocks may be of any size.
// CHECK-LABEL: func.func @contiguous(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x?x16xf32>, %[[VALUES:[^:]*]]: tensor<?x2x?x16xf32>, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index,
// CHECK-NOT: attn.cache_read
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c128
// CHECK: tensor.extract_slice %[[KEYS]][%[[B]], %[[H]], %{{.*}}, 0]
// CHECK: tensor.extract_slice %[[VALUES]][%[[B]], %[[H]], %{{.*}}, 0]
func.func @contiguous(%q: !q, %keys: tensor<?x2x?x16xf32>, %values: tensor<?x2x?x16xf32>,
    %lengths: !lengths, %b: index, %h: index, %n: index, %acc: !q,
    %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : tensor<?x2x?x16xf32>) lengths(%lengths : !lengths)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values : tensor<?x2x?x16xf32>) lengths(%lengths : !lengths)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !q, !l, !l) at(%b, %h, %c0, %c0) queries(%c32)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Blocks are those of the smaller unit of two caches.
// CHECK-LABEL: func.func @different_kinds(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x?x16xf32>, %[[VALUES:[^:]*]]: tensor<?x2x16x16xf32>, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[TABLE:[^:]*]]: tensor<?x?xi32>, %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index,
// CHECK-NOT: attn.cache_read
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c16
// CHECK: tensor.extract_slice %[[KEYS]][%[[B]], %[[H]], %{{.*}}, 0]
// CHECK: tensor.extract %[[TABLE]]
// CHECK: tensor.extract_slice %[[VALUES]]
func.func @different_kinds(%q: !q, %keys: tensor<?x2x?x16xf32>, %values: tensor<?x2x16x16xf32>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index, %acc: !q,
    %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : tensor<?x2x?x16xf32>) lengths(%lengths : !lengths)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values : tensor<?x2x16x16xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !q, !l, !l) at(%b, %h, %c0, %c0) queries(%c32)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Where pages end is not known: the parts of a block are copied from page to page.
// CHECK-LABEL: func.func @dynamic_pages(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x?x16xf32>, %[[VALUES:[^:]*]]: tensor<?x2x?x16xf32>, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[TABLE:[^:]*]]: tensor<?x?xi32>, %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index,
// CHECK-NOT: attn.cache_read
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c128
// CHECK: %[[ROWS:.*]] = tensor.empty() : tensor<128x16xf32>
// CHECK: %[[UNIT:.*]] = arith.maxui %{{.*}}, %c1
// CHECK: %[[LOW:.*]] = arith.divui %{{.*}}, %[[UNIT]]
// CHECK: %[[ALL:.*]] = scf.for %[[I:.*]] = %[[LOW]] to %{{.*}} step %c1 iter_args(%[[TO:.*]] = %[[ROWS]])
// CHECK: %[[PAGE:.*]] = arith.muli %[[I]], %[[UNIT]]
// CHECK: %[[FROM:.*]] = arith.maxsi %[[PAGE]], %[[J:.*]]
// CHECK: %[[AT:.*]] = arith.subi %[[FROM]], %[[J]]
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[KEYS]]
// CHECK: tensor.insert_slice %{{.*}} into %[[TO]][%[[AT]], 0]
// CHECK: scf.for
// CHECK: tensor.extract_slice %[[VALUES]]
// CHECK: attn.online_attention
// CHECK: return
func.func @dynamic_pages(%q: !q, %keys: tensor<?x2x?x16xf32>, %values: tensor<?x2x?x16xf32>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index, %acc: !q,
    %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : tensor<?x2x?x16xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values : tensor<?x2x?x16xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !q, !l, !l) at(%b, %h, %c0, %c0) queries(%c32)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Blocks of 4 keys would cost more.
// CHECK-LABEL: func.func @odd_pages(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x12x16xf32>, %[[VALUES:[^:]*]]: tensor<?x2x12x16xf32>, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[TABLE:[^:]*]]: tensor<?x?xi32>, %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index,
// CHECK-NOT: attn.cache_read
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c128
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (tensor<128x16xf32>)
// CHECK: tensor.extract_slice %[[KEYS]]
// CHECK: tensor.insert_slice
// CHECK: attn.online_attention
// CHECK: return
func.func @odd_pages(%q: !q, %keys: tensor<?x2x12x16xf32>, %values: tensor<?x2x12x16xf32>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index, %acc: !q,
    %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : tensor<?x2x12x16xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values : tensor<?x2x12x16xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !q, !l, !l) at(%b, %h, %c0, %c0) queries(%c32)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Keys and values of different types are read in place.
// CHECK-LABEL: func.func @other_types(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x24x16xf16>, %[[VALUES:[^:]*]]: tensor<?x2x24x16xf32>, %[[LENGTHS:[^:]*]]: tensor<?xi32>, %[[TABLE:[^:]*]]: tensor<?x?xi32>, %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[N:[^:]*]]: index,
// CHECK-NOT: attn.cache_read
// CHECK: tensor.extract_slice %[[KEYS]]
// CHECK: tensor.extract_slice %[[VALUES]]
// CHECK: return
func.func @other_types(%q: !q, %keys: tensor<?x2x24x16xf16>, %values: tensor<?x2x24x16xf32>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index, %acc: !q,
    %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : tensor<?x2x24x16xf16>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values : tensor<?x2x24x16xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !q, !l, !l) at(%b, %h, %c0, %c0) queries(%c32)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Of i8, and of a narrower float where queries are lanes, a block is converted. With
// queries of i8, it would not have to be, if they were few.
// INTEGERS: remark: multiplies keys of i8 as numbers of f32: there are more queries than a vector has lanes
// INTEGERS-NOT: remark: multiplies
// CHECK-LABEL: func.func @quantized(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x24x16xi8>, %[[VALUES:[^:]*]]: tensor<?x2x24x16xi8>, %[[KEY_SCALES:[^:]*]]: tensor<?x2x24xf32>, %[[VALUE_SCALES:[^:]*]]: tensor<?x2x24xf32>,
// CHECK-NOT: attn.cache_read
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c8
// CHECK: %[[PAGE:.*]] = arith.index_cast
// CHECK: %[[SCALES:.*]] = tensor.extract_slice %[[KEY_SCALES]][%[[PAGE]], %[[H:.*]], %[[ROW:[a-z0-9]*]]] [1, 1, %[[SIZE:[a-z0-9]*]]]
// CHECK: %[[ROWS:.*]] = tensor.extract_slice %[[KEYS]][%[[PAGE]], %[[H]], %[[ROW]], 0] [1, 1, %[[SIZE]], 16]
// CHECK: %[[KEY:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x16xi8>, tensor<?xf32>) outs(%{{.*}} : tensor<?x16xf32>)
// CHECK: tensor.extract_slice %[[VALUE_SCALES]]
// CHECK: %[[VALUE:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x16xi8>, tensor<?xf32>) outs(%{{.*}} : tensor<?x16xf32>)
// CHECK: attn.online_attention ins(%{{.*}}, %[[KEY]], %[[VALUE]] :
func.func @quantized(%q: !q, %keys: tensor<?x2x24x16xi8>, %values: tensor<?x2x24x16xi8>,
    %key_scales: tensor<?x2x24xf32>, %value_scales: tensor<?x2x24xf32>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index, %acc: !q,
    %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys, %key_scales : tensor<?x2x24x16xi8>, tensor<?x2x24xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values, %value_scales : tensor<?x2x24x16xi8>, tensor<?x2x24xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !q, !l, !l) at(%b, %h, %c0, %c0) queries(%c32)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// In rows, elements and scales are read where they lie.
// CHECK-LABEL: func.func @quantized_rows(
// CHECK-NOT: linalg.generic
// CHECK: attn.online_attention layout<rows> ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<3x16xf32>, tensor<?x16xi8>, tensor<?x16xi8>)
// CHECK-SAME: key_scales(%{{.*}} : tensor<?xf32>) value_scales(%{{.*}} : tensor<?xf32>)
func.func @quantized_rows(%q: tensor<3x16xf32>, %keys: tensor<?x2x24x16xi8>, %values: tensor<?x2x24x16xi8>,
    %key_scales: tensor<?x2x24xf32>, %value_scales: tensor<?x2x24xf32>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index, %acc: tensor<3x16xf32>,
    %m: tensor<16xf32>, %l: tensor<16xf32>) -> (tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys, %key_scales : tensor<?x2x24x16xi8>, tensor<?x2x24xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values, %value_scales : tensor<?x2x24x16xi8>, tensor<?x2x24xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention layout<rows> ins(%q, %k1, %v1 : tensor<3x16xf32>, !rows, !rows)
      outs(%acc, %m, %l : tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>) at(%b, %h, %c0, %c0) queries(%c3)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0, %r#1, %r#2 : tensor<3x16xf32>, tensor<16xf32>, tensor<16xf32>
}

// In pairs, floats of 8 bits are converted in the block.
// CHECK-LABEL: func.func @float8_pairs(
// CHECK: scf.for
// CHECK: %[[KEY:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<?x16xf8E4M3FN>) outs(%{{.*}} : tensor<?x16xbf16>)
// CHECK: attn.online_attention layout<pairs> ins(%{{.*}}, %[[KEY]], %[[KEY]] :
func.func @float8_pairs(%q: tensor<8x16x2xbf16>, %keys: tensor<?x2x32x16xf8E4M3FN>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index,
    %acc: tensor<16x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>)
    -> (tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : tensor<?x2x32x16xf8E4M3FN>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> tensor<?x2x?x16xbf16>
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : tensor<?x2x?x16xbf16> to tensor<1x1x?x16xbf16>
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : tensor<1x1x?x16xbf16> to tensor<?x16xbf16>
  %r:3 = attn.online_attention layout<pairs> ins(%q, %k1, %k1 : tensor<8x16x2xbf16>, tensor<?x16xbf16>, tensor<?x16xbf16>)
      outs(%acc, %m, %l : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) at(%b, %h, %c0, %c0) queries(%c3)
      exact(%no) {attn.plan = #attn.plan<layout = pairs, keys = 64>}
      -> tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0, %r#1, %r#2 : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>
}

// For matrix units, too.
// CHECK-LABEL: func.func @quantized_matrices(
// CHECK-NOT: linalg.generic
// CHECK: attn.online_attention layout<mma> ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<16x16xf32>, tensor<?x16xi8>, tensor<?x16xi8>)
// CHECK-SAME: key_scales(%{{.*}} : tensor<?xf32>) value_scales(%{{.*}} : tensor<?xf32>)
func.func @quantized_matrices(%q: tensor<16x16xf32>, %keys: tensor<?x2x24x16xi8>, %values: tensor<?x2x24x16xi8>,
    %key_scales: tensor<?x2x24xf32>, %value_scales: tensor<?x2x24xf32>,
    %lengths: !lengths, %table: !table, %b: index, %h: index, %n: index, %acc: tensor<16x16xf32>,
    %m: tensor<16xf32>, %l: tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys, %key_scales : tensor<?x2x24x16xi8>, tensor<?x2x24xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %v = attn.cache_read ins(%values, %value_scales : tensor<?x2x24x16xi8>, tensor<?x2x24xf32>) lengths(%lengths : !lengths)
      table(%table : !table)
      size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : !head to !rows
  %r:3 = attn.online_attention layout<mma> ins(%q, %k1, %v1 : tensor<16x16xf32>, !rows, !rows)
      outs(%acc, %m, %l : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>) at(%b, %h, %c0, %c0) queries(%c3)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0, %r#1, %r#2 : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>
}
