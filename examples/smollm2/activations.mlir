// Activations of a model; before the weights and model.mlir. In braces are sizes,
// which the program takes from a model's file; a quotient is rounded up.
//
// What is multiplied by weights, and what attention works on, is of type !factor:
// f32, or bf16, to which @to_factor rounds and from which @from_factor converts.
// They come before this text.

!rows = tensor<1x?x{width}xf32>
!factor_rows = tensor<1x?x{width}x!factor>
!vector = tensor<{width}xf32>
!sums = tensor<1x?xf32>
!query = tensor<1x{heads}x?x{head_size}x!factor>
!key = tensor<1x{key_heads}x?x{head_size}x!factor>
!stored = tensor<?x{key_heads}x?x{head_size}x!factor>
!angles = tensor<?x{rotary_size/2}xf32>
!pages = tensor<?x{key_heads}x16x{head_size}x!factor>
!table = tensor<?x?xi32>
!lengths = tensor<?xi32>
!positions = tensor<1x?xi32>
!factor_hidden = tensor<1x?x{hidden}x!factor>
!logits = tensor<1x?x{vocabulary}xf32>
