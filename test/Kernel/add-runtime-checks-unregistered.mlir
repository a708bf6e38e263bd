// RUN: attn-opt %s --allow-unregistered-dialect --attn-add-runtime-checks \
// RUN:   | FileCheck %s

// An operation of no known dialect is passed over; what is in it is not.
// CHECK-LABEL: func.func @unregistered(
// CHECK: "other.op"()
// CHECK: cf.assert {{.*}}division by zero
// CHECK: arith.divui
func.func @unregistered(%x: i32, %y: i32) {
  "other.op"() ({
    %q = arith.divui %x, %y : i32
    "other.end"(%q) : (i32) -> ()
  }) : () -> ()
  return
}
