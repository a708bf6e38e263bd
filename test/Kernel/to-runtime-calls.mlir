// RUN: attn-opt %s -convert-to-runtime-calls | FileCheck %s

// CHECK-DAG: llvm.mlir.global private constant @[[MESSAGE:.*]]("model.mlir:7:3: too long\00")
// CHECK-DAG: llvm.mlir.global private constant @[[NO_PLACE:.*]]("unknown place\00")
// CHECK-DAG: llvm.mlir.global private constant @[[REPORT:.*]]("model.mlir:7:3: op\0Aindex {0} of {1}, in batch entry {4}, query head {5}, query position {6}, key {7}\0Anothing, in batch entry {4}, query head {5}, query position {6}, key {7}\00")
// CHECK-DAG: llvm.mlir.global private constant @[[PLAIN:.*]]("op\0A{0} rows\00")
// CHECK-DAG: llvm.func @attn_rt_fail(!llvm.ptr) attributes {passthrough = ["cold", "noreturn"]}
// CHECK-DAG: llvm.func @attn_rt_alloc(i64, i64) -> !llvm.ptr
// CHECK-DAG: llvm.func @attn_rt_free(!llvm.ptr)

// CHECK-DAG: llvm.func @attn_gpu_alloc(i64, i64) -> !llvm.ptr
// CHECK-DAG: llvm.func @attn_gpu_free(!llvm.ptr)

// CHECK-LABEL: func.func @assert(
// CHECK-SAME: %[[OK:.*]]: i1
// CHECK: cf.cond_br %[[OK]], ^[[REST:.*]], ^[[FAIL:.*]]
// CHECK: ^[[REST]]:
// CHECK: return
// CHECK: ^[[FAIL]]:
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @[[MESSAGE]]
// CHECK: llvm.call @attn_rt_fail(%[[TEXT]])
// CHECK: llvm.unreachable
func.func @assert(%ok: i1) {
  cf.assert %ok, "too long" loc(fused["pass", "model.mlir":7:3])
  return
}

// CHECK-LABEL: func.func @assert_unknown(
func.func @assert_unknown(%ok: i1) {
  cf.assert %ok, "unknown place" loc(unknown)
  return
}

// What stands after the reason in a line: its numbers, or those of a position.
// CHECK-LABEL: func.func @report(
// CHECK-SAME: %[[FAILED:[^:]*]]: i1, %[[X:[^:]*]]: i64, %[[I:[^:]*]]: index
// CHECK: %[[MEMORY:.*]] = llvm.alloca %{{.*}} x !llvm.array<9 x i64>
// CHECK: cf.cond_br %[[FAILED]], ^[[BAD:.*]], ^[[REST:.*]]
// CHECK: ^[[BAD]]:
// CHECK: %[[NONE:.*]] = llvm.mlir.zero : !llvm.array<9 x i64>
// CHECK: %[[REASON:.*]] = llvm.insertvalue %{{.*}}, %[[NONE]][0]
// CHECK: llvm.insertvalue %[[X]], %[[REASON]][1]
// CHECK: llvm.insertvalue %{{.*}}[8]
// CHECK: llvm.call @attn_rt_report(%{{.*}}, %{{.*}})
// CHECK: cf.br ^[[REST]]
func.func @report(%failed: i1, %x: i64, %i: index) {
  attn.report %failed, "op" with(%x, %x) as %i of ["index {0} of {1}", "nothing"]
      at(%i, %i, %i, %i) loc("model.mlir":7:3)
  attn.report %failed, "op" with(%x) as %i of ["{0} rows"] loc(unknown)
  return
}

// A product that does not fit becomes the largest number.
// CHECK-LABEL: func.func @alloc(
// CHECK-DAG: %[[ALIGNMENT:.*]] = llvm.mlir.constant(32 : index)
// CHECK-DAG: %[[LARGEST:.*]] = llvm.mlir.constant(-1 : index)
// CHECK: %[[PRODUCT:.*]] = "llvm.intr.umul.with.overflow"
// CHECK: %[[LOW:.*]] = llvm.extractvalue %[[PRODUCT]][0]
// CHECK: %[[OVERFLOW:.*]] = llvm.extractvalue %[[PRODUCT]][1]
// CHECK: llvm.select %[[OVERFLOW]], %[[LARGEST]], %[[LOW]]
// CHECK: "llvm.intr.umul.with.overflow"
// CHECK: %[[BYTES:.*]] = llvm.select
// CHECK: llvm.call @attn_rt_alloc(%[[BYTES]], %[[ALIGNMENT]])
// CHECK: llvm.call @attn_rt_free
func.func @alloc(%n: index, %m: index) {
  %a = memref.alloc(%n, %m) {alignment = 32 : i64} : memref<?x?xf32>
  memref.dealloc %a : memref<?x?xf32>
  return
}

// CHECK-LABEL: func.func @alloc_gpu(
// CHECK-DAG: %[[ALIGNMENT:.*]] = llvm.mlir.constant(64 : index)
// CHECK-COUNT-2: "llvm.intr.umul.with.overflow"
// CHECK: %[[BYTES:.*]] = llvm.select
// CHECK: %[[POINTER:.*]] = llvm.call @attn_gpu_alloc(%[[BYTES]], %[[ALIGNMENT]])
// CHECK: llvm.insertvalue %[[POINTER]], %{{.*}}[1]
// CHECK: llvm.call @attn_gpu_free
func.func @alloc_gpu(%n: index) {
  %a = gpu.alloc (%n) : memref<?x4xf32>
  gpu.dealloc %a : memref<?x4xf32>
  return
}
