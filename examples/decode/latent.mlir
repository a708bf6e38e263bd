// One step of decoding with multi-head latent attention, in its absorbed form
// (DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434): 128 query heads share one latent
// key of 512 elements and the 64 that the rotary embedding turned, and the value is
// the latent part of the same row. A cache holds each row once, in pages, without
// values of its own. What absorbs the projections of keys into the query, and
// unfolds the values of heads, are linear maps before and after.
//
// Query (B, 128, S, 576), new latents (B, 1, S, 576), a pool of pages
// (pages, 1, 16, 576), updated in place; a table of each sequence's pages and the
// lengths before and after, as attn::PagedCache gives them. The scale is that of
// the heads before they were absorbed, of 128 elements and 64.

!query = tensor<?x128x?x576xf32>
!output = tensor<?x128x?x512xf32>
!row = tensor<?x1x?x576xf32>
!pages = tensor<?x1x16x576xf32>
!values = tensor<?x1x?x512xf32>
!lengths = tensor<?xi32>

func.func @latent(%query: !query, %latent: !row,
                  %latent_pages: !pages {bufferization.writable = true},
                  %table: tensor<?x?xi32>, %before: !lengths, %after: !lengths)
    -> (!output, !pages) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %latents = attn.cache_append ins(%latent : !row) outs(%latent_pages : !pages)
      lengths(%before : !lengths) table(%table : tensor<?x?xi32>)

  // As many positions as the longest table has room for.
  %pages = tensor.dim %table, %c1 : tensor<?x?xi32>
  %size = arith.muli %pages, %c16 : index
  %batch = tensor.dim %query, %c0 : !query
  %tokens = tensor.dim %query, %c2 : !query
  %key = attn.cache_read ins(%latents : !pages) lengths(%after : !lengths)
      table(%table : tensor<?x?xi32>) size(%size) -> !row
  %value = tensor.extract_slice %key[0, 0, 0, 0] [%batch, 1, %size, 512]
      [1, 1, 1, 1] : !row to !values

  %init = tensor.empty(%batch, %tokens) : !output
  %output = attn.attention ins(%query, %key, %value : !query, !row, !values)
      outs(%init : !output) scale(0.0721687836487032)
      offset(%before : !lengths) mask causal
  return %output, %latents : !output, !pages
}
