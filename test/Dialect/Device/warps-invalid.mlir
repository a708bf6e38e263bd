// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @columns_of_panels(%m: memref<2x16x32xf16>) {
  // expected-error @below {{operand 'panels': expected panels of 64 columns and a multiple of 8 rows, one behind another, got 'memref<2x16x32xf16>'}}
  %0 = attn.read_panels %m : memref<2x16x32xf16> to vector<16x64xf16>
  return
}

// -----

func.func @rows_of_panels(%m: memref<2x12x64xf16>) {
  // expected-error @below {{operand 'panels': expected panels of 64 columns and a multiple of 8 rows, one behind another, got 'memref<2x12x64xf16>'}}
  %0 = attn.read_panels %m : memref<2x12x64xf16> to vector<12x128xf16>
  return
}

// -----

func.func @number_of_panels(%m: memref<?x16x64xf16>) {
  // expected-error @below {{operand 'panels': expected panels of 64 columns and a multiple of 8 rows, one behind another, got 'memref<?x16x64xf16>'}}
  %0 = attn.read_panels %m : memref<?x16x64xf16> to vector<16x128xf16>
  return
}

// -----

func.func @shape(%m: memref<2x16x64xf16>) {
  // expected-error @below {{expected 'vector<16x128xf16>', got 'vector<128x16xf16>'}}
  %0 = attn.read_panels %m : memref<2x16x64xf16> to vector<128x16xf16>
  return
}

// -----

func.func @element(%m: memref<2x16x64xf16>) {
  // expected-error @below {{expected 'vector<16x128xf16>', got 'vector<16x128xbf16>'}}
  %0 = attn.read_panels %m : memref<2x16x64xf16> to vector<16x128xbf16>
  return
}

// -----

func.func @wide(%m: memref<2x16x64xf32>) {
  // expected-error @below {{operand #0 must be 3D memref of 16-bit float or bfloat16 type values}}
  %0 = attn.read_panels %m : memref<2x16x64xf32> to vector<16x128xf16>
  return
}

// -----

func.func @columns(%a: vector<2xf16>, %rhs: i64) {
  // expected-error @below {{expected a multiple of 8 columns, 8 to 256, got 12}}
  %0:6 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
      rhs(%rhs) columns 12 steps [0] : f32, f32, f32, f32, f32, f32
  return
}

// -----

func.func @many_columns(%a: vector<2xf16>, %rhs: i64) {
  // expected-error @below {{expected a multiple of 8 columns, 8 to 256, got 264}}
  %0:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
      rhs(%rhs) columns 264 steps [0] : f32, f32, f32, f32
  return
}

// -----

func.func @no_steps(%a: vector<2xf16>, %rhs: i64) {
  // expected-error @below {{expected at least one step}}
  %0:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
      rhs(%rhs) columns 8 steps [] : f32, f32, f32, f32
  return
}

// -----

func.func @steps(%a: vector<2xf16>, %rhs: i64) {
  // expected-error @below {{expected 4 pairs of the first factor for each of 2 steps, got 4}}
  %0:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
      rhs(%rhs) columns 8 steps [0, 2] : f32, f32, f32, f32
  return
}

// -----

func.func @types(%a: vector<2xf16>, %b: vector<2xbf16>, %rhs: i64) {
  // expected-error @below {{expected pairs of one type}}
  %0:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %b : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xbf16>)
      rhs(%rhs) columns 8 steps [0] : f32, f32, f32, f32
  return
}

// -----

func.func @pairs(%a: vector<4xf16>, %rhs: i64) {
  // expected-error @below {{operand #0 must be variadic of}}
  %0:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<4xf16>, vector<4xf16>, vector<4xf16>, vector<4xf16>)
      rhs(%rhs) columns 8 steps [0] : f32, f32, f32, f32
  return
}

// -----

func.func @results(%a: vector<2xf16>, %rhs: i64) {
  // expected-error @below {{expected 8 sums of 16 columns, got 4}}
  %0:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
      rhs(%rhs) columns 16 steps [0] : f32, f32, f32, f32
  return
}

