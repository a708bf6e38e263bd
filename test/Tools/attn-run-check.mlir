// What --check can evaluate beside attention, held to two lowerings.
// DEFINE: %{arguments} = %s --random 1 --arg - --arg 3:index --check --entry
// DEFINE: %{check} = attn-run %{arguments}
// DEFINE: %{again} = %run %{arguments}
// RUN: %{check} moved && %{again} moved --pipeline reference
// RUN: %{check} sliced && %{again} sliced --pipeline reference
// RUN: %{check} stacked && %{again} stacked --pipeline reference
// RUN: %{check} narrow && %{again} narrow --pipeline reference
// RUN: %{check} padded && %{again} padded --pipeline reference
// RUN: %{check} made && %{again} made --pipeline reference
// RUN: %{check} elements && %{again} elements --pipeline reference
// RUN: %{check} products && %{again} products --pipeline reference
// RUN: %{check} softmax && %{again} softmax --pipeline reference
// RUN: %{check} windows && %{again} windows --pipeline reference
// RUN: %{check} reduced && %{again} reduced --pipeline reference
// RUN: %{check} shared && %{again} shared --pipeline reference
// RUN: %{check} rewritten && %{again} rewritten --pipeline reference
// RUN: %{check} mapped && %{again} mapped --pipeline reference
// RUN: %{check} loops && %{again} loops --pipeline reference
// RUN: %{check} parallel && %{again} parallel --pipeline reference
// RUN: %{check} branches && %{again} branches --pipeline reference
// RUN: %{check} blocks && %{again} blocks --pipeline reference
// RUN: %{check} calls && %{again} calls --pipeline reference
// RUN: %{check} sizes && %{again} sizes --pipeline reference

// What is never written is known to be so, element by element.
// RUN: not %{check} gap 2>&1 | FileCheck %s --check-prefix=GAP
// GAP: result 0 was never written

// RUN: not attn-run %s --entry step --arg 0:index --check 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STEP
// STEP: attn-run-check.mlir:[[# @LINE + 5]]:8: 'scf.for' op step is not positive
func.func @step(%step: index) -> tensor<1xindex> {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %sum =
       scf.for %i = %c0 to %c9 step %step iter_args(%carried = %c0) -> index {
    %next = arith.addi %carried, %i : index
    scf.yield %next : index
  }
  %result = tensor.from_elements %sum : tensor<1xindex>
  return %result : tensor<1xindex>
}

func.func @gap(%x: tensor<4x?xf32>, %n: index) -> tensor<2x3xf32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<2x3xf32>
  %result = tensor.insert %one into %empty[%c0, %c0] : tensor<2x3xf32>
  return %result : tensor<2x3xf32>
}

func.func @moved(%x: tensor<4x?xf32>, %n: index) -> tensor<128x2x2xf32> {
  %twice = tensor.concat dim(1) %x, %x
      : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %flat = tensor.collapse_shape %twice [[0, 1]] : tensor<4x?xf32> into tensor<?xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %size = tensor.dim %flat, %c0 : tensor<?xf32>
  %rest = arith.divsi %size, %c4 : index
  %expanded = tensor.expand_shape %flat [[0, 1, 2]] output_shape [%rest, 2, 2]
      : tensor<?xf32> into tensor<?x2x2xf32>
  %result = tensor.cast %expanded : tensor<?x2x2xf32> to tensor<128x2x2xf32>
  return %result : tensor<128x2x2xf32>
}

func.func @sliced(%x: tensor<4x?xf32>, %n: index) -> tensor<4x?xf32> {
  %row = tensor.extract_slice %x[%n, 1] [1, %n] [1, 2]
      : tensor<4x?xf32> to tensor<?xf32>
  %c0 = arith.constant 0 : index
  %element = tensor.extract %row[%c0] : tensor<?xf32>
  %inserted = tensor.insert_slice %row into %x[0, 0] [1, %n] [1, 3]
      : tensor<?xf32> into tensor<4x?xf32>
  %result = tensor.insert %element into %inserted[%n, %c0] : tensor<4x?xf32>
  return %result : tensor<4x?xf32>
}

