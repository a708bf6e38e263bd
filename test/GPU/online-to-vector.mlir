// RUN: attn-opt %s -convert-online-to-vector -canonicalize -cse \
// RUN:   -mlir-print-local-scope | FileCheck %s

!rows = tensor<?x64xf16>

// A block of at most 32 keys, of which some may be missing and some masked. Indices
// of queries are a column, those of keys a row. A small scale is part of the
// exponent's factor, 0.125 log2(e).
// CHECK-LABEL: func.func @block
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x64xf16>, %[[K:[^:]*]]: tensor<?x64xf16>, %[[V:[^:]*]]: tensor<?x64xf16>
// CHECK: scf.forall
// CHECK: %[[QV:.*]] = vector.transfer_read %{{.*}} {in_bounds = [false, true]} : tensor<?x64xf16>, vector<16x64xf16>
// CHECK: %[[T:.*]] = scf.if %{{.*}} -> (vector<16x32xf32>) {
// CHECK: scf.if %[[EMPTY:.*]] -> (vector<16x32xf32>) {
// CHECK: } else {
// CHECK: %[[KV:.*]] = vector.transfer_read %{{.*}} {in_bounds = [false, true]} : tensor<?x64xf16>, vector<32x64xf16>
// CHECK: %[[S:.*]] = vector.contract {{.*}} %[[QV]], %[[KV]], %{{.*}} into vector<16x32xf32>
// CHECK: arith.cmpi slt, %{{.*}} : vector<1x32xindex>
// CHECK: %[[KEEP:.*]] = arith.cmpi sle, %{{.*}} : vector<16x32xindex>
// CHECK: arith.select %{{.*}}, %[[S]], %{{.*}} : vector<16x32xi1>, vector<16x32xf32>
// Where all keys are there and visible, no score is selected.
// CHECK: } else {
// CHECK-NOT: {{scf.if|arith.select .* vector<16x32xf32>}}
// CHECK: vector.contract {{.*}} into vector<16x32xf32>
// CHECK-NOT: {{scf.if|arith.select .* vector<16x32xf32>}}
// What follows is the same of all blocks of few warps.
// CHECK: %[[M:.*]] = vector.multi_reduction <maximumf>, %[[T]], %{{.*}} [1] : vector<16x32xf32> to vector<16xf32>
// Weights are relative to a power of 2, of which the lowest one is that of no key.
// It stays while no score is beyond it by more than 5, nor NaN: else a branch
// rescales the state.
// CHECK: %[[DISTANCE:.*]] = math.fma %[[M]], %{{.*}} : vector<16xf32>
// CHECK: %[[GROWS:.*]] = arith.cmpf ugt, %[[DISTANCE]], %[[SLACK:.*]] : vector<16xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[M]], %{{.*}} : vector<16xf32>
// CHECK: %[[ANY:.*]] = attn.any_in_warp %[[GROWS]] : vector<16xi1>
// CHECK: %[[STATE:.*]]:2 = scf.if %[[ANY]] -> (vector<16x64xf32>, vector<16xf32>) {
// CHECK: %[[MOST:.*]] = arith.maximumf %[[SCALED]], %{{.*}} : vector<16xf32>
// CHECK: %[[OWN:.*]] = math.exp2 %{{.*}} : vector<16xf32>
// CHECK: %[[FACTOR:.*]] = arith.select %[[GROWS]], %[[OWN]], %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: vector.shape_cast %[[FACTOR]]
// CHECK: arith.mulf %{{.*}} : vector<16x64xf32>
// CHECK: %[[NEXT:.*]] = arith.select %[[GROWS]], %[[MOST]], %{{.*}}
// CHECK: scf.yield %{{.*}}, %[[NEXT]]
// CHECK: } else {
// CHECK: }
// CHECK: %[[MINUS:.*]] = arith.negf %[[STATE]]#1
// CHECK: %[[E:.*]] = math.fma %[[T]], %{{.*}}, %{{.*}} : vector<16x32xf32>
// CHECK: %[[P:.*]] = math.exp2 %[[E]] : vector<16x32xf32>
// CHECK: scf.if %[[EMPTY]] -> (vector<16x64xf32>) {
// CHECK: } else {
// CHECK: %[[W:.*]] = arith.truncf %[[P]] : vector<16x32xf32> to vector<16x32xf16>
// CHECK: vector.contract {{.*}} %[[W]], %{{.*}}, %[[STATE]]#0 : vector<16x32xf16>, vector<32x64xf16> into vector<16x64xf32>
// Whether all are finite: products with 0, added up.
// CHECK: %[[Z0:.*]] = math.fma %{{.*}}, %[[ZERO:.*]], %[[ZERO]] : vector<16x16xf32>
// CHECK-COUNT-2: math.fma {{.*}} vector<16x16xf32>
// CHECK: %[[LAST:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [0, 48], sizes = [16, 16], strides = [1, 1]}
// CHECK: %[[ZEROS:.*]] = math.fma %[[LAST]], %[[ZERO]], %{{.*}} : vector<16x16xf32>
// CHECK: %[[FINITE:.*]] = arith.cmpf oeq, %[[ZEROS]], %[[ZERO]] : vector<16x16xf32>
// CHECK: vector.multi_reduction <and>, %[[FINITE]], %true [0, 1] : vector<16x16xi1> to i1
// Whether maxima are bounded, or -inf.
// CHECK-DAG: arith.cmpf ole, %[[MAX:[^,]*]], %{{.*}} : vector<16xf32>
// CHECK-DAG: arith.cmpf oge, %[[MAX]], %{{.*}} : vector<16xf32>
// CHECK-DAG: arith.cmpf oeq, %[[MAX]], %{{.*}} : vector<16xf32>
// CHECK: vector.multi_reduction <and>, %{{.*}}, %true [0, 1] : vector<16x16xi1> to i1
// As many rows as there are.
// CHECK: vector.transfer_write %{{.*}} {in_bounds = [false, true]} : vector<16x64xf32>, tensor<?x64xf32>
func.func @block(%q: !rows, %k: !rows, %v: !rows, %out: tensor<?x64xf32>,
                 %n: index, %m: index) -> tensor<?x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<?x64xf32>) {
    %rows = affine.min affine_map<()[s0] -> (s0, 16)>()[%n]
    %keys = affine.min affine_map<()[s0] -> (s0, 32)>()[%m]
    %missing = affine.apply affine_map<()[s0] -> (16 - s0)>()[%rows]
    %qs = tensor.extract_slice %q[0, 0] [%rows, 64] [1, 1] : !rows to !rows
    %ks = tensor.extract_slice %k[0, 0] [%keys, 64] [1, 1] : !rows to !rows
    %vs = tensor.extract_slice %v[0, 0] [%keys, 64] [1, 1] : !rows to !rows
    %os = tensor.extract_slice %o[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %qp = tensor.pad %qs low[0, 0] high[%missing, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : !rows to tensor<16x64xf16>
    %e0 = tensor.empty() : tensor<16x64xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %s1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %s2 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %t:3 = attn.online_attention layout<mma> bounded
        ins(%qp, %ks, %vs : tensor<16x64xf16>, !rows, !rows)
        outs(%s0, %s1, %s2 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %c0, %c0) queries(%rows) exact(%exact) scale(%scale : f32)
        mask {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      %keep = arith.cmpi sle, %j, %p : index
      attn.yield %keep : i1
    } -> tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    %finite = attn.all_finite %t#0 : tensor<16x64xf32>
    %bounded = attn.all_bounded %t#1 : tensor<16xf32>
    %right = arith.andi %finite, %bounded : i1
    cf.assert %right, "right"
    %part = tensor.extract_slice %t#0[0, 0] [%rows, 64] [1, 1] : tensor<16x64xf32> to tensor<?x64xf32>
    %ins = tensor.insert_slice %part into %os[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    }
  }
  return %r : tensor<?x64xf32>
}

// What nobody asks of maxima is right of all: what scores are relative to is
// subtracted first, and multiplied by the scale then.
// CHECK-LABEL: func.func @unbounded
// CHECK-COUNT-2: vector.contract {{.*}} into vector<16x32xf32>
// CHECK: vector.multi_reduction <maximumf>
// CHECK: %[[D:.*]] = arith.subf %{{.*}}, %{{.*}} : vector<16x32xf32>
// CHECK: %[[E:.*]] = math.fma %[[D]], %{{.*}}, %{{.*}} : vector<16x32xf32>
// CHECK: math.exp2 %[[E]]
func.func @unbounded(%q: !rows, %k: !rows, %v: !rows, %out: tensor<?x64xf32>,
                 %n: index, %m: index) -> tensor<?x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<?x64xf32>) {
    %rows = affine.min affine_map<()[s0] -> (s0, 16)>()[%n]
    %keys = affine.min affine_map<()[s0] -> (s0, 32)>()[%m]
    %missing = affine.apply affine_map<()[s0] -> (16 - s0)>()[%rows]
    %qs = tensor.extract_slice %q[0, 0] [%rows, 64] [1, 1] : !rows to !rows
    %ks = tensor.extract_slice %k[0, 0] [%keys, 64] [1, 1] : !rows to !rows
    %vs = tensor.extract_slice %v[0, 0] [%keys, 64] [1, 1] : !rows to !rows
    %os = tensor.extract_slice %o[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %qp = tensor.pad %qs low[0, 0] high[%missing, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : !rows to tensor<16x64xf16>
    %e0 = tensor.empty() : tensor<16x64xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %s1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %s2 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %t:3 = attn.online_attention layout<mma>
        ins(%qp, %ks, %vs : tensor<16x64xf16>, !rows, !rows)
        outs(%s0, %s1, %s2 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %c0, %c0) queries(%rows) exact(%exact) scale(%scale : f32)
        mask {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      %keep = arith.cmpi sle, %j, %p : index
      attn.yield %keep : i1
    } -> tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    %part = tensor.extract_slice %t#0[0, 0] [%rows, 64] [1, 1] : tensor<16x64xf32> to tensor<?x64xf32>
    %ins = tensor.insert_slice %part into %os[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    }
  }
  return %r : tensor<?x64xf32>
}

// Rows of i8 are factors of the query's type, each multiplied by its scale; key by
// key, in an exact round, too.
// CHECK-LABEL: func.func @integers
// CHECK: %[[SCALES:.*]] = vector.transfer_read %{{.*}} {in_bounds = [true]} : tensor<32xf32>, vector<32xf32>
// CHECK: %[[ROWS:.*]] = vector.transfer_read %{{.*}} {in_bounds = [true, false]} : tensor<32x40xi8>, vector<32x48xi8>
// CHECK: %[[NUMBERS:.*]] = arith.sitofp %[[ROWS]] : vector<32x48xi8> to vector<32x48xf32>
// CHECK: %[[COLUMN:.*]] = vector.shape_cast %[[SCALES]] : vector<32xf32> to vector<32x1xf32>
// CHECK: %[[ALL:.*]] = vector.broadcast %[[COLUMN]] : vector<32x1xf32> to vector<32x48xf32>
// CHECK: %[[PRODUCTS:.*]] = arith.mulf %[[NUMBERS]], %[[ALL]]
// CHECK: %[[KEYS:.*]] = arith.truncf %[[PRODUCTS]] : vector<32x48xf32> to vector<32x48xf16>
// CHECK: vector.contract {{.*}} %{{.*}}, %[[KEYS]], %{{.*}} into vector<16x32xf32>
// CHECK: scf.for %[[J:.*]] = %c0 to %c32
// CHECK: %[[SCALE:.*]] = tensor.extract %{{.*}}[%[[J]]] : tensor<32xf32>
// CHECK: vector.transfer_read %{{.*}}[%[[J]], %c0]{{.*}} : tensor<32x40xi8>, vector<1x48xi8>
// CHECK: arith.sitofp
// CHECK: vector.broadcast %[[SCALE]] : f32 to vector<1x48xf32>
// CHECK: arith.truncf %{{.*}} : vector<1x48xf32> to vector<1x48xf16>
// CHECK: arith.extf %{{.*}} : vector<1x48xf16> to vector<1x48xf32>
func.func @integers(%q: tensor<16x40xf16>, %k: tensor<32x40xi8>, %ks: tensor<32xf32>,
                    %v: tensor<32x40xi8>, %vs: tensor<32xf32>, %out: tensor<16x40xf32>,
                    %m: index) -> tensor<16x40xf32> {
  %exact = arith.constant true
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<16x40xf32>) {
    %qp = tensor.pad %q low[0, 0] high[0, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : tensor<16x40xf16> to tensor<16x40xf16>
    %e0 = tensor.empty() : tensor<16x40xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<16x40xf32>) -> tensor<16x40xf32>
    %s1 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %t:3 = attn.online_attention layout<mma>
        ins(%qp, %k, %v : tensor<16x40xf16>, tensor<32x40xi8>, tensor<32x40xi8>)
        key_scales(%ks : tensor<32xf32>) value_scales(%vs : tensor<32xf32>)
        outs(%s0, %s1, %s1 : tensor<16x40xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %c0, %c0) queries(%c16) exact(%exact)
        -> tensor<16x40xf32>, tensor<16xf32>, tensor<16xf32>
    %ins = tensor.insert_slice %t#0 into %o[0, 0] [16, 40] [1, 1] : tensor<16x40xf32> into tensor<16x40xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [16, 40] [1, 1] : tensor<16x40xf32> into tensor<16x40xf32>
    }
  }
  return %r : tensor<16x40xf32>
}

