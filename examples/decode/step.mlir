// One step of decoding for a batch of sequences of any lengths: appends the new
// key and value of each to its pages, and attends with its query to all of them.
//
// Query (B, 8, 1, 64), new key and value (B, 2, 1, 64); pools of pages
// (pages, 2, 16, 64), updated in place; a table of each sequence's pages and the
// lengths before and after, as attn::PagedCache gives them.

!query = tensor<?x8x1x64xf32>
!row = tensor<?x2x1x64xf32>
!pages = tensor<?x2x16x64xf32>
!all = tensor<?x2x?x64xf32>
!lengths = tensor<?xi32>

func.func @step(%query: !query, %key: !row, %value: !row,
                %key_pages: !pages {bufferization.writable = true},
                %value_pages: !pages {bufferization.writable = true},
                %table: tensor<?x?xi32>, %before: !lengths, %after: !lengths)
    -> (!query, !pages, !pages) {
  %keys = attn.cache_append ins(%key : !row) outs(%key_pages : !pages)
      lengths(%before : !lengths) table(%table : tensor<?x?xi32>)
  %values = attn.cache_append ins(%value : !row) outs(%value_pages : !pages)
      lengths(%before : !lengths) table(%table : tensor<?x?xi32>)

  // As many positions as the longest table has room for.
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %pages = tensor.dim %table, %c1 : tensor<?x?xi32>
  %size = arith.muli %pages, %c16 : index
  %k = attn.cache_read ins(%keys : !pages) lengths(%after : !lengths)
      table(%table : tensor<?x?xi32>) size(%size) -> !all
  %v = attn.cache_read ins(%values : !pages) lengths(%after : !lengths)
      table(%table : tensor<?x?xi32>) size(%size) -> !all

  %batch = tensor.dim %query, %c0 : !query
  %init = tensor.empty(%batch) : !query
  %output = attn.attention ins(%query, %k, %v : !query, !all, !all)
      outs(%init : !query) mask key_padding(%after : !lengths)
  return %output, %keys, %values : !query, !pages, !pages
}
