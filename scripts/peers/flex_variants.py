# ===- flex_variants.py - The gallery's variants in FlexAttention ----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Variants of examples/variants as PyTorch says them, compiled, on one thread.

Runs in PyTorch's environment and prints one line of JSON for each variant:
{"case", "ms"}, a median, or {"case", "absent"} with the reason.
"""

import math

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import report

HEADS, LENGTH, SIZE = 8, 4096, 64  # As in tools/attn-bench/GalleryCases.h.
TOLERANCE = 1e-4

DOCUMENTS = torch.arange(LENGTH) // 512
STARTS = 512 * torch.arange(LENGTH // 512)
STRIDES = 1 << torch.arange(HEADS)
SLOPES = 0.5 ** torch.arange(1, HEADS + 1)
TABLE = (torch.arange(HEADS * 257) % 7 / 8).reshape(HEADS, 257)
WINDOWS = 32 << torch.arange(HEADS)
R1, R2 = (first * 1.25 ** torch.arange(HEADS) for first in (0.5, 0.25))
TEMPERATURES = 0.5 * 1.25 ** torch.arange(HEADS)
WIDTHS = 8 << torch.arange(HEADS)
BUCKETS = (torch.arange(32 * HEADS) % 7 / 8).reshape(32, HEADS)
SEGMENTS = torch.arange(LENGTH) // 100 % 4
SEGMENT_BIAS = (torch.arange(HEADS * 16) % 7 / 8).reshape(HEADS, 4, 4)
FORGET = -(torch.arange(LENGTH) / 64).expand(HEADS, LENGTH)
SCALES = 0.125 * 1.125 ** torch.arange(HEADS)
DECAYS = 0.9375 * 1.0078125 ** torch.arange(HEADS)
PER_HEAD = (
    "perHeadWindow",
    "perHeadStride",
    "scaledDistance",
    "selectedBlocks",
    "prunedForgettingGate",
)


def bucket(distance):
    large = 16 + (torch.log(distance.clamp(16) / 16) * (16 / math.log(8))).int()
    return torch.where(distance < 16, distance.clamp(0), large.clamp(max=31))


def neighborhood(b, h, q, k):
    row, column = (q // 64).clamp(3, 60), (q % 64).clamp(3, 60)
    return ((k // 64 - row).abs() <= 3) & ((k % 64 - column).abs() <= 3)


def causal(b, h, q, k):
    return k <= q


MASKS = {
    "causalMask": causal,
    "window": lambda b, h, q, k: (k <= q) & (q - k < 512),
    "dilated": lambda b, h, q, k: (k <= q) & (q - k < 512) & ((q - k) % 4 == 0),
    "stridedSparse": lambda b, h, q, k: (k <= q)
    & ((q - k < 128) | (k % 128 == 127)),
    "globalAndLocal": lambda b, h, q, k: ((q - k).abs() <= 256) | (k < 16) | (q < 16),
    "sinkAndWindow": lambda b, h, q, k: (k <= q) & ((k < 4) | (q - k < 1020)),
    "blockDiagonal": lambda b, h, q, k: q // 512 == k // 512,
    "chunked": lambda b, h, q, k: (k <= q) & (q // 1024 == k // 1024),
    "neighborhood2D": neighborhood,
    "disc": lambda b, h, q, k: (q % 64 - k % 64) ** 2 + (q // 64 - k // 64) ** 2 <= 16,
    "prefix": lambda b, h, q, k: (k <= q) | (k < LENGTH // 2),
    "crossAttention": lambda b, h, q, k: (k < LENGTH // 2) & (q >= 0),
    "documents": lambda b, h, q, k: (k <= q) & (DOCUMENTS[q] == DOCUMENTS[k]),
    "perHeadWindow": lambda b, h, q, k: (k <= q) & (q - k < WINDOWS[h]),
    "logSparse": lambda b, h, q, k: (k <= q) & (((q - k) & (q - k - 1)) == 0),
    "perHeadStride": lambda b, h, q, k: (k <= q) & ((q - k) % STRIDES[h] == 0),
    "keyRanges": lambda b, h, q, k: (k <= q) & (k >= STARTS[DOCUMENTS[q]]),
    "axial2D": lambda b, h, q, k: (q // 64 == k // 64) | (q % 64 == k % 64),
    "scaledDistance": lambda b, h, q, k: (k <= q) & ((q - k) // WIDTHS[h] < 3),
    "selectedBlocks": lambda b, h, q, k: (k <= q)
    & ((q // 64 == k // 64) | ((q // 64 * 5 + k // 64 * 3 + h) % 8 == 0)),
    "linearBias": causal,
    "logarithmicBias": causal,
    "logBuckets": causal,
    "forgettingGate": causal,
    "prunedForgettingGate": lambda b, h, q, k: (k <= q)
    & (FORGET[h, q] - FORGET[h, k] >= -16),
    "scalableSoftmax": causal,
    "powerDecay": causal,
    "cappedScores": causal,
    "distanceDecay": causal,
}
SCORES = {
    "linearBias": lambda s, b, h, q, k: s - SLOPES[h] * (q - k).abs(),
    "logarithmicBias": lambda s, b, h, q, k: s
    - R1[h] * torch.log(1 + R2[h] * (q - k).abs()),
    "relativeBias": lambda s, b, h, q, k: s + TABLE[h, (k - q).clamp(-128, 128) + 128],
    "logBuckets": lambda s, b, h, q, k: s + BUCKETS[bucket(q - k), h],
    "segmentBias": lambda s, b, h, q, k: s + SEGMENT_BIAS[h, SEGMENTS[q], SEGMENTS[k]],
    "forgettingGate": lambda s, b, h, q, k: s + FORGET[h, q] - FORGET[h, k],
    "prunedForgettingGate": lambda s, b, h, q, k: s + FORGET[h, q] - FORGET[h, k],
    "scalableSoftmax": lambda s, b, h, q, k: s * SCALES[h] * torch.log(q + 1.0),
    "powerDecay": lambda s, b, h, q, k: s * torch.pow(DECAYS[h], (q - k).abs()),
    "cappedScores": lambda s, b, h, q, k: 50 * torch.tanh(s / 50),
    "distanceDecay": lambda s, b, h, q, k: s * torch.exp(-(q - k).abs() / 100),
    "headTemperature": lambda s, b, h, q, k: s / TEMPERATURES[h],
}


def verify(name, inputs, output):
    """Holds some rows to float64."""
    query, key, value = (x[0].double() for x in inputs)
    keys, batch = torch.arange(LENGTH), torch.tensor(0)
    for head in (0, HEADS - 1):
        for row in (0, LENGTH // 2, LENGTH - 1):
            at = batch, torch.tensor(head), torch.tensor(row), keys
            scores = key[head] @ query[head, row] / SIZE**0.5
            if name in SCORES:
                scores = SCORES[name](scores, *at)
            if name in MASKS:
                scores = scores.masked_fill(~MASKS[name](*at), float("-inf"))
            expected = scores.softmax(0) @ value[head]
            error = (output[0, head, row] - expected).abs().max()
            if not error <= TOLERANCE * expected.abs().max():
                raise ValueError(f"wrong result: {error:.2g}")


def measure(name, seconds):
    """Milliseconds of a call, without making the blocks of the mask."""
    random = torch.Generator().manual_seed(1)
    inputs = [torch.randn(1, HEADS, LENGTH, SIZE, generator=random) for _ in range(3)]
    options = {"score_mod": SCORES.get(name)}
    if name in MASKS:
        heads = HEADS if name in PER_HEAD else None
        options["block_mask"] = create_block_mask(
            MASKS[name], None, heads, LENGTH, LENGTH, device="cpu"
        )
    torch._dynamo.reset()
    attend = torch.compile(flex_attention, dynamic=False)
    with torch.inference_mode():
        verify(name, inputs, attend(*inputs, **options))
        return report.time_calls(lambda: attend(*inputs, **options), seconds)


if __name__ == "__main__":
    torch.set_num_threads(1)
    report.main(__doc__, measure, lambda name: name in MASKS or name in SCORES)
