# ===- variants.py - Figures of the gallery --------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures variants and calls, into docs/benchmarks-variants.md.

    python3 scripts/variants.py [--only window,documents] [--no-peer]

FlexAttention, compiled, runs beside what it can express, on one thread, in the
environment that scripts/peers/compare.py makes. A variant of which it fails has no
number there.
"""

import beside_pytorch
import figures

COLUMNS = [(dtype, threads) for threads in (1, 2) for dtype in ("f32", "bf16")]
HEADS = [
    "variant",
    *(f"{dtype}, {threads}" for dtype, threads in COLUMNS),
    "causal / variant",
    "ms, f32",
    "FlexAttention, ms",
    "times ours",
]


def run_ours(options):
    """{variant: {(type, threads): benchmark}}, in the order of the gallery."""
    pattern = f"^variant/({options.only})/(f32|bf16)/threads:(1|2)/"
    found = {}
    benchmarks = beside_pytorch.run_ours(
        options, pattern, lambda x: tuple(x.split("/")[1:4])
    )
    for (name, dtype, threads), bench in benchmarks.items():
        column = (dtype, int(threads.removeprefix("threads:")))
        found.setdefault(name, {})[column] = bench
    return found


def describe(ours, theirs):
    rows, notes = [], []
    for name, benchmarks in ours.items():
        cells = []
        for column in COLUMNS:
            bench = benchmarks.get(column, {})
            if bench.get("error_occurred"):
                notes.append(f"{name}, {column}: {bench['error_message']}")
            cells.append(figures.number(bench, "vs_causal", 2))
        single = benchmarks.get(("f32", 1), {})
        cells += [figures.number(single, "times_faster", 2)]
        cells += [figures.number(single, "real_time", 1)]
        peer = theirs.get(name)
        if isinstance(peer, str):
            notes.append(f"{name}, FlexAttention: {peer}")
        rows.append([name, *cells, *beside_pytorch.compare_times(peer, single, 1)])
    return beside_pytorch.describe(HEADS, rows, notes)


def describe_calls(options):
    """A table of what a call costs with one batch, and with none."""
    times = {}
    for bench in figures.run_bench(options.bench, "^call/", options.min_time):
        _, name, *empty = bench["name"].split("/")
        times.setdefault(name, {})[bool(empty)] = figures.number(bench, "real_time", 0)
    rows = [[name, found[False], found[True]] for name, found in times.items()]
    return figures.table(["mask", "one query, one key", "no batch"], rows)


def main():
    options = beside_pytorch.parse(__doc__)
    ours = run_ours(options)
    theirs = beside_pytorch.run_theirs(options, "flex_variants.py", ours)
    text = f"{figures.machine()}\n\n{describe(ours, theirs)}"
    figures.publish(options, "variants", text)
    figures.publish(options, "calls", describe_calls(options))


if __name__ == "__main__":
    main()
