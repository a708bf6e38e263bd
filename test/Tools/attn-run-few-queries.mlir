// RUN: attn-run %s --random 1 --arg 1x2x1x16 --arg 1x2x40x16 --check | FileCheck %s
// RUN: attn-run %s --random 1 --arg 1x2x100x16 --arg 1x2x40x16 | FileCheck %s --check-prefix=MANY

// What one query needs is compiled before the call is measured.
// CHECK: compiled in {{[0-9.]+}} ms (parse {{.*}}, few queries {{[0-9.]+}})
// CHECK-NEXT: ran in
// CHECK: passed
// MANY: compiled in
// MANY-NOT: few queries
// MANY: ran in
func.func @f(%q: tensor<1x2x?x16xf32>, %k: tensor<1x2x?x16xf32>) -> tensor<1x2x?x16xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x2x?x16xf32>
  %e = tensor.empty(%n) : tensor<1x2x?x16xf32>
  %o = attn.attention ins(%q, %k, %k : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>,
      tensor<1x2x?x16xf32>) outs(%e : tensor<1x2x?x16xf32>)
  return %o : tensor<1x2x?x16xf32>
}
