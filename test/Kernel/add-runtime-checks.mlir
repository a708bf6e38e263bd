// RUN: attn-opt %s -attn-add-runtime-checks -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @extract(
// CHECK: cf.assert %{{.*}}, "'tensor.extract' op out-of-bounds access
// CHECK: tensor.extract
func.func @extract(%a: tensor<?xf32>, %i: index) -> f32 {
  %x = tensor.extract %a[%i] : tensor<?xf32>
  return %x : f32
}

// CHECK-LABEL: func.func @signed_division(
// CHECK-SAME: %[[A:[^:]*]]: i32, %[[B:[^:]*]]: i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[MIN:.*]] = arith.constant -2147483648 : i32
// CHECK-DAG: %[[MINUS_ONE:.*]] = arith.constant -1 : i32
// CHECK: %[[NONZERO:.*]] = arith.cmpi ne, %[[B]], %[[ZERO]]
// CHECK: cf.assert %[[NONZERO]], "'arith.divsi' op division by zero"
// CHECK: %[[DIVIDEND:.*]] = arith.cmpi ne, %[[A]], %[[MIN]]
// CHECK: %[[DIVISOR:.*]] = arith.cmpi ne, %[[B]], %[[MINUS_ONE]]
// CHECK: %[[FITS:.*]] = arith.ori %[[DIVIDEND]], %[[DIVISOR]]
// CHECK: cf.assert %[[FITS]], "'arith.divsi' op quotient does not fit its type"
// CHECK: arith.divsi %[[A]], %[[B]]
func.func @signed_division(%a: i32, %b: i32) -> i32 {
  %q = arith.divsi %a, %b : i32
  return %q : i32
}

// CHECK-LABEL: func.func @unsigned_division(
// CHECK-COUNT-1: cf.assert
// CHECK-NOT: cf.assert
func.func @unsigned_division(%a: index, %b: index) -> index {
  %q = index.divu %a, %b
  return %q : index
}

// What is known needs no check.
// CHECK-LABEL: func.func @constant_divisor(
// CHECK-NOT: cf.assert
// CHECK: return
func.func @constant_divisor(%a: index) -> index {
  %c8 = arith.constant 8 : index
  %q = arith.divsi %a, %c8 : index
  return %q : index
}