// Words of dropout: those that the position alone decides are a column, those of
// the key a row. The product is of the weights that are kept.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32
// CHECK-DAG: %[[KEPT:.*]] = arith.constant dense<2.0{{0*e[+]00}}> : vector<16x32xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0.0{{0*e[+]00}}> : vector<16xf32>
// Weights that are multiplied are at most 1.
// CHECK: arith.cmpf ugt, %{{.*}}, %[[NONE]] : vector<16xf32>
// CHECK: %[[P:.*]] = math.exp2 %{{.*}} : vector<16x32xf32>
// CHECK: arith.divui %{{.*}} : vector<1x32xindex>
// CHECK: arith.mului_extended %{{.*}} : vector<1x32xi32>
// CHECK: arith.mului_extended %{{.*}} : vector<16x1xi32>
// CHECK-COUNT-15: arith.mului_extended %{{.*}} : vector<16x32xi32>
// CHECK-NOT: arith.mului_extended
// CHECK: %[[KEEP:.*]] = arith.cmpi uge, %{{.*}} : vector<16x32xi64>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[P]], %[[KEPT]]
// CHECK: %[[W:.*]] = arith.select %[[KEEP]], %[[SCALED]], %{{.*}}
// CHECK: vector.contract {{.*}} %[[W]], %{{.*}} into vector<16x16xf32>
func.func @dropout(%seed: i64, %call: i32, %q: tensor<16x16xf32>, %k: tensor<32x16xf32>,
                   %out: tensor<16x16xf32>, %m: index, %line: index) -> tensor<16x16xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %no = arith.constant false
  %f0 = arith.constant 0.0 : f32
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<16x16xf32>) {
    %qp = tensor.pad %q low[0, 0] high[0, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %f0 : f32
    } : tensor<16x16xf32> to tensor<16x16xf32>
    %e0 = tensor.empty() : tensor<16x16xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %s1 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %t:3 = attn.online_attention layout<mma>
        ins(%qp, %k, %k : tensor<16x16xf32>, tensor<32x16xf32>, tensor<32x16xf32>)
        outs(%s0, %s1, %s1 : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %i, %i) queries(%c16) exact(%no) dropout(0.5, %seed, %call, %line)
        -> tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>
    %ins = tensor.insert_slice %t#0 into %o[0, 0] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<16x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [16, 16] [1, 1] : tensor<16x16xf32> into tensor<16x16xf32>
    }
  }
  return %r : tensor<16x16xf32>
}

