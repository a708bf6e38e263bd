// RUN: attn-opt %s -convert-forall-to-gpu -split-input-file -verify-diagnostics \
// RUN:   -mlir-print-local-scope | FileCheck %s

#lhs = affine_map<(q, j, d) -> (q, d)>
#rhs = affine_map<(q, j, d) -> (j, d)>
#out = affine_map<(q, j, d) -> (q, j)>
#contraction = {indexing_maps = [#lhs, #rhs, #out],
                iterator_types = ["parallel", "parallel", "reduction"]}

// The last loop is x. Products of 48 rows take three warps.
// CHECK-LABEL: func.func @loops
// CHECK-SAME: %[[N:[^:]*]]: index, %[[M:[^:]*]]: index,
// CHECK-DAG: %[[X:.*]] = affine.apply affine_map<()[s0] -> (s0 ceildiv 48)>()[%[[M]]]
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 96 : index
// CHECK: gpu.launch blocks(%[[BX:[^,]*]], %[[BY:[^,]*]], %{{[^)]*}}) in (%{{.*}} = %[[X]], %{{.*}} = %[[N]], %{{.*}} = %{{.*}}) threads({{.*}}) in (%{{.*}} = %[[THREADS]],
// CHECK-DAG: affine.apply affine_map<()[s0] -> (s0 * 48)>()[%[[BX]]]
// CHECK: vector.contract
// CHECK: gpu.terminator
// CHECK-NOT: scf.forall
func.func @loops(%n: index, %m: index, %x: vector<48x16xf16>,
                 %y: vector<16x16xf16>, %z: vector<48x16xf32>,
                 %out: memref<?x?xf32>) {
  scf.forall (%i, %j) = (0, 0) to (%n, %m) step (1, 48) {
    %s = vector.contract #contraction %x, %y, %z
        : vector<48x16xf16>, vector<16x16xf16> into vector<48x16xf32>
    %e = vector.extract %s[0, 0] : f32 from vector<48x16xf32>
    memref.store %e, %out[%i, %j] : memref<?x?xf32>
  }
  return
}

// -----

func.func @no_products(%n: index, %out: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{expected products of one number of rows that is a multiple of 16 in a tile for a GPU}}
  scf.forall (%i) in (%n) {
    memref.store %zero, %out[%i] : memref<?xf32>
  }
  return
}

// -----

func.func @host(%out: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{runs on the host, which cannot access buffers of a GPU}}
  linalg.fill ins(%zero : f32) outs(%out : memref<4xf32>)
  return
}
