// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-vectorize-contractions -canonicalize -cse | FileCheck %s

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// The sum of a residual is stored during the steps of the next product, two rows in
// each, of 18 steps all but the last two. A pack of fewer rows, which may only be the
// last, is stored at once, and the last one behind the loop.
// CHECK-LABEL: func.func @residual(
// CHECK-SAME: %[[PACKS:[^ ]*]]: index) {
// CHECK: scf.for %[[PACK:[^ ]*]] = %c0 to %[[PACKS]]
// CHECK-DAG: %[[EXISTS:.*]] = arith.cmpi ne, %[[PACK]], %c0
// CHECK-DAG: %[[BEFORE:.*]] = arith.subi %[[PACK]], %c1
// CHECK-DAG: arith.select %[[EXISTS]], %[[BEFORE]], %[[PACK]]
// CHECK: %[[WHOLE:.*]] = arith.cmpi eq, %{{.*}}, %c32
// CHECK: %[[PART:.*]] = arith.cmpi ne, %{{.*}}, %c32
// CHECK: %[[AT_ONCE:.*]] = arith.andi %[[EXISTS]], %[[PART]]
// CHECK: scf.if %[[AT_ONCE]]
// CHECK-NEXT: linalg.generic
// CHECK: %[[IN_STEPS:.*]] = arith.andi %[[EXISTS]], %[[WHOLE]]
// CHECK: scf.for %[[STEP:[^ ]*]] = %c0 to %c18
// CHECK: %[[ROW:.*]] = arith.muli %[[STEP]], %c2
// CHECK: %[[IS_ROW:.*]] = arith.cmpi ult, %[[ROW]]
// CHECK: %[[STORED:.*]] = arith.andi %[[IS_ROW]], %[[IN_STEPS]]
// CHECK: scf.if %[[STORED]]
// CHECK: memref.subview %{{.*}}[%[[ROW]], 0] [2, 32] [1, 1]
// CHECK: linalg.generic
// CHECK: amx.tile_mulf
// CHECK: amx.tile_store
// CHECK-NOT: linalg.generic
// CHECK: arith.cmpi sgt, %[[PACKS]], %c0
// CHECK: scf.if
// CHECK: arith.subi %[[PACKS]], %c1
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @residual(%rows: memref<?x18x32x16x2xbf16>, %w: memref<18x16x32x2xbf16>,
                 %residual: memref<?x64xf32>, %out: memref<?x64xf32>,
                 %other: memref<32x32xf32>, %n: index, %packs: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloca() : memref<32x32xf32>
  scf.for %i = %c0 to %packs step %c1 {
    %a = memref.subview %rows[%i, 0, 0, 0, 0] [1, 18, 32, 16, 2] [1, 1, 1, 1, 1]
        : memref<?x18x32x16x2xbf16> to memref<18x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%sums : memref<32x32xf32>)
    linalg.generic {indexing_maps = [#a, #b, #c],
        iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%a, %w : memref<18x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>,
                     memref<18x16x32x2xbf16>)
        outs(%sums : memref<32x32xf32>) {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.extf %y : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %count = affine.min affine_map<(d0)[s0] -> (32, s0 - d0 * 32)>(%i)[%n]
    %r = memref.subview %residual[%row, 0] [%count, 32] [1, 1]
        : memref<?x64xf32> to memref<?x32xf32, strided<[64, 1], offset: ?>>
    %to = memref.subview %out[%row, 0] [%count, 32] [1, 1]
        : memref<?x64xf32> to memref<?x32xf32, strided<[64, 1], offset: ?>>
    %s = memref.subview %sums[0, 0] [%count, 32] [1, 1]
        : memref<32x32xf32> to memref<?x32xf32, strided<[32, 1]>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s, %r : memref<?x32xf32, strided<[32, 1]>>, memref<?x32xf32, strided<[64, 1], offset: ?>>)
        outs(%to : memref<?x32xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %0 = arith.addf %x, %y : f32
        linalg.yield %0 : f32
    }
  }
  return
}

// -----

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// A store that reads nothing else follows the product.
// CHECK-LABEL: func.func @conversion(
// CHECK: amx.tile_mulf
// CHECK-NOT: scf.if
// CHECK: amx.tile_store
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @conversion(%rows: memref<?x18x32x16x2xbf16>, %w: memref<18x16x32x2xbf16>,
                 %residual: memref<?x64xf32>, %out: memref<?x64xf32>,
                 %other: memref<32x32xf32>, %n: index, %packs: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloca() : memref<32x32xf32>
  scf.for %i = %c0 to %packs step %c1 {
    %a = memref.subview %rows[%i, 0, 0, 0, 0] [1, 18, 32, 16, 2] [1, 1, 1, 1, 1]
        : memref<?x18x32x16x2xbf16> to memref<18x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%sums : memref<32x32xf32>)
    linalg.generic {indexing_maps = [#a, #b, #c],
        iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%a, %w : memref<18x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>,
                     memref<18x16x32x2xbf16>)
        outs(%sums : memref<32x32xf32>) {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.extf %y : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %count = affine.min affine_map<(d0)[s0] -> (32, s0 - d0 * 32)>(%i)[%n]
    %r = memref.subview %residual[%row, 0] [%count, 32] [1, 1]
        : memref<?x64xf32> to memref<?x32xf32, strided<[64, 1], offset: ?>>
    %to = memref.subview %out[%row, 0] [%count, 32] [1, 1]
        : memref<?x64xf32> to memref<?x32xf32, strided<[64, 1], offset: ?>>
    %s = memref.subview %sums[0, 0] [%count, 32] [1, 1]
        : memref<32x32xf32> to memref<?x32xf32, strided<[32, 1]>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s : memref<?x32xf32, strided<[32, 1]>>)
        outs(%to : memref<?x32xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: f32, %o: f32):
        linalg.yield %x : f32
    }
  }
  return
}

