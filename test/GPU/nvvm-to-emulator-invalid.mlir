// RUN: attn-opt %s -convert-nvvm-to-emulator -split-input-file -verify-diagnostics

gpu.module @kernels {
  llvm.func @f(%p: !llvm.ptr<3>, %n: i32) {
    // expected-error @+1 {{'nvvm.mbarrier.expect_tx' op is not emulated}}
    nvvm.mbarrier.expect_tx %p, %n : !llvm.ptr<3>, i32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%a: f64, %c: f64) {
    // expected-error @+1 {{op is only emulated for m16n8k8 and m16n8k16 of f16 and bf16 with f32 accumulators}}
    %d = nvvm.mma.sync A[%a] B[%a] C[%c, %c]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
         shape = #nvvm.shape<m = 8, n = 8, k = 4>} : (f64, f64, f64) -> !llvm.struct<(f64, f64)>
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%x: f32, %mask: i32) {
    // expected-error @+1 {{'nvvm.redux.sync' op of 'f32' is not emulated}}
    %r = nvvm.redux.sync fmax %x, %mask : f32 -> f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%x: f32) {
    // expected-error @+1 {{'llvm.call_intrinsic' op of 'llvm.nvvm.sin.approx.ftz.f' is not emulated}}
    %y = llvm.call_intrinsic "llvm.nvvm.sin.approx.ftz.f"(%x) : (f32) -> f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @f(%x: f32) {
    // expected-error @+1 {{'llvm.call' op of '__nv_expf', which has no body, is not emulated}}
    %y = llvm.call @__nv_expf(%x) : (f32) -> f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%x: !llvm.ptr) {
    // expected-error @+1 {{'llvm.call' op of a pointer is not emulated}}
    llvm.call %x() : !llvm.ptr, () -> ()
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%x: i32) {
    // expected-error @+1 {{'llvm.inline_asm' op is not emulated}}
    %y = llvm.inline_asm "not.b32 $0, $1;", "=r,r" %x : (i32) -> i32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%p: !llvm.ptr<1>, %n: i64) {
    // expected-error @+1 {{'llvm.intr.memcpy' op on a pointer is not emulated}}
    "llvm.intr.memcpy"(%p, %p, %n) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%p: !llvm.ptr<7>) {
    // expected-error @+1 {{'llvm.load' op in address space 7 is not emulated}}
    %x = llvm.load %p : !llvm.ptr<7> -> f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%x: f32) {
    // expected-error @+1 {{'arith.addf' op is not of the LLVM or the NVVM dialect}}
    %y = arith.addf %x, %x : f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{op in address space 0 is not emulated, only those in shared memory, 3, are}}
  llvm.mlir.global internal @table(dense<1.0> : tensor<4xf32>) : !llvm.array<4 x f32>
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{op in shared memory has an initial value}}
  llvm.mlir.global internal @table(dense<1.0> : tensor<4xf32>) {addr_space = 3 : i32} : !llvm.array<4 x f32>
}

// -----

gpu.module @kernels {
  llvm.mlir.global internal @some() {addr_space = 3 : i32} : !llvm.array<100 x f32>
  // expected-error @+1 {{op does not fit shared memory of 232448 bytes}}
  llvm.mlir.global internal @rest() {addr_space = 3 : i32} : !llvm.array<59000 x f32>
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{op passes parameter 1 by value in memory, which is not emulated}}
  llvm.func @f(%x: f32, %p: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>}) {
    llvm.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{op has a name of the emulator's, 'attn_emu_access'}}
  llvm.func @attn_emu_access(%x: f32) {
    llvm.return
  }
}

// -----

// expected-error @+1 {{'memref.global' op is no part of a kernel's code}}
memref.global @host : memref<4xf32>
gpu.module @kernels {
}
