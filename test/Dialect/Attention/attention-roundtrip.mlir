// RUN: attn-opt %s | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --emit-bytecode | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// Every spelling, and what it is short for.

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x5x8xf32>, %[[K:.*]]: tensor<2x2x7x8xf32>, %[[V:.*]]: tensor<2x2x7x6xf32>, %[[O:.*]]: tensor<2x4x5x6xf32>
// CHECK: %{{.*}} = attn.attention ins(%[[Q]], %[[K]], %[[V]] : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>) outs(%[[O]] : tensor<2x4x5x6xf32>){{$}}
// GENERIC-LABEL: sym_name = "plain"
// GENERIC: "attn.attention"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({
// GENERIC-NEXT: }, {
// GENERIC-NEXT: }) : (tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>, tensor<2x4x5x6xf32>) -> tensor<2x4x5x6xf32>
func.func @plain(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>,
                 %v: tensor<2x2x7x6xf32>, %o: tensor<2x4x5x6xf32>)
    -> tensor<2x4x5x6xf32> {
  %r = attn.attention
      ins(%q, %k, %v : tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>,
          tensor<2x2x7x6xf32>)
      outs(%o : tensor<2x4x5x6xf32>)
  return %r : tensor<2x4x5x6xf32>
}

// B, Sq and Skv may be dynamic; a second `outs` takes the log-sum-exp, of the
// accumulation type.
// CHECK-LABEL: func.func @attention_a1_a2(
// CHECK: %[[R:.*]]:2 = attn.attention
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<?x4x?x6xbf16>, tensor<?x4x?xf32>)
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @attention_a1_a2(
    %q: tensor<?x4x?x8xbf16>, %k: tensor<?x4x?x8xbf16>,
    %v: tensor<?x4x?x6xbf16>, %o: tensor<?x4x?x6xbf16>, %l: tensor<?x4x?xf32>)
    -> (tensor<?x4x?x6xbf16>, tensor<?x4x?xf32>) {
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<?x4x?x8xbf16>, tensor<?x4x?x8xbf16>,
          tensor<?x4x?x6xbf16>)
      outs(%o, %l : tensor<?x4x?x6xbf16>, tensor<?x4x?xf32>)
  return %r#0, %r#1 : tensor<?x4x?x6xbf16>, tensor<?x4x?xf32>
}

// f16 accumulates in f32, f64 in f64.
// CHECK-LABEL: func.func @attention_a2(
// CHECK: outs(%{{.*}}, %{{.*}} : tensor<1x1x2x4xf16>, tensor<1x1x2xf32>)
// CHECK: score(%{{.*}}
// CHECK-NEXT: arith.negf %{{.*}} : f32
// CHECK: outs(%{{.*}}, %{{.*}} : tensor<1x1x2x4xf64>, tensor<1x1x2xf64>)
// CHECK: score(%{{.*}}
// CHECK-NEXT: arith.negf %{{.*}} : f64
func.func @attention_a2(%h: tensor<1x1x2x4xf16>, %d: tensor<1x1x2x4xf64>,
                        %lh: tensor<1x1x2xf32>, %ld: tensor<1x1x2xf64>) {
  %a:2 = attn.attention
      ins(%h, %h, %h : tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>,
          tensor<1x1x2x4xf16>)
      outs(%h, %lh : tensor<1x1x2x4xf16>, tensor<1x1x2xf32>)
      score(%s, %b, %h_, %p, %j) {
        %n = arith.negf %s : f32
        attn.yield %n : f32
      }
  %c:2 = attn.attention
      ins(%d, %d, %d : tensor<1x1x2x4xf64>, tensor<1x1x2x4xf64>,
          tensor<1x1x2x4xf64>)
      outs(%d, %ld : tensor<1x1x2x4xf64>, tensor<1x1x2xf64>)
      score(%s, %b, %h_, %p, %j) {
        %n = arith.negf %s : f64
        attn.yield %n : f64
      }
  return
}

