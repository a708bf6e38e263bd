// RUN: attn-opt %s -convert-online-to-vector -split-input-file -verify-diagnostics

func.func @lanes(%q: tensor<64x16xf32>, %k: tensor<16x64xf32>, %o: tensor<64x16xf32>,
                 %m: tensor<16xf32>, %n: index, %e: i1) -> tensor<64x16xf32> {
  %c0 = arith.constant 0 : index
  %r = scf.forall (%i) in (%n) shared_outs(%all = %o) -> tensor<64x16xf32> {
    // expected-error @below {{is lowered for a GPU in layout<mma> only, got layout<lanes>}}
    %t:3 = attn.online_attention
        ins(%q, %k, %k : tensor<64x16xf32>, tensor<16x64xf32>, tensor<16x64xf32>)
        outs(%o, %m, %m : tensor<64x16xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %c0, %c0) queries(%n) exact(%e)
        -> tensor<64x16xf32>, tensor<16xf32>, tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t#0 into %all[0, 0] [64, 16] [1, 1]
          : tensor<64x16xf32> into tensor<64x16xf32>
    }
  }
  return %r : tensor<64x16xf32>
}

// -----

// Which round it is has to be known: the exact one is another kernel's.
func.func @exact(%q: tensor<64x16xf16>, %k: tensor<64x16xf16>, %o: tensor<64x16xf32>,
                 %m: tensor<64xf32>, %n: index, %e: i1) -> tensor<64x16xf32> {
  %c0 = arith.constant 0 : index
  %r = scf.forall (%i) in (%n) shared_outs(%all = %o) -> tensor<64x16xf32> {
    // expected-error @below {{is lowered for a GPU with a constant 'exact' only}}
    %t:3 = attn.online_attention layout<mma>
        ins(%q, %k, %k : tensor<64x16xf16>, tensor<64x16xf16>, tensor<64x16xf16>)
        outs(%o, %m, %m : tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>)
        at(%c0, %c0, %c0, %c0) queries(%n) exact(%e)
        -> tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t#0 into %all[0, 0] [64, 16] [1, 1]
          : tensor<64x16xf32> into tensor<64x16xf32>
    }
  }
  return %r : tensor<64x16xf32>
}

// -----

// Exact products go through keys one by one, and have no weights to leave.
func.func @delayed_exact(%q: tensor<64x16xf16>, %k: tensor<64x16xf16>, %o: tensor<64x16xf32>,
    %m: tensor<64xf32>, %w: tensor<64x64xf16>, %n: index, %e: i1) -> tensor<64x16xf32> {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %r = scf.forall (%i) in (%n) shared_outs(%all = %o) -> tensor<64x16xf32> {
    // expected-error @below {{is lowered with 'delayed' products only where 'exact' is false}}
    %t:4 = attn.online_attention layout<mma>
        ins(%q, %k, %k : tensor<64x16xf16>, tensor<64x16xf16>, tensor<64x16xf16>)
        outs(%o, %m, %m, %w : tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf16>)
        at(%c0, %c0, %c0, %c0) queries(%n) exact(%true) delayed(%k, %e : tensor<64x16xf16>)
        -> tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t#0 into %all[0, 0] [64, 16] [1, 1]
          : tensor<64x16xf32> into tensor<64x16xf32>
    }
  }
  return %r : tensor<64x16xf32>
}

// -----

// Weights are of the tile, not of memory.
func.func @delayed_weights_in_memory(%q: tensor<64x16xf16>, %k: tensor<64x16xf16>, %o: tensor<64x16xf32>,
    %m: tensor<64xf32>, %w: tensor<64x64xf16>, %n: index, %e: i1) -> tensor<64x16xf32> {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  %r = scf.forall (%i) in (%n) shared_outs(%all = %o) -> tensor<64x16xf32> {
    // expected-error @below {{expected delayed weights that a loop carries, of 64 keys}}
    %t:4 = attn.online_attention layout<mma>
        ins(%q, %k, %k : tensor<64x16xf16>, tensor<64x16xf16>, tensor<64x16xf16>)
        outs(%o, %m, %m, %w : tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf16>)
        at(%c0, %c0, %c0, %c0) queries(%n) exact(%false) delayed(%k, %e : tensor<64x16xf16>)
        -> tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t#0 into %all[0, 0] [64, 16] [1, 1]
          : tensor<64x16xf32> into tensor<64x16xf32>
    }
  }
  return %r : tensor<64x16xf32>
}
