// RUN: attn-opt %s -attn-plan | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: attn-opt %s --attn-target=znver4 -attn-plan | FileCheck %s --check-prefixes=CHECK,ZEN4
// RUN: attn-opt %s --attn-target="{l1_bytes = 131072}" -attn-plan | FileCheck %s --check-prefix=LARGE
// RUN: attn-opt %s --attn-target="{l2_bytes = 262144}" -attn-plan | FileCheck %s --check-prefix=SMALL
// RUN: attn-opt %s --attn-target="{cores = 2}" -attn-plan | FileCheck %s --check-prefix=CORES
// RUN: attn-opt %s -attn-plan=workgroups | FileCheck %s --check-prefix=GPU

// The same again: a plan is one of its own.
// RUN: attn-opt %s -attn-plan -attn-plan | FileCheck %s --check-prefixes=CHECK,AVX2

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
!bq = tensor<?x8x?x72xbf16>
!bk = tensor<?x2x?x72xbf16>

// Rows fill registers, and a block of keys with its values the first level.
// CHECK-LABEL: func.func @plain
// AVX2: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 32, lanes = 8, head_size = 64, keys = 64>
// ZEN4: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 64, lanes = 16, head_size = 64, keys = 64>
// LARGE: keys = 256>
// GPU: attn.plan = #attn.plan<layout = mma, heads = 1, rows = 64, lanes = 16, head_size = 64, keys = 16>
func.func @plain(%q: !q, %k: !k) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
  return %r : !q
}

// A mask wastes part of a large tile.
// CHECK-LABEL: func.func @causal
// AVX2: rows = 16, lanes = 8,
// ZEN4: rows = 32, lanes = 16,
func.func @causal(%q: !q, %k: !k) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q) mask causal
  return %r : !q
}

// Few queries of heads that share keys are rows of one tile, and its keys are
// computed in chunks.
// CHECK-LABEL: func.func @group
// CHECK: attn.plan = #attn.plan<layout = rows, heads = 4, rows = 8, {{.*}}, chunk = 1024>
// LARGE: chunk = 4096>
func.func @group(%q: tensor<?x8x2x64xf32>, %k: !k) -> tensor<?x8x2x64xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x8x2x64xf32>, !k, !k)
      outs(%q : tensor<?x8x2x64xf32>)
  return %r : tensor<?x8x2x64xf32>
}

// More rows than a tile has are in tiles of as many: few tiles, each of which
// reads all keys, and few rows of no query in the last one.
// CHECK-LABEL: func.func @large_group
// ZEN4: attn.plan = #attn.plan<layout = lanes, heads = 96, rows = 48, {{.*}}, chunk = 1024>
func.func @large_group(%q: tensor<?x96x1x64xf32>, %k: tensor<?x1x?x64xf32>)
    -> tensor<?x96x1x64xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x96x1x64xf32>, tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>)
      outs(%q : tensor<?x96x1x64xf32>)
  return %r : tensor<?x96x1x64xf32>
}

// CHECK-LABEL: func.func @divided
// AVX2: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 24, {{.*}}, chunk = 1024>
// ZEN4: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 40, {{.*}}, chunk = 1024>
func.func @divided(%q: tensor<?x8x40x64xf32>, %k: tensor<?x8x?x64xf32>)
    -> tensor<?x8x40x64xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x8x40x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>)
      outs(%q : tensor<?x8x40x64xf32>)
  return %r : tensor<?x8x40x64xf32>
}

// A few rows more than fill vectors are left to a tile of their own.
// CHECK-LABEL: func.func @rest
// ZEN4: attn.plan = #attn.plan<layout = lanes, heads = 33, rows = 32, {{.*}}, rest = <layout = rows, heads = 33, rows = 1, {{.*}}>>
func.func @rest(%q: tensor<?x33x1x64xf32>, %k: tensor<?x1x?x64xf32>)
    -> tensor<?x33x1x64xf32> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x33x1x64xf32>, tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>)
      outs(%q : tensor<?x33x1x64xf32>)
  return %r : tensor<?x33x1x64xf32>
}

