// RUN: attn-opt %s -attn-lower-merges | FileCheck %s

// CHECK-LABEL: func.func @merge
// CHECK-SAME: %[[O1:[^:]*]]: tensor<?x3x?x16xbf16>, %[[L1:[^:]*]]: tensor<?x3x?xf32>,
// CHECK-NOT: attn.merge
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[O1]], %[[L1]], %{{.*}}, %{{.*}} :
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[L1]], %{{.*}} : tensor<?x3x?xf32>, tensor<?x3x?xf32>) outs(%{{.*}} : tensor<?x3x?xf32>)
// CHECK: math.log
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @merge(%o1: tensor<?x3x?x16xbf16>, %l1: tensor<?x3x?xf32>,
                 %o2: tensor<?x3x?x16xbf16>, %l2: tensor<?x3x?xf32>,
                 %o: tensor<?x3x?x16xbf16>, %l: tensor<?x3x?xf32>)
    -> (tensor<?x3x?x16xbf16>, tensor<?x3x?xf32>) {
  %r:2 = attn.merge ins(%o1, %l1, %o2, %l2 : tensor<?x3x?x16xbf16>,
      tensor<?x3x?xf32>, tensor<?x3x?x16xbf16>, tensor<?x3x?xf32>)
      outs(%o, %l : tensor<?x3x?x16xbf16>, tensor<?x3x?xf32>)
  return %r#0, %r#1 : tensor<?x3x?x16xbf16>, tensor<?x3x?xf32>
}

// Without a log-sum-exp, one operation.
// CHECK-LABEL: func.func @output
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @output(%o1: tensor<1x3x2x16xf32>, %l1: tensor<1x3x2xf32>,
                  %o: tensor<1x3x2x16xf32>) -> tensor<1x3x2x16xf32> {
  %r = attn.merge ins(%o1, %l1, %o1, %l1 : tensor<1x3x2x16xf32>,
      tensor<1x3x2xf32>, tensor<1x3x2x16xf32>, tensor<1x3x2xf32>)
      outs(%o : tensor<1x3x2x16xf32>)
  return %r : tensor<1x3x2x16xf32>
}
