// RUN: attn-opt %s -attn-lower-packs | FileCheck %s

// CHECK-DAG: #[[ROW:.*]] = affine_map<()[s0] -> (s0 * 32)>
// CHECK-DAG: #[[NEXT_ROW:.*]] = affine_map<()[s0] -> (s0 * 32 + 32)>
// CHECK-DAG: #[[NEXT_END:.*]] = affine_map<()[s0] -> ((s0 + 2) * 32, 64)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<()[s0] -> (32, s0 * -32 + 65)>

// Each pack is 32 rows, transposed. Those of the next one are fetched.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: %[[V:[^:]*]]: tensor<2x3x64x16xbf16>, %[[INIT:[^:]*]]: tensor<2x3x2x16x32xbf16>
// CHECK-NOT: linalg.pack
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 3, 2) shared_outs(%[[OUT:.*]] = %[[INIT]])
// CHECK: %[[END:.*]] = affine.min #[[NEXT_END]]()[%[[T]]]
// CHECK: %[[FIRST:.*]] = affine.apply #[[NEXT_ROW]]()[%[[T]]]
// CHECK: attn.prefetch %[[V]][%[[B]], %[[H]], %[[FIRST]]] to %[[END]] : tensor<2x3x64x16xbf16>
// CHECK: %[[J:.*]] = affine.apply #[[ROW]]()[%[[T]]]
// CHECK: %[[TO:.*]] = tensor.extract_slice %[[OUT]][%[[B]], %[[H]], %[[T]], 0, 0] [1, 1, 1, 16, 32] {{.*}} to tensor<16x32xbf16>
// CHECK: %[[ROWS32:.*]] = tensor.extract_slice %[[V]][%[[B]], %[[H]], %[[J]], 0] [1, 1, 32, 16] {{.*}} to tensor<32x16xbf16>
// CHECK-NOT: linalg.fill
// CHECK: %[[P:.*]] = linalg.transpose ins(%[[ROWS32]] : {{.*}}) outs(%[[TO]] : {{.*}}) permutation = [1, 0]
// CHECK: tensor.parallel_insert_slice %[[P]] into %[[OUT]][%[[B]], %[[H]], %[[T]], 0, 0] [1, 1, 1, 16, 32]
func.func @whole(%v: tensor<2x3x64x16xbf16>, %o: tensor<2x3x2x16x32xbf16>)
    -> tensor<2x3x2x16x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %r = linalg.pack %v padding_value(%zero : bf16) inner_dims_pos = [2]
      inner_tiles = [32] into %o
      : tensor<2x3x64x16xbf16> -> tensor<2x3x2x16x32xbf16>
  return %r : tensor<2x3x2x16x32xbf16>
}

// What is after the last row is the padding.
// CHECK-LABEL: func.func @ragged
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[T:.*]]) in (2, 3, 3)
// CHECK: %[[N:.*]] = affine.min #[[ROWS]]()[%[[T]]]
// CHECK: %[[WHOLE:.*]] = arith.cmpi eq, %[[N]], %c32
// CHECK: scf.if %[[WHOLE]]
// CHECK: %[[ROWS32:.*]] = tensor.extract_slice {{.*}} to tensor<32x16xbf16>
// CHECK: linalg.transpose ins(%[[ROWS32]] :
// CHECK: } else {
// CHECK: %[[FILL:.*]] = linalg.fill ins(%[[ZERO]] : bf16) outs(%{{.*}} : tensor<32x16xbf16>)
// CHECK: %[[ROWSN:.*]] = tensor.extract_slice {{.*}} [1, 1, %[[N]], 16] {{.*}} to tensor<?x16xbf16>
// CHECK: %[[PADDED:.*]] = tensor.insert_slice %[[ROWSN]] into %[[FILL]][0, 0] [%[[N]], 16]
// CHECK: linalg.transpose ins(%[[PADDED]] : tensor<32x16xbf16>)
func.func @ragged(%v: tensor<2x3x65x16xbf16>, %o: tensor<2x3x3x16x32xbf16>)
    -> tensor<2x3x3x16x32xbf16> {
  %zero = arith.constant 0.0 : bf16
  %r = linalg.pack %v padding_value(%zero : bf16) inner_dims_pos = [2]
      inner_tiles = [32] into %o
      : tensor<2x3x65x16xbf16> -> tensor<2x3x3x16x32xbf16>
  return %r : tensor<2x3x3x16x32xbf16>
}

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[V:[^:]*]]: tensor<?x16xf16>, %[[INIT:[^:]*]]: tensor<?x16x8xf16>
// CHECK: %[[PACKS:.*]] = tensor.dim %[[INIT]], %c0
// CHECK: scf.forall (%[[T:.*]]) in (%[[PACKS]])
// CHECK: %[[S:.*]] = tensor.dim %[[V]], %c0
// CHECK: attn.prefetch %[[V]]
// CHECK: affine.min {{.*}}()[%[[T]], %{{.*}}]
// CHECK: linalg.fill
// CHECK: linalg.transpose ins(%{{.*}} : tensor<8x16xf16>) outs(%{{.*}} : tensor<16x8xf16>)
func.func @dynamic(%v: tensor<?x16xf16>, %o: tensor<?x16x8xf16>)
    -> tensor<?x16x8xf16> {
  %zero = arith.constant 0.0 : f16
  %r = linalg.pack %v padding_value(%zero : f16) inner_dims_pos = [0]
      inner_tiles = [8] into %o : tensor<?x16xf16> -> tensor<?x16x8xf16>
  return %r : tensor<?x16x8xf16>
}