// Heads of vectors and a part of one are in rows as well; more than half a vector
// of rows is multiplied in pairs where these are.
// CHECK-LABEL: func.func @parts
// CHECK: attn.plan = #attn.plan<layout = rows, heads = 4, rows = 4, {{.*}} head_size = 72,
// AVX2: attn.plan = #attn.plan<layout = rows, heads = 4, rows = 8, {{.*}} head_size = 72,
// ZEN4: attn.plan = #attn.plan<layout = pairs, heads = 4, rows = 12, {{.*}} head_size = 72,
func.func @parts(%q: tensor<?x8x1x72xbf16>, %k: !bk, %q3: tensor<?x8x3x72xbf16>)
    -> (tensor<?x8x1x72xbf16>, tensor<?x8x3x72xbf16>) {
  %r = attn.attention ins(%q, %k, %k : tensor<?x8x1x72xbf16>, !bk, !bk) outs(%q : tensor<?x8x1x72xbf16>)
  %s = attn.attention ins(%q3, %k, %k : tensor<?x8x3x72xbf16>, !bk, !bk) outs(%q3 : tensor<?x8x3x72xbf16>)
  return %r, %s : tensor<?x8x1x72xbf16>, tensor<?x8x3x72xbf16>
}
// CHECK-LABEL: func.func @many_parts
// ZEN4: attn.plan = #attn.plan<layout = rows, heads = 1, rows = 12, {{.*}} head_size = 72,
// ZEN4: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 13, {{.*}} head_size = 72,
func.func @many_parts(%q: tensor<1x2x12x72xf32>, %k: tensor<1x2x?x72xf32>, %o: tensor<1x2x13x72xf32>)
    -> (tensor<1x2x12x72xf32>, tensor<1x2x13x72xf32>) {
  %r = attn.attention ins(%q, %k, %k : tensor<1x2x12x72xf32>, tensor<1x2x?x72xf32>, tensor<1x2x?x72xf32>)
      outs(%q : tensor<1x2x12x72xf32>)
  %s = attn.attention ins(%o, %k, %k : tensor<1x2x13x72xf32>, tensor<1x2x?x72xf32>, tensor<1x2x?x72xf32>)
      outs(%o : tensor<1x2x13x72xf32>)
  return %r, %s : tensor<1x2x12x72xf32>, tensor<1x2x13x72xf32>
}

// A number of queries that only has a bound: as many rows as that, or tiles, of
// which lanes are better where four can be full.
// CHECK-LABEL: func.func @bounded
// ZEN4: attn.plan = #attn.plan<layout = rows, heads = 4, rows = 16, {{.*}}, chunk = 1024>
// ZEN4: attn.plan = #attn.plan<layout = lanes, heads = 4, rows = 32, {{.*}}, chunk = 1024>
func.func @bounded(%q: !q, %k: !k, %n: index) -> (!q, !q) {
  %n4 = affine.min affine_map<()[n] -> (n, 4)>()[%n]
  %q4 = tensor.extract_slice %q[0, 0, 0, 0] [1, 8, %n4, 64] [1, 1, 1, 1] : !q to tensor<1x8x?x64xf32>
  %n5 = affine.min affine_map<()[n] -> (n, 16)>()[%n]
  %q5 = tensor.extract_slice %q[0, 0, 0, 0] [1, 8, %n5, 64] [1, 1, 1, 1] : !q to tensor<1x8x?x64xf32>
  %k1 = tensor.extract_slice %k[0, 0, 0, 0] [1, 2, %n, 64] [1, 1, 1, 1] : !k to tensor<1x2x?x64xf32>
  %r = attn.attention ins(%q4, %k1, %k1 : tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      outs(%q4 : tensor<1x8x?x64xf32>)
  %s = attn.attention ins(%q5, %k1, %k1 : tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      outs(%q5 : tensor<1x8x?x64xf32>)
  %x = tensor.cast %r : tensor<1x8x?x64xf32> to !q
  %y = tensor.cast %s : tensor<1x8x?x64xf32> to !q
  return %x, %y : !q, !q
}

// bf16 is multiplied in pairs where there are dot products.
// CHECK-LABEL: func.func @pairs
// AVX2: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 32, lanes = 8, head_size = 72, keys = 32>
// ZEN4: attn.plan = #attn.plan<layout = pairs, heads = 1, rows = 32, lanes = 16, head_size = 72, keys = 64, packs = shared>
// GPU: attn.plan = #attn.plan<layout = mma, heads = 1, rows = 128, lanes = 32, head_size = 72, keys = 64>
func.func @pairs(%q: !bq, %k: !bk) -> !bq {
  %r = attn.attention ins(%q, %k, %k : !bq, !bk, !bk) outs(%q : !bq)
  return %r : !bq
}

// On a GPU, the keys of all queries of a head are split into parts of a chunk.
// GPU-LABEL: func.func @few
// GPU: attn.plan = #attn.plan<layout = mma, heads = 4, rows = 4, {{.*}}, chunk = 256>
func.func @few(%q: tensor<?x8x1x72xbf16>, %k: !bk) -> tensor<?x8x1x72xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<?x8x1x72xbf16>, !bk, !bk)
      outs(%q : tensor<?x8x1x72xbf16>)
  return %r : tensor<?x8x1x72xbf16>
}

