// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-plan -attn-attention-to-online -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 512, bf16_dot = true}" -attn-plan -attn-attention-to-online -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 256}" -attn-plan -attn-attention-to-online -canonicalize -cse | FileCheck %s --check-prefix=EIGHT

!q = tensor<1x1x5x32xbf16>
!k = tensor<1x1x?x32xbf16>
!v = tensor<1x1x?x16xbf16>
!o = tensor<1x1x5x16xbf16>

// Five rows of queries and of results, and 16 lanes of scores. Keys and values
// are read as they are, whatever instructions there are.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x1x5x32xbf16>, %[[K:[^:]*]]: tensor<1x1x?x32xbf16>, %[[V:[^:]*]]: tensor<1x1x?x16xbf16>
// CHECK-NOT: scf.forall
// CHECK-NOT: linalg.pack
// CHECK-DAG: %[[KEYS:.*]] = tensor.extract_slice %[[K]][0, 0, 0, 0] [1, 1, %{{.*}}, 32] {{.*}} to tensor<?x32xbf16>
// CHECK-DAG: %[[VALUES:.*]] = tensor.extract_slice %[[V]][0, 0, 0, 0] [1, 1, %{{.*}}, 16] {{.*}} to tensor<?x16xbf16>
// CHECK-DAG: %[[O:.*]] = linalg.fill {{.*}} outs(%{{.*}} : tensor<5x16xf32>)
// CHECK-DAG: %[[L:.*]] = linalg.fill {{.*}} outs(%{{.*}} : tensor<16xf32>)
// CHECK: %[[R:.*]]:3 = attn.online_attention layout<rows>
// CHECK-SAME: ins(%{{.*}}, %[[KEYS]], %[[VALUES]] : tensor<5x32xf32>, tensor<?x32xbf16>, tensor<?x16xbf16>)
// CHECK-SAME: outs(%[[O]], %{{.*}}, %{{.*}} : tensor<5x16xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK-SAME: queries(%c5)
// CHECK-NOT: linalg.transpose
// CHECK: arith.divf
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %{{.*}}[0] [5] [1] : tensor<16xf32> to tensor<5xf32>
// CHECK: linalg.generic {{.*}} ins(%[[R]]#0, %[[FIRST]] : tensor<5x16xf32>, tensor<5xf32>)
// CHECK: arith.truncf
// CHECK: tensor.insert_slice {{.*}} into tensor<1x1x5x16xbf16>
// CHECK: math.log
// CHECK: tensor.insert_slice {{.*}} into tensor<1x1x5xf32>
// EIGHT-LABEL: func.func @rows
// EIGHT: attn.online_attention layout<rows> {{.*}} outs({{.*}} : tensor<5x16xf32>, tensor<8xf32>, tensor<8xf32>)
func.func @rows(%q: !q, %k: !k, %v: !v, %o: !o, %l: tensor<1x1x5xf32>,
                %s: tensor<1xf32>) -> (!o, tensor<1x1x5xf32>) {
  %r:2 = attn.attention ins(%q, %k, %v : !q, !k, !v)
      outs(%o, %l : !o, tensor<1x1x5xf32>) sink(%s : tensor<1xf32>) mask causal
  return %r#0, %r#1 : !o, tensor<1x1x5xf32>
}

// Not more rows than lanes.
// CHECK-LABEL: func.func @full
// CHECK: attn.online_attention layout<rows> {{.*}} outs({{.*}} : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>)
// EIGHT-LABEL: func.func @full
// EIGHT-NOT: layout<rows>
func.func @full(%q: tensor<1x1x16x32xf32>, %k: tensor<1x1x?x32xf32>)
    -> tensor<1x1x16x32xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x16x32xf32>, tensor<1x1x?x32xf32>, tensor<1x1x?x32xf32>)
      outs(%q : tensor<1x1x16x32xf32>)
  return %r : tensor<1x1x16x32xf32>
}

