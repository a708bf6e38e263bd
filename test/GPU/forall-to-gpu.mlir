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
// CHECK: %[[X:.*]] = arith.ceildivui %[[M]], %c48
// CHECK: scf.for %[[FIRST:.*]] = %c0{{.*}} to %[[N]] step
// CHECK: %[[COUNT:.*]] = arith.minui
// CHECK: %[[THREADS:.*]] = arith.constant 96 : index
// CHECK: gpu.launch blocks(%[[BX:[^,]*]], %[[BY:[^,]*]], %{{[^)]*}}) in (%{{.*}} = %[[X]], %{{.*}} = %[[COUNT]], %{{.*}} = %{{.*}}) threads({{.*}}) in (%{{.*}} = %[[THREADS]],
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

// Where the last loop decides how far one inside goes, its last iterations come first;
// not where it only decides where that begins.
// CHECK-LABEL: func.func @uneven
// CHECK: gpu.launch blocks(%[[BX:[^,]*]], {{.*}}) in (%[[GX:[^ ]*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) threads
// CHECK: %[[LAST:.*]] = arith.subi %[[GX]], %c1
// CHECK: %[[NUMBER:.*]] = arith.subi %[[LAST]], %[[BX]]
// CHECK: affine.apply affine_map<()[s0] -> (s0 * 16)>()[%[[NUMBER]]]
// CHECK: gpu.launch blocks(%[[BX:[^,]*]],
// CHECK-NOT: arith.subi
// CHECK: affine.apply affine_map<()[s0] -> (s0 * 16)>()[%[[BX]]]
func.func @uneven(%n: index, %x: vector<16x16xf16>, %z: vector<16x16xf32>,
                  %out: memref<?x?x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  scf.forall (%h, %i) = (0, 0) to (%n, %n) step (1, 16) {
    %end = affine.min affine_map<(i)[n] -> (i + 16, n)>(%i)[%n]
    %s = scf.for %j = %c0 to %end step %c16 iter_args(%r = %z) -> (vector<16x16xf32>) {
      %t = vector.contract #contraction %x, %x, %r
          : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>
      scf.yield %t : vector<16x16xf32>
    }
    vector.transfer_write %s, %out[%h, %i, %c0] {in_bounds = [true, true]}
        : vector<16x16xf32>, memref<?x?x16xf32>
  }
  scf.forall (%h, %i) = (0, 0) to (%n, %n) step (1, 16) {
    %s = scf.for %j = %i to %n step %c16 iter_args(%r = %z) -> (vector<16x16xf32>) {
      %t = vector.contract #contraction %x, %x, %r
          : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>
      scf.yield %t : vector<16x16xf32>
    }
    vector.transfer_write %s, %out[%h, %i, %c0] {in_bounds = [true, true]}
        : vector<16x16xf32>, memref<?x?x16xf32>
  }
  return
}

// In y and z, a launch has at most 65535 workgroups: what may be more, and only
// that, is several.
// CHECK-LABEL: func.func @many
// CHECK-SAME: %[[N:[^:]*]]: index,
// CHECK: scf.for %[[FIRST:.*]] = %c0{{.*}} to %[[N]] step %c65535
// CHECK-DAG: %[[REST:.*]] = arith.subi %[[N]], %[[FIRST]]
// CHECK-DAG: %[[COUNT:.*]] = arith.minui %[[REST]], %c65535
// CHECK-NOT: scf.for
// CHECK: gpu.launch blocks(%[[BX:[^,]*]], %[[BY:[^,]*]], %[[BZ:[^)]*]]) in (%{{.*}} = %c70000{{[^,]*}}, %{{.*}} = %c65535{{[^,]*}}, %{{.*}} = %[[COUNT]])
// CHECK: %[[Z:.*]] = arith.addi %[[FIRST]], %[[BZ]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[Z]], %[[BY]], %[[BX]]]
// CHECK-NOT: gpu.launch
func.func @many(%n: index, %x: vector<16x16xf16>, %z: vector<16x16xf32>,
                %out: memref<?x?x?xf32>) {
  scf.forall (%i, %j, %k) in (%n, 65535, 70000) {
    %s = vector.contract #contraction %x, %x, %z
        : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>
    %e = vector.extract %s[0, 0] : f32 from vector<16x16xf32>
    memref.store %e, %out[%i, %j, %k] : memref<?x?x?xf32>
  }
  return
}

// -----