// Lengths of 0 are sizes like others.
// CHECK-LABEL: func.func @attention_a1_empty(
// CHECK: ins(%{{.*}} : tensor<0x2x0x8xf32>, tensor<0x1x0x8xf32>, tensor<0x1x0x8xf32>)
func.func @attention_a1_empty(%q: tensor<0x2x0x8xf32>, %k: tensor<0x1x0x8xf32>) {
  %r = attn.attention
      ins(%q, %k, %k : tensor<0x2x0x8xf32>, tensor<0x1x0x8xf32>,
          tensor<0x1x0x8xf32>)
      outs(%q : tensor<0x2x0x8xf32>)
  return
}

// CHECK-LABEL: func.func @attention_a4(
// CHECK: attn.attention {{.*}} scale(1.250000e-01){{$}}
// CHECK: attn.attention {{.*}} scale(0.35355339059327379){{$}}
// CHECK: attn.attention {{.*}} scale(-2.000000e+00){{$}}
// CHECK: attn.attention {{.*}} scale(%{{.*}} : f32){{$}}
func.func @attention_a4(%x: tensor<1x1x2x4xf32>, %s: f32) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) scale(0.125)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) scale(0.35355339059327379)
  %c = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) scale(-2.0)
  %d = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) scale(%s : f32)
  return
}

// CHECK-LABEL: func.func @attention_a5(
// CHECK: offset(bottom_right){{$}}
// CHECK: offset(%{{.*}} : index){{$}}
// CHECK: offset(%{{.*}} : i32){{$}}
// CHECK: offset(%{{.*}} : i64){{$}}
// CHECK: offset(%{{.*}} : tensor<?xindex>){{$}}
// CHECK: offset(%{{.*}} : tensor<1xi32>){{$}}
func.func @attention_a5(%x: tensor<1x1x2x4xf32>, %n: index, %i: i32, %l: i64,
                        %ns: tensor<?xindex>, %is: tensor<1xi32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) offset(bottom_right)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) offset(%n : index)
  %c = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) offset(%i : i32)
  %d = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) offset(%l : i64)
  %e = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) offset(%ns : tensor<?xindex>)
  %f = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) offset(%is : tensor<1xi32>)
  return
}

// CHECK-LABEL: func.func @attention_a6(
// CHECK: sink(%{{.*}} : tensor<2xbf16>){{$}}
func.func @attention_a6(%x: tensor<1x2x2x4xf16>, %s: tensor<2xbf16>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf16>, tensor<1x2x2x4xf16>,
          tensor<1x2x2x4xf16>)
      outs(%x : tensor<1x2x2x4xf16>) sink(%s : tensor<2xbf16>)
  return
}

// CHECK-LABEL: func.func @attention_a7(
// CHECK: offset(%{{.*}} : tensor<3xi64>) sequences(%{{.*}}, %{{.*}} : tensor<4xi32>, tensor<4xi32>){{$}}
// CHECK: offset(bottom_right) sequences(%{{.*}}, %{{.*}} : tensor<?xi32>, tensor<4xi32>){{$}}
// CHECK: offset(%{{.*}} : tensor<3xi64>) sequences(%{{.*}} : tensor<4xi32>){{$}}
// CHECK: offset(%{{.*}} : tensor<3xi64>) counts(%{{.*}} : tensor<3xi64>){{$}}
func.func @attention_a7(%x: tensor<1x1x?x4xf32>, %cu: tensor<4xi32>,
                        %any: tensor<?xi32>, %n: tensor<3xi64>,
                        %k: tensor<3x1x?x4xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>,
          tensor<1x1x?x4xf32>)
      outs(%x : tensor<1x1x?x4xf32>) offset(%n : tensor<3xi64>)
      sequences(%cu, %cu : tensor<4xi32>, tensor<4xi32>)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>,
          tensor<1x1x?x4xf32>)
      outs(%x : tensor<1x1x?x4xf32>) offset(bottom_right)
      sequences(%any, %cu : tensor<?xi32>, tensor<4xi32>)
  %c = attn.attention
      ins(%x, %k, %k : tensor<1x1x?x4xf32>, tensor<3x1x?x4xf32>,
          tensor<3x1x?x4xf32>)
      outs(%x : tensor<1x1x?x4xf32>) sequences(%cu : tensor<4xi32>)
      offset(%n : tensor<3xi64>)
  %d = attn.attention
      ins(%k, %k, %k : tensor<3x1x?x4xf32>, tensor<3x1x?x4xf32>,
          tensor<3x1x?x4xf32>)
      outs(%k : tensor<3x1x?x4xf32>) offset(%n : tensor<3xi64>)
      counts(%n : tensor<3xi64>)
  return
}

