// RUN: attn-opt %s --generate-runtime-verification | FileCheck %s
// RUN: attn-opt %s --attn-add-runtime-checks | FileCheck %s --check-prefix=SHORT

// Sizes that the types leave open are compared before the op runs.

// CHECK-LABEL: func.func @static(
// CHECK-NEXT: attn.attention
func.func @static(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
  return %r : tensor<1x2x3x4xf32>
}

// CHECK-LABEL: func.func @attention_a1_dynamic(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x2x?x4xf32>, %[[K:[^:]*]]: tensor<?x1x?x4xf32>, %[[V:[^:]*]]: tensor<?x1x?x6xf32>, %[[O:[^:]*]]: tensor<?x2x?x6xf32>, %[[L:[^:]*]]: tensor<?x2x?xf32>
// CHECK: %[[KB:.*]] = tensor.dim %[[K]], %c0
// CHECK: %[[QB:.*]] = tensor.dim %[[Q]], %c0
// CHECK: %[[EQ:.*]] = arith.cmpi eq, %[[KB]], %[[QB]] : index
// CHECK: cf.assert %[[EQ]], {{.*}}operand 'key': dimension 0 (batch size) is not that of operand 'query'
// CHECK: cf.assert {{.*}}operand 'value': dimension 0 (batch size) is not that of operand 'query'
// CHECK: cf.assert {{.*}}operand 'value': dimension 2 (key/value length) is not that of operand 'key'
// CHECK: cf.assert {{.*}}operand 'output': dimension 0 (batch size) is not that of operand 'query'
// CHECK: cf.assert {{.*}}operand 'output': dimension 2 (query length) is not that of operand 'query'
// CHECK: cf.assert {{.*}}operand 'log-sum-exp': dimension 0 (batch size) is not that of operand 'query'
// CHECK: cf.assert {{.*}}operand 'log-sum-exp': dimension 2 (query length) is not that of operand 'query'
// CHECK-NOT: cf.assert
// CHECK: attn.attention
// SHORT-LABEL: func.func @attention_a1_dynamic(
// SHORT: cf.assert %{{.*}}, "'attn.attention' op operand 'key': dimension 0 (batch size) is not that of operand 'query'"
func.func @attention_a1_dynamic(
    %q: tensor<?x2x?x4xf32>, %k: tensor<?x1x?x4xf32>, %v: tensor<?x1x?x6xf32>,
    %o: tensor<?x2x?x6xf32>, %l: tensor<?x2x?xf32>)
    -> (tensor<?x2x?x6xf32>, tensor<?x2x?xf32>) {
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>,
          tensor<?x1x?x6xf32>)
      outs(%o, %l : tensor<?x2x?x6xf32>, tensor<?x2x?xf32>)
  return %r#0, %r#1 : tensor<?x2x?x6xf32>, tensor<?x2x?xf32>
}

// One open side is enough.
// CHECK-LABEL: func.func @half_static(
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: %[[EQ:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : index
// CHECK: cf.assert %[[EQ]], {{.*}}operand 'output': dimension 2 (query length) is not that of operand 'query'
// CHECK-NOT: cf.assert
// CHECK: attn.attention
func.func @half_static(%q: tensor<1x2x3x4xf32>, %o: tensor<1x2x?x4xf32>)
    -> tensor<1x2x?x4xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x?x4xf32>)
  return %r : tensor<1x2x?x4xf32>
}

// CHECK-LABEL: func.func @attention_a5_a6(
// CHECK: cf.assert {{.*}}operand 'sink': dimension 0 (number of query heads) is not that of operand 'query'
// CHECK: cf.assert {{.*}}operand 'offset': dimension 0 (batch size) is not that of operand 'query'
// CHECK: attn.attention
func.func @attention_a5_a6(%x: tensor<1x2x3x4xf32>, %n: tensor<?xi32>,
                           %s: tensor<?xf32>) -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) offset(%n : tensor<?xi32>)
      sink(%s : tensor<?xf32>)
  return %r : tensor<1x2x3x4xf32>
}