func.func @vectors_of_no_rows(%n: index, %out: memref<?xf32>) {
  %zero = arith.constant dense<0.0> : vector<1xf32>
  // expected-error @+1 {{expected products and writes of one number of rows that is a multiple of 16 in a tile for a GPU}}
  scf.forall (%i) in (%n) {
    %one = math.exp %zero : vector<1xf32>
    vector.store %one, %out[%i] : memref<?xf32>, vector<1xf32>
  }
  return
}

// -----

// Where all keys are hidden, a tile has no products: its rows are those that it
// writes, of constants that are before the loop.
// CHECK-LABEL: func.func @no_products
// CHECK-NOT: scf.forall
// CHECK: gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c64
// CHECK: vector.transfer_write %{{.*}} : vector<32x16xf32>
// CHECK-NEXT: vector.transfer_write %{{.*}} : vector<32xf32>
func.func @no_products(%n: index, %out: memref<?x32x16xf32>, %sums: memref<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<32x16xf32>
  %infinite = arith.constant dense<0xFF800000> : vector<32xf32>
  scf.forall (%i) in (%n) {
    vector.transfer_write %zero, %out[%i, %c0, %c0] {in_bounds = [true, true]}
        : vector<32x16xf32>, memref<?x32x16xf32>
    vector.transfer_write %infinite, %sums[%i, %c0] {in_bounds = [true]}
        : vector<32xf32>, memref<?x32xf32>
  }
  return
}

// -----

func.func @writes_of_other_rows(%n: index, %x: vector<16x16xf16>, %z: vector<16x16xf32>,
                                %out: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<32xf32>
  // expected-error @+1 {{expected products and writes of one number of rows}}
  scf.forall (%i) in (%n) {
    %s = vector.contract {
          indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                           affine_map<(m, n, k) -> (n, k)>,
                           affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]} %x, %x, %z
        : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>
    vector.transfer_write %zero, %out[%c0] {in_bounds = [true]}
        : vector<32xf32>, memref<32xf32>
  }
  return
}

// -----

// Without vectors, an iteration is a thread, and neighbours are in the last loop.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: %[[N:[^:]*]]: index, %[[OUT:[^:]*]]: memref
// CHECK: %[[COUNT:.*]] = arith.muli %[[N]], %{{.*}} : index
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[COUNT]], %c128
// CHECK: gpu.launch blocks(%[[BX:[^,]*]], {{.*}}) in (%{{.*}} = %[[BLOCKS]], {{.*}}) threads(%[[TX:[^,]*]], {{.*}}) in (%{{.*}} = %c128
// CHECK: %[[BASE:.*]] = arith.muli %[[BX]], %c128
// CHECK: %[[NUMBER:.*]] = arith.addi %[[BASE]], %[[TX]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[NUMBER]], %[[COUNT]]
// CHECK: scf.if %[[EXISTS]] {
// CHECK: %[[LAST:.*]] = arith.remui %[[NUMBER]], %[[M:.*]] : index
// CHECK: %[[FIRST:.*]] = arith.divui %[[NUMBER]], %[[M]] : index
// CHECK: affine.apply affine_map<()[s0] -> (s0 * 2)>()[%[[LAST]]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[FIRST]],
// CHECK: gpu.terminator
func.func @elements(%n: index, %out: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (%n, 7) step (1, 2) {
    memref.store %zero, %out[%i, %j] : memref<?x?xf32>
  }
  return
}

// -----

// Buffers of the host are the GPU's, and what is elementwise runs there. A copy
// between them is one. All launches of a function have kernels in one module.
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[IN:[^:]*]]: memref<4x?xf16>, %[[OUT:[^:]*]]: memref<?x4xf32>
// CHECK: %[[BUFFER:.*]] = gpu.alloc (%{{.*}}) : memref<4x?xf32>
// CHECK: gpu.launch {{.*}} module(@host_kernels)
// CHECK: %[[X:.*]] = memref.load %[[IN]][%[[I:.*]], %[[J:.*]]]
// CHECK: %[[Y:.*]] = arith.extf %[[X]]
// CHECK: memref.store %[[Y]], %[[BUFFER]][%[[I]], %[[J]]]
// CHECK: gpu.launch {{.*}} module(@host_kernels)
// CHECK: memref.load %[[BUFFER]][%[[I:.*]], %[[J:.*]]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[J]], %[[I]]]
// CHECK: gpu.dealloc %[[BUFFER]]
// CHECK-NEXT: return
func.func @host(%in: memref<4x?xf16>, %out: memref<?x4xf32>, %n: index) {
  %buffer = memref.alloc(%n) : memref<4x?xf32>
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%in : memref<4x?xf16>) outs(%buffer : memref<4x?xf32>) {
  ^bb0(%x: f16, %y: f32):
    %z = arith.extf %x : f16 to f32
    linalg.yield %z : f32
  }
  linalg.transpose ins(%buffer : memref<4x?xf32>) outs(%out : memref<?x4xf32>)
      permutation = [1, 0]
  return
}

