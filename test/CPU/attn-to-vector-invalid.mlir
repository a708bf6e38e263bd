// RUN: attn-opt %s --convert-attn-to-vector --split-input-file --verify-diagnostics

func.func @f16(%s: memref<8x16xf16>, %m: memref<16xf16>, %b: index, %true: i1) {
  // expected-error @below {{is lowered on memrefs of f32 or f64 whose last dimension is contiguous only, got 'memref<8x16xf16>'}}
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<8x16xf16>, memref<16xf16>, memref<16xf16>, memref<16xf16>)
      at(%b, %b, %b, %b) queries(%b) keys(%b)
      partial(%true) defined(%true) exact(%true)
  return
}

// -----

func.func @columns(%w: memref<8x16xf32, strided<[1, 8]>>, %seed: i64, %call: i32,
                   %n: index) {
  // expected-error @below {{is lowered on memrefs of f32 or f64 whose last dimension is contiguous only, got 'memref<8x16xf32, strided<[1, 8]>>'}}
  attn.online_dropout outs(%w : memref<8x16xf32, strided<[1, 8]>>)
      dropout(0.5, %seed, %call, %n) at(%n, %n) keys(%n)
  return
}

// -----

func.func @tensor(%x: tensor<?xf32>) -> i1 {
  // expected-error @below {{is lowered on memrefs only, got 'tensor<?xf32>'}}
  %r = attn.all_finite %x : tensor<?xf32>
  return %r : i1
}

// -----

func.func @pairs(%s: memref<32x16xf32>, %m: memref<16xf32>, %p: memref<16x16x2xbf16>, %n: index) {
  %true = arith.constant true
  // expected-error @below {{expected pairs in a contiguous memref, lanes in multiples of 16, and a target that multiplies pairs, got 'memref<16x16x2xbf16>'}}
  attn.online_softmax
      outs(%s, %m, %m, %m, %p : memref<32x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>, memref<16x16x2xbf16>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%true) defined(%true) exact(%true)
  return
}
