// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func.func @delayed
// CHECK: attn.online_attention layout<mma> bounded ins(
// CHECK-SAME: outs(%{{.*}}, %{{.*}}, %{{.*}}, %[[W:.*]] : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
// CHECK-SAME: exact(%{{.*}}) delayed(%[[V:.*]], %[[ONLY:.*]] : tensor<?x32xf16>)
// CHECK-SAME: -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
func.func @delayed(%q: tensor<16x16xf16>, %k: tensor<?x16xf16>, %v: tensor<?x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %before: tensor<?x32xf16>,
    %only: i1, %n: index, %e: i1) -> tensor<16x64xf16> {
  %r:4 = attn.online_attention layout<mma> bounded
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<?x16xf16>, tensor<?x32xf16>)
      outs(%o, %m, %m, %w : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%before, %only : tensor<?x32xf16>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
  return %r#3 : tensor<16x64xf16>
}
