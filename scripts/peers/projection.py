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

import re
import time

import torch
import torch._inductor.config

import report

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


def measure(case, seconds):
    """Milliseconds of a call."""
    length, dtype, threads = re.fullmatch(r"S(\d+)/(\w+)/threads:(\d+)", case).groups()
    length, threads = int(length), int(threads)
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    module = torch.nn.Linear(FEATURES, FEATURES, bias=False, dtype=TYPES[dtype])
    tokens = torch.randn(length, FEATURES).to(TYPES[dtype])
    torch._dynamo.reset()
    project = torch.compile(module.eval(), dynamic=False)
    with torch.inference_mode():
        verify(dtype, module, tokens, project(tokens))
        start, busy = time.perf_counter(), time.process_time()
        result = report.time_calls(lambda: project(tokens), seconds)
        busy = (time.process_time() - busy) / (time.perf_counter() - start)
    if busy < 0.9 * threads:  # Something else ran.
        raise ValueError(f"{busy:.1f} processors")
    return result


if __name__ == "__main__":
    torch._inductor.config.freezing = True
    report.main(__doc__, measure)
