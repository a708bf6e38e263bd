// RUN: attn-opt %s -convert-nvvm-to-emulator | FileCheck %s

gpu.module @kernels {
  // Sums are in memory of the product's own.
  // CHECK-LABEL: llvm.func @products(
  // CHECK-SAME: %[[A:.*]]: vector<2xbf16>, %[[DESCRIPTOR:.*]]: i64, %[[C:.*]]: f32, %[[P:.*]]: !llvm.ptr)
  llvm.func @products(%a: vector<2xbf16>, %descriptor: i64, %c: f32, %p: !llvm.ptr<1>) {
    // CHECK-DAG: %[[STEPS:.*]] = llvm.alloca %{{.*}} x i64
    // CHECK-DAG: %[[SUMS:.*]] = llvm.alloca %{{.*}} x f32
    // CHECK: llvm.call @attn_emu_fence_proxy_async()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    // CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[STEPS]][0]
    // CHECK: llvm.store %{{.*}}, %[[FIRST]] : i64
    // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[STEPS]][1]
    // CHECK: llvm.store %{{.*}}, %[[SECOND]] : i64
    // CHECK-COUNT-8: llvm.store %[[A]], %{{.*}} : vector<2xbf16>
    // CHECK: %[[SUM0:.*]] = llvm.getelementptr %[[SUMS]][0]
    // CHECK: llvm.store %[[C]], %[[SUM0]] : f32
    // CHECK-COUNT-3: llvm.store %[[C]], %{{.*}} : f32
    // CHECK-DAG: %[[NUM_STEPS:.*]] = llvm.mlir.constant(2 : i32)
    // CHECK-DAG: %[[COLUMNS:.*]] = llvm.mlir.constant(8 : i32)
    // The first factor is in registers; then the product is transposed, of bf16, and
    // adds to its sums.
    // CHECK-DAG: %[[READS_BOTH:.*]] = llvm.mlir.constant(false)
    // CHECK: %[[TRANSPOSED:.*]] = llvm.mlir.constant(true)
    // CHECK: %[[BF16:.*]] = llvm.mlir.constant(true)
    // CHECK: %[[ADDS:.*]] = llvm.mlir.constant(true)
    // CHECK: llvm.call @attn_emu_wgmma(%[[SUMS]], %{{.*}}, %[[DESCRIPTOR]], %[[STEPS]], %[[NUM_STEPS]], %[[COLUMNS]], %[[READS_BOTH]], %[[TRANSPOSED]], %[[BF16]], %[[ADDS]], %{{.*}})
    %begun:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a, %a, %a, %a, %a
          : vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>,
            vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>)
        rhs(%descriptor) transposed sums(%c, %c, %c, %c : f32, f32, f32, f32)
        columns 8 steps [0, 128] : f32, f32, f32, f32
    // What is used before is a NaN. So is the first sum, whose bits say which product it
    // is of.
    // CHECK: %[[MARK_AT:.*]] = llvm.getelementptr %[[SUMS]][0]
    // CHECK: %[[MARK:.*]] = llvm.load %[[MARK_AT]]
    // CHECK: %[[EARLY_AT:.*]] = llvm.getelementptr %[[SUMS]][2]
    // CHECK: %[[EARLY:.*]] = llvm.load %[[EARLY_AT]]
    // CHECK: llvm.store %[[EARLY]], %[[P]]
    llvm.store %begun#2, %p : f32, !llvm.ptr<1>
    // The wait gives where the sums are.
    // CHECK: %[[NUMBER:.*]] = llvm.bitcast %[[MARK]] : f32 to i32
    // CHECK: %[[PENDING:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK: %[[WAITED:.*]] = llvm.call @attn_emu_wgmma_wait(%[[PENDING]], %[[NUMBER]], %{{.*}}) : (i32, i32, !llvm.ptr) -> !llvm.ptr
    %ended:4 = attn.warpgroup_wait %begun#0, %begun#1, %begun#2, %begun#3 pending 1 : f32, f32, f32, f32
    // CHECK: %[[LATE_AT:.*]] = llvm.getelementptr %[[WAITED]][3]
    // CHECK: %[[LATE:.*]] = llvm.load %[[LATE_AT]]
    // CHECK: llvm.store %[[LATE]], %[[P]]
    llvm.store %ended#3, %p : f32, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: llvm.func @mbarriers(
  // CHECK-SAME: %[[M:.*]]: !llvm.ptr, %[[N:.*]]: i32)
  llvm.func @mbarriers(%m: !llvm.ptr<3>, %n: i32) {
    // CHECK: llvm.call @attn_emu_mbarrier_init(%[[M]], %[[N]], %{{.*}})
    nvvm.mbarrier.init %m, %n : !llvm.ptr<3>, i32
    // CHECK-NOT: nvvm
    nvvm.fence.mbarrier.init
    nvvm.setmaxregister increase 232
    // CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK: %[[TRUE:.*]] = llvm.mlir.constant(true)
    // CHECK: %[[PHASE:.*]] = llvm.call @attn_emu_mbarrier_arrive(%[[M]], %[[ONE]], %[[TRUE]], %{{.*}}) : (!llvm.ptr, i32, i1, !llvm.ptr) -> i64
    // CHECK: llvm.trunc %[[PHASE]]
    %phase = nvvm.mbarrier.arrive %m : !llvm.ptr<3> -> i64
    %parity = llvm.trunc %phase : i64 to i32
    // CHECK: %[[FALSE:.*]] = llvm.mlir.constant(false)
    // CHECK: llvm.call @attn_emu_mbarrier_arrive(%[[M]], %[[N]], %[[FALSE]], %{{.*}})
    nvvm.mbarrier.arrive %m, %n {relaxed = true} : !llvm.ptr<3>
    // CHECK: llvm.call @attn_emu_cp_async_mbarrier_arrive(%[[M]], %{{.*}})
    nvvm.cp.async.mbarrier.arrive %m {noinc = true} : !llvm.ptr<3>
    // CHECK: llvm.call @attn_emu_mbarrier_wait(%[[M]], %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, !llvm.ptr) -> ()
    nvvm.mbarrier.try_wait.parity %m, %parity, %n : !llvm.ptr<3>, i32, i32
    // CHECK: llvm.call @attn_emu_mbarrier_inval(%[[M]], %{{.*}})
    nvvm.mbarrier.inval %m : !llvm.ptr<3>
    llvm.return
  }

  // Without sums, nothing is stored in their memory.
  // CHECK-LABEL: llvm.func @no_sums(
  llvm.func @no_sums(%a: vector<2xf16>, %descriptor: i64) {
    // CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} : vector<2xf16>
    // CHECK-NOT: llvm.store %{{.*}} : f32
    // CHECK: llvm.call @attn_emu_wgmma(
    %begun:4 = attn.warpgroup_mma lhs(%a, %a, %a, %a : vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)
        rhs(%descriptor) columns 8 steps [0] : f32, f32, f32, f32
    // CHECK: llvm.call @attn_emu_wgmma_wait(
    %ended:4 = attn.warpgroup_wait %begun#0, %begun#1, %begun#2, %begun#3 pending 0 : f32, f32, f32, f32
    llvm.return
  }

  // Of a first factor in memory, each step has a descriptor.
  // CHECK-LABEL: llvm.func @both(
  // CHECK-SAME: %[[LHS:.*]]: i64, %[[RHS:.*]]: i64)
  llvm.func @both(%lhs: i64, %rhs: i64) {
    // CHECK: %[[LHS_MEMORY:.*]] = llvm.alloca %{{.*}} x i64
    // CHECK: %[[RHS_STEPS:.*]] = llvm.alloca %{{.*}} x i64
    // CHECK: %[[NUMBER:.*]] = llvm.mlir.constant(1024 : i64)
    // CHECK: %[[STEP:.*]] = llvm.add %[[LHS]], %[[NUMBER]]
    // CHECK: %[[AT:.*]] = llvm.getelementptr %[[LHS_MEMORY]][1]
    // CHECK: llvm.store %[[STEP]], %[[AT]] : i64
    // CHECK: %[[READS_BOTH:.*]] = llvm.mlir.constant(true)
    // CHECK: %[[TRANSPOSED:.*]] = llvm.mlir.constant(false)
    // CHECK: %[[BF16:.*]] = llvm.mlir.constant(true)
    // CHECK: %[[ADDS:.*]] = llvm.mlir.constant(false)
    // CHECK: llvm.call @attn_emu_wgmma(%{{.*}}, %[[LHS_MEMORY]], %[[RHS]], %[[RHS_STEPS]], %{{.*}}, %{{.*}}, %[[READS_BOTH]], %[[TRANSPOSED]], %[[BF16]], %[[ADDS]], %{{.*}})
    %begun:4 = attn.warpgroup_mma lhs(%lhs : i64) rhs(%rhs)
        columns 8 steps [0, 64] lhs_steps [0, 1024] of bf16 : f32, f32, f32, f32
    %ended:4 = attn.warpgroup_wait %begun#0, %begun#1, %begun#2, %begun#3 pending 0 : f32, f32, f32, f32
    llvm.return
  }

  // A wait may be for what either side of a branch has begun.
  // CHECK-LABEL: llvm.func @either(
  llvm.func @either(%lhs: i64, %rhs: i64, %c: i1) {
    llvm.cond_br %c, ^first, ^second
  ^first:
    %x:4 = attn.warpgroup_mma lhs(%lhs : i64) rhs(%rhs)
        columns 8 steps [0] lhs_steps [0] of f16 : f32, f32, f32, f32
    llvm.br ^end(%x#0, %x#1, %x#2, %x#3 : f32, f32, f32, f32)
  ^second:
    %y:4 = attn.warpgroup_mma lhs(%lhs : i64) rhs(%rhs)
        columns 8 steps [2] lhs_steps [2] of f16 : f32, f32, f32, f32
    llvm.br ^end(%y#0, %y#1, %y#2, %y#3 : f32, f32, f32, f32)
  // CHECK: ^bb3(%[[BEGUN:[0-9]+]]: f32,
  ^end(%0: f32, %1: f32, %2: f32, %3: f32):
    // CHECK: %[[BITS:.*]] = llvm.bitcast %[[BEGUN]] : f32 to i32
    // CHECK: llvm.call @attn_emu_wgmma_wait(%{{.*}}, %[[BITS]], %{{.*}})
    %ended:4 = attn.warpgroup_wait %0, %1, %2, %3 pending 0 : f32, f32, f32, f32
    llvm.return
  }
  // CHECK-LABEL: llvm.func @transpose(
  // CHECK-SAME: %[[PAIR:.*]]: vector<2xf16>
  llvm.func @transpose(%pair: vector<2xf16>) -> vector<2xf16> {
    // CHECK: %[[WORD:.*]] = llvm.bitcast %[[PAIR]] : vector<2xf16> to i32
    // CHECK: %[[OTHER:.*]] = llvm.call @attn_emu_movmatrix(%[[WORD]], %{{.*}}) : (i32, !llvm.ptr) -> i32
    // CHECK: %[[RESULT:.*]] = llvm.bitcast %[[OTHER]] : i32 to vector<2xf16>
    // CHECK: llvm.return %[[RESULT]]
    %transposed = attn.transpose_in_warp %pair : vector<2xf16>
    llvm.return %transposed : vector<2xf16>
  }
}
