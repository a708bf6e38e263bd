// RUN: attn-opt %s -split-input-file -attn-split-keys -verify-diagnostics

// A chunk that a user asks for and that cannot be had is an error.

func.func @inside_a_loop(%q: tensor<64x32xf32>, %k: tensor<512x64xf32>,
    %out: tensor<2x64x32xf32>, %o: tensor<64x32xf32>, %m: tensor<32xf32>)
    -> tensor<2x64x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %no = arith.constant false
  %0 = scf.forall (%h) in (2) shared_outs(%all = %out) -> (tensor<2x64x32xf32>) {
    %s:3 = scf.for %i = %c0 to %c2 step %c1 iter_args(%x = %o, %y = %m, %z = %m)
        -> (tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>) {
      // expected-error @below {{attn.plan: chunk: expected the op itself in the parallel loop around it, got it in an 'scf.for' of the loop}}
      %t:3 = attn.online_attention
          ins(%q, %k, %k : tensor<64x32xf32>, tensor<512x64xf32>, tensor<512x64xf32>)
          outs(%x, %y, %z : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>)
          at(%c0, %c0, %c0, %c0) queries(%c0) exact(%no)
          {attn.plan = #attn.plan<chunk = 256>}
        -> tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
      scf.yield %t#0, %t#1, %t#2 : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s#0 into %all[%h, 0, 0] [1, 64, 32] [1, 1, 1]
          : tensor<64x32xf32> into tensor<2x64x32xf32>
    }
  }
  return %0 : tensor<2x64x32xf32>
}

// -----

func.func @of_what_is_written(%k: tensor<512x64xf32>,
    %out: tensor<2x64x32xf32>, %o: tensor<64x32xf32>, %m: tensor<32xf32>)
    -> tensor<2x64x32xf32> {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %0 = scf.forall (%h) in (2) shared_outs(%all = %out) -> (tensor<2x64x32xf32>) {
    // expected-note @below {{this does}}
    %q = tensor.extract_slice %all[%h, 0, 0] [1, 64, 32] [1, 1, 1]
        : tensor<2x64x32xf32> to tensor<64x32xf32>
    // expected-error @below {{attn.plan: chunk: expected what the op reads not to depend on what the loop around it writes}}
    %s:3 = attn.online_attention
        ins(%q, %k, %k : tensor<64x32xf32>, tensor<512x64xf32>, tensor<512x64xf32>)
        outs(%o, %m, %m : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>)
        at(%c0, %c0, %c0, %c0) queries(%c0) exact(%no)
        {attn.plan = #attn.plan<chunk = 256>}
      -> tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s#0 into %all[%h, 0, 0] [1, 64, 32] [1, 1, 1]
          : tensor<64x32xf32> into tensor<2x64x32xf32>
    }
  }
  return %0 : tensor<2x64x32xf32>
}

// -----

// A block whose product is added by the next one is no attention of its own.
func.func @delayed(%q: tensor<64x16xf16>, %k: tensor<64x16xf16>, %o: tensor<64x16xf32>,
    %m: tensor<64xf32>, %w: tensor<64x64xf16>, %n: index, %e: i1) -> tensor<64x16xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{attn.plan: chunk: expected attention whose product is not delayed}}
  %t:4 = attn.online_attention layout<mma>
      ins(%q, %k, %k : tensor<64x16xf16>, tensor<64x16xf16>, tensor<64x16xf16>)
      outs(%o, %m, %m, %w : tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf16>)
      at(%c0, %c0, %c0, %c0) queries(%n) exact(%e) delayed(%k, %e : tensor<64x16xf16>)
      {attn.plan = #attn.plan<layout = mma, chunk = 256>}
      -> tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf16>
  return %t#0 : tensor<64x16xf32>
}
