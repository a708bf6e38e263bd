# ===- decoding.py - Decode steps of peers ---------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""One query of each head against a long cache, which comes from memory: cases,
verification and timing for the files peer_*.py."""

import ctypes
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import peer


@dataclass(frozen=True)
class Step:
    """As in tools/attn-bench/DecodeCase.cpp, in one batch."""

    name: str
    query_heads: int
    key_heads: int
    keys: int
    head_size: int

    @property
    def groups(self):
        return self.query_heads // self.key_heads


STEPS = [Step("D1", 32, 8, 4096, 128)]
# ggml sums values of f16 in f16.
TOLERANCES = {"f32": 1e-4, "f16": 5e-2, "bf16": 5e-2}


def to_type(array, dtype):
    """An array of f32 as f32, f16, or the bits of bf16."""
    if dtype == "bf16":
        return peer.to_bf16(array)
    return array.astype({"f32": np.float32, "f16": np.float16}[dtype])


def from_type(array, dtype):
    bits = peer.from_bf16(array) if dtype == "bf16" else array
    return bits.astype(np.float32)


class Stream:
    """How fast two streams are read, as attn-bench measures it."""

    def __init__(self, library, threads):
        self.library = ctypes.CDLL(library)
        self.library.attn_stream_create.restype = ctypes.c_void_p
        self.library.attn_stream_measure.restype = ctypes.c_double
        self.library.attn_stream_measure.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
        ]
        self.meter = self.library.attn_stream_create(threads)

    def measure(self, key, value):
        """Bytes per second of reading both arrays."""
        return self.library.attn_stream_measure(
            self.meter, key.ctypes.data, value.ctypes.data, key.nbytes
        )


def count_caches(bytes_of_one):
    """So many that together they are twice the last level of the machine's caches,
    and at least 512 MiB."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    largest = max(
        (int(path.read_text(encoding="ascii").strip()[:-1]) << 10 for path in sizes),
        default=0,
    )
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    total = min(max(2 * largest, 512 << 20), free // 2)
    return max(3, -(-total // bytes_of_one))


def verify(step, dtype, inputs, output):
    query, key, value = (from_type(x, dtype).astype(np.float64) for x in inputs)
    for head in range(step.query_heads):
        k, v = (x[0, head // step.groups] for x in (key, value))
        scores = k @ query[0, head, 0] / np.sqrt(step.head_size)
        weights = np.exp(scores - scores.max())
        expected = weights @ v / weights.sum()
        actual = np.asarray(output, np.float64).reshape(step.query_heads, -1)[head]
        error = np.abs(actual - expected).max() / np.abs(expected).max()
        if not error <= TOLERANCES[dtype]:
            raise peer.Absent(f"wrong result: relative error {error:.2g}")


def measure(step, build, options):
    """Medians: 10^9 bytes of keys and values per second, the same as a share of
    the speed of two streams, and that speed."""
    dtype, threads = options.dtype, options.threads
    random = np.random.default_rng(1)
    query, key, value = (
        to_type(
            random.standard_normal((1, heads, length, step.head_size), np.float32),
            dtype,
        )
        for heads, length in (
            (step.query_heads, 1),
            (step.key_heads, step.keys),
            (step.key_heads, step.keys),
        )
    )
    bind = build(step, dtype, threads)
    caches = [
        (key.copy(), value.copy()) for _ in range(count_caches(2 * key.nbytes))
    ]
    runs = [bind(query, *cache)[0] for cache in caches[1:]]
    first, output = bind(query, *caches[0])
    first()
    verify(step, dtype, (query, key, value), output())
    runs.insert(0, first)

    stream = Stream(options.peak_library, threads)
    # The threads of many libraries spin for a while after their work.
    settle = 0.3 if threads > 1 else 0
    speeds, shares, streams = [], [], []
    end = time.perf_counter() + options.seconds
    turn = 0
    while len(speeds) < 5 or time.perf_counter() < end:
        before, current, after = (
            (turn + i) % len(caches) for i in range(3)
        )
        turn += 3
        time.sleep(settle)
        read = stream.measure(*caches[before])
        start = time.perf_counter()
        runs[current]()
        elapsed = time.perf_counter() - start
        time.sleep(settle)
        read = (read + stream.measure(*caches[after])) / 2
        speeds.append(2 * key.nbytes / elapsed)
        streams.append(read)
        shares.append(speeds[-1] / read)
    return {
        "gbps": statistics.median(speeds) * 1e-9,
        "share": statistics.median(shares),
        "stream_gbps": statistics.median(streams) * 1e-9,
    }


def steps(implementations):
    """`implementations`: name -> function of (step, dtype, threads) that gives a
    function of (query, key, value), arrays (1, heads, length, size) as to_type
    gives them, that gives (run, output): a function that runs it once, and one
    that gives the result as f32, in the order (heads, size)."""
    return STEPS, measure, implementations
