// RUN: attn-opt %s -attn-tile-keys -canonicalize | FileCheck %s

!q = tensor<16x32xf32>
!k = tensor<?x16xf32>
!l = tensor<32xf32>

// Without a mask: all keys.
// CHECK-LABEL: func.func @plain
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: scf.while
// CHECK: scf.for %[[J:.*]] = %c0 to %[[N]] step %c128 iter_args
// CHECK: %[[SIZE:.*]] = affine.min
// CHECK: tensor.extract_slice %{{.*}}[%[[J]], 0] [%[[SIZE]], 16]
// CHECK: attn.online_attention {{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %[[J]])
// CHECK: attn.all_finite
func.func @plain(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %n: index)
    -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// A causal mask ends the keys at the last position, and a result that is not
// finite is computed again.
// CHECK-LABEL: func.func @causal
// CHECK-SAME: %[[P:[^:]*]]: index)
// CHECK: scf.while ({{.*}}%[[EXACT:[^ ]*]] = %false) :
// CHECK: scf.for
// CHECK: attn.online_attention {{.*}} exact(%[[EXACT]])
// CHECK: %[[FINITE:.*]] = attn.all_finite
// CHECK: arith.ori %[[EXACT]], %[[FINITE]]
// CHECK: scf.condition
// CHECK: linalg.copy
// CHECK: scf.yield {{.*}}%true
func.func @causal(%q: !q, %k: !k, %acc: !q, %m: !l, %l: !l, %p: index)
    -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  %r:3 = attn.online_attention ins(%q, %k, %k : !q, !k, !k)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %p, %c0) queries(%c32)
      exact(%no) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    } {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Known positions give known bounds: keys 100 - 9 to 131, one block.
// CHECK-LABEL: func.func @static_window
// CHECK: scf.while
// CHECK-NOT: scf.for
// CHECK: tensor.extract_slice %{{.*}}[91, 0] [41, 16]
func.func @static_window(%q: !q, %k: tensor<1000x16xf32>, %acc: !q, %m: !l,
                         %l: !l) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c100 = arith.constant 100 : index
  %no = arith.constant false
  %r:3 = attn.online_attention
      ins(%q, %k, %k : !q, tensor<1000x16xf32>, tensor<1000x16xf32>)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c100, %c0) queries(%c32)
      exact(%no) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c9 = arith.constant 9 : index
      %low = arith.subi %i, %c9 : index
      %past = arith.cmpi sle, %j, %i : index
      %near = arith.cmpi sle, %low, %j : index
      %keep = arith.andi %past, %near : i1
      attn.yield %keep : i1
    } {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// Where a table that the mask reads has ranges of blocks, blocks of keys start
// where those do, and those that it hides at both ends are left out, four at a
// time and then one by one.
// CHECK-LABEL: func.func @aligned
// CHECK: %[[LOW:.*]]:2 = attn.block_range
// CHECK: %[[BEGIN:.*]] = arith.maxsi %{{.*}}, %c91
// CHECK: %[[REST:.*]] = arith.remui %[[BEGIN]], %c128
// CHECK: %[[ALIGNED:.*]] = arith.subi %[[BEGIN]], %[[REST]]
// CHECK: %[[FROM:.*]] = arith.maxsi %[[ALIGNED]], %c0
// CHECK: %[[START:.*]]:2 = scf.while (%[[AT:.*]] = %[[FROM]], %[[SIZE:.*]] = %c512)
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %[[SIZE]]
// CHECK: tensor.extract %[[LOW]]#0
// CHECK: scf.condition
// CHECK: %[[END:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %c512)
// CHECK: tensor.extract %[[LOW]]#0
// CHECK: scf.condition
// CHECK: %[[COUNT:.*]] = arith.subi %[[END]]#0, %[[START]]#0
// CHECK: tensor.extract_slice %{{.*}}[%[[START]]#0, 0] [%[[COUNT]], 16]
func.func @aligned(%q: !q, %k: tensor<1000x16xf32>, %acc: !q, %m: !l, %l: !l,
                   %t: tensor<1000xi1>, %o: tensor<8xi1>) -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c100 = arith.constant 100 : index
  %no = arith.constant false
  %low, %high = attn.block_range ins(%t : tensor<1000xi1>)
      outs(%o, %o : tensor<8xi1>, tensor<8xi1>) blocks [128]
      -> tensor<8xi1>, tensor<8xi1>
  %r:3 = attn.online_attention
      ins(%q, %k, %k : !q, tensor<1000x16xf32>, tensor<1000x16xf32>)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c100, %c0) queries(%c32)
      exact(%no) mask (%t : tensor<1000xi1>) {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %table: tensor<1000xi1>):
      %c9 = arith.constant 9 : index
      %first = arith.subi %i, %c9 : index
      %past = arith.cmpi sle, %j, %i : index
      %near = arith.cmpi sle, %first, %j : index
      %window = arith.andi %past, %near : i1
      %listed = tensor.extract %table[%j] : tensor<1000xi1>
      %keep = arith.andi %window, %listed : i1
      attn.yield %keep : i1
    } {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// In pairs, they start with a pack of values: at 64, not 91.
// CHECK-LABEL: func.func @pairs
// CHECK: scf.while
// CHECK-NOT: scf.for
// CHECK: tensor.extract_slice %{{.*}}[64, 0] [68, 16]
// CHECK: tensor.extract_slice %{{.*}}[2, 0, 0] [3, 16, 32]
// CHECK: attn.online_attention layout<pairs> packed_values {{.*}} at(%c0, %c0, %c100, %c64)
func.func @pairs(%q: tensor<8x32x2xbf16>, %k: tensor<1000x16xbf16>,
                 %v: tensor<32x16x32xbf16>, %acc: !q, %m: !l, %l: !l)
    -> (!q, !l, !l) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c100 = arith.constant 100 : index
  %no = arith.constant false
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x32x2xbf16>, tensor<1000x16xbf16>,
          tensor<32x16x32xbf16>)
      outs(%acc, %m, %l : !q, !l, !l) at(%c0, %c0, %c100, %c0) queries(%c32)
      exact(%no) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c9 = arith.constant 9 : index
      %low = arith.subi %i, %c9 : index
      %past = arith.cmpi sle, %j, %i : index
      %near = arith.cmpi sle, %low, %j : index
      %keep = arith.andi %past, %near : i1
      attn.yield %keep : i1
    } {attn.plan = #attn.plan<keys = 128>}
      -> !q, !l, !l
  return %r#0, %r#1, %r#2 : !q, !l, !l
}

