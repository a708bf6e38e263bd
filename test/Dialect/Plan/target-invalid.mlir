// RUN: attn-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{vector_bits: expected 128, 256 or 512, got 333}}
module attributes {attn.target = #attn.target<vector_bits = 333>} {}

// -----

// expected-error @below {{vector_registers: expected 8, 16 or 32, got 0}}
module attributes {attn.target = #attn.target<vector_registers = 0>} {}

// -----

// expected-error @below {{l1_bytes: expected 4096 to 1099511627776, got 64}}
module attributes {attn.target = #attn.target<l1_bytes = 64>} {}

// -----

// expected-error @below {{l2_bytes: expected 0 to 1099511627776, got -1}}
module attributes {attn.target = #attn.target<l2_bytes = -1>} {}

// -----

// expected-error @below {{l3_ns: expected 1 to 10000, got 0}}
module attributes {attn.target = #attn.target<l3_ns = 0>} {}

// -----

// expected-error @below {{gpu_multiprocessors: expected 1 to 65536, got 0}}
module attributes {attn.target = #attn.target<gpu_multiprocessors = 0>} {}

// -----

// expected-error @below {{gpu_shared_bytes: expected 1024 to 1073741824, got 48}}
module attributes {attn.target = #attn.target<gpu_shared_bytes = 48>} {}

// -----

// expected-error @below {{expected '#attn.target<...>' as 'attn.target', got 512}}
module attributes {attn.target = 512 : i64} {}

// -----

module {
  // expected-error @below {{expected 'attn.target' on a module}}
  func.func private @f() attributes {attn.target = #attn.target<>}
}

// -----

module {
  // expected-error @below {{expected 'attn.plan' on attention or a projection}}
  func.func private @f() attributes {attn.plan = #attn.plan<>}
}

// -----

func.func @plan(%q: tensor<1x1x8x32xf32>) -> tensor<1x1x8x32xf32> {
  // expected-error @below {{expected '#attn.plan<...>' as 'attn.plan', got 4}}
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x8x32xf32>, tensor<1x1x8x32xf32>,
          tensor<1x1x8x32xf32>) outs(%q : tensor<1x1x8x32xf32>) {attn.plan = 4 : i64}
  return %r : tensor<1x1x8x32xf32>
}

// -----

func.func @plan(%q: tensor<1x1x8x32xf32>) -> tensor<1x1x8x32xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x8x32xf32>, tensor<1x1x8x32xf32>,
          tensor<1x1x8x32xf32>) outs(%q : tensor<1x1x8x32xf32>)
      // expected-error @below {{rows: expected 1 to 4096, got 5000}}
      {attn.plan = #attn.plan<rows = 5000>}
  return %r : tensor<1x1x8x32xf32>
}
