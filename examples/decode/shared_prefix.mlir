// step.mlir for sequences that were forked from one prompt. Attention to the
// prompt's keys, which are the same for all of them, is computed once, with the
// queries of all sequences as the rows of one; attention to what each sequence has
// of its own comes beside it, and attn.merge makes one result of the two.
//
// Arguments as in step.mlir, and the number of pages of the prompt, all full, that
// every sequence's table starts with.

!query = tensor<?x8x1x64xf32>
!row = tensor<?x2x1x64xf32>
!pages = tensor<?x2x16x64xf32>
!keys = tensor<?x2x?x64xf32>
!lengths = tensor<?xi32>
!table = tensor<?x?xi32>

func.func @step(%query: !query, %key: !row, %value: !row,
                %key_pages: !pages {bufferization.writable = true},
                %value_pages: !pages {bufferization.writable = true},
                %table: !table, %before: !lengths, %after: !lengths,
                %shared: index) -> (!query, !pages, !pages) {
  %keys = attn.cache_append ins(%key : !row) outs(%key_pages : !pages)
      lengths(%before : !lengths) table(%table : !table)
  %values = attn.cache_append ins(%value : !row) outs(%value_pages : !pages)
      lengths(%before : !lengths) table(%table : !table)

  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %batch = tensor.dim %query, %c0 : !query
  %pages = tensor.dim %table, %c1 : !table
  %prefix = arith.muli %shared, %c16 : index
  %prefix_i32 = arith.index_cast %prefix : index to i32

  // The prompt's pages are those of the first sequence.
  %prefix_table = tensor.extract_slice %table[0, 0] [1, %shared] [1, 1]
      : !table to tensor<1x?xi32>
  %prefix_length = tensor.from_elements %prefix_i32 : tensor<1xi32>
  %prefix_k = attn.cache_read ins(%keys : !pages)
      lengths(%prefix_length : tensor<1xi32>) table(%prefix_table : tensor<1x?xi32>)
      size(%prefix) -> tensor<1x2x?x64xf32>
  %prefix_v = attn.cache_read ins(%values : !pages)
      lengths(%prefix_length : tensor<1xi32>) table(%prefix_table : tensor<1x?xi32>)
      size(%prefix) -> tensor<1x2x?x64xf32>

  // (B, 8, 1, 64) to (1, 8, B, 64), and the results back.
  %rows = tensor.collapse_shape %query [[0], [1, 2], [3]]
      : !query into tensor<?x8x64xf32>
  %turned_init = tensor.empty(%batch) : tensor<8x?x64xf32>
  %turned = linalg.transpose ins(%rows : tensor<?x8x64xf32>)
      outs(%turned_init : tensor<8x?x64xf32>) permutation = [1, 0, 2]
  %together = tensor.expand_shape %turned [[0, 1], [2], [3]]
      output_shape [1, 8, %batch, 64]
      : tensor<8x?x64xf32> into tensor<1x8x?x64xf32>
  %together_init = tensor.empty(%batch) : tensor<1x8x?x64xf32>
  %together_lse_init = tensor.empty(%batch) : tensor<1x8x?xf32>
  %o1, %l1 = attn.attention
      ins(%together, %prefix_k, %prefix_v : tensor<1x8x?x64xf32>,
          tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      outs(%together_init, %together_lse_init : tensor<1x8x?x64xf32>,
          tensor<1x8x?xf32>)
  %o1_heads = tensor.collapse_shape %o1 [[0, 1], [2], [3]]
      : tensor<1x8x?x64xf32> into tensor<8x?x64xf32>
  %l1_heads = tensor.collapse_shape %l1 [[0, 1], [2]]
      : tensor<1x8x?xf32> into tensor<8x?xf32>
  %o1_init = tensor.empty(%batch) : tensor<?x8x64xf32>
  %l1_init = tensor.empty(%batch) : tensor<?x8xf32>
  %o1_rows = linalg.transpose ins(%o1_heads : tensor<8x?x64xf32>)
      outs(%o1_init : tensor<?x8x64xf32>) permutation = [1, 0, 2]
  %l1_rows = linalg.transpose ins(%l1_heads : tensor<8x?xf32>)
      outs(%l1_init : tensor<?x8xf32>) permutation = [1, 0]
  %of_prefix = tensor.expand_shape %o1_rows [[0], [1, 2], [3]]
      output_shape [%batch, 8, 1, 64] : tensor<?x8x64xf32> into !query
  %lse_of_prefix = tensor.expand_shape %l1_rows [[0], [1, 2]]
      output_shape [%batch, 8, 1] : tensor<?x8xf32> into tensor<?x8x1xf32>

  // What comes after the prompt is a cache of its own.
  %own_pages = arith.subi %pages, %shared : index
  %own_size = arith.muli %own_pages, %c16 : index
  %own_table = tensor.extract_slice %table[0, %shared] [%batch, %own_pages] [1, 1]
      : !table to !table
  %prefixes = tensor.splat %prefix_i32[%batch] : !lengths
  %own_lengths = arith.subi %after, %prefixes : !lengths
  %own_k = attn.cache_read ins(%keys : !pages) lengths(%own_lengths : !lengths)
      table(%own_table : !table) size(%own_size) -> !keys
  %own_v = attn.cache_read ins(%values : !pages) lengths(%own_lengths : !lengths)
      table(%own_table : !table) size(%own_size) -> !keys
  %own_init = tensor.empty(%batch) : !query
  %own_lse_init = tensor.empty(%batch) : tensor<?x8x1xf32>
  %o2, %l2 = attn.attention ins(%query, %own_k, %own_v : !query, !keys, !keys)
      outs(%own_init, %own_lse_init : !query, tensor<?x8x1xf32>)
      mask key_padding(%own_lengths : !lengths)

  %init = tensor.empty(%batch) : !query
  %output = attn.merge
      ins(%of_prefix, %lse_of_prefix, %o2, %l2 : !query, tensor<?x8x1xf32>,
          !query, tensor<?x8x1xf32>) outs(%init : !query)
  return %output, %keys, %values : !query, !pages, !pages
}