// -----

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// And so does one in a loop that does something else as well.
// CHECK-LABEL: func.func @other(
// CHECK: linalg.fill
// CHECK: amx.tile_mulf
// CHECK-NOT: scf.if
// CHECK: amx.tile_store
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @other(%rows: memref<?x18x32x16x2xbf16>, %w: memref<18x16x32x2xbf16>,
                 %residual: memref<?x64xf32>, %out: memref<?x64xf32>,
                 %other: memref<32x32xf32>, %n: index, %packs: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloca() : memref<32x32xf32>
  scf.for %i = %c0 to %packs step %c1 {
    %a = memref.subview %rows[%i, 0, 0, 0, 0] [1, 18, 32, 16, 2] [1, 1, 1, 1, 1]
        : memref<?x18x32x16x2xbf16> to memref<18x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%other : memref<32x32xf32>)
    linalg.fill ins(%zero : f32) outs(%sums : memref<32x32xf32>)
    linalg.generic {indexing_maps = [#a, #b, #c],
        iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%a, %w : memref<18x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>,
                     memref<18x16x32x2xbf16>)
        outs(%sums : memref<32x32xf32>) {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.extf %y : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %count = affine.min affine_map<(d0)[s0] -> (32, s0 - d0 * 32)>(%i)[%n]
    %r = memref.subview %residual[%row, 0] [%count, 32] [1, 1]
        : memref<?x64xf32> to memref<?x32xf32, strided<[64, 1], offset: ?>>
    %to = memref.subview %out[%row, 0] [%count, 32] [1, 1]
        : memref<?x64xf32> to memref<?x32xf32, strided<[64, 1], offset: ?>>
    %s = memref.subview %sums[0, 0] [%count, 32] [1, 1]
        : memref<32x32xf32> to memref<?x32xf32, strided<[32, 1]>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s, %r : memref<?x32xf32, strided<[32, 1]>>, memref<?x32xf32, strided<[64, 1], offset: ?>>)
        outs(%to : memref<?x32xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %0 = arith.addf %x, %y : f32
        linalg.yield %0 : f32
    }
  }
  return
}

// -----

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// And so does one whose elements are not those of their operands alone: in parts, or
// behind the loop, they would have other positions.
// CHECK-LABEL: func.func @positions(
// CHECK: amx.tile_mulf
// CHECK-NOT: scf.if
// CHECK: amx.tile_store
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @positions(%rows: memref<?x18x32x16x2xbf16>, %w: memref<18x16x32x2xbf16>,
                 %residual: memref<?x64xf32>, %out: memref<?x64xf32>,
                 %n: index, %packs: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloca() : memref<32x32xf32>
  scf.for %i = %c0 to %packs step %c1 {
    %a = memref.subview %rows[%i, 0, 0, 0, 0] [1, 18, 32, 16, 2] [1, 1, 1, 1, 1]
        : memref<?x18x32x16x2xbf16> to memref<18x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%sums : memref<32x32xf32>)
    linalg.generic {indexing_maps = [#a, #b, #c],
        iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%a, %w : memref<18x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>,
                     memref<18x16x32x2xbf16>)
        outs(%sums : memref<32x32xf32>) {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.extf %y : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    %row = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
    %count = affine.min affine_map<(d0)[s0] -> (32, s0 - d0 * 32)>(%i)[%n]
    %r = memref.subview %residual[%row, 0] [%count, 32] [1, 1]
        : memref<?x64xf32> to memref<?x32xf32, strided<[64, 1], offset: ?>>
    %to = memref.subview %out[%row, 0] [%count, 32] [1, 1]
        : memref<?x64xf32> to memref<?x32xf32, strided<[64, 1], offset: ?>>
    %s = memref.subview %sums[0, 0] [%count, 32] [1, 1]
        : memref<32x32xf32> to memref<?x32xf32, strided<[32, 1]>>
    linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s, %r : memref<?x32xf32, strided<[32, 1]>>, memref<?x32xf32, strided<[64, 1], offset: ?>>)
        outs(%to : memref<?x32xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %p = linalg.index 0 : index
        %position = arith.addi %p, %row : index
        %number = arith.index_cast %position : index to i32
        %float = arith.sitofp %number : i32 to f32
        %scaled = arith.mulf %y, %float : f32
        %0 = arith.addf %x, %scaled : f32
        linalg.yield %0 : f32
    }
  }
  return
}