// The reference path needs none.
// CHECK-LABEL: func.func @reference
// CHECK-NOT: attn.plan
// CHECK: return
func.func @reference(%q: tensor<1x1x0x8xf32>) -> tensor<1x1x0x8xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x0x8xf32>, tensor<1x1x0x8xf32>,
          tensor<1x1x0x8xf32>) outs(%q : tensor<1x1x0x8xf32>)
  return %r : tensor<1x1x0x8xf32>
}

// A vector has half as many elements of f64.
// CHECK-LABEL: func.func @double
// AVX2: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 32, lanes = 4,
// ZEN4: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 64, lanes = 8,
func.func @double(%q: tensor<1x2x512x64xf64>) -> tensor<1x2x512x64xf64> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x512x64xf64>, tensor<1x2x512x64xf64>,
          tensor<1x2x512x64xf64>) outs(%q : tensor<1x2x512x64xf64>)
  return %r : tensor<1x2x512x64xf64>
}

// Rows of one query that shares its keys with none are read in turn, where memory is far
// and loads are of whole lines: no more is fetched than what a block reads next.
// CHECK-LABEL: func.func @alone
// AVX2: attn.plan = #attn.plan<layout = rows, heads = 1, rows = 1, {{.*}}, keys = 8, chunk = 1024>
// ZEN4: attn.plan = #attn.plan<layout = rows, heads = 1, rows = 1, {{.*}}, keys = 8, chunk = 1024, ahead = 2048>
func.func @alone(%q: tensor<1x8x1x64xf32>, %k: tensor<1x8x512x64xf32>)
    -> tensor<1x8x1x64xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x8x1x64xf32>, tensor<1x8x512x64xf32>,
          tensor<1x8x512x64xf32>) outs(%q : tensor<1x8x1x64xf32>)
  return %r : tensor<1x8x1x64xf32>
}

// Of four heads, long rows of f32 are, with one block more; not those of 16 bits.
// CHECK-LABEL: func.func @four
// ZEN4: attn.plan = #attn.plan<layout = rows, heads = 4, rows = 4, {{.*}}, keys = 8, chunk = 1024, ahead = 8192>
// ZEN4: attn.plan = #attn.plan<layout = rows, heads = 4, rows = 4, {{.*}}, chunk = 1024>
func.func @four(%q: tensor<1x8x1x128xf32>, %k: tensor<1x2x512x128xf32>,
                %r: tensor<1x8x1x128xf16>, %l: tensor<1x2x512x128xf16>)
    -> (tensor<1x8x1x128xf32>, tensor<1x8x1x128xf16>) {
  %0 = attn.attention
      ins(%q, %k, %k : tensor<1x8x1x128xf32>, tensor<1x2x512x128xf32>,
          tensor<1x2x512x128xf32>) outs(%q : tensor<1x8x1x128xf32>)
  %1 = attn.attention
      ins(%r, %l, %l : tensor<1x8x1x128xf16>, tensor<1x2x512x128xf16>,
          tensor<1x2x512x128xf16>) outs(%r : tensor<1x8x1x128xf16>)
  return %0, %1 : tensor<1x8x1x128xf32>, tensor<1x8x1x128xf16>
}

// With dropout, heads do not share tiles: rows of one are of one line.
// CHECK-LABEL: func.func @dropout
// AVX2: attn.plan = #attn.plan<layout = rows, heads = 1, rows = 1,
// ZEN4: attn.plan = #attn.plan<layout = rows, heads = 1, rows = 1,
func.func @dropout(%q: tensor<1x8x1x64xf32>, %k: tensor<1x2x512x64xf32>,
                   %seed: i64, %call: i32) -> tensor<1x8x1x64xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x8x1x64xf32>, tensor<1x2x512x64xf32>,
          tensor<1x2x512x64xf32>) outs(%q : tensor<1x8x1x64xf32>)
      dropout(0.1, %seed, %call)
  return %r : tensor<1x8x1x64xf32>
}

// Of many tokens: what is multiplied in pairs has other tiles, and sums of a tile fit
// into the second level.
// CHECK-LABEL: func.func @project
// AVX2: attn.plan = #attn.plan<layout = lanes, rows = 384, lanes = 8, columns = 256, features = 384, packs = shared>
// ZEN4: attn.plan = #attn.plan<layout = pairs, rows = 256, lanes = 16, columns = 512, features = 640, packs = kept>
// SMALL: attn.plan = #attn.plan<layout = lanes, rows = 192, lanes = 8, columns = 256, features = 384, packs = shared>
func.func @project(%x: tensor<1x?x1024xbf16>, %w: tensor<64x1024x32xbf16>,
                   %y: tensor<1x?x2048xbf16>) -> tensor<1x?x2048xbf16> {
  %r = attn.projection ins(%x, %w : tensor<1x?x1024xbf16>, tensor<64x1024x32xbf16>)
      outs(%y : tensor<1x?x2048xbf16>)
  return %r : tensor<1x?x2048xbf16>
}

