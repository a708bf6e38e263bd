// RUN: attn-run %s --entry hidden --random 1 --check | FileCheck %s
// RUN: attn-run %s --entry hidden_bf16 --random 2 --check | FileCheck %s
// RUN: attn-run %s --entry scaled --random 3 --check | FileCheck %s
// RUN: attn-run %s --entry scaled_bf16 --random 4 --check | FileCheck %s
// RUN: attn-run %s --entry neighbours_bf16 --random 5 --check | FileCheck %s
// CHECK: passed

// Scores so large that what weights are relative to is not rounded: of hidden keys,
// -3.4e38, which some rows have in their first block alone, and some in all; and of all
// keys.

func.func @hidden(%query: tensor<1x2x70x64xf32>, %key: tensor<1x2x200x64xf32>, %value: tensor<1x2x200x64xf32>)
    -> tensor<1x2x70x64xf32> {
  %init = tensor.empty() : tensor<1x2x70x64xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x2x70x64xf32>, tensor<1x2x200x64xf32>, tensor<1x2x200x64xf32>)
      outs(%init : tensor<1x2x70x64xf32>) score(%s, %b, %h, %p, %j) {
    %c9 = arith.constant 9 : index
    %c30 = arith.constant 30 : index
    %c100 = arith.constant 100 : index
    %lowest = arith.constant -3.40282347E+38 : f32
    %first = arith.cmpi ult, %j, %c100 : index
    %some = arith.cmpi ult, %p, %c30 : index
    %in_first = arith.andi %first, %some : i1
    %all = arith.cmpi ult, %p, %c9 : index
    %is_hidden = arith.ori %in_first, %all : i1
    %t = arith.select %is_hidden, %lowest, %s : f32
    attn.yield %t : f32
  }
  return %output : tensor<1x2x70x64xf32>
}

func.func @hidden_bf16(%query: tensor<1x2x70x64xbf16>, %key: tensor<1x2x200x64xbf16>, %value: tensor<1x2x200x64xbf16>)
    -> tensor<1x2x70x64xbf16> {
  %init = tensor.empty() : tensor<1x2x70x64xbf16>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x2x70x64xbf16>, tensor<1x2x200x64xbf16>, tensor<1x2x200x64xbf16>)
      outs(%init : tensor<1x2x70x64xbf16>) score(%s, %b, %h, %p, %j) {
    %c9 = arith.constant 9 : index
    %c30 = arith.constant 30 : index
    %c100 = arith.constant 100 : index
    %lowest = arith.constant -3.40282347E+38 : f32
    %first = arith.cmpi ult, %j, %c100 : index
    %some = arith.cmpi ult, %p, %c30 : index
    %in_first = arith.andi %first, %some : i1
    %all = arith.cmpi ult, %p, %c9 : index
    %is_hidden = arith.ori %in_first, %all : i1
    %t = arith.select %is_hidden, %lowest, %s : f32
    attn.yield %t : f32
  }
  return %output : tensor<1x2x70x64xbf16>
}

func.func @scaled(%query: tensor<1x2x70x64xf32>, %key: tensor<1x2x200x64xf32>, %value: tensor<1x2x200x64xf32>)
    -> tensor<1x2x70x64xf32> {
  %init = tensor.empty() : tensor<1x2x70x64xf32>
  %scale = arith.constant 1.0e+30 : f32
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x2x70x64xf32>, tensor<1x2x200x64xf32>, tensor<1x2x200x64xf32>)
      outs(%init : tensor<1x2x70x64xf32>) scale(%scale : f32)
  return %output : tensor<1x2x70x64xf32>
}

func.func @scaled_bf16(%query: tensor<1x2x70x64xbf16>, %key: tensor<1x2x200x64xbf16>, %value: tensor<1x2x200x64xbf16>)
    -> tensor<1x2x70x64xbf16> {
  %init = tensor.empty() : tensor<1x2x70x64xbf16>
  %scale = arith.constant 1.0e+30 : f32
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x2x70x64xbf16>, tensor<1x2x200x64xbf16>, tensor<1x2x200x64xbf16>)
      outs(%init : tensor<1x2x70x64xbf16>) scale(%scale : f32)
  return %output : tensor<1x2x70x64xbf16>
}

// Floats that follow each other, of which the product with log2(e) is the same: the first
// 100 keys have no weight beside the others.
func.func @neighbours_bf16(%query: tensor<1x2x70x64xbf16>, %key: tensor<1x2x200x64xbf16>, %value: tensor<1x2x200x64xbf16>)
    -> tensor<1x2x70x64xbf16> {
  %init = tensor.empty() : tensor<1x2x70x64xbf16>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x2x70x64xbf16>, tensor<1x2x200x64xbf16>, tensor<1x2x200x64xbf16>)
      outs(%init : tensor<1x2x70x64xbf16>) score(%s, %b, %h, %p, %j) {
    %c100 = arith.constant 100 : index
    %low = arith.constant 1610612992.0 : f32
    %high = arith.constant 1610613120.0 : f32
    %first = arith.cmpi ult, %j, %c100 : index
    %t = arith.select %first, %low, %high : f32
    attn.yield %t : f32
  }
  return %output : tensor<1x2x70x64xbf16>
}