// For matrix units, the exact round is a branch behind the loop. Where the scale can
// be part of the exponent, the first round is right only of bounded maxima.
// CHECK-LABEL: func.func @mma
// CHECK-NOT: scf.while
// CHECK: %[[FIRST:.*]]:3 = scf.for
// CHECK: attn.online_attention layout<mma> bounded {{.*}} exact(%false)
// CHECK: %[[FINITE:.*]] = attn.all_finite %[[FIRST]]#0
// CHECK: %[[BOUNDED:.*]] = attn.all_bounded %[[FIRST]]#1
// CHECK: %[[RIGHT:.*]] = arith.andi %[[FINITE]], %[[BOUNDED]]
// CHECK: %[[STATE:.*]]:3 = scf.if %[[RIGHT]]
// CHECK-NEXT: scf.yield %[[FIRST]]#0, %[[FIRST]]#1, %[[FIRST]]#2
// CHECK: else
// CHECK: %[[SECOND:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %arg2, %{{.*}} = %arg3, %{{.*}} = %arg4)
// CHECK: attn.online_attention layout<mma> ins{{.*}} exact(%true)
// CHECK: scf.yield %[[SECOND]]#0, %[[SECOND]]#1, %[[SECOND]]#2
// CHECK-NOT: attn.all_
// CHECK: return %[[STATE]]#0
func.func @mma(%q: tensor<32x16xf16>, %k: tensor<?x16xf16>, %acc: tensor<32x16xf32>,
               %m: !l, %l: !l, %n: index) -> (tensor<32x16xf32>, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %scale = arith.constant 0.125 : f32
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %k : tensor<32x16xf16>, tensor<?x16xf16>, tensor<?x16xf16>)
      outs(%acc, %m, %l : tensor<32x16xf32>, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) scale(%scale : f32) {attn.plan = #attn.plan<keys = 128>}
      -> tensor<32x16xf32>, !l, !l
  return %r#0, %r#1, %r#2 : tensor<32x16xf32>, !l, !l
}

// Of another scale, or where a score follows it, maxima do not matter.
// CHECK-LABEL: func.func @scale_of_call
// CHECK: attn.online_attention layout<mma> ins
// CHECK: %[[FINITE:.*]] = attn.all_finite
// CHECK-NEXT: scf.if %[[FINITE]]
// CHECK-NOT: bounded
// CHECK-LABEL: func.func @with_score
// CHECK: attn.online_attention layout<mma> ins
// CHECK: %[[FINITE:.*]] = attn.all_finite
// CHECK-NEXT: scf.if %[[FINITE]]
// CHECK-NOT: bounded
func.func @scale_of_call(%q: tensor<32x16xf16>, %k: tensor<?x16xf16>,
                         %acc: tensor<32x16xf32>, %m: !l, %l: !l, %n: index,
                         %scale: f32) -> (tensor<32x16xf32>, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %k : tensor<32x16xf16>, tensor<?x16xf16>, tensor<?x16xf16>)
      outs(%acc, %m, %l : tensor<32x16xf32>, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) scale(%scale : f32) {attn.plan = #attn.plan<keys = 128>}
      -> tensor<32x16xf32>, !l, !l
  return %r#0, %r#1, %r#2 : tensor<32x16xf32>, !l, !l
}
func.func @with_score(%q: tensor<32x16xf16>, %k: tensor<?x16xf16>,
                      %acc: tensor<32x16xf32>, %m: !l, %l: !l, %n: index)
    -> (tensor<32x16xf32>, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %scale = arith.constant 0.125 : f32
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %k : tensor<32x16xf16>, tensor<?x16xf16>, tensor<?x16xf16>)
      outs(%acc, %m, %l : tensor<32x16xf32>, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) scale(%scale : f32) score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %t = math.tanh %s : f32
      attn.yield %t : f32
    } {attn.plan = #attn.plan<keys = 128>}
      -> tensor<32x16xf32>, !l, !l
  return %r#0, %r#1, %r#2 : tensor<32x16xf32>, !l, !l
}
