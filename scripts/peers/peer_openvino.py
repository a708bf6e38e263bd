# ===- peer_openvino.py - OpenVINO on the CPU ------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The operator ScaledDotProductAttention. Keys and values are repeated for every
query head beforehand, which is not in the time."""

import numpy as np
import openvino as ov
from openvino import opset13 as ops

import peer

core = ov.Core()


def attend(case, dtype, threads):
    query, key, value = case.inputs()
    key, value = (peer.repeat_heads(case, x) for x in (key, value))
    arrays = [query, key, value]
    if case.window is not None:
        bias = np.where(case.visible(), 0, -np.inf).astype(np.float32)
        arrays.append(np.ascontiguousarray(bias[None, None]))
    parameters = [ops.parameter(list(x.shape), ov.Type.f32) for x in arrays]
    node = ops.scaled_dot_product_attention(
        *parameters, causal=case.causal and case.window is None
    )
    compiled = core.compile_model(
        ov.Model([node], parameters, "attention"),
        "CPU",
        {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": dtype,
            "PERFORMANCE_HINT": "LATENCY",
        },
    )
    request = compiled.create_infer_request()
    # The request does not keep them.
    tensors = [ov.Tensor(array, shared_memory=True) for array in arrays]
    for i, tensor in enumerate(tensors):
        request.set_input_tensor(i, tensor)

    def run(kept=(compiled, arrays, tensors)):
        request.infer()

    return run, lambda: request.get_output_tensor(0).data


if __name__ == "__main__":
    peer.main(peer.prefill({"OpenVINO": attend}))
