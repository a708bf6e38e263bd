# ===- projection.py - Projections in PyTorch ------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Projections of attn-bench's as PyTorch's Linear, which calls oneDNN or MKL.

Runs in PyTorch's environment and prints one line of JSON for each case, as
`S512/bf16/threads:1`: {"case", "ms"}, a median, or {"case", "absent"} with the
reason. The module is compiled with its weight as a constant, which is packed once.
"""

import argparse
import json
import re
import statistics
import time

import torch
import torch._inductor.config

FEATURES = 2048  # As in tools/attn-bench/Projection.cpp.
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
# Of the largest number of a row.
TOLERANCES = {"f32": 1e-5, "bf16": 1e-2}


def verify(dtype, module, tokens, output):
    """Holds some rows to float64."""
    for row in (0, len(tokens) // 2, len(tokens) - 1):
        expected = module.weight.double() @ tokens[row].double()
        error = (output[row].double() - expected).abs().max()
        if not error <= TOLERANCES[dtype] * expected.abs().max():
            raise ValueError(f"wrong result: {error:.2g}")


def measure(length, dtype, threads, seconds):
    """Milliseconds of a call."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    module = torch.nn.Linear(FEATURES, FEATURES, bias=False, dtype=TYPES[dtype])
    tokens = torch.randn(length, FEATURES).to(TYPES[dtype])
    torch._dynamo.reset()
    project = torch.compile(module.eval(), dynamic=False)
    times = []
    with torch.inference_mode():
        verify(dtype, module, tokens, project(tokens))
        end = time.perf_counter() + seconds
        busy = time.process_time()
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            project(tokens)
            times.append(time.perf_counter() - start)
        busy = (time.process_time() - busy) / sum(times)
    if busy < 0.9 * threads:  # Something else ran.
        raise ValueError(f"{busy:.1f} processors")
    return 1e3 * statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", required=True)
    parser.add_argument("--seconds", type=float, default=1, help="for each case")
    options = parser.parse_args()
    torch._inductor.config.freezing = True
    for case in options.cases.split(","):
        result = {"case": case}
        try:
            length, dtype, threads = re.fullmatch(
                r"S(\d+)/(\w+)/threads:(\d+)", case
            ).groups()
            result["ms"] = measure(int(length), dtype, int(threads), options.seconds)
        # PyTorch may raise anything; the others go on.
        except Exception as error:  # pylint: disable=broad-except
            lines = str(error).strip().splitlines() or [type(error).__name__]
            result["absent"] = lines[0][:200]
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