// An offset is at most 2^61 in magnitude, as any i32 is.
// CHECK-LABEL: func.func @attention_a5_magnitude(
// CHECK-SAME: %[[N:[^:]*]]: index, %[[I:[^:]*]]: i32, %[[T:[^:]*]]: tensor<1xi64>
// CHECK: scf.for
// CHECK: tensor.extract %[[T]]
// CHECK: cf.assert %{{.*}}, {{.*}}operand 'offset'
// CHECK: %[[BOUND:.*]] = arith.constant 2305843009213693952 : index
// CHECK: %[[D:.*]] = arith.addi %[[N]], %[[BOUND]] : index
// CHECK: %[[TWICE:.*]] = arith.constant 4611686018427387904 : index
// CHECK: %[[FITS:.*]] = arith.cmpi ule, %[[D]], %[[TWICE]] : index
// CHECK: cf.assert %[[FITS]], {{.*}}operand 'offset': expected a number of at most 2^61 in magnitude
// CHECK-NOT: cf.assert
// CHECK: attn.attention {{.*}} offset(%[[N]] : index)
// CHECK: attn.attention {{.*}} offset(%[[I]] : i32)
// CHECK: attn.attention {{.*}} offset(%[[T]] : tensor<1xi64>)
func.func @attention_a5_magnitude(%x: tensor<1x2x3x4xf32>, %n: index, %i: i32,
                                  %t: tensor<1xi64>)
    -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) offset(%n : index)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) offset(%i : i32)
  %c = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) offset(%t : tensor<1xi64>)
  return %a, %b, %c
      : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// Also the numbers: from 0 to the length, never decreasing, each by itself.
// CHECK-LABEL: func.func @attention_a7(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x2x?x4xf32>, %[[CQ:[^:]*]]: tensor<?xi32>, %[[CK:[^:]*]]: tensor<?xi32>
// CHECK: cf.assert {{.*}}operand 'query': dimension 0 (batch size of packed sequences) is not 1
// CHECK: cf.assert {{.*}}operand 'cumulative_key': dimension 0 (number of sequences + 1) is not that of operand 'cumulative_query'
// CHECK: cf.assert {{.*}}operand 'cumulative_query': dimension 0 (number of sequences + 1) is not that of operand 'offset'
// CHECK: %[[ROWS:.*]] = tensor.dim %[[X]], %c2
// CHECK: %[[COUNT:.*]] = tensor.dim %[[CQ]], %c0
// CHECK: %[[SOME:.*]] = arith.cmpi sge, %[[COUNT]], %c1
// CHECK: cf.assert %[[SOME]], {{.*}}operand 'cumulative_query': expected at least 1 element, got 0
// CHECK: scf.for %[[N:.*]] = %c0{{.*}} to %[[COUNT]] step %c1{{.*}} {
// CHECK: %[[E:.*]] = tensor.extract %[[CQ]][%[[N]]]
// CHECK: %[[I:.*]] = arith.index_cast %[[E]] : i32 to index
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[N]], %c0
// CHECK: %[[MOST:.*]] = arith.maxui %[[N]], %c1
// CHECK: %[[LAST:.*]] = arith.subi %[[MOST]], %c1
// CHECK: %[[F:.*]] = tensor.extract %[[CQ]][%[[LAST]]]
// CHECK: %[[G:.*]] = arith.index_cast %[[F]] : i32 to index
// CHECK: %[[BEFORE:.*]] = arith.select %[[IS_FIRST]], %c0{{.*}}, %[[G]]
// CHECK: %[[ORDERED:.*]] = arith.cmpi sge, %[[I]], %[[BEFORE]] : index
// CHECK: %[[INSIDE:.*]] = arith.cmpi sle, %[[I]], %[[ROWS]] : index
// CHECK: %[[BOTH:.*]] = arith.andi %[[ORDERED]], %[[INSIDE]] : i1
// CHECK: cf.assert %[[BOTH]], {{.*}}operand 'cumulative_query'
// CHECK: scf.for
// CHECK: tensor.extract %[[CK]]
// CHECK: cf.assert {{.*}}operand 'cumulative_key': expected numbers that do not decrease, none below 0 or above the key/value length
// CHECK: attn.attention
func.func @attention_a7(%x: tensor<?x2x?x4xf32>, %cq: tensor<?xi32>,
                        %ck: tensor<?xi32>, %n: tensor<?xi32>)
    -> tensor<?x2x?x4xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) offset(%n : tensor<?xi32>)
      sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>)
  return %r : tensor<?x2x?x4xf32>
}

