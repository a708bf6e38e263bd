// RUN: attn-opt %s -attn-distribute-to-lanes -split-input-file -verify-diagnostics

func.func @threads(%n: index) {
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{expected a constant number of threads that is a multiple of 32}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}

// -----

func.func @layout(%out: memref<i1>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @+1 {{'arith.constant' op has no layout in lanes for 'vector<32x8xf32>', in tiles of 16 rows}}
    %x = arith.constant dense<1.0> : vector<32x8xf32>
    %y = arith.addf %x, %x : vector<32x8xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @operation(%x: f32) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %v = vector.broadcast %x : f32 to vector<16x16xf32>
    // expected-error @+1 {{'vector.transpose' op has no form for lanes of a GPU}}
    %t = vector.transpose %v, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

// Of columns from a multiple of 8 on.
func.func @slice(%x: f32) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %v = vector.broadcast %x : f32 to vector<16x16xf32>
    // expected-error @+1 {{'vector.extract_strided_slice' op has no form for lanes of a GPU}}
    %t = vector.extract_strided_slice %v {offsets = [0, 4], sizes = [16, 8], strides = [1, 1]} : vector<16x16xf32> to vector<16x8xf32>
    gpu.terminator
  }
  return
}

// -----

// Sums of rows, not of columns.
func.func @reduction(%x: f32, %y: f32) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %v = vector.broadcast %x : f32 to vector<16x16xf32>
    %w = vector.broadcast %y : f32 to vector<16xf32>
    // expected-error @+1 {{'vector.multi_reduction' op has no form for lanes of a GPU}}
    %t = vector.multi_reduction <add>, %v, %w [0] : vector<16x16xf32> to vector<16xf32>
    gpu.terminator
  }
  return
}

// -----

// It would be of columns, where a vector of rank 1 has what its rows have.
func.func @broadcast(%x: f32) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %v = vector.broadcast %x : f32 to vector<16xf32>
    // expected-error @+1 {{'vector.broadcast' op has no form for lanes of a GPU}}
    %w = vector.broadcast %v : vector<16xf32> to vector<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @iterations(%n: index, %x: f32, %out: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @+1 {{'scf.forall' op has no form for lanes of a GPU}}
    scf.forall (%i) in (%n) {
      memref.store %x, %out[%i] : memref<?xf32>
    }
    gpu.terminator
  }
  return
}

// -----

func.func @vector_in_an_iteration(%x: f32, %out: memref<vector<16xf32>>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @+1 {{'scf.forall' op has no form for lanes of a GPU}}
    scf.forall (%i) in (16) {
      %v = vector.broadcast %x : f32 to vector<16xf32>
      memref.store %v, %out[] : memref<vector<16xf32>>
    }
    gpu.terminator
  }
  return
}

// -----

func.func @rows_of_a_warp() {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  // expected-error @+1 {{expected a multiple of 16 as 'attn.warp_rows', got 24 : index}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    gpu.terminator
  } {attn.warp_rows = 24 : index}
  return
}

// -----

// Two warps are no warpgroup.
func.func @panels(%x: memref<32x64xf16>, %out: memref<32x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %h0 = arith.constant 0.0 : f16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %zero = arith.constant dense<0.0> : vector<32x16xf32>
    %q = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<32x64xf16>, vector<32x64xf16>
    %keys = memref.alloca() : memref<1x16x64xf16, #gpu.address_space<workgroup>>
    // expected-error @+1 {{'attn.read_panels' op has no form for lanes of a GPU}}
    %k = attn.read_panels %keys : memref<1x16x64xf16, #gpu.address_space<workgroup>> to vector<16x64xf16>
    %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %q, %k, %zero : vector<32x64xf16>, vector<16x64xf16> into vector<32x16xf32>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<32x16xf32>, memref<32x16xf32>
    gpu.terminator
  }
  return
}

// -----

// A first factor in panels, of a product of warps.
func.func @queries_in_panels(%y: memref<16x64xf16, #gpu.address_space<workgroup>>, %out: memref<64x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %h0 = arith.constant 0.0 : f16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %queries = memref.alloca() {alignment = 1024 : i64} : memref<1x64x64xf16, #gpu.address_space<workgroup>>
    %zero = arith.constant dense<0.0> : vector<64x16xf32>
    %q = attn.read_panels %queries : memref<1x64x64xf16, #gpu.address_space<workgroup>> to vector<64x64xf16>
    %k = vector.transfer_read %y[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<16x64xf16, #gpu.address_space<workgroup>>, vector<16x64xf16>
    // expected-error @below {{'vector.contract' op has no form for lanes of a GPU}}
    %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %q, %k, %zero : vector<64x64xf16>, vector<16x64xf16> into vector<64x16xf32>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x16xf32>, memref<64x16xf32>
    gpu.terminator
  }
  return
}

// -----

// A first factor in workgroup memory, but not in panels, of one of warpgroups.
func.func @queries_in_rows(%x: memref<64x64xf16, #gpu.address_space<workgroup>>, %out: memref<64x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %h0 = arith.constant 0.0 : f16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %keys = memref.alloca() {alignment = 1024 : i64} : memref<1x16x64xf16, #gpu.address_space<workgroup>>
    %zero = arith.constant dense<0.0> : vector<64x16xf32>
    %q = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<64x64xf16, #gpu.address_space<workgroup>>, vector<64x64xf16>
    %k = attn.read_panels %keys : memref<1x16x64xf16, #gpu.address_space<workgroup>> to vector<16x64xf16>
    // expected-error @below {{'vector.contract' op has no form for lanes of a GPU}}
    %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %q, %k, %zero : vector<64x64xf16>, vector<16x64xf16> into vector<64x16xf32>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x16xf32>, memref<64x16xf32>
    gpu.terminator
  }
  return
}

// -----

// Other warps than the launch has.
func.func @two_of_four(%out: memref<4xi1>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c4, %sz = %c1) {
    // expected-error @below {{expected as many warps as the launch has along y, at least 2, in its body, each along x}}
    scf.forall (%w) in (2) {
      memref.store %true, %out[%w] : memref<4xi1>
    } {mapping = [#gpu.warp<linear_dim_0>]}
    gpu.terminator
  }
  return
}

// -----

// A barrier of all, in a loop of which each warp may have another number of iterations.
func.func @barrier_in_loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c4, %sz = %c1) {
    %own = memref.alloc() : memref<16xf32, #gpu.address_space<workgroup>>
    scf.forall (%w) in (4) {
      scf.for %i = %w to %n step %c1 {
        // expected-error @below {{has no form for lanes of a GPU}}
        vector.transfer_write %zero, %own[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32, #gpu.address_space<workgroup>>
      }
    } {mapping = [#gpu.warp<linear_dim_0>]}
    %x = memref.load %own[%c1] : memref<16xf32, #gpu.address_space<workgroup>>
    memref.store %x, %own[%c0] : memref<16xf32, #gpu.address_space<workgroup>>
    gpu.terminator
  }
  return
}
