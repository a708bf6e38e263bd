// RUN: attn-opt %s --attn-convert-ranks-to-runtime | FileCheck %s

// CHECK-LABEL: func @block(
// CHECK-DAG: llvm.alloca %{{.*}} x !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
// CHECK: llvm.call @attn_rt_rank_index
// CHECK: llvm.call @attn_rt_rank_block
// CHECK: llvm.load
// CHECK-NOT: attn.
func.func @block(%step: index, %key: memref<1x2x?x64xf16>, %value: memref<1x2x?x32xf16>,
                 %spans: memref<4x4xindex>, %rows: index)
    -> (index, memref<1x2x?x64xf16, strided<[?, ?, ?, 1]>>,
        memref<1x2x?x32xf16, strided<[?, ?, ?, 1]>>) {
  %me = attn.rank_index stride 2 size 4
  %k, %v = attn.rank_block %step of(%key, %value : memref<1x2x?x64xf16>, memref<1x2x?x32xf16>)
      spans(%spans : memref<4x4xindex>) rows(%rows) stride 2
      -> memref<1x2x?x64xf16, strided<[?, ?, ?, 1]>>, memref<1x2x?x32xf16, strided<[?, ?, ?, 1]>>
  return %me, %k, %v : index, memref<1x2x?x64xf16, strided<[?, ?, ?, 1]>>,
      memref<1x2x?x32xf16, strided<[?, ?, ?, 1]>>
}

// The bytes of a part.
// CHECK-LABEL: func @gather(
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(8 : i64)
// CHECK: %[[ALL:.*]] = llvm.mul %{{.*}}, %[[BYTES]]
// CHECK: llvm.call @attn_rt_all_gather(%{{.*}}, %{{.*}}, %[[ALL]],
func.func @gather(%part: memref<?xi64>, %all: memref<4x?xi64>) {
  attn.all_gather ins(%part : memref<?xi64>) outs(%all : memref<4x?xi64>) stride 1
  return
}

// The number of elements, and the bytes of each.
// CHECK-LABEL: func @reduce(
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(8 : i64)
// CHECK: llvm.call @attn_rt_all_reduce(%{{.*}}, %{{.*}}, %{{.*}}, %[[BYTES]],
// CHECK-NOT: attn.
func.func @reduce(%part: memref<2x?xf64>, %sum: memref<2x?xf64>) {
  attn.all_reduce ins(%part : memref<2x?xf64>) outs(%sum : memref<2x?xf64>) stride 1 size 2
  return
}

// The number of rows, the elements of each, and the bytes of one.
// CHECK-LABEL: func @merge(
// CHECK-DAG: %[[SIZE:.*]] = llvm.mlir.constant(16 : i64)
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: llvm.call @attn_rt_all_merge(%{{.*}}, %{{.*}}, %{{.*}}, %[[SIZE]], %[[BYTES]],
// CHECK-NOT: attn.
func.func @merge(%output: memref<?x2x3x16xf32>, %lse: memref<?x2x3xf32>) {
  attn.all_merge ins(%output, %lse : memref<?x2x3x16xf32>, memref<?x2x3xf32>)
      outs(%output, %lse : memref<?x2x3x16xf32>, memref<?x2x3xf32>) stride 1 size 2
  return
}

// CHECK-LABEL: func @sums(
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: llvm.call @attn_rt_rank_sums(%{{.*}}, %{{.*}}, %[[SIZE]], %{{.*}}, %[[BYTES]],
// CHECK-NOT: attn.
func.func @sums(%step: index, %block: memref<1x2x?x64xf32>, %spans: memref<4x4xindex>,
                %sums: memref<1x2x8x64xf32, strided<[?, ?, ?, ?]>>) {
  attn.rank_sums %step of(%block, %block : memref<1x2x?x64xf32>, memref<1x2x?x64xf32>)
      spans(%spans : memref<4x4xindex>)
      outs(%sums, %sums : memref<1x2x8x64xf32, strided<[?, ?, ?, ?]>>, memref<1x2x8x64xf32, strided<[?, ?, ?, ?]>>)
      stride 1
  return
}

// The number of the kind, and the bytes of an element.
// CHECK-LABEL: func @reshard(
// CHECK: llvm.mlir.constant(4 : i64)
// CHECK: %[[KIND:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: llvm.call @attn_rt_reshard(%{{.*}}, %{{.*}}, %[[KIND]], %[[BYTES]],
// CHECK-NOT: attn.
func.func @reshard(%part: memref<1x2x?x64xf16, strided<[?, ?, ?, 1]>>, %result: memref<1x8x?x64xf16>,
                   %bounds: memref<5xindex>) {
  attn.reshard heads_to_rows ins(%part : memref<1x2x?x64xf16, strided<[?, ?, ?, 1]>>)
      outs(%result : memref<1x8x?x64xf16>) bounds(%bounds : memref<5xindex>) stride 1 size 4
  return
}