// The cache of one of several layers, whose rows are rounded to 448.
func.func @stacked(%x: tensor<4x?xf32>, %n: index, %all: tensor<2x1x1x8x4xf8E4M3FN>,
                   %lengths: tensor<1xi32>) -> tensor<1x1x8x4xf8E4M3FN> {
  %cache = tensor.extract_slice %all[1, 0, 0, 0, 0] [1, 1, 1, 8, 4] [1, 1, 1, 1, 1]
      : tensor<2x1x1x8x4xf8E4M3FN> to tensor<1x1x8x4xf8E4M3FN>
  %rows = arith.constant dense<1000.0> : tensor<1x1x2x4xf32>
  %result = attn.cache_append ins(%rows : tensor<1x1x2x4xf32>)
      outs(%cache : tensor<1x1x8x4xf8E4M3FN>) lengths(%lengths : tensor<1xi32>)
  return %result : tensor<1x1x8x4xf8E4M3FN>
}

#i = affine_map<(i) -> (i)>

// Sums, signs and conversions of floats of 8 bits are those of f32, rounded.
func.func @narrow(%x: tensor<4x?xf32>, %n: index, %y: tensor<8xf8E4M3FN>,
                  %z: tensor<8xi8>) -> tensor<8xf8E4M3FN> {
  %init = tensor.empty() : tensor<8xf8E4M3FN>
  %result = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]}
      ins(%y, %z : tensor<8xf8E4M3FN>, tensor<8xi8>) outs(%init : tensor<8xf8E4M3FN>) {
  ^bb0(%a: f8E4M3FN, %b: i8, %unused: f8E4M3FN):
    %wide = arith.sitofp %b : i8 to f32
    %number = arith.truncf %wide : f32 to f8E4M3FN
    %sign = math.absf %a : f8E4M3FN
    %two = arith.constant 2.0 : f8E4M3FN
    %product = arith.mulf %sign, %two : f8E4M3FN
    %sum = arith.addf %product, %number : f8E4M3FN
    linalg.yield %sum : f8E4M3FN
  } -> tensor<8xf8E4M3FN>
  return %result : tensor<8xf8E4M3FN>
}

func.func @padded(%x: tensor<4x?xf32>, %n: index) -> tensor<7x?xf32> {
  %result = tensor.pad %x low[1, %n] high[2, 0] {
  ^bb0(%i: index, %j: index):
    %sum = arith.addi %i, %j : index
    %cast = arith.index_cast %sum : index to i32
    %number = arith.sitofp %cast : i32 to f32
    tensor.yield %number : f32
  } : tensor<4x?xf32> to tensor<7x?xf32>
  return %result : tensor<7x?xf32>
}

func.func @made(%x: tensor<4x?xf32>, %n: index) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %element = tensor.extract %x[%c0, %c0] : tensor<4x?xf32>
  %splat = tensor.splat %element[%n] : tensor<?x3xf32>
  %generated = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %other = tensor.extract %x[%j, %i] : tensor<4x?xf32>
    tensor.yield %other : f32
  } : tensor<?x3xf32>
  %listed = tensor.from_elements %element, %element, %element : tensor<1x3xf32>
  %result = tensor.concat dim(0) %splat, %generated, %listed
      : (tensor<?x3xf32>, tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
  return %result : tensor<?x3xf32>
}

func.func @elements(%x: tensor<4x?xf32>, %n: index) -> tensor<4x?xf16> {
  %sum = arith.addf %x, %x : tensor<4x?xf32>
  %narrow = arith.truncf %sum : tensor<4x?xf32> to tensor<4x?xf16>
  %square = arith.mulf %narrow, %narrow : tensor<4x?xf16>
  %integers = arith.fptosi %sum : tensor<4x?xf32> to tensor<4x?xi8>
  %back = arith.sitofp %integers : tensor<4x?xi8> to tensor<4x?xf16>
  %is_less = arith.cmpf olt, %back, %square : tensor<4x?xf16>
  %chosen = arith.select %is_less, %back, %square
      : tensor<4x?xi1>, tensor<4x?xf16>
  %result = math.tanh %chosen : tensor<4x?xf16>
  return %result : tensor<4x?xf16>
}

