// RUN: attn-opt %s -attn-print-blocks="query-length=70 key-length=300" -o /dev/null | FileCheck %s --check-prefix=NONE
// RUN: attn-opt %s -attn-plan=workgroups -attn-print-blocks="query-length=70 key-length=300" -o /dev/null | FileCheck %s

!q = tensor<1x2x?x128xf16>

// Blocks are those of the plan that an op has, whatever it was planned for.
// NONE: blocks of 32 queries (a line, by the position of the first) and 32 keys:
// CHECK: blocks of 128 queries (a line, by the position of the first) and 32 keys:
// CHECK: {{^}} 0 +++.......
// CHECK-NEXT: 0 full, 3 partial
func.func @causal(%q: !q, %k: !q, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !q, !q) outs(%o : !q) mask causal
  return %r : !q
}
