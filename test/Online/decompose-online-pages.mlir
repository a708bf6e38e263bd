// RUN: attn-opt %s -attn-tile-keys -canonicalize -cse \
// RUN:   | FileCheck %s --check-prefix=TILED
// RUN: attn-opt %s -attn-tile-keys -attn-decompose-online -canonicalize -cse \
// RUN:   | FileCheck %s

// Blocks in pairs on pages that are smaller than a pack: nothing is copied.

!q = tensor<32x16x2xbf16>
!o = tensor<64x16xf32>
!l = tensor<16xf32>
!cache = tensor<?x2x16x64xbf16>
!kv = tensor<?x2x?x64xbf16>
!head = tensor<1x1x?x64xbf16>
!rows = tensor<?x64xbf16>

// Blocks have the keys that they have without a cache, whose rows are those that
// are read.
// TILED-LABEL: func.func @pages(
// TILED: %[[READ:.*]] = attn.cache_read
// TILED: scf.for %{{.*}} = %c0 to %{{.*}} step %c64
// TILED-NOT: linalg.copy
// TILED: %[[K:.*]] = tensor.extract_slice %{{.*}}[%[[FIRST:.*]], 0] [%{{.*}}, 64] [1, 1]
// TILED: attn.online_attention layout<pairs> in_pages ins(%{{.*}}, %[[K]], %{{.*}}) {{.*}}at(%{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST]])

// The product of a page's keys begins at zero and fetches the values of the same
// positions.
// CHECK-LABEL: func.func @pages(
// CHECK-SAME: %{{[^:]*}}: {{[^:]*}}, %[[KEYS:[^:]*]]: tensor<?x2x16x64xbf16>, %[[VALUES:[^:]*]]: tensor<?x2x16x64xbf16>, %{{[^:]*}}: {{[^:]*}}, %[[TABLE:[^:]*]]: tensor<?x?xi32>,
// CHECK-NOT: attn.cache_read
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c64
// CHECK: scf.for %[[PAGE:.*]] = %{{.*}} to %{{.*}} step %c1
// CHECK: %[[SIZE:.*]] = affine.min #{{.*}}()[%{{.*}}]
// CHECK: tensor.extract %[[TABLE]]
// CHECK: tensor.extract_slice %[[KEYS]][%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, 1, %[[SIZE]], 64]
// CHECK: tensor.extract %[[TABLE]]
// CHECK: %[[V:.*]] = tensor.extract_slice %[[VALUES]][%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, 1, 16, 64]
// CHECK: %[[V0:.*]] = tensor.extract_slice %[[V]]
// CHECK: attn.prefetch %[[V0]][%c0] to %c16 spread
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK: attn.online_softmax
// A pack is the rows of two pages, transposed.
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tensor.extract_slice %[[VALUES]][%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, 1, 16, 64]
// CHECK: linalg.transpose ins(%{{.*}} : tensor<16x64xbf16>) outs(%{{.*}} : tensor<64x16xbf16>)
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [64, 16]
// CHECK: tensor.extract_slice %[[VALUES]][%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, 1, 16, 64]
// CHECK: linalg.transpose ins(%{{.*}} : tensor<16x64xbf16>) outs(%{{.*}} : tensor<64x16xbf16>)
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 16] [64, 16]
// The last pack is copied, with zeros.
// CHECK: } else {
// CHECK: linalg.fill
// CHECK: linalg.transpose ins(%{{.*}} : tensor<32x64xbf16>) outs(%{{.*}} : tensor<64x32xbf16>)
// The product with values fetches the four pages of keys of the next block.
// CHECK-COUNT-4: attn.prefetch %{{.*}}[%c0] to %c16 spread
// CHECK: linalg.generic
func.func @pages(%q: !q, %keys: !cache, %values: !cache, %lengths: tensor<?xi32>,
    %table: tensor<?x?xi32>, %b: index, %h: index, %n: index, %acc: !o, %m: !l,
    %l: !l) -> (!o, !l, !l) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %no = arith.constant false
  %k = attn.cache_read ins(%keys : !cache) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%n) -> !kv
  %v = attn.cache_read ins(%values : !cache) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%n) -> !kv
  %k0 = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 64] [1, 1, 1, 1] : !kv to !head
  %v0 = tensor.extract_slice %v[%b, %h, 0, 0] [1, 1, %n, 64] [1, 1, 1, 1] : !kv to !head
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 64] [1, 1, 1, 1] : !head to !rows
  %v1 = tensor.extract_slice %v0[0, 0, 0, 0] [1, 1, %n, 64] [1, 1, 1, 1] : !head to !rows
  %r:3 = attn.online_attention layout<pairs> ins(%q, %k1, %v1 : !q, !rows, !rows)
      outs(%acc, %m, %l : !o, !l, !l) at(%b, %h, %c0, %c0) queries(%c16)
      exact(%no) {attn.plan = #attn.plan<keys = 64, chunk = 1024>}
      -> !o, !l, !l
  return %r#0, %r#1, %r#2 : !o, !l, !l
}
