// RUN: attn-opt %s -convert-math-to-nvvm -split-input-file -verify-diagnostics

gpu.module @sine {
  func.func @f(%x: f64) -> f64 {
    // expected-error @below {{'math.sin' op has no instruction on GPUs for 'f64'}}
    %0 = math.sin %x : f64
    return %0 : f64
  }
}

// -----

gpu.module @wide {
  func.func @f(%x: vector<4xf64>) -> vector<4xf64> {
    // expected-error @below {{'math.exp2' op has no instruction on GPUs for 'vector<4xf64>'}}
    %0 = math.exp2 %x : vector<4xf64>
    return %0 : vector<4xf64>
  }
}

// -----

gpu.module @scalable {
  func.func @f(%x: vector<[4]xf32>) -> vector<[4]xf32> {
    // expected-error @below {{'math.exp2' op has no instruction on GPUs for 'vector<[4]xf32>'}}
    %0 = math.exp2 %x : vector<[4]xf32>
    return %0 : vector<[4]xf32>
  }
}

// -----

gpu.module @f8 {
  func.func @f(%x: f8E4M3FN, %y: f8E4M3FN) -> f8E4M3FN {
    // expected-error @below {{'arith.maxnumf' op has no instruction on GPUs for 'f8E4M3FN'}}
    %0 = arith.maxnumf %x, %y : f8E4M3FN
    return %0 : f8E4M3FN
  }
}

// -----

gpu.module @remainder {
  func.func @f(%x: f64, %y: f64) -> f64 {
    // expected-error @below {{'arith.remf' op has no instruction on GPUs for 'f64'}}
    %0 = arith.remf %x, %y : f64
    return %0 : f64
  }
}