// Loads whose indices are positions, keys or neither are reads of a rectangle, a
// row or a column of the tensor. Where the region may be undefined, threads share
// the positions, and guard what they load.
// CHECK-LABEL: func.func @rectangles
// CHECK-SAME: %[[BIAS:[a-z0-9]*]]: tensor<?x?x?xf16>, %[[SLOPES:[a-z0-9]*]]: tensor<?xf32>, %[[IDS:[a-z0-9]*]]: tensor<?xi32>
// CHECK: %[[MEMORY:.*]] = memref.alloca() : memref<16x32xf32, #gpu.address_space<workgroup>>
// CHECK: scf.if %{{.*}} -> (vector<16x32xf32>)
// CHECK: %[[X:.*]] = vector.transfer_read %[[BIAS]]{{.*}} {permutation_map = affine_map<(d0, d1, d2) -> (d2, d1)>} : tensor<?x?x?xf16>, vector<16x32xf16>
// CHECK: arith.extf %[[X]] : vector<16x32xf16> to vector<16x32xf32>
// CHECK: %[[SLOPE:.*]] = tensor.extract %[[SLOPES]]
// CHECK: vector.broadcast %[[SLOPE]] : f32 to vector<16x32xf32>
// CHECK: vector.transfer_read %[[IDS]]{{.*}} {in_bounds = [true, false], permutation_map = affine_map<(d0) -> (0, d0)>} : tensor<?xi32>, vector<1x32xi32>
// CHECK: vector.transfer_read %[[IDS]]{{.*}} {in_bounds = [false, true], permutation_map = affine_map<(d0) -> (d0, 0)>} : tensor<?xi32>, vector<16x1xi32>
// CHECK: else
// CHECK: vector.transfer_write %{{.*}}, %[[MEMORY]]
// CHECK: scf.forall (%[[I:.*]], %[[J:.*]]) in (16, 32)
// CHECK: cf.assert {{.*}} 'mask' region
// CHECK: scf.if
// CHECK: memref.load %[[MEMORY]][%[[I]], %[[J]]]
// CHECK: cf.assert {{.*}} 'score' region
// CHECK: memref.store %{{.*}}, %[[MEMORY]][%[[I]], %[[J]]]
// CHECK: vector.transfer_read %[[MEMORY]]
func.func @rectangles(%q: !rows, %k: !rows, %v: !rows, %out: tensor<?x64xf32>,
                 %n: index, %m: index,
                 %bias: tensor<?x?x?xf16>, %slopes: tensor<?xf32>, %ids: tensor<?xi32>) -> tensor<?x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<?x64xf32>) {
    %rows = affine.min affine_map<()[s0] -> (s0, 16)>()[%n]
    %keys = affine.min affine_map<()[s0] -> (s0, 32)>()[%m]
    %missing = affine.apply affine_map<()[s0] -> (16 - s0)>()[%rows]
    %qs = tensor.extract_slice %q[0, 0] [%rows, 64] [1, 1] : !rows to !rows
    %ks = tensor.extract_slice %k[0, 0] [%keys, 64] [1, 1] : !rows to !rows
    %vs = tensor.extract_slice %v[0, 0] [%keys, 64] [1, 1] : !rows to !rows
    %os = tensor.extract_slice %o[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %qp = tensor.pad %qs low[0, 0] high[%missing, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : !rows to tensor<16x64xf16>
    %e0 = tensor.empty() : tensor<16x64xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %s1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %s2 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %t:3 = attn.online_attention layout<mma>
        ins(%qp, %ks, %vs : tensor<16x64xf16>, !rows, !rows)
        outs(%s0, %s1, %s2 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %c0, %c0) queries(%rows) exact(%exact) scale(%scale : f32)
        score(%bias, %slopes : tensor<?x?x?xf16>, tensor<?xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %p: index, %j: index, %t: tensor<?x?x?xf16>, %u: tensor<?xf32>):
      %c7 = arith.constant 7 : index
      %row = arith.addi %p, %c7 : index
      %x = tensor.extract %t[%h, %j, %row] : tensor<?x?x?xf16>
      %w = arith.extf %x : f16 to f32
      %slope = tensor.extract %u[%h] : tensor<?xf32>
      %y = arith.addf %s, %w : f32
      %r = arith.mulf %y, %slope : f32
      attn.yield %r : f32
    }
        mask(%ids : tensor<?xi32>) {
    ^bb0(%b: index, %h: index, %p: index, %j: index, %t: tensor<?xi32>):
      %x = tensor.extract %t[%j] : tensor<?xi32>
      %y = tensor.extract %t[%p] : tensor<?xi32>
      %keep = arith.cmpi eq, %x, %y : i32
      attn.yield %keep : i1
    } -> tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    %part = tensor.extract_slice %t#0[0, 0] [%rows, 64] [1, 1] : tensor<16x64xf32> to tensor<?x64xf32>
    %ins = tensor.insert_slice %part into %os[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    }
  }
  return %r : tensor<?x64xf32>
}