// -----

// Checks of what buffers hold, with all that they read; others stay.
// CHECK-LABEL: func.func @checks
// CHECK-SAME: %[[LENGTHS:[^:]*]]: memref<?xi32>, %[[TABLE:[^:]*]]: memref<?x?xi32>, %[[N:[^:]*]]: index, %[[OK:[^:]*]]: i1
// CHECK: cf.assert %[[OK]], "host"
// CHECK: gpu.launch blocks(%[[BX:[^,]*]], {{.*}}) threads(%[[TX:[^,]*]], {{.*}}) in (%{{.*}} = %c128
// CHECK: %[[LENGTH:.*]] = memref.load %[[LENGTHS]][%[[B:.*]]]
// CHECK: cf.assert %{{.*}}, "length"
// CHECK: scf.for
// CHECK: %[[ENTRY:.*]] = memref.load %[[TABLE]][%[[B]], %{{.*}}]
// CHECK: cf.assert %{{.*}}, "table"
// CHECK: gpu.terminator
// CHECK: gpu.launch
// CHECK-NEXT: %[[FIRST:.*]] = memref.load %[[LENGTHS]]
// CHECK-NEXT: %[[IS:.*]] = arith.cmpi eq, %[[FIRST]]
// CHECK-NEXT: cf.assert %[[IS]], "first"
// CHECK-NEXT: gpu.terminator
// CHECK-NOT: memref.load
// CHECK: return
func.func @checks(%lengths: memref<?xi32>, %table: memref<?x?xi32>, %n: index, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  cf.assert %ok, "host"
  scf.for %b = %c0 to %n step %c1 {
    %length = memref.load %lengths[%b] : memref<?xi32>
    %positive = arith.cmpi sge, %length, %zero : i32
    cf.assert %positive, "length"
    %count = arith.index_cast %length : i32 to index
    scf.for %i = %c0 to %count step %c1 {
      %page = memref.load %table[%b, %i] : memref<?x?xi32>
      %exists = arith.cmpi sge, %page, %zero : i32
      cf.assert %exists, "table"
    }
  }
  %first = memref.load %lengths[%c0] : memref<?xi32>
  %is = arith.cmpi eq, %first, %zero : i32
  cf.assert %is, "first"
  return
}

// -----

func.func @load(%lengths: memref<?xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{the host cannot read elements of tensors, which are in memory of the GPU}}
  %first = memref.load %lengths[%c0] : memref<?xi32>
  return %first : i32
}

// -----

func.func @store(%lengths: memref<?xi32>, %x: i32) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{the host cannot write elements of tensors, which are in memory of the GPU}}
  memref.store %x, %lengths[%c0] : memref<?xi32>
  return
}

// -----

// A constant is in memory of the host, too.
// CHECK-LABEL: func.func @constant
// CHECK: memref.load
memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
func.func @constant(%i: index) -> f32 {
  %table = memref.get_global @table : memref<2xf32>
  %x = memref.load %table[%i] : memref<2xf32>
  return %x : f32
}

// -----

