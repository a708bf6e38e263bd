// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-cpu-pipeline -o /dev/null -mlir-print-ir-after=attn-decompose-online 2>&1 | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 256, vector_registers = 16}" -attn-cpu-pipeline | FileCheck %s --check-prefix=LLVM

!q = tensor<1x2x?x64xf32>
!documents = tensor<1x?xi32>

// The ranges are there when a block is judged: those of the queries, then those
// of the keys.
// CHECK: %[[RANGE:.*]]:2 = attn.block_range
// CHECK: scf.forall
// CHECK: scf.while
// CHECK: scf.for
// CHECK: tensor.extract %[[RANGE]]#0
// CHECK: tensor.extract %[[RANGE]]#1
// CHECK: tensor.extract %[[RANGE]]#0
// CHECK: tensor.extract %[[RANGE]]#1
// CHECK: scf.if
// CHECK: attn.online_softmax
// LLVM: llvm.func @attend
func.func @attend(%x: !q, %o: !q, %d: !documents) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%o : !q)
      mask causal, document(%d, %d : !documents, !documents)
  return %r : !q
}

// Ranges that the caller gives are read where they are: low first, then high.
// CHECK-LABEL: func.func @attend_given
// CHECK-SAME: %[[RANGES:[^:,]*]]: tensor<2x1x?xi32>
// CHECK-NOT: attn.block_range
// CHECK: cf.assert {{.*}}operand 'ranges': dimension 2 is not the number
// CHECK-NOT: attn.block_range
// CHECK: scf.forall
// CHECK: tensor.extract %[[RANGES]][%c0
// CHECK: tensor.extract %[[RANGES]][%c1
// CHECK: attn.online_softmax
// LLVM: llvm.func @attend_given
func.func @attend_given(%x: !q, %o: !q, %d: !documents, %r: tensor<2x1x?xi32>)
    -> !q {
  %known = attn.with_block_range %d, %r blocks [1, 32]
      : !documents, tensor<2x1x?xi32>
  %a = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%o : !q)
      mask causal, document(%known, %known : !documents, !documents)
  return %a : !q
}
