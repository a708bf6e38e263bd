// RUN: attn-opt %s --convert-attn-to-linalg --split-input-file | FileCheck %s
// RUN: attn-opt %s --convert-attn-to-linalg --split-input-file \
// RUN: | FileCheck %s --check-prefix=GONE

// No op of the dialect is left but reports, and no buffer of the query length by the
// key/value length: one row of scores at a time.

// GONE-NOT: {{ attn[.]([a-qs-z]|ro)}}
// GONE-NOT: 33x55xf
// GONE-NOT: ?x?xf

//===----------------------------------------------------------------------===//
// The loops
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @attention_a3(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x6x33x8xf32>, %[[K:[^:]*]]: tensor<2x3x55x8xf32>, %[[V:[^:]*]]: tensor<2x3x55x4xf32>, %[[O:[^:]*]]: tensor<2x6x33x4xf32>
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 0.353553385 : f32
// CHECK: %[[R:.*]] = scf.for %[[B:.*]] = %{{.*}} iter_args(%[[O1:.*]] = %[[O]])
// CHECK: scf.for %[[H:.*]] = %{{.*}} iter_args(%[[O2:.*]] = %[[O1]])
// CHECK: %[[G:.*]] = arith.constant 2 : index
// CHECK: %[[KH:.*]] = arith.divui %[[H]], %[[G]] : index
// CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args(%[[O3:.*]] = %[[O2]])
// CHECK: %[[QROW:.*]] = tensor.extract_slice %[[Q]][%[[B]], %[[H]], %[[I]], 0] [1, 1, 1, 8]
// CHECK: %[[KEYS:.*]] = tensor.extract_slice %[[K]][%[[B]], %[[KH]], %{{.*}}, 0]
// CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[V]][%[[B]], %[[KH]], %{{.*}}, 0]
// CHECK: %[[ROW:.*]] = tensor.empty() : tensor<55xf32>
// CHECK: %[[DOTS:.*]] = linalg.matvec ins(%[[KEYS]], %[[QROW]] : tensor<55x8xf32>, tensor<8xf32>) outs(%{{.*}} : tensor<55xf32>)
// CHECK: %[[SCORES:.*]] = scf.for %[[J:[^ ]*]] = {{.*}} -> (tensor<55xf32>)
// CHECK: tensor.extract %[[DOTS]][%[[J]]]
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK: %[[MAX:.*]] = scf.for
// CHECK: arith.maximumf
// CHECK: %[[WEIGHTS:.*]] = linalg.generic {{.*}} ins(%[[SCORES]] : tensor<55xf32>)
// CHECK: math.exp
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[SCORES]], %[[WEIGHTS]], %[[VALUES]] : {{.*}}) outs(%{{.*}} : tensor<4xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %[[O3]][%[[B]], %[[H]], %[[I]], 0] [1, 1, 1, 4]
// CHECK: return %[[R]]
func.func @attention_a3(%q: tensor<2x6x33x8xf32>, %k: tensor<2x3x55x8xf32>,
                        %v: tensor<2x3x55x4xf32>, %o: tensor<2x6x33x4xf32>)
    -> tensor<2x6x33x4xf32> {
  %r = attn.attention
      ins(%q, %k, %v : tensor<2x6x33x8xf32>, tensor<2x3x55x8xf32>,
          tensor<2x3x55x4xf32>)
      outs(%o : tensor<2x6x33x4xf32>)
  return %r : tensor<2x6x33x4xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x2x?x8xf32>, %[[K:[^:]*]]: tensor<?x1x?x8xf32>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[Q]], %c2
// CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %[[ROWS]], %c0 : index
// CHECK: %[[B:.*]] = tensor.dim %[[Q]], %c0
// CHECK: %[[N:.*]] = arith.select %[[EMPTY]], %c0{{.*}}, %[[B]] : index
// CHECK: scf.for {{.*}} to %[[N]] step
// CHECK: %[[SQ:.*]] = tensor.dim %[[Q]], %c2
// CHECK: %[[SKV:.*]] = tensor.dim %[[K]], %c2
// CHECK: scf.for {{.*}} to %[[SQ]] step
// CHECK: tensor.extract_slice %[[K]][%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, 1, %[[SKV]], 8]
// CHECK: linalg.matvec {{.*}} outs(%{{.*}} : tensor<?xf32>)
// CHECK: tensor.empty(%[[SKV]]) : tensor<?xf32>
func.func @dynamic(%q: tensor<?x2x?x8xf32>, %k: tensor<?x1x?x8xf32>,
                   %o: tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<?x2x?x8xf32>, tensor<?x1x?x8xf32>,
          tensor<?x1x?x8xf32>)
      outs(%o : tensor<?x2x?x8xf32>)
  return %r : tensor<?x2x?x8xf32>
}

