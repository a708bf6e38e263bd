// RUN: attn-opt %s -attn-plan | FileCheck %s
// RUN: attn-opt %s -attn-specialize-queries -attn-plan | FileCheck %s
// RUN: not attn-opt %s -attn-plan=workgroups 2>&1 | FileCheck %s --check-prefix=GPU

!k = tensor<?x2x?x64xf32>

// GPU: error: attn.plan: batch_invariant: is not of a GPU

// One order of sums for any number of queries: neither rows nor chunks, which
// few alone have.
// CHECK-LABEL: func.func @batch_invariant
// CHECK: attn.plan = #attn.plan<layout = lanes, heads = 4, rows = 4, {{.*}}, keys = 64, batch_invariant = true>
func.func @batch_invariant(%q: tensor<?x8x1x64xf32>, %k: !k) -> tensor<?x8x1x64xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x8x1x64xf32>, !k, !k)
      outs(%q : tensor<?x8x1x64xf32>) {attn.plan = #attn.plan<batch_invariant = true>}
  return %r : tensor<?x8x1x64xf32>
}
