// RUN: attn-opt %s -split-input-file -verify-diagnostics \
// RUN:   -attn-outline-parallel-loops

func.func @results(%init: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'scf.forall' op expected no results, got 1; it must be bufferized first}}
  %result = scf.forall (%i) in (4) shared_outs(%out = %init) -> tensor<4xf32> {
    %slice = tensor.extract_slice %out[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %slice into %out[%i] [1] [1]
          : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %result : tensor<4xf32>
}

// -----

func.func @inner_results(%init: tensor<4xf32>) {
  scf.forall (%j) in (4) {
    // expected-error @+1 {{'scf.forall' op expected no results, got 1; it must be bufferized first}}
    %result = scf.forall (%i) in (4) shared_outs(%out = %init) -> tensor<4xf32> {
      %slice = tensor.extract_slice %out[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %slice into %out[%i] [1] [1]
            : tensor<1xf32> into tensor<4xf32>
      }
    }
  }
  return
}

// -----

func.func @tensor(%table: tensor<4xindex>, %buffer: memref<4xindex>) {
  // expected-error @+1 {{'scf.forall' op cannot pass a value of type 'tensor<4xindex>' to threads}}
  scf.forall (%i) in (4) {
    %element = tensor.extract %table[%i] : tensor<4xindex>
    memref.store %element, %buffer[%i] : memref<4xindex>
  }
  return
}