// -----

// Sums in f32; the value is rounded once, at the end.
// CHECK-LABEL: func.func @attention_a2_bf16(
// CHECK: linalg.matvec ins(%{{.*}}, %{{.*}} : tensor<55x8xbf16>, tensor<8xbf16>) outs(%{{.*}} : tensor<55xf32>)
// CHECK-NOT: truncf
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<55xf32>, tensor<55xf32>, tensor<55x8xbf16>) outs(%{{.*}} : tensor<8xf32>)
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<8xf32>) outs(%{{.*}} : tensor<8xbf16>)
// CHECK: arith.divf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-LABEL: func.func @attention_a2_f64(
// CHECK-NOT: f32
// CHECK: return
func.func @attention_a2_bf16(%x: tensor<1x1x33x8xbf16>, %k: tensor<1x1x55x8xbf16>)
    -> tensor<1x1x33x8xbf16> {
  %r = attn.attention
      ins(%x, %k, %k : tensor<1x1x33x8xbf16>, tensor<1x1x55x8xbf16>,
          tensor<1x1x55x8xbf16>)
      outs(%x : tensor<1x1x33x8xbf16>)
  return %r : tensor<1x1x33x8xbf16>
}
func.func @attention_a2_f64(%x: tensor<1x1x33x8xf64>, %k: tensor<1x1x55x8xf64>)
    -> tensor<1x1x33x8xf64> {
  %r = attn.attention
      ins(%x, %k, %k : tensor<1x1x33x8xf64>, tensor<1x1x55x8xf64>,
          tensor<1x1x55x8xf64>)
      outs(%x : tensor<1x1x33x8xf64>)
  return %r : tensor<1x1x33x8xf64>
}

// -----

// CHECK-LABEL: func.func @attention_a4(
// CHECK-SAME: %{{.*}}: tensor<1x1x33x4xf32>, %[[SCALE:[^:]*]]: f32
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK: %[[THREE:.*]] = arith.constant 3.000000e+00 : f32
// CHECK: arith.mulf %{{.*}}, %[[THREE]] : f32
func.func @attention_a4(%x: tensor<1x1x33x4xf32>, %s: f32)
    -> (tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>) scale(%s : f32)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>) scale(3.0)
  return %a, %b : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>
}

// -----

// Regions see the position, which counts from the offset.
// CHECK-LABEL: func.func @attention_a5(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x1x?x4xf32>, %[[K:[^:]*]]: tensor<2x1x?x4xf32>, %[[N:[^:]*]]: tensor<2xi32>
// CHECK: scf.for %[[B:.*]] = %{{.*}} iter_args
// CHECK: %[[E:.*]] = tensor.extract %[[N]][%[[B]]] : tensor<2xi32>
// CHECK: %[[OFFSET:.*]] = arith.index_cast %[[E]] : i32 to index
// CHECK: scf.for
// CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args
// CHECK: %[[P:.*]] = arith.addi %[[OFFSET]], %[[I]] : index
// CHECK: scf.for %[[J:.*]] = %{{.*}} iter_args
// CHECK: arith.cmpi sle, %[[J]], %[[P]] : index
// CHECK: tensor.insert_slice
// CHECK: scf.for
// CHECK: %[[SQ:.*]] = tensor.dim %[[X]], %c2
// CHECK: %[[SKV:.*]] = tensor.dim %[[K]], %c2
// CHECK: %[[BR:.*]] = arith.subi %[[SKV]], %[[SQ]] : index
// CHECK: arith.addi %[[BR]], %{{.*}} : index
func.func @attention_a5(%x: tensor<2x1x?x4xf32>, %k: tensor<2x1x?x4xf32>,
                        %n: tensor<2xi32>)
    -> (tensor<2x1x?x4xf32>, tensor<2x1x?x4xf32>) {
  %a = attn.attention
      ins(%x, %k, %k : tensor<2x1x?x4xf32>, tensor<2x1x?x4xf32>,
          tensor<2x1x?x4xf32>)
      outs(%x : tensor<2x1x?x4xf32>) offset(%n : tensor<2xi32>) mask causal
  %b = attn.attention
      ins(%x, %k, %k : tensor<2x1x?x4xf32>, tensor<2x1x?x4xf32>,
          tensor<2x1x?x4xf32>)
      outs(%x : tensor<2x1x?x4xf32>) offset(bottom_right) mask causal
  return %a, %b : tensor<2x1x?x4xf32>, tensor<2x1x?x4xf32>
}

