// RUN: attn-opt %s -attn-split-roles -split-input-file -mlir-print-local-scope \
// RUN:   | FileCheck %s

// Producers copy a row in each iteration and go on to the next one, in a loop that
// carries what that needs alone; consumers add up in the same loop, and have all of
// what it carries. Which of them a warp is, its first lane says.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: %[[N:[^:]*]]: index, %[[FROM:[^:]*]]: memref<?xf32>, %[[TO:[^:]*]]: memref<?xf32, #gpu.address_space<workgroup>>
// CHECK: gpu.launch
// CHECK-SAME: threads(%[[TX:[^,]*]],
// CHECK: %[[THREAD:.*]] = arith.index_cast %[[TX]] : index to i32
// CHECK: %[[FIRST:.*]], %{{.*}} = gpu.shuffle idx %[[THREAD]], %c0_i32, %c32_i32
// CHECK: %[[LANE0:.*]] = arith.index_cast %[[FIRST]] : i32 to index
// CHECK: %[[CONSUMERS:.*]] = arith.constant 256 : index
// CHECK: %[[IS_PRODUCER:.*]] = arith.cmpi sge, %[[LANE0]], %[[CONSUMERS]] : index
// CHECK-NEXT: scf.if %[[IS_PRODUCER]] {
// CHECK-NEXT: nvvm.setmaxregister decrease 40
// CHECK-NEXT: %{{.*}} = scf.for %[[I:.*]] = %c0 to %[[N]] step %c1 iter_args(%[[AT:.*]] = %c0) -> (index) {
// CHECK-NEXT: %[[X:.*]] = memref.load %[[FROM]][%[[AT]]]
// CHECK-NEXT: memref.store %[[X]], %[[TO]][%[[TX]]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[AT]], %c2
// CHECK-NEXT: scf.yield %[[NEXT]] : index
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 232
// CHECK-NEXT: %[[R:.*]]:3 = scf.for {{.*}} iter_args({{.*}}) -> (f32, index, f32) {
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[COUNT:.*]] = arith.constant 256 : i32
// CHECK-NEXT: nvvm.barrier id = %[[ONE]] number_of_threads = %[[COUNT]]
// CHECK-NEXT: memref.load %[[TO]]
// CHECK-NOT: attn.producers
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[COUNT:.*]] = arith.constant 256 : i32
// CHECK-NEXT: nvvm.barrier id = %[[ONE]] number_of_threads = %[[COUNT]]
// CHECK-NEXT: memref.store %[[R]]#0
// CHECK-NOT: gpu.barrier
// CHECK: gpu.terminator
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @loop(%n: index, %from: memref<?xf32>,
                %to: memref<?xf32, #gpu.address_space<workgroup>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c384 = arith.constant 384 : index
  %f0 = arith.constant 0.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %f0, %at = %c0, %t = %f0) -> (f32, index, f32) {
      attn.producers {
        %x = memref.load %from[%at] : memref<?xf32>
        memref.store %x, %to[%tx] : memref<?xf32, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %y = memref.load %to[%i] : memref<?xf32, #gpu.address_space<workgroup>>
      %sum = arith.addf %s, %y : f32
      %most = arith.maximumf %t, %y : f32
      %next = arith.addi %at, %c2 : index
      scf.yield %sum, %next, %most : f32, index, f32
    }
    gpu.barrier
    memref.store %r#0, %from[%tx] : memref<?xf32>
    memref.store %r#2, %from[%r#1] : memref<?xf32>
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Producers take the same branches, and load what these depend on; of results, they
// compute those that they use.
// CHECK-LABEL: func.func @branch
// CHECK-SAME: %[[M:[^:]*]]: memref<?xindex>, %[[OUT:[^:]*]]: memref<?xf32>
// CHECK: nvvm.setmaxregister decrease 40
// CHECK-NEXT: %[[COUNT:.*]] = memref.load %[[M]]
// CHECK-NEXT: %[[ANY:.*]] = arith.cmpi ugt, %[[COUNT]], %c0
// CHECK-NEXT: scf.if %[[ANY]] {
// CHECK-NEXT: %[[PLACE:.*]] = scf.if %[[ANY_MORE:.*]] -> (index) {
// CHECK-NEXT: %[[HALF:.*]] = arith.divui %[[COUNT]], %c2
// CHECK-NEXT: scf.yield %[[HALF]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %c0
// CHECK-NEXT: }
// CHECK-NEXT: memref.store %{{.*}}, %[[OUT]][%[[PLACE]]]
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 232
// CHECK: -> (f32, index)
// CHECK: math.exp2
func.func @branch(%m: memref<?xindex>, %out: memref<?xf32>, %x: f32, %more: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c384 = arith.constant 384 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    %count = memref.load %m[%c0] : memref<?xindex>
    %any = arith.cmpi ugt, %count, %c0 : index
    scf.if %any {
      %r:2 = scf.if %more -> (f32, index) {
        %y = math.exp2 %x : f32
        %half = arith.divui %count, %c2 : index
        scf.yield %y, %half : f32, index
      } else {
        scf.yield %x, %c0 : f32, index
      }
      attn.producers {
        memref.store %x, %out[%r#1] : memref<?xf32>
      }
      memref.store %r#0, %out[%count] : memref<?xf32>
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Where keys begin and end, a loop over what tables say of blocks may tell, which all
// threads execute.
// CHECK-LABEL: func.func @bounds
// CHECK-SAME: %[[TABLE:[^:]*]]: memref<?xindex>,
// CHECK: nvvm.setmaxregister decrease 40
// CHECK-NEXT: %[[OF_NONE:.*]] = arith.subi %[[N:.*]], %c1
// CHECK-NEXT: %[[BEGIN:.*]] = scf.while
// CHECK-NEXT: %[[KEY:.*]] = memref.load %[[TABLE]]
// CHECK-NEXT: arith.cmpi eq, %[[KEY]], %[[OF_NONE]]
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[N]]
// CHECK-NEXT: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 232
// CHECK: %[[OWN:.*]] = scf.while
// CHECK: scf.for %{{.*}} = %[[OWN]] to
func.func @bounds(%table: memref<?xindex>, %out: memref<?xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c384 = arith.constant 384 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    %none = arith.subi %n, %c1 : index
    %begin = scf.while (%i = %c0) : (index) -> index {
      %key = memref.load %table[%i] : memref<?xindex>
      %hidden = arith.cmpi eq, %key, %none : index
      scf.condition(%hidden) %i : index
    } do {
    ^bb0(%i: index):
      %j = arith.addi %i, %c1 : index
      scf.yield %j : index
    }
    scf.for %i = %begin to %n step %c1 {
      attn.producers {
        memref.store %x, %out[%i] : memref<?xf32>
      }
      %y = memref.load %out[%i] : memref<?xf32>
      memref.store %y, %out[%tx] : memref<?xf32>
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// On the other side of a branch.
// CHECK-LABEL: func.func @else
// CHECK-SAME: %[[OUT:[^:]*]]: memref<?xf32>, %[[X:[^:]*]]: f32, %[[C:[^:]*]]: i1
// CHECK: nvvm.setmaxregister decrease 40
// CHECK-NEXT: scf.if %[[C]] {
// CHECK-NEXT: } else {
// CHECK-NEXT: memref.store %[[X]]
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 232
// CHECK-NEXT: scf.if %[[C]] {
// CHECK-NEXT: math.exp2
// CHECK-NEXT: memref.store
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: gpu.terminator
func.func @else(%out: memref<?xf32>, %x: f32, %c: i1) {
  %c1 = arith.constant 1 : index
  %c384 = arith.constant 384 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    scf.if %c {
      %y = math.exp2 %x : f32
      memref.store %y, %out[%tx] : memref<?xf32>
    } else {
      attn.producers {
        memref.store %x, %out[%tx] : memref<?xf32>
      }
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Barriers that reduce are those of all threads: what producers give changes nothing.
// They take part in each iteration, even if they do nothing else there.
// CHECK-LABEL: func.func @reductions
// CHECK: nvvm.setmaxregister decrease 40
// CHECK-NEXT: memref.store
// CHECK-NEXT: %[[TRUE:.*]] = arith.constant 1 : i32
// CHECK-NEXT: nvvm.barrier #nvvm.reduction<and> %[[TRUE]] -> i32
// CHECK-NEXT: scf.for
// CHECK-NEXT: %[[FALSE:.*]] = arith.constant 0 : i32
// CHECK-NEXT: nvvm.barrier #nvvm.reduction<or> %[[FALSE]] -> i32
// CHECK-NEXT: %[[NOTHING:.*]] = arith.constant 0 : i32
// CHECK-NEXT: nvvm.barrier #nvvm.reduction<popc> %[[NOTHING]] -> i32
// CHECK-NEXT: }
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 232
// CHECK-NEXT: %[[OWN:.*]] = memref.load
// CHECK-NEXT: nvvm.barrier #nvvm.reduction<and> %[[OWN]] -> i32
// CHECK-NEXT: scf.for
// CHECK-NEXT: nvvm.barrier #nvvm.reduction<or> %[[OWN]] -> i32
// CHECK-NEXT: nvvm.barrier #nvvm.reduction<popc> %[[OWN]] -> i32
func.func @reductions(%votes: memref<?xi32>, %out: memref<?xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c384 = arith.constant 384 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    attn.producers {
      memref.store %x, %out[%tx] : memref<?xf32>
    }
    %own = memref.load %votes[%tx] : memref<?xi32>
    %all = nvvm.barrier #nvvm.reduction<and> %own -> i32
    scf.for %i = %c0 to %n step %c1 {
      %any = nvvm.barrier #nvvm.reduction<or> %own -> i32
      %count = nvvm.barrier #nvvm.reduction<popc> %own -> i32
      memref.store %any, %votes[%i] : memref<?xi32>
      memref.store %count, %votes[%tx] : memref<?xi32>
    }
    memref.store %all, %votes[%tx] : memref<?xi32>
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Barriers among what producers execute, and barriers with a number, are as they were.
// CHECK-LABEL: func.func @numbered
// CHECK: nvvm.setmaxregister decrease 40
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-NEXT: %[[ALL:.*]] = arith.constant 256 : i32
// CHECK-NEXT: nvvm.barrier id = %[[TWO]] number_of_threads = %[[ALL]]
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.setmaxregister increase 232
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-NEXT: %[[ALL:.*]] = arith.constant 256 : i32
// CHECK-NEXT: nvvm.barrier id = %[[TWO]] number_of_threads = %[[ALL]]
// CHECK-NEXT: }
func.func @numbered() {
  %c1 = arith.constant 1 : index
  %c384 = arith.constant 384 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    %two = arith.constant 2 : i32
    %all = arith.constant 256 : i32
    nvvm.barrier id = %two number_of_threads = %all
    attn.producers {
      nvvm.barrier id = %two number_of_threads = %all
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Where producers do nothing, there are none, and all threads are consumers.
// CHECK-LABEL: func.func @none
// CHECK: %[[CONSUMERS:.*]] = arith.constant 384 : index
// CHECK: gpu.launch
// CHECK-SAME: threads(%{{.*}}) in (%{{[^ ]*}} = %[[CONSUMERS]], %{{[^ ]*}} = %c1, %{{[^ ]*}} = %c1)
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpu.terminator
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @none(%out: memref<?xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c512, %sy = %c1, %sz = %c1) {
    gpu.barrier
    memref.store %x, %out[%tx] : memref<?xf32>
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Launches without producers stay as they are.
// CHECK-LABEL: func.func @other
// CHECK: %c512 = arith.constant 512 : index
// CHECK: gpu.launch
// CHECK-SAME: = %c512,
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
func.func @other(%out: memref<?xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c512, %sy = %c1, %sz = %c1) {
    gpu.barrier
    memref.store %x, %out[%tx] : memref<?xf32>
    gpu.terminator
  }
  return
}
