// RUN: attn-opt %s -attn-delay-products -cse -split-input-file -mlir-print-local-scope | FileCheck %s

// An iteration adds the product of the block before, whose weights it finds. So there
// is one more, which has no keys, and knows what the last one knows of its block.
// CHECK-LABEL: func.func @delayed
// CHECK-SAME: %[[V:[^:,]*]]: tensor<?x64xf16>, %[[A:[^:]*]]: tensor<64x64xf32>, %[[M:[^:]*]]: tensor<64xf32>, %[[N:[^:]*]]: index
// CHECK: %[[HAS:.*]] = arith.cmpi sgt, %[[N]], %c0
// CHECK: %[[MORE:.*]] = arith.addi %[[N]], %c128
// CHECK: %[[END:.*]] = arith.select %[[HAS]], %[[MORE]], %[[N]]
// CHECK: %[[NONE:.*]] = linalg.fill ins(%{{.*}} : f16) outs(%{{.*}} : tensor<64x128xf16>)
// CHECK: %[[LOOP:.*]]:4 = scf.for %[[I:.*]] = %c0 to %[[END]] step %c128 iter_args(%[[O:[^ ]*]] = %[[A]], %[[MAXIMUM:[^ ]*]] = %[[M]], %[[SUM:[^ ]*]] = %[[M]], %[[W:[^ ]*]] = %[[NONE]])
// CHECK: %[[KNOWN:.*]] = arith.minsi %[[I]],
// CHECK: %[[OWN:.*]] = tensor.extract_slice %[[V]][%[[KNOWN]], 0]
// CHECK: %[[PREVIOUS:.*]] = arith.subi %[[I]], %c128
// CHECK: %[[CLAMPED:.*]] = arith.maxsi %[[PREVIOUS]], %c0
// CHECK: %[[BEFORE:.*]] = arith.minsi %[[CLAMPED]],
// CHECK: %[[ALL:.*]] = tensor.extract_slice %[[V]][%[[BEFORE]], 0]
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %c0
// CHECK: %[[COUNT:.*]] = arith.select %[[FIRST]], %c0,
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[ALL]][0, 0] [%[[COUNT]], 64]
// CHECK: %[[ONLY:.*]] = arith.cmpi sge, %[[I]], %[[N]]
// CHECK: %[[BLOCK:.*]]:4 = attn.online_attention layout<mma> bounded
// CHECK-SAME: ins(%{{.*}}, %{{.*}}, %[[OWN]] :
// CHECK-SAME: outs(%[[O]], %[[MAXIMUM]], %[[SUM]], %[[W]] :
// CHECK-SAME: delayed(%[[VALUES]], %[[ONLY]] : tensor<?x64xf16>)
// CHECK-SAME: warpgroups = true
// CHECK: scf.yield %[[BLOCK]]#0, %[[BLOCK]]#1, %[[BLOCK]]#2, %[[BLOCK]]#3
// CHECK: return %[[LOOP]]#0
func.func @delayed(%q: tensor<64x64xf16>, %k: tensor<?x64xf16>, %v: tensor<?x64xf16>,
                   %a: tensor<64x64xf32>, %m: tensor<64xf32>, %n: index) -> tensor<64x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %rows = arith.constant 64 : index
  %t:3 = scf.for %j = %c0 to %n step %c128 iter_args(%a0 = %a, %a1 = %m, %a2 = %m)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %keys = affine.min affine_map<(d0)[s0] -> (s0 - d0, 128)>(%j)[%n]
    %ks = tensor.extract_slice %k[%j, 0] [%keys, 64] [1, 1] : tensor<?x64xf16> to tensor<?x64xf16>
    %vs = tensor.extract_slice %v[%j, 0] [%keys, 64] [1, 1] : tensor<?x64xf16> to tensor<?x64xf16>
    %u:3 = attn.online_attention layout<mma> bounded
        ins(%q, %ks, %vs : tensor<64x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>)
        outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact)
        {attn.plan = #attn.plan<layout = mma, lanes = 16, keys = 128, warpgroups = true>}
        -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    scf.yield %u#0, %u#1, %u#2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  return %t#0 : tensor<64x64xf32>
}

// -----

// Without warpgroups, nothing is under way while weights are computed.
// CHECK-LABEL: func.func @warps
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c64
// CHECK-NOT: delayed
// CHECK: return
func.func @warps(%q: tensor<64x64xf16>, %k: tensor<256x64xf16>,
                 %a: tensor<64x64xf32>, %m: tensor<64xf32>) -> tensor<64x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  %t:3 = scf.for %j = %c0 to %n step %c64 iter_args(%a0 = %a, %a1 = %m, %a2 = %m)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %ks = tensor.extract_slice %k[%j, 0] [64, 64] [1, 1] : tensor<256x64xf16> to tensor<64x64xf16>
    %u:3 = attn.online_attention layout<mma> bounded
        ins(%q, %ks, %ks : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>)
        outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        at(%c0, %c0, %c0, %j) queries(%c64) exact(%exact)
        {attn.plan = #attn.plan<layout = mma, lanes = 32, keys = 64>}
        -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    scf.yield %u#0, %u#1, %u#2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  return %t#0 : tensor<64x64xf32>
}

// -----

