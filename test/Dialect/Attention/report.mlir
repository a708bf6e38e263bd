// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -canonicalize | FileCheck %s --check-prefix=CANONICAL

// CHECK-LABEL: func.func @report
// CHECK: attn.report %{{.*}}, "op" with(%{{.*}}, %{{.*}}) as %{{.*}} of ["{0} of {1}", "{1}"] at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: attn.report %{{.*}}, "op" with() as %{{.*}} of ["nothing"]{{$}}
func.func @report(%failed: i1, %x: i64, %y: i64, %i: index) {
  attn.report %failed, "op" with(%x, %y) as %i of ["{0} of {1}", "{1}"]
      at(%i, %i, %i, %i)
  attn.report %failed, "op" with() as %i of ["nothing"]
  return
}

// What never fails goes.
// CANONICAL-LABEL: func.func @never
// CANONICAL-NEXT: return
func.func @never(%x: i64, %i: index) {
  %false = arith.constant false
  attn.report %false, "op" with(%x) as %i of ["{0}"]
  return
}
