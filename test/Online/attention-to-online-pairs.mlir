// RUN: attn-opt %s --attn-target="{bf16_dot = true, vector_bits = 512}" -attn-plan -attn-attention-to-online -canonicalize -cse | FileCheck %s

// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[PACKS:.*]] = affine_map<()[s0] -> (s0 ceildiv 32)>

!h = tensor<1x1x20x16xbf16>
!k = tensor<1x1x?x16xbf16>
!v = tensor<1x1x?x24xbf16>
!o = tensor<1x1x20x24xbf16>

// The state is of f32. The scale is left to the softmax.
// CHECK-LABEL: func.func @query
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: linalg.fill ins(%[[ZERO]] : bf16) outs(%{{.*}} : tensor<32x16xbf16>)
// CHECK: linalg.copy
// CHECK: %[[ROWS:.*]] = tensor.insert_slice %{{.*}} [20, 16] [1, 1] : tensor<20x16xbf16> into tensor<32x16xbf16>
// CHECK: %[[PAIRS:.*]] = tensor.expand_shape %[[ROWS]] {{\[\[}}0], [1, 2]] output_shape [32, 8, 2]
// CHECK: %[[Q:.*]] = linalg.transpose ins(%[[PAIRS]] : tensor<32x8x2xbf16>) outs(%{{.*}} : tensor<8x32x2xbf16>) permutation = [1, 0, 2]
// CHECK: attn.online_attention layout<pairs> rounded ins(%[[Q]], %{{.*}}, %{{.*}} : tensor<8x32x2xbf16>, tensor<?x16xbf16>, tensor<?x24xbf16>)
// CHECK-SAME: outs(%{{.*}} : tensor<24x32xf32>, tensor<32xf32>, tensor<32xf32>)
// CHECK-SAME: queries(%c20) exact(%false) scale(%[[SCALE]] : f32) {{.*}}-> tensor<24x32xf32>
// CHECK-NOT: linalg.transpose
// CHECK: linalg.generic {indexing_maps = [#[[COLUMNS]], #{{.*}}, #{{.*}}], {{.*}} outs(%{{.*}} : tensor<32x24xbf16>)
// CHECK: arith.mulf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @query(%q: !h, %k: !k, %v: !v, %o: !o) -> !o {
  %r = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o : !o)
  return %r : !o
}

// Of a log-sum-exp, which is of f32, an error of a rounded weight would be seen.
// CHECK-LABEL: func.func @log_sum_exp
// CHECK: attn.online_attention layout<pairs> ins(
func.func @log_sum_exp(%q: !h, %k: !k, %v: !v, %o: !o, %l: tensor<1x1x20xf32>) -> (!o, tensor<1x1x20xf32>) {
  %r:2 = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o, %l : !o, tensor<1x1x20xf32>)
  return %r#0, %r#1 : !o, tensor<1x1x20xf32>
}

!some = tensor<1x1x?x16xbf16>

// A whole tile of queries is read where it is.
// CHECK-LABEL: func.func @tile
// CHECK: %[[QUERIES:.*]] = tensor.extract_slice {{.*}} to tensor<?x16xbf16>
// CHECK: %[[COLUMNS:.*]] = tensor.empty() : tensor<8x32x2xbf16>
// CHECK: %[[IS_WHOLE:.*]] = arith.cmpi eq, %{{.*}}, %c32
// CHECK: %[[Q:.*]] = scf.if %[[IS_WHOLE]]
// CHECK:   %[[WHOLE:.*]] = tensor.extract_slice %[[QUERIES]][0, 0] [32, 16]
// CHECK:   %[[PAIRS:.*]] = tensor.expand_shape %[[WHOLE]]
// CHECK:   linalg.transpose ins(%[[PAIRS]] : {{.*}}) outs(%[[COLUMNS]] :
// CHECK: } else {
// CHECK:   linalg.fill
// CHECK:   linalg.copy
// CHECK:   linalg.transpose {{.*}} outs(%[[COLUMNS]] :
// CHECK: attn.online_attention layout<pairs> rounded ins(%[[Q]],
func.func @tile(%q: tensor<1x1x100x16xbf16>, %k: !k, %o: !some, %first: index,
                %size: index) -> !some {
  %n = affine.min affine_map<()[s0] -> (32, s0)>()[%size]
  %tile = tensor.extract_slice %q[0, 0, %first, 0] [1, 1, %n, 16] [1, 1, 1, 1]
      : tensor<1x1x100x16xbf16> to !some
  %r = attn.attention ins(%tile, %k, %k : !some, !k, !k) outs(%o : !some)
  return %r : !some
}

// CHECK-LABEL: func.func @whole
// CHECK-SAME: %[[QUERIES:[^:]*]]: tensor<1x1x32x16xbf16>
// CHECK-NOT: linalg.fill ins(%{{.*}} : bf16)
// CHECK: linalg.transpose ins(%{{.*}} : tensor<32x8x2xbf16>)
// CHECK-NOT: linalg.copy
// CHECK: attn.online_attention
func.func @whole(%q: tensor<1x1x32x16xbf16>, %k: !k, %o: tensor<1x1x32x16xbf16>)
    -> tensor<1x1x32x16xbf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x32x16xbf16>, !k, !k)
      outs(%o : tensor<1x1x32x16xbf16>)
  return %r : tensor<1x1x32x16xbf16>
}

