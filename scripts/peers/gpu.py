# ===- gpu.py - Others' attention on a GPU ---------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures what PyTorch has of attention on a GPU; scripts/gpu_report.py runs it.

Reads lines of a name, a tab, and a case as attn-gpu-bench --list prints it, and prints
a line of JSON for each name: a speed, or "absent" with the reason. Names are "matmul"
and "copy", ceilings of the machine, and others are of who computes, a space, and a
case. Whoever is further from another one's result than rounding explains is absent.
"""

import argparse
import json
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import report

TOLERANCE = 2e-2  # Between others; attn-gpu-bench compares ours with an oracle.

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}


def causal(b, h, p, j):
    return j <= p


# Score and mask of a pattern, as attn-gpu-bench has them.
PATTERNS = {
    "full": (None, None),
    "causal": (None, causal),
    "softcap": (lambda s, b, h, p, j: 30.0 * torch.tanh(s / 30.0), causal),
    "window": (None, lambda b, h, p, j: (j <= p) & (p - j <= 1023)),
    "prefix": (None, lambda b, h, p, j: (j <= p) | (j < 1024)),
    "dilated": (None, lambda b, h, p, j: (j <= p) & ((p - j) % 4 == 0)),
}


def measure(function, seconds):
    """The median of the milliseconds that the GPU takes for a call: as attn-gpu-bench
    does, calls are put into a stream that is busy until all of them are there."""
    for _ in range(3):
        function()
    torch.cuda.synchronize()
    calls, cycles, samples, total = 1, 10_000_000, [], 0.0
    while total < 1000 * seconds or len(samples) < 5:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(cycles)
        start.record()
        for _ in range(calls):
            function()
        end.record()
        was_late = start.query()
        end.synchronize()
        if was_late:
            cycles *= 2
            if cycles > 10**10:
                raise ValueError("the CPU takes seconds to launch it")
            continue
        spent = start.elapsed_time(end)
        if total == 0:
            calls = min(max(int(5 / max(spent, 0.01)), 1), 32)
        else:
            samples.append(spent / calls)
        total += spent
    return statistics.median(samples)


def matmul(seconds):
    x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.float16) for _ in "xy")
    speed = 2 * 8192**3 / measure(lambda: x @ y, seconds) / 1e9
    return {"speed": speed, "unit": "TFLOP/s", "of": "f16, 8192 x 8192"}


def copy(seconds):
    source = torch.empty(1 << 30, device="cuda", dtype=torch.int8)
    target = torch.empty_like(source)
    speed = 2 * (1 << 30) / measure(lambda: target.copy_(source), seconds) / 1e6
    return {"speed": speed, "unit": "GB/s", "of": "1 GiB, read and written"}


class Case:
    """One attention, whoever computes it."""

    def __init__(self, case):
        dtype = TYPES[case["type"]]
        torch.manual_seed(1)

        def make(shape):
            return torch.randn(*shape, device="cuda", dtype=dtype)

        self.query = make(case["query"])
        self.key, self.value = make(case["key"]), make(case["key"])
        self.is_grouped = case["query"][1] != case["key"][1]
        self.pattern = case["pattern"]
        self.score, self.keep = PATTERNS[self.pattern]

    def check_plain(self, who):
        if self.pattern not in ("full", "causal"):
            raise ValueError(f"not a mask that {who} has")

    def cudnn(self):
        self.check_plain("cuDNN")
        attend = torch.nn.functional.scaled_dot_product_attention

        def run():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return attend(
                    self.query,
                    self.key,
                    self.value,
                    is_causal=self.pattern == "causal",
                    enable_gqa=self.is_grouped,
                )

        return run

    def flex(self):
        torch._dynamo.reset()
        options = {"enable_gqa": self.is_grouped, "score_mod": self.score}
        if self.keep:
            options["block_mask"] = create_block_mask(
                self.keep, None, None, self.query.shape[2], self.key.shape[2]
            )
        attend = torch.compile(flex_attention, dynamic=False)
        return lambda: attend(self.query, self.key, self.value, **options)

    def triton(self):
        import triton_attention  # pylint: disable=import-outside-toplevel

        self.check_plain("the kernel in Triton")
        if self.is_grouped:
            raise ValueError("the kernel in Triton has no groups of heads")
        return lambda: triton_attention.attend(
            self.query, self.key, self.value, self.pattern == "causal"
        )

    def other(self):
        """PyTorch's own, in whichever way; None where it would take a mask of all."""
        if self.pattern not in ("full", "causal"):
            return None
        return torch.nn.functional.scaled_dot_product_attention(
            self.query,
            self.key,
            self.value,
            is_causal=self.pattern == "causal",
            enable_gqa=self.is_grouped,
        )


def attend(who, description, seconds):
    """Measures one of them."""
    case = Case(description)
    makers = {"cuDNN": case.cudnn, "FlexAttention": case.flex, "Triton": case.triton}
    run = makers[who]()
    result, expected = run().float(), case.other()
    if expected is not None:
        error = (result - expected).abs().max() / expected.abs().max()
        if not error <= TOLERANCE:
            raise ValueError(f"wrong by {error:.2g}")
    speed = description["work"] / measure(run, seconds)
    return {"speed": speed, "unit": description["unit"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=0.3)
    options = parser.parse_args()
    for line in sys.stdin.read().splitlines():
        name, _, text = line.partition("\t")
        who = name.partition(" ")[0]
        ceiling = {"matmul": matmul, "copy": copy}.get(who)
        report.attempt(
            {"case": name},
            lambda who=who, text=text, ceiling=ceiling: (
                ceiling(options.seconds)
                if ceiling
                else attend(who, json.loads(text), options.seconds)
            ),
        )


if __name__ == "__main__":
    main()
