// RUN: attn-opt %s -attn-cpu-pipeline -verify-diagnostics -o /dev/null

// Keys and values of different types, which a block would have to convert to one.

!q = tensor<?x8x1x64xf32>
!keys = tensor<?x2x16x64xf16>
!values = tensor<?x2x16x64xf32>
!kv = tensor<?x2x?x64xf32>

func.func @decode(%query: !q, %keys: !keys, %values: !values,
                  %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
                  %size: index, %out: !q) -> !q {
  // expected-remark @below {{is written out as a whole in every call}}
  %k = attn.cache_read ins(%keys : !keys) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  // expected-remark @below {{is written out as a whole in every call}}
  %v = attn.cache_read ins(%values : !values) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %r = attn.attention ins(%query, %k, %v : !q, !kv, !kv) outs(%out : !q)
      mask key_padding(%lengths : tensor<?xi32>)
  return %r : !q
}
