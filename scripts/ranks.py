# ===- ranks.py - Two ranks beside two threads ------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Prints the table of docs/sharding.md.

Each variant runs in turns in one process of two threads and on two ranks of one
thread each, ROUNDS times, and the least time of each counts.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "build/release/bin/attn-run"
ROUNDS = 3
ROWS = 8192
VARIANTS = {
    "none masked": ("", "", "sequence"),
    "ALiBi": (", %slopes: tensor<8xf32>", "score alibi(%slopes : tensor<8xf32>)", "sequence"),
    "causal window of 512": ("", "mask causal, sliding_window(511, 0)", "sequence"),
    "causal": ("", "mask causal", "sequence"),
    "causal, by heads": ("", "mask causal", "heads"),
    "one query, 32768 keys": ("", "", "keys"),
}
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def write_text(split, captures, clauses):
    query = "tensor<1x8x1x64xf32>" if split == "keys" else "tensor<1x8x?x64xf32>"
    key = "tensor<1x8x?x64xf32>"
    sizes = "%n" if split != "keys" else ""
    return f"""
func.func @attention(%query: {query}, %key: {key}, %value: {key}{captures}) -> {query} {{
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : {query}
  %init = tensor.empty({sizes}) : {query}
  %o = attn.attention ins(%query, %key, %value : {query}, {key}, {key})
      outs(%init : {query}) {clauses}
  return %o : {query}
}}
"""


def measure(folder, launcher, text, options, decodes):
    report = folder / "report.json"
    shape = "1x8x32768x64" if decodes else f"1x8x{ROWS}x64"
    command = [*launcher, RUN, text, *options, "--random=1", f"--json={report}"]
    command += ["--arg", "-" if decodes else shape, "--arg", shape]
    command += [f"--cache-dir={folder / 'cache'}", f"--repeat={50 if decodes else 2}"]
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return json.loads(report.read_text(encoding="utf-8"))["run"]["minMs"]


def main():
    print("| variant | one process (ms) | two ranks (ms) | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for variant, (captures, clauses, split) in VARIANTS.items():
            text = folder / "attention.mlir"
            text.write_text(write_text(split, captures, clauses), encoding="utf-8")
            decodes = split == "keys"
            ranks = ["mpirun", "--bind-to", "none", "--oversubscribe", "-n", "2"]
            times = ([], [])
            for _ in range(ROUNDS):
                times[0].append(measure(folder, [], text, ["--threads=2"], decodes))
                options = ["--mpi", f"--split={split}"]
                times[1].append(measure(folder, ranks, text, options, decodes))
            alone, together = min(times[0]), min(times[1])
            print(
                f"| {variant} | {alone:.1f} | {together:.1f} | {together / alone:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
