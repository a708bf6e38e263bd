// RUN: attn-opt %s --cse | FileCheck %s --check-prefix=CSE
// RUN: attn-opt %s --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM
// RUN: attn-opt %s --inline | FileCheck %s --check-prefix=INLINE
// RUN: attn-opt %s --sccp --remove-dead-values --int-range-optimizations \
// RUN:   --control-flow-sink --symbol-dce \
// RUN: | FileCheck %s --check-prefix=KEEP

// What passes of others may do with the op.

// Two of the same become one, with their regions.
// CSE-LABEL: func.func @twice(
// CSE: %[[R:.*]] = attn.attention
// CSE-NOT: attn.attention
// CSE: return %[[R]], %[[R]]
func.func @twice(%x: tensor<1x2x3x4xf32>, %t: tensor<2xf32>)
    -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) score alibi(%t : tensor<2xf32>) mask causal
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) score alibi(%t : tensor<2xf32>) mask causal
  return %a, %b : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// Others do not.
// CSE-LABEL: func.func @different(
// CSE-COUNT-2: attn.attention
func.func @different(%x: tensor<1x2x3x4xf32>)
    -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) mask sliding_window(1, 0)
  %b = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) mask sliding_window(2, 0)
  return %a, %b : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
}

// The op may stop the program (A12), so it does not move out of a loop that may
// not run; nor do constants move out of its regions.
// LICM-LABEL: func.func @attention_a12_loop(
// LICM: scf.for
// LICM-NEXT: attn.attention
// LICM-NEXT: arith.constant 2.000000e+00
func.func @attention_a12_loop(%x: tensor<1x2x3x4xf32>, %n: index)
    -> tensor<1x2x3x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%o = %x)
      -> (tensor<1x2x3x4xf32>) {
    %a = attn.attention
        ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
            tensor<1x2x3x4xf32>)
        outs(%x : tensor<1x2x3x4xf32>) score softcap(2.0)
    scf.yield %a : tensor<1x2x3x4xf32>
  }
  return %r : tensor<1x2x3x4xf32>
}

// A function with the op is inlined, and the op with its regions.
// INLINE-LABEL: func.func @caller(
// INLINE-NOT: call
// INLINE: attn.attention
// INLINE: arith.cmpi
// INLINE-NEXT: attn.yield
// INLINE: return
// KEEP-LABEL: func.func private @callee(
// KEEP: attn.attention
// KEEP-SAME: score
// KEEP: tensor.extract
// KEEP: mask
// KEEP: attn.yield
func.func @caller(%x: tensor<1x2x3x4xf32>, %t: tensor<2xf32>)
    -> tensor<1x2x3x4xf32> {
  %r = call @callee(%x, %t)
      : (tensor<1x2x3x4xf32>, tensor<2xf32>) -> tensor<1x2x3x4xf32>
  return %r : tensor<1x2x3x4xf32>
}
func.func private @callee(%x: tensor<1x2x3x4xf32>, %t: tensor<2xf32>)
    -> tensor<1x2x3x4xf32> {
  %a = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) score alibi(%t : tensor<2xf32>) mask causal
  return %a : tensor<1x2x3x4xf32>
}