// What branches give is allocated before them, if its size is known there.
// CHECK-LABEL: func.func @branches
// CHECK-SAME: %[[X:[^:]*]]: i1, %[[N:[^:]*]]: index, %[[IN:[^:]*]]: memref<?xf32>
// CHECK: %[[A:.*]] = gpu.alloc (%[[N]])
// CHECK: %[[R:.*]] = scf.if %[[X]]
// CHECK: scf.yield %[[A]]
// CHECK: scf.yield %[[IN]]
// CHECK: gpu.launch
// CHECK: memref.store %{{.*}}, %[[R]]
// CHECK: gpu.dealloc %[[A]]
// CHECK-NEXT: return
func.func @branches(%x: i1, %n: index, %in: memref<?xf32>) {
  %r = scf.if %x -> memref<?xf32> {
    %s = scf.if %x -> memref<?xf32> {
      %a = memref.alloc(%n) : memref<?xf32>
      scf.yield %a : memref<?xf32>
    } else {
      scf.yield %in : memref<?xf32>
    }
    scf.yield %s : memref<?xf32>
  } else {
    scf.yield %in : memref<?xf32>
  }
  scf.forall (%i) in (%n) {
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %r[%i] : memref<?xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @select
// CHECK: %[[A:.*]] = gpu.alloc
// CHECK: arith.select %{{.*}}, %[[A]]
// CHECK: gpu.launch
// CHECK: gpu.dealloc %[[A]]
// CHECK-NEXT: return
func.func @select(%x: i1, %n: index, %in: memref<?xf32>) {
  %a = memref.alloc(%n) : memref<?xf32>
  %b = arith.select %x, %a, %in : memref<?xf32>
  scf.forall (%i) in (%n) {
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %b[%i] : memref<?xf32>
  }
  return
}

// -----

func.func @size(%x: i1, %n: index, %in: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'scf.if' op is not lowered for a GPU where it gives a tensor that is computed in it: nobody would free its memory of the GPU}}
  %r = scf.if %x -> memref<?xf32> {
    %m = arith.subi %n, %c1 : index
    %a = memref.alloc(%m) : memref<?xf32>
    scf.yield %a : memref<?xf32>
  } else {
    scf.yield %in : memref<?xf32>
  }
  return
}

// -----

func.func @loop(%n: index, %in: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'scf.for' op is not lowered for a GPU where it gives a tensor that is computed in it}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %in) -> memref<?xf32> {
    %a = memref.alloc(%n) : memref<?xf32>
    %b = memref.cast %a : memref<?xf32> to memref<?xf32>
    scf.yield %b : memref<?xf32>
  }
  return
}

// -----

// A value that the host needs cannot be loaded.
func.func @needed(%x: memref<?xindex>) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{the host cannot read elements of tensors, which are in memory of the GPU}}
  %n = memref.load %x[%c0] : memref<?xindex>
  %positive = arith.cmpi sgt, %n, %c0 : index
  cf.assert %positive, "n"
  return %n : index
}

// -----

// A loop of checks that only uses what was read before it is launched with that.
// Its iterations are threads, as there is no loop in it.
// CHECK-LABEL: func.func @uses
// CHECK-NOT: memref.load
// CHECK: %[[COUNT:.*]] = arith.maxsi
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[COUNT]], %c128
// CHECK: gpu.launch blocks(%[[BX:[^,]*]], {{.*}}) in (%{{.*}} = %[[BLOCKS]], {{.*}}) threads(%[[TX:[^,]*]], {{.*}}) in (%{{.*}} = %c128
// CHECK: memref.load
// CHECK: %[[BASE:.*]] = arith.muli %[[BX]], %c128
// CHECK: %[[NUMBER:.*]] = arith.addi %[[TX]], %[[BASE]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[NUMBER]], %[[COUNT]]
// CHECK: scf.if %[[EXISTS]]
// CHECK: cf.assert %{{.*}}, "each"
// CHECK: gpu.terminator
// CHECK-NOT: memref.load
// CHECK: return
func.func @uses(%n: index, %x: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %x[%c0] : memref<?xindex>
  scf.for %i = %c0 to %n step %c1 {
    %below = arith.cmpi sle, %i, %first : index
    cf.assert %below, "each"
  }
  return
}

// -----

// Checks of the same sequences, each of what is its own, are one launch.
// CHECK-LABEL: func.func @same_sequences
// CHECK-SAME: %[[LENGTHS:[^:]*]]: memref<?xi32>, %[[TABLE:[^:]*]]: memref<?x?xi32>, %[[N:[^:]*]]: index, %[[OK:[^:]*]]: i1
// CHECK: cf.assert %[[OK]], "host"
// CHECK: gpu.launch
// CHECK: memref.load %[[LENGTHS]][%[[B:.*]]]
// CHECK: cf.assert %{{.*}}, "length"
// CHECK: memref.load %[[LENGTHS]][%[[B]]]
// CHECK: scf.for
// CHECK: memref.load %[[TABLE]][%[[B]], %{{.*}}]
// CHECK: cf.assert %{{.*}}, "table"
// CHECK: gpu.terminator
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @same_sequences(%lengths: memref<?xi32>, %table: memref<?x?xi32>, %n: index, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  scf.for %b = %c0 to %n step %c1 {
    %length = memref.load %lengths[%b] : memref<?xi32>
    %positive = arith.cmpi sge, %length, %zero : i32
    cf.assert %positive, "length"
  }
  cf.assert %ok, "host"
  scf.for %b = %c0 to %n step %c1 {
    %length = memref.load %lengths[%b] : memref<?xi32>
    %count = arith.index_cast %length : i32 to index
    scf.for %i = %c0 to %count step %c1 {
      %page = memref.load %table[%b, %i] : memref<?x?xi32>
      %exists = arith.cmpi sge, %page, %zero : i32
      cf.assert %exists, "table"
    }
  }
  return
}

