// RUN: attn-opt %s -attn-delay-waits -split-input-file | FileCheck %s

!pair = vector<2xf16>

// The scores of a block, and the product of the one before, which is multiplied while
// weights are made: a wait is behind what is pure, what reads memory, and a branch of
// such operations, and leaves the product that begins on the way pending.
// CHECK-LABEL: func.func @products
// CHECK: %[[S:.*]]:4 = attn.warpgroup_mma
// CHECK-NEXT: %[[O:.*]]:4 = attn.warpgroup_mma
// CHECK-NEXT: memref.load
// CHECK-NEXT: %[[SCORES:.*]]:4 = attn.warpgroup_wait %[[S]]#0, {{.*}} pending 1
// CHECK-NEXT: arith.mulf %[[SCORES]]#0
// CHECK-NEXT: nvvm.vote.sync
// CHECK-NEXT: %[[FACTOR:.*]] = scf.if
// CHECK: } else {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: %[[OUTPUT:.*]]:4 = attn.warpgroup_wait %[[O]]#0, {{.*}} pending 0
// CHECK-NEXT: arith.mulf %[[OUTPUT]]#1, %[[FACTOR]]
func.func @products(%a: !pair, %rhs: i64, %m: memref<8xf32>, %i: index, %c: i1,
                    %mask: i32) -> (f32, f32) {
  %s:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : !pair, !pair, !pair, !pair)
      rhs(%rhs) columns 8 steps [0] : f32, f32, f32, f32
  %scores:4 = attn.warpgroup_wait %s#0, %s#1, %s#2, %s#3 pending 0 : f32, f32, f32, f32
  %o:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : !pair, !pair, !pair, !pair)
      rhs(%rhs) transposed columns 8 steps [0] : f32, f32, f32, f32
  %output:4 = attn.warpgroup_wait %o#0, %o#1, %o#2, %o#3 pending 0 : f32, f32, f32, f32
  %x = memref.load %m[%i] : memref<8xf32>
  %y = arith.mulf %scores#0, %x : f32
  %any = nvvm.vote.sync any %mask, %c -> i1
  %factor = scf.if %any -> f32 {
    %z = math.exp2 %y : f32
    scf.yield %z : f32
  } else {
    scf.yield %y : f32
  }
  %r = arith.mulf %output#1, %factor : f32
  return %r, %y : f32, f32
}

// -----

!pair = vector<2xf16>

// Several products that begin on the way.
// CHECK-LABEL: func.func @three
// CHECK-COUNT-3: attn.warpgroup_mma
// CHECK-NEXT: %[[FIRST:.*]] = attn.warpgroup_wait {{.*}} pending 2
// CHECK-NEXT: arith.negf %[[FIRST]]
// CHECK-NEXT: attn.warpgroup_wait {{.*}} pending 1
// CHECK-NEXT: attn.warpgroup_wait {{.*}} pending 0
// CHECK-NEXT: return
func.func @three(%a: !pair, %rhs: i64) -> (f32, f32, f32) {
  %p:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : !pair, !pair, !pair, !pair)
      rhs(%rhs) columns 8 steps [0] : f32, f32, f32, f32
  %first = attn.warpgroup_wait %p#0 pending 0 : f32
  %q:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : !pair, !pair, !pair, !pair)
      rhs(%rhs) columns 8 steps [2] : f32, f32, f32, f32
  %second = attn.warpgroup_wait %q#0 pending 0 : f32
  %r:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : !pair, !pair, !pair, !pair)
      rhs(%rhs) columns 8 steps [4] : f32, f32, f32, f32
  %third = attn.warpgroup_wait %r#0 pending 0 : f32
  %x = arith.negf %first : f32
  return %x, %second, %third : f32, f32, f32
}

// -----

// What writes memory, which the product may read.
// CHECK-LABEL: func.func @store
// CHECK: arith.negf
// CHECK-NEXT: attn.warpgroup_wait
// CHECK-NEXT: memref.store
func.func @store(%p: f32, %x: f32, %m: memref<f32>) -> f32 {
  %w = attn.warpgroup_wait %p pending 0 : f32
  %y = arith.negf %x : f32
  memref.store %y, %m[] : memref<f32>
  return %w : f32
}

// -----

// CHECK-LABEL: func.func @barrier
// CHECK: arith.negf
// CHECK-NEXT: attn.warpgroup_wait
// CHECK-NEXT: gpu.barrier
func.func @barrier(%p: f32, %x: f32) -> (f32, f32) {
  %w = attn.warpgroup_wait %p pending 0 : f32
  %y = arith.negf %x : f32
  gpu.barrier
  return %w, %y : f32, f32
}

// -----

// Threads copy to what the product may read.
// CHECK-LABEL: func.func @copy
// CHECK: attn.warpgroup_wait
// CHECK-NEXT: nvgpu.device_async_copy
func.func @copy(%p: f32, %from: memref<8xf16>, %to: memref<8xf16, 3>, %i: index) -> f32 {
  %w = attn.warpgroup_wait %p pending 0 : f32
  %t = nvgpu.device_async_copy %from[%i], %to[%i], 8 : memref<8xf16> to memref<8xf16, 3>
  return %w : f32
}

// -----

// CHECK-LABEL: func.func @inner_store
// CHECK: attn.warpgroup_wait
// CHECK-NEXT: scf.if
func.func @inner_store(%p: f32, %x: f32, %m: memref<f32>, %c: i1) -> f32 {
  %w = attn.warpgroup_wait %p pending 0 : f32
  scf.if %c {
    memref.store %x, %m[] : memref<f32>
  }
  return %w : f32
}

// -----

