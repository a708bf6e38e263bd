// RUN: attn-opt %s -attn-expand-float8 | FileCheck %s

// The bits of f16 begin as those of E5M2.
// CHECK-LABEL: func.func @e5m2
// CHECK: %[[I8:.*]] = arith.bitcast %{{.*}} : vector<16xf8E5M2> to vector<16xi8>
// CHECK: %[[I16:.*]] = arith.extsi %[[I8]] : vector<16xi8> to vector<16xi16>
// CHECK: %[[BITS:.*]] = arith.shli %[[I16]]
// CHECK: %[[F16:.*]] = arith.bitcast %[[BITS]] : vector<16xi16> to vector<16xf16>
// CHECK: %[[F32:.*]] = arith.extf %[[F16]] : vector<16xf16> to vector<16xf32>
// CHECK: return %[[F32]]
func.func @e5m2(%x: vector<16xf8E5M2>) -> vector<16xf32> {
  %0 = arith.extf %x : vector<16xf8E5M2> to vector<16xf32>
  return %0 : vector<16xf32>
}

// CHECK-LABEL: func.func @to_f16
// CHECK: %[[F16:.*]] = arith.bitcast %{{.*}} : i16 to f16
// CHECK-NOT: arith.extf
// CHECK: return %[[F16]]
func.func @to_f16(%x: f8E5M2) -> f16 {
  %0 = arith.extf %x : f8E5M2 to f16
  return %0 : f16
}

// CHECK-LABEL: func.func @e4m3
// CHECK: %[[NAN:.*]] = arith.cmpi eq
// CHECK: %[[BITS:.*]] = arith.select %[[NAN]], %{{.*}}, %{{.*}} : i16
// CHECK: %[[F16:.*]] = arith.bitcast %[[BITS]] : i16 to f16
// CHECK: %[[F32:.*]] = arith.extf %[[F16]] : f16 to f32
// CHECK: %[[SCALED:.*]] = arith.mulf %[[F32]], %{{.*}} : f32
// CHECK: arith.extf %[[SCALED]] : f32 to f64
func.func @e4m3(%x: f8E4M3FN) -> f64 {
  %0 = arith.extf %x : f8E4M3FN to f64
  return %0 : f64
}

// Rounded once, from f64 too.
// CHECK-LABEL: func.func @round
// CHECK-NOT: arith.truncf
// CHECK: %[[CODE:.*]] = arith.trunci %{{.*}} : vector<4xi64> to vector<4xi8>
// CHECK: arith.bitcast %[[CODE]] : vector<4xi8> to vector<4xf8E4M3FN>
func.func @round(%x: vector<4xf64>) -> vector<4xf8E4M3FN> {
  %0 = arith.truncf %x : vector<4xf64> to vector<4xf8E4M3FN>
  return %0 : vector<4xf8E4M3FN>
}

// CHECK-LABEL: func.func @others
// CHECK-NEXT: arith.extf %{{.*}} : bf16 to f32
// CHECK-NEXT: return
func.func @others(%x: bf16) -> f32 {
  %0 = arith.extf %x : bf16 to f32
  return %0 : f32
}
