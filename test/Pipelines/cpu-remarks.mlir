// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-cpu-pipeline -split-input-file -verify-diagnostics -o /dev/null

// Where regions are slower than they look.

!q = tensor<1x2x64x16xf32>

// Which elements are loaded is not known to be inside, whatever the tile. Ranges
// of what a float holds are not found.
func.func @unproven(%x: !q, %weights: tensor<64xf32>, %table: tensor<8xf32>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      score(%s, %b, %h, %p, %j) captures(%w = %weights : tensor<64xf32>,
                                         %t = %table : tensor<8xf32>) {
        %weight = tensor.extract %w[%j] : tensor<64xf32>
        // expected-remark @below {{is evaluated position by position, with all of its region, because it may have no result at some}}
        %number = arith.fptosi %weight : f32 to i32
        %index = arith.index_cast %number : i32 to index
        %bias = tensor.extract %t[%index] : tensor<8xf32>
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %r : !q
}

// -----

!q = tensor<1x2x64x16xf32>

// A number of each token, whose ranges say where it leads; without a remark.
func.func @proven(%x: !q, %segments: tensor<64xi32>, %table: tensor<8x8xf32>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      score(%s, %b, %h, %p, %j) captures(%w = %segments : tensor<64xi32>,
                                         %t = %table : tensor<8x8xf32>) {
        %a = tensor.extract %w[%p] : tensor<64xi32>
        %b0 = tensor.extract %w[%j] : tensor<64xi32>
        %i = arith.index_cast %a : i32 to index
        %k = arith.index_cast %b0 : i32 to index
        %bias = tensor.extract %t[%i, %k] : tensor<8x8xf32>
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %r : !q
}

// -----

!q = tensor<1x2x64x16xf32>

// Vectors gather words, and nothing says how large a table of other elements is.
func.func @elements(%x: !q, %table: tensor<?x32xbf16>) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      score(%s, %b, %h, %p, %j) captures(%t = %table : tensor<?x32xbf16>) {
        %c31 = arith.constant 31 : index
        %d = arith.subi %p, %j : index
        %bucket = arith.andi %d, %c31 : index
        // expected-remark @below {{is loaded element by element, because vectors gather words of 32 bits: use f32 or i32, or say the sizes of the tensor in its type}}
        %narrow = tensor.extract %t[%h, %bucket] : tensor<?x32xbf16>
        %bias = arith.extf %narrow : bf16 to f32
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %r : !q
}

// -----

!q = tensor<1x2x64x16xf32>

// Conditions that hide no block, beside one that does, and what is not known of
// the rest of them.
func.func @conditions(%x: !q, %widths: tensor<2xf32>, %seed: i64) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%x : !q)
      mask causal, (%b, %h, %p, %j) captures(%w = %widths : tensor<2xf32>) {
        %d = arith.subi %p, %j : index
        %i = arith.index_cast %d : index to i32
        %f = arith.sitofp %i : i32 to f32
        %width = tensor.extract %w[%h] : tensor<2xf32>
        %scaled = arith.divf %f, %width : f32
        %c3 = arith.constant 3.0 : f32
        %wave = math.sin %scaled : f32
        // expected-remark @below {{hides no block of keys as a whole, because no bounds are known of a float that it compares}}
        %near = arith.cmpf olt, %wave, %c3 : f32
        attn.yield %near : i1
      }, (%b, %h, %p, %j) captures(%n = %seed : i64) {
        %d = arith.muli %p, %j : index
        %i = arith.index_cast %d : index to i64
        %hash = arith.xori %i, %n : i64
        %c7 = arith.constant 7 : i64
        // expected-remark @below {{hides no block of keys as a whole, because what it compares has no bounds in a block of keys}}
        %some = arith.cmpi eq, %hash, %c7 : i64
        attn.yield %some : i1
      }
  return %r : !q
}
