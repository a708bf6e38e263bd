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

// -----

// What is asserted of a buffer's elements is asserted on the device.
// CHECK-LABEL: func.func @checks
// CHECK-SAME: %[[N:[a-z0-9]*]]: index, %[[X:[a-z0-9]*]]: memref<?xi64>
// CHECK: %[[POSITIVE:.*]] = arith.cmpi sgt, %[[N]]
// CHECK-NOT: memref.load
// CHECK: cf.assert %[[POSITIVE]]
// CHECK: gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c32,
// CHECK: %[[FIRST:.*]] = memref.load %[[X]][%{{.*}}]
// CHECK: %[[SMALL:.*]] = arith.cmpi slt, %[[FIRST]]
// CHECK: cf.assert %[[SMALL]], "first"
// CHECK: gpu.terminator
// CHECK: gpu.launch
// CHECK: scf.for
// CHECK: memref.load %[[X]]
// CHECK: cf.assert %{{.*}}, "each"
// CHECK: gpu.terminator
// CHECK-NOT: memref.load
// CHECK: return
func.func @checks(%n: index, %x: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %limit = arith.constant 100 : i64
  %first = memref.load %x[%c0] : memref<?xi64>
  %positive = arith.cmpi sgt, %n, %c0 : index
  cf.assert %positive, "host"
  %small = arith.cmpi slt, %first, %limit : i64
  cf.assert %small, "first"
  scf.for %i = %c0 to %n step %c1 {
    %element = memref.load %x[%i] : memref<?xi64>
    %below = arith.cmpi sle, %element, %first : i64
    cf.assert %below, "each"
  }
  return
}

// -----

// A value that the host needs cannot be loaded.
func.func @needed(%x: memref<?xindex>) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{runs on the host, which cannot access buffers of a GPU}}
  %n = memref.load %x[%c0] : memref<?xindex>
  %positive = arith.cmpi sgt, %n, %c0 : index
  cf.assert %positive, "n"
  return %n : index
}
