# ===- ranks.py - Two ranks beside two threads ------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Prints the table of docs/sharding.md, or of it the rows that arguments name.

Each variant runs in turns in one process of two threads, and on two and on four
ranks of one thread each, ROUNDS times, and the least time of each counts.

With --model, prints instead what rank_model.py predicts of ways to split attention, and
what they take, on two and on four ranks of one thread each. What each of the two cores
computes in a second is that of one process of one thread, and the link is what the ranks
measure.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rank_model import (
    CPU,
    Layer,
    Link,
    Machine,
    simulate_decoding,
    simulate_gather,
    simulate_heads,
    simulate_ring,
)

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "build/release/bin/attn-run"
ROUNDS = 3
ROWS = 8192
HEADS = 8
# What is captured, its clauses, and how it is split.
VARIANTS = {
    "none masked": ("", "", "sequence"),
    "ALiBi": (", %slopes: tensor<8xf32>", "score alibi(%slopes : tensor<8xf32>)", "sequence"),
    "causal window of 512": ("", "mask causal, sliding_window(511, 0)", "sequence"),
    "causal, 8 documents": (
        ", %of: tensor<1x?xi32>",
        "mask causal, document(%of, %of : tensor<1x?xi32>, tensor<1x?xi32>)",
        "sequence",
    ),
    "causal": ("", "mask causal", "sequence"),
    "causal, 2 key/value heads": ("", "mask causal", "sequence"),
    "causal, ALiBi": (
        ", %slopes: tensor<8xf32>",
        "score alibi(%slopes : tensor<8xf32>) mask causal",
        "sequence",
    ),
    "causal, sinks": (", %sink: tensor<8xf32>", "sink(%sink : tensor<8xf32>) mask causal", "sequence"),
    "causal, captured bias": (
        ", %bias: tensor<?x?xf32>",
        "score bias(%bias : tensor<?x?xf32>) mask causal",
        "sequence",
    ),
    "causal, by heads": ("", "mask causal", "heads"),
    "gradients, causal": ("", "mask causal", "sequence"),
    "one query, 32768 keys": ("", "", "keys"),
}
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def write_text(split, captures, clauses, key_heads):
    query = "tensor<1x8x1x64xf32>" if split == "keys" else "tensor<1x8x?x64xf32>"
    key = f"tensor<1x{key_heads}x?x64xf32>"
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


def write_gradients(clauses, key_heads):
    query, lse = "tensor<1x8x?x64xf32>", "tensor<1x8x?xf32>"
    key = f"tensor<1x{key_heads}x?x64xf32>"
    types = f"{query}, {key}, {key}"
    return f"""
func.func @gradients(%query: {query}, %key: {key}, %value: {key}, %output: {query}, %lse: {lse},
                     %gradient: {query}) -> ({types}) {{
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : {query}
  %m = tensor.dim %key, %c2 : {key}
  %q = tensor.empty(%n) : {query}
  %k = tensor.empty(%m) : {key}
  %d:3 = attn.attention_backward
      ins(%query, %key, %value, %output, %lse, %gradient : {types}, {query}, {lse}, {query})
      outs(%q, %k, %k : {types}) {clauses}
  return %d#0, %d#1, %d#2 : {types}
}}
"""


