# ===- variants.py - Figures of the gallery --------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures variants and calls on one thread, into docs/benchmarks-variants.md.

    python3 scripts/variants.py [--only window,documents] [--no-peer]

FlexAttention, compiled, runs beside what it can express, in the environment that
scripts/peers/compare.py makes. A variant of which it fails has no number there.
"""

import argparse
import re
import sys
from pathlib import Path

import figures

sys.path.insert(0, str(figures.ROOT / "scripts" / "peers"))

import compare  # pylint: disable=wrong-import-position

TYPES = ("f32", "bf16")


def run_ours(options):
    """{variant: {type: benchmark}}, in the order of the gallery."""
    names = options.only.replace(",", "|") or ".*"
    found = {}
    for dtype in TYPES:
        pattern = f"^variant/({names})/{dtype}/threads:1/"
        for bench in figures.run_bench(options.bench, pattern, options.min_time):
            found.setdefault(bench["name"].split("/")[1], {})[dtype] = bench
    return found


def describe(ours, theirs):
    rows, notes = [], []
    for name, types in ours.items():
        cells = []
        for dtype in TYPES:
            bench = types.get(dtype, {})
            if bench.get("error_occurred"):
                notes.append(f"- {name}, {dtype}: {bench['error_message']}")
            cells.append(figures.number(bench, "vs_causal", 2))
        single = types.get("f32", {})
        time = single.get("real_time")
        peer = theirs.get(name)
        cells += [figures.number(single, "times_faster", 2)]
        cells += [figures.number(single, "real_time", 1)]
        if isinstance(peer, float) and time:
            cells += [f"{peer:.1f}", f"{peer / time:.1f}"]
        else:
            cells += ["", ""]
            if peer:
                notes.append(f"- {name}, FlexAttention: {peer}")
        rows.append([name, *cells])
    heads = ["variant", "f32", "bf16", "causal / variant", "ms, f32"]
    text = figures.table([*heads, "FlexAttention, ms", "times ours"], rows)
    return "\n".join([text, "", *notes]) if notes else text


def describe_calls(options):
    """A table of what a call costs with one batch, and with none."""
    times = {}
    for bench in figures.run_bench(options.bench, "^call/", options.min_time):
        _, name, *empty = bench["name"].split("/")
        times.setdefault(name, {})[bool(empty)] = figures.number(bench, "real_time", 0)
    rows = [[name, found[False], found[True]] for name, found in times.items()]
    return figures.table(["mask", "one query, one key", "no batch"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="variants, with commas in between")
    parser.add_argument("--min-time", type=float, default=1)
    bench = figures.ROOT / "build" / "release" / "bin" / "attn-bench"
    parser.add_argument("--bench", type=Path, default=bench)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    options = parser.parse_args()
    if not re.fullmatch(r"[\w,]*", options.only):
        parser.error(f"--only: expected names with commas, got '{options.only}'")
    ours = run_ours(options)
    if not ours:
        sys.exit(f"no variant is called {options.only}")
    theirs = {}
    if not options.no_peer:
        theirs = compare.run_pytorch(
            "flex_variants.py", "variant", ours, options.min_time
        )
    text = f"{figures.machine()}\n\n{describe(ours, theirs)}"
    calls = describe_calls(options)
    if options.print:
        print(f"{text}\n\n{calls}")
        return
    figures.replace_section("variants", text)
    figures.replace_section("calls", calls)


if __name__ == "__main__":
    main()
