// RUN: attn-opt %s -split-input-file -attn-decompose-online -canonicalize -verify-diagnostics | FileCheck %s

!q = tensor<16x32xf32>
!k = tensor<100x16xf32>
!l = tensor<32xf32>

// CHECK-LABEL: func.func @plain
// CHECK-NOT: scf.if
// CHECK: linalg.matmul ins(%{{.*}} : tensor<100x16xf32>, tensor<16x32xf32>) outs(%{{.*}} : tensor<100x32xf32>)
// CHECK: tensor.insert_slice {{.*}} into tensor<104x32xf32>
// CHECK: attn.online_softmax outs({{.*}} : tensor<104x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
// CHECK-SAME: keys(%c100) partial(%false) defined(%true) exact(%false)
// CHECK: arith.mulf
// CHECK: linalg.matmul indexing_maps
// CHECK-NOT: attn.online_attention
func.func @plain(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %n: index)
    -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Nothing is known of the position: the verdict is code, of one comparison with each
// bound. Empty blocks are skipped; exact ones leave out hidden products.
// CHECK-LABEL: func.func @causal
// CHECK-NOT: arith.minsi
// CHECK-NOT: arith.maxsi
// CHECK: arith.cmpi sle
// CHECK: arith.cmpi slt
// CHECK-NOT: arith.cmpi
// CHECK: scf.if %{{.*}} -> (tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>) {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } else {
// CHECK: attn.online_softmax
// CHECK-SAME: partial(%{{[0-9]+}}) defined(%true) exact(%[[EXACT:.*]])
// CHECK: scf.if %[[EXACT]]
// CHECK: arith.bitcast
// CHECK: arith.select
// CHECK: } else {
// CHECK: linalg.matmul indexing_maps
func.func @causal(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %p: index,
                  %exact: i1) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %p, %c0) queries(%c32)
      exact(%exact) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    } -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Known positions: full, though there is a mask.
// CHECK-LABEL: func.func @full
// CHECK-NOT: scf.if
// CHECK: partial(%false) defined(%true)
func.func @full(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c200 = arith.constant 200 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c200, %c0) queries(%c32)
      exact(%no) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    } -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// CHECK-LABEL: func.func @scale
// CHECK-SAME: %[[SCALE:[a-z0-9]*]]: f32
// CHECK: attn.online_softmax
// CHECK-SAME: exact(%false) scale(%[[SCALE]] : f32)
func.func @scale(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %n: index,
                 %scale: f32) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) scale(%scale : f32) -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// A table of biases is inside its bounds or not, which only the run knows.
// CHECK-LABEL: func.func @bias
// CHECK: attn.online_softmax
// CHECK-SAME: partial(%false) defined(%{{[0-9]+}})
func.func @bias(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %p: index,
                %t: tensor<?x?xf32>) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %p, %c0) queries(%c32)
      exact(%no) score(%t : tensor<?x?xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<?x?xf32>):
      %x = tensor.extract %c[%i, %j] : tensor<?x?xf32>
      %y = arith.addf %s, %x : f32
      attn.yield %y : f32
    } -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Weights are dropped after they are summed, and before they are multiplied.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32, %[[LINE:[^:]*]]: index
// CHECK: %[[P:.*]]:4 = attn.online_softmax
// CHECK: %[[D:.*]] = attn.online_dropout outs(%[[P]]#0 : tensor<104x32xf32>) dropout(1.000000e-01, %[[SEED]], %[[CALL]], %[[LINE]]) at(%{{.*}}, %{{.*}}) keys(%c100) -> tensor<104x32xf32>
// CHECK: tensor.extract_slice %[[D]]
// CHECK: return %{{.*}}, %[[P]]#2
func.func @dropout(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %n: index,
                   %seed: i64, %call: i32, %line: index) -> (!q, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %n, %n) queries(%n)
      exact(%no) dropout(0.1, %seed, %call, %line) -> !q, !l, !l
  return %r#0, %r#2 : !q, !l
}

// -----

!q = tensor<16x32xf32>
!k = tensor<?x16xf32>
!l = tensor<32xf32>
func.func @unbounded(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %n: index)
    -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  // expected-error @below {{expected a constant bound of the number of keys: tile the keys first}}
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}