// Elements of one row are gathered. Those of several rows are loaded position by
// position, unless the mask keeps all of the block. A division by one number is a
// product, unless a jump is near.
// CHECK-LABEL: func.func @positions
// CHECK-SAME: %[[TABLE:[a-z0-9]*]]: tensor<?xf32>, %[[BLOCKS:[a-z0-9]*]]: tensor<?x?xi1>
// CHECK: scf.if %{{.*}} -> (vector<16x32xf32>)
// CHECK: %[[E:.*]] = arith.subi %{{.*}} : vector<16x32xindex>
// CHECK: %[[D:.*]] = arith.addi %[[E]], %{{.*}} : vector<16x32xindex>
// CHECK: %[[HAS:.*]] = arith.cmpi ult, %[[D]], %{{.*}} : vector<16x32xindex>
// CHECK: vector.gather %[[TABLE]][%c0] [%[[D]]], %[[HAS]], %{{.*}} into vector<16x32xf32>
// CHECK: arith.divf %{{.*}}, %{{.*}} : vector<16x32xf32>
// CHECK: math.floor
// CHECK-NOT: arith.divf
// CHECK: arith.mulf %{{.*}}, %cst{{.*}} : vector<16x32xf32>
// CHECK-NOT: arith.select {{.*}} vector<16x32xf32>
// CHECK: else
// CHECK: scf.forall
// CHECK: tensor.extract %[[BLOCKS]]
func.func @positions(%q: !rows, %k: !rows, %v: !rows, %out: tensor<?x64xf32>,
                 %n: index, %m: index,
                 %table: tensor<?xf32>, %blocks: tensor<?x?xi1>) -> tensor<?x64xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.125 : f32
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<?x64xf32>) {
    %rows = affine.min affine_map<()[s0] -> (s0, 16)>()[%n]
    %keys = affine.min affine_map<()[s0] -> (s0, 32)>()[%m]
    %missing = affine.apply affine_map<()[s0] -> (16 - s0)>()[%rows]
    %qs = tensor.extract_slice %q[0, 0] [%rows, 64] [1, 1] : !rows to !rows
    %ks = tensor.extract_slice %k[0, 0] [%keys, 64] [1, 1] : !rows to !rows
    %vs = tensor.extract_slice %v[0, 0] [%keys, 64] [1, 1] : !rows to !rows
    %os = tensor.extract_slice %o[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %qp = tensor.pad %qs low[0, 0] high[%missing, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : !rows to tensor<16x64xf16>
    %e0 = tensor.empty() : tensor<16x64xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %s1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %s2 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %t:3 = attn.online_attention layout<mma>
        ins(%qp, %ks, %vs : tensor<16x64xf16>, !rows, !rows)
        outs(%s0, %s1, %s2 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
        at(%c0, %c0, %c0, %c0) queries(%rows) exact(%exact) scale(%scale : f32)
        score(%table : tensor<?xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %p: index, %j: index, %t: tensor<?xf32>):
      %c40 = arith.constant 40 : index
      %e = arith.subi %p, %j : index
      %d = arith.addi %e, %c40 : index
      %x = tensor.extract %t[%d] : tensor<?xf32>
      %c20 = arith.constant 20.0 : f32
      %scaled = arith.divf %s, %c20 : f32
      %floor = math.floor %scaled : f32
      %sum = arith.addf %floor, %x : f32
      %r = arith.divf %sum, %c20 : f32
      attn.yield %r : f32
    }
        mask(%blocks : tensor<?x?xi1>) {
    ^bb0(%b: index, %h: index, %p: index, %j: index, %t: tensor<?x?xi1>):
      %c32 = arith.constant 32 : index
      %row = arith.divui %p, %c32 : index
      %column = arith.divui %j, %c32 : index
      %keep = tensor.extract %t[%row, %column] : tensor<?x?xi1>
      attn.yield %keep : i1
    } -> tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
    %part = tensor.extract_slice %t#0[0, 0] [%rows, 64] [1, 1] : tensor<16x64xf32> to tensor<?x64xf32>
    %ins = tensor.insert_slice %part into %os[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    }
  }
  return %r : tensor<?x64xf32>
}

// An exact round. Heads of 40 and of 5 elements are vectors of 48 and 16, in and after
// a loop over blocks: what is read ends with zeros, and only what there is, is written.
// CHECK-LABEL: func.func @heads
// CHECK: vector.transfer_read %{{.*}} {in_bounds = [true, false]} : tensor<16x40xf16>, vector<16x48xf16>
// The loop carries 8 sums of each row, which are added up after it.
// CHECK: %[[STATE:.*]]:3 = scf.for {{.*}} -> (vector<16x16xf32>, vector<16xf32>, vector<16x8xf32>)
// CHECK: vector.transfer_read %{{.*}} {in_bounds = [true, false]} : tensor<32x40xf16>, vector<32x48xf16>
// CHECK: vector.contract {{.*}} : vector<16x48xf16>, vector<32x48xf16> into vector<16x32xf32>
// Exact sums: key by key, without the hidden ones.
// CHECK: memref.alloca() : memref<16x32xf16, #gpu.address_space<workgroup>>
// CHECK: vector.transfer_write
// CHECK: scf.for
// CHECK: vector.transfer_read {{.*}} vector<16xf16>
// CHECK: vector.transfer_read {{.*}} {in_bounds = [true, false]} : tensor<32x5xf16>, vector<1x16xf16>
// CHECK: math.fma {{.*}} vector<16x16xf32>
// CHECK: arith.select
// CHECK-NOT: vector.contract
// CHECK: } {attn.rare}
// CHECK: arith.truncf %{{.*}} : vector<16x16xf32> to vector<16x16xf16>
// CHECK: vector.transfer_write %{{.*}} {in_bounds = [true, false]} : vector<16x16xf16>, tensor<16x5xf16>
#identity = affine_map<(q, d) -> (q, d)>
func.func @heads(%q: tensor<16x40xf16>, %k: tensor<?x40xf16>, %v: tensor<?x5xf16>,
                 %out: tensor<16x5xf16>, %n: index, %m: index)
    -> tensor<16x5xf16> {
  %exact = arith.constant true
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %rows = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %low = arith.constant 0xFF800000 : f32
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<16x5xf16>) {
    %qp = tensor.pad %q low[0, 0] high[0, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : tensor<16x40xf16> to tensor<16x40xf16>
    %e0 = tensor.empty() : tensor<16x5xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<16x5xf32>) -> tensor<16x5xf32>
    %s1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %s2 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %t:3 = scf.for %j = %c0 to %n step %c32 iter_args(%a0 = %s0, %a1 = %s1, %a2 = %s2)
        -> (tensor<16x5xf32>, tensor<16xf32>, tensor<16xf32>) {
      %ks = tensor.extract_slice %k[%j, 0] [32, 40] [1, 1] : tensor<?x40xf16> to tensor<32x40xf16>
      %vs = tensor.extract_slice %v[%j, 0] [32, 5] [1, 1] : tensor<?x5xf16> to tensor<32x5xf16>
      %u:3 = attn.online_attention layout<mma>
          ins(%qp, %ks, %vs : tensor<16x40xf16>, tensor<32x40xf16>, tensor<32x5xf16>)
          outs(%a0, %a1, %a2 : tensor<16x5xf32>, tensor<16xf32>, tensor<16xf32>)
          at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact)
          -> tensor<16x5xf32>, tensor<16xf32>, tensor<16xf32>
      %w = tensor.insert_slice %u#0 into %a0[0, 0] [16, 5] [1, 1] : tensor<16x5xf32> into tensor<16x5xf32>
      scf.yield %w, %u#1, %u#2 : tensor<16x5xf32>, tensor<16xf32>, tensor<16xf32>
    }
    %e2 = tensor.empty() : tensor<16x5xf16>
    %narrow = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
        ins(%t#0 : tensor<16x5xf32>) outs(%e2 : tensor<16x5xf16>) {
    ^bb0(%x: f32, %y: f16):
      %z = arith.truncf %x : f32 to f16
      linalg.yield %z : f16
    } -> tensor<16x5xf16>
    %ins = tensor.insert_slice %narrow into %o[0, 0] [16, 5] [1, 1] : tensor<16x5xf16> into tensor<16x5xf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0, 0] [16, 5] [1, 1] : tensor<16x5xf16> into tensor<16x5xf16>
    }
  }
  return %r : tensor<16x5xf16>
}