// -----

// The sink joins the maximum, and starts the sum.
// CHECK-LABEL: func.func @attention_a6(
// CHECK-SAME: %{{.*}}: tensor<1x2x33x4xf16>, %[[SINK:[^:]*]]: tensor<2xf16>
// CHECK: scf.for %[[H:.*]] = %{{.*}} to %c2
// CHECK: %[[E:.*]] = tensor.extract %[[SINK]][%[[H]]] : tensor<2xf16>
// CHECK: %[[S:.*]] = arith.extf %[[E]] : f16 to f32
// CHECK: %[[LARGEST:.*]] = scf.for {{.*}} -> (f32)
// CHECK: arith.maximumf
// CHECK: arith.maximumf %[[LARGEST]], %[[S]] : f32
// CHECK: %[[D:.*]] = arith.subf %[[S]]
// CHECK: %[[W:.*]] = math.exp %[[D]] : f32
// CHECK: %[[I:.*]] = arith.select %{{.*}}, %{{.*}}, %[[W]] : f32
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[I]]) -> (f32)
// CHECK: arith.addf
func.func @attention_a6(%x: tensor<1x2x33x4xf16>, %s: tensor<2xf16>)
    -> tensor<1x2x33x4xf16> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x33x4xf16>, tensor<1x2x33x4xf16>,
          tensor<1x2x33x4xf16>)
      outs(%x : tensor<1x2x33x4xf16>) sink(%s : tensor<2xf16>)
  return %a : tensor<1x2x33x4xf16>
}

// -----

