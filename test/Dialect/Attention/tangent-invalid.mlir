// RUN: attn-opt %s --split-input-file --verify-diagnostics

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @inputs(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{expected 5 operands 'ins' (query, key, value, output, log-sum-exp) with their types, got 4 and 4}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o : !q, !k, !v, !o) outs(%o : !o)
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
  // expected-error @+1 {{'attn.attention_tangent' op operand 'output': dimension 3 (head size of value) is 8, expected 3}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %q, %lse : !q, !k, !v, !q, !lse) outs(%o : !o)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

// expected-note @+1 {{dimension 3 of 'output' is 3, from 'tensor<1x4x7x3xf32>'}}
func.func @output_tangent(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{'attn.attention_tangent' op operand 'tangent of 'output'': dimension 3 (head size) is 8, expected 3}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%q : !q)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @number_of_outs(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{'attn.attention_tangent' op expected 1 or 2 operands 'outs' (tangents of output and log-sum-exp), got 3}}
  %0:3 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%o, %lse, %lse : !o, !lse, !lse)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @tangent_type(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{'attn.attention_tangent' op tangent of 'key': expected the shape and elements of 'tensor<1x2x9x8xf32>', got 'tensor<1x4x7x8xf32>'}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%o : !o) tangents(key = %q : !q)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @no_sink(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %s: tensor<4xf32>) {
  // expected-error @+1 {{'attn.attention_tangent' op expected a 'sink', whose tangent is given}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%o : !o) tangents(sink = %s : tensor<4xf32>)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @no_capture(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %s: tensor<4xf32>) {
  // expected-error @+1 {{'attn.attention_tangent' op expected as many tangents of captures as 'of_captures' has numbers, 0, got 1}}
  %0 = "attn.attention_tangent"(%q, %k, %v, %o, %lse, %o, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>}> ({}, {}) : (!q, !k, !v, !o, !lse, !o, tensor<4xf32>) -> !o
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @number_of_capture(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %s: tensor<4xf32>) {
  // expected-error @+1 {{'attn.attention_tangent' op expected the number of a capture of the score in 'tangents', below 0, got 0}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%o : !o) tangents(0 = %s : tensor<4xf32>)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @integers(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse, %t: tensor<4xi32>) {
  // expected-error @+1 {{'attn.attention_tangent' op expected a float, or floats, as 'capture 0', which has a tangent, got 'tensor<4xi32>'}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%o : !o) tangents(0 = %t : tensor<4xi32>)
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

func.func @order(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{expected 'tangents' once each, in the order query, key, value, sink, captures}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%o : !o) tangents(key = %k, query = %q : !k, !q)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @unknown(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{expected query, key, value, sink or a number in 'tangents', got 'output'}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%o : !o) tangents(output = %o : !o)
  return
}

// -----

!q = tensor<1x4x7x8xf32>
!k = tensor<1x2x9x8xf32>
!v = tensor<1x2x9x3xf32>
!o = tensor<1x4x7x3xf32>
!lse = tensor<1x4x7xf32>

func.func @types(%q: !q, %k: !k, %v: !v, %o: !o, %lse: !lse) {
  // expected-error @+1 {{expected the types of 2 tangents, got 1}}
  %0 = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !v, !o, !lse) outs(%o : !o) tangents(query = %q, key = %k : !q)
  return
}
