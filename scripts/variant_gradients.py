# ===- variant_gradients.py - Gradients of the gallery beside PyTorch's ----===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Holds the gradients of examples/variants to PyTorch's autograd in float64, and
measures them beside its own in f32, into docs/benchmarks-gradients.md.

    python3 scripts/variant_gradients.py [--only window,documents] [--threads N]
                                         [--no-times] [--print]

With --only, the rows of the other variants stay as they are in the table of this
processor. PyTorch differentiates the formula, with all scores in memory, in the environment that
scripts/peers/compare.py makes. The exit status is 1 if a variant's gradients are
further away than 1e-5 of their greatest element.
"""

import json
import subprocess
import sys
import tempfile

import beside_pytorch
import figures

compare = beside_pytorch.compare

PEER = figures.ROOT / "scripts" / "peers" / "variant_gradients.py"
HEADS = ["variant", "error", "ms", "PyTorch, ms", "times ours"]
SECTION = "variant-gradients"
TOLERANCE = 1e-5
LEFT_OUT = "documents8"  # What documents is, with more of them.


def list_variants(options):
    command = [str(options.bench), "--benchmark_list_tests"]
    command += [f"--benchmark_filter=^variant-gradient/.*/threads:{options.threads}/"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    names = [line.split("/")[1] for line in listed.stdout.split()]
    chosen = options.only.split(",") if options.only else names
    if unknown := set(chosen) - set(names):
        sys.exit(f"no variant is called {', '.join(sorted(unknown))}")
    names = [name for name in names if name != LEFT_OUT]
    return names, [name for name in names if name in chosen]


def run_ours(name, options, folder):
    command = [str(options.bench), "--alone", f"--save={folder}"]
    command += [f"--benchmark_filter=^variant-gradient/{name}/"]
    command[-1] += f"f32/threads:{options.threads}/"
    command += [f"--benchmark_min_time={options.min_time}", "--benchmark_format=json"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(result.stdout)["benchmarks"][0]


def run_theirs(python, name, options, folder):
    command = [str(python), str(PEER), f"--case={name}", f"--folder={folder}"]
    command += [f"--threads={options.threads}", f"--seconds={options.min_time}"]
    command += ["--no-times"] if options.no_times else []
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(result.stdout or '{"absent": "it ended"}')


def main():
    parser = figures.create_parser(__doc__)
    parser.add_argument("--only", help="variants, with commas in between")
    parser.add_argument("--threads", type=int, default=1, choices=(1, 2))
    parser.add_argument("--no-times", action="store_true", help="errors alone")
    options = parser.parse_args()
    python = compare.make_environment("pytorch", compare.PEERS["pytorch"])
    first_line = f"{figures.machine()} Threads: {options.threads}."
    names, chosen = list_variants(options)
    rows, notes, wrong = {}, [], False
    if options.only and not options.print:
        rows = {row[0]: row for row in figures.read_rows(SECTION, first_line)}
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            ours = run_ours(name, options, folder)
            if ours.get("error_occurred"):
                notes.append(f"{name}: {ours['error_message']}")
                continue
            theirs = run_theirs(python, name, options, folder)
        error = theirs.get("error")
        if error is None:
            notes.append(f"{name}, PyTorch: {theirs['absent']}")
        wrong |= error is not None and not error <= TOLERANCE
        cells = beside_pytorch.compare_times(theirs.get("ms"), ours, 1)
        milliseconds = figures.number(ours, "real_time", 1)
        shown = "" if error is None else f"{error:.1e}"
        rows[name] = [name, shown, milliseconds, *cells]
        print(*rows[name], file=sys.stderr)
    ordered = [rows[name] for name in names if name in rows]
    table = beside_pytorch.describe(HEADS, ordered, notes)
    figures.publish(options, SECTION, f"{first_line}\n\n{table}")
    sys.exit(wrong or bool(notes))


if __name__ == "__main__":
    main()
