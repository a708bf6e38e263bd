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

import argparse
import sys
from pathlib import Path

import figures

sys.path.insert(0, str(figures.ROOT / "scripts" / "peers"))

import compare  # pylint: disable=wrong-import-position

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
            notes.append(f"- {case}: {bench['error_message']}")
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
        if isinstance(peer, float):
            row += [f"{peer:.2f}", f"{peer / bench['real_time']:.2f}"]
        else:
            row += ["", ""]
            if isinstance(peer, str):
                notes.append(f"- {case}, PyTorch: {peer}")
        if bench["processors"] < 0.9 * int(threads.removeprefix("threads:")):
            processors = figures.number(bench, "processors", 1)
            notes.append(f"- {case}: {processors} processors")
        rows.append(row)
    text = figures.table(HEADS, rows)
    return "\n".join([text, "", *notes]) if notes else text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default=CASES, help="cases, a regular expression")
    parser.add_argument("--min-time", type=float, default=1)
    bench = figures.ROOT / "build" / "release" / "bin" / "attn-bench"
    parser.add_argument("--bench", type=Path, default=bench)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    options = parser.parse_args()
    pattern = PATTERN.format(options.only)
    benchmarks = {
        bench["name"].removeprefix("projection/").removesuffix("/manual_time"): bench
        for bench in figures.run_bench(options.bench, pattern, options.min_time)
    }
    if not benchmarks:
        sys.exit(f"no case is called {options.only}")
    theirs = {}
    cases = [case for case in benchmarks if case.startswith("S")]
    if cases and not options.no_peer:
        theirs = compare.run_pytorch("projection.py", "case", cases, options.min_time)
    text = f"{figures.machine()}\n\n{describe(benchmarks, theirs)}"
    if options.print:
        print(text)
    else:
        figures.replace_section("projections", text)


if __name__ == "__main__":
    main()
