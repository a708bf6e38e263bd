# ===- finetune.py - Trains a model beside PyTorch -------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Trains the layers of SmolLM2-135M on a book, with examples/train's finetune and with
PyTorch, on the same tokens, into docs/benchmarks-gradients.md.

    python3 scripts/finetune.py [--steps N] [--threads 1,2] [--print]

Fetches the model and the book, if they are not there. PyTorch's part runs in the
environment that scripts/peers/compare.py makes. The exit status is 1 if the losses of
a step differ by more than 1e-3.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile

import beside_pytorch  # For the path of the peers.
import figures

compare = beside_pytorch.compare

PROGRAM = figures.ROOT / "build" / "release" / "bin" / "finetune"
STEP = re.compile(r"step +\d+: loss ([\d.]+), ([\d.]+) s")
HEADS = [
    "threads",
    "loss, first 5 steps",
    "last 5 steps",
    "largest difference",
    "steps/s",
    "PyTorch, steps/s",
    "times theirs",
]
BATCH, LENGTH, RATE, TOLERANCE = 2, 128, 2e-5, 1e-3


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{command[0]} failed")
    return result.stdout


def fetch(script):
    return run([str(figures.ROOT / "scripts" / script)]).strip()


def train(model, book, options, threads, tokens):
    """(losses, seconds) of our steps and of PyTorch's."""
    common = {
        "steps": options.steps,
        "batch": BATCH,
        "length": LENGTH,
        "threads": threads,
        "rate": RATE,
        "tokens": tokens,
    }
    common = [f"--{name}={value}" for name, value in common.items()]
    steps = STEP.findall(run([str(PROGRAM), model, book, *common]))
    ours = [[float(x) for x in numbers] for numbers in zip(*steps)]
    python = compare.make_environment("pytorch", compare.PEERS["pytorch"])
    peer = figures.ROOT / "scripts" / "peers" / "finetune.py"
    theirs = json.loads(run([str(python), str(peer), f"--model={model}", *common]))
    return ours, [theirs["losses"], theirs["seconds"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--print", action="store_true", help="change no page")
    options = parser.parse_args()
    model, book = fetch("fetch-model.sh"), fetch("fetch-book.sh")
    rows, most = [], 0
    for threads in options.threads.split(","):
        with tempfile.NamedTemporaryFile() as tokens:
            ours, theirs = train(model, book, options, threads, tokens.name)
        difference = max(abs(x - y) for x, y in zip(ours[0], theirs[0], strict=True))
        most = max(most, difference)
        speeds = [1 / statistics.median(seconds) for _, seconds in (ours, theirs)]
        rows.append(
            [
                threads,
                f"{statistics.mean(ours[0][:5]):.4f}",
                f"{statistics.mean(ours[0][-5:]):.4f}",
                f"{difference:.1e}",
                f"{speeds[0]:.3f}",
                f"{speeds[1]:.3f}",
                f"{speeds[0] / speeds[1]:.2f}",
            ]
        )
    figures.publish(
        options, "finetune", f"{figures.machine()}\n\n{figures.table(HEADS, rows)}"
    )
    sys.exit(1 if not most <= TOLERANCE else 0)


if __name__ == "__main__":
    main()
