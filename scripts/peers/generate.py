# ===- generate.py - Generation of text beside other programs --------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures the program of examples/smollm2 and its peers in one run.

    python3 scripts/peers/generate.py [--only llama,pytorch] [--threads 1,2]

All run SmolLM2-135M with the same weights, read the same prompt of 512 tokens and
continue it with the most likely tokens, and then eight prompts of 16 to 128 tokens at
once. Writes a table into docs/benchmarks-layers.md.
A peer that cannot be had is named with the reason; the others go on.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import compare

figures = compare.figures

# Peer -> the packages of PyPI that it needs. Its file is generate_<name>.py.
PEERS = {
    "llama": ["llama-cpp-python", "numpy"],  # Compiled for this machine.
    "pytorch": compare.PEERS["pytorch"],  # One environment serves both.
}
# llama.cpp is compiled for this machine by the compiler of this project where there
# is one: with that of Debian 12 it ends with a segmentation fault. Only what is
# measured is built.
LLAMA_PARTS = ["TOOLS", "EXAMPLES", "TESTS", "SERVER"]
LLAMA_OPTIONS = [f"-DLLAMA_BUILD_{part}=OFF" for part in LLAMA_PARTS]
LLAMA_OPTIONS += ["-DLLAVA_BUILD=OFF", "-DMTMD_BUILD=OFF", "-DLLAMA_CURL=OFF"]
VARIABLES = {"llama": {"CMAKE_ARGS": " ".join(LLAMA_OPTIONS)}}
if shutil.which("clang-22") and shutil.which("clang++-22"):
    VARIABLES["llama"].update(CC="clang-22", CXX="clang++-22")
# What the program is measured with, activations/weights.
OURS = ["f32/bf16", "bf16/bf16", "f32/i8", "bf16/i8"]
PROMPT = "The" + " the" * 511  # A token each.
SHORT_PROMPT = "The" + " the" * 31
# Prompts of a token each, that begin differently, so that nothing is shared.
TOGETHER = range(16, 129, 16)
FIRST_WORDS = "The A In It We He She They".split()
READ = re.compile(r"Read (\d+) tokens in \S+ s \((\S+) tokens/s\)")
WROTE = re.compile(r"wrote .* \((\S+) tokens/s\)")
TOTAL = re.compile(r"In total: read (\d+) and wrote (\d+) tokens .* \((\S+) tokens/s")


def run_ours(model, threads, activations, weights, options):
    """Seconds to the first token, of a prompt that each process reads as often as
    those of peers do, and tokens per second after it, medians of several runs."""
    program = options.build / "bin" / "smollm2"
    command = [program, f"--threads={threads}", f"--tokens={options.tokens}"]
    command += [f"--activations={activations}", f"--weights={weights}"]
    reading, writing = [], []
    for _ in range(options.runs):
        result = subprocess.run(
            [*map(str, command), f"--repeat={options.prompts}", model, PROMPT],
            capture_output=True,
            text=True,
            check=False,
        )
        read, wrote = READ.search(result.stderr), WROTE.search(result.stderr)
        if result.returncode != 0 or not read or not wrote:
            sys.exit(f"smollm2: {compare.last_line(result.stderr)}")
        reading.append(int(read[1]) / float(read[2]))
        writing.append(float(wrote[1]))
    return {
        "peer": f"Attn, activations of {activations}",
        "weights": weights,
        "first": statistics.median(reading),
        "speed": statistics.median(writing),
        "together": statistics.median(run_together(command, model, options)),
    }


def run_together(command, model, options):
    """Tokens per second that are written of several prompts at once, the time in
    which these are read included, of each run."""
    speeds = []
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as prompts:
        for word, length in zip(FIRST_WORDS, TOGETHER):
            prompts.write(word + " the" * (length - 1) + "\n")
        prompts.flush()
        for _ in range(options.runs):
            result = subprocess.run(
                [*map(str, command), model, f"--sequences={prompts.name}"],
                capture_output=True,
                text=True,
                check=False,
            )
            total = TOTAL.search(result.stderr)
            if result.returncode != 0 or not total:
                sys.exit(f"smollm2: {compare.last_line(result.stderr)}")
            tokens = sum(TOGETHER), len(TOGETHER) * options.tokens
            if (int(total[1]), int(total[2])) != tokens:
                sys.exit(f"smollm2: expected {tokens} tokens, got {total[0]}")
            speeds.append(float(total[3]))
    return speeds


