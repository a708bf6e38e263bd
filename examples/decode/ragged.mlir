// One step of an engine that serves many sequences at once (continuous batching):
// of some, which just came, a prompt or a chunk of it, of others one new token or
// the few of a draft. Rows of all sequences follow one another, and `cu_seqlens`,
// (N+1), says where each begins, so that projections before and after the attention
// see one matrix. Each sequence appends to its own pages and attends to them.
//
// Query (1, 8, T, 64), new key and value (1, 2, T, 64) of T tokens of N sequences;
// pools of pages (pages, 2, 16, 64), updated in place; a table of each sequence's
// pages and the lengths before and after, as attn::PagedCache gives them.

!query = tensor<1x8x?x64xf32>
!row = tensor<1x2x?x64xf32>
!pages = tensor<?x2x16x64xf32>
!all = tensor<?x2x?x64xf32>
!lengths = tensor<?xi32>

func.func @ragged(%query: !query, %key: !row, %value: !row,
                  %key_pages: !pages {bufferization.writable = true},
                  %value_pages: !pages {bufferization.writable = true},
                  %table: tensor<?x?xi32>, %before: !lengths, %after: !lengths,
                  %cu_seqlens: !lengths) -> (!query, !pages, !pages) {
  %keys = attn.cache_append ins(%key : !row) outs(%key_pages : !pages)
      lengths(%before : !lengths) sequences(%cu_seqlens : !lengths)
      table(%table : tensor<?x?xi32>)
  %values = attn.cache_append ins(%value : !row) outs(%value_pages : !pages)
      lengths(%before : !lengths) sequences(%cu_seqlens : !lengths)
      table(%table : tensor<?x?xi32>)

  // As many positions as the longest table has room for.
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %pages = tensor.dim %table, %c1 : tensor<?x?xi32>
  %size = arith.muli %pages, %c16 : index
  %k = attn.cache_read ins(%keys : !pages) lengths(%after : !lengths)
      table(%table : tensor<?x?xi32>) size(%size) -> !all
  %v = attn.cache_read ins(%values : !pages) lengths(%after : !lengths)
      table(%table : tensor<?x?xi32>) size(%size) -> !all

  %tokens = tensor.dim %query, %c2 : !query
  %init = tensor.empty(%tokens) : !query
  %output = attn.attention ins(%query, %k, %v : !query, !all, !all)
      outs(%init : !query) offset(%before : !lengths)
      sequences(%cu_seqlens : !lengths) mask causal
  return %output, %keys, %values : !query, !pages, !pages
}
