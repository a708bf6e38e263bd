// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @numbers(%failed: i1, %x: i64, %i: index) {
  // expected-error @below {{'attn.report' op expected at most 4 numbers, got 5}}
  attn.report %failed, "op" with(%x, %x, %x, %x, %x) as %i of ["{0}"]
  return
}

// -----

func.func @position(%failed: i1, %i: index) {
  // expected-error @below {{'attn.report' op expected the 4 indices of a position or none, got 3}}
  attn.report %failed, "op" with() as %i of ["no"] at(%i, %i, %i)
  return
}

// -----

func.func @yield(%x: tensor<1x1x8x4xf32>) -> tensor<1x1x8x4xf32> {
  %0 = attn.attention
      ins(%x, %x, %x : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>)
      outs(%x : tensor<1x1x8x4xf32>)
      mask (%b, %h, %q, %k) {
        %keep = arith.cmpi sle, %k, %q : index
        // expected-error @below {{'attn.yield' op expected the 4 indices of a position or none, got 1}}
        attn.yield %keep at(%q) : i1
      }
  return %0 : tensor<1x1x8x4xf32>
}
