// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 256, vector_registers = 16}" -attn-vectorize-contractions -canonicalize | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions -canonicalize | FileCheck %s --check-prefix=MANY

// Addresses of what is fetched would take the few registers of the innermost loop,
// even where each of its iterations has a line to fetch: 16 steps fetch together.
// CHECK-LABEL: func.func @product
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c64 step %c16
// CHECK: memref.prefetch
// CHECK: scf.for %{{.*}} = %[[K]] to %{{.*}} step %c2
// CHECK-NOT: memref.prefetch
// CHECK: vector.fma
// MANY-LABEL: func.func @product
// MANY: scf.for %{{[^ ]*}} = %c0 to %c64 step %c2
// MANY: memref.prefetch
func.func @product(%rows: memref<1024x64xf32>, %a: memref<32x64xf32>,
                   %b: memref<64x16xf32>, %c: memref<32x16xf32>) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  attn.prefetch %rows[%c0] to %c256 spread : memref<1024x64xf32>
  linalg.matmul ins(%a, %b : memref<32x64xf32>, memref<64x16xf32>)
      outs(%c : memref<32x16xf32>)
  return
}

// -----

// Fewer than 16 steps fetch in each iteration.
// CHECK-LABEL: func.func @short
// CHECK: scf.for %{{[^ ]*}} = %c0 to %c8 step %c2
// CHECK: memref.prefetch
// CHECK: vector.fma
func.func @short(%rows: memref<1024x64xf32>, %a: memref<32x8xf32>,
                 %b: memref<8x16xf32>, %c: memref<32x16xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  attn.prefetch %rows[%c0] to %c32 spread : memref<1024x64xf32>
  linalg.matmul ins(%a, %b : memref<32x8xf32>, memref<8x16xf32>)
      outs(%c : memref<32x16xf32>)
  return
}

// -----

// Shares of three lines become rows of four, which have one address. There are more
// shares than rows, the last of which comes again.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c64 step %c16
// CHECK: %[[ROW:.*]] = arith.minui %{{.*}}, %c15
// CHECK-NEXT: memref.prefetch %{{.*}}[%[[ROW]], %c0]
// CHECK-NEXT: memref.prefetch %{{.*}}[%[[ROW]], %c16]
// CHECK-NEXT: memref.prefetch %{{.*}}[%[[ROW]], %c32]
// CHECK-NEXT: memref.prefetch %{{.*}}[%[[ROW]], %c48]
// CHECK: vector.fma
func.func @rows(%rows: memref<1024x64xf32>, %a: memref<32x64xf32>,
                %b: memref<64x16xf32>, %c: memref<32x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  attn.prefetch %rows[%c0] to %c16 spread : memref<1024x64xf32>
  linalg.matmul ins(%a, %b : memref<32x64xf32>, memref<64x16xf32>)
      outs(%c : memref<32x16xf32>)
  return
}
