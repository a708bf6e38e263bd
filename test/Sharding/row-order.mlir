// RUN: attn-opt %s --attn-shard="ranks=4 split=sequence" --canonicalize --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-shard="ranks=1 split=sequence" --canonicalize --split-input-file | FileCheck %s --check-prefix=ALONE

// In which order rows are split, by what is known of masks: in zig-zag order,
// spans have four numbers for each of two pieces.

// One rank has all rows, and nothing to choose.
// ALONE-NOT: attn.rank_block

// CHECK-LABEL: func @causal(
// CHECK-SAME: tensor<1x8x256x64xf32>
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x8xindex>)
!t = tensor<1x8x1024x64xf32>
func.func @causal(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t) mask causal
  return %o : !t
}

// -----

// Without the size.
// CHECK-LABEL: func @dynamic(
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x8xindex>)
!t = tensor<1x8x?x64xf32>
func.func @dynamic(%query: !t, %key: !t, %value: !t, %init: !t, %slopes: tensor<8xf32>) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      score alibi(%slopes : tensor<8xf32>) mask causal
  return %o : !t
}

// -----

// An offset that is not known moves all rows alike.
// CHECK-LABEL: func @offset(
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x8xindex>)
!t = tensor<1x8x?x64xf32>
func.func @offset(%query: !t, %key: !t, %value: !t, %init: !t, %offset: index) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      offset(%offset : index) mask causal
  return %o : !t
}

// -----

// Keys that are hidden behind a query, and not before it.
// CHECK-LABEL: func @future(
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x8xindex>)
!t = tensor<1x8x?x64xf32>
func.func @future(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      mask sliding_window(0, -1)
  return %o : !t
}

// -----

// Two pieces of 128 rows do not fit a quarter of the rows.
// CHECK-LABEL: func @odd(
// CHECK-SAME: tensor<1x8x255x64xf32>
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x4xindex>)
!t = tensor<1x8x1020x64xf32>
func.func @odd(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t) mask causal
  return %o : !t
}

// -----

// All rows have the same work.
// CHECK-LABEL: func @all(
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x4xindex>)
!t = tensor<1x8x?x64xf32>
func.func @all(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

// Two pieces need twice the rows of others.
// CHECK-LABEL: func @window(
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x4xindex>)
!t = tensor<1x8x1024x64xf32>
func.func @window(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      mask causal, sliding_window(127, 0)
  return %o : !t
}

// -----

// A window that no rank has all of is as good as none.
// CHECK-LABEL: func @wide(
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x8xindex>)
!t = tensor<1x8x1024x64xf32>
func.func @wide(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      mask causal, sliding_window(1000, 0)
  return %o : !t
}

// -----

// What is in tables may leave little work before a row.
// CHECK-LABEL: func @documents(
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x4xindex>)
!t = tensor<1x8x?x64xf32>
!d = tensor<1x?xi32>
func.func @documents(%query: !t, %key: !t, %value: !t, %init: !t, %of: !d) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      mask causal, document(%of, %of : !d, !d)
  return %o : !t
}

// -----

// CHECK-LABEL: func @packed(
// CHECK: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x4xindex>)
!t = tensor<1x8x?x64xf32>
!n = tensor<?xi32>
func.func @packed(%query: !t, %key: !t, %value: !t, %init: !t, %bounds: !n) -> !t {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      sequences(%bounds, %bounds : !n, !n) mask causal
  return %o : !t
}

// -----

// Both of a function are split in one order: where the causal one has most of
// the work.
// CHECK-LABEL: func @both(
// CHECK-COUNT-2: attn.rank_block {{.*}} spans(%{{.*}} : tensor<4x8xindex>)
!t = tensor<1x8x1024x64xf32>
func.func @both(%query: !t, %key: !t, %value: !t, %init: !t) -> (!t, !t) {
  %o = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t) mask causal
  %p = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init : !t)
      mask causal, sliding_window(63, 0)
  return %o, %p : !t, !t
}
