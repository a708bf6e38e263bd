// RUN: attn-opt %s | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --emit-bytecode | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<16x8xf32>, %[[K:[^:]*]]: tensor<?x16xf32>, %[[V:[^:]*]]: tensor<?x4xf32>, %[[O:[^:]*]]: tensor<4x8xf32>, %[[M:[^:]*]]: tensor<8xf32>, %[[L:[^:]*]]: tensor<8xf32>, %[[N:[^:]*]]: index, %[[E:[^:]*]]: i1
// CHECK: %[[R:.*]]:3 = attn.online_attention ins(%[[Q]], %[[K]], %[[V]] : tensor<16x8xf32>, tensor<?x16xf32>, tensor<?x4xf32>)
// CHECK-SAME: outs(%[[O]], %[[M]], %[[L]] : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK-SAME: at(%[[N]], %[[N]], %[[N]], %[[N]]) queries(%[[N]]) exact(%[[E]])
// CHECK-NOT: scale
// CHECK-NOT: score
// CHECK-NOT: mask
// CHECK-SAME: -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>{{$}}
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
// GENERIC-LABEL: sym_name = "plain"
// GENERIC: "attn.online_attention"({{.*}}) <{layout = #attn.layout<lanes>, next_tile = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 3, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({
// GENERIC-NEXT: }, {
// GENERIC-NEXT: })
func.func @plain(%q: tensor<16x8xf32>, %k: tensor<?x16xf32>,
                 %v: tensor<?x4xf32>, %o: tensor<4x8xf32>, %m: tensor<8xf32>,
                 %l: tensor<8xf32>, %n: index, %e: i1)
    -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<?x16xf32>, tensor<?x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return %r#0, %r#1, %r#2 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// In pairs, the state is of f32, and values are packed with their block, by
// their tile, or before.
// CHECK-LABEL: func.func @pairs(
// CHECK: attn.online_attention layout<pairs> packed_values ins(%{{.*}} : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<2x4x32xbf16>)
// CHECK-SAME: outs(%{{.*}} : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK-SAME: first(%{{.*}}) scale(%{{.*}} : f32) score {
// CHECK-NEXT: ^bb0(%{{s.*}}: f32,
// CHECK: attn.online_attention layout<pairs> keeps_packs next_tile -16 ins(%{{.*}} : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<40x4xbf16>)
// GENERIC-LABEL: sym_name = "pairs"
// GENERIC: "attn.online_attention"({{.*}}) <{layout = #attn.layout<pairs>, next_tile = 0 : i64, operandSegmentSizes = {{.*}}, packed_values}>
func.func @pairs(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>,
                 %v: tensor<2x4x32xbf16>, %w: tensor<40x4xbf16>,
                 %o: tensor<4x16xf32>, %m: tensor<16xf32>, %n: index, %e: i1,
                 %scale: f32) -> tensor<4x16xf32> {
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<2x4x32xbf16>)
      outs(%o, %m, %m : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) first(%e) scale(%scale : f32)
      score {
    ^bb0(%s: f32, %b: index, %h: index, %p: index, %j: index):
      attn.yield %s : f32
    } -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  %t:3 = attn.online_attention layout<pairs> keeps_packs next_tile -16
      ins(%q, %k, %w : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<40x4xbf16>)
      outs(%r#0, %r#1, %r#2 : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return %t#0 : tensor<4x16xf32>
}

// In rows, the query is as it is multiplied by keys of a narrower type, and the
// state may have room for more queries.
// CHECK-LABEL: func.func @rows(
// CHECK: attn.online_attention layout<rows> ins(%{{.*}} : tensor<3x16xf32>, tensor<?x16xf16>, tensor<?x32xf16>)
// CHECK-SAME: outs(%{{.*}} : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
// GENERIC-LABEL: sym_name = "rows"
// GENERIC: "attn.online_attention"({{.*}}) <{layout = #attn.layout<rows>, next_tile = 0 : i64, operandSegmentSizes
func.func @rows(%q: tensor<3x16xf32>, %k: tensor<?x16xf16>,
                %v: tensor<?x32xf16>, %o: tensor<3x32xf32>, %m: tensor<8xf32>,
                %n: index, %e: i1) -> tensor<3x32xf32> {
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<?x16xf16>, tensor<?x32xf16>)
      outs(%o, %m, %m : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return %r#0 : tensor<3x32xf32>
}

