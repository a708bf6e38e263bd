// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-vectorize-contractions -canonicalize -cse | FileCheck %s

#pack = affine_map<(d, q, t, p, e) -> (t, d, p, e)>
#weight = affine_map<(d, q, t, p, e) -> (t, p, q, e)>
#sum = affine_map<(d, q, t, p, e) -> (d, q)>

// The first sums are not read: whether they are the first is asked once more.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: {{.*}}%[[C:[^:,]*]]: memref<32x32xf32>, %[[FIRST:[^:]*]]: i1
// CHECK-NOT: linalg.fill
// CHECK: %[[START:.*]]:4 = scf.if %[[FIRST]]
// CHECK-COUNT-4: amx.tile_zero
// CHECK: } else {
// CHECK-COUNT-4: amx.tile_load %[[C]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[START]]#0
func.func @whole(%v: memref<?x32x16x2xbf16>, %w: memref<?x16x32x2xbf16>,
                 %c: memref<32x32xf32>, %first: i1, %factor: f32) {
  %zero = arith.constant 0.0 : f32
  scf.if %first {
    linalg.fill ins(%zero : f32) outs(%c : memref<32x32xf32>)
  } else {
    linalg.generic {indexing_maps = [affine_map<(d, q) -> (d, q)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<32x32xf32>) {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %factor : f32
      linalg.yield %y : f32
    }
  }
  linalg.generic {indexing_maps = [#pack, #weight, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%v, %w : memref<?x32x16x2xbf16>, memref<?x16x32x2xbf16>) outs(%c : memref<32x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %xy = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %xy : f32
    linalg.yield %t : f32
  }
  return
}

// The last 8 rows fill no tile, and are added to zeros in memory.
// CHECK-LABEL: func.func @rest
// CHECK: linalg.fill
// CHECK-NOT: amx.tile_zero
func.func @rest(%v: memref<?x40x16x2xbf16>, %w: memref<?x16x32x2xbf16>,
                %c: memref<40x32xf32>, %first: i1, %factor: f32) {
  %zero = arith.constant 0.0 : f32
  scf.if %first {
    linalg.fill ins(%zero : f32) outs(%c : memref<40x32xf32>)
  } else {
    linalg.generic {indexing_maps = [affine_map<(d, q) -> (d, q)>], iterator_types = ["parallel", "parallel"]} outs(%c : memref<40x32xf32>) {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %factor : f32
      linalg.yield %y : f32
    }
  }
  linalg.generic {indexing_maps = [#pack, #weight, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%v, %w : memref<?x40x16x2xbf16>, memref<?x16x32x2xbf16>) outs(%c : memref<40x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %xy = arith.mulf %xw, %yw : f32
    %t = arith.addf %s, %xy : f32
    linalg.yield %t : f32
  }
  return
}