// CHECK-LABEL: func.func @attention_a8(
// CHECK-SAME: %[[SEED:[^:]*]]: i64, %[[CALL:[^:]*]]: i32, %[[LINE:[^:]*]]: index, %[[KEYS:[^:]*]]: tensor<1xindex>
// CHECK: dropout(1.000000e-01, %[[SEED]], %[[CALL]]){{$}}
// CHECK: dropout(1.000000e-01, %[[SEED]], %[[CALL]], %[[LINE]]){{$}}
// CHECK: dropout(1.000000e-01, %[[SEED]], %[[CALL]], key = %[[LINE]] : index){{$}}
// CHECK: dropout(1.000000e-01, %[[SEED]], %[[CALL]], heads = 6){{$}}
// CHECK: dropout(1.000000e-01, %[[SEED]], %[[CALL]], %[[LINE]], key = %[[KEYS]] : tensor<1xindex>, heads = 6){{$}}
func.func @attention_a8(%x: tensor<1x2x2x4xf16>, %seed: i64, %call: i32,
                        %line: index, %keys: tensor<1xindex>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf16>, tensor<1x2x2x4xf16>,
          tensor<1x2x2x4xf16>)
      outs(%x : tensor<1x2x2x4xf16>) dropout(0.1, %seed, %call)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf16>, tensor<1x2x2x4xf16>,
          tensor<1x2x2x4xf16>)
      outs(%x : tensor<1x2x2x4xf16>) dropout(0.1, %seed, %call, %line)
  %c = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf16>, tensor<1x2x2x4xf16>,
          tensor<1x2x2x4xf16>)
      outs(%x : tensor<1x2x2x4xf16>) dropout(0.1, %seed, %call, key = %line : index)
  %d = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf16>, tensor<1x2x2x4xf16>,
          tensor<1x2x2x4xf16>)
      outs(%x : tensor<1x2x2x4xf16>) dropout(0.1, %seed, %call, heads = 6)
  %e = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf16>, tensor<1x2x2x4xf16>,
          tensor<1x2x2x4xf16>)
      outs(%x : tensor<1x2x2x4xf16>)
      dropout(0.1, %seed, %call, %line, key = %keys : tensor<1xindex>, heads = 6)
  return
}

// The clauses in their order, then attributes of any other dialect.
// CHECK-LABEL: func.func @all_clauses(
// CHECK: attn.attention ins({{.*}}) outs({{.*}}) scale(5.000000e-01) offset(%{{.*}} : index) sink(%{{.*}} : tensor<1xf32>) sequences({{.*}}) dropout({{.*}}) score(
// CHECK: } mask(
// CHECK: } {other.note = "kept"}
func.func @all_clauses(%x: tensor<1x1x2x4xf32>, %n: index, %s: tensor<1xf32>,
                       %cu: tensor<2xi32>, %seed: i64, %call: i32) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>)
      scale(0.5) offset(%n : index) sink(%s : tensor<1xf32>)
      sequences(%cu, %cu : tensor<2xi32>, tensor<2xi32>)
      dropout(0.25, %seed, %call)
      score softcap(2.0) mask causal {other.note = "kept"}
  return
}

