// RUN: attn-opt %s -attn-plan=workgroups -attn-split-decoding -split-input-file -mlir-print-local-scope | FileCheck %s
// RUN: attn-opt %s -attn-target="{gpu_multiprocessors = 5, gpu_shared_bytes = 167936}" -attn-plan=workgroups \
// RUN:   -attn-split-decoding -split-input-file | FileCheck %s --check-prefix=SMALL

// 3000 keys are 12 parts of 250 keys, fewer than the 64 that 256 workgroups would have for
// each of 4 heads: two for each of 128 multiprocessors, of four warps that share the keys of
// a part. Their shares begin at multiples of 64 keys. The states of warps are merged in
// workgroup memory. 5 multiprocessors that have room for two workgroups each have 2 parts.
// SMALL-LABEL: func.func @static
// SMALL: scf.forall ({{.*}}) in (2, 2, 2)
// CHECK-LABEL: func.func @static
// CHECK-NOT: attn.attention
// CHECK: %[[STATES:.*]]:3 = scf.forall (%[[B:.*]], %[[H:.*]], %[[N:.*]]) in (2, 2, 12) shared_outs({{.*}}) -> (tensor<2x2x12x4x64xf32>, tensor<2x2x12x4xf32>, tensor<2x2x12x4xf32>) {
// CHECK-COUNT-3: bufferization.alloc_tensor() {memory_space = #gpu.address_space<workgroup>}
// CHECK: %[[OWN:.*]]:3 = scf.forall (%[[W:.*]]) in (4) shared_outs({{.*}}) -> (tensor<4x4x64xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
// CHECK: %[[FIRST:.*]] = arith.muli %[[N]], %c4
// CHECK: %[[SHARE:.*]] = arith.addi %[[FIRST]], %[[W]]
// CHECK: tensor.pad
// CHECK: : tensor<4x64xf16> to tensor<16x64xf16>
// CHECK: arith.minui %[[SHARE]],
// CHECK: attn.online_attention layout<mma> ins({{.*}} : tensor<16x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>)
// CHECK: tensor.parallel_insert_slice {{.*}}[%[[W]], 0, 0] [1, 4, 64]
// CHECK: } {mapping = [#gpu.warp<linear_dim_0>]}
// CHECK: %[[MERGED:.*]] = scf.forall (%[[R:.*]], %[[D:.*]]) in (4, 64)
// CHECK: tensor.extract %[[OWN]]#0[%{{.*}}, %[[R]], %[[D]]]
// CHECK: scf.forall (%{{.*}}) in (4)
// CHECK: tensor.extract %[[OWN]]#1
// CHECK: scf.forall (%{{.*}}) in (4)
// CHECK: tensor.parallel_insert_slice %[[MERGED]] into {{.*}}[%[[B]], %[[H]], %[[N]], 0, 0] [1, 1, 1, 4, 64]
// CHECK: scf.forall (%[[B2:.*]], %[[H2:.*]], %[[R:.*]], %[[D:.*]]) in (2, 2, 4, 64)
// CHECK: %[[M:.*]] = scf.for %[[PART:.*]] = %c0{{.*}} to %c12
// CHECK: tensor.extract %[[STATES]]#1[%[[B2]], %[[H2]], %[[PART]], %[[R]]]
// CHECK: arith.maximumf
// CHECK: scf.for
// CHECK: tensor.extract %[[STATES]]#0[%[[B2]], %[[H2]], %{{.*}}, %[[R]], %[[D]]]
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK-NOT: scf.forall (
// CHECK: return

func.func @static(%q: tensor<2x2x4x64xf16>, %k: tensor<2x2x3000x64xf16>,
                  %v: tensor<2x2x3000x64xf16>) -> tensor<2x2x4x64xf16> {
  %init = tensor.empty() : tensor<2x2x4x64xf16>
  %o = attn.attention ins(%q, %k, %v : tensor<2x2x4x64xf16>,
      tensor<2x2x3000x64xf16>, tensor<2x2x3000x64xf16>)
      outs(%init : tensor<2x2x4x64xf16>)
  return %o : tensor<2x2x4x64xf16>
}

// -----

// How many parts there are is known when it runs. Of 128 elements, a multiprocessor has
// room for two workgroups of four warps with blocks of 16 keys, or, in more memory, of 32.
// The merge has the sink, and there is one of the log-sum-exp.
// SMALL-LABEL: func.func @dynamic
// SMALL: arith.divui %c10
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[SINK:[^:]*]]: tensor<8xf32>
// CHECK: %[[HEADS:.*]] = arith.muli %[[BATCH:.*]], %c8
// CHECK: %[[POSITIVE:.*]] = arith.maxui %[[HEADS]], %c1
// CHECK: %[[WANTED:.*]] = arith.divui %c256{{.*}}, %[[POSITIVE]]
// CHECK: %[[MOST:.*]] = arith.ceildivui %{{.*}}, %c256
// CHECK: %[[LEAST:.*]] = arith.minui %[[WANTED]], %[[MOST]]
// CHECK: %[[COUNT:.*]] = arith.maxui %[[LEAST]], %c1
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}, 8, %[[COUNT]])
// CHECK-NOT: tensor.extract %[[SINK]]
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}) in (%{{.*}}, 8, 1, 128)
// CHECK: tensor.extract %[[SINK]][%[[H]]]
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}) in (%{{.*}}, 8, 1)
// CHECK: tensor.extract %[[SINK]][%[[H]]]
// CHECK: math.log
func.func @dynamic(%q: tensor<?x8x1x128xbf16>, %k: tensor<?x8x?x128xbf16>,
                   %v: tensor<?x8x?x128xbf16>, %sink: tensor<8xf32>,
                   %init: tensor<?x8x1x128xbf16>, %sums: tensor<?x8x1xf32>)
    -> (tensor<?x8x1x128xbf16>, tensor<?x8x1xf32>) {
  %o:2 = attn.attention ins(%q, %k, %v : tensor<?x8x1x128xbf16>,
      tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>)
      outs(%init, %sums : tensor<?x8x1x128xbf16>, tensor<?x8x1xf32>)
      sink(%sink : tensor<8xf32>)
  return %o#0, %o#1 : tensor<?x8x1x128xbf16>, tensor<?x8x1xf32>
}

