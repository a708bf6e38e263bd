// RUN: attn-opt %s -attn-check-for-gpu -split-input-file -verify-diagnostics | FileCheck %s

!rows = tensor<1x2x20x40xf16>
!cache = tensor<5x2x24x40xf16>

// What is lowered: attention to rows of caches, merges, constants, and operations
// element by element. Regions have other ones.
// CHECK-LABEL: func.func @lowered
func.func @lowered(%q: !rows, %c: !cache, %t: tensor<1x2xi32>, %l: tensor<1xi32>,
                   %table: tensor<?xf32>) -> !rows {
  %c2 = arith.constant 2 : index
  %init = tensor.empty() : !rows
  %sums = tensor.empty() : tensor<1x2x20xf32>
  %k = attn.cache_read ins(%c : !cache) lengths(%l : tensor<1xi32>)
      table(%t : tensor<1x2xi32>) -> tensor<1x2x48x40xf16>
  %n = tensor.dim %k, %c2 : tensor<1x2x48x40xf16>
  %a:2 = attn.attention ins(%q, %k, %k : !rows, tensor<1x2x48x40xf16>, tensor<1x2x48x40xf16>)
      outs(%init, %sums : !rows, tensor<1x2x20xf32>) mask (%b, %h, %p, %j)
      captures(%x = %table : tensor<?xf32>) {
    %e = tensor.extract %x[%j] : tensor<?xf32>
    %zero = arith.constant 0.0 : f32
    %keep = arith.cmpf oge, %e, %zero : f32
    attn.yield %keep : i1
  }
  %m = attn.merge ins(%a#0, %a#1, %a#0, %a#1 : !rows, tensor<1x2x20xf32>, !rows, tensor<1x2x20xf32>)
      outs(%init : !rows)
  %r = arith.addf %m, %q : !rows
  return %r : !rows
}

// -----

!rows = tensor<1x2x20x16xf16>
func.func @dropout(%q: !rows, %seed: i64, %call: i32) -> !rows {
  %init = tensor.empty() : !rows
  %a = attn.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%init : !rows)
      dropout(0.5, %seed, %call)
  // expected-error @+1 {{'attn.attention' op is lowered for a GPU in f16 with dropout of a rate of at most 1 - 2^-15 only, got 9.999900e-01 : f64}}
  %r = attn.attention ins(%a, %q, %q : !rows, !rows, !rows) outs(%init : !rows)
      dropout(0.99999, %seed, %call)
  return %r : !rows
}

// -----

!rows = memref<1x2x20x16xf16>
func.func @memrefs(%q: !rows, %o: !rows) {
  // expected-error @+1 {{'attn.attention' op is lowered for a GPU on tensors only, got memrefs}}
  attn.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%o : !rows)
  return
}

// -----

!rows = tensor<1x2x20x16xf64>
func.func @merge(%q: !rows, %l: tensor<1x2x20xf64>) -> !rows {
  %init = tensor.empty() : !rows
  // expected-error @+1 {{'attn.merge' op is lowered for a GPU in f32, f16 and bf16 only, got f64}}
  %r = attn.merge ins(%q, %l, %q, %l : !rows, tensor<1x2x20xf64>, !rows, tensor<1x2x20xf64>)
      outs(%init : !rows)
  return %r : !rows
}

// -----

!rows = tensor<1x2x1x16xf16>
!keys = tensor<1x2x64x16xf16>
func.func @one_cache(%q: !rows, %c: !keys, %v: !keys, %l: tensor<1xi32>) -> !rows {
  %init = tensor.empty() : !rows
  %k = attn.cache_read ins(%c : !keys) lengths(%l : tensor<1xi32>) -> !keys
  // expected-error @+1 {{'attn.attention' op is lowered for a GPU with keys and values that are both in caches, or neither}}
  %r = attn.attention ins(%q, %k, %v : !rows, !keys, !keys) outs(%init : !rows)
  return %r : !rows
}

// -----

!keys = tensor<1x2x64x16xf16>
func.func @packed(%q: !keys, %c: !keys, %l: tensor<1xi32>, %s: tensor<3xi32>) -> !keys {
  %init = tensor.empty() : !keys
  %k = attn.cache_read ins(%c : !keys) lengths(%l : tensor<1xi32>) -> !keys
  // expected-error @+1 {{'attn.attention' op is not lowered for a GPU with packed keys and values in a cache}}
  %r = attn.attention ins(%q, %k, %k : !keys, !keys, !keys) outs(%init : !keys)
      sequences(%s, %s : tensor<3xi32>, tensor<3xi32>)
  return %r : !keys
}

// -----

!keys = tensor<1x2x64x16xf16>
func.func @other_use(%c: !keys, %l: tensor<1xi32>) -> !keys {
  // expected-error @+1 {{'attn.cache_read' op is lowered for a GPU as the key and the value of an 'attn.attention' only}}
  %k = attn.cache_read ins(%c : !keys) lengths(%l : tensor<1xi32>) -> !keys
  // expected-note @+1 {{another use is here}}
  %r = arith.addf %k, %k : !keys
  return %r : !keys
}

// -----

