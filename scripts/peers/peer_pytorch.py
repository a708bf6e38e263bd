# ===- peer_pytorch.py - PyTorch on the CPU --------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""scaled_dot_product_attention, and FlexAttention compiled."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import peer

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def inputs(case, dtype, threads):
    torch.set_num_threads(threads)
    return [torch.from_numpy(x).to(TYPES[dtype]) for x in case.inputs()]


def runner(function):
    """Keeps the last result."""
    results = []

    def run():
        with torch.inference_mode():
            results[:] = [function()]

    return run, lambda: results[0].float().numpy()


def sdpa(case, dtype, threads):
    query, key, value = inputs(case, dtype, threads)
    options = {"is_causal": case.causal}
    if case.window is not None:
        options = {"attn_mask": torch.from_numpy(case.visible())}
    if case.groups > 1:
        options["enable_gqa"] = True
    attend = torch.nn.functional.scaled_dot_product_attention
    return runner(lambda: attend(query, key, value, **options))


def flex(case, dtype, threads):
    query, key, value = inputs(case, dtype, threads)

    def keep(b, h, p, j):
        seen = j <= p
        return seen if case.window is None else seen & (p - j <= case.window)

    options = {"enable_gqa": case.groups > 1}
    if case.causal:
        options["block_mask"] = create_block_mask(
            keep, None, None, case.length, case.length, device="cpu"
        )
    torch._dynamo.reset()
    attend = torch.compile(flex_attention, dynamic=False)
    return runner(lambda: attend(query, key, value, **options))


if __name__ == "__main__":
    peer.main(peer.prefill({"PyTorch SDPA": sdpa, "PyTorch FlexAttention": flex}))