def get_arguments(folder, variant, captures, key_heads):
    """What --arg says of a variant."""
    if variant.startswith("gradients"):
        rows = f"1x{HEADS}x{ROWS}x64"
        return [rows, f"1x{key_heads}x{ROWS}x64", "-", rows, f"1x{HEADS}x{ROWS}"]
    if variant.startswith("one query"):
        return ["-", f"1x{key_heads}x32768x64"]
    arguments = [f"1x{HEADS}x{ROWS}x64", f"1x{key_heads}x{ROWS}x64"]
    if "%of" in captures:
        documents = folder / "documents.npy"
        header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': (1, {ROWS}), }}"
        header = header.ljust(117) + "\n"  # 128 bytes with what comes before.
        numbers = struct.pack(f"<{ROWS}i", *(8 * row // ROWS for row in range(ROWS)))
        documents.write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers
        )
        arguments += ["-", str(documents)]
    elif "%bias" in captures:
        arguments += ["-", f"{ROWS}x{ROWS}"]
    return arguments


def get_repeats(variant):
    """What is over soon runs more often."""
    if variant.startswith("one query"):
        return 50
    return 20 if "window" in variant or "documents" in variant else 2


CORES = 2


def measure(folder, launcher, text, options, arguments):
    report = folder / "report.json"
    command = [*launcher, RUN, text, *options, "--random=1", f"--json={report}"]
    for argument in arguments:
        command += ["--arg", argument]
    command += [f"--cache-dir={folder / 'cache'}"]
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    written = json.loads(report.read_text(encoding="utf-8"))
    return written["run"]["minMs"], written.get("link")


def start_ranks(count):
    return ["mpirun", "--bind-to", "none", "--oversubscribe", "-n", str(count)]


def predict(split, alone, ranks, link, rows):
    """Seconds that a way to split takes on so many ranks, by what one process takes."""
    is_decode = split == "keys"
    layer = Layer(HEADS, HEADS, 64, element=4, is_causal=not is_decode)
    speed = min(1, CORES / ranks) / CORES / alone
    # Ranks take turns on a core with all that they do on it.
    turns = max(1, ranks / CORES)
    link = Link(link["bytesPerSecond"] / turns, link["latency"])
    machine = Machine(
        flops=layer.work(replace(Machine(), flops=1.0), layer.visible(0, 0, rows)) * speed,
        memory=rows * layer.row_bytes() * speed,
        node=ranks,
        near=link,
        far=link,
        message=0.0,
        step=CPU["step"],
        kernel=CPU["kernel"] * turns,
        merging=CPU["merging"] / turns,
        is_shared=True,
    )
    if is_decode:
        return min(
            simulate_decoding(machine, layer, rows, ranks, way) for way in ("gathered", "reduced")
        )
    if split == "heads":
        return alone * max(1, ranks / CORES) * CORES / ranks
    simulate = {"ring": simulate_ring, "gather": simulate_gather, "ulysses": simulate_heads}
    return simulate[split](machine, layer, rows, ranks).seconds


def compare_with_model():
    """Few rows, and many: what ranks wait for, and what they compute."""
    print("| split | rows | ranks | predicted (ms) | measured (ms) |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = folder / "attention.mlir"
        for rows, splits in [
            (512, ["ring", "gather", "ulysses", "heads"]),
            (8192, ["ring", "gather", "ulysses", "heads"]),
            (32768, ["keys"]),
        ]:
            is_decode = "keys" in splits
            clauses = "" if is_decode else "mask causal"
            text.write_text(write_text(splits[0], "", clauses, HEADS), encoding="utf-8")
            shape = f"1x{HEADS}x{rows}x64"
            arguments = ["-", shape] if is_decode else [shape, shape]
            repeat = f"--repeat={50 if rows != 8192 else 3}"

            def run_least(launcher, options):
                runs = [
                    measure(folder, launcher, text, [repeat, *options], arguments)
                    for _ in range(ROUNDS)
                ]
                return min(runs, key=lambda run: run[0])

            # One thread for each core, which do not wait for each other.
            alone = run_least([], ["--threads=1"])[0] / CORES
            for split in splits:
                for ranks in (2, 4):
                    # Ranks without exchanges take turns on a core as they like.
                    if split == "heads" and ranks > CORES:
                        continue
                    time, link = run_least(start_ranks(ranks), ["--mpi", f"--split={split}"])
                    predicted = 1e3 * predict(split, 1e-3 * alone, ranks, link, rows)
                    print(f"| {split} | {rows} | {ranks} | {predicted:.2f} | {time:.2f} |", flush=True)


def main():
    if sys.argv[1:] == ["--model"]:
        compare_with_model()
        return
    asked = sys.argv[1:] or list(VARIANTS)
    for variant in asked:
        if variant not in VARIANTS:
            sys.exit(f"expected one of {', '.join(map(repr, VARIANTS))}, got '{variant}'")
    print("| variant | one process (ms) | two ranks (ms) | ratio | four ranks (ms) | ratio |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for variant in asked:
            captures, clauses, split = VARIANTS[variant]
            key_heads = 2 if "key/value heads" in variant else HEADS
            text = folder / "attention.mlir"
            if variant.startswith("gradients"):
                text.write_text(write_gradients(clauses, key_heads), encoding="utf-8")
            else:
                written = write_text(split, captures, clauses, key_heads)
                text.write_text(written, encoding="utf-8")
            arguments = get_arguments(folder, variant, captures, key_heads)
            repeat = f"--repeat={get_repeats(variant)}"
            ways = [([], [repeat, f"--threads={CORES}"])]
            for ranks in (2, 4):
                ways.append((start_ranks(ranks), [repeat, "--mpi", f"--split={split}"]))
            rounds = []
            for _ in range(ROUNDS):
                runs = (measure(folder, launcher, text, options, arguments) for launcher, options in ways)
                rounds.append([time for time, _ in runs])
            alone, *together = (min(times) for times in zip(*rounds))
            cells = "".join(f" {time:.1f} | {time / alone:.2f} |" for time in together)
            print(f"| {variant} | {alone:.1f} |{cells}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