// A branch that alone uses it: both of its sides wait.
// CHECK-LABEL: func.func @inner_use
// CHECK: arith.negf
// CHECK-NEXT: scf.if
// CHECK-NEXT: %[[W:.*]] = attn.warpgroup_wait {{.*}} pending 0
// CHECK-NEXT: %[[Z:.*]] = arith.negf %[[W]]
// CHECK-NEXT: scf.yield %[[Z]]
// CHECK-NEXT: } else {
// CHECK-NEXT: attn.warpgroup_wait {{.*}} pending 0
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @inner_use(%p: f32, %x: f32, %vote: i1) -> (f32, f32) {
  %all = arith.constant -1 : i32
  %c = nvvm.vote.sync any %all, %vote -> i1
  %w = attn.warpgroup_wait %p pending 0 : f32
  %y = arith.negf %x : f32
  %r = scf.if %c -> f32 {
    %z = arith.negf %w : f32
    scf.yield %z : f32
  } else {
    scf.yield %x : f32
  }
  return %r, %y : f32, f32
}

// -----

// Each side uses what its own wait gives, in what is nested, too.
// CHECK-LABEL: func.func @both_sides
// CHECK-NOT: attn.warpgroup_wait
// CHECK: scf.if
// CHECK-NEXT: %[[FIRST:.*]]:2 = attn.warpgroup_wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.yield %[[FIRST]]#1
// CHECK: scf.yield %[[FIRST]]#0
// CHECK: } else {
// CHECK-NEXT: %[[SECOND:.*]]:2 = attn.warpgroup_wait
// CHECK-NEXT: scf.yield %[[SECOND]]#1
// CHECK-NOT: attn.warpgroup_wait
// CHECK: return
func.func @both_sides(%p: f32, %q: f32, %vote: i1, %d: i1) -> f32 {
  %all = arith.constant -1 : i32
  %c = nvvm.vote.sync any %all, %vote -> i1
  %w:2 = attn.warpgroup_wait %p, %q pending 0 : f32, f32
  %r = scf.if %c -> f32 {
    %s = scf.if %d -> f32 {
      scf.yield %w#1 : f32
    } else {
      scf.yield %w#0 : f32
    }
    scf.yield %s : f32
  } else {
    scf.yield %w#1 : f32
  }
  return %r : f32
}

// -----

// What is used behind the branch, too, is waited for before it.
// CHECK-LABEL: func.func @used_behind
// CHECK: %[[W:.*]] = attn.warpgroup_wait
// CHECK-NEXT: scf.if
// CHECK-NOT: attn.warpgroup_wait
// CHECK: return %{{.*}}, %[[W]]
func.func @used_behind(%p: f32, %x: f32, %c: i1) -> (f32, f32) {
  %w = attn.warpgroup_wait %p pending 0 : f32
  %r = scf.if %c -> f32 {
    %z = arith.negf %w : f32
    scf.yield %z : f32
  } else {
    scf.yield %x : f32
  }
  return %r, %w : f32, f32
}

// -----

// So is what a branch without another side uses.
// CHECK-LABEL: func.func @one_side
// CHECK: %[[W:.*]] = attn.warpgroup_wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: memref.store %[[W]]
// CHECK-NOT: attn.warpgroup_wait
func.func @one_side(%p: f32, %m: memref<f32>, %c: i1) {
  %w = attn.warpgroup_wait %p pending 0 : f32
  scf.if %c {
    memref.store %w, %m[] : memref<f32>
  }
  return
}

// -----

!pair = vector<2xf16>

// In a loop, before what is carried to the next iteration.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK-NEXT: attn.warpgroup_mma
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: %[[W:.*]]:4 = attn.warpgroup_wait {{.*}} pending 0
// CHECK-NEXT: scf.yield %[[W]]#0
func.func @loop(%a: !pair, %rhs: i64, %n: index, %x: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x, %t = %x) -> (f32, f32) {
    %p:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : !pair, !pair, !pair, !pair)
        rhs(%rhs) sums(%s, %s, %s, %s : f32, f32, f32, f32) columns 8 steps [0] : f32, f32, f32, f32
    %w:4 = attn.warpgroup_wait %p#0, %p#1, %p#2, %p#3 pending 0 : f32, f32, f32, f32
    %u = arith.mulf %t, %t : f32
    scf.yield %w#0, %u : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// -----

// Sides that lanes of one warp may both take do not wait each on its own.
// CHECK-LABEL: func.func @lanes
// CHECK: attn.warpgroup_wait {{.*}} pending 0
// CHECK-NEXT: scf.if
// CHECK-NOT: attn.warpgroup_wait
// CHECK: return
func.func @lanes(%p: f32, %x: f32, %c: i1) -> f32 {
  %w = attn.warpgroup_wait %p pending 0 : f32
  %r = scf.if %c -> f32 {
    %z = arith.negf %w : f32
    scf.yield %z : f32
  } else {
    scf.yield %x : f32
  }
  return %r : f32
}

// -----

// No wait leaves more pending than there can be, or is without an end to move to.
// CHECK-LABEL: func.func @most
// CHECK: attn.warpgroup_wait {{.*}} pending 7
// CHECK-NEXT: attn.warpgroup_mma
// CHECK: attn.producers {
// CHECK-NEXT: attn.warpgroup_wait
func.func @most(%p: f32, %a: vector<2xf16>, %d: i64) -> f32 {
  %w = attn.warpgroup_wait %p pending 7 : f32
  %s:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>) rhs(%d) columns 8 steps [0] : f32, f32, f32, f32
  attn.producers {
    %x = attn.warpgroup_wait %p pending 0 : f32
  }
  return %w : f32
}
