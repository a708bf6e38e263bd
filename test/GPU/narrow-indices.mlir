// RUN: attn-opt %s -allow-unregistered-dialect -attn-narrow-indices -canonicalize | FileCheck %s

// What an assertion says of the number of keys is known in the launch: positions,
// bounds and the counter are of 32 bits, and the address, which has a stride, is not.
// CHECK-LABEL: func.func @keys
// CHECK-SAME: %[[KEYS:[^:]*]]: index, %[[STRIDE:[^:]*]]: index
// CHECK: gpu.launch
// CHECK: %[[END:.*]] = arith.index_cast %[[KEYS]] : index to i32
// CHECK: scf.for %[[J:.*]] = %c0_i32 to %[[END]] step %c32_i32 : i32
// CHECK-DAG: %[[WIDE:.*]] = arith.index_castui %[[J]] : i32 to index
// CHECK-DAG: %[[REST:.*]] = arith.subi %[[END]], %[[J]] overflow<nsw> : i32
// CHECK-DAG: %[[COUNT:.*]] = arith.minsi %[[REST]], %c32_i32 : i32
// CHECK-DAG: arith.cmpi slt, %[[COUNT]], %c32_i32 : i32
// CHECK-DAG: arith.muli %[[WIDE]], %[[STRIDE]] : index
func.func @keys(%keys: index, %stride: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %most = arith.constant 536870911 : index
  %few = arith.cmpi ule, %keys, %most : index
  cf.assert %few, "too many keys"
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    scf.for %j = %c0 to %keys step %c32 {
      %rest = arith.subi %keys, %j : index
      %count = arith.minsi %rest, %c32 : index
      %cut = arith.cmpi slt, %count, %c32 : index
      %address = arith.muli %j, %stride : index
      "test.use"(%cut, %address) : (i1, index) -> ()
    }
    gpu.terminator
  }
  return
}

// Without an assertion, or with one that comes too late, any number is one of 64 bits.
// CHECK-LABEL: func.func @unknown
// CHECK: gpu.launch
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c32 {
// CHECK: arith.subi %{{.*}}, %[[J]] : index
// CHECK: arith.cmpi slt, {{.*}} : index
func.func @unknown(%keys: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %most = arith.constant 536870911 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    scf.for %j = %c0 to %keys step %c32 {
      %rest = arith.subi %keys, %j : index
      %cut = arith.cmpi slt, %rest, %c32 : index
      "test.use"(%cut) : (i1) -> ()
    }
    gpu.terminator
  }
  %few = arith.cmpi ule, %keys, %most : index
  cf.assert %few, "too many keys"
  return
}

// Behind the end of this loop, the counter would be 2^31.
// CHECK-LABEL: func.func @step
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %{{.*}} {
func.func @step(%keys: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %most = arith.constant 2147483640 : index
  %step = arith.constant 8 : index
  %few = arith.cmpi ule, %keys, %most : index
  cf.assert %few, "too many keys"
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    scf.for %j = %c0 to %keys step %step {
      %cut = arith.cmpi sgt, %j, %c7 : index
      "test.use"(%cut) : (i1) -> ()
    }
    gpu.terminator
  }
  return
}

// A number of 32 bits without a sign is one of more than 31 with one, and what is
// negative has other remainders without a sign in 32 bits than in 64.
// CHECK-LABEL: func.func @signs
// CHECK: arith.minsi {{.*}} : i64
// CHECK: arith.remui {{.*}} : i64
// CHECK: arith.minsi {{.*}} : i32
func.func @signs(%a: i32, %b: i32, %c: i8) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %c7 = arith.constant 7 : i64
    %ua = arith.extui %a : i32 to i64
    %ub = arith.extui %b : i32 to i64
    %least = arith.minsi %ua, %ub : i64
    %sc = arith.extsi %c : i8 to i64
    %rest = arith.remui %sc, %c7 : i64
    %sa = arith.extsi %a : i32 to i64
    %sb = arith.extsi %b : i32 to i64
    %signed = arith.minsi %sa, %sb : i64
    "test.use"(%least, %rest, %signed) : (i64, i64, i64) -> ()
    gpu.terminator
  }
  return
}

// What only addresses are computed from is left to ptxas, but for what takes many
// instructions.
// CHECK-LABEL: func.func @addresses
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c8_i32 : i32
// CHECK: %[[WIDE:.*]] = arith.index_castui %[[ROW]] : i32 to index
// CHECK: scf.for %[[K:.*]] = %c0 to %c64 step %c1 {
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %c1 : index
// CHECK: memref.load %{{.*}}[%[[WIDE]], %[[NEXT]]]
func.func @addresses(%m: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %row = arith.divui %tx, %c8 : index
    scf.for %k = %c0 to %c64 step %c1 {
      %next = arith.addi %k, %c1 : index
      %x = memref.load %m[%row, %next] : memref<?x?xf32>
      "test.use"(%x) : (f32) -> ()
    }
    gpu.terminator
  }
  return
}

// Workgroup memory has few addresses, other memory has all.
// CHECK-LABEL: func.func @pointers
// CHECK: arith.divui %{{.*}}, %c16_i32 : i32
// CHECK: arith.divui %{{.*}}, %c16 : index
func.func @pointers(%m: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %own = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %inside = memref.extract_aligned_pointer_as_index %own
        : memref<?xi8, #gpu.address_space<workgroup>> -> index
    %unit = arith.divui %inside, %c16 : index
    %outside = memref.extract_aligned_pointer_as_index %m : memref<64xf32> -> index
    %other = arith.divui %outside, %c16 : index
    "test.use"(%unit, %other) : (index, index) -> ()
    gpu.terminator
  }
  return
}
