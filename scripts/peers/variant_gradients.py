# ===- variant_gradients.py - Gradients of the gallery in PyTorch ----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""PyTorch's gradients of a variant's formula, with all scores in memory. Prints a line
of JSON: {"case", "ms", "error"}, of the backward pass in f32, and the greatest
difference of gradients that `attn-bench --save` wrote from those in float64, relative
to the greatest element; or {"case", "absent"}. Called by scripts/variant_gradients.py."""

import argparse
import functools
from pathlib import Path

import numpy
import torch

import flex_variants
import report

SIZE, HEADS = flex_variants.SIZE, flex_variants.HEADS
CERTAIN, HASH_SHARE = 4032, 4  # As in tools/attn-bench/GalleryCases.cpp.

# What scores capture: the name in the gallery, that in flex_variants, and where heads
# are.
CAPTURES = {
    "linearBias": [("slopes", "SLOPES", 0)],
    "logarithmicBias": [("r1", "R1", 0), ("r2", "R2", 0)],
    "relativeBias": [("table", "TABLE", 0)],
    "logBuckets": [("table", "BUCKETS", 1)],
    "segmentBias": [("table", "SEGMENT_BIAS", 0)],
    "forgettingGate": [("log_forget_sums", "FORGET", 0)],
    "prunedForgettingGate": [("log_forget_sums", "FORGET", 0)],
    "scalableSoftmax": [("scales", "SCALES", 0)],
    "powerDecay": [("decays", "DECAYS", 0)],
    "headTemperature": [("temperatures", "TEMPERATURES", 0)],
    "learnedSink": [("sink_logits", None, 0)],
}


def hash_mask(b, h, q, k):
    mixed = (q * 40503 + k) * 2654435761
    mixed = (mixed ^ (mixed >> 29)) * 668265261
    return (k <= q) & (((mixed >> 17) % HASH_SHARE == 0) | (k == q))


def tree(b, h, q, k):
    """The nodes of a binary tree that are numbered level by level."""
    node, other = torch.broadcast_tensors(q, (k - CERTAIN).clamp(min=0))
    for _ in range(8):
        node = torch.where(node > other, (node - 1) // 2, node)
    return (k < CERTAIN) | (node == other)


def window(b, h, q, k):
    return (k <= q) & (q - k < 128)


def documents(size):
    return lambda b, h, q, k: (k <= q) & (q // size == k // size)


MASKS = {
    **flex_variants.MASKS,
    "hashMask": hash_mask,
    "tree": tree,
    "ringStep": lambda b, h, q, k: k <= q + flex_variants.LENGTH,
    "learnedSink": window,
    "packed": documents(512),
    "documents8": documents(1024),
    "differentialHalf": flex_variants.causal,
}


def attend(name, head, tensors, captures):
    """Of heads (heads, tokens, size) whose numbers are `head`."""
    query, key, value = tensors
    at = (
        torch.tensor(0),
        head[:, None, None],
        torch.arange(query.shape[1])[:, None],
        torch.arange(key.shape[1]),
    )
    scores = query @ key.transpose(-1, -2) / SIZE**0.5
    if name in flex_variants.SCORES:
        scores = flex_variants.SCORES[name](scores, *at)
    if name in MASKS:
        scores = scores.masked_fill(~MASKS[name](*at), -torch.inf)
    if name == "learnedSink":
        sink = captures[0][head][:, None, None].expand(*scores.shape[:2], 1)
        scores = torch.cat([scores, sink], dim=-1)
    return torch.softmax(scores, dim=-1)[..., : key.shape[1]] @ value


class Case:
    """A variant with what attn-bench saved of it."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.inputs = [self.load(x)[0] for x in ("query", "key", "value")]
        self.gradient = self.load("gradient")[0]

    def load(self, name):
        return torch.from_numpy(numpy.load(self.folder / f"{name}.npy"))

    def make_captures(self, dtype):
        """Those of the score, which then uses them, and other constants in `dtype`."""
        for name, value in list(vars(flex_variants).items()):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                setattr(flex_variants, name, value.detach().to(dtype))
        captures = []
        for name, constant, _ in CAPTURES.get(self.name, []):
            captures.append(self.load(name).to(dtype).requires_grad_())
            if constant:
                setattr(flex_variants, constant, captures[-1])
        return captures

    def find_error(self):
        """On the first head of keys and the last, and the heads that share them."""
        torch.set_default_dtype(torch.float64)
        captures = self.make_captures(torch.float64)
        kv_heads = self.inputs[1].shape[0]
        group = HEADS // kv_heads
        errors = [0.0]
        for kv_head in sorted({0, kv_heads - 1}):
            own = slice(kv_head, kv_head + 1)
            shared = slice(kv_head * group, (kv_head + 1) * group)
            places = (shared, own, own)
            tensors = [
                x[part].double().requires_grad_()
                for x, part in zip(self.inputs, places)
            ]
            head = torch.arange(HEADS)[shared]
            output = attend(self.name, head, tensors, captures)
            output.backward(self.gradient[shared].double())
            for what, tensor, part in zip(("query", "key", "value"), tensors, places):
                actual = self.load(f"of_{what}")[0][part]
                errors.append(self.relative(actual, tensor.grad))
        for (what, _, axis), capture in zip(CAPTURES.get(self.name, []), captures):
            computed = torch.tensor([0, HEADS - 1])
            actual = self.load(f"of_{what}").index_select(axis, computed)
            errors.append(
                self.relative(actual, capture.grad.index_select(axis, computed))
            )
        return max(errors)

    @staticmethod
    def relative(actual, expected):
        error = (actual.double() - expected).abs().max() / expected.abs().max()
        if not torch.isfinite(error):
            raise ValueError("a gradient is not finite, or 0")
        return error.item()

    def time(self, seconds):
        """Milliseconds of the backward pass of all heads."""
        torch.set_default_dtype(torch.float32)
        captures = self.make_captures(torch.float32)
        tensors = [x.clone().requires_grad_() for x in self.inputs]
        output = attend(self.name, torch.arange(HEADS), tensors, captures)
        backward = functools.partial(
            torch.autograd.grad,
            output,
            [*tensors, *captures],
            self.gradient,
            retain_graph=True,
        )
        return report.time_calls(backward, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--case", required=True)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--no-times", action="store_true", help="errors alone")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    def measure():
        case = Case(options.case, options.folder)
        result = {"error": case.find_error()}
        if not options.no_times:
            result["ms"] = case.time(options.seconds)
        return result

    report.attempt({"case": options.case}, measure)


if __name__ == "__main__":
    main()
