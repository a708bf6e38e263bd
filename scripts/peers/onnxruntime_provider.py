# ===- onnxruntime_provider.py - Attn inside of ONNX Runtime ----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures nodes of ONNX Runtime with Attn's execution provider and without it.

    python3 scripts/peers/onnxruntime_provider.py [--cases P1c,P2c,D1] [--print]

Each node is in two sessions of one process, which run in turns, in f32 and on one
thread. Writes a table into docs/benchmarks-peers.md.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = "P1,P1c,P2,P2c,P3w,P5,P6,D1"


def time_in_turns(pairs, seconds):
    """Medians of milliseconds for each of several calls of two functions, of which
    one call after the other is measured."""
    for pair in pairs:
        for call in pair:
            call()
    times = ([], [])
    end = time.perf_counter() + seconds
    while len(times[0]) < 5 or time.perf_counter() < end:
        for pair in pairs:
            for call, taken in zip(pair, times):
                start = time.perf_counter()
                call()
                taken.append(time.perf_counter() - start)
    return [1e3 * statistics.median(taken) for taken in times]


def measure(options):
    """In the environment that has ONNX Runtime: a line of JSON for each node."""
    # pylint: disable=import-outside-toplevel,import-error
    import numpy as np
    import onnxruntime

    import decoding
    import peer
    import peer_onnxruntime
    import report

    name = "AttnExecutionProvider"
    onnxruntime.register_execution_provider_library("attn", str(options.library))
    ours = [d for d in onnxruntime.get_ep_devices() if d.ep_name == name]
    print(json.dumps({"version": onnxruntime.__version__}))

    def prefill(case, build):
        calls = []
        for devices in ((), ours):
            run, output = build(case, "f32", 1, devices)
            run()
            peer.verify(case, "f32", output())
            calls.append(run)
        return time_in_turns([calls], options.seconds)

    def decode(step, build):
        random = np.random.default_rng(1)
        query, key, value = (
            random.standard_normal((1, heads, length, step.head_size), np.float32)
            for heads, length in (
                (step.query_heads, 1),
                (step.key_heads, step.keys),
                (step.key_heads, step.keys),
            )
        )
        caches = [
            (key.copy(), value.copy())
            for _ in range(decoding.count_caches(2 * key.nbytes))
        ]
        binds = [build(step, "f32", 1, x) for x in ((), ours)]
        pairs = []
        for cache in caches:
            bound = [bind(query, *cache) for bind in binds]
            pairs.append([run for run, _ in bound])
        for run, output in bound:
            run()
            decoding.verify(step, "f32", (query, key, value), output())
        return time_in_turns(pairs, options.seconds)

    def attempt(case, operator, function):
        def result():
            own, attn = function()
            return {"own": own, "attn": attn}

        report.attempt({"case": case.name, "operator": operator}, result)

    wanted = options.cases.split(",")
    for case in peer.CASES:
        if case.name not in wanted:
            continue
        builds = {"Attention": peer_onnxruntime.attention}
        if case.causal:
            builds["GroupQueryAttention"] = peer_onnxruntime.group_query
        for operator, build in builds.items():
            attempt(case, operator, lambda c=case, b=build: prefill(c, b))
    for step in decoding.STEPS:
        if step.name in wanted:
            for operator, build in (
                ("Attention", peer_onnxruntime.decode),
                ("GroupQueryAttention", peer_onnxruntime.decode_group_query),
            ):
                attempt(step, operator, lambda s=step, b=build: decode(s, b))


def describe(results):
    rows = []
    for r in results:
        cells = [r["case"], r["operator"]]
        if "absent" in r:
            rows.append([*cells, "-", r["absent"], "-"])
        else:
            times = [f"{r['own']:.2f}", f"{r['attn']:.2f}"]
            rows.append([*cells, *times, f"{r['own'] / r['attn']:.2f}"])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--seconds", type=float, default=3, help="for each node")
    build = HERE.parent.parent / "build" / "release"
    parser.add_argument(
        "--library", type=Path, default=build / "lib" / "libattn-onnxruntime.so"
    )
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options)
        return

    # pylint: disable=import-outside-toplevel
    import compare

    python = compare.make_environment("onnxruntime", compare.PEERS["onnxruntime"])
    command = [str(python), str(HERE / Path(__file__).name), "--measure"]
    command += [f"--cases={options.cases}", f"--seconds={options.seconds}"]
    command += [f"--library={options.library}"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    lines = [json.loads(x) for x in result.stdout.splitlines() if x.startswith("{")]
    heads = ["case", "operator", f"ONNX Runtime {lines[0]['version']}, ms"]
    heads += ["with Attn, ms", "times as fast"]
    text = compare.figures.table(heads, describe(lines[1:]))
    compare.figures.publish(
        options,
        "onnxruntime-provider",
        f"{compare.figures.machine()}\n\n{text}",
    )


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
