// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 256, vector_registers = 16}" -attn-vectorize-contractions -canonicalize -cse | FileCheck %s --check-prefix=AVX2

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Each product fetches its share of the next panel, or after the last one of the
// first panel's next steps, and of the next steps of its own pack: 6 rows of the
// panel and 86 of the pack, two lines of each in 16 steps.
// CHECK-LABEL: func.func @panels(
// CHECK-SAME: %[[ROWS:[^:]*]]: memref<57x2048x6xf32>, %[[W:[^:]*]]: memref<4x2048x64xf32>
// CHECK-SAME: %[[AT:[^:]*]]: index
// CHECK: scf.for %[[PANEL:[^ ]*]] = %c0 to %c4
// CHECK: scf.for %[[PACK:[^ ]*]] = %c0 to %c57
// CHECK: %[[NEXT:.*]] = arith.addi %[[PANEL]], %c1
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[NEXT]], %c4
// CHECK: %[[LATER:.*]] = arith.select %[[EXISTS]], %[[NEXT]], %c0
// CHECK: %[[STEP:.*]] = arith.select %[[EXISTS]], %[[AT]], %{{.*}}
// CHECK: %[[NEXT_PANEL:.*]] = memref.subview %[[W]][%[[LATER]], %[[STEP]], 0] [1, 342, 64]
// CHECK: %[[NEXT_PACK:.*]] = memref.subview %[[ROWS]][%[[PACK]], %{{.*}}, 0] [1, 342, 6]
// CHECK: arith.muli %[[PACK]], %c6
// CHECK: arith.muli %[[PANEL]], %c86
// CHECK: scf.for %{{[^ ]*}} = %c0 to %c336 step %c16
// CHECK-COUNT-2: memref.prefetch %[[NEXT_PANEL]][{{.*}} read, locality<2>
// CHECK-COUNT-2: memref.prefetch %[[NEXT_PACK]][{{.*}} read, locality<2>
// CHECK-NOT: memref.prefetch
// CHECK: scf.for
// CHECK-NOT: memref.prefetch
// CHECK: scf.yield

// Of four blocks of registers, each has a fourth of a product's share.
// AVX2-LABEL: func.func @panels(
// AVX2: memref.prefetch
// AVX2: memref.prefetch
// AVX2-NOT: memref.prefetch
// AVX2: return
func.func @panels(%rows: memref<57x2048x6xf32>, %w: memref<4x2048x64xf32>,
                  %sums: memref<4x57x6x64xf32>, %at: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c57 = arith.constant 57 : index
  scf.for %j = %c0 to %c4 step %c1 {
    %b = memref.subview %w[%j, %at, 0] [1, 342, 64] [1, 1, 1]
        : memref<4x2048x64xf32> to memref<342x64xf32, strided<[64, 1], offset: ?>>
    scf.for %i = %c0 to %c57 step %c1 {
      %a = memref.subview %rows[%i, %at, 0] [1, 342, 6] [1, 1, 1]
          : memref<57x2048x6xf32> to memref<342x6xf32, strided<[6, 1], offset: ?>>
      %c = memref.subview %sums[%j, %i, 0, 0] [1, 1, 6, 64] [1, 1, 1, 1]
          : memref<4x57x6x64xf32> to memref<6x64xf32, strided<[64, 1], offset: ?>>
      linalg.generic {indexing_maps = [#a, #b, #c],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : memref<342x6xf32, strided<[6, 1], offset: ?>>,
                       memref<342x64xf32, strided<[64, 1], offset: ?>>)
          outs(%c : memref<6x64xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32, %sum: f32):
        %0 = arith.mulf %x, %y : f32
        %1 = arith.addf %sum, %0 : f32
        linalg.yield %1 : f32
      }
    }
  }
  return
}