//===----------------------------------------------------------------------===//
// Named scores
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @softcap(
// CHECK: score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[C:.*]] = arith.constant 3.000000e+01 : f32
// CHECK-NEXT: %[[D:.*]] = arith.divf %[[S]], %[[C]] : f32
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[D]] : f32
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[C]], %[[T]] : f32
// CHECK-NEXT: attn.yield %[[M]] : f32
// CHECK: score({{.*}}) captures(%[[A:.*]] = %{{.*}} : bf16) {
// CHECK-NEXT: arith.extf %[[A]] : bf16 to f32
// CHECK: math.tanh %{{.*}} {attn.cap} : f32
func.func @softcap(%x: tensor<1x1x2x4xf16>, %cap: bf16) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>,
          tensor<1x1x2x4xf16>)
      outs(%x : tensor<1x1x2x4xf16>) score softcap(30.0)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>,
          tensor<1x1x2x4xf16>)
      outs(%x : tensor<1x1x2x4xf16>) score softcap(%cap : bf16)
  return
}

// CHECK-LABEL: func.func @alibi(
// CHECK: score(%[[S:.*]], %{{.*}}, %[[H:.*]], %[[P:.*]], %[[J:.*]]) captures(%[[A:.*]] = %{{.*}} : tensor<2xf32>) {
// CHECK-NEXT: %[[SLOPE:.*]] = tensor.extract %[[A]][%[[H]]] : tensor<2xf32>
// CHECK-NEXT: %[[D:.*]] = arith.subi %[[P]], %[[J]] : index
// CHECK-NEXT: %[[ABS:.*]] = math.absi %[[D]] : index
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[ABS]] : index to i64
// CHECK-NEXT: %[[F:.*]] = arith.sitofp %[[I]] : i64 to f32
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[SLOPE]], %[[F]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.subf %[[S]], %[[M]] : f32
// CHECK-NEXT: attn.yield %[[R]] : f32
func.func @alibi(%x: tensor<1x2x2x4xf32>, %slopes: tensor<2xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>,
          tensor<1x2x2x4xf32>)
      outs(%x : tensor<1x2x2x4xf32>) score alibi(%slopes : tensor<2xf32>)
  return
}

// Static dimensions of 1 and missing leading ones are not indexed.
// CHECK-LABEL: func.func @bias(
// CHECK: score(%[[S:.*]], %[[B:.*]], %[[H:.*]], %[[P:.*]], %[[J:.*]]) captures(%[[A:.*]] = %{{.*}} : tensor<1x2x?x?xf16>) {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[A]][%[[C0]], %[[H]], %[[P]], %[[J]]]
// CHECK-NEXT: %[[X:.*]] = arith.extf %[[E]] : f16 to f32
// CHECK-NEXT: %[[R:.*]] = arith.addf %[[S]], %[[X]] : f32
// CHECK-NEXT: attn.yield %[[R]] : f32
// CHECK: score(%{{.*}}, %{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) captures(%[[A:.*]] = %{{.*}} : tensor<?x3xf64>) {
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[A]][%[[P]], %[[J]]]
// CHECK-NEXT: arith.truncf %[[E]] : f64 to f32
// CHECK: captures(%[[A:.*]] = %{{.*}} : tensor<f32>) {
// CHECK-NEXT: tensor.extract %[[A]][] : tensor<f32>
func.func @bias(%x: tensor<1x2x3x4xf32>, %t4: tensor<1x2x?x?xf16>,
                %t2: tensor<?x3xf64>, %t0: tensor<f32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) score bias(%t4 : tensor<1x2x?x?xf16>)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) score bias(%t2 : tensor<?x3xf64>)
  %c = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) score bias(%t0 : tensor<f32>)
  return
}

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @causal(
// CHECK: mask(%{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) {
// CHECK-NEXT: %[[R:.*]] = arith.cmpi sle, %[[J]], %[[P]] : index
// CHECK-NEXT: attn.yield %[[R]] : i1
func.func @causal(%x: tensor<1x1x2x4xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) mask causal
  return
}

