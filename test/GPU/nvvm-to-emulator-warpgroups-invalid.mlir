// RUN: attn-opt %s -convert-nvvm-to-emulator -split-input-file -verify-diagnostics

gpu.module @kernels {
  llvm.func @f(%a: vector<2xf16>, %descriptor: i64) {
    %x:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
        rhs(%descriptor) columns 8 steps [0] : f32, f32, f32, f32
    // expected-error @+1 {{op is only emulated for the first results of a product, in their order}}
    %y:4 = attn.warpgroup_wait %x#0, %x#1, %x#3, %x#2 pending 0 : f32, f32, f32, f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%a: i64, %descriptor: i64) {
    %x:4 = attn.warpgroup_mma lhs(%a : i64) rhs(%descriptor)
        columns 8 steps [0] lhs_steps [0] of f16 : f32, f32, f32, f32
    // expected-error @+1 {{op is only emulated for the first results of a product, in their order}}
    %y = attn.warpgroup_wait %x#1 pending 0 : f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%a: vector<2xf16>, %descriptor: i64) {
    %x:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
        rhs(%descriptor) columns 8 steps [0] : f32, f32, f32, f32
    // expected-error @+1 {{op adds to sums that have not been waited for}}
    %y:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
        rhs(%descriptor) sums(%x#0, %x#1, %x#2, %x#3 : f32, f32, f32, f32) columns 8 steps [2] : f32, f32, f32, f32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f() {
    // expected-error @+1 {{'nvvm.fence.proxy' op is only emulated for the kinds async and async.shared}}
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%p: !llvm.ptr<3>) {
    // expected-error @+1 {{'nvvm.cp.async.mbarrier.arrive' op is only emulated with noinc}}
    nvvm.cp.async.mbarrier.arrive %p : !llvm.ptr<3>
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%p: !llvm.ptr<3>, %n: i32, %predicate: i1) {
    // expected-error @+1 {{'nvvm.mbarrier.init' op with a predicate is not emulated}}
    nvvm.mbarrier.init %p, %n, predicate = %predicate : !llvm.ptr<3>, i32, i1
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%p: !llvm.ptr<7>) {
    // expected-error @+1 {{'nvvm.mbarrier.arrive' op in address space 7 is not emulated}}
    nvvm.mbarrier.arrive %p : !llvm.ptr<7>
    llvm.return
  }
}
