// RUN: attn-opt %s --attn-target="{vector_bits = 512, bf16_dot = true, bf16_tiles = true}" -attn-plan -attn-pad-heads -canonicalize | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 512, bf16_dot = true}" -attn-plan -attn-pad-heads -canonicalize | FileCheck %s --check-prefix=TWO

!q = tensor<?x4x?x80xbf16>
!kv = tensor<?x2x?x80xbf16>

// Rows of 80 elements and 16 zeros; the scale is still that of 80. Values stay.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x?x80xbf16>, %[[K:[^:]*]]: tensor<?x2x?x80xbf16>, %[[V:[^:]*]]: tensor<?x2x?x80xbf16>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: %[[QUERY:.*]] = scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) = (0, 0, 0) to (%{{.*}}, 4, %[[LENGTH:.*]]) step (1, 1, 256) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<?x4x?x96xbf16>)
// CHECK:   %[[N:.*]] = affine.min #{{.*}}[%[[I]], %[[LENGTH]]]
// CHECK-DAG: %[[ROWS:.*]] = tensor.extract_slice %[[Q]][%[[B]], %[[H]], %[[I]], 0] [1, 1, %[[N]], 80]
// CHECK-DAG: %[[TO:.*]] = tensor.extract_slice %[[OUT]][%[[B]], %[[H]], %[[I]], 0] [1, 1, %[[N]], 96]
// CHECK:   %[[REST:.*]] = tensor.extract_slice %[[TO]][0, 0, 0, 80] [1, 1, %[[N]], 16]
// CHECK:   %[[ZEROS:.*]] = linalg.fill ins(%[[ZERO]] : bf16) outs(%[[REST]]
// CHECK:   %[[FILLED:.*]] = tensor.insert_slice %[[ZEROS]] into %[[TO]][0, 0, 0, 80]
// CHECK:   %[[FIRST:.*]] = tensor.extract_slice %[[FILLED]][0, 0, 0, 0] [1, 1, %[[N]], 80]
// CHECK:   linalg.copy ins(%[[ROWS]] : {{.*}}) outs(%[[FIRST]]
// CHECK: %[[KEY:.*]] = scf.forall {{.*}} -> (tensor<?x2x?x96xbf16>)
// CHECK: attn.attention ins(%[[QUERY]], %[[KEY]], %[[V]] : tensor<?x4x?x96xbf16>, tensor<?x2x?x96xbf16>, tensor<?x2x?x80xbf16>)
// CHECK-SAME: scale(0.111803{{[0-9]*}})
// TWO-LABEL: func.func @rows
// TWO-NOT: scf.forall
func.func @rows(%q: !q, %k: !kv, %v: !kv, %o: !q) -> !q {
  %r = attn.attention ins(%q, %k, %v : !q, !kv, !kv) outs(%o : !q) mask causal
  return %r : !q
}

// CHECK-LABEL: func.func @scale
// CHECK: attn.attention {{.*}} scale(%{{.*}} : f32)
// TWO-LABEL: func.func @scale
// TWO: attn.attention ins({{.*}} : tensor<1x1x4x18xbf16>, tensor<1x1x4x18xbf16>, tensor<1x1x4x8xbf16>)
func.func @scale(%q: tensor<1x1x4x17xbf16>, %k: tensor<1x1x4x17xbf16>,
                 %v: tensor<1x1x4x8xbf16>, %o: tensor<1x1x4x8xbf16>,
                 %s: f32) -> tensor<1x1x4x8xbf16> {
  %r = attn.attention ins(%q, %k, %v : tensor<1x1x4x17xbf16>,
                          tensor<1x1x4x17xbf16>, tensor<1x1x4x8xbf16>)
      outs(%o : tensor<1x1x4x8xbf16>) scale(%s : f32)
  return %r : tensor<1x1x4x8xbf16>
}

// Other types, and sizes that need nothing.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.forall
func.func @others(%q: tensor<1x1x4x64xbf16>, %o: tensor<1x1x4x64xbf16>,
                  %x: tensor<1x1x4x17xf32>, %y: tensor<1x1x4x17xf32>)
    -> (tensor<1x1x4x64xbf16>, tensor<1x1x4x17xf32>) {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x4x64xbf16>,
                          tensor<1x1x4x64xbf16>, tensor<1x1x4x64xbf16>)
      outs(%o : tensor<1x1x4x64xbf16>)
  %s = attn.attention ins(%x, %x, %x : tensor<1x1x4x17xf32>,
                          tensor<1x1x4x17xf32>, tensor<1x1x4x17xf32>)
      outs(%y : tensor<1x1x4x17xf32>)
  return %r, %s : tensor<1x1x4x64xbf16>, tensor<1x1x4x17xf32>
}

// Few queries with heads of whole vectors are computed without pairs.
// CHECK-LABEL: func.func @few
// CHECK-NOT: scf.forall
// CHECK: attn.attention ins({{.*}} : tensor<?x2x4x80xbf16>, tensor<?x2x?x80xbf16>, tensor<?x2x?x80xbf16>)
// CHECK: return
func.func @few(%q: tensor<?x2x4x80xbf16>, %k: !kv) -> tensor<?x2x4x80xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x2x4x80xbf16>, !kv, !kv)
      outs(%q : tensor<?x2x4x80xbf16>)
  return %r : tensor<?x2x4x80xbf16>
}

// Not more than half a vector of those that end within one, nor more than it has lanes.
// CHECK-LABEL: func.func @few_of_72
// CHECK-COUNT-2: scf.forall
// CHECK: attn.attention ins({{.*}} : tensor<1x2x9x96xbf16>, tensor<1x2x9x96xbf16>, tensor<1x2x9x72xbf16>)
func.func @few_of_72(%q: tensor<1x2x9x72xbf16>, %k: tensor<1x2x9x72xbf16>)
    -> tensor<1x2x9x72xbf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x2x9x72xbf16>, tensor<1x2x9x72xbf16>, tensor<1x2x9x72xbf16>)
      outs(%q : tensor<1x2x9x72xbf16>)
  return %r : tensor<1x2x9x72xbf16>
}
// CHECK-LABEL: func.func @seventeen
// CHECK-COUNT-2: scf.forall
// CHECK: attn.attention
func.func @seventeen(%q: tensor<?x2x17x80xbf16>, %k: !kv)
    -> tensor<?x2x17x80xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x2x17x80xbf16>, !kv, !kv)
      outs(%q : tensor<?x2x17x80xbf16>)
  return %r : tensor<?x2x17x80xbf16>
}
