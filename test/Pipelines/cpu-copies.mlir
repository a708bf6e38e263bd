// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, scalef = true}" -attn-cpu-pipeline \
// RUN:   -mlir-print-ir-after=attn-vectorize-rows -o %t 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=memref.copy

// A tile of queries that may not be whole is computed in a buffer of its own. What
// of it exists is copied by vectors, as other rows are.
!x = tensor<1x8x100x64xf32>

// CHECK-LABEL: func.func @attention(
// CHECK: scf.forall
// CHECK: attn.online_softmax
// CHECK: %[[FROM:.*]] = memref.subview %{{.*}}[0, 0] [%{{.*}}, 64] {{.*}} : memref<32x64xf32> to
// CHECK: %[[TO:.*]] = memref.subview
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = vector.load %[[FROM]]
// CHECK-NEXT: vector.store %[[ROW]], %[[TO]]
func.func @attention(%q: !x, %k: !x, %v: !x) -> !x {
  %o = tensor.empty() : !x
  %r = attn.attention ins(%q, %k, %v : !x, !x, !x) outs(%o : !x) mask causal
  return %r : !x
}
