// RUN: attn-opt %s -convert-nvvm-to-emulator | FileCheck %s
// RUN: attn-opt %s -convert-nvvm-to-emulator | FileCheck %s --check-prefix=NONE

// NONE-NOT: {{^ *(%[0-9]+ = )?(nvvm|gpu)[.]}}
// NONE-NOT: llvm.ptr<
// NONE-NOT: @undefined
// NONE-NOT: @__assertfail

// CHECK-DAG: llvm.mlir.global private constant @[[STORE:.*]]("{{.*}}nvvm-to-emulator.mlir:[[# @LINE + 36]]:5: llvm.store\00")
// CHECK-DAG: llvm.mlir.global private constant @[[MESSAGE:.*]]("the number is 0\00")

gpu.module @memory {
  // At 0, 16, and behind them.
  llvm.mlir.global internal @small() {addr_space = 3 : i32} : !llvm.array<3 x i8>
  llvm.mlir.global internal @large() {addr_space = 3 : i32} : !llvm.array<33 x f32>
  llvm.mlir.global internal @dynamic() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
  // Nothing calls it.
  llvm.func @undefined(f32) -> f32

  // CHECK-LABEL: llvm.func @attn_emu_entry_memory(
  // CHECK-SAME: %[[ARGUMENTS:.*]]: !llvm.ptr
  // CHECK-SAME: attributes {attn.block_size = array<i32: 128, 1, 1>, attn.shared_bytes = 256 : i64}
  // CHECK: %[[SLOT0:.*]] = llvm.getelementptr %[[ARGUMENTS]][0]
  // CHECK: %[[ADDRESS0:.*]] = llvm.load %[[SLOT0]] : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[VALUE0:.*]] = llvm.load %[[ADDRESS0]] : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[SLOT1:.*]] = llvm.getelementptr %[[ARGUMENTS]][1]
  // CHECK: %[[ADDRESS1:.*]] = llvm.load %[[SLOT1]]
  // CHECK: %[[VALUE1:.*]] = llvm.load %[[ADDRESS1]] : !llvm.ptr -> f32
  // CHECK: llvm.call @memory(%[[VALUE0]], %[[VALUE1]])

  // CHECK-LABEL: llvm.func @memory(
  // CHECK-SAME: %[[OUT:.*]]: !llvm.ptr, %[[X:.*]]: f32) {
  llvm.func @memory(%out: !llvm.ptr<1>, %x: f32)
      attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>, nvvm.kernel} {
    // CHECK: %[[SHARED:.*]] = llvm.call @attn_emu_shared_memory()
    // CHECK: %[[LARGE:.*]] = llvm.getelementptr %[[SHARED]][16]
    %large = llvm.mlir.addressof @large : !llvm.ptr<3>
    // CHECK: llvm.getelementptr %{{.*}}[256]
    %dynamic = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    // CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
    // CHECK-DAG: %[[SITE:.*]] = llvm.mlir.addressof @[[STORE]]
    // CHECK: llvm.call @attn_emu_access(%[[LARGE]], %[[BYTES]], %{{.*}}, %[[KIND:.*]], %[[SPACE:.*]], %[[SITE]])
    // CHECK-NEXT: llvm.store %[[X]], %[[LARGE]] : f32, !llvm.ptr
    // This is the line.
    llvm.store %x, %large : f32, !llvm.ptr<3>
    // CHECK: llvm.call @attn_emu_access
    // CHECK-NEXT: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<4xf32>
    %v = llvm.load %dynamic {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xf32>
    // CHECK: llvm.call @attn_emu_access
    // CHECK-NEXT: llvm.atomicrmw fadd %[[OUT]], %[[X]]
    %old = llvm.atomicrmw fadd %out, %x monotonic : !llvm.ptr<1>, f32

    // Variables of the function are its own.
    // CHECK: %[[LOCAL:.*]] = llvm.alloca
    // CHECK-NEXT: llvm.store %[[X]], %[[LOCAL]]
    %one = llvm.mlir.constant(1 : i32) : i32
    %local = llvm.alloca %one x f32 : (i32) -> !llvm.ptr
    llvm.store %x, %local : f32, !llvm.ptr

    // The number of an address in shared memory is its offset.
    // CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[LARGE]]
    // CHECK: %[[BEGIN:.*]] = llvm.ptrtoint
    // CHECK: llvm.sub %[[ADDRESS]], %[[BEGIN]]
    %number = llvm.ptrtoint %large : !llvm.ptr<3> to i32
    // CHECK: llvm.zext
    // CHECK: llvm.add
    // CHECK: llvm.inttoptr
    %again = llvm.inttoptr %number : i32 to !llvm.ptr<3>
    llvm.return
  }

  // CHECK-LABEL: llvm.func @warps(
  llvm.func @warps(%out: !llvm.ptr, %mask: i32, %x: f32, %p: i1) {
    // CHECK: llvm.call @attn_emu_block_id(
    %block = nvvm.read.ptx.sreg.ctaid.y : i32
    // CHECK: llvm.store %{{.*}}, %[[WORD:.*]] : f32
    // CHECK: llvm.call @attn_emu_shuffle(
    // CHECK: %[[TAKEN:.*]] = llvm.load
    // CHECK: %[[VALID:.*]] = llvm.trunc
    // CHECK: llvm.insertvalue %[[TAKEN]], %{{.*}}[0]
    // CHECK: llvm.insertvalue %[[VALID]], %{{.*}}[1]
    %shuffled = nvvm.shfl.sync bfly %mask, %x, %block, %block {return_value_and_is_valid}
        : f32 -> !llvm.struct<(f32, i1)>
    // CHECK: llvm.call @attn_emu_vote(
    // CHECK-NEXT: llvm.trunc
    %any = nvvm.vote.sync any %mask, %p -> i1
    // CHECK: llvm.call @attn_emu_redux(
    %sum = nvvm.redux.sync add %block, %mask : i32 -> i32
    // CHECK: llvm.call @attn_emu_warp_sync(
    nvvm.bar.warp.sync %mask : i32
    // CHECK: llvm.call @attn_emu_barrier_arrive(
    nvvm.barrier.arrive id = %block number_of_threads = %mask
    // CHECK: llvm.call @attn_emu_barrier_sync(
    nvvm.barrier id = %block
    // CHECK: %[[OR:.*]] = llvm.mlir.constant(2 : i32)
    // CHECK: llvm.call @attn_emu_barrier_reduce(%{{.*}}, %[[OR]], %{{.*}}) : (i32, i32, !llvm.ptr) -> i32
    %or = nvvm.barrier #nvvm.reduction<or> %block -> i32
    // CHECK: llvm.call @attn_emu_ex2_ftz(
    %exp = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%x) : (f32) -> f32
    // CHECK: llvm.call_intrinsic "llvm.fabs"
    %abs = llvm.call_intrinsic "llvm.fabs"(%x) : (f32) -> f32
    // CHECK: llvm.fdiv
    %inverse = nvvm.rcp.approx.ftz.f %x : f32
    // CHECK: llvm.fdiv
    %reciprocal = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%x) : (f32) -> f32
    // CHECK-NOT: barrier
    nvvm.memory.barrier #nvvm.mem_scope<cta>
    // CHECK: llvm.return
    llvm.return
  }

  // CHECK-LABEL: llvm.func @tiles(
  llvm.func @tiles(%in: !llvm.ptr<1>, %row: !llvm.ptr<3>, %size: i32,
                   %a: vector<2xf16>, %c: f32) {
    // CHECK: llvm.call @attn_emu_cp_async(%{{.*}}, %{{.*}}, %[[SIXTEEN:.*]], %[[SIXTEEN]], %{{.*}})
    nvvm.cp.async.shared.global %row, %in, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    // CHECK: llvm.call @attn_emu_cp_async(%{{.*}}, %{{.*}}, %{{.*}}, %[[SIZE:arg2]], %{{.*}})
    nvvm.cp.async.shared.global %row, %in, 4, cache = ca, %size : !llvm.ptr<3>, !llvm.ptr<1>, i32
    // CHECK: llvm.call @attn_emu_cp_async_commit_group()
    nvvm.cp.async.commit.group
    // CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
    // CHECK: llvm.call @attn_emu_cp_async_wait_group(%[[ONE]])
    nvvm.cp.async.wait.group 1
    // CHECK: %[[TRANSPOSE:.*]] = llvm.mlir.constant(true)
    // CHECK: llvm.call @attn_emu_ldmatrix(%{{.*}}, %{{.*}}, %{{.*}}, %[[TRANSPOSE]], %{{.*}})
    // CHECK-COUNT-2: llvm.insertvalue
    %two = nvvm.ldmatrix %row {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>,
        num = 2 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
        : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    // CHECK: llvm.call @attn_emu_ldmatrix
    // CHECK-NOT: llvm.insertvalue
    %one = nvvm.ldmatrix %row {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>,
        num = 1 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    // CHECK-COUNT-10: llvm.store
    // CHECK: llvm.call @attn_emu_mma(
    // CHECK-COUNT-4: llvm.insertvalue
    %d = nvvm.mma.sync A[%a, %a, %a, %a] B[%a, %a] C[%c, %c, %c, %c]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
         shape = #nvvm.shape<m = 16, n = 8, k = 16>}
        : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}

// The emulator says what an assertion says.
// CHECK-LABEL: llvm.func @assertion(
gpu.module @assertions {
  llvm.mlir.global internal constant @message("the number is 0\00") {addr_space = 0 : i32}
  llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
  llvm.func @assertion(%line: i32, %one: i64) {
    %text = llvm.mlir.addressof @message : !llvm.ptr
    // CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @[[MESSAGE]]
    // CHECK: llvm.call @attn_emu_assert_fail(%[[TEXT]], %{{.*}})
    llvm.call @__assertfail(%text, %text, %line, %text, %one) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
    llvm.return
  }
}

// Two kernels declare the same function.
// CHECK-LABEL: llvm.func @another_assertion(
gpu.module @more_assertions {
  llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
  llvm.func @another_assertion(%text: !llvm.ptr, %line: i32, %one: i64) {
    // CHECK: llvm.call @attn_emu_assert_fail(
    llvm.call @__assertfail(%text, %text, %line, %text, %one) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()
    llvm.return
  }
}
