// Activations of SmolLM2-135M; before the weights and model.mlir.
//
// What is multiplied by weights, and what attention works on, is of type !factor:
// f32, or bf16, to which @to_factor rounds and from which @from_factor converts.
// They come before this text.

!rows = tensor<1x?x576xf32>
!factor_rows = tensor<1x?x576x!factor>
!vector = tensor<576xf32>
!sums = tensor<1x?xf32>
!query = tensor<1x9x?x64x!factor>
!key = tensor<1x3x?x64x!factor>
!angles = tensor<?x32xf32>
!pages = tensor<?x3x16x64x!factor>
!lengths = tensor<?xi32>
!factor_hidden = tensor<1x?x1536x!factor>
!factor_token = tensor<1x1x576x!factor>
!logits = tensor<1x1x49152xf32>