// -1 is no bound on that side.
// CHECK-LABEL: func.func @sliding_window(
// CHECK: mask(%{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) {
// CHECK-NEXT: %[[L:.*]] = arith.constant 255 : index
// CHECK-NEXT: %[[FIRST:.*]] = arith.subi %[[P]], %[[L]] : index
// CHECK-NEXT: %[[AFTER:.*]] = arith.cmpi sle, %[[FIRST]], %[[J]] : index
// CHECK-NEXT: %[[R:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[P]], %[[R]] : index
// CHECK-NEXT: %[[BEFORE:.*]] = arith.cmpi sle, %[[J]], %[[LAST]] : index
// CHECK-NEXT: %[[KEEP:.*]] = arith.andi %[[AFTER]], %[[BEFORE]] : i1
// CHECK-NEXT: attn.yield %[[KEEP]] : i1
// CHECK: mask(%{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) {
// CHECK-NEXT: %[[L:.*]] = arith.constant 3 : index
// CHECK-NEXT: %[[FIRST:.*]] = arith.subi %[[P]], %[[L]] : index
// CHECK-NEXT: %[[AFTER:.*]] = arith.cmpi sle, %[[FIRST]], %[[J]] : index
// CHECK-NEXT: attn.yield %[[AFTER]] : i1
// CHECK: mask(%{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) {
// CHECK-NEXT: %[[R:.*]] = arith.constant 3 : index
// CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[P]], %[[R]] : index
// CHECK-NEXT: %[[BEFORE:.*]] = arith.cmpi sle, %[[J]], %[[LAST]] : index
// CHECK-NEXT: attn.yield %[[BEFORE]] : i1
// CHECK: mask(
// CHECK-NEXT: %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT: attn.yield %[[TRUE]] : i1
func.func @sliding_window(%x: tensor<1x1x2x4xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) mask sliding_window(255, 0)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) mask sliding_window(3, -1)
  %c = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) mask sliding_window(-1, 3)
  %d = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
          tensor<1x1x2x4xf32>)
      outs(%x : tensor<1x1x2x4xf32>) mask sliding_window(-1, -1)
  return
}

// CHECK-LABEL: func.func @prefix_lm(
// CHECK: mask(%[[B:.*]], %{{.*}}, %[[P:.*]], %[[J:.*]]) captures(%[[A:.*]] = %{{.*}} : tensor<2xi32>) {
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[A]][%[[B]]] : tensor<2xi32>
// CHECK-NEXT: %[[N:.*]] = arith.index_cast %[[E]] : i32 to index
// CHECK-NEXT: %[[PREFIX:.*]] = arith.cmpi slt, %[[J]], %[[N]] : index
// CHECK-NEXT: %[[CAUSAL:.*]] = arith.cmpi sle, %[[J]], %[[P]] : index
// CHECK-NEXT: %[[R:.*]] = arith.ori %[[PREFIX]], %[[CAUSAL]] : i1
// CHECK-NEXT: attn.yield %[[R]] : i1
func.func @prefix_lm(%x: tensor<2x1x2x4xf32>, %n: tensor<2xi32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<2x1x2x4xf32>, tensor<2x1x2x4xf32>,
          tensor<2x1x2x4xf32>)
      outs(%x : tensor<2x1x2x4xf32>) mask prefix_lm(%n : tensor<2xi32>)
  return
}