// A loop that does something else with the sums of rows carries them as they are.
// CHECK-LABEL: func.func @sums
// CHECK: scf.for {{.*}} -> (vector<16x16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: vector.multi_reduction <add>, %{{.*}}, %{{.*}} [1] : vector<16x32xf32> to vector<16xf32>
func.func @sums(%q: tensor<16x16xf16>, %k: tensor<?x16xf16>, %out: tensor<16xf32>,
                %n: index, %m: index) -> tensor<16xf32> {
  %exact = arith.constant false
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %rows = arith.constant 16 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  %r = scf.forall (%i) in (%m) shared_outs(%o = %out) -> (tensor<16xf32>) {
    %qp = tensor.pad %q low[0, 0] high[0, 0] {
    ^bb0(%a: index, %b: index):
      tensor.yield %h0 : f16
    } : tensor<16x16xf16> to tensor<16x16xf16>
    %e0 = tensor.empty() : tensor<16x16xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %s0 = linalg.fill ins(%f0 : f32) outs(%e0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %s1 = linalg.fill ins(%f0 : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %t:4 = scf.for %j = %c0 to %n step %c32
        iter_args(%a0 = %s0, %a1 = %s1, %a2 = %s1, %a3 = %s1)
        -> (tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
      %ks = tensor.extract_slice %k[%j, 0] [32, 16] [1, 1] : tensor<?x16xf16> to tensor<32x16xf16>
      %u:3 = attn.online_attention layout<mma>
          ins(%qp, %ks, %ks : tensor<16x16xf16>, tensor<32x16xf16>, tensor<32x16xf16>)
          outs(%a0, %a1, %a2 : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>)
          at(%c0, %c0, %c0, %j) queries(%rows) exact(%exact)
          -> tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>
      scf.yield %u#0, %u#1, %u#2, %a2
          : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
    }
    %ins = tensor.insert_slice %t#3 into %o[0] [16] [1] : tensor<16xf32> into tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ins into %o[0] [16] [1] : tensor<16xf32> into tensor<16xf32>
    }
  }
  return %r : tensor<16xf32>
}
