// REQUIRES: gpu
// RUN: attn-opt %s -attn-gpu-pipeline -o %t \
// RUN:   -mlir-print-ir-after=convert-online-to-vector \
// RUN:   -mlir-print-ir-after=attn-copy-to-workgroup \
// RUN:   -mlir-print-ir-after=attn-distribute-to-lanes 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STAGES
// RUN: FileCheck %s --input-file=%t
// RUN: attn-opt %t -mlir-print-op-generic | FileCheck %s --check-prefix=OPS

// Only the LLVM and NVVM dialects are left in the kernels, and transposes, which NVVM
// does not have.
// OPS: "gpu.module"
// OPS-NOT: {{^ *(%.* = )?"(a[^t]|attn\.[^t]|[^agln]|g[^p]|gpu\.[^m]|l[^l]|n[^v]|nv[^v])}}
// OPS: "func.func"

// Vectors of the workgroup: a tile of 128 queries times 32 keys, which scores leave
// registers for.
// STAGES-LABEL: IR Dump After ConvertOnlineToVector
// STAGES-NOT: attn.online
// STAGES: scf.forall
// STAGES: vector.contract {{.*}} : vector<128x64xf16>, vector<32x64xf16> into vector<128x32xf32>
// STAGES: vector.contract {{.*}} : vector<128x32xf16>, vector<32x64xf16> into vector<128x64xf32>

// Two stages of keys and of values, which the loop over blocks has copied.
// STAGES-LABEL: IR Dump After CopyToWorkgroup
// STAGES: gpu.launch
// STAGES-COUNT-2: memref.alloca() : memref<2x64x72xf16, #gpu.address_space<workgroup>>
// STAGES: nvgpu.device_async_create_group
// STAGES: scf.for
// STAGES: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
// STAGES: gpu.barrier
// STAGES: nvgpu.device_async_create_group
// STAGES: vector.contract

// Scalars of the lanes.
// STAGES-LABEL: IR Dump After DistributeToLanes
// STAGES-NOT: vector.{{contract|multi_reduction|transfer|broadcast}}
// STAGES: gpu.launch
// STAGES-NOT: vector.{{contract|multi_reduction|transfer|broadcast}}
// STAGES: nvvm.mma.sync
// STAGES-NOT: vector.{{contract|multi_reduction|transfer|broadcast}}
// STAGES: return

// The form for many queries, after that for one, of which the parts of keys are one
// launch, and their merge is another. The last block of queries is x, heads are y,
// batch entries z.
// CHECK-LABEL: func.func @causal
// CHECK: cf.assert
// CHECK: gpu.launch_func @causal_kernels::@causal_kernel blocks
// CHECK: gpu.launch_func @causal_kernels::@causal_kernel_0 blocks
// CHECK: gpu.launch_func @causal_kernels::@causal_kernel_1
// CHECK-SAME: blocks in (%{{.*}}, %c8, %{{.*}}) threads in (%c128, %c1, %c1)
// CHECK-SAME: dynamic_shared_memory_size %c36864_i32
// CHECK-SAME: args(%{{[^,]*}} : memref<?x2x?x64xf16, strided<[?, ?, ?, 1]>>, %{{[^,]*}} : memref<?x8x?x64xf16, strided<[?, ?, ?, 1]>>,
// All kernels of a function are in one module.
// CHECK: gpu.module @causal_kernels
// CHECK-NOT: gpu.module
// CHECK: llvm.func @causal_kernel_1(
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %{{.*}}
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: nvvm.shfl.sync bfly
// CHECK: llvm.nvvm.ex2.approx
func.func @causal(%query: tensor<?x8x?x64xf16>, %key: tensor<?x2x?x64xf16>,
                  %value: tensor<?x2x?x64xf16>) -> tensor<?x8x?x64xf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : tensor<?x8x?x64xf16>
  %length = tensor.dim %query, %c2 : tensor<?x8x?x64xf16>
  %init = tensor.empty(%batch, %length) : tensor<?x8x?x64xf16>
  %output = attn.attention
      ins(%query, %key, %value
          : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>)
      outs(%init : tensor<?x8x?x64xf16>) score softcap(20.0) mask causal
  return %output : tensor<?x8x?x64xf16>
}

// Fewer queries than a tile has: two warps. The sink is where the state starts, and
// the log-sum-exp a second result.
// CHECK-LABEL: func.func @few
// CHECK: gpu.launch_func {{.*}} threads in (%c64, %c1, %c1)
// CHECK: gpu.module @few_kernels
// CHECK: llvm.nvvm.ex2.approx
// CHECK: llvm.ashr
func.func @few(%query: tensor<2x4x20x128xbf16>, %key: tensor<2x4x?x128xbf16>,
               %value: tensor<2x4x?x80xbf16>, %sink: tensor<4xf32>)
    -> (tensor<2x4x20x80xbf16>, tensor<2x4x20xf32>) {
  %init = tensor.empty() : tensor<2x4x20x80xbf16>
  %sums = tensor.empty() : tensor<2x4x20xf32>
  %output:2 = attn.attention
      ins(%query, %key, %value
          : tensor<2x4x20x128xbf16>, tensor<2x4x?x128xbf16>, tensor<2x4x?x80xbf16>)
      outs(%init, %sums : tensor<2x4x20x80xbf16>, tensor<2x4x20xf32>)
      sink(%sink : tensor<4xf32>)
  return %output#0, %output#1 : tensor<2x4x20x80xbf16>, tensor<2x4x20xf32>
}

// Cumulative lengths are the GPU's: two launches check them, one fills the rows of
// no sequence, and the last one has a workgroup for each tile that there may be.
// CHECK-LABEL: func.func @packed
// CHECK-COUNT-3: gpu.launch_func {{.*}} threads in (%c128, %c1, %c1)
// CHECK: gpu.launch_func @packed_kernels::@packed_kernel_2 blocks in (%{{.*}}, %c8, %c1) threads in (%c128, %c1, %c1)
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.module @packed_kernels
func.func @packed(%query: tensor<1x8x?x64xf16>, %key: tensor<1x2x?x64xf16>,
                  %value: tensor<1x2x?x64xf16>, %cq: tensor<?xi32>,
                  %ck: tensor<?xi32>) -> tensor<1x8x?x64xf16> {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : tensor<1x8x?x64xf16>
  %init = tensor.empty(%length) : tensor<1x8x?x64xf16>
  %output = attn.attention
      ins(%query, %key, %value
          : tensor<1x8x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>)
      outs(%init : tensor<1x8x?x64xf16>)
      sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>) mask causal
  return %output : tensor<1x8x?x64xf16>
}