// A tile packs a block of its own, one after the other.
// CHECK-LABEL: func.func @block
// CHECK-NOT: attn.prefetch
// CHECK: scf.forall
// CHECK: %[[R:.*]] = scf.for %[[T:.*]] = %c0{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[OUT:.*]] = %{{.*}}) -> (tensor<?x16x8xf16>)
// CHECK: scf.if
// CHECK: linalg.transpose ins(%{{.*}} : tensor<8x16xf16>)
// CHECK: tensor.insert_slice %{{.*}} into %[[OUT]][%[[T]], 0, 0] [1, 16, 8]
func.func @block(%v: tensor<?x16xf16>, %n: index, %o: tensor<?x?x16x8xf16>)
    -> tensor<?x?x16x8xf16> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f16
  %packs = tensor.dim %o, %c1 : tensor<?x?x16x8xf16>
  %r = scf.forall (%i) in (%n) shared_outs(%out = %o) -> tensor<?x?x16x8xf16> {
    %to = tensor.extract_slice %out[%i, 0, 0, 0] [1, %packs, 16, 8] [1, 1, 1, 1]
        : tensor<?x?x16x8xf16> to tensor<?x16x8xf16>
    %p = linalg.pack %v padding_value(%zero : f16) inner_dims_pos = [0]
        inner_tiles = [8] into %to : tensor<?x16xf16> -> tensor<?x16x8xf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %out[%i, 0, 0, 0]
          [1, %packs, 16, 8] [1, 1, 1, 1]
          : tensor<?x16x8xf16> into tensor<?x?x16x8xf16>
    }
  }
  return %r : tensor<?x?x16x8xf16>
}

// Packs of columns, of both, of rows of any size, and without padding.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: linalg.pack
// CHECK-NOT: scf.forall
func.func @others(%v: tensor<64x16xf32>, %columns: tensor<64x2x8xf32>,
                  %both: tensor<2x2x32x8xf32>, %any: tensor<64x?xf32>,
                  %of_any: tensor<2x?x32xf32>, %rows: tensor<2x16x32xf32>)
    -> (tensor<64x2x8xf32>, tensor<2x2x32x8xf32>, tensor<2x?x32xf32>,
        tensor<2x16x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %a = linalg.pack %v padding_value(%zero : f32) inner_dims_pos = [1]
      inner_tiles = [8] into %columns : tensor<64x16xf32> -> tensor<64x2x8xf32>
  %b = linalg.pack %v padding_value(%zero : f32) inner_dims_pos = [0, 1]
      inner_tiles = [32, 8] into %both : tensor<64x16xf32> -> tensor<2x2x32x8xf32>
  %c = linalg.pack %any padding_value(%zero : f32) inner_dims_pos = [0]
      inner_tiles = [32] into %of_any : tensor<64x?xf32> -> tensor<2x?x32xf32>
  %d = linalg.pack %v inner_dims_pos = [0] inner_tiles = [32] into %rows
      : tensor<64x16xf32> -> tensor<2x16x32xf32>
  return %a, %b, %c, %d : tensor<64x2x8xf32>, tensor<2x2x32x8xf32>,
      tensor<2x?x32xf32>, tensor<2x16x32xf32>
}
