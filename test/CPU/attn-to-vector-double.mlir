// RUN: attn-opt %s -convert-attn-to-vector | FileCheck %s

// Registers have half as many lanes of f64. e^x is 2^n times a series of the
// rest, whose last coefficient is 1 / 12!.
// CHECK-LABEL: func.func @double
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.4426950408889634> : vector<4xf64>
// CHECK-DAG: %[[MAGIC:.*]] = arith.constant dense<0x43380000000003FF> : vector<4xf64>
// CHECK-DAG: %[[LAST:.*]] = arith.constant dense<2.08767569878681E-9> : vector<4xf64>
// CHECK-DAG: %[[PLACE:.*]] = arith.constant dense<52> : vector<4xi64>
// CHECK: %[[SHIFTED:.*]] = vector.fma %[[X:.*]], %[[LOG2E]], %[[MAGIC]] : vector<4xf64>
// CHECK: %[[N:.*]] = arith.subf %[[SHIFTED]], %[[MAGIC]]
// CHECK: %[[REST:.*]] = vector.fma %[[N]], %{{.*}}, %[[X]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SHIFTED]] : vector<4xf64> to vector<4xi64>
// CHECK: %[[POWER:.*]] = arith.shli %[[BITS]], %[[PLACE]]
// CHECK: vector.fma %[[LAST]], %[[REST]], %{{.*}}
// CHECK-COUNT-11: vector.fma
// CHECK: arith.bitcast %[[POWER]] : vector<4xi64> to vector<4xf64>
func.func @double(%s: memref<64x8xf64>, %m: memref<8xf64>, %l: memref<8xf64>,
                  %c: memref<8xf64>, %n: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<64x8xf64>, memref<8xf64>, memref<8xf64>, memref<8xf64>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%false) defined(%true) exact(%false)
  return
}