// -----

// But what follows a number that another iteration checks waits for that.
// CHECK-LABEL: func.func @other_sequences
// CHECK-COUNT-2: gpu.launch
// CHECK: return
func.func @other_sequences(%next: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %b = %c0 to %n step %c1 {
    %place = memref.load %next[%b] : memref<?xindex>
    %inside = arith.cmpi ult, %place, %n : index
    cf.assert %inside, "next"
  }
  scf.for %b = %c0 to %n step %c1 {
    %place = memref.load %next[%b] : memref<?xindex>
    %after = memref.load %next[%place] : memref<?xindex>
    %is = arith.cmpi eq, %after, %b : index
    cf.assert %is, "pairs"
  }
  return
}

// -----

// Nor are places followed that other threads of the iteration check.
// CHECK-LABEL: func.func @other_threads
// CHECK-COUNT-2: gpu.launch
// CHECK: return
func.func @other_threads(%places: memref<?x?xindex>, %marks: memref<?x?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %b = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %place = memref.load %places[%b, %i] : memref<?x?xindex>
      %inside = arith.cmpi ult, %place, %n : index
      cf.assert %inside, "inside"
    }
  }
  scf.for %b = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      %place = memref.load %places[%b, %i] : memref<?x?xindex>
      %mark = memref.load %marks[%b, %place] : memref<?x?xindex>
      %is = arith.cmpi eq, %mark, %b : index
      cf.assert %is, "mark"
    }
  }
  return
}

// -----

// By no other operation either; and loops compare in one way.
// CHECK-LABEL: func.func @other_operations
// CHECK-COUNT-3: gpu.launch
// CHECK: return
func.func @other_operations(%next: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %b = %c0 to %n step %c1 {
    %place = memref.load %next[%b] : memref<?xindex>
    %inside = arith.cmpi ult, %place, %n : index
    cf.assert %inside, "next"
  }
  scf.for %b = %c0 to %n step %c1 {
    %place = memref.load %next[%b] : memref<?xindex>
    %after = vector.load %next[%place] : memref<?xindex>, vector<1xindex>
    %first = vector.extract %after[0] : index from vector<1xindex>
    %is = arith.cmpi eq, %first, %b : index
    cf.assert %is, "pairs"
  }
  scf.for unsigned %b = %c0 to %n step %c1 {
    %place = memref.load %next[%b] : memref<?xindex>
    %other = arith.cmpi ne, %place, %b : index
    cf.assert %other, "other"
  }
  return
}

// -----

// And so do checks on both sides of what is written, and of other numbers.
// CHECK-LABEL: func.func @apart
// CHECK: gpu.launch
// CHECK: cf.assert %{{.*}}, "before"
// CHECK: gpu.launch
// CHECK: gpu.launch
// CHECK: cf.assert %{{.*}}, "behind"
// CHECK: gpu.launch
// CHECK: cf.assert %{{.*}}, "fewer"
// CHECK: return
func.func @apart(%x: memref<?xindex>, %y: memref<?xindex>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %b = %c0 to %n step %c1 {
    %a = memref.load %x[%b] : memref<?xindex>
    %is = arith.cmpi ult, %a, %n : index
    cf.assert %is, "before"
  }
  scf.forall (%i) in (%n) {
    memref.store %i, %y[%i] : memref<?xindex>
  }
  scf.for %b = %c0 to %n step %c1 {
    %a = memref.load %x[%b] : memref<?xindex>
    %is = arith.cmpi ult, %a, %n : index
    cf.assert %is, "behind"
  }
  scf.for %b = %c0 to %m step %c1 {
    %a = memref.load %x[%b] : memref<?xindex>
    %is = arith.cmpi ult, %a, %n : index
    cf.assert %is, "fewer"
  }
  return
}

// -----

