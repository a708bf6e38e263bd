// RUN: attn-opt %s -attn-delay-products -convert-online-to-vector -canonicalize -cse \
// RUN:   -mlir-print-local-scope | FileCheck %s

!queries = tensor<64x64xf16>
!rows = tensor<?x64xf16>
!block = tensor<?x64xf16>
!keys = tensor<256x64xf16>
!whole = tensor<128x64xf16>

// Where warpgroups multiply, an iteration computes scores and weights of its own keys,
// and adds the product of the weights and values of the one before, which it carries.
// So there is one more iteration, if there is any.
// CHECK-LABEL: func.func @delayed
// CHECK-SAME: %[[V:[^:,]*]]: tensor<?x64xf16>, %[[OUT:[^:]*]]: tensor<64x64xf32>, %[[N:[^:]*]]: index
// CHECK: scf.forall
// CHECK: %[[HAS:.*]] = arith.cmpi sgt, %[[N]], %c0
// CHECK: %[[MORE:.*]] = arith.addi %[[N]], %c128
// CHECK: %[[END:.*]] = arith.select %[[HAS]], %[[MORE]], %[[N]]
// CHECK: %[[LOOP:.*]]:4 = scf.for %[[I:.*]] = %c0 to %[[END]] step %c128 iter_args(%[[O:[^ ]*]] = %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[WEIGHTS:.*]] = %{{.*}}) -> (vector<64x64xf32>, vector<64xf32>, vector<64x8xf32>, vector<64x128xf16>) {
// Values of the keys before; of the first iteration, none.
// CHECK: %[[PREVIOUS:.*]] = arith.subi %[[I]], %c128
// CHECK: %[[CLAMPED:.*]] = arith.maxsi %[[PREVIOUS]], %c0
// CHECK: %[[BEFORE:.*]] = arith.minsi %[[CLAMPED]],
// CHECK: %[[ALL:.*]] = tensor.extract_slice %[[V]][%[[BEFORE]], 0]
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %c0
// CHECK: %[[COUNT:.*]] = arith.select %[[FIRST]], %c0,
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[ALL]][0, 0] [%[[COUNT]], 64]
// CHECK: %[[IS_LAST:.*]] = arith.cmpi sge, %[[I]], %[[N]]
// The last iteration, in a branch of blocks of which keys may be missing, has no keys.
// CHECK: scf.if
// CHECK: scf.if %[[IS_LAST]]
// CHECK: vector.contract {{.*}} %[[WEIGHTS]], %{{.*}}, %[[O]] : vector<64x128xf16>, vector<128x64xf16> into vector<64x64xf32>
// CHECK-NEXT: scf.yield
// CHECK: } else {
// CHECK: vector.contract {{.*}} into vector<64x128xf32>
// CHECK: } else {
// Both products come before what makes weights. Then the sum is rescaled.
// CHECK: vector.contract {{.*}} into vector<64x128xf32>
// CHECK: %[[READ:.*]] = vector.transfer_read %[[VALUES]]
// CHECK: %[[SUM:.*]] = vector.contract {{.*}} %[[WEIGHTS]], %[[READ]], %[[O]] : vector<64x128xf16>, vector<128x64xf16> into vector<64x64xf32>
// CHECK-NOT: scf.if
// CHECK: math.exp2 {{.*}} : vector<64x128xf32>
// CHECK: %[[NEW:.*]] = arith.truncf %{{.*}} : vector<64x128xf32> to vector<64x128xf16>
// CHECK: %[[ANY:.*]] = attn.any_in_warp
// CHECK: %[[RESCALED:.*]] = scf.if %[[ANY]] -> (vector<64x64xf32>) {
// CHECK: arith.mulf %[[SUM]],
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[SUM]]
// CHECK: scf.yield %[[RESCALED]], {{.*}}, %[[NEW]] :
func.func @delayed(%q: !queries, %k: !rows, %v: !rows, %out: tensor<64x64xf32>,
                   %n: index, %m: index) -> tensor<64x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %rows = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<64x64xf32>) {
    %qp = tensor.pad %q low[0, 0] high[0, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : !queries to !queries
    %e0 = tensor.empty() : tensor<64x64xf32>
    %e1 = tensor.empty() : tensor<64xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<64x64xf32>) -> tensor<64x64xf32>
    %s1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
    %s2 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
    %t:3 = scf.for %j = %c0 to %n step %c128 iter_args(%a0 = %s0, %a1 = %s1, %a2 = %s2)
        -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
      %keys = affine.min affine_map<(d0)[s0] -> (s0 - d0, 128)>(%j)[%n]
      %ks = tensor.extract_slice %k[%j, 0] [%keys, 64] [1, 1] : !rows to !block
      %vs = tensor.extract_slice %v[%j, 0] [%keys, 64] [1, 1] : !rows to !block
      %u:3 = attn.online_attention layout<mma> bounded
          ins(%qp, %ks, %vs : !queries, !block, !block)
          outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
          at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact) scale(%scale : f32)
          {attn.plan = #attn.plan<layout = mma, lanes = 16, keys = 128, warpgroups = true>}
          -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
      scf.yield %u#0, %u#1, %u#2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    }
    %ins = tensor.insert_slice %t#0 into %o[0, 0] [64, 64] [1, 1] : tensor<64x64xf32> into tensor<64x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [64, 64] [1, 1] : tensor<64x64xf32> into tensor<64x64xf32>
    }
  }
  return %r : tensor<64x64xf32>
}