// CHECK-LABEL: func.func @too_many
// CHECK-NOT: layout<rows>
// EIGHT-LABEL: func.func @too_many
// EIGHT-NOT: layout<rows>
func.func @too_many(%q: tensor<1x1x17x32xf32>, %k: tensor<1x1x?x32xf32>)
    -> tensor<1x1x17x32xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x17x32xf32>, tensor<1x1x?x32xf32>, tensor<1x1x?x32xf32>)
      outs(%q : tensor<1x1x17x32xf32>)
  return %r : tensor<1x1x17x32xf32>
}

// Heads that end within a small vector, of keys or of values.
// CHECK-LABEL: func.func @key_size
// CHECK-NOT: layout<rows>
// EIGHT-LABEL: func.func @key_size
// EIGHT-NOT: layout<rows>
func.func @key_size(%q: tensor<1x1x5x22xf32>, %k: tensor<1x1x?x22xf32>,
                    %v: tensor<1x1x?x16xf32>, %o: tensor<1x1x5x16xf32>)
    -> tensor<1x1x5x16xf32> {
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x1x5x22xf32>, tensor<1x1x?x22xf32>, tensor<1x1x?x16xf32>)
      outs(%o : tensor<1x1x5x16xf32>)
  return %r : tensor<1x1x5x16xf32>
}
// CHECK-LABEL: func.func @value_size
// CHECK-NOT: layout<rows>
// EIGHT-LABEL: func.func @value_size
// EIGHT-NOT: layout<rows>
func.func @value_size(%q: tensor<1x1x5x16xf32>, %k: tensor<1x1x?x16xf32>,
                      %v: tensor<1x1x?x22xf32>, %o: tensor<1x1x5x22xf32>)
    -> tensor<1x1x5x22xf32> {
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x1x5x16xf32>, tensor<1x1x?x16xf32>, tensor<1x1x?x22xf32>)
      outs(%o : tensor<1x1x5x22xf32>)
  return %r : tensor<1x1x5x22xf32>
}

// Within a larger one, they are in rows.
// CHECK-LABEL: func.func @part
// CHECK: attn.online_attention layout<rows> ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<5x24xf32>, tensor<?x24xf32>, tensor<?x24xf32>)
// EIGHT-LABEL: func.func @part
// EIGHT: layout<rows>
func.func @part(%q: tensor<1x1x5x24xf32>, %k: tensor<1x1x?x24xf32>)
    -> tensor<1x1x5x24xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x5x24xf32>, tensor<1x1x?x24xf32>, tensor<1x1x?x24xf32>)
      outs(%q : tensor<1x1x5x24xf32>)
  return %r : tensor<1x1x5x24xf32>
}

// A number of queries that only has a bound: rows of no query are 0.
// CHECK-LABEL: func.func @bounded
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4x16xf32>)
// CHECK: %[[ROWS:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [%[[N:.*]], 16] [1, 1] : tensor<?x16xf32> into tensor<4x16xf32>
// CHECK: attn.online_attention layout<rows> ins(%[[ROWS]], {{.*}} queries(%[[N]])
// EIGHT-LABEL: func.func @bounded
func.func @bounded(%q: tensor<1x1x?x16xf32>, %k: tensor<1x1x?x16xf32>,
                   %n: index) -> tensor<1x1x?x16xf32> {
  %c4 = arith.constant 4 : index
  %m = affine.min affine_map<()[n] -> (n, 4)>()[%n]
  %s = tensor.extract_slice %q[0, 0, 0, 0] [1, 1, %m, 16] [1, 1, 1, 1]
      : tensor<1x1x?x16xf32> to tensor<1x1x?x16xf32>
  %r = attn.attention
      ins(%s, %k, %k : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>)
      outs(%s : tensor<1x1x?x16xf32>)
  return %r : tensor<1x1x?x16xf32>
}