// -----

// A plan may say that parts have more keys.
// CHECK-LABEL: func.func @larger
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 2, 2)
func.func @larger(%q: tensor<2x2x4x64xf16>, %k: tensor<2x2x3000x64xf16>)
    -> tensor<2x2x4x64xf16> {
  %o = attn.attention ins(%q, %k, %k : tensor<2x2x4x64xf16>,
      tensor<2x2x3000x64xf16>, tensor<2x2x3000x64xf16>)
      outs(%q : tensor<2x2x4x64xf16>) {attn.plan = #attn.plan<chunk = 1536>}
  return %o : tensor<2x2x4x64xf16>
}

// -----

// Of 20 rows, two warps have the same keys anyway.
// CHECK-LABEL: func.func @rows
// CHECK: scf.forall
// CHECK-NOT: #gpu.warp
// CHECK: return
func.func @rows(%q: tensor<2x2x20x64xf16>, %k: tensor<2x2x3000x64xf16>)
    -> tensor<2x2x20x64xf16> {
  %init = tensor.empty() : tensor<2x2x20x64xf16>
  %o = attn.attention ins(%q, %k, %k : tensor<2x2x20x64xf16>,
      tensor<2x2x3000x64xf16>, tensor<2x2x3000x64xf16>)
      outs(%init : tensor<2x2x20x64xf16>)
  return %o : tensor<2x2x20x64xf16>
}

// -----

// Of heads of 512 elements, workgroup memory has room for fewer warps, with their queries.
// SMALL-LABEL: func.func @long
// SMALL: scf.forall (%{{.*}}) in (3) shared_outs
// SMALL: mapping = [#gpu.warp<linear_dim_0>]
func.func @long(%q: tensor<2x2x4x512xf16>, %k: tensor<2x2x3000x512xf16>)
    -> tensor<2x2x4x512xf16> {
  %init = tensor.empty() : tensor<2x2x4x512xf16>
  %o = attn.attention ins(%q, %k, %k : tensor<2x2x4x512xf16>,
      tensor<2x2x3000x512xf16>, tensor<2x2x3000x512xf16>)
      outs(%init : tensor<2x2x4x512xf16>)
  return %o : tensor<2x2x4x512xf16>
}

// -----

// Neither too many queries nor an unknown number of them, nor heads that share keys.
// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.forall (
// CHECK-COUNT-3: attn.attention
// CHECK-NOT: scf.forall (
func.func @others(%q: tensor<1x2x65x64xf16>, %n: tensor<1x2x?x64xf16>,
                  %g: tensor<1x4x1x64xf16>, %k: tensor<1x2x3000x64xf16>)
    -> (tensor<1x2x65x64xf16>, tensor<1x2x?x64xf16>, tensor<1x4x1x64xf16>) {
  %0 = attn.attention ins(%q, %k, %k : tensor<1x2x65x64xf16>,
      tensor<1x2x3000x64xf16>, tensor<1x2x3000x64xf16>)
      outs(%q : tensor<1x2x65x64xf16>)
  %1 = attn.attention ins(%n, %k, %k : tensor<1x2x?x64xf16>,
      tensor<1x2x3000x64xf16>, tensor<1x2x3000x64xf16>)
      outs(%n : tensor<1x2x?x64xf16>)
  %2 = attn.attention ins(%g, %k, %k : tensor<1x4x1x64xf16>,
      tensor<1x2x3000x64xf16>, tensor<1x2x3000x64xf16>)
      outs(%g : tensor<1x4x1x64xf16>) {attn.plan = #attn.plan<heads = 1>}
  return %0, %1, %2 : tensor<1x2x65x64xf16>, tensor<1x2x?x64xf16>,
      tensor<1x4x1x64xf16>
}