// -----

func.func @sums(%a: vector<2xf16>, %rhs: i64, %c: f32) {
  // expected-error @below {{expected 4 sums of 8 columns, got 3}}
  %0:4 = attn.warpgroup_mma
      lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
      rhs(%rhs) sums(%c, %c, %c : f32, f32, f32) columns 8 steps [0] : f32, f32, f32, f32
  return
}

// -----

func.func @pending(%c: f32) {
  // expected-error @below {{expected 0 to 7 pending products, got 8}}
  %0 = attn.warpgroup_wait %c pending 8 : f32
  return
}

// -----

func.func @negative(%c: f32) {
  // expected-error @below {{expected 0 to 7 pending products, got -1}}
  %0 = attn.warpgroup_wait %c pending -1 : f32
  return
}

// -----

func.func @two_descriptors(%a: i64, %rhs: i64) {
  // expected-error @below {{expected a descriptor of f16 or bf16 as the first factor, with 1 steps}}
  %0:4 = attn.warpgroup_mma lhs(%a, %a : i64, i64) rhs(%rhs)
      columns 8 steps [0] lhs_steps [0] of f16 : f32, f32, f32, f32
  return
}

// -----

func.func @pairs_with_steps(%a: vector<2xf16>, %rhs: i64) {
  // expected-error @below {{expected a descriptor of f16 or bf16 as the first factor, with 1 steps}}
  %0:4 = attn.warpgroup_mma lhs(%a : vector<2xf16>) rhs(%rhs)
      columns 8 steps [0] lhs_steps [0] of f16 : f32, f32, f32, f32
  return
}

// -----

func.func @other_steps(%a: i64, %rhs: i64) {
  // expected-error @below {{expected a descriptor of f16 or bf16 as the first factor, with 2 steps}}
  %0:4 = attn.warpgroup_mma lhs(%a : i64) rhs(%rhs)
      columns 8 steps [0, 2] lhs_steps [0] of f16 : f32, f32, f32, f32
  return
}

// -----

func.func @wide_factor(%a: i64, %rhs: i64) {
  // expected-error @below {{expected a descriptor of f16 or bf16 as the first factor, with 1 steps}}
  %0:4 = attn.warpgroup_mma lhs(%a : i64) rhs(%rhs)
      columns 8 steps [0] lhs_steps [0] of f32 : f32, f32, f32, f32
  return
}

// -----

func.func @no_steps_of_descriptor(%a: i64, %rhs: i64) {
  // expected-error @below {{expected 4 pairs of the first factor for each of 1 steps, got 4}}
  %0:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : i64, i64, i64, i64) rhs(%rhs)
      columns 8 steps [0] : f32, f32, f32, f32
  return
}

// -----

func.func @no_element_type(%a: i64, %rhs: i64) {
  // expected-error @below {{expected both of 'lhs_steps' and 'element_type', or none}}
  %0:4 = "attn.warpgroup_mma"(%a, %rhs) <{
      columns = 8 : i64, steps = array<i64: 0>, lhs_steps = array<i64: 0>,
      operandSegmentSizes = array<i32: 1, 1, 0>}> : (i64, i64) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @no_lhs_steps(%a: vector<2xf16>, %rhs: i64) {
  // expected-error @below {{expected both of 'lhs_steps' and 'element_type', or none}}
  %0:4 = "attn.warpgroup_mma"(%a, %a, %a, %a, %rhs) <{
      columns = 8 : i64, steps = array<i64: 0>, element_type = f16,
      operandSegmentSizes = array<i32: 4, 1, 0>}>
      : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, i64) -> (f32, f32, f32, f32)
  return
}

// -----

func.func @no_block() {
  // expected-error @below {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
  "attn.producers"() ({}) : () -> ()
  return
}

// -----

func.func @blocks() {
  // expected-error @below {{'attn.producers' op expects region #0 to have 0 or 1 blocks}}
  attn.producers {
    cf.br ^next
  ^next:
    cf.br ^next
  }
  return
}