// What only memory tells the host is no number of workgroups: one has all iterations.
// CHECK-LABEL: func.func @ends_in_memory
// CHECK-SAME: %[[N:[^:]*]]: index, %[[X:[^:]*]]: memref<?xindex>
// CHECK-NOT: memref.load
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %[[ONE:c1[^0-9].]], %{{.*}} = %[[ONE]], %{{.*}} = %[[ONE]]) threads(%[[TX:[^,]*]], {{.*}}) in (%{{.*}} = %c128
// CHECK: %[[END:.*]] = memref.load %[[X]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[N]], %[[TX]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c128
// CHECK: cf.assert %{{.*}}, "each"
// CHECK: gpu.terminator
// CHECK-NOT: memref.load
// CHECK: return
func.func @ends_in_memory(%n: index, %x: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = memref.load %x[%c0] : memref<?xindex>
  scf.for %i = %n to %end step %c1 {
    %below = arith.cmpi sle, %i, %n : index
    cf.assert %below, "each"
  }
  return
}

// -----

// Of several outputs, with the element's place, and of no dimension.
// CHECK-LABEL: func.func @outputs
// CHECK-SAME: %[[X:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xindex>, %[[Z:[^:]*]]: memref<f32>
// CHECK: gpu.launch
// CHECK: %[[ELEMENT:.*]] = memref.load %[[X]][%[[I:.*]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[ELEMENT]], %[[ELEMENT]]
// CHECK: memref.store %[[SUM]], %[[X]][%[[I]]]
// CHECK: memref.store %[[I]], %[[Y]][%[[I]]]
// CHECK: gpu.launch
// CHECK: memref.load %[[Z]][]
// CHECK: memref.store %{{.*}}, %[[Z]][]
func.func @outputs(%x: memref<?xf32>, %y: memref<?xindex>, %z: memref<f32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} outs(%x, %y : memref<?xf32>, memref<?xindex>) {
  ^bb0(%a: f32, %b: index):
    %i = linalg.index 0 : index
    %s = arith.addf %a, %a : f32
    linalg.yield %s, %i : f32, index
  }
  linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []}
      outs(%z : memref<f32>) {
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

func.func @no_rows_of_a_warp(%n: index, %out: memref<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<32xf32>
  // expected-error @+1 {{expected a multiple of 16 as 'attn.warp_rows', got 0 : index}}
  scf.forall (%i) in (%n) {
    vector.transfer_write %zero, %out[%i, %c0] {in_bounds = [true]} : vector<32xf32>, memref<?x32xf32>
  } {attn.warp_rows = 0 : index}
  return
}

// -----

// A warp for each 32 rows, if the loop says so.
// CHECK-LABEL: func.func @tall_warps
// CHECK: gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c32
// CHECK: {attn.warp_rows = 32 : index}
func.func @tall_warps(%n: index, %out: memref<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%i) in (%n) {
    vector.transfer_write %zero, %out[%i, %c0] {in_bounds = [true]} : vector<32xf32>, memref<?x32xf32>
  } {attn.warp_rows = 32 : index}
  return
}

// -----

// Warps that share a workgroup are along y.
// CHECK-LABEL: func.func @shares
// CHECK: gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c32{{.*}}, %{{.*}} = %c4{{.*}}, %{{.*}} = %c1{{.*}})
// CHECK: scf.forall (%{{.*}}) in (4)
// CHECK: } {mapping = [#gpu.warp<linear_dim_0>]}
func.func @shares(%n: index, %out: memref<?x4x16xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%i) in (%n) {
    scf.forall (%w) in (4) {
      vector.transfer_write %zero, %out[%i, %w, %c0] {in_bounds = [true]} : vector<16xf32>, memref<?x4x16xf32>
    } {mapping = [#gpu.warp<linear_dim_0>]}
  }
  return
}

// -----

func.func @shares_of_two_warps(%n: index, %out: memref<?x4x32xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%i) in (%n) {
    // expected-error @+1 {{expected one loop over warps in a tile, with the rows of one warp, from 0 by 1 to a constant from 2 to 4}}
    scf.forall (%w) in (4) {
      vector.transfer_write %zero, %out[%i, %w, %c0] {in_bounds = [true]} : vector<32xf32>, memref<?x4x32xf32>
    } {mapping = [#gpu.warp<linear_dim_0>]}
  }
  return
}

// -----

func.func @shares_of_unknown_number(%n: index, %out: memref<?x?x16xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%i) in (%n) {
    // expected-error @+1 {{expected one loop over warps in a tile}}
    scf.forall (%w) in (%n) {
      vector.transfer_write %zero, %out[%i, %w, %c0] {in_bounds = [true]} : vector<16xf32>, memref<?x?x16xf32>
    } {mapping = [#gpu.warp<linear_dim_0>]}
  }
  return
}
