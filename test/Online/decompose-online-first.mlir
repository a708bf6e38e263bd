// RUN: attn-opt %s -attn-tile-keys --attn-target="{bf16_tiles = true}" -attn-decompose-online -canonicalize | FileCheck %s
// RUN: attn-opt %s -attn-tile-keys -attn-decompose-online -canonicalize | FileCheck %s --check-prefix=DOT

// Zeros are only written where there is no block, or the first is skipped.
// CHECK-LABEL: func.func @tile
// CHECK-SAME: %[[O:[^:]*]]: tensor<64x32xf32>
// CHECK: %[[START:.*]] = scf.if %{{.*}} -> (tensor<64x32xf32>) {
// CHECK-NEXT: linalg.fill ins(%{{.*}}) outs(%[[O]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[O]]
// CHECK: scf.while (%{{.*}} = %[[START]],
// CHECK: scf.for %[[J:.*]] = %[[C0:.*]] to {{.*}} iter_args(%[[SUM:[^ ]*]] =
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[J]], %[[C0]]
// CHECK: scf.if %{{.*}} -> (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) {
// CHECK-NEXT: scf.if %[[FIRST]]
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[SUM]]
// What other blocks summed before is rescaled, if there is anything to rescale.
// CHECK: %[[SOFTMAX:.*]]:5 = attn.online_softmax
// CHECK: %[[BEGIN:.*]] = scf.if %[[FIRST]]
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[SUM]]
// CHECK: } else {
// CHECK: %[[ANY:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[SOFTMAX]]#3
// CHECK: arith.cmpf une, %{{.*}}, %[[ONE:.*]] : f32
// CHECK: arith.ori
// CHECK: %[[BIT:.*]] = tensor.extract %[[ANY]]
// CHECK: %[[CORRECTED:.*]] = arith.cmpi ne, %[[BIT]],
// CHECK: scf.if %[[CORRECTED]]
// CHECK-NEXT: linalg.generic {{.*}} ins(%[[SOFTMAX]]#3 {{.*}} outs(%[[SUM]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[SUM]]
// CHECK: linalg.generic {{.*}} outs(%[[BEGIN]]

// DOT-LABEL: func.func @tile
// DOT: %[[START:.*]] = linalg.fill
// DOT: scf.while (%{{.*}} = %[[START]],
// DOT-NOT: arith.cmpi eq, {{.*}} : index
func.func @tile(%o: tensor<64x32xf32>, %query: tensor<32x32x2xbf16>, %keys: tensor<?x64xbf16>,
                %values: tensor<?x64x32xbf16>, %m: tensor<32xf32>, %l: tensor<32xf32>, %i: index) -> (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 32 : index
  %no = arith.constant false
  %zero = arith.constant 0.0 : f32
  %o0 = linalg.fill ins(%zero : f32) outs(%o : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r:3 = attn.online_attention layout<pairs> packed_values ins(%query, %keys, %values : tensor<32x32x2xbf16>, tensor<?x64xbf16>, tensor<?x64x32xbf16>)
    outs(%o0, %m, %l : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>)
    at(%c0, %c0, %i, %c0) queries(%n) exact(%no) mask {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      %k = arith.cmpi sle, %j, %p : index
      attn.yield %k : i1
    } {attn.plan = #attn.plan<keys = 64>}
      -> tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
  return %r#0, %r#1, %r#2 : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// Sums that begin with something else are rescaled in every block.
// CHECK-LABEL: func.func @continues
// CHECK: scf.while
// CHECK-NOT: arith.cmpi eq, {{.*}} : index
func.func @continues(%query: tensor<32x32x2xbf16>, %keys: tensor<?x64xbf16>,
                %values: tensor<?x64x32xbf16>, %o: tensor<64x32xf32>, %m: tensor<32xf32>, %l: tensor<32xf32>, %i: index) -> (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 32 : index
  %no = arith.constant false
  %r:3 = attn.online_attention layout<pairs> packed_values ins(%query, %keys, %values : tensor<32x32x2xbf16>, tensor<?x64xbf16>, tensor<?x64x32xbf16>)
    outs(%o, %m, %l : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>)
    at(%c0, %c0, %i, %c0) queries(%n) exact(%no) mask {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      %k = arith.cmpi sle, %j, %p : index
      attn.yield %k : i1
    } {attn.plan = #attn.plan<keys = 64>}
      -> tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
  return %r#0, %r#1, %r#2 : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
}
