// The first position of one tile is a constant that is not 0, and multiplied: by a
// number, and by itself.

// RUN: attn-run %s --entry twice --random 1 --check | FileCheck %s
// RUN: attn-run %s --entry square --random 2 --check | FileCheck %s
// CHECK: passed: largest relative error {{.*}}; tolerance 2.0e-06

!q = tensor<1x1x16x16xf32>
!kv = tensor<1x1x40x16xf32>
func.func @twice(%query: !q, %key: !kv, %value: !kv) -> !q {
  %init = tensor.empty() : !q
  %offset = arith.constant -7 : index
  %output = attn.attention ins(%query, %key, %value : !q, !kv, !kv)
      outs(%init : !q) offset(%offset : index)
      mask(%b, %h, %i, %j) {
    %c2 = arith.constant 2 : index
    %twice = arith.muli %i, %c2 : index
    %keep = arith.cmpi sge, %twice, %j : index
    attn.yield %keep : i1
  }
  return %output : !q
}

func.func @square(%query: !q, %key: !kv, %value: !kv) -> !q {
  %init = tensor.empty() : !q
  %offset = arith.constant 3 : index
  %output = attn.attention ins(%query, %key, %value : !q, !kv, !kv)
      outs(%init : !q) offset(%offset : index)
      mask(%b, %h, %i, %j) {
    %square = arith.muli %i, %i : index
    %keep = arith.cmpi sge, %square, %j : index
    attn.yield %keep : i1
  }
  return %output : !q
}
