// RUN: attn-opt %s -attn-plan | FileCheck %s
// RUN: attn-opt %s --attn-target=znver4 -attn-plan | FileCheck %s
// RUN: not attn-opt %s -attn-plan=workgroups 2>&1 | FileCheck %s --check-prefix=GPU

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>

// What is said stays, and the rest follows from it.
// CHECK-LABEL: func.func @said
// CHECK: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 7, lanes = {{8|16}}, head_size = 64, keys = 24, chunk = 512>
// GPU: error: attn.plan: chunk: expected none of many queries on a GPU, got 512
func.func @said(%q: !q, %k: !k) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<rows = 7, keys = 24, chunk = 512>}
  return %r : !q
}
