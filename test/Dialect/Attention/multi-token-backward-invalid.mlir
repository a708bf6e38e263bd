// RUN: attn-opt %s --split-input-file --verify-diagnostics

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b1_operands(%q: !q, %k: !k) {
  // expected-error @+2 {{expected 4 or 5 operands 'ins' (query, key, value, output gradient and, optionally, log-sum-exp gradient) with their types, got 3 and 3}}
  %0:3 = attn.multi_token_attention_backward
      ins(%q, %k, %k : !q, !k, !k) outs(%q, %k, %k : !q, !k, !k)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b1_gradient(%q: !q, %k: !k, %o: tensor<1x4x7x8xf16>) {
  // expected-error @+1 {{operand 'output_gradient': expected element type 'f32', got 'f16'}}
  %0:3 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %o : !q, !k, !k, tensor<1x4x7x8xf16>)
      outs(%q, %k, %k : !q, !k, !k)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b1_more_rows(%q: !q, %k: !k, %o: tensor<1x4x8x8xf32>) {
  // expected-error @+1 {{operand 'output_gradient': dimension 2 (output length) is 8, expected at most 7, the query length}}
  %0:3 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %o : !q, !k, !k, tensor<1x4x8x8xf32>)
      outs(%q, %k, %k : !q, !k, !k)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

// expected-note @+1 {{dimension 2 of 'output_gradient' is 7, from 'tensor<1x4x7x8xf32>'}}
func.func @b1_other_rows(%q: !q, %k: !k, %o: !q, %l: tensor<1x4x5xf32>) {
  // expected-error @+1 {{operand 'log_sum_exp_gradient': dimension 2 (query length) is 5, expected 7}}
  %0:3 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %o, %l : !q, !k, !k, !q, tensor<1x4x5xf32>)
      outs(%q, %k, %k : !q, !k, !k)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b1_kernel(%q: !q, %k: !k, %w: tensor<4x3x4xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention_backward' op operand 'kernel_after': expected dimension 2 (ck) to be odd, got 4}}
  %0:4 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %q : !q, !k, !k, !q)
      outs(%q, %k, %k, %w : !q, !k, !k, tensor<4x3x4xf32>)
      convolve_after(%w : tensor<4x3x4xf32>)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b2_stage(%q: !q, %k: !k, %w: tensor<1x4x4xf32>) {
  // expected-error @+1 {{expected 4 operands 'outs' (gradients of query, key, value, the stages and what 'gradients' names), got 3}}
  %0:3 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %q : !q, !k, !k, !q) outs(%q, %k, %k : !q, !k, !k)
      mix_before(%w : tensor<1x4x4xf32>)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b2_stage_type(%q: !q, %k: !k, %w: tensor<1x4x4xf32>, %x: tensor<2x2x2xf32>) {
  // expected-error @+1 {{gradient of 'mixing_before': expected the shape and elements of 'tensor<1x4x4xf32>', got 'tensor<2x2x2xf32>'}}
  %0:4 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %q : !q, !k, !k, !q)
      outs(%q, %k, %k, %x : !q, !k, !k, tensor<2x2x2xf32>)
      mix_before(%w : tensor<1x4x4xf32>)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b2_key(%q: !q, %k: !k) {
  // expected-error @+1 {{gradient of 'key': expected the shape and elements of 'tensor<1x2x9x8xf32>', got 'tensor<1x4x7x8xf32>'}}
  %0:3 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %q : !q, !k, !k, !q) outs(%q, %q, %k : !q, !q, !k)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b2_sink(%q: !q, %k: !k) {
  // expected-error @+1 {{expected a 'sink', whose gradient is asked for}}
  %0:3 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %q : !q, !k, !k, !q) outs(%q, %k, %k : !q, !k, !k)
      gradients(sink)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>

func.func @b2_capture(%q: !q, %k: !k) {
  // expected-error @+1 {{expected the number of a capture of the score in 'gradients', below 0, got 2}}
  %0:3 = attn.multi_token_attention_backward
      ins(%q, %k, %k, %q : !q, !k, !k, !q) outs(%q, %k, %k : !q, !k, !k)
      gradients(2)
  return
}