// Rows outside of every sequence get 0 and -inf; each sequence is a range of
// rows, and its number is what regions see.
// CHECK-LABEL: func.func @attention_a7(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x1x?x4xf32>, %[[L:[^:]*]]: tensor<1x1x?xf32>, %[[CQ:[^:]*]]: tensor<?xi32>, %[[CK:[^:]*]]: tensor<?xi32>, %[[T:[^:]*]]: tensor<?xi32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[O0:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[X]] : tensor<1x1x?x4xf32>)
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[L0:.*]] = linalg.fill ins(%[[INF]] : f32) outs(%[[L]] : tensor<1x1x?xf32>)
// CHECK: %[[COUNT:.*]] = tensor.dim %[[CQ]], %c0
// CHECK: %[[N:.*]] = arith.subi %[[COUNT]], %c1
// CHECK: scf.for %[[B:.*]] = %{{.*}} to %[[N]] step %{{.*}} iter_args(%{{.*}} = %[[O0]], %{{.*}} = %[[L0]])
// CHECK: tensor.extract %[[CQ]][%[[B]]]
// CHECK: %[[QB:.*]] = arith.index_cast
// CHECK: tensor.extract %[[CQ]]
// CHECK: %[[QE:.*]] = arith.index_cast
// CHECK: %[[QL:.*]] = arith.subi %[[QE]], %[[QB]] : index
// CHECK: tensor.extract %[[CK]][%[[B]]]
// CHECK: %[[KB:.*]] = arith.index_cast
// CHECK: tensor.extract %[[CK]]
// CHECK: %[[KE:.*]] = arith.index_cast
// CHECK: %[[KL:.*]] = arith.subi %[[KE]], %[[KB]] : index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[QL]] step
// CHECK: %[[ROW:.*]] = arith.addi %[[QB]], %[[I]] : index
// CHECK: tensor.extract_slice %[[X]][0, %{{.*}}, %[[ROW]], 0] [1, 1, 1, 4]
// CHECK: tensor.extract_slice %[[X]][0, %{{.*}}, %[[KB]], 0] [1, 1, %[[KL]], 4]
// CHECK: tensor.extract %[[T]][%[[B]]]
// CHECK: tensor.insert_slice
// CHECK: %[[LOG:.*]] = math.log
// CHECK: %[[SOME:.*]] = arith.addf %{{.*}}, %[[LOG]] : f32
// CHECK: %[[ANY:.*]] = arith.select %{{.*}}, %{{.*}}, %[[SOME]] : f32
// CHECK: %[[LSE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ANY]] : f32
// CHECK: tensor.insert %[[LSE]] into %{{.*}}[%c0{{.*}}, %{{.*}}, %[[ROW]]]
func.func @attention_a7(%x: tensor<1x1x?x4xf32>, %l: tensor<1x1x?xf32>,
                        %cq: tensor<?xi32>, %ck: tensor<?xi32>,
                        %len: tensor<?xi32>)
    -> (tensor<1x1x?x4xf32>, tensor<1x1x?xf32>) {
  %a:2 = attn.attention
      ins(%x, %x, %x : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>,
          tensor<1x1x?x4xf32>)
      outs(%x, %l : tensor<1x1x?x4xf32>, tensor<1x1x?xf32>)
      sequences(%cq, %ck : tensor<?xi32>, tensor<?xi32>)
      mask key_padding(%len : tensor<?xi32>)
  return %a#0, %a#1 : tensor<1x1x?x4xf32>, tensor<1x1x?xf32>
}

// -----

// Ten rounds of two products; the threshold 0.75 * 2^32; what is kept times 4.
// The log-sum-exp is that of the weights before.
// CHECK-LABEL: func.func @attention_a8(
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32
// CHECK: %[[WEIGHTS:.*]] = linalg.generic
// CHECK: math.exp
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} ins(%[[WEIGHTS]] : tensor<33xf32>)
// CHECK: arith.trunci %[[SEED]] : i64 to i32
// CHECK-COUNT-20: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: %[[THRESHOLD:.*]] = arith.constant 3221225472 : i64
// CHECK: %[[KEEP:.*]] = arith.cmpi uge, %{{.*}}, %[[THRESHOLD]] : i64
// CHECK: %[[FOUR:.*]] = arith.constant 4.000000e+00 : f32
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[FOUR]] : f32
// CHECK: arith.select %[[KEEP]], %[[SCALED]], %{{.*}} : f32
// CHECK: math.log %[[SUM]]
func.func @attention_a8(%x: tensor<1x1x33x4xf32>, %l: tensor<1x1x33xf32>,
                        %seed: i64, %call: i32)
    -> (tensor<1x1x33x4xf32>, tensor<1x1x33xf32>) {
  %a:2 = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x, %l : tensor<1x1x33x4xf32>, tensor<1x1x33xf32>)
      dropout(0.75, %seed, %call)
  return %a#0, %a#1 : tensor<1x1x33x4xf32>, tensor<1x1x33xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

// The mask decides whether a score is computed at all; a score gets the true
// scaled product.
// CHECK-LABEL: func.func @attention_a10(
// CHECK: %[[DOTS:.*]] = linalg.matvec
// CHECK: scf.for %[[J:.*]] = %{{.*}} iter_args(%[[ROW:.*]] = %{{.*}}) -> (tensor<33xf32>)
// CHECK: %[[DOT:.*]] = tensor.extract %[[DOTS]][%[[J]]]
// CHECK: %[[KEEP:.*]] = arith.cmpi sle, %[[J]], %{{.*}} : index
// CHECK: %[[S:.*]] = scf.if %[[KEEP]] -> (f32) {
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[DOT]], %{{.*}} : f32
// CHECK: arith.divf %[[SCALED]], %{{.*}} : f32
// CHECK: math.tanh
// CHECK: } else {
// CHECK-NEXT: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: scf.yield %[[INF]] : f32
// CHECK: tensor.insert %[[S]] into %[[ROW]][%[[J]]]
func.func @attention_a10(%x: tensor<1x1x33x4xf32>) -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>) score softcap(30.0) mask causal
  return %a : tensor<1x1x33x4xf32>
}