// A tile that is in its online form already.
// CHECK-LABEL: func.func @online
// CHECK: attn.plan = #attn.plan<layout = lanes, keys = 64, chunk = 1024>
func.func @online(%q: tensor<16x32xf32>, %k: tensor<?x16xf32>, %m: tensor<32xf32>,
                  %n: index) -> tensor<16x32xf32> {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %r:3 = attn.online_attention
      ins(%q, %k, %k : tensor<16x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%q, %m, %m : tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>)
      at(%c0, %c0, %c0, %c0) queries(%n) exact(%no)
      -> tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>
  return %r#0 : tensor<16x32xf32>
}

// Heads that are padded to pairs are in pairs, also of one query.
// CHECK-LABEL: func.func @padded
// AVX2: attn.plan = #attn.plan<layout = lanes,
// ZEN4: attn.plan = #attn.plan<layout = pairs, {{.*}}head_size = 16,
// SMALL: attn.plan = #attn.plan<layout = lanes,
func.func @padded(%q: tensor<1x4x1x15xbf16>, %k: tensor<1x2x?x15xbf16>,
                  %v: tensor<1x2x?x16xbf16>, %e: tensor<1x4x1x16xbf16>)
    -> tensor<1x4x1x16xbf16> {
  %o = attn.attention ins(%q, %k, %v : tensor<1x4x1x15xbf16>, tensor<1x2x?x15xbf16>,
                          tensor<1x2x?x16xbf16>)
      outs(%e : tensor<1x4x1x16xbf16>)
  return %o : tensor<1x4x1x16xbf16>
}

// Gradients of few queries fill their tiles.
// CHECK-LABEL: func.func @backward
// AVX2: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 24, lanes = 8, keys = 64>
// ZEN4: attn.plan = #attn.plan<layout = lanes, heads = 1, rows = 32, lanes = 16, keys = 64>
func.func @backward(%q: tensor<1x4x17x64xf32>, %k: tensor<1x4x512x64xf32>,
                    %l: tensor<1x4x17xf32>)
    -> (tensor<1x4x17x64xf32>, tensor<1x4x512x64xf32>, tensor<1x4x512x64xf32>) {
  %dq, %dk, %dv = attn.attention_backward
      ins(%q, %k, %k, %q, %l, %q : tensor<1x4x17x64xf32>, tensor<1x4x512x64xf32>,
          tensor<1x4x512x64xf32>, tensor<1x4x17x64xf32>, tensor<1x4x17xf32>,
          tensor<1x4x17x64xf32>)
      outs(%q, %k, %k : tensor<1x4x17x64xf32>, tensor<1x4x512x64xf32>, tensor<1x4x512x64xf32>)
  return %dq, %dk, %dv : tensor<1x4x17x64xf32>, tensor<1x4x512x64xf32>, tensor<1x4x512x64xf32>
}

// Parts of a group have sums of their own for all keys: few more than there are cores.
// CHECK-LABEL: func.func @backward_of_group
// AVX2: attn.plan = #attn.plan<layout = lanes, heads = 1,
// CORES-LABEL: func.func @backward_of_group
// CORES: attn.plan = #attn.plan<layout = lanes, heads = 4,
func.func @backward_of_group(%q: tensor<1x8x17x64xf32>, %k: tensor<1x1x512x64xf32>,
                             %l: tensor<1x8x17xf32>)
    -> (tensor<1x8x17x64xf32>, tensor<1x1x512x64xf32>, tensor<1x1x512x64xf32>) {
  %dq, %dk, %dv = attn.attention_backward
      ins(%q, %k, %k, %q, %l, %q : tensor<1x8x17x64xf32>, tensor<1x1x512x64xf32>,
          tensor<1x1x512x64xf32>, tensor<1x8x17x64xf32>, tensor<1x8x17xf32>,
          tensor<1x8x17x64xf32>)
      outs(%q, %k, %k : tensor<1x8x17x64xf32>, tensor<1x1x512x64xf32>, tensor<1x1x512x64xf32>)
  return %dq, %dk, %dv : tensor<1x8x17x64xf32>, tensor<1x1x512x64xf32>, tensor<1x1x512x64xf32>
}

// Blocks of f32 on GPUs fill the 16 rows that they are copied to.
// CHECK-LABEL: func.func @long_heads
// GPU-LABEL: func.func @long_heads
// GPU: attn.plan = #attn.plan<layout = mma, {{.*}}head_size = 128, keys = 16, {{.*}}>
func.func @long_heads(%q: tensor<1x2x64x128xf32>) -> tensor<1x2x64x128xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x64x128xf32>, tensor<1x2x64x128xf32>,
          tensor<1x2x64x128xf32>) outs(%q : tensor<1x2x64x128xf32>)
  return %r : tensor<1x2x64x128xf32>
}
