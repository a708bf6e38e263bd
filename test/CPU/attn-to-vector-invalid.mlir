// RUN: attn-opt %s --convert-attn-to-vector --split-input-file --verify-diagnostics

func.func @f64(%s: memref<8x16xf64>, %m: memref<16xf64>, %b: index, %true: i1) {
  // expected-error @below {{is lowered on memrefs of f32 whose last dimension is contiguous only, got 'memref<8x16xf64>'}}
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<8x16xf64>, memref<16xf64>, memref<16xf64>, memref<16xf64>)
      at(%b, %b, %b, %b) queries(%b) keys(%b)
      partial(%true) defined(%true) exact(%true)
  return
}

// -----

func.func @tensor(%x: tensor<?xf32>) -> i1 {
  // expected-error @below {{is lowered on memrefs only, got 'tensor<?xf32>'}}
  %r = attn.all_finite %x : tensor<?xf32>
  return %r : i1
}
