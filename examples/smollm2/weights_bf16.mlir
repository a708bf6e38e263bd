// Weights of a model in bf16, and how they are multiplied; before model.mlir.
//
// Weights (outputs, inputs) come in panels of 32 outputs, in pairs of inputs,
// (outputs / 32, inputs / 2, 32, 2). They have no scales.

!query_panels = tensor<{query_width/32}x{width/2}x32x2xbf16>
!key_panels = tensor<{key_width/32}x{width/2}x32x2xbf16>
!output_panels = tensor<{width/32}x{query_width/2}x32x2xbf16>
!hidden_panels = tensor<{hidden/32}x{width/2}x32x2xbf16>
!down_panels = tensor<{width/32}x{hidden/2}x32x2xbf16>
!logit_panels = tensor<{vocabulary/32}x{width/2}x32x2xbf16>

!query_scales = tensor<0xf32>
!key_scales = tensor<0xf32>
!output_scales = tensor<0xf32>
!hidden_scales = tensor<0xf32>
!down_scales = tensor<0xf32>
!logit_scales = tensor<0xf32>

func.func private @project_query(
    %x: !factor_rows, %weight: !query_panels, %scales: !query_scales,
    %init: !query)
    -> !query {
  %y = attn.projection ins(%x, %weight : !factor_rows, !query_panels)
      outs(%init : !query)
  return %y : !query
}

func.func private @project_key(
    %x: !factor_rows, %weight: !key_panels, %scales: !key_scales, %init: !key)
    -> !key {
  %y = attn.projection ins(%x, %weight : !factor_rows, !key_panels)
      outs(%init : !key)
  return %y : !key
}

func.func private @project_heads(
    %x: !query, %weight: !output_panels, %scales: !output_scales,
    %init: !rows)
    -> !rows {
  %y = attn.projection ins(%x, %weight : !query, !output_panels)
      outs(%init : !rows)
  return %y : !rows
}

func.func private @project_hidden(
    %x: !factor_rows, %weight: !hidden_panels, %scales: !hidden_scales,
    %init: !factor_hidden)
    -> !factor_hidden {
  %y = attn.projection ins(%x, %weight : !factor_rows, !hidden_panels)
      outs(%init : !factor_hidden)
  return %y : !factor_hidden
}

func.func private @project_down(
    %x: !factor_hidden, %weight: !down_panels, %scales: !down_scales, %init: !rows)
    -> !rows {
  %y = attn.projection ins(%x, %weight : !factor_hidden, !down_panels)
      outs(%init : !rows)
  return %y : !rows
}

func.func private @project_logits(
    %x: !factor_rows, %weight: !logit_panels, %scales: !logit_scales, %init: !logits)
    -> !logits {
  %y = attn.projection ins(%x, %weight : !factor_rows, !logit_panels)
      outs(%init : !logits)
  return %y : !logits
}
