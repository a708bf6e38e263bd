// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-check-lowered
// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-cpu-pipeline
// RUN: attn-opt %s -split-input-file -verify-diagnostics \
// RUN:   -attn-reference-pipeline

llvm.func @lowered(%x: f32) -> f32 {
  %y = llvm.fadd %x, %x : f32
  llvm.return %y : f32
}

gpu.module @kernels {
  llvm.func @lowered() {
    nvvm.barrier0
    llvm.return
  }
}

// -----

llvm.func @use(!llvm.ptr)

// The cast is there for what has not been lowered.
llvm.func @left_over(%x: !llvm.ptr, %y: !llvm.ptr) {
  %a = builtin.unrealized_conversion_cast %x : !llvm.ptr to memref<8xf32>
  %b = builtin.unrealized_conversion_cast %y : !llvm.ptr to memref<8xf32>
  // expected-error @+1 {{'linalg.softmax' op is not lowered by this pipeline}}
  linalg.softmax dimension(0) ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  llvm.return
}

// -----

llvm.func @cast(%x: i64) -> i32 {
  // expected-error @+1 {{is not lowered by this pipeline}}
  %y = builtin.unrealized_conversion_cast %x : i64 to i32
  llvm.return %y : i32
}

// -----

gpu.module @kernels {
  llvm.func @kernel(%x: i64) -> i32 {
    // expected-error @+1 {{is not lowered by this pipeline}}
    %y = builtin.unrealized_conversion_cast %x : i64 to i32
    llvm.return %y : i32
  }
}
