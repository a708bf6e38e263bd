// RUN: attn-opt %s --split-input-file | attn-opt --split-input-file | FileCheck %s
// RUN: attn-opt %s --split-input-file --mlir-print-op-generic | attn-opt --split-input-file | FileCheck %s

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
!lse = tensor<?x8x?xf32>

// CHECK-LABEL: func.func @grouped
// CHECK: attn.attention_tangent ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) outs(%{{.*}} : tensor<?x8x?x64xf32>) tangents(query = %{{.*}}, value = %{{.*}} : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) mask(%[[B:.*]], %[[H:.*]], %[[P:.*]], %[[J:.*]]) {
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[P]] : index
func.func @grouped(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %dq: !q, %dv: !k) -> !q {
  %do = attn.attention_tangent
      ins(%q, %k, %v, %o, %lse : !q, !k, !k, !q, !lse)
      outs(%o : !q) mask causal tangents(query = %dq, value = %dv : !q, !k)
  return %do : !q
}

// -----

// CHECK-LABEL: func.func @everything
// CHECK: attn.attention_tangent ins(
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<1x4x7x3xbf16>, tensor<1x4x7xf32>)
// CHECK-SAME: scale(%{{.*}} : f32) offset(%{{.*}} : tensor<2xi32>) sink(%{{.*}} : tensor<4xbf16>)
// CHECK-SAME: sequences(%{{.*}}, %{{.*}} : tensor<3xi32>, tensor<3xi32>)
// CHECK-SAME: tangents(query = %{{.*}}, key = %{{.*}}, value = %{{.*}}, sink = %{{.*}}, 0 = %{{.*}}, 2 = %{{.*}} : tensor<1x4x7x8xbf16>, tensor<1x2x9x8xbf16>, tensor<1x2x9x3xbf16>, tensor<4xbf16>, tensor<4xf16>, f32)
// CHECK-SAME: dropout(5.000000e-01, %{{.*}}, %{{.*}}, %{{.*}}, key = %{{.*}} : tensor<2xindex>, heads = 8) score(
func.func @everything(%q: tensor<1x4x7x8xbf16>, %k: tensor<1x2x9x8xbf16>,
                      %v: tensor<1x2x9x3xbf16>, %o: tensor<1x4x7x3xbf16>,
                      %lse: tensor<1x4x7xf32>, %scale: f32, %offset: tensor<2xi32>,
                      %sink: tensor<4xbf16>, %cq: tensor<3xi32>, %ck: tensor<3xi32>,
                      %seed: i64, %call: i32, %line: index, %keys: tensor<2xindex>,
                      %t: tensor<4xf16>, %i: i32, %f: f32)
    -> tensor<1x4x7x3xbf16> {
  %0:2 = attn.attention_tangent
      ins(%q, %k, %v, %o, %lse : tensor<1x4x7x8xbf16>, tensor<1x2x9x8xbf16>,
          tensor<1x2x9x3xbf16>, tensor<1x4x7x3xbf16>, tensor<1x4x7xf32>)
      outs(%o, %lse : tensor<1x4x7x3xbf16>, tensor<1x4x7xf32>)
      tangents(query = %q, key = %k, value = %v, sink = %sink, 0 = %t, 2 = %f
               : tensor<1x4x7x8xbf16>, tensor<1x2x9x8xbf16>, tensor<1x2x9x3xbf16>,
                 tensor<4xbf16>, tensor<4xf16>, f32)
      scale(%scale : f32) offset(%offset : tensor<2xi32>)
      sink(%sink : tensor<4xbf16>)
      sequences(%cq, %ck : tensor<3xi32>, tensor<3xi32>)
      dropout(0.5, %seed, %call, %line, key = %keys : tensor<2xindex>, heads = 8)
      score(%s, %b, %h, %p, %j) captures(%x = %t : tensor<4xf16>, %n = %i : i32, %y = %f : f32) {
        %e = tensor.extract %x[%h] : tensor<4xf16>
        %w = arith.extf %e : f16 to f32
        %a = arith.mulf %s, %w : f32
        %c = arith.addf %a, %y : f32
        attn.yield %c : f32
      }
  return %0#0 : tensor<1x4x7x3xbf16>
}
