# ===- reference.py - Attention in float64, to compare with -----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What attention is, in a few lines of NumPy, and how far a result may be from it."""

import numpy as np

# As in runtime/Reference/Compare.h, which says why: max|a - b| / max|b| on inputs of
# normal numbers that are rounded to the type.
TOLERANCES = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


def attend(
    query, key, value, *, scale=None, score=None, mask=None, sink=None, offset=0
):
    """Output (B, H, Sq, Dv) and log-sum-exp (B, H, Sq), in float64.

    `score` and `mask` are functions of arrays as those of attn are of symbols.
    """
    query, key, value = (np.asarray(x, np.float64) for x in (query, key, value))
    group = query.shape[1] // key.shape[1]
    key, value = (np.repeat(x, group, axis=1) for x in (key, value))
    if scale is None:
        scale = 1 / np.sqrt(query.shape[3])
    scores = scale * query @ key.swapaxes(2, 3)
    b, h, q, k = np.ix_(*(np.arange(size) for size in scores.shape))
    q = q + offset
    if score is not None:
        scores = score(scores, b, h, q, k)
    if mask is not None:
        scores = np.where(
            np.broadcast_to(mask(b, h, q, k), scores.shape), scores, -np.inf
        )
    highest = scores.max(axis=3, keepdims=True, initial=-np.inf)
    if sink is not None:
        sink = np.asarray(sink, np.float64).reshape(1, -1, 1, 1)
        highest = np.maximum(highest, sink)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    weights = np.exp(scores - highest)
    total = weights.sum(axis=3, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - highest)
    with np.errstate(divide="ignore", invalid="ignore"):
        output = np.where(total > 0, weights @ value / total, 0.0)
        log_sum_exp = (np.log(total) + highest)[..., 0]
    return output, log_sum_exp


def check(actual, expected, type_name=None):
    """Holds a result to the tolerance of its type, or of the type of its inputs."""
    tolerance = TOLERANCES[type_name or str(actual.dtype).removeprefix("torch.")]
    assert tuple(actual.shape) == expected.shape
    error = np.abs(np.asarray(actual, np.float64) - expected).max(initial=0)
    assert error <= tolerance * np.abs(expected).max(initial=0)


def draw(*shapes, dtype="float32", seed=1):
    """Arrays of normal numbers."""
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype(dtype) for shape in shapes]