// -----

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// After the last steps come no others, neither of packs nor of the first panel.
// CHECK-LABEL: func.func @last(
// CHECK-SAME: %{{[^:]*}}: memref<57x2048x6xf32>, %[[W:[^:]*]]: memref<4x2048x64xf32>
// CHECK: scf.for %[[PANEL:[^ ]*]] = %c0 to %c4
// CHECK: %[[LATER:.*]] = arith.select %{{.*}}, %{{.*}}, %[[PANEL]]
// CHECK: %[[NEXT:.*]] = memref.subview %[[W]][%[[LATER]], 1706, 0] [1, 342, 64]
// CHECK-COUNT-2: memref.prefetch %[[NEXT]][{{.*}} read, locality<2>
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @last(%rows: memref<57x2048x6xf32>, %w: memref<4x2048x64xf32>,
                %sums: memref<4x57x6x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c57 = arith.constant 57 : index
  scf.for %j = %c0 to %c4 step %c1 {
    %b = memref.subview %w[%j, 1706, 0] [1, 342, 64] [1, 1, 1]
        : memref<4x2048x64xf32> to memref<342x64xf32, strided<[64, 1], offset: ?>>
    scf.for %i = %c0 to %c57 step %c1 {
      %a = memref.subview %rows[%i, 1706, 0] [1, 342, 6] [1, 1, 1]
          : memref<57x2048x6xf32> to memref<342x6xf32, strided<[6, 1], offset: ?>>
      %c = memref.subview %sums[%j, %i, 0, 0] [1, 1, 6, 64] [1, 1, 1, 1]
          : memref<4x57x6x64xf32> to memref<6x64xf32, strided<[64, 1], offset: ?>>
      linalg.generic {indexing_maps = [#a, #b, #c],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : memref<342x6xf32, strided<[6, 1], offset: ?>>,
                       memref<342x64xf32, strided<[64, 1], offset: ?>>)
          outs(%c : memref<6x64xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32, %sum: f32):
        %0 = arith.mulf %x, %y : f32
        %1 = arith.addf %sum, %0 : f32
        linalg.yield %1 : f32
      }
    }
  }
  return
}

// -----

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Of an unknown number of packs, none has a share of the panel.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[ROWS:[^:]*]]: memref<?x2048x6xf32>
// CHECK: memref.subview %[[ROWS]]
// CHECK: %[[NEXT:.*]] = memref.subview %[[ROWS]]
// CHECK-COUNT-2: memref.prefetch %[[NEXT]][{{.*}} read, locality<2>
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @dynamic(%rows: memref<?x2048x6xf32>, %w: memref<4x2048x64xf32>,
                   %sums: memref<4x57x6x64xf32>, %at: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %j = %c0 to %c4 step %c1 {
    %b = memref.subview %w[%j, %at, 0] [1, 342, 64] [1, 1, 1]
        : memref<4x2048x64xf32> to memref<342x64xf32, strided<[64, 1], offset: ?>>
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.subview %rows[%i, %at, 0] [1, 342, 6] [1, 1, 1]
          : memref<?x2048x6xf32> to memref<342x6xf32, strided<[6, 1], offset: ?>>
      %c = memref.subview %sums[%j, %i, 0, 0] [1, 1, 6, 64] [1, 1, 1, 1]
          : memref<4x57x6x64xf32> to memref<6x64xf32, strided<[64, 1], offset: ?>>
      linalg.generic {indexing_maps = [#a, #b, #c],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : memref<342x6xf32, strided<[6, 1], offset: ?>>,
                       memref<342x64xf32, strided<[64, 1], offset: ?>>)
          outs(%c : memref<6x64xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32, %sum: f32):
        %0 = arith.mulf %x, %y : f32
        %1 = arith.addf %sum, %0 : f32
        linalg.yield %1 : f32
      }
    }
  }
  return
}

// -----

#a = affine_map<(m, n, k) -> (k, m)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// A panel that the first-level cache holds is left to it.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @small(%rows: memref<57x2048x6xf32>, %w: memref<4x2048x64xf32>,
                 %sums: memref<4x57x6x64xf32>, %at: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c57 = arith.constant 57 : index
  scf.forall (%tile) in (2) {
  scf.for %j = %c0 to %c4 step %c1 {
    %b = memref.subview %w[%j, %at, 0] [1, 128, 64] [1, 1, 1]
        : memref<4x2048x64xf32> to memref<128x64xf32, strided<[64, 1], offset: ?>>
    scf.for %i = %c0 to %c57 step %c1 {
      %a = memref.subview %rows[%i, %at, 0] [1, 128, 6] [1, 1, 1]
          : memref<57x2048x6xf32> to memref<128x6xf32, strided<[6, 1], offset: ?>>
      %c = memref.subview %sums[%j, %i, 0, 0] [1, 1, 6, 64] [1, 1, 1, 1]
          : memref<4x57x6x64xf32> to memref<6x64xf32, strided<[64, 1], offset: ?>>
      linalg.generic {indexing_maps = [#a, #b, #c],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : memref<128x6xf32, strided<[6, 1], offset: ?>>,
                       memref<128x64xf32, strided<[64, 1], offset: ?>>)
          outs(%c : memref<6x64xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: f32, %y: f32, %sum: f32):
        %0 = arith.mulf %x, %y : f32
        %1 = arith.addf %sum, %0 : f32
        linalg.yield %1 : f32
      }
    }
  }
  }
  return
}
