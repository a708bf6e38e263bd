// RUN: attn-opt %s -attn-decompose-online -verify-diagnostics

// What says that it is in pages has to be.
func.func @no_pages(%q: tensor<32x16x2xbf16>, %k: tensor<64x64xbf16>, %o: tensor<64x16xf32>,
    %m: tensor<16xf32>) -> (tensor<64x16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %no = arith.constant false
  // expected-error @below {{in_pages: expected rows of an attn.cache_read from that of 'first_key' on}}
  %r:3 = attn.online_attention layout<pairs> in_pages
      ins(%q, %k, %k : tensor<32x16x2xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>)
      outs(%o, %m, %m : tensor<64x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%c0, %c0, %c0, %c0) queries(%c16) exact(%no) {attn.plan = #attn.plan<keys = 64>}
      -> tensor<64x16xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0, %r#1, %r#2 : tensor<64x16xf32>, tensor<16xf32>, tensor<16xf32>
}
