# ===- multi_token.py - Figures of multi-token attention -------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures multi-token attention on one thread, into docs/benchmarks-multi-token.md.

    python3 scripts/multi_token.py [--only REGEX] [--no-peer]

PyTorch's unfused module runs beside lengths up to 2048, in the environment that
scripts/peers/compare.py makes: its matrices of longer ones take several GB.
"""

import beside_pytorch
import figures

LONGEST_OF_PEER = 2048
HEADS = [
    "case",
    "ms",
    "share of peak",
    "time / causal",
    "compile ms",
    "PyTorch, ms",
    "times ours",
]


def describe(benchmarks, theirs):
    rows, notes = [], []
    for case, bench in benchmarks.items():
        if bench.get("error_occurred"):
            notes.append(f"{case}: {bench['error_message']}")
        row = [
            case,
            figures.number(bench, "real_time", 1),
            figures.number(bench, "fraction_of_peak", 2),
            figures.number(bench, "vs_causal", 2),
            figures.number(bench, "compile_ms", 0),
        ]
        peer = theirs.get(case)
        row += beside_pytorch.compare_times(peer, bench, 0)
        if isinstance(peer, str):
            notes.append(f"{case}, PyTorch: {peer}")
        rows.append(row)
    return beside_pytorch.describe(HEADS, rows, notes)


def main():
    options = beside_pytorch.parse(__doc__)
    benchmarks = beside_pytorch.run_ours(
        options,
        f"^mta/({options.only})/f32/threads:1/",
        lambda x: "/".join(x.split("/")[1:3]),
    )
    cases = [x for x in benchmarks if int(x.split("/S")[1]) <= LONGEST_OF_PEER]
    theirs = beside_pytorch.run_theirs(options, "multi_token.py", cases)
    text = f"{figures.machine()}\n\n{describe(benchmarks, theirs)}"
    figures.publish(options, "mta", text)


if __name__ == "__main__":
    main()