!rows = tensor<1x2x1x16xf16>
!keys = tensor<1x2x64x16xf16>
func.func @pages(%q: !rows, %c: tensor<8x2x12x16xf16>, %t: tensor<1x8xi32>, %l: tensor<1xi32>) -> !rows {
  %init = tensor.empty() : !rows
  // expected-error @+1 {{'attn.cache_read' op is lowered for a GPU for pages of a number of rows that is known while compiling and a multiple of 8, got 12}}
  %k = attn.cache_read ins(%c : tensor<8x2x12x16xf16>) lengths(%l : tensor<1xi32>)
      table(%t : tensor<1x8xi32>) -> !keys
  %r = attn.attention ins(%q, %k, %k : !rows, !keys, !keys) outs(%init : !rows)
  return %r : !rows
}

// -----

!rows = tensor<1x2x1x16xf16>
!keys = tensor<1x2x64x16xf16>
func.func @ring(%q: !rows, %c: tensor<1x2x?x16xf16>, %l: tensor<1xi32>) -> !rows {
  %init = tensor.empty() : !rows
  // expected-error @+1 {{'attn.cache_read' op is lowered for a GPU for rings of a capacity that is known while compiling and a multiple of 8, got a dynamic size}}
  %k = attn.cache_read ins(%c : tensor<1x2x?x16xf16>) lengths(%l : tensor<1xi32>)
      ring -> !keys
  %r = attn.attention ins(%q, %k, %k : !rows, !keys, !keys) outs(%init : !rows)
  return %r : !rows
}

// -----

!rows = tensor<1x2x20x16xf16>
func.func @norm(%q: !rows) -> !rows {
  %init = tensor.empty() : !rows
  // expected-error @+1 {{'attn.head_norm' op is not lowered for a GPU}}
  %r = attn.head_norm ins(%q : !rows) outs(%init : !rows)
  return %r : !rows
}

// -----

!rows = tensor<1x2x20x16xf64>
!table = tensor<64x8xf64>
func.func @rope(%q: !rows, %t: !table) -> !rows {
  %init = tensor.empty() : !rows
  // expected-error @+1 {{'attn.rope' op is lowered for a GPU in f32, f16 and bf16 only, got f64}}
  %r = attn.rope half_split ins(%q, %t, %t : !rows, !table, !table) outs(%init : !rows)
  return %r : !rows
}

// -----

!cache = tensor<4x2x64x16xf64>
func.func @append(%r: tensor<4x2x9x16xf64>, %c: !cache, %l: tensor<4xi32>) -> !cache {
  // expected-error @+1 {{'attn.cache_append' op is lowered for a GPU in f32, f16, bf16, i8 and floats of 8 bits only, got f64}}
  %a = attn.cache_append ins(%r : tensor<4x2x9x16xf64>) outs(%c : !cache)
      lengths(%l : tensor<4xi32>)
  return %a : !cache
}

// -----

// The first of what a layer is made of.
func.func @projection(%x: tensor<1x4x8xf32>, %w: tensor<8x16xf32>) -> tensor<1x1x4x16xf32> {
  %init = tensor.empty() : tensor<1x1x4x16xf32>
  // expected-error @+1 {{'attn.projection' op is not lowered for a GPU, and neither is an 'attn.multi_head_attention', which has some}}
  %r = attn.projection ins(%x, %w : tensor<1x4x8xf32>, tensor<8x16xf32>)
      outs(%init : tensor<1x1x4x16xf32>)
  return %r : tensor<1x1x4x16xf32>
}

// -----

func.func @matmul(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{'linalg.matmul' op is not lowered for a GPU: beside attention, only operations element by element are}}
  %r = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @elements(%x: f32) -> tensor<2xf32> {
  // expected-error @+1 {{'tensor.from_elements' op is not lowered for a GPU: the host cannot write elements of tensors, which are in its memory}}
  %r = tensor.from_elements %x, %x : tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

!rows = tensor<1x2x?x16xf16>
func.func @sink_of_each_row(%q: !rows, %s: tensor<2x?xf32>) -> !rows {
  // expected-error @+1 {{'attn.attention' op is lowered for a GPU with a 'sink' of each row only where all sequences have a number of queries that is known while compiling}}
  %r = attn.attention ins(%q, %q, %q : !rows, !rows, !rows) outs(%q : !rows)
      sink(%s : tensor<2x?xf32>)
  return %r : !rows
}

// -----

// Multi-token attention is lowered element by element, with what its mask captures.
!rows = tensor<1x2x20x16xbf16>
func.func @multi_token(%q: !rows, %kernel: tensor<2x2x3xf32>,
                       %table: tensor<?xi1>) -> !rows {
  %init = tensor.empty() : !rows
  %r = attn.multi_token_attention ins(%q, %q, %q : !rows, !rows, !rows)
      outs(%init : !rows) convolve_before(%kernel : tensor<2x2x3xf32>)
      mask (%b, %h, %p, %j) captures(%x = %table : tensor<?xi1>) {
    %keep = tensor.extract %x[%j] : tensor<?xi1>
    attn.yield %keep : i1
  }
  return %r : !rows
}

// -----

!rows = tensor<1x2x20x16xf64>
func.func @multi_token_in_f64(%q: !rows, %kernel: tensor<2x2x3xf64>) -> !rows {
  %init = tensor.empty() : !rows
  // expected-error @+1 {{'attn.multi_token_attention' op is lowered for a GPU in f32, f16 and bf16 only, got f64}}
  %r = attn.multi_token_attention ins(%q, %q, %q : !rows, !rows, !rows)
      outs(%init : !rows) convolve_before(%kernel : tensor<2x2x3xf64>)
  return %r : !rows
}
