// RUN: attn-opt %s -attn-lower-merges | FileCheck %s

// CHECK-LABEL: func.func @merge
// CHECK-SAME: %[[O1:[^:]*]]: tensor<?x3x?x16xbf16>, %[[L1:[^:]*]]: tensor<?x3x?xf32>,
// CHECK-NOT: attn.merge
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[S:.*]], %[[D:.*]]) in (%{{.*}}, 3, %{{.*}}, 16)
// CHECK: tensor.extract %[[L1]][%[[B]], %[[H]], %[[S]]]
// CHECK: tensor.extract %[[O1]][%[[B]], %[[H]], %[[S]], %[[D]]]
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[S:.*]]) in (%{{.*}}, 3, %{{.*}})
// CHECK: tensor.extract %[[L1]][%[[B]], %[[H]], %[[S]]]
// CHECK-NOT: tensor.extract %[[O1]]
// CHECK: math.log
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

// Without a log-sum-exp, one loop.
// CHECK-LABEL: func.func @output
// CHECK: scf.forall
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @output(%o1: tensor<1x3x2x16xf32>, %l1: tensor<1x3x2xf32>,
                  %o: tensor<1x3x2x16xf32>) -> tensor<1x3x2x16xf32> {
  %r = attn.merge ins(%o1, %l1, %o1, %l1 : tensor<1x3x2x16xf32>,
      tensor<1x3x2xf32>, tensor<1x3x2x16xf32>, tensor<1x3x2xf32>)
      outs(%o : tensor<1x3x2x16xf32>)
  return %r : tensor<1x3x2x16xf32>
}
