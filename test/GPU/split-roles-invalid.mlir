// RUN: attn-opt %s -attn-split-roles -split-input-file -verify-diagnostics

// A number that each thread would take from a counter twice.
func.func @atomic(%m: memref<?xindex>, %tickets: memref<i32>) {
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    // expected-error @below {{'memref.atomic_rmw' op is needed by producers, who do not execute it}}
    %ticket = memref.atomic_rmw addi %one, %tickets[] : (i32, memref<i32>) -> i32
    %x = arith.index_cast %ticket : i32 to index
    attn.producers {
      memref.store %c0, %m[%x] : memref<?xindex>
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

func.func @carried_effect(%m: memref<?xindex>, %tickets: memref<i32>, %n: index) {
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %x = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c0) -> index {
      attn.producers {
        memref.store %c0, %m[%at] : memref<?xindex>
      }
      // expected-error @below {{'memref.atomic_rmw' op is needed by producers, who do not execute it}}
      %ticket = memref.atomic_rmw addi %one, %tickets[] : (i32, memref<i32>) -> i32
      %next = arith.index_cast %ticket : i32 to index
      scf.yield %next : index
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// A branch on what consumers alone know.
func.func @condition(%m: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %own = arith.constant 1 : i32
    // expected-error @below {{'nvvm.barrier' op is needed by producers, who do not execute it}}
    %any = nvvm.barrier #nvvm.reduction<or> %own -> i32
    %zero = arith.constant 0 : i32
    %c = arith.cmpi ne, %any, %zero : i32
    scf.if %c {
      attn.producers {
        memref.store %c0, %m[%c0] : memref<?xindex>
      }
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Memory of a thread, which another one writes.
func.func @bound(%m: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    // expected-error @below {{'memref.alloca' op is needed by producers, who do not execute it}}
    %own = memref.alloca() : memref<index>
    %count = memref.load %own[] : memref<index>
    scf.for %i = %c0 to %count step %c1 {
      attn.producers {
        memref.store %c0, %m[%i] : memref<?xindex>
      }
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// So is a loop that has effects.
func.func @result_of_while(%m: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    // expected-error @below {{'scf.while' op is needed by producers, who do not execute it}}
    %x = scf.while (%i = %c0) : (index) -> index {
      %c = arith.cmpi slt, %i, %n : index
      scf.condition(%c) %i : index
    } do {
    ^bb0(%i: index):
      memref.store %i, %m[%c1] : memref<?xindex>
      %j = arith.addi %i, %c1 : index
      scf.yield %j : index
    }
    attn.producers {
      memref.store %c0, %m[%x] : memref<?xindex>
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

func.func @carried_by_while(%m: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    // expected-error @below {{'scf.while' op has no form for producers}}
    %r = scf.while (%i = %c0) : (index) -> index {
      %c = arith.cmpi slt, %i, %n : index
      scf.condition(%c) %i : index
    } do {
    ^bb0(%i: index):
      attn.producers {
        memref.store %c0, %m[%i] : memref<?xindex>
      }
      %j = arith.addi %i, %c1 : index
      scf.yield %j : index
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Of which producers need nothing but that it is there.
func.func @in_while(%m: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    // expected-error @below {{'scf.while' op has no form for producers}}
    %r = scf.while (%i = %c0) : (index) -> index {
      %c = arith.cmpi slt, %i, %n : index
      scf.condition(%c) %i : index
    } do {
    ^bb0(%i: index):
      attn.producers {
        memref.store %c0, %m[%c0] : memref<?xindex>
      }
      %j = arith.addi %i, %c1 : index
      scf.yield %j : index
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

// Producers do nothing there but to take part in the reduction.
func.func @reduction_in_while(%m: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    attn.producers {
      memref.store %c0, %m[%c0] : memref<?xindex>
    }
    // expected-error @below {{'scf.while' op has no form for producers}}
    %r = scf.while (%i = %c0) : (index) -> index {
      %c = arith.cmpi slt, %i, %n : index
      scf.condition(%c) %i : index
    } do {
    ^bb0(%i: index):
      %own = arith.constant 1 : i32
      %all = nvvm.barrier #nvvm.reduction<and> %own -> i32
      %j = arith.addi %i, %c1 : index
      scf.yield %j : index
    }
    gpu.terminator
  } {attn.producers = 128}
  return
}

// -----

func.func @more_than_threads(%m: memref<?xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  // expected-error @below {{expected a multiple of 128 as 'attn.producers', fewer than a constant number of threads, in one block}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    memref.store %x, %m[%tx] : memref<?xf32>
    gpu.terminator
  } {attn.producers = 512}
  return
}
