// RUN: attn-opt %s -attn-cpu-pipeline -split-input-file -verify-diagnostics -o /dev/null

// Caches whose keys and values are not read where they lie.

// Values that are in no cache.

!q = tensor<?x8x1x64xf32>
!keys = tensor<?x2x16x64xf16>
!kv = tensor<?x2x?x64xf32>

func.func @decode(%query: !q, %keys: !keys, %values: !kv,
                  %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
                  %size: index, %out: !q) -> !q {
  // expected-remark @below {{is written out as a whole in every call}}
  %k = attn.cache_read ins(%keys : !keys) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %r = attn.attention ins(%query, %k, %values : !q, !kv, !kv) outs(%out : !q)
      mask key_padding(%lengths : tensor<?xi32>)
  return %r : !q
}

// -----

!q = tensor<?x8x1x64xf32>
!pages = tensor<?x2x?x64xf32>
!kv = tensor<?x2x?x64xf32>

func.func @dynamic_pages(%query: !q, %keys: !pages, %values: !pages,
                  %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
                  %size: index, %out: !q) -> !q {
  %k = attn.cache_read ins(%keys : !pages) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %v = attn.cache_read ins(%values : !pages) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  // expected-remark @below {{copies each block of keys and values out of its cache, because how many rows a page, or a ring, has is not known while compiling}}
  %r = attn.attention ins(%query, %k, %v : !q, !kv, !kv) outs(%out : !q)
      mask key_padding(%lengths : tensor<?xi32>)
  return %r : !q
}

// -----

!q = tensor<?x8x1x64xf32>
!pages = tensor<?x2x12x64xf32>
!kv = tensor<?x2x?x64xf32>

func.func @odd_pages(%query: !q, %keys: !pages, %values: !pages,
                  %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
                  %size: index, %out: !q) -> !q {
  %k = attn.cache_read ins(%keys : !pages) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %v = attn.cache_read ins(%values : !pages) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  // expected-remark @below {{copies each block of keys and values out of its cache, because a page, or a ring, has too few rows, or an odd number}}
  %r = attn.attention ins(%query, %k, %v : !q, !kv, !kv) outs(%out : !q)
      mask key_padding(%lengths : tensor<?xi32>)
  return %r : !q
}

// -----

!q = tensor<?x8x1x64xf32>
!pages = tensor<?x2x16x64xf32>
!kv = tensor<?x2x?x64xf32>

// None is copied.
func.func @pages(%query: !q, %keys: !pages, %values: !pages,
                 %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
                 %size: index, %out: !q) -> !q {
  %k = attn.cache_read ins(%keys : !pages) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %v = attn.cache_read ins(%values : !pages) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %r = attn.attention ins(%query, %k, %v : !q, !kv, !kv) outs(%out : !q)
      mask key_padding(%lengths : tensor<?xi32>)
  return %r : !q
}

// -----

!q = tensor<?x8x1x64xf32>
!keys = tensor<?x2x16x64xf16>
!values = tensor<?x2x16x64xf32>
!kv = tensor<?x2x?x64xf32>

// Nor is one of two types.
func.func @types(%query: !q, %keys: !keys, %values: !values,
                 %lengths: tensor<?xi32>, %table: tensor<?x?xi32>,
                 %size: index, %out: !q) -> !q {
  %k = attn.cache_read ins(%keys : !keys) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %v = attn.cache_read ins(%values : !values) lengths(%lengths : tensor<?xi32>)
      table(%table : tensor<?x?xi32>) size(%size) -> !kv
  %r = attn.attention ins(%query, %k, %v : !q, !kv, !kv) outs(%out : !q)
      mask key_padding(%lengths : tensor<?xi32>)
  return %r : !q
}
