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

import argparse
import sys
from pathlib import Path

import figures

sys.path.insert(0, str(figures.ROOT / "scripts" / "peers"))

import compare  # pylint: disable=wrong-import-position

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
            notes.append(f"- {case}: {bench['error_message']}")
        row = [
            case,
            figures.number(bench, "real_time", 1),
            figures.number(bench, "fraction_of_peak", 2),
            figures.number(bench, "vs_causal", 2),
            figures.number(bench, "compile_ms", 0),
        ]
        peer = theirs.get(case)
        if isinstance(peer, float) and not bench.get("error_occurred"):
            row += [f"{peer:.0f}", f"{peer / bench['real_time']:.1f}"]
        else:
            row += ["", ""]
            if isinstance(peer, str):
                notes.append(f"- {case}, PyTorch: {peer}")
        rows.append(row)
    text = figures.table(HEADS, rows)
    return "\n".join([text, "", *notes]) if notes else text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default=".*", help="cases, a regular expression")
    parser.add_argument("--min-time", type=float, default=1)
    bench = figures.ROOT / "build" / "release" / "bin" / "attn-bench"
    parser.add_argument("--bench", type=Path, default=bench)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    options = parser.parse_args()
    pattern = f"^mta/({options.only})/f32/threads:1/"
    benchmarks = {
        "/".join(bench["name"].split("/")[1:3]): bench
        for bench in figures.run_bench(options.bench, pattern, options.min_time)
    }
    if not benchmarks:
        sys.exit(f"no case is called {options.only}")
    cases = [x for x in benchmarks if int(x.split("/S")[1]) <= LONGEST_OF_PEER]
    theirs = {}
    if cases and not options.no_peer:
        theirs = compare.run_pytorch(
            "multi_token.py", "case", cases, options.min_time
        )
    text = describe(benchmarks, theirs)
    text = f"{figures.machine()}\n\n{text}"
    if options.print:
        print(text)
    else:
        figures.replace_section("mta", text)


if __name__ == "__main__":
    main()