// A score region needs scaled scores. A scale that is a power of 2 does not round
// the queries.
// CHECK-LABEL: func.func @score
// CHECK: %[[SCALE:.*]] = arith.constant 2.500000e-01 : bf16
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : bf16
// CHECK: attn.online_attention
// CHECK-NOT: scale(
// CHECK: return
func.func @score(%q: !h, %k: !k, %v: !v, %o: !o) -> !o {
  %r = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o : !o)
      score softcap(30.0)
  return %r : !o
}

// Other scales are left to the scores there, too.
// CHECK-LABEL: func.func @other_scale
// CHECK: %[[SCALE:.*]] = arith.constant 3.000000e-01 : f32
// CHECK: linalg.copy
// CHECK: attn.online_attention {{.*}} scale(%[[SCALE]] : f32)
func.func @other_scale(%q: !h, %k: !k, %v: !v, %o: !o) -> !o {
  %r = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o : !o) scale(0.3)
      score softcap(30.0)
  return %r : !o
}

// CHECK-LABEL: func.func @constant_scale
// CHECK: %[[SCALE:.*]] = arith.constant 3.000000e-01 : f32
// CHECK: linalg.copy
// CHECK: attn.online_attention {{.*}} scale(%[[SCALE]] : f32)
func.func @constant_scale(%q: !h, %k: !k, %v: !v, %o: !o) -> !o {
  %r = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o : !o) scale(0.3)
  return %r : !o
}

// CHECK-LABEL: func.func @scale
// CHECK-SAME: %[[SCALE:[^:]*]]: f32)
// CHECK: linalg.copy
// CHECK: attn.online_attention {{.*}} scale(%[[SCALE]] : f32)
func.func @scale(%q: !h, %k: !k, %v: !v, %o: !o, %scale: f32) -> !o {
  %r = attn.attention ins(%q, %k, %v : !h, !k, !v) outs(%o : !o)
      scale(%scale : f32)
  return %r : !o
}

!q4 = tensor<2x4x20x16xbf16>
!k4 = tensor<2x2x?x16xbf16>

