# ===- multi_token.py - Multi-token attention in PyTorch -------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The unfused module of Golovneva et al. (arXiv:2504.00927): whole matrices.

Runs in PyTorch's environment, on one thread, and prints one line of JSON for each
case: {"case", "ms"}, a median, or {"case", "absent"} with the reason. A case is
<placement>/S<length>, as in tools/attn-bench/MultiToken.cpp.
"""

import math

import torch
from torch.nn.functional import conv2d, pad

import report

HEADS, SIZE = 16, 64
QUERIES, KEYS = 6, 11  # Of the kernel.
TOLERANCE = 1e-4

# Before and after the softmax: whether scores are convolved, and how many heads
# are mixed.
PLACEMENTS = {
    "pre-kq": ((True, 1), (False, 1)),
    "post-kq": ((False, 1), (True, 1)),
    "pre-heads": ((False, 2), (False, 1)),
    "post-heads": ((False, 1), (False, 2)),
    "post-heads-of-4": ((False, 1), (False, 4)),
    "post-heads-of-8": ((False, 1), (False, 8)),
    "post-heads-of-16": ((False, 1), (False, 16)),
    "paper": ((True, 1), (False, 2)),
}


def create_stages(side, dtype):
    """A kernel (heads, 1, cq, ck) and weights (groups, read, written) or None."""
    convolves, mixed = side
    kernel = weights = None
    if convolves:
        kernel = torch.randn(HEADS, 1, QUERIES, KEYS, dtype=dtype)
        kernel /= math.sqrt(QUERIES * KEYS)
    if mixed > 1:
        weights = torch.randn(HEADS // mixed, mixed, mixed, dtype=dtype)
        weights /= math.sqrt(mixed)
    return kernel, weights


def run_stages(scores, stages, hidden, mark):
    """`mark` where `hidden`, which counts as 0 in every stage."""
    kernel, weights = stages
    if kernel is None and weights is None:
        return scores
    scores = scores.masked_fill(hidden, 0)
    if kernel is not None:
        side = KEYS // 2
        padded = pad(scores, (side, side, QUERIES - 1, 0))
        scores = conv2d(padded, kernel, groups=HEADS)
        scores = scores.masked_fill(hidden, 0 if weights is not None else mark)
    if weights is not None:
        groups = scores.unflatten(1, weights.shape[:2])
        scores = torch.einsum("bgeij,geo->bgoij", groups, weights).flatten(1, 2)
        scores = scores.masked_fill(hidden, mark)
    return scores


def attend(query, key, value, hidden, before, after):
    scores = query @ key.transpose(-1, -2) / math.sqrt(SIZE)
    scores = scores.masked_fill(hidden, -math.inf)
    scores = run_stages(scores, before, hidden, -math.inf)
    weights = run_stages(torch.softmax(scores, -1), after, hidden, 0)
    return weights @ value


@torch.inference_mode()
def measure(case, seconds):
    placement, length = case.split("/S")
    length = int(length)
    torch.manual_seed(1)
    inputs = [torch.randn(1, HEADS, length, SIZE) for _ in range(3)]
    stages = [create_stages(side, torch.float32) for side in PLACEMENTS[placement]]
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
    # The first rows do not depend on what follows.
    some = min(length, 128)
    exact = attend(
        *(x[:, :, :some].double() for x in inputs),
        hidden[:some, :some],
        *([None if x is None else x.double() for x in side] for side in stages),
    )
    result = attend(*inputs, hidden, *stages)[:, :, :some].double()
    error = ((result - exact).abs().max() / exact.abs().max()).item()
    if not error <= TOLERANCE:
        raise RuntimeError(f"wrong result: relative error {error:.2g}")
    del result
    return report.time_calls(lambda: attend(*inputs, hidden, *stages), seconds)


if __name__ == "__main__":
    torch.set_num_threads(1)
    report.main(__doc__, measure)
