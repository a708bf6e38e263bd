// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-fold-groups -attn-tile-attention -canonicalize | FileCheck %s
// RUN: not attn-opt %s -split-input-file --attn-target="{vector_bits = 512}" -attn-plan -attn-tile-attention 2>&1 | FileCheck %s --check-prefix=UNFOLDED

// Rows that are left after whole tiles are an op of their own, by the rest of the
// plan, on the same keys.
// CHECK-LABEL: func.func @rest
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 2, 32, 16]
// CHECK: scf.forall
// CHECK: attn.attention {{.*}} rows = 32
// CHECK-NOT: rest =
// CHECK: tensor.insert_slice %{{.*}}[0, 0, 0, 0] [1, 2, 32, 16]
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 32, 0] [1, 2, 1, 16]
// CHECK: scf.forall
// CHECK: attn.attention {{.*}} #attn.plan<layout = rows, heads = 33, rows = 1,
// CHECK: tensor.insert_slice %{{.*}}[0, 0, 32, 0] [1, 2, 1, 16]
// UNFOLDED: error: expected more rows than the 1 of the 'rest' of its attn.plan, got 1
func.func @rest(%q: tensor<1x66x1x16xf32>, %k: tensor<1x2x?x16xf32>)
    -> tensor<1x66x1x16xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<1x66x1x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
      outs(%q : tensor<1x66x1x16xf32>)
  return %r : tensor<1x66x1x16xf32>
}
