// What a user plans is computed, and computed right.
// UNSUPPORTED: leaves-kernels

// DEFINE: %{plan} =
// DEFINE: %{type} = f32
// DEFINE: %{run} = sed 's/PLAN/%{plan}/; s/f32/%{type}/g' %s > %t.mlir \
// DEFINE:   && attn-run %t.mlir --random 1 --check | FileCheck %s

// REDEFINE: %{plan} = rows = 7, keys = 17
// RUN: %{run}
// REDEFINE: %{plan} = layout = lanes, heads = 1, rows = 1, keys = 1
// RUN: %{run}
// REDEFINE: %{plan} = rows = 100, lanes = 64, keys = 96
// RUN: %{run}
// REDEFINE: %{plan} = heads = 4, rows = 600, chunk = 256
// RUN: %{run}
// REDEFINE: %{type} = bf16
// RUN: %{run}
// REDEFINE: %{plan} = layout = lanes, rows = 33, keys = 40
// RUN: %{run}
// REDEFINE: %{type} = f32
// REDEFINE: %{plan} = layout = rows
// RUN: %{run}
// REDEFINE: %{plan} = layout = rows, rows = 8, keys = 24
// RUN: %{run}
// CHECK: passed

// REDEFINE: %{plan} = layout = rows, heads = 1
// RUN: sed 's/PLAN/%{plan}/' %s > %t.mlir
// RUN: not attn-run %t.mlir --random 1 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: attn-run-plan.mlir.tmp.mlir:{{[0-9]+}}:8: error: attn.plan: layout: expected few queries

// Few enough for tiles in rows on vectors of 8.
!q = tensor<2x8x29x32xf32>
!k = tensor<2x2x300x32xf32>

func.func @attend(%q: !q, %k: !k, %v: !k, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%o : !q)
      mask causal {attn.plan = #attn.plan<PLAN>}
  return %r : !q
}