// In the exact round, which goes through its keys one by one, nothing is delayed, nor
// where the output is used for something else in the loop.
// CHECK-LABEL: func.func @exact
// CHECK-NOT: delayed
// CHECK: return
func.func @exact(%q: tensor<64x64xf16>, %k: tensor<256x64xf16>,
                 %a: tensor<64x64xf32>, %m: tensor<64xf32>) -> tensor<64x64xf32> {
  %exact = arith.constant true
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %n = arith.constant 256 : index
  %rows = arith.constant 64 : index
  %t:3 = scf.for %j = %c0 to %n step %c128 iter_args(%a0 = %a, %a1 = %m, %a2 = %m)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %ks = tensor.extract_slice %k[%j, 0] [128, 64] [1, 1] : tensor<256x64xf16> to tensor<128x64xf16>
    %u:3 = attn.online_attention layout<mma>
        ins(%q, %ks, %ks : tensor<64x64xf16>, tensor<128x64xf16>, tensor<128x64xf16>)
        outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact)
        {attn.plan = #attn.plan<layout = mma, lanes = 16, keys = 128, warpgroups = true>}
        -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    scf.yield %u#0, %u#1, %u#2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  return %t#0 : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @used_in_the_loop
// CHECK-NOT: delayed
// CHECK: return
func.func @used_in_the_loop(%q: tensor<64x64xf16>, %k: tensor<256x64xf16>,
                            %a: tensor<64x64xf32>, %m: tensor<64xf32>) -> tensor<64x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %n = arith.constant 256 : index
  %rows = arith.constant 64 : index
  %t:4 = scf.for %j = %c0 to %n step %c128 iter_args(%a0 = %a, %a1 = %m, %a2 = %m, %last = %a)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %ks = tensor.extract_slice %k[%j, 0] [128, 64] [1, 1] : tensor<256x64xf16> to tensor<128x64xf16>
    %u:3 = attn.online_attention layout<mma> bounded
        ins(%q, %ks, %ks : tensor<64x64xf16>, tensor<128x64xf16>, tensor<128x64xf16>)
        outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact)
        {attn.plan = #attn.plan<layout = mma, lanes = 16, keys = 128, warpgroups = true>}
        -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    scf.yield %u#0, %u#1, %u#2, %u#0 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %t#3 : tensor<64x64xf32>
}

// -----

// There would be one iteration more to count.
// CHECK-LABEL: func.func @counts
// CHECK-NOT: delayed
// CHECK: return
func.func @counts(%q: tensor<64x64xf16>, %k: tensor<256x64xf16>, %a: tensor<64x64xf32>,
    %m: tensor<64xf32>, %seed: i64, %call: i32, %memory: memref<f32>) -> tensor<64x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = arith.constant 256 : index
  %rows = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %t:4 = scf.for %j = %c0 to %n step %c128 iter_args(%a0 = %a, %a1 = %m, %a2 = %m, %count = %c0)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, index) {
    %ks = tensor.extract_slice %k[%j, 0] [128, 64] [1, 1] : tensor<256x64xf16> to tensor<128x64xf16>
    %next = arith.addi %count, %c1 : index
    %u:3 = attn.online_attention layout<mma> bounded
        ins(%q, %ks, %ks : tensor<64x64xf16>, tensor<128x64xf16>, tensor<128x64xf16>)
        outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact)
        {attn.plan = #attn.plan<layout = mma, lanes = 16, keys = 128, warpgroups = true>}
        -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    scf.yield %u#0, %u#1, %u#2, %next : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, index
  }
  return %t#0 : tensor<64x64xf32>
}

// -----

// The same of memory.
// CHECK-LABEL: func.func @stores
// CHECK-NOT: delayed
// CHECK: return
func.func @stores(%q: tensor<64x64xf16>, %k: tensor<256x64xf16>, %a: tensor<64x64xf32>,
    %m: tensor<64xf32>, %seed: i64, %call: i32, %memory: memref<f32>) -> tensor<64x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = arith.constant 256 : index
  %rows = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %t:3 = scf.for %j = %c0 to %n step %c128 iter_args(%a0 = %a, %a1 = %m, %a2 = %m)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %ks = tensor.extract_slice %k[%j, 0] [128, 64] [1, 1] : tensor<256x64xf16> to tensor<128x64xf16>
    memref.store %f0, %memory[] : memref<f32>
    %u:3 = attn.online_attention layout<mma> bounded
        ins(%q, %ks, %ks : tensor<64x64xf16>, tensor<128x64xf16>, tensor<128x64xf16>)
        outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact)
        {attn.plan = #attn.plan<layout = mma, lanes = 16, keys = 128, warpgroups = true>}
        -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    scf.yield %u#0, %u#1, %u#2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  return %t#0 : tensor<64x64xf32>
}

// -----

// Weights are dropped by where their own keys are.
// CHECK-LABEL: func.func @drops
// CHECK-NOT: delayed
// CHECK: return
func.func @drops(%q: tensor<64x64xf16>, %k: tensor<256x64xf16>, %a: tensor<64x64xf32>,
    %m: tensor<64xf32>, %seed: i64, %call: i32, %memory: memref<f32>) -> tensor<64x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = arith.constant 256 : index
  %rows = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %t:3 = scf.for %j = %c0 to %n step %c128 iter_args(%a0 = %a, %a1 = %m, %a2 = %m)
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %ks = tensor.extract_slice %k[%j, 0] [128, 64] [1, 1] : tensor<256x64xf16> to tensor<128x64xf16>
    %u:3 = attn.online_attention layout<mma> bounded
        ins(%q, %ks, %ks : tensor<64x64xf16>, tensor<128x64xf16>, tensor<128x64xf16>)
        outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact) dropout(0.5, %seed, %call, %c0)
        {attn.plan = #attn.plan<layout = mma, lanes = 16, keys = 128, warpgroups = true>}
        -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    scf.yield %u#0, %u#1, %u#2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  return %t#0 : tensor<64x64xf32>
}