// For matrix units, the query is of the type of the keys, and the state of f32.
// CHECK-LABEL: func.func @matrices(
// CHECK: attn.online_attention layout<mma> ins(%{{.*}} : tensor<16x32xf16>, tensor<?x32xf16>, tensor<?x48xf16>)
func.func @matrices(%q: tensor<16x32xf16>, %k: tensor<?x32xf16>,
                    %v: tensor<?x48xf16>, %o: tensor<16x48xf32>,
                    %m: tensor<16xf32>, %n: index, %e: i1) -> tensor<16x48xf32> {
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x32xf16>, tensor<?x32xf16>, tensor<?x48xf16>)
      outs(%o, %m, %m : tensor<16x48xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<16x48xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0 : tensor<16x48xf32>
}

// Arguments of regions are named after what they stand for.
// CHECK-LABEL: func.func @regions(
// CHECK: attn.online_attention
// CHECK-SAME: exact(%{{.*}}) scale(%{{.*}} : f64) score (%{{.*}} : tensor<?xf64>) {
// CHECK-NEXT: ^bb0(%[[S:s.*]]: f64, %{{b.*}}: index, %[[H:h.*]]: index, %{{p.*}}: index, %{{j.*}}: index, %[[C:.*]]: tensor<?xf64>):
// CHECK-NEXT: %[[X:.*]] = tensor.extract %[[C]][%[[H]]]
// CHECK-NEXT: arith.addf %[[S]], %[[X]] : f64
// CHECK: } mask {
// CHECK-NEXT: ^bb0(%{{b.*}}: index, %{{h.*}}: index, %[[P:p.*]]: index, %[[J:j.*]]: index):
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[P]]
// CHECK: attn.yield %{{.*}} : i1
// CHECK: } -> tensor<4x8xf64>
func.func @regions(%q: tensor<16x8xf64>, %k: tensor<9x16xf64>,
                   %v: tensor<9x4xf64>, %o: tensor<4x8xf64>, %m: tensor<8xf64>,
                   %n: index, %e: i1, %scale: f64, %bias: tensor<?xf64>)
    -> tensor<4x8xf64> {
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf64>, tensor<9x16xf64>, tensor<9x4xf64>)
      outs(%o, %m, %m : tensor<4x8xf64>, tensor<8xf64>, tensor<8xf64>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) scale(%scale : f64)
      score (%bias : tensor<?xf64>) {
    ^bb0(%s: f64, %b: index, %h: index, %p: index, %j: index, %c: tensor<?xf64>):
      %x = tensor.extract %c[%h] : tensor<?xf64>
      %y = arith.addf %s, %x : f64
      attn.yield %y : f64
    } mask {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      %keep = arith.cmpi sle, %j, %p : index
      attn.yield %keep : i1
    } -> tensor<4x8xf64>, tensor<8xf64>, tensor<8xf64>
  return %r#0 : tensor<4x8xf64>
}