func.func @products(%x: tensor<4x?xf32>, %n: index) -> tensor<4x4xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %size = tensor.dim %x, %c1 : tensor<4x?xf32>
  %turned_init = tensor.empty(%size) : tensor<?x4xf32>
  %turned = linalg.transpose ins(%x : tensor<4x?xf32>)
      outs(%turned_init : tensor<?x4xf32>) permutation = [1, 0]
  %init = tensor.empty() : tensor<4x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
  %result = linalg.matmul ins(%x, %turned : tensor<4x?xf32>, tensor<?x4xf32>)
      outs(%zeros : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %result : tensor<4x4xf32>
}

func.func @softmax(%x: tensor<4x?xf32>, %n: index) -> (tensor<4x?xf32>, tensor<4x?xf16>) {
  %c1 = arith.constant 1 : index
  %size = tensor.dim %x, %c1 : tensor<4x?xf32>
  %init = tensor.empty(%size) : tensor<4x?xf32>
  %rows = linalg.softmax dimension(1) ins(%x : tensor<4x?xf32>)
      outs(%init : tensor<4x?xf32>) -> tensor<4x?xf32>
  %narrow = arith.truncf %x : tensor<4x?xf32> to tensor<4x?xf16>
  %narrow_init = tensor.empty(%size) : tensor<4x?xf16>
  %columns = linalg.softmax dimension(0) ins(%narrow : tensor<4x?xf16>)
      outs(%narrow_init : tensor<4x?xf16>) -> tensor<4x?xf16>
  return %rows, %columns : tensor<4x?xf32>, tensor<4x?xf16>
}

// Both start from the same zeros.
func.func @shared(%x: tensor<4x?xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty() : tensor<4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  %sums = linalg.reduce {arith.addf} ins(%x : tensor<4x?xf32>)
      outs(%zeros : tensor<4xf32>) dimensions = [1]
  %most = linalg.reduce {arith.maximumf} ins(%x : tensor<4x?xf32>)
      outs(%zeros : tensor<4xf32>) dimensions = [1]
  return %sums, %most : tensor<4xf32>, tensor<4xf32>
}

// One result and what it becomes.
func.func @rewritten(%x: tensor<4x?xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant 1.0 : f32
  %init = tensor.empty() : tensor<4xf32>
  %ones = linalg.fill ins(%one : f32) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  %sums = linalg.reduce {arith.addf} ins(%x : tensor<4x?xf32>)
      outs(%ones : tensor<4xf32>) dimensions = [1]
  return %sums, %ones : tensor<4xf32>, tensor<4xf32>
}

func.func @windows(%x: tensor<4x?xf32>, %n: index) -> tensor<62xf32> {
  %row = tensor.extract_slice %x[%n, 0] [1, 64] [1, 1] : tensor<4x?xf32> to tensor<64xf32>
  %kernel = arith.constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %zeros = arith.constant dense<0.0> : tensor<62xf32>
  %result = linalg.conv_1d ins(%row, %kernel : tensor<64xf32>, tensor<3xf32>)
      outs(%zeros : tensor<62xf32>) -> tensor<62xf32>
  return %result : tensor<62xf32>
}

func.func @reduced(%x: tensor<4x?xf32>, %n: index) -> tensor<4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %result = linalg.reduce ins(%x : tensor<4x?xf32>) outs(%zeros : tensor<4xf32>)
      dimensions = [1]
      (%element: f32, %sum: f32) {
        %magnitude = math.absf %element : f32
        %next = arith.maximumf %sum, %magnitude : f32
        linalg.yield %next : f32
      }
  return %result : tensor<4xf32>
}

func.func @mapped(%x: tensor<4x?xf32>, %n: index) -> tensor<4x?xf32> {
  %c1 = arith.constant 1 : index
  %size = tensor.dim %x, %c1 : tensor<4x?xf32>
  %init = tensor.empty(%size) : tensor<4x?xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x?xf32>) outs(%init : tensor<4x?xf32>) {
  ^bb0(%element: f32, %unused: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %is_below = arith.cmpi ult, %j, %i : index
    %other = scf.if %is_below -> f32 {
      %inner = tensor.extract %x[%j, %i] : tensor<4x?xf32>
      scf.yield %inner : f32
    } else {
      scf.yield %element : f32
    }
    linalg.yield %other : f32
  } -> tensor<4x?xf32>
  return %result : tensor<4x?xf32>
}

