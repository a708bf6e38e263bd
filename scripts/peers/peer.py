# ===- peer.py - What all peers share --------------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Cases, inputs, verification and timing for the files peer_*.py.

Each of those runs in an environment of its own, calls main() with its
implementations, and so prints one line of JSON for each measurement.
"""

import argparse
import ctypes
import functools
import statistics
import time
from dataclasses import dataclass

import numpy as np

import report


class Absent(Exception):
    """The implementation cannot do the case; the message says why."""


@dataclass(frozen=True)
class Case:
    """As in tools/attn-bench/Prefill.cpp, in one batch."""

    name: str
    query_heads: int
    key_heads: int
    length: int
    head_size: int
    causal: bool = False
    window: int | None = None  # Keys before a query's own position.

    @property
    def pairs(self):
        if not self.causal:
            return self.length**2
        seen = self.length if self.window is None else self.window + 1
        return sum(min(p + 1, seen) for p in range(self.length))

    @property
    def flops(self):
        return 4 * self.pairs * self.head_size * self.query_heads

    @property
    def groups(self):
        return self.query_heads // self.key_heads

    def visible(self):
        """Booleans, queries by keys."""
        p, j = np.ogrid[: self.length, : self.length]
        keep = np.broadcast_to(True, (self.length, self.length))
        if self.causal:
            keep = keep & (j <= p)
        if self.window is not None:
            keep = keep & (j >= p - self.window)
        return keep

    def inputs(self):
        """Query, key and value in f32, (1, heads, length, size)."""
        random = np.random.default_rng(1)
        return [
            random.standard_normal(
                (1, heads, self.length, self.head_size), dtype=np.float32
            )
            for heads in (self.query_heads, self.key_heads, self.key_heads)
        ]


CASES = [
    Case("P1", 8, 8, 1024, 64),
    Case("P1c", 8, 8, 1024, 64, causal=True),
    Case("P2", 32, 8, 2048, 128),
    Case("P2c", 32, 8, 2048, 128, causal=True),
    Case("P3w", 8, 8, 4096, 64, causal=True, window=255),
    Case("P5", 9, 3, 512, 64, causal=True),
    Case("P6", 16, 16, 1024, 80, causal=True),
]


def to_bf16(array):
    """The bits of bf16, rounded to nearest even, as uint16."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def repeat_heads(case, array):
    """Keys or values for every query head, for those who cannot group heads."""
    return np.ascontiguousarray(np.repeat(array, case.groups, axis=1))


class Peak:
    """The peak of the machine, as attn-bench measures it."""

    def __init__(self, library, dtype, threads):
        self.library = ctypes.CDLL(library)
        self.library.attn_peak_create.restype = ctypes.c_void_p
        self.library.attn_peak_measure.restype = ctypes.c_double
        self.library.attn_peak_measure.argtypes = [ctypes.c_void_p, ctypes.c_double]
        self.meter = self.library.attn_peak_create(dtype.encode(), threads)

    def measure(self, seconds):
        return self.library.attn_peak_measure(self.meter, seconds)


def verify(case, dtype, output):
    """Holds some rows of (1, heads, length, size) to float64."""
    rounded = (lambda x: from_bf16(to_bf16(x))) if dtype == "bf16" else lambda x: x
    query, key, value = (rounded(x).astype(np.float64) for x in case.inputs())
    tolerance = {"f32": 1e-4, "bf16": 5e-2}[dtype]
    keep = case.visible()
    for head in (0, case.query_heads - 1):
        k, v = (x[0, head // case.groups] for x in (key, value))
        for row in (0, 1, case.length // 2, case.length - 1):
            scores = k @ query[0, head, row] / np.sqrt(case.head_size)
            scores[~keep[row]] = -np.inf
            weights = np.exp(scores - scores.max())
            expected = weights @ v / weights.sum()
            actual = np.asarray(output[0, head, row], dtype=np.float64)
            error = np.abs(actual - expected).max() / np.abs(expected).max()
            if not error <= tolerance:
                raise Absent(f"wrong result: relative error {error:.2g}")


def measure(case, run, peak, threads, seconds):
    """(GFLOP/s, share of the peak), medians."""
    start = time.perf_counter()
    run()
    # Once is enough of what takes seconds.
    least = 3 if time.perf_counter() - start < 1 else 1
    speeds, shares = [], []
    end = time.perf_counter() + seconds
    while len(speeds) < least or time.perf_counter() < end:
        # The threads of many libraries spin for a while after their work, and
        # would share the processors with the peak.
        settle = 0.3 if threads > 1 else 0
        time.sleep(settle)
        if settle:
            peak.measure(5e-3)
        before = peak.measure(1e-3)
        if settle and least > 1:
            run()
        start = time.perf_counter()
        run()
        elapsed = time.perf_counter() - start
        time.sleep(settle)
        if settle:
            peak.measure(5e-3)
        after = peak.measure(1e-3)
        speeds.append(case.flops / elapsed)
        shares.append(speeds[-1] / ((before + after) / 2))
    return statistics.median(speeds) * 1e-9, statistics.median(shares)


def measure_prefill(case, build, options):
    peak = Peak(options.peak_library, options.dtype, options.threads)
    run, output = build(case, options.dtype, options.threads)
    run()
    verify(case, options.dtype, output())
    gflops, share = measure(case, run, peak, options.threads, options.seconds)
    return {"gflops": gflops, "share": share}


def prefill(implementations):
    """`implementations`: name -> function of (case, dtype, threads) that gives
    (run, output): a function that runs it once, and one that gives the result
    as (1, heads, length, size)."""
    return CASES, measure_prefill, implementations


def main(*families):
    """Each family has cases, a function of (case, implementation, options) that
    measures, and implementations by name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True)
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16", "f16"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1, help="for each case")
    parser.add_argument("--peak-library", required=True)
    options = parser.parse_args()

    for cases, measure_case, implementations in families:
        wanted = [case for case in cases if case.name in options.cases.split(",")]
        for name, build in implementations.items():
            for case in wanted:
                report.attempt(
                    {"peer": name, "case": case.name},
                    functools.partial(measure_case, case, build, options),
                )