// -----

// CHECK-LABEL: func.func @mask_only(
// CHECK: arith.cmpi sle
// CHECK: scf.if
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf
// CHECK-NEXT: scf.yield %[[SCALED]] : f32
// CHECK-LABEL: func.func @score_only(
// CHECK-NOT: scf.if
// CHECK: math.tanh
func.func @mask_only(%x: tensor<1x1x33x4xf32>) -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>) mask causal
  return %a : tensor<1x1x33x4xf32>
}
func.func @score_only(%x: tensor<1x1x33x4xf32>) -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>) score softcap(30.0)
  return %a : tensor<1x1x33x4xf32>
}

// -----

// A load outside the tensor touches no memory, and is an error where its value
// counts.
// CHECK-LABEL: func.func @attention_a12_load(
// CHECK-SAME: %[[T:[^:]*]]: tensor<?xf32>
// CHECK: %[[SIZE:.*]] = tensor.dim %[[T]], %c0
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[J:.*]], %[[SIZE]] : index
// CHECK: %[[OUTSIDE:.*]] = arith.xori %[[INSIDE]], %true
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[J]] : index to i64
// CHECK: %[[SECOND:.*]] = arith.index_cast %[[SIZE]] : index to i64
// CHECK: scf.if %[[INSIDE]] -> (f32) {
// CHECK-NEXT: tensor.extract %[[T]][%[[J]]]
// CHECK: } else {
// CHECK: attn.report %[[OUTSIDE]], "'attn.attention' op 'score' region" with(%[[FIRST]], %[[SECOND]]) as %{{.*}} of ["index {0} in dimension 0 of a tensor, of size {1} (line {{.*}})"]
func.func @attention_a12_load(%x: tensor<1x1x33x4xf32>, %t: tensor<?xf32>)
    -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>)
      score(%s, %b, %h, %p, %j) captures(%c = %t : tensor<?xf32>) {
        %e = tensor.extract %c[%j] : tensor<?xf32>
        attn.yield %e : f32
      }
  return %a : tensor<1x1x33x4xf32>
}

// -----

// The message names the function's arguments that are read.
// CHECK-LABEL: func.func @attention_a12_names(
// CHECK: attn.report %{{.*}}, "'attn.attention' op 'mask' region" {{.*}}["index {0} in dimension 0 of 'lengths', of size {1}
// CHECK: attn.report %{{.*}}, "'attn.attention' op 'score' region" {{.*}}["index {0} in dimension 0 of 'terms', of size {1} {{.*}}", "index {0} in dimension 1 of 'terms', {{.*}}", "index {0} in dimension 0 of 'more', of size {1}
func.func @attention_a12_names(%x: tensor<1x1x3x4xf32>,
                               %lengths: tensor<?xi32> loc("lengths"),
                               %terms: tensor<?x3xf32> loc("terms"),
                               %more: tensor<?xf32> loc("more"))
    -> tensor<1x1x3x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>,
          tensor<1x1x3x4xf32>)
      outs(%x : tensor<1x1x3x4xf32>)
      score bias(%terms : tensor<?x3xf32>), bias(%more : tensor<?xf32>)
      mask key_padding(%lengths : tensor<?xi32>)
  return %a : tensor<1x1x3x4xf32>
}

// -----