// All heads of the values are packed at once, before the loop, for both ops.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[K:[^:]*]]: tensor<2x2x?x16xbf16>
// CHECK: %[[N:.*]] = tensor.dim %[[K]], %c2
// CHECK: %[[T:.*]] = affine.apply #[[PACKS]]()[%[[N]]]
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[T]]) : tensor<2x2x?x16x32xbf16>
// CHECK: %[[P:.*]] = linalg.pack %[[K]] padding_value(%{{.*}} : bf16) inner_dims_pos = [2] inner_tiles = [32] into %[[EMPTY]]
// CHECK-NOT: linalg.pack
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (2, 4)
// CHECK-DAG: %[[G:.*]] = affine.apply #{{.*}}(%[[H]])
// CHECK-DAG: %[[V:.*]] = tensor.extract_slice %[[P]][%[[B]], %[[G]], 0, 0, 0] [1, 1, %{{.*}}, 16, 32] {{.*}} to tensor<?x16x32xbf16>
// CHECK: attn.online_attention layout<pairs> packed_values rounded ins(%{{.*}}, %{{.*}}, %[[V]] :
// CHECK: attn.online_attention layout<pairs> packed_values rounded ins(%{{.*}}, %{{.*}}, %[[V]] :
func.func @shared(%q: !q4, %k: !k4, %o: !q4) -> !q4 {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %k, %c2 : !k4
  %r = scf.forall (%b, %h) in (2, 4) shared_outs(%out = %o) -> !q4 {
    %g = affine.apply affine_map<(h) -> (h floordiv 2)>(%h)
    %qs = tensor.extract_slice %q[%b, %h, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !q4 to !h
    %os = tensor.extract_slice %out[%b, %h, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !q4 to !h
    %ks = tensor.extract_slice %k[%b, %g, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1] : !k4 to !k
    %x = attn.attention ins(%qs, %ks, %ks : !h, !k, !k) outs(%os : !h)
    %y = attn.attention ins(%x, %ks, %ks : !h, !k, !k) outs(%os : !h)
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %out[%b, %h, 0, 0] [1, 1, 20, 16]
          [1, 1, 1, 1] : !h into !q4
    }
  }
  return %r : !q4
}

// Keys from %first on begin within a pack: they get packs of their own.
// CHECK-LABEL: func.func @part
// CHECK: scf.forall
// CHECK: %[[V:.*]] = tensor.extract_slice {{.*}} to tensor<1x1x40x16xbf16>
// CHECK: linalg.pack %[[V]] {{.*}} : tensor<1x1x40x16xbf16> -> tensor<1x1x2x16x32xbf16>
func.func @part(%q: !q4, %k: !k4, %o: !q4, %first: index) -> !q4 {
  %r = scf.forall (%b, %h) in (2, 4) shared_outs(%out = %o) -> !q4 {
    %g = affine.apply affine_map<(h) -> (h floordiv 2)>(%h)
    %qs = tensor.extract_slice %q[%b, %h, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !q4 to !h
    %os = tensor.extract_slice %out[%b, %h, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !q4 to !h
    %ks = tensor.extract_slice %k[%b, %g, %first, 0] [1, 1, 40, 16] [1, 1, 1, 1]
        : !k4 to tensor<1x1x40x16xbf16>
    %x = attn.attention ins(%qs, %ks, %ks : !h, tensor<1x1x40x16xbf16>,
                            tensor<1x1x40x16xbf16>) outs(%os : !h)
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x into %out[%b, %h, 0, 0] [1, 1, 20, 16]
          [1, 1, 1, 1] : !h into !q4
    }
  }
  return %r : !q4
}

// Values are packed block by block where the plan has chunks of keys: tiles of
// few queries read them.
// CHECK-LABEL: func.func @only_tile
// CHECK-NOT: linalg.pack
// CHECK: attn.online_attention layout<pairs> rounded ins({{.*}} : tensor<8x32x2xbf16>, tensor<?x16xbf16>, tensor<?x16xbf16>)
func.func @only_tile(%q: !q4, %k: !k4, %o: !q4) -> !q4 {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %k, %c2 : !k4
  %r = scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 2, 20) step (1, 1, 20)
      shared_outs(%out = %o) -> !q4 {
    %qs = tensor.extract_slice %q[%b, %h, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !q4 to !h
    %os = tensor.extract_slice %out[%b, %h, 0, 0] [1, 1, 20, 16] [1, 1, 1, 1] : !q4 to !h
    %ks = tensor.extract_slice %k[%b, %h, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1] : !k4 to !k
    %x = attn.attention ins(%qs, %ks, %ks : !h, !k, !k) outs(%os : !h)
        {attn.plan = #attn.plan<chunk = 512>}
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x into %out[%b, %h, 0, 0] [1, 1, 20, 16]
          [1, 1, 1, 1] : !h into !q4
    }
  }
  return %r : !q4
}

// More than half a vector of rows is worth it, of heads that need no padding.
// CHECK-LABEL: func.func @few
// CHECK: attn.online_attention layout<pairs> rounded ins({{.*}} : tensor<16x16x2xbf16>, tensor<?x32xbf16>,
// CHECK: attn.online_attention layout<rows> ins({{.*}} : tensor<8x32xf32>, tensor<?x32xbf16>,
// CHECK: attn.online_attention layout<pairs> rounded ins({{.*}} : tensor<24x16x2xbf16>, tensor<?x48xbf16>,
func.func @few(%a: tensor<1x1x9x32xbf16>, %b: tensor<1x1x8x32xbf16>,
               %c: tensor<1x1x9x48xbf16>, %k: tensor<1x1x?x32xbf16>,
               %kc: tensor<1x1x?x48xbf16>)
    -> (tensor<1x1x9x32xbf16>, tensor<1x1x8x32xbf16>, tensor<1x1x9x48xbf16>) {
  %0 = attn.attention ins(%a, %k, %k : tensor<1x1x9x32xbf16>,
                          tensor<1x1x?x32xbf16>, tensor<1x1x?x32xbf16>)
      outs(%a : tensor<1x1x9x32xbf16>)
  %1 = attn.attention ins(%b, %k, %k : tensor<1x1x8x32xbf16>,
                          tensor<1x1x?x32xbf16>, tensor<1x1x?x32xbf16>)
      outs(%b : tensor<1x1x8x32xbf16>)
  %2 = attn.attention ins(%c, %kc, %kc : tensor<1x1x9x48xbf16>,
                          tensor<1x1x?x48xbf16>, tensor<1x1x?x48xbf16>)
      outs(%c : tensor<1x1x9x48xbf16>)
  return %0, %1, %2 : tensor<1x1x9x32xbf16>, tensor<1x1x8x32xbf16>,
      tensor<1x1x9x48xbf16>
}

// A plan may say so of heads that are not padded; other narrow types have no
// pairs.
// CHECK-LABEL: func.func @odd
// CHECK: attn.online_attention ins({{.*}} : tensor<15x32xf32>, tensor<20x15xbf16>, tensor<20x15xbf16>)
func.func @odd(%q: tensor<1x1x20x15xbf16>) -> tensor<1x1x20x15xbf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x20x15xbf16>, tensor<1x1x20x15xbf16>,
          tensor<1x1x20x15xbf16>) outs(%q : tensor<1x1x20x15xbf16>)
      {attn.plan = #attn.plan<layout = lanes, head_size = 15>}
  return %r : tensor<1x1x20x15xbf16>
}

// CHECK-LABEL: func.func @half
// CHECK: attn.online_attention ins({{.*}} : tensor<16x32xf32>, tensor<20x16xf16>, tensor<20x16xf16>)
func.func @half(%q: tensor<1x1x20x16xf16>) -> tensor<1x1x20x16xf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x20x16xf16>, tensor<1x1x20x16xf16>,
          tensor<1x1x20x16xf16>) outs(%q : tensor<1x1x20x16xf16>)
  return %r : tensor<1x1x20x16xf16>
}
