// RUN: attn-opt %s -attn-add-runtime-checks=most-rows=1000 -canonicalize | FileCheck %s
// RUN: attn-opt %s -attn-add-runtime-checks -canonicalize | FileCheck %s --check-prefix=ANY

// ANY-NOT: is more than

// CHECK-LABEL: func.func @attend
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x1x?x8xf32>
// CHECK: dimension 2 (query length) is not that of operand 'query'"
// CHECK: %[[QUERIES:.*]] = tensor.dim %[[Q]], %c2
// CHECK: %[[FEW:.*]] = arith.cmpi ule, %[[QUERIES]], %c1000
// CHECK: cf.assert %[[FEW]], "'attn.attention' op operand 'query': dimension 2 (query length) is more than 1000"
// CHECK: cf.assert {{.*}}operand 'key': dimension 2 (key/value length) is more than 1000"
// CHECK: cf.assert {{.*}}operand 'value': dimension 2 (key/value length) is more than 1000"
// CHECK: cf.assert {{.*}}operand 'output': dimension 2 (query length) is more than 1000"
// CHECK: attn.attention
func.func @attend(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>,
                  %v: tensor<1x1x?x8xf32>, %o: tensor<1x1x?x8xf32>)
    -> tensor<1x1x?x8xf32> {
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      outs(%o : tensor<1x1x?x8xf32>)
  return %r : tensor<1x1x?x8xf32>
}

// Sizes of types that are known are none to be checked.
// CHECK-LABEL: func.func @known
// CHECK-NOT: cf.assert
// CHECK: attn.attention
func.func @known(%q: tensor<1x1x4x8xf32>, %k: tensor<1x1x1000x8xf32>, %o: tensor<1x1x4x8xf32>)
    -> tensor<1x1x4x8xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x4x8xf32>, tensor<1x1x1000x8xf32>, tensor<1x1x1000x8xf32>)
      outs(%o : tensor<1x1x4x8xf32>)
  return %r : tensor<1x1x4x8xf32>
}

// CHECK-LABEL: func.func @long
// CHECK: cf.assert %false, {{.*}}dimension 2 (key/value length) is more than 1000"
func.func @long(%q: tensor<1x1x4x8xf32>, %k: tensor<1x1x1001x8xf32>, %o: tensor<1x1x4x8xf32>)
    -> tensor<1x1x4x8xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x4x8xf32>, tensor<1x1x1001x8xf32>, tensor<1x1x1001x8xf32>)
      outs(%o : tensor<1x1x4x8xf32>)
  return %r : tensor<1x1x4x8xf32>
}
