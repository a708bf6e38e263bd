// RUN: attn-opt %s -attn-cpu-pipeline -verify-diagnostics -o /dev/null

// A page size that is not static: whether a block of keys leaves a page is not
// known.

!q = tensor<?x8x1x64xf32>
!pages = tensor<?x2x?x64xf32>
!kv = tensor<?x2x?x64xf32>

func.func @decode(%query: !q, %keys: !pages, %values: !pages,
                  %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
                  %size: index, %out: !q) -> !q {
  // expected-remark @below {{is written out as a whole in every call}}
  %k = attn.cache_read ins(%keys : !pages) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  // expected-remark @below {{is written out as a whole in every call}}
  %v = attn.cache_read ins(%values : !pages) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %r = attn.attention ins(%query, %k, %v : !q, !kv, !kv) outs(%out : !q)
      mask key_padding(%lengths : tensor<?xi32>)
  return %r : !q
}