func.func @loops(%x: tensor<4x?xf32>, %n: index) -> tensor<4x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %size = tensor.dim %x, %c1 : tensor<4x?xf32>
  %count, %sum = scf.while (%i = %c0, %carried = %c1) : (index, index) -> (index, index) {
    %is_less = arith.cmpi slt, %carried, %size : index
    scf.condition(%is_less) %i, %carried : index, index
  } do {
  ^bb0(%i: index, %carried: index):
    %next = arith.addi %i, %c1 : index
    %double = arith.muli %carried, %c2 : index
    scf.yield %next, %double : index, index
  }
  %result = scf.for %i = %c0 to %count step %c2 iter_args(%y = %x) -> tensor<4x?xf32> {
    %element = tensor.extract %y[%c0, %i] : tensor<4x?xf32>
    %next = tensor.insert %element into %y[%c1, %c1] : tensor<4x?xf32>
    scf.yield %next : tensor<4x?xf32>
  }
  return %result : tensor<4x?xf32>
}

func.func @parallel(%x: tensor<4x?xf32>, %n: index) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.parallel (%i, %j) = (%c0, %c1) to (%n, %n) step (%c1, %c2) init (%zero) -> f32 {
    %element = tensor.extract %x[%i, %j] : tensor<4x?xf32>
    scf.reduce(%element : f32) {
    ^bb0(%a: f32, %b: f32):
      %next = arith.addf %a, %b : f32
      scf.reduce.return %next : f32
    }
  }
  %result = tensor.from_elements %sum : tensor<1xf32>
  return %result : tensor<1xf32>
}

func.func @branches(%x: tensor<4x?xf32>, %n: index) -> tensor<2xindex> {
  %chosen = scf.index_switch %n -> index
  case 2 {
    scf.yield %n : index
  }
  case 3 {
    %c7 = arith.constant 7 : index
    scf.yield %c7 : index
  }
  default {
    %c9 = arith.constant 9 : index
    scf.yield %c9 : index
  }
  %run = scf.execute_region -> index {
    %double = arith.addi %n, %n : index
    scf.yield %double : index
  }
  %result = tensor.from_elements %chosen, %run : tensor<2xindex>
  return %result : tensor<2xindex>
}

func.func @blocks(%x: tensor<4x?xf32>, %n: index) -> tensor<4x64xf32> {
  %static = tensor.cast %x : tensor<4x?xf32> to tensor<4x64xf32>
  %c3 = arith.constant 3 : index
  %is_three = arith.cmpi eq, %n, %c3 : index
  cf.cond_br %is_three, ^bb2, ^bb1(%static : tensor<4x64xf32>)
^bb1(%y: tensor<4x64xf32>):
  return %y : tensor<4x64xf32>
^bb2:
  %sum = arith.addf %static, %static : tensor<4x64xf32>
  cf.br ^bb1(%sum : tensor<4x64xf32>)
}

func.func private @double(%x: f32) -> f32 {
  %sum = arith.addf %x, %x : f32
  return %sum : f32
}

func.func @calls(%x: tensor<4x?xf32>, %n: index) -> tensor<4x?xf32> {
  %result = linalg.map ins(%x : tensor<4x?xf32>) outs(%x : tensor<4x?xf32>)
      (%element: f32, %unused: f32) {
        %double = func.call @double(%element) : (f32) -> f32
        linalg.yield %double : f32
      }
  return %result : tensor<4x?xf32>
}

func.func @sizes(%x: tensor<4x?xf32>, %n: index) -> tensor<4xindex> {
  %applied = affine.apply affine_map<(d0) -> (d0 floordiv 2 + 5)>(%n)
  %least = affine.min affine_map<(d0)[s0] -> (d0, s0 mod 2)>(%n)[%n]
  %most = affine.max affine_map<(d0) -> (d0, 7 - d0)>(%n)
  %rank = tensor.rank %x : tensor<4x?xf32>
  %result = tensor.from_elements %applied, %least, %most, %rank : tensor<4xindex>
  return %result : tensor<4xindex>
}
