// What derivatives of bf16 are, against float64: in pairs, where the machine multiplies
// these. Numbers of keys are odd, and blocks end anywhere; the scale of 32 is no power
// of two.
//
// RUN: %run %s --entry plain --gradient --random 1 --check
// RUN: %run %s --entry plain --tangent --random 1 --check
// RUN: %run %s --entry grouped --gradient=q,k,v --random 2 --check --threads 2
// RUN: %run %s --entry grouped --tangent --random 2 --check --threads 2
// RUN: %run %s --entry window --gradient --random 3 --check
// RUN: %run %s --entry window --tangent --random 3 --check
// RUN: %run %s --entry bias --gradient=q,k,v --random 4 --check
// RUN: %run %s --entry bias --tangent --random 4 --check
// RUN: %run %s --entry packed --gradient --random 5 --check
// RUN: %run %s --entry packed --tangent --random 5 --check
// RUN: %run %s --entry long --gradient=q,k,v --random 8 --check --threads 2
// RUN: %run %s --entry sizes --gradient --random 9 --check
// RUN: %run %s --entry sizes --tangent --random 9 --check
// RUN: %run %s --entry dynamic --gradient --random 6 --check --arg 1x2x70x64 --arg 1x2x35x64 --arg 1x2x35x32
// RUN: %run %s --entry dynamic --tangent --random 6 --check --arg 1x2x70x64 --arg 1x2x35x64 --arg 1x2x35x32
// RUN: %run %s --entry size --gradient --random 7 --check --remarks 2>&1

!q = tensor<2x4x75x32xbf16>
!k = tensor<2x2x141x32xbf16>
!v = tensor<2x2x141x48xbf16>
!o = tensor<2x4x75x48xbf16>

func.func @plain(%q: !q, %k: !k, %v: !v) -> !o {
  %i = tensor.empty() : !o
  %o = attn.attention ins(%q, %k, %v : !q, !k, !v) outs(%i : !o)
  return %o : !o
}

func.func @grouped(%q: !q, %k: !k, %v: !v, %s: tensor<4xf32>) -> !o {
  %i = tensor.empty() : !o
  %o = attn.attention ins(%q, %k, %v : !q, !k, !v) outs(%i : !o) offset(bottom_right)
      sink(%s : tensor<4xf32>) score softcap(2.0) mask causal
  return %o : !o
}

func.func @window(%q: !q, %k: !k, %v: !v, %seed: i64, %call: i32) -> !o {
  %i = tensor.empty() : !o
  %o = attn.attention ins(%q, %k, %v : !q, !k, !v) outs(%i : !o) offset(bottom_right)
      dropout(0.2, %seed, %call) mask sliding_window(22, 3)
  return %o : !o
}

func.func @bias(%q: !q, %k: !k, %v: !v, %t: tensor<4x75x141xf32>) -> !o {
  %i = tensor.empty() : !o
  %o = attn.attention ins(%q, %k, %v : !q, !k, !v) outs(%i : !o)
      score bias(%t : tensor<4x75x141xf32>) mask causal
  return %o : !o
}

!qs = tensor<1x4x75x32xbf16>
!ks = tensor<1x2x141x32xbf16>
func.func @packed(%q: !qs, %k: !ks, %v: !ks) -> !qs {
  %i = tensor.empty() : !qs
  %m = arith.constant dense<[0, 30, 75]> : tensor<3xi32>
  %n = arith.constant dense<[0, 33, 140]> : tensor<3xi32>
  %o = attn.attention ins(%q, %k, %v : !qs, !ks, !ks) outs(%i : !qs)
      sequences(%m, %n : tensor<3xi32>, tensor<3xi32>) mask causal
  return %o : !qs
}

!d = tensor<?x2x?x64xbf16>
!e = tensor<?x2x?x32xbf16>
func.func @dynamic(%q: !d, %k: !d, %v: !e) -> !e {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !d
  %n = tensor.dim %q, %c2 : !d
  %i = tensor.empty(%b, %n) : !e
  %o = attn.attention ins(%q, %k, %v : !d, !d, !e) outs(%i : !e)
  return %o : !e
}

// More keys than have sums at a time.
func.func @long(%q: tensor<1x2x150x128xbf16>, %k: tensor<1x2x1100x128xbf16>, %v: tensor<1x2x1100x128xbf16>, %s: tensor<2xf32>) -> tensor<1x2x150x128xbf16> {
  %i = tensor.empty() : tensor<1x2x150x128xbf16>
  %o = attn.attention ins(%q, %k, %v : tensor<1x2x150x128xbf16>, tensor<1x2x1100x128xbf16>, tensor<1x2x1100x128xbf16>)
      outs(%i : tensor<1x2x150x128xbf16>) offset(bottom_right)
      sink(%s : tensor<2xf32>) mask sliding_window(600, 0)
  return %o : tensor<1x2x150x128xbf16>
}

// Queries and keys that fill vectors, and no tiles.
func.func @sizes(%q: tensor<1x2x70x80xbf16>, %k: tensor<1x2x99x80xbf16>, %v: tensor<1x2x99x96xbf16>) -> tensor<1x2x70x96xbf16> {
  %i = tensor.empty() : tensor<1x2x70x96xbf16>
  %o = attn.attention ins(%q, %k, %v : tensor<1x2x70x80xbf16>, tensor<1x2x99x80xbf16>, tensor<1x2x99x96xbf16>)
      outs(%i : tensor<1x2x70x96xbf16>) mask causal
  return %o : tensor<1x2x70x96xbf16>
}

// Not in pairs.
!x = tensor<1x2x20x24xbf16>
func.func @size(%q: !x, %k: !x, %v: !x) -> !x {
  %i = tensor.empty() : !x
  %o = attn.attention ins(%q, %k, %v : !x, !x, !x) outs(%i : !x) mask causal
  return %o : !x
}
