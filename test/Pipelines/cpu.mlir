// RUN: attn-opt %s -attn-cpu-pipeline -verify-diagnostics -o %t \
// RUN:   -mlir-print-ir-after=attn-bufferize-kernels 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BUFFERS --implicit-check-not=2048x2048
// RUN: FileCheck %s --input-file=%t
// RUN: attn-opt %t -mlir-print-op-generic | FileCheck %s --check-prefix=OPS

// Only the LLVM dialect is left.
// OPS: "builtin.module"
// OPS-NOT: {{^ *(%.* = )?"[a-km-z]}}

!x = tensor<1x8x2048x64xf32>
!h = tensor<1x8x2048x64xf16>
!d = tensor<1x8x2048x64xf64>

// Nothing has the size of all scores: buffers are those of a tile of queries,
// but for the result, which the caller's buffer need not be.
// CHECK-LABEL: llvm.func @attention(
// CHECK: llvm.call @attn_rt_parallel_ranges
// BUFFERS-LABEL: func.func @attention(
// BUFFERS: memref.alloc() {{.*}} : memref<1x8x2048x64xf32>
// BUFFERS-NOT: memref.alloc{{.*}}2048
// BUFFERS: scf.forall {{.*}} to (8, 2048) step (1, 16)
// BUFFERS-NOT: memref.alloc{{.*}}2048
// BUFFERS: memref.alloc() {{.*}} : memref<64x16xf32>
// BUFFERS-NOT: memref.alloc{{.*}}2048
func.func @attention(%q: !x, %k: !x, %v: !x, %o: !x) -> !x {
  %r = attn.attention ins(%q, %k, %v : !x, !x, !x) outs(%o : !x) mask causal
  return %r : !x
}

// CHECK-LABEL: llvm.func @half(
// CHECK: llvm.call @attn_rt_parallel_ranges
// BUFFERS-LABEL: func.func @half(
func.func @half(%q: !h, %k: !h, %v: !h, %o: !h) -> !h {
  %r = attn.attention ins(%q, %k, %v : !h, !h, !h) outs(%o : !h) mask causal
  return %r : !h
}

// CHECK-LABEL: llvm.func @packed(
// CHECK: llvm.call @attn_rt_parallel_ranges
// BUFFERS-LABEL: func.func @packed(
// BUFFERS: scf.forall
func.func @packed(%q: tensor<1x8x?x64xf32>, %o: tensor<1x8x?x64xf32>,
                  %starts: tensor<?xi32>) -> tensor<1x8x?x64xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>,
          tensor<1x8x?x64xf32>)
      outs(%o : tensor<1x8x?x64xf32>)
      sequences(%starts, %starts : tensor<?xi32>, tensor<?xi32>)
      mask causal
  return %r : tensor<1x8x?x64xf32>
}

// CHECK-LABEL: llvm.func @double(
// CHECK: llvm.call @attn_rt_parallel_ranges
func.func @double(%q: !d, %k: !d, %v: !d, %o: !d) -> !d {
  %r = attn.attention ins(%q, %k, %v : !d, !d, !d) outs(%o : !d)
  return %r : !d
}

// CHECK-LABEL: llvm.func @dropout(
// CHECK: llvm.call @attn_rt_parallel_ranges
func.func @dropout(%q: !x, %k: !x, %v: !x, %o: !x, %seed: i64, %call: i32)
    -> !x {
  %r = attn.attention ins(%q, %k, %v : !x, !x, !x) outs(%o : !x)
      dropout(0.1, %seed, %call)
  return %r : !x
}

// A region without a form in vectors is computed position by position.
// CHECK-LABEL: llvm.func @sine(
// CHECK: llvm.call @attn_rt_parallel_ranges
func.func @sine(%q: !x, %k: !x, %v: !x, %o: !x) -> !x {
  %r = attn.attention ins(%q, %k, %v : !x, !x, !x) outs(%o : !x)
      score(%s, %b, %h, %p, %j) {
        // expected-remark @below {{the 'score' region is evaluated position by position: it has no vector form}}
        %t, %u = math.sincos %s : f32
        attn.yield %t : f32
      }
  return %r : !x
}