// `false and` a load, and a select, decide whether it counts.
// CHECK-LABEL: func.func @attention_a12_and(
// CHECK: %[[FIRST:.*]] = arith.cmpi sge
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: %[[OUTSIDE:.*]] = arith.xori %[[INSIDE]], %true
// CHECK: %[[E:.*]] = scf.if %[[INSIDE]] -> (i1)
// CHECK: %[[KEEP:.*]] = arith.andi %[[FIRST]], %[[E]] : i1
// CHECK: %[[COUNTS:.*]] = arith.andi %[[FIRST]], %[[OUTSIDE]] : i1
// CHECK: attn.report %[[COUNTS]], {{.*}}'mask' region
// CHECK: scf.if %[[KEEP]]
// CHECK-LABEL: func.func @attention_a12_select(
// CHECK: %[[FIRST:.*]] = arith.cmpi sge
// CHECK: %[[OUTSIDE:.*]] = arith.xori
// CHECK: arith.select %[[FIRST]], %{{.*}}, %{{.*}} : i1
// CHECK: %[[COUNTS:.*]] = arith.andi %[[FIRST]], %[[OUTSIDE]] : i1
// CHECK: attn.report %[[COUNTS]],
func.func @attention_a12_and(%x: tensor<1x1x33x4xf32>, %t: tensor<?xi1>)
    -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>)
      mask(%b, %h, %p, %j) captures(%c = %t : tensor<?xi1>) {
        %first = arith.cmpi sge, %p, %j : index
        %e = tensor.extract %c[%j] : tensor<?xi1>
        %keep = arith.andi %first, %e : i1
        attn.yield %keep : i1
      }
  return %a : tensor<1x1x33x4xf32>
}
func.func @attention_a12_select(%x: tensor<1x1x33x4xf32>, %t: tensor<?xi1>)
    -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>)
      mask(%b, %h, %p, %j) captures(%c = %t : tensor<?xi1>) {
        %first = arith.cmpi sge, %p, %j : index
        %e = tensor.extract %c[%j] : tensor<?xi1>
        %keep = arith.select %first, %e, %first : i1
        attn.yield %keep : i1
      }
  return %a : tensor<1x1x33x4xf32>
}

// -----

// A division that has no result is replaced by 0 / 1. Promises are dropped.
// CHECK-LABEL: func.func @attention_a12_division(
// CHECK: linalg.matvec
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[P:.*]], %{{.*}} : index
// CHECK: %[[A:.*]] = arith.select %[[NONE]], %c0{{.*}}, %[[J:.*]] : index
// CHECK: %[[B:.*]] = arith.select %[[NONE]], %c1{{.*}}, %[[P]] : index
// CHECK: %[[D:.*]] = arith.divui %[[A]], %[[B]] : index
// CHECK: arith.addi %[[D]], %[[J]] : index
// CHECK: %[[X:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: fastmath
// CHECK: attn.report %[[NONE]], {{.*}} of ["'arith.divui' of {0} by {1} (line {{.*}})"]
func.func @attention_a12_division(%x: tensor<1x1x33x4xf32>)
    -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>)
      score(%s, %b, %h, %p, %j) {
        %d = arith.divui %j, %p exact : index
        %e = arith.addi %d, %j overflow<nsw, nuw> : index
        %i = arith.index_cast %e : index to i32
        %f = arith.sitofp %i : i32 to f32
        %y = arith.mulf %f, %s fastmath<fast> : f32
        attn.yield %y : f32
      }
  return %a : tensor<1x1x33x4xf32>
}

// -----

