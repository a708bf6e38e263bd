// RUN: attn-opt %s --attn-target=znver4 -attn-plan | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: attn-opt %s -attn-plan | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true, memory_ns = 128, memory_gbs = 16}" \
// RUN:   -attn-plan | FileCheck %s --check-prefixes=CHECK,NEAR

// Of few queries, keys and values stream by, and a block is as long as its products take
// beside reading it: of bf16, a byte is read for half a product of each row that shares
// the key, of f32 for a fourth. With less than one product, it is half a run of 4 KB,
// unless the memory has little under way. Of narrower vectors, less is done once for a
// block.

!q1 = tensor<1x8x1x128xbf16>
!k1 = tensor<1x8x?x128xbf16>
// CHECK-LABEL: func.func @own_keys
// WIDE: keys = 8,
// NARROW: keys = 8,
// NEAR: keys = 16,
func.func @own_keys(%q: !q1, %k: !k1) -> !q1 {
  %r = attn.attention ins(%q, %k, %k : !q1, !k1, !k1) outs(%q : !q1)
  return %r : !q1
}

!k2 = tensor<1x4x?x128xbf16>
// CHECK-LABEL: func.func @two_rows
// CHECK: keys = 16,
func.func @two_rows(%q: !q1, %k: !k2) -> !q1 {
  %r = attn.attention ins(%q, %k, %k : !q1, !k2, !k2) outs(%q : !q1)
  return %r : !q1
}

!k4 = tensor<1x2x?x128xbf16>
// CHECK-LABEL: func.func @four_rows
// WIDE: keys = 32,
// NARROW: keys = 16,
// NEAR: keys = 32,
func.func @four_rows(%q: !q1, %k: !k4) -> !q1 {
  %r = attn.attention ins(%q, %k, %k : !q1, !k4, !k4) outs(%q : !q1)
  return %r : !q1
}

!k8 = tensor<1x1x?x128xbf16>
// CHECK-LABEL: func.func @eight_rows
// WIDE: keys = 64,
// NARROW: keys = 32,
// NEAR: keys = 64,
func.func @eight_rows(%q: !q1, %k: !k8) -> !q1 {
  %r = attn.attention ins(%q, %k, %k : !q1, !k8, !k8) outs(%q : !q1)
  return %r : !q1
}

!f1 = tensor<1x8x1x128xf32>
!g1 = tensor<1x1x?x128xf32>
// CHECK-LABEL: func.func @eight_rows_f32
// WIDE: keys = 16,
// NARROW: keys = 8,
// NEAR: keys = 16,
func.func @eight_rows_f32(%q: !f1, %k: !g1) -> !f1 {
  %r = attn.attention ins(%q, %k, %k : !f1, !g1, !g1) outs(%q : !f1)
  return %r : !f1
}
