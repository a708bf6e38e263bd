# ===- gradient.py - Gradients of attention in PyTorch ---------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The backward pass of attn-bench's cases in PyTorch, without its forward pass.

Runs in PyTorch's environment and prints one line of JSON for each case, as
`P1c/f32/threads:1`: {"case", "ms"}, a median, or {"case", "absent"} with the reason.
Gradients are held to those of the formula in float64.
"""

import functools
import re

import torch
import torch.nn.functional as F

import report

# Query heads, key/value heads, length, head size, as in tools/attn-bench/Prefill.cpp.
SIZES = {"P2c": (32, 8, 2048, 128), "P3w": (8, 8, 4096, 64)}
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
TOLERANCES = {"f32": 1e-4, "bf16": 5e-2}


def make_mask(name, length):
    """True where a query attends to a key; None: everywhere."""
    if name == "P1":
        return None
    position = torch.arange(length)
    distance = position[:, None] - position
    return (distance >= 0) & ((distance < 256) | (name != "P3w"))


def apply_score(name, score):
    if name == "V-softcap":
        return 30 * torch.tanh(score / 30)
    if name == "V-alibi":
        heads, length = score.shape[1:3]
        slopes = torch.exp2(-torch.arange(1, heads + 1, dtype=score.dtype))
        position = torch.arange(length)
        distance = (position[:, None] - position).abs().to(score.dtype)
        return score - slopes[:, None, None] * distance
    return score


def attend_by_formula(name, query, key, value):
    """With all scores in memory."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    score = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    score = apply_score(name, score)
    mask = make_mask(name, query.shape[2])
    if mask is not None:
        score = score.masked_fill(~mask, -torch.inf)
    return torch.softmax(score, dim=-1) @ value


def attend(name, query, key, value):
    if name in ("V-alibi", "V-softcap"):
        return attend_by_formula(name, query, key, value)
    tensor = name in ("P3w", "V-document")
    return F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=make_mask(name, query.shape[2]) if tensor else None,
        is_causal=name in ("P1c", "P2c"),
        enable_gqa=query.shape[1] != key.shape[1],
    )


def verify(dtype, name, inputs, gradient, actual):
    """On the first heads alone, which share the first head of keys."""
    group = inputs[0].shape[1] // inputs[1].shape[1]
    heads = (group, 1, 1)
    doubles = [
        x.detach()[:, :count].double().requires_grad_()
        for x, count in zip(inputs, heads)
    ]
    output = attend_by_formula(name, *doubles)
    if name == "V-alibi":  # Slopes are of the head's number.
        return
    expected = torch.autograd.grad(output, doubles, gradient[:, :group].double())
    for x, y, count in zip(actual, expected, heads):
        error = (x[:, :count].double() - y).abs().max()
        if not error <= TOLERANCES[dtype] * y.abs().max():
            raise ValueError(f"wrong gradient: {error:.2g}")


def measure(case, seconds):
    """Milliseconds of a backward pass."""
    name, dtype, threads = re.fullmatch(r"([\w-]+)/(\w+)/threads:(\d+)", case).groups()
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    heads, kv_heads, length, size = SIZES.get(name, (8, 8, 1024, 64))
    inputs = [
        torch.randn(1, count, length, size).to(TYPES[dtype]).requires_grad_()
        for count in (heads, kv_heads, kv_heads)
    ]
    output = attend(name, *inputs)
    gradient = torch.randn(output.shape).to(output.dtype)
    backward = functools.partial(
        torch.autograd.grad, output, inputs, gradient, retain_graph=True
    )
    verify(dtype, name, inputs, gradient, backward())
    return report.time_calls(backward, seconds)


if __name__ == "__main__":
    report.main(__doc__, measure)
