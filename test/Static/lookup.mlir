// Two results of another element type, and an error that only the kernel finds.
func.func @lookup(%table: tensor<?xbf16>, %0: index)
    -> (tensor<bf16>, tensor<?xbf16>) {
  %c0 = arith.constant 0 : index
  %element = tensor.extract %table[%0] : tensor<?xbf16>
  %empty = tensor.empty() : tensor<bf16>
  %found = tensor.insert %element into %empty[] : tensor<bf16>
  %size = tensor.dim %table, %c0 : tensor<?xbf16>
  %all = tensor.empty(%size) : tensor<?xbf16>
  %sums = linalg.map ins(%table : tensor<?xbf16>) outs(%all : tensor<?xbf16>)
      (%x: bf16, %ignored: bf16) {
        %sum = arith.addf %x, %element : bf16
        linalg.yield %sum : bf16
      }
  return %found, %sums : tensor<bf16>, tensor<?xbf16>
}