// CHECK-LABEL: func.func @key_padding(
// CHECK: mask(%[[B:.*]], %{{.*}}, %{{.*}}, %[[J:.*]]) captures(%[[A:.*]] = %{{.*}} : tensor<2xindex>) {
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[A]][%[[B]]] : tensor<2xindex>
// CHECK-NEXT: %[[R:.*]] = arith.cmpi slt, %[[J]], %[[E]] : index
// CHECK-NEXT: attn.yield %[[R]] : i1
// CHECK: mask(%[[B:.*]], %{{.*}}, %{{.*}}, %[[J:.*]]) captures(%[[A:.*]] = %{{.*}} : tensor<2x2xi1>) {
// CHECK-NEXT: %[[R:.*]] = tensor.extract %[[A]][%[[B]], %[[J]]] : tensor<2x2xi1>
// CHECK-NEXT: attn.yield %[[R]] : i1
func.func @key_padding(%x: tensor<2x1x2x4xf32>, %n: tensor<2xindex>,
                       %m: tensor<2x2xi1>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<2x1x2x4xf32>, tensor<2x1x2x4xf32>,
          tensor<2x1x2x4xf32>)
      outs(%x : tensor<2x1x2x4xf32>) mask key_padding(%n : tensor<2xindex>)
  %b = attn.attention
      ins(%x, %x, %x : tensor<2x1x2x4xf32>, tensor<2x1x2x4xf32>,
          tensor<2x1x2x4xf32>)
      outs(%x : tensor<2x1x2x4xf32>) mask key_padding(%m : tensor<2x2xi1>)
  return
}

// CHECK-LABEL: func.func @document(
// CHECK: mask(%[[B:.*]], %{{.*}}, %[[P:.*]], %[[J:.*]]) captures(%[[DQ:.*]] = %{{.*}} : tensor<?x?xi64>, %[[DK:.*]] = %{{.*}} : tensor<2x?xi64>) {
// CHECK-NEXT: %[[EQ:.*]] = tensor.extract %[[DQ]][%[[B]], %[[P]]]
// CHECK-NEXT: %[[EK:.*]] = tensor.extract %[[DK]][%[[B]], %[[J]]]
// CHECK-NEXT: %[[R:.*]] = arith.cmpi eq, %[[EQ]], %[[EK]] : i64
// CHECK-NEXT: attn.yield %[[R]] : i1
func.func @document(%x: tensor<2x1x2x4xf32>, %dq: tensor<?x?xi64>,
                    %dk: tensor<2x?xi64>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<2x1x2x4xf32>, tensor<2x1x2x4xf32>,
          tensor<2x1x2x4xf32>)
      outs(%x : tensor<2x1x2x4xf32>)
      mask document(%dq, %dk : tensor<?x?xi64>, tensor<2x?xi64>)
  return
}

// CHECK-LABEL: func.func @boolean(
// CHECK: mask(%[[B:.*]], %{{.*}}, %[[P:.*]], %[[J:.*]]) captures(%[[A:.*]] = %{{.*}} : tensor<?x1x?x?xi1>) {
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[R:.*]] = tensor.extract %[[A]][%[[B]], %[[C0]], %[[P]], %[[J]]]
// CHECK-NEXT: attn.yield %[[R]] : i1
func.func @boolean(%x: tensor<2x1x2x4xf32>, %m: tensor<?x1x?x?xi1>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<2x1x2x4xf32>, tensor<2x1x2x4xf32>,
          tensor<2x1x2x4xf32>)
      outs(%x : tensor<2x1x2x4xf32>) mask boolean(%m : tensor<?x1x?x?xi1>)
  return
}

//===----------------------------------------------------------------------===//
// Regions and lists
//===----------------------------------------------------------------------===//