// 0 / -1 in i1, whose 1 is -1; a shift by 0; 0.0 to an integer.
// CHECK-LABEL: func.func @attention_a12_safe_operands(
// CHECK: %[[A:.*]] = arith.select %[[DIV:.*]], %false{{.*}}, %[[X:.*]] : i1
// CHECK: %[[B:.*]] = arith.select %[[DIV]], %true{{.*}}, %[[X]] : i1
// CHECK: arith.divsi %[[A]], %[[B]] : i1
// CHECK: %[[C:.*]] = arith.select %[[SHIFT:.*]], %c0{{.*}}, %[[J:.*]] : index
// CHECK: %[[D:.*]] = arith.select %[[SHIFT]], %c0{{.*}}, %[[J]] : index
// CHECK: arith.shli %[[C]], %[[D]] : index
// CHECK: %[[LOW:.*]] = arith.cmpf oge
// CHECK: %[[HIGH:.*]] = arith.cmpf olt
// CHECK: %[[FITS:.*]] = arith.andi %[[LOW]], %[[HIGH]] : i1
// CHECK: %[[BAD:.*]] = arith.xori %[[FITS]], %true
// CHECK: %[[F:.*]] = arith.select %[[BAD]], %cst{{.*}}, %{{.*}} : f32
// CHECK: arith.fptosi %[[F]] : f32 to i8
func.func @attention_a12_safe_operands(%x: tensor<1x1x33x4xf32>)
    -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>)
      score(%s, %b, %h, %p, %j) {
        %odd = arith.index_cast %j : index to i1
        %d = arith.divsi %odd, %odd : i1
        %t = arith.shli %j, %j : index
        %i = arith.fptosi %s : f32 to i8
        %v = arith.sitofp %i : i8 to f32
        %u = arith.uitofp %d : i1 to f32
        %w = arith.index_cast %t : index to i32
        %z = arith.sitofp %w : i32 to f32
        %y = arith.addf %u, %v : f32
        %r = arith.addf %y, %z : f32
        attn.yield %r : f32
      }
  return %a : tensor<1x1x33x4xf32>
}

// -----

// Poison, which folders leave, is a value that may not count.
// CHECK-LABEL: func.func @attention_a12_poison(
// CHECK-NOT: ub.poison
// CHECK: attn.report %true{{.*}}, {{.*}} of ["ub.poison (line {{.*}})"]
func.func @attention_a12_poison(%x: tensor<1x1x33x4xf32>)
    -> tensor<1x1x33x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x : tensor<1x1x33x4xf32>)
      score(%s, %b, %h, %p, %j) {
        %y = ub.poison : f32
        attn.yield %y : f32
      }
  return %a : tensor<1x1x33x4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Corners
//===----------------------------------------------------------------------===//

// A score of -inf adds nothing, whatever the value row holds. A row of such
// scores has output 0, and the log-sum-exp -inf, or that of the sink.
// CHECK-LABEL: func.func @attention_a13_a14(
// CHECK-SAME: %[[SINK:[^:]*]]: tensor<1xf32>
// CHECK: %[[ALONE:.*]] = tensor.extract %[[SINK]]
// CHECK: %[[LARGEST:.*]] = scf.for {{.*}} -> (f32)
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[LARGEST]], %{{.*}} : f32
// CHECK: %[[SUM:.*]] = scf.for {{.*}} -> (f32)
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]}
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[W:.*]]: f32, %[[V:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[W]], %[[V]] : f32
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[PRODUCT]] : f32
// CHECK-NEXT: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: %[[MASKED:.*]] = arith.cmpf oeq, %[[S]], %[[INF]] : f32
// CHECK-NEXT: %[[CHOSEN:.*]] = arith.select %[[MASKED]], %[[ACC]], %[[NEXT]] : f32
// CHECK-NEXT: linalg.yield %[[CHOSEN]] : f32
// CHECK: %[[QUOTIENT:.*]] = arith.divf %{{.*}}, %[[SUM]] : f32
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: arith.select %[[EMPTY]], %[[ZERO]], %[[QUOTIENT]] : f32
// CHECK: %[[LOG:.*]] = math.log %[[SUM]] : f32
// CHECK: %[[FINITE:.*]] = arith.addf %{{.*}}, %[[LOG]] : f32
// CHECK: %[[LSE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[FINITE]] : f32
// CHECK: arith.select %[[EMPTY]], %[[ALONE]], %[[LSE]] : f32
func.func @attention_a13_a14(%x: tensor<1x1x33x4xf32>, %l: tensor<1x1x33xf32>,
                             %sink: tensor<1xf32>)
    -> (tensor<1x1x33x4xf32>, tensor<1x1x33xf32>) {
  %a:2 = attn.attention
      ins(%x, %x, %x : tensor<1x1x33x4xf32>, tensor<1x1x33x4xf32>,
          tensor<1x1x33x4xf32>)
      outs(%x, %l : tensor<1x1x33x4xf32>, tensor<1x1x33xf32>)
      sink(%sink : tensor<1xf32>) mask causal
  return %a#0, %a#1 : tensor<1x1x33x4xf32>, tensor<1x1x33xf32>
}
