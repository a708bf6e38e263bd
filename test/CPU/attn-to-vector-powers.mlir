// RUN: attn-opt %s --attn-target="{vector_bits = 512, scalef = true}" -convert-attn-to-vector | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 128}" -convert-attn-to-vector | FileCheck %s --check-prefix=NARROW

// Powers of 2 of whole vectors, register by register.
// CHECK-LABEL: func.func @vectors
// CHECK-NOT: math.exp2
// CHECK: %[[LOW:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [0], sizes = [16], strides = [1]}
// CHECK: %[[REST:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[LOW]],
// CHECK: %[[WHOLE:.*]] = arith.subf %[[LOW]], %[[REST]]
// CHECK: %[[P:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[WHOLE]],
// CHECK: %[[FIRST:.*]] = vector.insert_strided_slice %[[P]], %{{.*}} {offsets = [0], strides = [1]}
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [16], sizes = [16], strides = [1]}
// CHECK: %[[R:.*]] = vector.insert_strided_slice %{{.*}}, %[[FIRST]] {offsets = [16], strides = [1]}
// CHECK: return %[[R]]
// NARROW-LABEL: func.func @vectors
// NARROW-NOT: math.exp2
// NARROW-COUNT-8: vector.insert_strided_slice %{{.*}} : vector<4xf32> into vector<32xf32>
func.func @vectors(%x: vector<32xf32>) -> vector<32xf32> {
  %r = math.exp2 %x : vector<32xf32>
  return %r : vector<32xf32>
}

// Of each lane by itself: there is no branch that other lanes decide.
// CHECK-LABEL: func.func @tanh
// CHECK-NOT: math.tanh
// CHECK-NOT: scf.if
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: vector.insert_strided_slice
// CHECK-NOT: math.tanh
func.func @tanh(%x: vector<32xf32>) -> vector<32xf32> {
  %r = math.tanh %x : vector<32xf32>
  return %r : vector<32xf32>
}

// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: math.exp2
// CHECK: math.tanh
func.func @others(%a: f32, %b: vector<32xf64>, %c: vector<17xf32>,
                  %d: vector<[16]xf32>)
    -> (f32, vector<32xf64>, vector<17xf32>, vector<[16]xf32>, f32) {
  %0 = math.exp2 %a : f32
  %1 = math.exp2 %b : vector<32xf64>
  %2 = math.exp2 %c : vector<17xf32>
  %3 = math.exp2 %d : vector<[16]xf32>
  %4 = math.tanh %a : f32
  return %0, %1, %2, %3, %4
      : f32, vector<32xf64>, vector<17xf32>, vector<[16]xf32>, f32
}

// `afn` allows a power of 2 in the place of one of e, and `arcp` a product with the
// reciprocal, which is its estimate where a step of Newton's method would fail.
// CHECK-LABEL: func.func @fast
// CHECK: scalef
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"
// CHECK: %[[E:.*]] = math.fma
// CHECK: %[[OK:.*]] = arith.cmpf ogt, %[[E]]
// CHECK: %[[BETTER:.*]] = math.fma %[[E]], %[[R]], %[[R]]
// CHECK: arith.select %[[OK]], %[[BETTER]], %[[R]]
// CHECK: arith.mulf
// CHECK-NOT: arith.divf
// CHECK-LABEL: func.func @exact
// CHECK: math.exp
// CHECK: arith.divf
// NARROW-LABEL: func.func @fast
// NARROW: arith.divf
func.func @fast(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x fastmath<afn> : vector<16xf32>
  %r = arith.divf %y, %0 fastmath<arcp> : vector<16xf32>
  return %r : vector<16xf32>
}
func.func @exact(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  %r = arith.divf %y, %0 : vector<16xf32>
  return %r : vector<16xf32>
}
