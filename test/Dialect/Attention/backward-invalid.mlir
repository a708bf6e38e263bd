// RUN: attn-opt %s --split-input-file --verify-diagnostics

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @inputs(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{expected 6 or 7 operands 'ins' (query, key, value, output, log-sum-exp, output gradient and, optionally, log-sum-exp gradient) with their types, got 5 and 5}}
  %0:3 = attn.attention_backward ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%q, %k, %v : !q, !k, !v)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

// expected-note @+1 {{dimension 3 of 'value' is 3, from 'tensor<1x2x9x3xf32>'}}
func.func @saved_output(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{'attn.attention_backward' op operand 'output': dimension 3 (head size of value) is 8, expected 3}}
  %0:3 = attn.attention_backward ins(%q, %k, %v, %q, %lse, %o : !q, !k, !v, !q, !lse, !o) outs(%q, %k, %v : !q, !k, !v)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>

func.func @saved_log_sum_exp(%q: !q, %k: !k, %v: !v, %o: !o, %lse: tensor<1x4x7xf64>) {
  // expected-error @+1 {{'attn.attention_backward' op operand 'log-sum-exp': expected element type 'f32', got 'f64'}}
  %0:3 = attn.attention_backward ins(%q, %k, %v, %o, %lse, %o : !q, !k, !v, !o, tensor<1x4x7xf64>, !o) outs(%q, %k, %v : !q, !k, !v)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @gradient_type(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{'attn.attention_backward' op gradient of 'key': expected the shape and elements of 'tensor<1x2x9x8xf32>', got 'tensor<1x4x7x8xf32>'}}
  %0:3 = attn.attention_backward ins(%q, %k, %v, %o, %lse, %o : !q, !k, !v, !o, !lse, !o) outs(%q, %q, %v : !q, !q, !v)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @no_sink(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %s: tensor<4xf32>) {
  // expected-error @+1 {{'attn.attention_backward' op expected a 'sink', whose gradient is asked for}}
  %0:4 = attn.attention_backward ins(%q, %k, %v, %o, %lse, %o : !q, !k, !v, !o, !lse, !o) outs(%q, %k, %v, %s : !q, !k, !v, tensor<4xf32>) gradients(sink)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @sink_type(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %s: tensor<4xf16>, %d: tensor<4xf64>) {
  // expected-error @+1 {{'attn.attention_backward' op gradient of 'sink': expected the shape and elements of 'tensor<4xf16>', or elements of 'f32', got 'tensor<4xf64>'}}
  %0:4 = attn.attention_backward ins(%q, %k, %v, %o, %lse, %o : !q, !k, !v, !o, !lse, !o)
      outs(%q, %k, %v, %d : !q, !k, !v, tensor<4xf64>) sink(%s : tensor<4xf16>) gradients(sink)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @no_capture(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %s: tensor<4xf32>) {
  // expected-error @+1 {{'attn.attention_backward' op expected the number of a capture of the score in 'gradients', below 0, got 0}}
  %0:4 = attn.attention_backward ins(%q, %k, %v, %o, %lse, %o : !q, !k, !v, !o, !lse, !o) outs(%q, %k, %v, %s : !q, !k, !v, tensor<4xf32>) gradients(0)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @integers(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %t: tensor<4xi32>) {
  // expected-error @+1 {{'attn.attention_backward' op expected a float, or floats, as 'capture 0', which has a gradient, got 'tensor<4xi32>'}}
  %0:4 = attn.attention_backward ins(%q, %k, %v, %o, %lse, %o : !q, !k, !v, !o, !lse, !o) outs(%q, %k, %v, %t : !q, !k, !v, tensor<4xi32>) gradients(0)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<4xi32>) {
        %e = tensor.extract %x[%h] : tensor<4xi32>
        %f = arith.sitofp %e : i32 to f32
        %c = arith.mulf %s, %f : f32
        attn.yield %c : f32
      }
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @number_of_gradients(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{'attn.attention_backward' op expected 3 operands 'outs' (gradients of query, key, value and what 'gradients' names), got 2}}
  %0:2 = attn.attention_backward ins(%q, %k, %v, %o, %lse, %o : !q, !k, !v, !o, !lse, !o) outs(%q, %k : !q, !k)
  return
}
