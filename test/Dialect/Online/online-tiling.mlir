// RUN: attn-opt %s --transform-interpreter --canonicalize --split-input-file --verify-diagnostics \
// RUN:   | FileCheck %s

// In pairs, a block of keys takes whole packs of values.

// CHECK-DAG: #[[SIZE:.*]] = affine_map<(d0)[s0] -> (-d0 + s0, 64)>
// CHECK-DAG: #[[FIRST:.*]] = affine_map<()[s0] -> (s0 floordiv 32)>
// CHECK-DAG: #[[PACKS:.*]] = affine_map<()[s0] -> (s0 ceildiv 32)>

// CHECK-LABEL: func.func @blocks
// CHECK-SAME: %[[K:[^:]*]]: tensor<?x16xbf16>, %[[V:[^:]*]]: tensor<?x4x32xbf16>
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c64
// CHECK: %[[N:.*]] = affine.min #[[SIZE]](%[[J]])
// CHECK: tensor.extract_slice %[[K]][%[[J]], 0] [%[[N]], 16] [1, 1]
// CHECK: %[[T:.*]] = affine.apply #[[FIRST]]()[%[[J]]]
// CHECK: %[[COUNT:.*]] = affine.apply #[[PACKS]]()[%[[N]]]
// CHECK: tensor.extract_slice %[[V]][%[[T]], 0, 0] [%[[COUNT]], 4, 32] [1, 1, 1]
// CHECK: attn.online_attention layout<pairs> packed_values {{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %[[J]])
func.func @blocks(%q: tensor<8x16x2xbf16>, %k: tensor<?x16xbf16>,
                  %v: tensor<?x4x32xbf16>, %o: tensor<4x16xf32>,
                  %m: tensor<16xf32>, %e: i1) -> tensor<4x16xf32> {
  %c0 = arith.constant 0 : index
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<?x16xbf16>, tensor<?x4x32xbf16>)
      outs(%o, %m, %m : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%c0, %c0, %c0, %c0) queries(%c0) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0 : tensor<4x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %op tile_sizes [64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Blocks that would begin within a pack.

func.func @parts_of_packs(%q: tensor<8x16x2xbf16>, %k: tensor<?x16xbf16>,
                          %v: tensor<?x4x32xbf16>, %o: tensor<4x16xf32>,
                          %m: tensor<16xf32>, %e: i1) -> tensor<4x16xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{with packed_values, expected tiles that begin at multiples of 32 keys}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<?x16xbf16>, tensor<?x4x32xbf16>)
      outs(%o, %m, %m : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%c0, %c0, %c0, %c0) queries(%c0) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0 : tensor<4x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %op tile_sizes [48]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