// The score changes first, the mask applies after, whatever they hold. Captures
// are explicit; their names in the region may be those of outer values.
// CHECK-LABEL: func.func @attention_a10_a11(
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<2xf32>, %[[FACTOR:[^:]*]]: f32, %[[FLAG:[^:]*]]: i1
// CHECK: score(%[[S:.*]], %{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}) captures(%[[T:.*]] = %[[TABLE]] : tensor<2xf32>, %[[F:.*]] = %[[FACTOR]] : f32) {
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[T]][%[[H]]] : tensor<2xf32>
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[E]], %[[F]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.addf %[[S]], %[[M]] : f32
// CHECK-NEXT: attn.yield %[[R]] : f32
// CHECK-NEXT: } mask(%[[B:.*]], %{{.*}}, %{{.*}}, %[[J:.*]]) captures(%[[G:.*]] = %[[FLAG]] : i1) {
// CHECK-NEXT: %[[K:.*]] = index.cmp ule(%[[J]], %[[B]])
// CHECK-NEXT: %[[N:.*]] = arith.ori %[[K]], %[[G]] : i1
// CHECK-NEXT: attn.yield %[[N]] : i1
func.func @attention_a10_a11(%x: tensor<1x2x2x4xf32>, %table: tensor<2xf32>,
                             %factor: f32, %flag: i1) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>,
          tensor<1x2x2x4xf32>)
      outs(%x : tensor<1x2x2x4xf32>)
      score(%s, %b, %h, %p, %j)
          captures(%table = %table : tensor<2xf32>, %x = %factor : f32) {
        %e = tensor.extract %table[%h] : tensor<2xf32>
        %m = arith.mulf %e, %x : f32
        %r = arith.addf %s, %m : f32
        attn.yield %r : f32
      }
      mask(%b, %h, %p, %j) captures(%g = %flag : i1) {
        %k = index.cmp ule(%j, %b)
        %n = arith.ori %k, %g : i1
        attn.yield %n : i1
      }
  return
}

// A tensor argument may be less static than its operand.
// CHECK-LABEL: func.func @less_static_capture(
// CHECK: captures(%[[T:.*]] : tensor<?xf32> = %{{.*}} : tensor<2xf32>) {
// CHECK-NEXT: tensor.extract %[[T]][%{{.*}}] : tensor<?xf32>
func.func @less_static_capture(%x: tensor<1x2x2x4xf32>, %table: tensor<2xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>,
          tensor<1x2x2x4xf32>)
      outs(%x : tensor<1x2x2x4xf32>)
      score(%s, %b, %h, %p, %j)
          captures(%t : tensor<?xf32> = %table : tensor<2xf32>) {
        %e = tensor.extract %t[%h] : tensor<?xf32>
        attn.yield %e : f32
      }
  return
}

// Yielding an argument, in a list.
// CHECK-LABEL: func.func @yield_argument(
// CHECK: score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[S]] : f32
// CHECK-NEXT: attn.yield %[[N]] : f32
// CHECK-NEXT: } mask({{.*}}) captures(%[[G:.*]] = %{{.*}} : i1) {
// CHECK-NEXT: attn.yield %[[G]] : i1
func.func @yield_argument(%x: tensor<1x2x2x4xf32>, %flag: i1) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>,
          tensor<1x2x2x4xf32>)
      outs(%x : tensor<1x2x2x4xf32>)
      score (%s, %b, %h, %p, %j) { attn.yield %s : f32 },
            (%s, %b, %h, %p, %j) {
              %n = arith.negf %s : f32
              attn.yield %n : f32
            },
            (%s, %b, %h, %p, %j) { attn.yield %s : f32 }
      mask(%b, %h, %p, %j) captures(%g = %flag : i1) { attn.yield %g : i1 }
  return
}

