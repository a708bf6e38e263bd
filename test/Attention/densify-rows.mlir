// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 256}" -attn-plan -attn-densify-rows | FileCheck %s

// Tiles of 32 queries read the same keys and values.
// CHECK-LABEL: func.func @many
// CHECK: %[[ROWS:.*]]:2 = attn.dense_rows %arg1, %arg2 :
// CHECK: attn.attention ins(%arg0, %[[ROWS]]#0, %[[ROWS]]#1 :
func.func @many(%q: tensor<1x8x128x64xf32>, %k: tensor<1x4x256x64xf32>, %v: tensor<1x4x256x32xf32>, %o: tensor<1x8x128x32xf32>) -> tensor<1x8x128x32xf32> {
  %0 = attn.attention ins(%q, %k, %v : tensor<1x8x128x64xf32>, tensor<1x4x256x64xf32>, tensor<1x4x256x32xf32>) outs(%o : tensor<1x8x128x32xf32>)
  return %0 : tensor<1x8x128x32xf32>
}

// -----

// One tile has them all.
// CHECK-LABEL: func.func @one
// CHECK-NOT: attn.dense_rows
func.func @one(%q: tensor<1x8x32x64xf32>, %k: tensor<1x8x256x64xf32>, %v: tensor<1x8x256x64xf32>, %o: tensor<1x8x32x64xf32>) -> tensor<1x8x32x64xf32> {
  %0 = attn.attention ins(%q, %k, %v : tensor<1x8x32x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) outs(%o : tensor<1x8x32x64xf32>)
  return %0 : tensor<1x8x32x64xf32>
}

// -----

// How many there are is known when the kernel is called.
// CHECK-LABEL: func.func @any
// CHECK: %[[LENGTH:.*]] = tensor.dim %arg0, %c2
// CHECK: %[[MANY:.*]] = arith.cmpi sgt, %[[LENGTH]], %c32 : index
// CHECK: attn.dense_rows %arg1, %arg2 when(%[[MANY]]) :
func.func @any(%q: tensor<1x8x?x64xf32>, %k: tensor<1x8x?x64xf32>, %v: tensor<1x8x?x64xf32>, %o: tensor<1x8x?x64xf32>) -> tensor<1x8x?x64xf32> {
  %0 = attn.attention ins(%q, %k, %v : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>) outs(%o : tensor<1x8x?x64xf32>)
  return %0 : tensor<1x8x?x64xf32>
}

// -----

// Rows of a cache are where it has them.
// CHECK-LABEL: func.func @cache
// CHECK-NOT: attn.dense_rows
func.func @cache(%q: tensor<1x8x128x64xf32>, %k: tensor<1x8x256x64xf32>, %v: tensor<1x8x256x64xf32>, %n: tensor<1xi32>, %o: tensor<1x8x128x64xf32>) -> tensor<1x8x128x64xf32> {
  %0 = attn.cache_read ins(%k : tensor<1x8x256x64xf32>) lengths(%n : tensor<1xi32>) -> tensor<1x8x256x64xf32>
  %1 = attn.cache_read ins(%v : tensor<1x8x256x64xf32>) lengths(%n : tensor<1xi32>) -> tensor<1x8x256x64xf32>
  %2 = attn.attention ins(%q, %0, %1 : tensor<1x8x128x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) outs(%o : tensor<1x8x128x64xf32>)
  return %2 : tensor<1x8x128x64xf32>
}

// -----

!t = tensor<1x8x128x64xf32>

// Tiles of gradients read them, too.
// CHECK-LABEL: func.func @backward
// CHECK: %[[ROWS:.*]]:2 = attn.dense_rows %arg1, %arg2 :
// CHECK: attn.attention_backward ins(%arg0, %[[ROWS]]#0, %[[ROWS]]#1,
func.func @backward(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<1x8x128xf32>, %do: !t, %dq: !t, %dk: !t, %dv: !t) -> (!t, !t, !t) {
  %0:3 = attn.attention_backward ins(%q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, tensor<1x8x128xf32>, !t) outs(%dq, %dk, %dv : !t, !t, !t)
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
