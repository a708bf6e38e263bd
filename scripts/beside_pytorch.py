# ===- beside_pytorch.py - Figures beside PyTorch's ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What scripts share that run attn-bench and then a program of scripts/peers on the
same cases, in the environment of PyTorch that scripts/peers/compare.py makes."""

import sys

import figures

sys.path.insert(0, str(figures.ROOT / "scripts" / "peers"))

import compare  # pylint: disable=wrong-import-position


def parse(doc, only=".*"):
    """Options of a script; `only` is the default of --only."""
    parser = figures.create_parser(doc)
    parser.add_argument("--only", default=only, help="cases, a regular expression")
    parser.add_argument("--no-peer", action="store_true", help="without PyTorch")
    return parser.parse_args()


def run_ours(options, pattern, name):
    """{case: benchmark} of the benchmarks that match, by the case that `name` gives
    for the name of each."""
    benchmarks = figures.run_bench(options.bench, pattern, options.min_time)
    if not benchmarks:
        sys.exit(f"no case is called {options.only}")
    return {name(x["name"]): x for x in benchmarks}


def run_theirs(options, script, cases):
    """{case: milliseconds, or why there are none} of a program of scripts/peers."""
    if options.no_peer or not cases:
        return {}
    return compare.run_pytorch(script, cases, options.min_time)


def compare_times(peer, benchmark, digits):
    """Two cells: the peer's milliseconds, and how many times ours they are; blank
    where one failed."""
    if not isinstance(peer, float) or not benchmark.get("real_time"):
        return ["", ""]
    times = peer / benchmark["real_time"]
    return [f"{peer:.{digits}f}", f"{times:.{2 if digits > 1 else 1}f}"]


def describe(heads, rows, notes):
    """A table, and below it what failed or was not as it should be."""
    lines = [figures.table(heads, rows)]
    if notes:
        lines += ["", *(f"- {note}" for note in notes)]
    return "\n".join(lines)
