// REQUIRES: gpu
// RUN: attn-opt %s -attn-gpu-pipeline -o %t \
// RUN:   -mlir-print-ir-after=convert-online-to-vector \
// RUN:   -mlir-print-ir-after=attn-distribute-to-lanes 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STAGES
// RUN: FileCheck %s --input-file=%t

// Four query heads are rows of one matrix unit, of one warp.
// STAGES-LABEL: IR Dump After ConvertOnlineToVector
// STAGES-NOT: attn.online
// Scores of blocks of which keys are hidden, and of others; the output of both;
// and scores in the exact round.
// STAGES: vector.contract {{.*}} : vector<16x64xf16>, vector<16x64xf16> into vector<16x16xf32>
// STAGES: vector.contract {{.*}} : vector<16x64xf16>, vector<16x64xf16> into vector<16x16xf32>
// STAGES: vector.contract {{.*}} : vector<16x16xf16>, vector<16x64xf16> into vector<16x64xf32>
// STAGES: vector.contract {{.*}} : vector<16x64xf16>, vector<16x64xf16> into vector<16x16xf32>
// STAGES-NOT: vector.contract
// STAGES-LABEL: IR Dump After DistributeToLanes

// Checks of lengths and table, parts of keys, and the merge.
!q = tensor<?x8x1x64xf16>
!kv = tensor<?x2x?x64xf16>
!cache = tensor<?x2x16x64xf16>
!lengths = tensor<?xi32>
!table = tensor<?x?xi32>

// CHECK-LABEL: func.func @decode(
// CHECK: gpu.launch_func {{.*}} threads in (%c128,
// CHECK: %[[STATES:.*]] = gpu.alloc ({{.*}}) : memref<?x2x?x4x64xf32>
// CHECK: gpu.launch_func {{.*}} threads in (%c32,
// CHECK-SAME: %[[STATES]] : memref<?x2x?x4x64xf32>
// CHECK: gpu.launch_func {{.*}} threads in (%c128,
// CHECK-SAME: %[[STATES]] : memref<?x2x?x4x64xf32>
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.dealloc %[[STATES]]
// CHECK: llvm.call @__assertfail
// CHECK: nvvm.mma.sync
func.func @decode(%query: !q, %keys: !cache, %values: !cache,
                  %lengths: !lengths, %table: !table, %n: index) -> !q {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %query, %c0 : !q
  %init = tensor.empty(%batch) : !q
  %key = attn.cache_read ins(%keys : !cache) lengths(%lengths : !lengths)
      table(%table : !table) size(%n) -> !kv
  %value = attn.cache_read ins(%values : !cache) lengths(%lengths : !lengths)
      table(%table : !table) size(%n) -> !kv
  %output = attn.attention ins(%query, %key, %value : !q, !kv, !kv)
      outs(%init : !q) mask key_padding(%lengths : !lengths)
  return %output : !q
}
