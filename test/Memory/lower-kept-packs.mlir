// RUN: attn-opt %s -split-input-file -allow-unregistered-dialect -attn-lower-kept-packs -canonicalize -verify-diagnostics | FileCheck %s

// A tile packs what it reads unless the tile before it, on the same thread, was the
// same one.
// CHECK-LABEL: func.func @tile
// CHECK: scf.forall (%[[R:.*]], %{{.*}}) in
// CHECK: %[[PACKS:.*]] = memref.alloc() {alignment = 64 : i64, attn.kept} : memref<8x64x32xbf16>
// CHECK-NEXT: %[[STATE:.*]] = memref.alloc() {attn.kept} : memref<1xindex>
// CHECK-NEXT: memref.store %c-1, %[[STATE]][%c0]
// CHECK: %[[PACKED:.*]] = memref.load %[[STATE]][%c0]
// CHECK-NEXT: %[[SAME:.*]] = arith.cmpi eq, %[[PACKED]], %[[FIRST:.*]] : index
// CHECK-NEXT: memref.store %[[FIRST]], %[[STATE]][%c0]
// CHECK-NEXT: %[[FROM:.*]] = arith.select %[[SAME]], %[[END:.*]], %[[FIRST]]
// CHECK-NEXT: "test.use"(%[[PACKS]], %[[FROM]], %[[END]], %c8)
func.func @tile(%tiles: index, %n: index) {
  scf.forall (%r, %c) in (%tiles, 4) {
    %first = affine.apply affine_map<(d0) -> (d0 * 8)>(%r)
    %count = affine.min affine_map<(d0)[s0] -> (8, s0 - d0 * 8)>(%r)[%n]
    %packs, %from, %to, %capacity = attn.kept_packs [%first, %count] : memref<8x64x32xbf16>
    "test.use"(%packs, %from, %to, %capacity) : (memref<8x64x32xbf16>, index, index, index) -> ()
  }
  return
}

// -----

// The ring has room for twice as many packs as the tile reads. It begins anew for
// another head, and where what it has does not go on.
// CHECK-LABEL: func.func @ring
// CHECK-SAME: %[[MOST:[^:]*]]: index, %[[FIRSTS:[^:]*]]: memref<64xindex>
// CHECK: %[[SOME:.*]] = arith.maxsi %[[MOST]], %c1
// CHECK: %[[SIZE:.*]] = arith.addi %[[SOME]], %c1
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (2, 8, 64)
// CHECK: %[[FIRST:.*]] = memref.load %[[FIRSTS]][%[[I]]]
// CHECK: %[[RING:.*]] = memref.alloc(%[[SIZE]]) {alignment = 64 : i64, attn.kept} : memref<?x64x32xbf16>
// CHECK: %[[STATE:.*]] = memref.alloc() {attn.kept} : memref<5xindex>
// CHECK-NEXT: memref.store %c-1, %[[STATE]][%c2]
// CHECK: %[[CAPACITY:.*]] = memref.load %[[STATE]][%c2]
// CHECK: %[[LOW:.*]] = memref.load %[[STATE]][%c0]
// CHECK: %[[HIGH:.*]] = memref.load %[[STATE]][%c1]
// CHECK: arith.cmpi sge, %[[CAPACITY]], %c9
// CHECK: %[[BATCH:.*]] = memref.load %[[STATE]][%c3]
// CHECK: arith.cmpi eq, %[[BATCH]], %[[B]]
// CHECK: memref.store %[[B]], %[[STATE]][%c3]
// CHECK: %[[HEAD:.*]] = memref.load %[[STATE]][%c4]
// CHECK: arith.cmpi eq, %[[HEAD]], %[[H]]
// CHECK: memref.store %[[H]], %[[STATE]][%c4]
// CHECK: arith.cmpi sle, %[[FIRST]], %[[HIGH]]
// CHECK: arith.cmpi sle, %[[LOW]], %[[END:.*]] :
// CHECK: %[[NEW:.*]] = arith.minsi %[[SOME]], %c32
// CHECK: %[[ROOM:.*]] = arith.select %[[VALID:.*]], %[[CAPACITY]], %[[NEW]]
// CHECK: arith.select %[[VALID]], %[[LOW]], %[[FIRST]]
// CHECK: arith.select %[[VALID]], %[[HIGH]], %[[FIRST]]
// CHECK: %[[FROM:.*]] = arith.select
// CHECK: %[[TO:.*]] = arith.select
// CHECK: memref.store %{{.*}}, %[[STATE]][%c0]
// CHECK: memref.store %{{.*}}, %[[STATE]][%c1]
// CHECK: memref.store %[[ROOM]], %[[STATE]][%c2]
// CHECK: "test.use"(%[[RING]], %[[FROM]], %[[TO]], %[[ROOM]])
func.func @ring(%most: index, %firsts: memref<64xindex>) {
  %c9 = arith.constant 9 : index
  scf.forall (%b, %h, %i) in (2, 8, 64) {
    %first = memref.load %firsts[%i] : memref<64xindex>
    %packs, %from, %to, %capacity = attn.kept_packs [%first, %c9] of(%b, %h) most(%most) overlap 1
        : memref<?x64x32xbf16>
    "test.use"(%packs, %from, %to, %capacity) : (memref<?x64x32xbf16>, index, index, index) -> ()
  }
  return
}

// -----

func.func @late(%sizes: memref<8xindex>) {
  %c9 = arith.constant 9 : index
  scf.forall (%h, %i) in (8, 64) {
    %most = memref.load %sizes[%h] : memref<8xindex>
    // expected-error @below {{'attn.kept_packs' op operand 'most': expected a number that is computed before the parallel loops around it}}
    %packs, %from, %to, %capacity = attn.kept_packs [%i, %c9] of(%h) most(%most)
        : memref<?x64x32xbf16>
  }
  return
}

// -----

func.func @tensor(%first: index, %count: index) -> tensor<8x64x32xbf16> {
  // expected-error @below {{'attn.kept_packs' op expected a memref of packs; it must be bufferized first}}
  %packs, %from, %to, %capacity = attn.kept_packs [%first, %count] : tensor<8x64x32xbf16>
  return %packs : tensor<8x64x32xbf16>
}
