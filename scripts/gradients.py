# ===- gradients.py - Figures of gradients beside PyTorch's ----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures gradients of attention beside PyTorch's, into docs/benchmarks-gradients.md.

    python3 scripts/gradients.py [--only REGEX] [--no-peer]

PyTorch's are the backward pass alone of scaled_dot_product_attention, where a causal
mask is its own and a window and documents are tensors of booleans, and of the formula
where it has no score, in the environment that scripts/peers/compare.py makes.
"""

import beside_pytorch
import figures

HEADS = ["case", "type", "threads", "ms", "share of peak", "PyTorch, ms", "times ours"]
PATTERN = "^gradient/({})/threads:[0-9]+/"
CASES = "(P1|P1c|P2c|P3w|V-alibi|V-softcap|V-document)/(f32|bf16)"


def describe(benchmarks, theirs):
    rows, notes = [], []
    for case, bench in benchmarks.items():
        if bench.get("error_occurred"):
            notes.append(f"{case}: {bench['error_message']}")
            continue
        name, dtype, threads = case.split("/")
        row = [
            name,
            dtype,
            threads.removeprefix("threads:"),
            figures.number(bench, "real_time", 1),
            figures.number(bench, "fraction_of_peak", 2),
        ]
        peer = theirs.get(case)
        row += beside_pytorch.compare_times(peer, bench, 1)
        if isinstance(peer, str):
            notes.append(f"{case}, PyTorch: {peer}")
        rows.append(row)
    return beside_pytorch.describe(HEADS, rows, notes)


def main():
    options = beside_pytorch.parse(__doc__, CASES)
    benchmarks = beside_pytorch.run_ours(
        options,
        PATTERN.format(options.only),
        lambda x: x.removeprefix("gradient/").removesuffix("/manual_time"),
    )
    theirs = beside_pytorch.run_theirs(options, "gradient.py", list(benchmarks))
    text = f"{figures.machine()}\n\n{describe(benchmarks, theirs)}"
    figures.publish(options, "gradient-peers", text)


if __name__ == "__main__":
    main()
