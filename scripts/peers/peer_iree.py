# ===- peer_iree.py - IREE on the CPU --------------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The operation iree_linalg_ext.attention, and matrix products and a softmax of
linalg, compiled for this machine. Keys and values are repeated for every query
head beforehand, which is not in the time."""

import iree.compiler
import iree.runtime
import numpy as np

import peer

# Masks are tensors.
ATTENTION = """
#query = affine_map<(h, m, k, n, d) -> (h, m, k)>
#key = affine_map<(h, m, k, n, d) -> (h, n, k)>
#value = affine_map<(h, m, k, n, d) -> (h, n, d)>
#scale = affine_map<(h, m, k, n, d) -> ()>
#mask = affine_map<(h, m, k, n, d) -> (m, n)>
#output = affine_map<(h, m, k, n, d) -> (h, m, d)>
func.func @attention(%query: $matrix, %key: $matrix, %value: $matrix, %mask: $mask)
    -> $matrix {
  %scale = arith.constant $scale : f32
  %init = tensor.empty() : $matrix
  %output = iree_linalg_ext.attention <{
      indexing_maps = [#query, #key, #value, #scale, $mask_map #output]}>
      ins(%query, %key, %value, %scale $mask_operand
          : $matrix, $matrix, $matrix, f32 $mask_type)
      outs(%init : $matrix) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> $matrix
  return %output : $matrix
}
"""

PRODUCTS = """
#query = affine_map<(h, m, n, k) -> (h, m, k)>
#key = affine_map<(h, m, n, k) -> (h, n, k)>
#product = affine_map<(h, m, n, k) -> (h, m, n)>
#row = affine_map<(h, m, n) -> (h, m, n)>
#mask = affine_map<(h, m, n) -> (m, n)>
func.func @attention(%query: $matrix, %key: $matrix, %value: $matrix, %mask: $mask)
    -> $matrix {
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant -3.0e+38 : f32
  %scale = arith.constant $scale : f32
  %square = tensor.empty() : $square
  %zeros = linalg.fill ins(%zero : f32) outs(%square : $square) -> $square
  %products = linalg.batch_matmul indexing_maps = [#query, #key, #product]
      ins(%query, %key : $matrix, $matrix) outs(%zeros : $square) -> $square
  %scores = linalg.generic {
      indexing_maps = [#row, #mask, #row],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%products, %mask : $square, $mask) outs(%square : $square) {
    ^bb0(%product: f32, %keep: i1, %unused: f32):
      %scaled = arith.mulf %product, %scale : f32
      %score = arith.select %keep, %scaled, %hidden : f32
      linalg.yield $score : f32
  } -> $square
  %weights = linalg.softmax dimension(2)
      ins(%scores : $square) outs(%square : $square) -> $square
  %init = tensor.empty() : $matrix
  %none = linalg.fill ins(%zero : f32) outs(%init : $matrix) -> $matrix
  %output = linalg.batch_matmul
      ins(%weights, %value : $square, $matrix) outs(%none : $matrix) -> $matrix
  return %output : $matrix
}
"""


def fill_in(template, case):
    heads, length = case.query_heads, case.length
    mask = f"tensor<{length}x{length}xi1>"
    replacements = {
        "$mask_map": "#mask," if case.causal else "",
        "$mask_operand": ", %mask" if case.causal else "",
        "$mask_type": f", {mask}" if case.causal else "",
        "$mask": mask,
        "$matrix": f"tensor<{heads}x{length}x{case.head_size}xf32>",
        "$square": f"tensor<{heads}x{length}x{length}xf32>",
        "$scale": repr(float(case.head_size**-0.5)),
        "$score": "%score" if case.causal else "%scaled",
    }
    for name, replacement in replacements.items():
        template = template.replace(name, replacement)
    return template


def attend(template, case, dtype, threads):
    if dtype != "f32":
        raise peer.Absent("its Python arrays have no bf16")
    flags = [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
        "--iree-opt-level=O3",
    ]
    text = fill_in(template, case)
    binary = iree.compiler.compile_str(text, extra_args=flags)
    iree.runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")
    config = iree.runtime.Config("local-sync" if threads == 1 else "local-task")
    module = iree.runtime.VmModule.copy_buffer(config.vm_instance, binary)
    loaded = iree.runtime.load_vm_module(module, config)
    query, key, value = case.inputs()
    key, value = (peer.repeat_heads(case, x) for x in (key, value))
    arrays = [query[0], key[0], value[0], case.visible().copy()]
    arguments = [iree.runtime.asdevicearray(config.device, x) for x in arrays]
    results = []

    def run():
        results[:] = [loaded.attention(*arguments)]

    return run, lambda: np.asarray(results[0].to_host())[None]


if __name__ == "__main__":
    peer.main(peer.prefill(
        {
            "IREE attention": lambda *of: attend(ATTENTION, *of),
            "IREE matmul, softmax": lambda *of: attend(PRODUCTS, *of),
        }
    ))
