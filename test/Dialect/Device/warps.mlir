// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func.func @panels
func.func @panels(%keys: memref<2x24x64xbf16>, %values: memref<1x16x64xf16, 3>) {
  // CHECK: attn.read_panels %{{.*}} : memref<2x24x64xbf16> to vector<24x128xbf16>
  %0 = attn.read_panels %keys : memref<2x24x64xbf16> to vector<24x128xbf16>
  // CHECK: attn.read_panels %{{.*}} : memref<1x16x64xf16, 3> to vector<16x64xf16>
  %1 = attn.read_panels %values : memref<1x16x64xf16, 3> to vector<16x64xf16>
  return
}

// CHECK-LABEL: func.func @products
// CHECK-SAME: %[[A:.*]]: vector<2xf16>, %[[B:.*]]: vector<2xbf16>, %[[RHS:.*]]: i64, %[[C:.*]]: f32
func.func @products(%a: vector<2xf16>, %b: vector<2xbf16>, %rhs: i64, %c: f32)
    -> (f32, f32) {
  // CHECK: %[[P:.*]]:4 = attn.warpgroup_mma lhs(%[[A]], %[[A]], %[[A]], %[[A]] : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
  // CHECK-SAME: rhs(%[[RHS]]) columns 8 steps [0] : f32, f32, f32, f32
  %p:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
      rhs(%rhs) columns 8 steps [0] : f32, f32, f32, f32
  // CHECK: %[[Q:.*]]:4 = attn.warpgroup_mma lhs(%[[B]], %[[B]], %[[B]], %[[B]], %[[B]], %[[B]], %[[B]], %[[B]] : vector<2xbf16>,
  // CHECK-SAME: rhs(%[[RHS]]) transposed sums(%[[C]], %[[C]], %[[C]], %[[C]] : f32, f32, f32, f32) columns 8 steps [0, 128] : f32, f32, f32, f32
  %q:4 = attn.warpgroup_mma
      lhs(%b, %b, %b, %b, %b, %b, %b, %b
          : vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>,
            vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>)
      rhs(%rhs) transposed sums(%c, %c, %c, %c : f32, f32, f32, f32)
      columns 8 steps [0, 128] : f32, f32, f32, f32
  // CHECK: %[[FIRST:.*]]:4 = attn.warpgroup_wait %[[P]]#0, %[[P]]#1, %[[P]]#2, %[[P]]#3 pending 1 : f32, f32, f32, f32
  %first:4 = attn.warpgroup_wait %p#0, %p#1, %p#2, %p#3 pending 1 : f32, f32, f32, f32
  // CHECK: %[[SECOND:.*]] = attn.warpgroup_wait %[[Q]]#3 pending 0 : f32
  %second = attn.warpgroup_wait %q#3 pending 0 : f32
  // CHECK: return %[[FIRST]]#2, %[[SECOND]]
  return %first#2, %second : f32, f32
}

// CHECK-LABEL: func.func @both_in_memory
// CHECK-SAME: %[[LHS:.*]]: i64, %[[RHS:.*]]: i64, %[[C:.*]]: f32
func.func @both_in_memory(%lhs: i64, %rhs: i64, %c: f32) {
  // CHECK: attn.warpgroup_mma lhs(%[[LHS]] : i64) rhs(%[[RHS]]) columns 8 steps [0] lhs_steps [0] of f16 : f32, f32, f32, f32
  %p:4 = attn.warpgroup_mma lhs(%lhs : i64) rhs(%rhs)
      columns 8 steps [0] lhs_steps [0] of f16 : f32, f32, f32, f32
  // CHECK: attn.warpgroup_mma lhs(%[[LHS]] : i64) rhs(%[[RHS]]) transposed sums(%[[C]], %[[C]], %[[C]], %[[C]] : f32, f32, f32, f32)
  // CHECK-SAME: columns 8 steps [0, 128] lhs_steps [0, 2] of bf16 {name = 1 : i64} : f32, f32, f32, f32
  %q:4 = attn.warpgroup_mma lhs(%lhs : i64) rhs(%rhs) transposed
      sums(%c, %c, %c, %c : f32, f32, f32, f32)
      columns 8 steps [0, 128] lhs_steps [0, 2] of bf16 {name = 1 : i64} : f32, f32, f32, f32
  return
}

// CHECK-LABEL: func.func @producers
// CHECK-SAME: %[[M:.*]]: memref<f32>, %[[X:.*]]: f32
func.func @producers(%m: memref<f32>, %x: f32) {
  // CHECK: attn.producers {
  // CHECK-NEXT: memref.store %[[X]], %[[M]][]
  // CHECK-NEXT: } {name = 1 : i64}
  attn.producers {
    memref.store %x, %m[] : memref<f32>
  } {name = 1 : i64}
  // CHECK: attn.producers {
  // CHECK-NEXT: }
  attn.producers {
  }
  return
}
