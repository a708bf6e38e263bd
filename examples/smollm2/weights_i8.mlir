// Weights of a model in i8, and how they are multiplied; before model.mlir.
//
// Weights (outputs, inputs) come in panels of 64 outputs, (outputs / 64, inputs, 64),
// each output with a scale.

!query_panels = tensor<{query_width/64}x{width}x64xi8>
!key_panels = tensor<{key_width/64}x{width}x64xi8>
!output_panels = tensor<{width/64}x{query_width}x64xi8>
!hidden_panels = tensor<{hidden/64}x{width}x64xi8>
!down_panels = tensor<{width/64}x{hidden}x64xi8>
!logit_panels = tensor<{vocabulary/64}x{width}x64xi8>

!query_scales = tensor<{query_width}xf32>
!key_scales = tensor<{key_width}xf32>
!output_scales = tensor<{width}xf32>
!hidden_scales = tensor<{hidden}xf32>
!down_scales = tensor<{width}xf32>
!logit_scales = tensor<{vocabulary}xf32>

func.func private @project_query(
    %x: !factor_rows, %weight: !query_panels, %scales: !query_scales,
    %init: !query)
    -> !query {
  %y = attn.projection ins(%x, %weight : !factor_rows, !query_panels)
      outs(%init : !query) scales(%scales : !query_scales)
  return %y : !query
}

func.func private @project_key(
    %x: !factor_rows, %weight: !key_panels, %scales: !key_scales, %init: !key)
    -> !key {
  %y = attn.projection ins(%x, %weight : !factor_rows, !key_panels)
      outs(%init : !key) scales(%scales : !key_scales)
  return %y : !key
}

func.func private @project_heads(
    %x: !query, %weight: !output_panels, %scales: !output_scales,
    %init: !rows)
    -> !rows {
  %y = attn.projection ins(%x, %weight : !query, !output_panels)
      outs(%init : !rows) scales(%scales : !output_scales)
  return %y : !rows
}

func.func private @project_hidden(
    %x: !factor_rows, %weight: !hidden_panels, %scales: !hidden_scales,
    %init: !factor_hidden)
    -> !factor_hidden {
  %y = attn.projection ins(%x, %weight : !factor_rows, !hidden_panels)
      outs(%init : !factor_hidden) scales(%scales : !hidden_scales)
  return %y : !factor_hidden
}

func.func private @project_down(
    %x: !factor_hidden, %weight: !down_panels, %scales: !down_scales, %init: !rows)
    -> !rows {
  %y = attn.projection ins(%x, %weight : !factor_hidden, !down_panels)
      outs(%init : !rows) scales(%scales : !down_scales)
  return %y : !rows
}

func.func private @project_logits(
    %x: !factor_rows, %weight: !logit_panels, %scales: !logit_scales, %init: !logits)
    -> !logits {
  %y = attn.projection ins(%x, %weight : !factor_rows, !logit_panels)
      outs(%init : !logits) scales(%scales : !logit_scales)
  return %y : !logits
}
