// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, i8_dot = true}" -attn-vectorize-contractions \
// RUN:   -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 256, vector_registers = 16, i8_dot = true}" -attn-vectorize-contractions \
// RUN:   -canonicalize -cse | FileCheck %s --check-prefix=AVX2
// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE
// RUN: attn-opt %s --attn-target="{vector_bits = 128, vector_registers = 16, i8_dot = true}" -attn-vectorize-contractions 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE
// NONE: remark: not computed in vector registers:
// NONE: linalg.generic

// Four products in a lane. Elements of A have 128 added by changing their sign bit; 128
// times the sums of the rows of B are computed once, and subtracted from all of 16 sums.
// CHECK-LABEL: func.func @scores(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x128xi8, {{.*}}>, %[[Q:[^:]*]]: memref<4x128xi8>, %[[S:[^:]*]]: memref<?x4xi32, {{.*}}>)
// CHECK-DAG: %[[BIAS:.*]] = arith.constant dense<-128> : vector<64xi8>
// CHECK: %[[OF_ROWS:.*]]:4 = scf.for %[[D:[^ ]*]] = %c0 to %c128 step %c64
// CHECK:   %[[Y:.*]] = vector.load %[[Q]][%c0, %[[D]]] : {{.*}}, vector<64xi8>
// CHECK:   llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[BIAS]], %[[Y]]) : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
// CHECK: vector.shuffle %[[OF_ROWS]]#0, %[[OF_ROWS]]#1
// CHECK: scf.for %[[J:[^ ]*]] = %c0 to %{{.*}} step %c4
// CHECK:   scf.for %[[D:[^ ]*]] = %c0 to %c128 step %c64
// CHECK:     %[[ELEMENTS:.*]] = vector.load %[[K]][%[[J]], %[[D]]] : {{.*}}, vector<64xi8>
// CHECK:     %[[X:.*]] = arith.xori %[[ELEMENTS]], %[[BIAS]] : vector<64xi8>
// CHECK:     %[[Y:.*]] = vector.load %[[Q]][%c0, %[[D]]] : {{.*}}, vector<64xi8>
// CHECK:     llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[X]], %[[Y]])
// CHECK-COUNT-15: llvm.call_intrinsic
// CHECK-NOT: llvm.call_intrinsic
// CHECK:   arith.addi %{{.*}} : vector<16xi32>
// CHECK:   %[[SUMS:.*]] = arith.subi %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK:   vector.extract_strided_slice %[[SUMS]] {offsets = [0], sizes = [4]
// CHECK:   %[[OLD:.*]] = vector.load %[[S]][%[[J]], %c0] : {{.*}}, vector<4xi32>
// CHECK:   arith.addi %[[OLD]], %{{.*}} : vector<4xi32>

// AVX2-LABEL: func.func @scores(
// AVX2: scf.for {{.*}} = %c0 to %{{.*}} step %c2
// AVX2: arith.xori %{{.*}} : vector<32xi8>
// AVX2: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"{{.*}} : (vector<8xi32>, vector<32xi8>, vector<32xi8>) -> vector<8xi32>
func.func @scores(%k: memref<?x128xi8, strided<[?, 1], offset: ?>>, %q: memref<4x128xi8>,
                  %s: memref<?x4xi32, strided<[16, 1]>>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                   affine_map<(m, n, k) -> (n, k)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%k, %q : memref<?x128xi8, strided<[?, 1], offset: ?>>, memref<4x128xi8>)
      outs(%s : memref<?x4xi32, strided<[16, 1]>>) {
  ^bb0(%x: i8, %y: i8, %c: i32):
    %a = arith.extsi %x : i8 to i32
    %b = arith.extsi %y : i8 to i32
    %product = arith.muli %a, %b : i32
    %sum = arith.addi %c, %product : i32
    linalg.yield %sum : i32
  }
  return
}
