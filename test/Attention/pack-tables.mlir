// RUN: attn-opt %s -split-input-file -attn-plan -attn-pack-tables -mlir-print-local-scope | FileCheck %s

!q = tensor<1x8x?x64xf32>
// A learned number for each bucket of distances and head. Lanes are queries, and
// words of 32 bits are what vectors gather; what is extended to them again, as
// here, is one already.
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: %[[TABLE:[^:,]*]]: tensor<32x8xbf16>)
// CHECK: %[[WORDS:.*]] = linalg.generic {{.*}} ins(%[[TABLE]] : tensor<32x8xbf16>)
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: attn.attention
// CHECK-SAME: captures({{.*}}, %[[T:.*]] = %[[WORDS]] : tensor<32x8xf32>)
// CHECK: %[[ELEMENT:.*]] = tensor.extract %[[T]][%{{.*}}, %h] : tensor<32x8xf32>
// CHECK-NOT: arith.extf
// CHECK: arith.addf %s, %[[ELEMENT]] : f32
func.func @narrow(%x: !q, %table: tensor<32x8xbf16>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      score(%s, %b, %h, %p, %j) captures(%t = %table : tensor<32x8xbf16>) {
        %c31 = arith.constant 31 : index
        %d = arith.subi %p, %j : index
        %bucket = arith.andi %d, %c31 : index
        %narrow = tensor.extract %t[%bucket, %h] : tensor<32x8xbf16>
        %bias = arith.extf %narrow : bf16 to f32
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %r : !q
}

// -----

!q = tensor<1x8x?x64xf32>
// Words already, but another than the last index differs: without gaps between
// rows, they are counted with 32 bits.
// CHECK-LABEL: func.func @gaps(
// CHECK-SAME: %[[TABLE:[^:,]*]]: tensor<32x8xi32>)
// CHECK: %[[WORDS:.*]] = bufferization.alloc_tensor() copy(%[[TABLE]]) : tensor<32x8xi32>
// CHECK: captures({{.*}}, %{{.*}} = %[[WORDS]] : tensor<32x8xi32>)
func.func @gaps(%x: !q, %table: tensor<32x8xi32>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      mask(%b, %h, %p, %j) captures(%t = %table : tensor<32x8xi32>) {
        %c31 = arith.constant 31 : index
        %zero = arith.constant 0 : i32
        %d = arith.subi %p, %j : index
        %bucket = arith.andi %d, %c31 : index
        %e = tensor.extract %t[%bucket, %h] : tensor<32x8xi32>
        %keep = arith.cmpi sgt, %e, %zero : i32
        attn.yield %keep : i1
      }
  return %r : !q
}

// -----

!q = tensor<1x8x?x64xf32>
!row = tensor<8x32xf32>
!wide = tensor<32x8xf64>
!dynamic = tensor<?x8xbf16>
!large = tensor<8x100000xbf16>
!pairs = tensor<8x64x64xbf16>
// Not: words of one row; what no word holds; what may have more elements than
// there are pairs; what moves with the query; what is the same in all lanes.
// CHECK-LABEL: func.func @as_they_are(
// CHECK-NOT: linalg.generic
// CHECK-NOT: alloc_tensor
// CHECK: return
func.func @as_they_are(%x: !q, %row: !row, %wide: !wide, %dynamic: !dynamic,
                       %large: !large, %pairs: !pairs) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      score(%s, %b, %h, %p, %j)
        captures(%t0 = %row : !row, %t1 = %wide : !wide, %t2 = %dynamic : !dynamic,
                 %t3 = %large : !large, %t4 = %pairs : !pairs) {
        %c31 = arith.constant 31 : index
        %d = arith.subi %p, %j : index
        %bucket = arith.andi %d, %c31 : index
        %k = arith.andi %j, %c31 : index
        %e0 = tensor.extract %t0[%h, %bucket] : !row
        %e1 = tensor.extract %t1[%bucket, %h] : !wide
        %e2 = tensor.extract %t2[%bucket, %h] : !dynamic
        %e3 = tensor.extract %t3[%h, %bucket] : !large
        %e4 = tensor.extract %t4[%h, %p, %j] : !pairs
        %e5 = tensor.extract %t4[%h, %k, %h] : !pairs
        %f1 = arith.truncf %e1 : f64 to f32
        %f2 = arith.extf %e2 : bf16 to f32
        %f3 = arith.extf %e3 : bf16 to f32
        %f4 = arith.extf %e4 : bf16 to f32
        %f5 = arith.extf %e5 : bf16 to f32
        %y0 = arith.addf %s, %e0 : f32
        %y1 = arith.addf %y0, %f1 : f32
        %y2 = arith.addf %y1, %f2 : f32
        %y3 = arith.addf %y2, %f3 : f32
        %y4 = arith.addf %y3, %f4 : f32
        %y5 = arith.addf %y4, %f5 : f32
        attn.yield %y5 : f32
      }
  return %r : !q
}
