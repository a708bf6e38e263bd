// RUN: attn-opt %s -attn-split-decoding -verify-diagnostics

// Keys are split for the queries of one tile alone.
func.func @many(%q: tensor<1x2x65x64xf16>, %k: tensor<1x2x3000x64xf16>)
    -> tensor<1x2x65x64xf16> {
  // expected-error @below {{expected an attn.plan with 'lanes', and with 'rows' for all queries of all heads that share keys, without dropout, to split keys into parts of a 'chunk'}}
  %r = attn.attention ins(%q, %k, %k : tensor<1x2x65x64xf16>,
      tensor<1x2x3000x64xf16>, tensor<1x2x3000x64xf16>)
      outs(%q : tensor<1x2x65x64xf16>)
      {attn.plan = #attn.plan<rows = 64, lanes = 16, chunk = 256>}
  return %r : tensor<1x2x65x64xf16>
}
