# ===- triton_attention.py - Attention in Triton ---------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Forward attention as one writes it in Triton, after FlashAttention-2.

For head sizes of 64 or 128 or 256, dense tensors (B, H, S, D), and as many
key/value heads as query heads.
"""

import torch
import triton
import triton.language as tl

CONFIGURATIONS = [
    triton.Config({"ROWS": rows, "KEYS": keys}, num_warps=warps, num_stages=stages)
    for rows, keys, warps in ((64, 32, 4), (64, 64, 4), (128, 64, 8), (128, 128, 8))
    for stages in (2, 3)
]


@triton.autotune(CONFIGURATIONS, key=["queries", "keys", "SIZE", "IS_CAUSAL"])
@triton.jit
def attend_kernel(
    query,
    key,
    value,
    output,
    scale,
    queries,
    keys,
    SIZE: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, SIZE)
    places = (head * queries + rows[:, None]) * SIZE + columns[None, :]
    isThere = rows[:, None] < queries
    q = tl.load(query + places, mask=isThere, other=0.0)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, SIZE], tl.float32)
    end = keys
    if IS_CAUSAL:
        end = tl.minimum(keys, (tl.program_id(0) + 1) * ROWS)
    for first in range(0, end, KEYS):
        numbers = first + tl.arange(0, KEYS)
        at = (head * keys + numbers[:, None]) * SIZE + columns[None, :]
        inside = numbers[:, None] < keys
        k = tl.load(key + at, mask=inside, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        visible = numbers[None, :] < keys
        if IS_CAUSAL:
            visible = visible & (numbers[None, :] <= rows[:, None])
        scores = tl.where(visible, scores, float("-inf"))
        after = tl.maximum(maximum, tl.max(scores, 1))
        weights = tl.exp2(scores - after[:, None])
        correction = tl.exp2(maximum - after)
        v = tl.load(value + at, mask=inside, other=0.0)
        sums = tl.dot(weights.to(v.dtype), v, sums * correction[:, None])
        total = total * correction + tl.sum(weights, 1)
        maximum = after
    result = sums / total[:, None]
    tl.store(output + places, result.to(q.dtype), mask=isThere)


def attend(query, key, value, is_causal):
    batch, heads, queries, size = query.shape
    output = torch.empty_like(query)
    scale = size**-0.5 * 1.4426950408889634  # log2(e): exponentials of 2.
    attend_kernel[lambda meta: (triton.cdiv(queries, meta["ROWS"]), batch * heads)](
        query,
        key,
        value,
        output,
        scale,
        queries,
        key.shape[2],
        SIZE=size,
        IS_CAUSAL=is_causal,
    )
    return output
