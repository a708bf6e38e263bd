// RUN: attn-opt %s -split-input-file -attn-decompose-online -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s -split-input-file --attn-target="{memory_ns = 64}" -attn-decompose-online -canonicalize -cse | FileCheck %s --check-prefix=NEAR
// RUN: attn-opt %s -split-input-file --attn-target="{l3_ns = 80}" -attn-decompose-online -canonicalize -cse | FileCheck %s --check-prefix=FAR

!q = tensor<3x64xf32>
!keys = tensor<1x4x?x64xf16>
!block = tensor<32x64xf16>
!o = tensor<3x64xf32>
!l = tensor<16xf32>

// A head has one tile, so that its keys and values come from memory: the dots fetch
// values, and the product with values the next block's keys, 16000 bytes ahead, or a block
// where that is more.
// CHECK-LABEL: func.func @one_tile(
// CHECK-SAME: %{{[^:]*}}: tensor<3x64xf32>, %[[K:[^:]*]]: tensor<1x4x?x64xf16>, %[[V:[^:]*]]: tensor<1x4x?x64xf16>
// CHECK: scf.forall (%[[H:.*]]) in (4)
// CHECK: scf.for %[[J:[^ ]*]] = %c0 to %[[N:[^ ]*]] step %c32
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[V]][0, %[[H]], %[[J]], 0]
// CHECK: %[[LATER:.*]] = arith.addi %[[J]], %c32
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[LATER]], %[[N]]
// CHECK: %[[NEXT:.*]] = arith.select %[[EXISTS]], %[[LATER]], %[[J]]
// CHECK: %[[KEYS:.*]] = tensor.extract_slice %[[K]][0, %[[H]], %[[NEXT]], 0]
// CHECK: attn.prefetch %[[VALUES]][%c93] to %c125 spread : tensor<32x64xf16>
// CHECK: linalg.generic
// CHECK: attn.online_softmax
// CHECK: attn.prefetch %[[KEYS]][%c93] to %c125 spread : tensor<32x64xf16>
// CHECK: linalg.generic
// CHECK-NOT: attn.prefetch
// CHECK: return
// NEAR-LABEL: func.func @one_tile(
// NEAR: attn.prefetch %{{.*}}[%c0] to %c32 spread
// NEAR: attn.prefetch %{{.*}}[%c0] to %c32 spread
func.func @one_tile(%q: !q, %k: !keys, %v: !keys, %o: !o, %m: !l, %l: !l, %n: index,
                    %out: tensor<4x3x64xf32>) -> tensor<4x3x64xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %all = scf.forall (%h) in (4) shared_outs(%to = %out) -> tensor<4x3x64xf32> {
    %r:3 = scf.for %j = %c0 to %n step %c32 iter_args(%o0 = %o, %m0 = %m, %l0 = %l) -> (!o, !l, !l) {
      %keys = tensor.extract_slice %k[0, %h, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !keys to !block
      %values = tensor.extract_slice %v[0, %h, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !keys to !block
      %s:3 = attn.online_attention layout<rows> ins(%q, %keys, %values : !q, !block, !block)
          outs(%o0, %m0, %l0 : !o, !l, !l) at(%c0, %h, %c0, %j) queries(%c3)
          exact(%no) -> !o, !l, !l
      scf.yield %s#0, %s#1, %s#2 : !o, !l, !l
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#0 into %to[%h, 0, 0] [1, 3, 64] [1, 1, 1] : !o into tensor<4x3x64xf32>
    }
  }
  return %all : tensor<4x3x64xf32>
}

// -----

!q = tensor<3x64xf32>
!keys = tensor<1x4x?x64xf16>
!block = tensor<32x64xf16>
!o = tensor<3x64xf32>
!l = tensor<16xf32>

// Other tiles read the same, which stays in a cache.
// CHECK-LABEL: func.func @two_tiles(
// CHECK-NOT: attn.prefetch
// FAR-LABEL: func.func @two_tiles(
// FAR-NOT: attn.prefetch
func.func @two_tiles(%q: !q, %k: !keys, %v: !keys, %o: !o, %m: !l, %l: !l, %n: index,
                    %out: tensor<4x3x64xf32>) -> tensor<4x3x64xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %all = scf.forall (%h, %t) in (4, 2) shared_outs(%to = %out) -> tensor<4x3x64xf32> {
    %r:3 = scf.for %j = %c0 to %n step %c32 iter_args(%o0 = %o, %m0 = %m, %l0 = %l) -> (!o, !l, !l) {
      %keys = tensor.extract_slice %k[0, %h, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !keys to !block
      %values = tensor.extract_slice %v[0, %h, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !keys to !block
      %s:3 = attn.online_attention layout<rows> ins(%q, %keys, %values : !q, !block, !block)
          outs(%o0, %m0, %l0 : !o, !l, !l) at(%c0, %h, %c0, %j) queries(%c3)
          exact(%no) -> !o, !l, !l
      scf.yield %s#0, %s#1, %s#2 : !o, !l, !l
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#0 into %to[%h, 0, 0] [1, 3, 64] [1, 1, 1] : !o into tensor<4x3x64xf32>
    }
  }
  return %all : tensor<4x3x64xf32>
}

// -----

!q = tensor<24x64xf32>
!keys = tensor<1x4x?x64xf16>
!block = tensor<32x64xf16>
!o = tensor<24x64xf32>
!l = tensor<32xf32>

// But many rows take so long that it has left the cache, and values of the next block are
// fetched meanwhile.
// FAR-LABEL: func.func @many_rows(
// CHECK-LABEL: func.func @many_rows(
// CHECK-SAME: %{{[^:]*}}: tensor<24x64xf32>, %{{[^:]*}}: tensor<1x4x?x64xf16>, %[[V:[^:]*]]: tensor<1x4x?x64xf16>
// CHECK: scf.for %[[J:[^ ]*]] = %c0
// CHECK: %[[NEXT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[J]]
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[V]][0, %{{.*}}, %[[NEXT]], 0]
// CHECK-NOT: attn.prefetch
// CHECK: attn.online_softmax
// CHECK: attn.prefetch %[[VALUES]][%c0] to %c32 spread : tensor<32x64xf16>
// CHECK-NOT: attn.prefetch
// CHECK: return
func.func @many_rows(%q: !q, %k: !keys, %v: !keys, %o: !o, %m: !l, %l: !l, %n: index,
                    %out: tensor<4x24x64xf32>) -> tensor<4x24x64xf32> {
  %c0 = arith.constant 0 : index
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %all = scf.forall (%h, %t) in (4, 2) shared_outs(%to = %out) -> tensor<4x24x64xf32> {
    %r:3 = scf.for %j = %c0 to %n step %c32 iter_args(%o0 = %o, %m0 = %m, %l0 = %l) -> (!o, !l, !l) {
      %keys = tensor.extract_slice %k[0, %h, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !keys to !block
      %values = tensor.extract_slice %v[0, %h, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !keys to !block
      %s:3 = attn.online_attention layout<rows> ins(%q, %keys, %values : !q, !block, !block)
          outs(%o0, %m0, %l0 : !o, !l, !l) at(%c0, %h, %c0, %j) queries(%c24)
          exact(%no) -> !o, !l, !l
      scf.yield %s#0, %s#1, %s#2 : !o, !l, !l
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#0 into %to[%h, 0, 0] [1, 24, 64] [1, 1, 1] : !o into tensor<4x24x64xf32>
    }
  }
  return %all : tensor<4x24x64xf32>
}

// -----

!q = tensor<3x64xf32>
!pages = tensor<?x16x64xf16>
!block = tensor<16x64xf16>
!o = tensor<3x64xf32>
!l = tensor<16xf32>

// Blocks that are looked up do not follow each other: those are fetched, from the
// beginning on, that are as far ahead, of values 7 and of keys 8.
// CHECK-LABEL: func.func @pages(
// CHECK-SAME: %[[K:[^:]*]]: tensor<?x16x64xf16>, %[[V:[^:]*]]: tensor<?x16x64xf16>, %[[TABLE:[^:]*]]: tensor<?xi32>
// CHECK: scf.for %[[J:[^ ]*]] = %c0 to %{{.*}} step %c16
// CHECK: %[[LATER:.*]] = arith.addi %[[J]], %c112
// CHECK: %[[SEVENTH:.*]] = arith.select %{{.*}}, %[[LATER]], %[[J]]
// CHECK: arith.divui %[[SEVENTH]], %c16
// CHECK: tensor.extract %[[TABLE]]
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[V]]
// CHECK: arith.addi %[[J]], %c128
// CHECK: %[[KEYS:.*]] = tensor.extract_slice %[[K]]
// CHECK: attn.prefetch %[[VALUES]][%c0] to %c16 spread
// CHECK: attn.online_softmax
// CHECK: attn.prefetch %[[KEYS]][%c0] to %c16 spread

// Where little has to be under way, those of the block and of the next one.
// NEAR-LABEL: func.func @pages(
// NEAR-NOT: arith.constant 112 : index
// NEAR: attn.prefetch %{{.*}}[%c0] to %c16 spread
// NEAR: attn.prefetch %{{.*}}[%c0] to %c16 spread
func.func @pages(%q: !q, %k: !pages, %v: !pages, %table: tensor<?xi32>, %o: !o, %m: !l, %l: !l,
                 %n: index, %out: tensor<4x3x64xf32>) -> tensor<4x3x64xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %no = arith.constant false
  %all = scf.forall (%h) in (4) shared_outs(%to = %out) -> tensor<4x3x64xf32> {
    %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o0 = %o, %m0 = %m, %l0 = %l) -> (!o, !l, !l) {
      %number = arith.divui %j, %c16 : index
      %entry = tensor.extract %table[%number] : tensor<?xi32>
      %page = arith.index_cast %entry : i32 to index
      %keys = tensor.extract_slice %k[%page, 0, 0] [1, 16, 64] [1, 1, 1] : !pages to !block
      %values = tensor.extract_slice %v[%page, 0, 0] [1, 16, 64] [1, 1, 1] : !pages to !block
      %s:3 = attn.online_attention layout<rows> ins(%q, %keys, %values : !q, !block, !block)
          outs(%o0, %m0, %l0 : !o, !l, !l) at(%c0, %h, %c0, %j) queries(%c3)
          exact(%no) {attn.plan = #attn.plan<chunk = 1024>} -> !o, !l, !l
      scf.yield %s#0, %s#1, %s#2 : !o, !l, !l
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#0 into %to[%h, 0, 0] [1, 3, 64] [1, 1, 1] : !o into tensor<4x3x64xf32>
    }
  }
  return %all : tensor<4x3x64xf32>
}

// -----

!q = tensor<64x16xf32>
!fit = tensor<1x4x1536x64xf32>
!large = tensor<1x4x1537x64xf32>
!block = tensor<32x64xf32>
!o = tensor<64x16xf32>
!l = tensor<16xf32>
!all = tensor<2x64x16xf32>

// Two tiles read the same. Where that is more than the second-level cache holds beside
// others, the next block is fetched from the third if that is far.
// CHECK-LABEL: func.func @fits(
// CHECK-NOT: attn.prefetch
// CHECK-LABEL: func.func @leaves_l2(
// CHECK-NOT: attn.prefetch
// FAR-LABEL: func.func @fits(
// FAR-NOT: attn.prefetch
// FAR-LABEL: func.func @leaves_l2(
// FAR: attn.prefetch %{{.*}}[%c0] to %c32 spread
// FAR: linalg.matmul
// FAR: attn.prefetch %{{.*}}[%c0] to %c32 spread
func.func @fits(%k: !fit, %v: !fit, %q: !q, %o: !o, %m: !l, %l: !l, %n: index, %out: !all) -> !all {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %all = scf.forall (%t) in (2) shared_outs(%to = %out) -> !all {
    %r:3 = scf.for %j = %c0 to %n step %c32 iter_args(%o0 = %o, %m0 = %m, %l0 = %l) -> (!o, !l, !l) {
      %keys = tensor.extract_slice %k[0, 1, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !fit to !block
      %values = tensor.extract_slice %v[0, 1, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !fit to !block
      %s:3 = attn.online_attention layout<lanes> ins(%q, %keys, %values : !q, !block, !block)
          outs(%o0, %m0, %l0 : !o, !l, !l) at(%c0, %c0, %c0, %j) queries(%c16) exact(%no) -> !o, !l, !l
      scf.yield %s#0, %s#1, %s#2 : !o, !l, !l
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#0 into %to[%t, 0, 0] [1, 64, 16] [1, 1, 1] : !o into !all
    }
  }
  return %all : !all
}
func.func @leaves_l2(%k: !large, %v: !large, %q: !q, %o: !o, %m: !l, %l: !l, %n: index, %out: !all) -> !all {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %all = scf.forall (%t) in (2) shared_outs(%to = %out) -> !all {
    %r:3 = scf.for %j = %c0 to %n step %c32 iter_args(%o0 = %o, %m0 = %m, %l0 = %l) -> (!o, !l, !l) {
      %keys = tensor.extract_slice %k[0, 1, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !large to !block
      %values = tensor.extract_slice %v[0, 1, %j, 0] [1, 1, 32, 64] [1, 1, 1, 1] : !large to !block
      %s:3 = attn.online_attention layout<lanes> ins(%q, %keys, %values : !q, !block, !block)
          outs(%o0, %m0, %l0 : !o, !l, !l) at(%c0, %c0, %c0, %j) queries(%c16) exact(%no) -> !o, !l, !l
      scf.yield %s#0, %s#1, %s#2 : !o, !l, !l
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#0 into %to[%t, 0, 0] [1, 64, 16] [1, 1, 1] : !o into !all
    }
  }
  return %all : !all
}