// Packed queries of a batch of keys, whose number is that of sequences.
// CHECK-LABEL: func.func @attention_a7_batch(
// CHECK: cf.assert {{.*}}operand 'cumulative_query': dimension 0 (number of sequences + 1) is not that of operand 'key'
// CHECK: cf.assert {{.*}}operand 'cumulative_query': expected numbers that do not decrease
// CHECK-NOT: cumulative_key
func.func @attention_a7_batch(%x: tensor<?x2x?x4xf32>, %c: tensor<?xi32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) sequences(%c : tensor<?xi32>)
  return
}

// CHECK-LABEL: func.func @attention_a7_counts(
// CHECK-SAME: %{{[^:]*}}: tensor<?x2x?x4xf32>, %[[C:[^:]*]]: tensor<?xi32>
// CHECK: cf.assert {{.*}}operand 'counts': dimension 0 (batch size) is not that of
// CHECK: scf.for
// CHECK: %[[NUMBER:.*]] = tensor.extract %[[C]]
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: arith.cmpi ule, %[[COUNT]]
// CHECK: cf.assert {{.*}}operand 'counts': expected numbers from 0 to the query length
func.func @attention_a7_counts(%x: tensor<?x2x?x4xf32>, %c: tensor<?xi32>) {
  %b = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%x : tensor<?x2x?x4xf32>) counts(%c : tensor<?xi32>)
  return
}

// CHECK-LABEL: func.func @buffers(
// CHECK: memref.dim
// CHECK: cf.assert
// CHECK: scf.for
// CHECK: memref.load
// CHECK: attn.attention
func.func @buffers(%x: memref<?x2x?x4xf32>, %o: memref<?x2x?x4xf32>,
                   %cu: memref<2xi32>) {
  attn.attention
      ins(%x, %x, %x : memref<?x2x?x4xf32>, memref<?x2x?x4xf32>,
          memref<?x2x?x4xf32>)
      outs(%o : memref<?x2x?x4xf32>)
      sequences(%cu, %cu : memref<2xi32>, memref<2xi32>)
  return
}

// A cap is checked in the type of scores, where it is one.
// CHECK-LABEL: func.func @attention_a10(
// CHECK-SAME: %[[CAP:[^:]*]]: f64, %[[OTHER:[^:]*]]: f32
// CHECK: %[[C:.*]] = arith.truncf %[[CAP]] : f64 to f32
// CHECK: %[[POSITIVE:.*]] = arith.cmpf ogt, %[[C]], %{{.*}} : f32
// CHECK: %[[FINITE:.*]] = arith.cmpf olt, %[[C]], %{{.*}} : f32
// CHECK: %[[BOTH:.*]] = arith.andi %[[POSITIVE]], %[[FINITE]] : i1
// CHECK: cf.assert %[[BOTH]], {{.*}}operand 'score_captures': expected a positive, finite number as the cap of scores
// CHECK-NOT: cf.assert
// CHECK: attn.attention
func.func @attention_a10(%x: tensor<1x2x3x4xf32>, %cap: f64, %other: f32)
    -> tensor<1x2x3x4xf32> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score softcap(%cap : f64), softcap(2.0),
        (%s, %b, %h, %p, %j) captures(%o = %other : f32) {
          %0 = arith.divf %s, %o : f32
          %1 = math.tanh %0 : f32
          %2 = arith.mulf %o, %1 : f32
          attn.yield %2 : f32
        }
  return %r : tensor<1x2x3x4xf32>
}
