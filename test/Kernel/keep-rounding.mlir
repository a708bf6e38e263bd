// RUN: attn-opt %s -arith-emulate-unsupported-floats="source-types=bf16 target-type=f32" -canonicalize | FileCheck %s --check-prefix=UPSTREAM
// RUN: attn-opt %s -arith-emulate-unsupported-floats="source-types=bf16 target-type=f32" -attn-keep-rounding -canonicalize | FileCheck %s

// The sum is rounded before the product. Flags of other operations stay.
// UPSTREAM-LABEL: func.func @between
// UPSTREAM: %[[SUM:.*]] = arith.addf
// UPSTREAM-NEXT: arith.mulf %[[SUM]]
// CHECK-LABEL: func.func @between
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} fastmath<nnan> : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK: %[[FACTOR:.*]] = arith.extf %[[ROUNDED]] : bf16 to f32
// CHECK: arith.mulf %[[FACTOR]]
func.func @between(%a: bf16, %b: bf16) -> bf16 {
  %sum = arith.addf %a, %b fastmath<nnan> : bf16
  %product = arith.mulf %sum, %b : bf16
  return %product : bf16
}
