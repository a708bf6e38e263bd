# ===- projections.py - Figures of projections of many tokens --------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures projections of many tokens, into docs/benchmarks-layers.md.

    python3 scripts/projections.py [--only REGEX] [--no-peer]

PyTorch's Linear runs beside those of one type, in the environment that
scripts/peers/compare.py makes.
"""

import beside_pytorch
import figures

HEADS = [
    "tokens",
    "input, weight",
    "threads",
    "ms",
    "GFLOP/s",
    "share of peak",
    "PyTorch, ms",
    "times ours",
]
PATTERN = "^projection/({})/threads:[0-9]+/"
CASES = "(f32/)?S(512|1024|2048)/(f32|bf16)"


def describe(benchmarks, theirs):
    rows, notes = [], []
    for case, bench in benchmarks.items():
        if bench.get("error_occurred"):
            notes.append(f"{case}: {bench['error_message']}")
            continue
        *given, length, weight, threads = case.split("/")
        row = [
            length.removeprefix("S"),
            ", ".join([*given, weight]) if given else weight,
            threads.removeprefix("threads:"),
            figures.number(bench, "real_time", 2),
            figures.number(bench, "gflops", 0),
            figures.number(bench, "fraction_of_peak", 2),
        ]
        peer = theirs.get(case)
        row += beside_pytorch.compare_times(peer, bench, 2)
        if isinstance(peer, str):
            notes.append(f"{case}, PyTorch: {peer}")
        if bench["processors"] < 0.9 * int(threads.removeprefix("threads:")):
            processors = figures.number(bench, "processors", 1)
            notes.append(f"{case}: {processors} processors")
        rows.append(row)
    return beside_pytorch.describe(HEADS, rows, notes)


def main():
    options = beside_pytorch.parse(__doc__, CASES)
    benchmarks = beside_pytorch.run_ours(
        options,
        PATTERN.format(options.only),
        lambda x: x.removeprefix("projection/").removesuffix("/manual_time"),
    )
    cases = [case for case in benchmarks if case.startswith("S")]
    theirs = beside_pytorch.run_theirs(options, "projection.py", cases)
    text = f"{figures.machine()}\n\n{describe(benchmarks, theirs)}"
    figures.publish(options, "projections", text)


if __name__ == "__main__":
    main()
