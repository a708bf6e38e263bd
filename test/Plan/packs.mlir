// RUN: attn-opt %s --attn-target=znver4 -attn-plan | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 512, bf16_dot = true, l2_bytes = 8388608}" -attn-plan | FileCheck %s --check-prefix=LARGE

// Where the values of attention in pairs, and the rows of a projection, are packed.

!q = tensor<1x8x?x64xbf16>
!k = tensor<1x2x?x64xbf16>

// Every tile reads them from the first key on.
// CHECK-LABEL: func.func @causal
// CHECK: layout = pairs, {{.*}}, packs = shared>
func.func @causal(%q: !q, %k: !k) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q) mask causal
  return %r : !q
}

// What a tile sees begins further on for later ones.
// CHECK-LABEL: func.func @window
// CHECK: layout = pairs, {{.*}}, packs = kept>
// CHECK-NOT: scf.forall
func.func @window(%q: !q, %k: !k) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      mask sliding_window(127, 0)
  return %r : !q
}

// So it may where a table says what a query sees.
// CHECK-LABEL: func.func @first_keys
// CHECK: layout = pairs, {{.*}}, packs = kept>
// CHECK-NOT: attn.block_range
func.func @first_keys(%q: !q, %k: !k, %first: tensor<?xi32>) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      mask(%b, %h, %p, %j) captures(%t = %first : tensor<?xi32>) {
    %from = tensor.extract %t[%p] : tensor<?xi32>
    %key = arith.index_cast %j : index to i32
    %keep = arith.cmpi sge, %key, %from : i32
    attn.yield %keep : i1
  }
  return %r : !q
}

// A part of keys is read by one tile.
// CHECK-LABEL: func.func @few
// CHECK: layout = pairs, {{.*}}, chunk = 1024, packs = block, rest = <layout = rows,
func.func @few(%q: tensor<1x8x5x64xbf16>, %k: !k) -> tensor<1x8x5x64xbf16> {
  %r = attn.attention ins(%q, %k, %k : tensor<1x8x5x64xbf16>, !k, !k)
      outs(%q : tensor<1x8x5x64xbf16>)
  return %r : tensor<1x8x5x64xbf16>
}

// Nobody outside of the loop over tiles knows where a sequence begins.
// CHECK-LABEL: func.func @sequences
// CHECK: layout = pairs, {{.*}}, packs = kept>
func.func @sequences(%q: !q, %k: !k, %n: tensor<?xi32>) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      sequences(%n, %n : tensor<?xi32>, tensor<?xi32>)
  return %r : !q
}

// A user's loop over heads, each of which has a loop over tiles of its own.
// CHECK-LABEL: func.func @nested
// CHECK: layout = pairs, {{.*}}, packs = shared>
func.func @nested(%q: tensor<1x8x512x64xbf16>, %k: tensor<1x8x512x64xbf16>) -> tensor<1x8x512x64xbf16> {
  %r = scf.forall (%h) in (8) shared_outs(%out = %q) -> tensor<1x8x512x64xbf16> {
    %one = tensor.extract_slice %out[0, %h, 0, 0] [1, 1, 512, 64] [1, 1, 1, 1]
        : tensor<1x8x512x64xbf16> to tensor<1x1x512x64xbf16>
    %keys = tensor.extract_slice %k[0, %h, 0, 0] [1, 1, 512, 64] [1, 1, 1, 1]
        : tensor<1x8x512x64xbf16> to tensor<1x1x512x64xbf16>
    %o = attn.attention
        ins(%one, %keys, %keys : tensor<1x1x512x64xbf16>, tensor<1x1x512x64xbf16>,
            tensor<1x1x512x64xbf16>) outs(%one : tensor<1x1x512x64xbf16>)
        mask sliding_window(127, 0)
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %o into %out[0, %h, 0, 0] [1, 1, 512, 64] [1, 1, 1, 1]
          : tensor<1x1x512x64xbf16> into tensor<1x8x512x64xbf16>
    }
  }
  return %r : tensor<1x8x512x64xbf16>
}

// What is said stays.
// CHECK-LABEL: func.func @said
// CHECK: packs = block>
func.func @said(%q: !q, %k: !k) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<packs = block>}
  return %r : !q
}

!w = tensor<64x1024x32xbf16>

// Rows of tiles do not fit into the second level as a whole.
// CHECK-LABEL: func.func @rows
// CHECK: rows = 256, {{.*}}, packs = kept>
// LARGE-LABEL: func.func @rows
// LARGE: rows = 256, {{.*}}, packs = shared>
func.func @rows(%x: tensor<1x2048x1024xbf16>, %w: !w,
                %y: tensor<1x2048x2048xbf16>) -> tensor<1x2048x2048xbf16> {
  %r = attn.projection ins(%x, %w : tensor<1x2048x1024xbf16>, !w)
      outs(%y : tensor<1x2048x2048xbf16>)
  return %r : tensor<1x2048x2048xbf16>
}

// Two loops read them; of about the same size are tiles of 300 rows.
// CHECK-LABEL: func.func @two
// CHECK: rows = 160, {{.*}}, packs = shared>
// CHECK: rows = 160, {{.*}}, packs = shared>
func.func @two(%x: tensor<1x300x1024xbf16>, %w: !w, %y: tensor<1x300x2048xbf16>)
    -> (tensor<1x300x2048xbf16>, tensor<1x300x2048xbf16>) {
  %r = attn.projection ins(%x, %w : tensor<1x300x1024xbf16>, !w)
      outs(%y : tensor<1x300x2048xbf16>)
  %s = attn.projection ins(%x, %w : tensor<1x300x1024xbf16>, !w)
      outs(%y : tensor<1x300x2048xbf16>)
  return %r, %s : tensor<1x300x2048xbf16>, tensor<1x300x2048xbf16>
}

// But one, where an operation takes the results of both in the same tiles. Only the
// size of one is asked for beside.
// CHECK-LABEL: func.func @joined
// CHECK: packs = kept>
// CHECK: packs = kept>
func.func @joined(%x: tensor<1x?x1024xbf16>, %w: !w, %v: !w, %y: tensor<1x?x2048xbf16>)
    -> (tensor<1x?x2048xbf16>, index) {
  %c1 = arith.constant 1 : index
  %r = attn.projection ins(%x, %w : tensor<1x?x1024xbf16>, !w)
      outs(%y : tensor<1x?x2048xbf16>)
  %s = attn.projection ins(%x, %v : tensor<1x?x1024xbf16>, !w)
      outs(%y : tensor<1x?x2048xbf16>)
  %n = tensor.dim %r, %c1 : tensor<1x?x2048xbf16>
  %p = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>,
      affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r, %s : tensor<1x?x2048xbf16>, tensor<1x?x2048xbf16>)
      outs(%y : tensor<1x?x2048xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %m = arith.mulf %a, %b : bf16
    linalg.yield %m : bf16
  } -> tensor<1x?x2048xbf16>
  return %p, %n : tensor<1x?x2048xbf16>, index
}

// Features of heads are no rows: these are 500, which fit as a whole.
// LARGE-LABEL: func.func @heads
// LARGE: rows = 256, {{.*}}, packs = shared>
func.func @heads(%x: tensor<1x16x500x64xbf16>, %w: !w,
                 %y: tensor<1x500x2048xbf16>) -> tensor<1x500x2048xbf16> {
  %r = attn.projection ins(%x, %w : tensor<1x16x500x64xbf16>, !w)
      outs(%y : tensor<1x500x2048xbf16>)
  return %r : tensor<1x500x2048xbf16>
}
