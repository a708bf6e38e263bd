// RUN: attn-opt %s -attn-cpu-pipeline -verify-diagnostics -o %t
// RUN: attn-run %s --random=1 --check --threads=2 2>&1 | FileCheck %s

// Regions that are computed position by position, in several tiles and blocks.
// CHECK: pipeline cpu
// CHECK: passed:
!q = tensor<1x2x70x16xf32>
!k = tensor<1x1x130x16xf32>
func.func @attention(%q: !q, %k: !k, %v: !k) -> !q {
  %o = tensor.empty() : !q
  %r = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
      // expected-remark @+2 {{the 'score' region is evaluated position by position: it has no vector form}}
      score(%s, %b, %h, %p, %j) {
        %t, %u = math.sincos %s : f32
        attn.yield %t : f32
      }
      mask causal
  return %r : !q
}