def measure_start(model, threads, options):
    """Seconds from the start of the process to its first token, kernels cached."""
    program = options.build / "bin" / "smollm2"
    seconds = []
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(options.runs + 1):
            start = time.perf_counter()
            subprocess.run(
                [
                    str(program),
                    f"--threads={threads}",
                    "--tokens=1",
                    f"--cache-dir={cache}",
                    model,
                    SHORT_PROMPT,
                ],
                capture_output=True,
                check=True,
            )
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def run_peer(name, model, threads, options):
    """The results of one peer; {"peer", "absent"} if there are none."""
    try:
        python = compare.make_environment(
            name, PEERS[name], VARIABLES.get(name)
        )
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return [{"peer": name, "absent": f"cannot be installed: {error}"}]
    command = [
        str(python),
        str(compare.HERE / f"generate_{name}.py"),
        f"--model={model}",
        f"--prompt={PROMPT}",
        f"--threads={threads}",
        f"--tokens={options.tokens}",
        f"--prompts={options.prompts}",
        f"--runs={options.runs}",
        f"--together={','.join(map(str, TOGETHER))}",
    ]
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    results = [json.loads(x) for x in result.stdout.splitlines() if x.startswith("{")]
    if result.returncode != 0:
        reason = compare.last_line(result.stderr)
        if result.returncode < 0:
            reason = f"ended with signal {-result.returncode}"
        after = results[-1]["weights"] if results else "the start"
        results.append({"peer": name, "absent": f"after {after}: {reason}"})
    return results


def describe(results):
    rows, absent = [], []
    for result in results:
        if "absent" in result:
            absent.append(f"{result['peer']}: {result['absent']}.")
            continue
        rows.append(
            [
                result["peer"],
                result["weights"],
                str(result["threads"]),
                f"{1000 * result['first']:.0f}",
                f"{result['speed']:.1f}",
                f"{result['together']:.1f}",
            ]
        )
    heads = ["program", "weights", "threads", "first token, ms", "tokens a second"]
    heads.append("eight texts, tokens a second")
    return "\n\n".join([figures.table(heads, rows), *dict.fromkeys(absent)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default=",".join(PEERS), help="these peers")
    parser.add_argument(
        "--types", default=",".join(OURS), help="of our activations/weights"
    )
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tokens", type=int, default=64, help="that are written")
    parser.add_argument(
        "--prompts", type=int, default=5, help="how often a process reads the prompt"
    )
    parser.add_argument(
        "--runs", type=int, default=3, help="how often tokens are written"
    )
    parser.add_argument(
        "--build", type=Path, default=figures.ROOT / "build" / "release"
    )
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    options = parser.parse_args()
    if options.prompts < options.runs:
        parser.error("--prompts: expected at least as many as --runs")
    types = options.types.split(",")
    if unknown := set(types) - set(OURS):
        parser.error(f"--types: expected of {', '.join(OURS)}, got {unknown.pop()}")
    fetch = figures.ROOT / "scripts" / "fetch-model.sh"
    model = subprocess.run(
        [str(fetch)], capture_output=True, text=True, check=True
    ).stdout.strip()
    compare.ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    results, starts = [], []
    for threads in map(int, options.threads.split(",")):
        found = [run_ours(model, threads, *x.split("/"), options) for x in types]
        for name in filter(None, options.only.split(",")):
            print(f"{name}, {threads} threads", file=sys.stderr)
            found += run_peer(name, model, threads, options)
        results += [dict(result, threads=threads) for result in found]
        starts.append(
            f"{measure_start(model, threads, options):.2f} s on {threads} "
            + ("thread" if threads == 1 else "threads")
        )
    start = (
        "From the start of the program to the first token after a prompt of 32, "
        f"kernels from the disk cache: {', '.join(starts)}."
    )
    text = "\n\n".join([figures.machine(), describe(results), start])
    figures.publish(options, "generation", text)


if __name__ == "__main__":
    main()