// Of blocks that are whole, as their size is a constant, the last iteration is none,
// though the mask may keep all of what would be there.
// CHECK-LABEL: func.func @constant_size
// CHECK: scf.for %[[I:.*]] = %c0 to %c384 step %c128
// CHECK: %[[IS_LAST:.*]] = arith.cmpi sge, %[[I]], %c256
// CHECK: %[[IS_PARTIAL:.*]] = arith.cmpi sgt
// CHECK: %[[CONDITION:.*]] = arith.ori %[[IS_PARTIAL]], %[[IS_LAST]] : i1
// CHECK: scf.if %[[CONDITION]]
func.func @constant_size(%q: !queries, %k: !keys, %v: !keys,
                         %out: tensor<64x64xf32>, %m: index) -> tensor<64x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c128 = arith.constant 128 : index
  %rows = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<64x64xf32>) {
    %qp = tensor.pad %q low[0, 0] high[0, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : !queries to !queries
    %e0 = tensor.empty() : tensor<64x64xf32>
    %e1 = tensor.empty() : tensor<64xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<64x64xf32>) -> tensor<64x64xf32>
    %s1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
    %s2 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
    %t:3 = scf.for %j = %c0 to %c256 step %c128 iter_args(%a0 = %s0, %a1 = %s1, %a2 = %s2)
        -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
      %ks = tensor.extract_slice %k[%j, 0] [128, 64] [1, 1] : !keys to !whole
      %vs = tensor.extract_slice %v[%j, 0] [128, 64] [1, 1] : !keys to !whole
      %u:3 = attn.online_attention layout<mma> bounded
          ins(%qp, %ks, %vs : !queries, !whole, !whole)
          outs(%a0, %a1, %a2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
          at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact) scale(%scale : f32)
          mask {
      ^bb0(%b: index, %h: index, %p: index, %key: index):
        %keep = arith.cmpi sle, %key, %p : index
        attn.yield %keep : i1
      }
          {attn.plan = #attn.plan<layout = mma, lanes = 16, keys = 128, warpgroups = true>}
          -> tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
      scf.yield %u#0, %u#1, %u#2 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    }
    %ins = tensor.insert_slice %t#0 into %o[0, 0] [64, 64] [1, 1] : tensor<64x64xf32> into tensor<64x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [64, 64] [1, 1] : tensor<64x64xf32> into tensor<64x64xf32>
    }
  }
  return %r : tensor<64x64xf32>
}