// CHECK-LABEL: func.func @concat(
// CHECK: cf.assert %{{.*}}, "'tensor.concat' op dimension 1 of input 1 differs from that of input 0"
func.func @concat(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c = tensor.concat dim(0) %a, %b
      : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @expand_shape(
// CHECK: cf.assert %{{.*}}, "'tensor.expand_shape' op dimension 0 of the source is not the product of the result's dimensions"
func.func @expand_shape(%a: tensor<?xf32>, %n: index, %m: index)
    -> tensor<?x?xf32> {
  %b = tensor.expand_shape %a [[0, 1]] output_shape [%n, %m]
      : tensor<?xf32> into tensor<?x?xf32>
  return %b : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @insert_slice(
// CHECK-SAME: %[[OFFSET:[^:]*]]: index
// CHECK: %[[LAST:.*]] = arith.addi %[[OFFSET]], %c3
// CHECK: arith.cmpi ult, %[[LAST]], %c8
// CHECK: cf.assert %{{.*}}, "'tensor.insert_slice' op slice runs out-of-bounds along dimension 0"
// CHECK-NOT: along dimension 1
// CHECK: tensor.insert_slice
func.func @insert_slice(%offset: index, %a: tensor<4x16xf32>,
                        %b: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c = tensor.insert_slice %a into %b[%offset, 0] [4, 16] [1, 1]
      : tensor<4x16xf32> into tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @insert_source(
// CHECK-SAME: %[[SIZE:[^:]*]]: index
// CHECK: %[[SOURCE:.*]] = tensor.dim %{{.*}}, %c1
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[SOURCE]], %[[SIZE]]
// CHECK: cf.assert %[[SAME]], "'tensor.insert_slice' op dimension 1 of the source is not the slice's"
// CHECK: tensor.insert_slice
func.func @insert_source(%size: index, %a: tensor<4x?xf32>,
                         %b: tensor<1x4x?xf32>) -> tensor<1x4x?xf32> {
  %c = tensor.insert_slice %a into %b[0, 0, 0] [1, 4, %size] [1, 1, 1]
      : tensor<4x?xf32> into tensor<1x4x?xf32>
  return %c : tensor<1x4x?xf32>
}

// CHECK-LABEL: func.func @shift(
// CHECK-SAME: %[[COUNT:[^:]*]]: i32
// CHECK: %[[LESS:.*]] = arith.cmpi ult, %[[COUNT]], %c32_i32
// CHECK: cf.assert %[[LESS]], "'arith.shli' op shift by as many bits as there are, or more"
// CHECK-NOT: cf.assert
// CHECK: return
func.func @shift(%count: i32, %a: i32) -> i32 {
  %c31 = arith.constant 31 : i32
  %0 = arith.shli %a, %count : i32
  %1 = arith.shrui %0, %c31 : i32
  return %1 : i32
}

// Later passes may find the index to be a constant: one of the tensor's then.
// CHECK-LABEL: func.func @dimension(
// CHECK-SAME: %[[I:[^:]*]]: index
// CHECK: cf.assert %{{.*}}, "'tensor.dim' op index is out of bounds"
// CHECK: %[[IN_RANK:.*]] = arith.minui %[[I]], %c1
// CHECK: tensor.dim %{{.*}}, %[[IN_RANK]]
func.func @dimension(%i: index, %a: tensor<?x?xf32>) -> index {
  %n = tensor.dim %a, %i : tensor<?x?xf32>
  return %n : index
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[STEP:[^:]*]]: index
// CHECK: %[[POSITIVE:.*]] = arith.cmpi sgt, %[[STEP]], %c0
// CHECK: cf.assert %[[POSITIVE]], "'scf.for' op step is not positive"
// CHECK: %[[LIMITED:.*]] = arith.maxsi %[[STEP]], %c1
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %[[LIMITED]]
func.func @step(%step: index, %n: index, %a: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %0 = scf.for %i = %c0 to %n step %step iter_args(%x = %a) -> i32 {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  }
  return %0 : i32
}

// CHECK-LABEL: func.func @unsigned_step(
// CHECK-SAME: %[[STEP:[^:]*]]: i8
// CHECK: %[[POSITIVE:.*]] = arith.cmpi ugt, %[[STEP]], %c0_i8
// CHECK: cf.assert %[[POSITIVE]], "'scf.for' op step is not positive"
// CHECK: %[[LIMITED:.*]] = arith.maxui %[[STEP]], %c1_i8
// CHECK: scf.for unsigned %{{.*}} = %c0_i8 to %{{.*}} step %[[LIMITED]]
func.func @unsigned_step(%step: i8, %n: i8, %a: i32) -> i32 {
  %c0 = arith.constant 0 : i8
  %0 = scf.for unsigned %i = %c0 to %n step %step iter_args(%x = %a) -> i32
      : i8 {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  }
  return %0 : i32
}

// CHECK-LABEL: func.func @parallel_steps(
// CHECK-SAME: %[[STEP:[^:]*]]: index
// CHECK: cf.assert %{{.*}}, "'scf.parallel' op step is not positive"
// CHECK-NOT: cf.assert
// CHECK: %[[LIMITED:.*]] = arith.maxsi %[[STEP]], %c1
// CHECK: scf.parallel {{.*}} step (%[[LIMITED]], %c2)
func.func @parallel_steps(%step: index, %n: index, %a: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %0 = scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%step, %c2)
      init (%a) -> i32 {
    scf.reduce(%a : i32) {
    ^bb0(%x: i32, %y: i32):
      %z = arith.addi %x, %y : i32
      scf.reduce.return %z : i32
    }
  }
  return %0 : i32
}

// The region is the lowering's: what it yields may not count.
// CHECK-LABEL: func.func @attention_region(
// CHECK-NOT: arith.divsi' op
// CHECK: attn.attention
// CHECK-NOT: cf.assert
func.func @attention_region(%q: tensor<1x1x4x8xf32>, %init: tensor<1x1x4x8xf32>)
    -> tensor<1x1x4x8xf32> {
  %out = attn.attention
      ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>,
          tensor<1x1x4x8xf32>)
      outs(%init : tensor<1x1x4x8xf32>)
      mask(%b, %h, %p, %j) {
        %x = arith.divsi %p, %j : index
        %keep = arith.cmpi sle, %x, %p : index
        attn.yield %keep : i1
      }
  return %out : tensor<1x1x4x8xf32>
}

// More queries than lanes would read captures far outside of what is there.
// CHECK-LABEL: func.func @queries(
// CHECK-SAME: %[[COUNT:[^:]*]]: index
// CHECK: %[[FITS:.*]] = arith.cmpi ule, %[[COUNT]], %c32
// CHECK: cf.assert %[[FITS]], "'attn.online_attention' op expected 0 to 32 queries"
func.func @queries(%count: index, %q: tensor<16x32xf32>, %k: tensor<64x16xf32>,
                   %acc: tensor<16x32xf32>, %m: tensor<32xf32>)
    -> tensor<16x32xf32> {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  %0:3 = attn.online_attention
      ins(%q, %k, %k : tensor<16x32xf32>, tensor<64x16xf32>, tensor<64x16xf32>)
      outs(%acc, %m, %m : tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>)
      at(%c0, %c0, %c0, %c0) queries(%count) exact(%no)
      -> tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>
  return %0#0 : tensor<16x32xf32>
}
