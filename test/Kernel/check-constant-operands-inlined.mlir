// RUN: not attn-opt %s -attn-cpu-pipeline 2>&1 | FileCheck %s
// RUN: not attn-run %s --entry main --random 1 2>&1 | FileCheck %s

// CHECK: inlined.mlir:8:8: error: 'tensor.dim' op index 4 is outside of rank 1
func.func private @size(%a: tensor<?xf32>, %i: index) -> index {
  %c2 = arith.constant 2 : index
  %j = arith.addi %i, %c2 : index
  %n = tensor.dim %a, %j : tensor<?xf32>
  return %n : index
}

func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  %c2 = arith.constant 2 : index
  %n = call @size(%a, %c2) : (tensor<?xf32>, index) -> index
  %b = tensor.empty(%n) : tensor<?xf32>
  return %b : tensor<?xf32>
}