// Scores apply in the written order, masks are ANDed; names and regions mix.
// CHECK-LABEL: func.func @lists(
// CHECK: score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) captures(%[[TWO:.*]] = %{{.*}} : f32, %[[BIAS:.*]] = %{{.*}} : tensor<2x2xf32>, %[[SLOPES:.*]] = %{{.*}} : tensor<2xf32>) {
// CHECK: %[[E:.*]] = tensor.extract %[[BIAS]]
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[S]], %[[E]] : f32
// CHECK-NEXT: %[[B:.*]] = arith.mulf %[[A]], %[[TWO]] : f32
// CHECK-NEXT: tensor.extract %[[SLOPES]]
// CHECK: %[[C:.*]] = arith.subf %[[B]],
// CHECK: %[[D:.*]] = arith.divf %[[C]],
// CHECK: %[[Y:.*]] = arith.mulf
// CHECK-NEXT: attn.yield %[[Y]] : f32
// CHECK-NEXT: } mask(%{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) captures(%[[N:.*]] = %{{.*}} : tensor<1xi32>) {
// CHECK-NEXT: %[[CAUSAL:.*]] = arith.cmpi sle, %[[J]], %[[P]] : index
// CHECK-NEXT: %[[EVEN:.*]] = arith.cmpi ne, %[[J]], %[[P]] : index
// CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[CAUSAL]], %[[EVEN]] : i1
// CHECK-NEXT: tensor.extract %[[N]]
// CHECK: %[[PADDING:.*]] = arith.cmpi slt
// CHECK-NEXT: %[[ALL:.*]] = arith.andi %[[BOTH]], %[[PADDING]] : i1
// CHECK-NEXT: attn.yield %[[ALL]] : i1
func.func @lists(%x: tensor<1x2x2x4xf32>, %bias: tensor<2x2xf32>, %two: f32,
                 %slopes: tensor<2xf32>, %n: tensor<1xi32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>,
          tensor<1x2x2x4xf32>)
      outs(%x : tensor<1x2x2x4xf32>)
      score bias(%bias : tensor<2x2xf32>),
            (%s, %b, %h, %p, %j) captures(%t = %two : f32) {
              %y = arith.mulf %s, %t : f32
              attn.yield %y : f32
            },
            alibi(%slopes : tensor<2xf32>), softcap(30.0)
      mask causal,
           (%b, %h, %p, %j) {
             %keep = arith.cmpi ne, %j, %p : index
             attn.yield %keep : i1
           },
           key_padding(%n : tensor<1xi32>)
  return
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

// Any strides and memory space; no results.
// CHECK-LABEL: func.func @buffers(
// CHECK: {{^ *}}attn.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x2x?x4xf32, strided<[?, 4, 8, 1], offset: ?>>, memref<1x2x?x4xf32>, memref<1x2x?x4xf32, 1>) outs(%{{.*}}, %{{.*}} : memref<1x2x?x4xf32>, memref<1x2x?xf32>) offset(%{{.*}} : memref<1xi32>) sink(%{{.*}} : memref<2xf32>)
// CHECK-SAME: captures(%[[T:.*]] = %{{.*}} : memref<2x?xf32>)
// CHECK-NEXT: memref.load %[[T]]
// CHECK: mask({{.*}}) captures(%[[M:.*]] = %{{.*}} : memref<1x?xi1>) {
// CHECK-NEXT: memref.load %[[M]]
func.func @buffers(
    %q: memref<1x2x?x4xf32, strided<[?, 4, 8, 1], offset: ?>>,
    %k: memref<1x2x?x4xf32>, %v: memref<1x2x?x4xf32, 1>,
    %o: memref<1x2x?x4xf32>, %l: memref<1x2x?xf32>, %n: memref<1xi32>,
    %sink: memref<2xf32>, %t: memref<2x?xf32>, %m: memref<1x?xi1>) {
  attn.attention
      ins(%q, %k, %v : memref<1x2x?x4xf32, strided<[?, 4, 8, 1], offset: ?>>,
          memref<1x2x?x4xf32>, memref<1x2x?x4xf32, 1>)
      outs(%o, %l : memref<1x2x?x4xf32>, memref<1x2x?xf32>)
      offset(%n : memref<1xi32>) sink(%sink : memref<2xf32>)
      score bias(%t : memref<2x?xf32>)
      mask key_padding(%m : memref<1x?xi1>)
  return
}
