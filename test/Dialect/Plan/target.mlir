// RUN: attn-opt %s -split-input-file | attn-opt -split-input-file | FileCheck %s

// What is that of the default is not printed.
// CHECK: module attributes {attn.target = #attn.target<vector_bits = 512, vector_registers = 32, scalef = true, l2_bytes = 2097152>}
module attributes {attn.target = #attn.target<
    l2_bytes = 2097152, vector_registers = 32, vector_bits = 512,
    scalef = true, l1_bytes = 32768, i8_dot = false>} {}

// -----

// CHECK: module attributes {attn.target = #attn.target<>}
module attributes {attn.target = #attn.target<>} {}

// -----

// CHECK: attn.plan = #attn.plan<layout = pairs, heads = 1, rows = 32, keys = 64>
func.func @plan(%q: tensor<1x1x8x32xbf16>) -> tensor<1x1x8x32xbf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x8x32xbf16>, tensor<1x1x8x32xbf16>,
          tensor<1x1x8x32xbf16>) outs(%q : tensor<1x1x8x32xbf16>)
      {attn.plan = #attn.plan<keys = 64, layout = pairs, rows = 32, heads = 1>}
  return %r : tensor<1x1x8x32xbf16>
}
