# ===- plot.py - Draws what compare.py measured ----------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Reads results as JSON and draws them into the file that is named: for each
type, on as few threads as were measured, a group of bars for each case."""

import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "attn"  # The same file for the same figures.

import matplotlib.pyplot as plt  # pylint: disable=wrong-import-position


def draw(axes, results, title):
    cases = list(dict.fromkeys(r["case"] for r in results))
    names = list(dict.fromkeys(r["peer"] for r in results))
    shares = {(r["peer"], r["case"]): 100 * r["share"] for r in results}
    width = 0.85 / max(len(names), 1)
    for i, name in enumerate(names):
        axes.bar(
            [c + (i - (len(names) - 1) / 2) * width for c in range(len(cases))],
            [shares.get((name, case), 0) for case in cases],
            width,
            label=name,
            color="black" if name == "Attn" else f"C{i - 1}",
        )
    axes.set_xticks(range(len(cases)), cases)
    axes.set_ylabel("% of the peak")
    axes.set_title(title)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(fontsize="small", ncols=2, loc="upper left", bbox_to_anchor=(1, 1))


def main():
    results = [r for r in json.load(sys.stdin) if "share" in r]
    threads = min((r["threads"] for r in results), default=1)
    results = [r for r in results if r["threads"] == threads]
    count = f"{threads} thread" + ("s" if threads > 1 else "")
    dtypes = list(dict.fromkeys(r["dtype"] for r in results))
    figure, axes = plt.subplots(
        max(len(dtypes), 1), figsize=(13, 3.5 * max(len(dtypes), 1)), squeeze=False
    )
    for row, dtype in zip(axes[:, 0], dtypes):
        draw(row, [r for r in results if r["dtype"] == dtype], f"{dtype}, {count}")
    figure.tight_layout()
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