// On tensors and on memrefs.
// CHECK-LABEL: func.func @softmax(
// CHECK: %[[R:.*]]:4 = attn.online_softmax outs({{.*}} : tensor<104x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
// CHECK-SAME: at(%[[N:.*]], %[[N]], %[[N]], %[[N]]) queries(%[[N]]) keys(%[[N]]) partial(%[[E:.*]]) defined(%[[E]]) exact(%[[E]])
// CHECK-SAME: -> tensor<104x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
// CHECK: return %[[R]]#3
func.func @softmax(%s: tensor<104x8xf32>, %m: tensor<8xf32>, %n: index, %e: i1)
    -> tensor<8xf32> {
  %r:4 = attn.online_softmax
      outs(%s, %m, %m, %m : tensor<104x8xf32>, tensor<8xf32>, tensor<8xf32>,
           tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n) partial(%e) defined(%e) exact(%e)
      -> tensor<104x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return %r#3 : tensor<8xf32>
}
// With weights in pairs.
// CHECK-LABEL: func.func @pairs_of_weights(
// CHECK: attn.online_softmax outs({{.*}} : tensor<128x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64x8x2xbf16>)
func.func @pairs_of_weights(%s: tensor<128x8xf32>, %m: tensor<8xf32>, %p: tensor<64x8x2xbf16>, %n: index, %e: i1)
    -> tensor<64x8x2xbf16> {
  %r:5 = attn.online_softmax
      outs(%s, %m, %m, %m, %p : tensor<128x8xf32>, tensor<8xf32>, tensor<8xf32>,
           tensor<8xf32>, tensor<64x8x2xbf16>)
      at(%n, %n, %n, %n) queries(%n) keys(%n) partial(%e) defined(%e) exact(%e)
      -> tensor<128x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<64x8x2xbf16>
  return %r#4 : tensor<64x8x2xbf16>
}
// Relative to a maximum that stays, and as scores alone.
// CHECK-LABEL: func.func @parts_of_softmax(
// CHECK: attn.online_softmax outs(%{{.*}}, %{{.*}} : tensor<104x8xf32>, tensor<8xf32>)
// CHECK: attn.online_softmax outs(%{{.*}} : tensor<104x8xf32>)
func.func @parts_of_softmax(%s: tensor<104x8xf32>, %m: tensor<8xf32>, %n: index, %e: i1)
    -> (tensor<104x8xf32>, tensor<104x8xf32>) {
  %r:2 = attn.online_softmax outs(%s, %m : tensor<104x8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n) partial(%e) defined(%e) exact(%e)
      -> tensor<104x8xf32>, tensor<8xf32>
  %t = attn.online_softmax outs(%s : tensor<104x8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n) partial(%e) defined(%e) exact(%e)
      -> tensor<104x8xf32>
  return %r#0, %t : tensor<104x8xf32>, tensor<104x8xf32>
}
// CHECK-LABEL: func.func @softmax_of_memrefs(
// CHECK: {{^ *}}attn.online_softmax outs({{.*}} : memref<104x8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
// CHECK-SAME: exact(%{{.*}}) scale(%{{.*}} : f32) mask (%{{.*}} : memref<?xi1>) {
// CHECK: memref.load
// CHECK: }{{ *$}}
func.func @softmax_of_memrefs(%s: memref<104x8xf32>, %m: memref<8xf32>,
                              %n: index, %e: i1, %scale: f32,
                              %keep: memref<?xi1>) {
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<104x8xf32>, memref<8xf32>, memref<8xf32>,
           memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n) partial(%e) defined(%e) exact(%e)
      scale(%scale : f32) mask (%keep : memref<?xi1>) {
    ^bb0(%b: index, %h: index, %p: index, %j: index, %c: memref<?xi1>):
      %x = memref.load %c[%j] : memref<?xi1>
      attn.yield %x : i1
    }
  return
}

// CHECK-LABEL: func.func @bounded(
// CHECK: attn.online_attention layout<mma> bounded ins
// CHECK: attn.all_bounded %{{.*}} : tensor<16xf32>
func.func @bounded(%q: tensor<16x32xf16>, %k: tensor<?x32xf16>, %acc: tensor<16x32xf32>,
                   %m: tensor<16xf32>, %n: index, %exact: i1) -> i1 {
  %r:3 = attn.online_attention layout<mma> bounded
      ins(%q, %k, %k : tensor<16x32xf16>, tensor<?x32xf16>, tensor<?x32xf16>)
      outs(%acc, %m, %m : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%exact)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
  %x = attn.all_bounded %r#1 : tensor<16xf32>
  return %x : i1
}

// CHECK-LABEL: func.func @any_in_warp(
// CHECK: attn.any_in_warp %{{.*}} : vector<32xi1>
func.func @any_in_warp(%rows: vector<32xi1>) -> i1 {
  %x = attn.any_in_warp %rows : vector<32xi1>
  return %x : i1
}

// CHECK-LABEL: func.func @all_finite(
// CHECK: attn.all_finite %{{.*}} : tensor<?x4xf16>
// CHECK: attn.all_finite %{{.*}} : memref<?xf32, strided<[?], offset: ?>>
func.func @all_finite(%t: tensor<?x4xf16>,
                      %m: memref<?xf32, strided<[?], offset: ?>>) -> (i1, i1) {
  %x = attn.all_finite %t : tensor<?x4xf16>
  %y = attn.all_finite %m : memref<?xf32, strided<[?], offset: ?>>
  return %x, %y : i1, i1
}

// Rows of i8 have scales.
// CHECK-LABEL: func.func @scales(
// CHECK: attn.online_attention layout<rows> ins(%{{.*}} : tensor<3x16xf32>, tensor<?x16xi8>, tensor<?x16xi8>)
// CHECK-SAME: key_scales(%{{.*}} : tensor<?xf32>) value_scales(%{{.*}} : tensor<?xf32>) outs(
func.func @scales(%q: tensor<3x16xf32>, %k: tensor<?x16xi8>, %s: tensor<?xf32>,
                  %o: tensor<3x16xf32>, %m: tensor<8xf32>, %n: index, %e: i1)
    -> tensor<3x16xf32> {
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %k : tensor<3x16xf32>, tensor<?x16xi8>, tensor<?x16xi8>)
      key_scales(%s : tensor<?xf32>) value_scales(%s : tensor<?xf32>)
      outs(%o, %m, %m : tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>
  return %r#0 : tensor<3x16xf32>
}

// Also where values are of another type.
// CHECK-LABEL: func.func @value_scales(
// CHECK: attn.online_attention layout<rows> ins(%{{.*}} : tensor<3x16xf32>, tensor<?x16xf16>, tensor<?x16xi8>)
// CHECK-SAME: value_scales(%{{.*}} : tensor<?xf32>) outs(
func.func @value_scales(%q: tensor<3x16xf32>, %k: tensor<?x16xf16>, %v: tensor<?x16xi8>,
                        %s: tensor<?xf32>, %o: tensor<3x16xf32>, %m: tensor<8xf32>,
                        %n: index, %e: i1) -> tensor<3x16xf32> {
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<?x16xf16>, tensor<?x16xi8>)
      value_scales(%s : tensor<?xf32>)
      outs(%o, %m, %m : tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>
  return %r#0 : tensor<3x16xf32>
}

// CHECK-LABEL: func.func @dropout(
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32
// CHECK: attn.online_attention {{.*}} exact(%{{[^ ]*}}) dropout(5.000000e-01, %[[SEED]], %[[CALL]], %[[N:[^ ]*]], %[[N]]) ->
// CHECK: attn.online_dropout outs(%{{.*}} : tensor<16x8xf64>) dropout(2.500000e-01, %[[SEED]], %[[CALL]], %[[N]]) at(%[[N]], %[[N]]) keys(%[[N]]) -> tensor<16x8xf64>
// CHECK: attn.online_dropout outs(%{{.*}} : memref<16x8xf32>) dropout({{.*}}) at({{.*}}) keys(%[[N]]){{$}}
func.func @dropout(%q: tensor<16x8xf32>, %k: tensor<?x16xf32>,
                   %v: tensor<?x4xf32>, %o: tensor<4x8xf32>, %m: tensor<8xf32>,
                   %w: tensor<16x8xf64>, %b: memref<16x8xf32>, %seed: i64,
                   %call: i32, %n: index, %e: i1) -> tensor<16x8xf64> {
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<?x16xf32>, tensor<?x4xf32>)
      outs(%o, %m, %m : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) dropout(0.5, %seed, %call, %n, %n)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  %s = attn.online_dropout outs(%w : tensor<16x8xf64>)
      dropout(0.25, %seed, %call, %n) at(%n, %n) keys(%n) -> tensor<16x8xf64>
  attn.online_dropout outs(%b : memref<16x8xf32>)
      dropout(0.25, %seed, %call, %n) at(%n, %n) keys(%n)
  return %s : tensor<16x8xf64>
}
