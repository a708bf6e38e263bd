# ===- gpu_report.py - Checks and measures kernels on a GPU ----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Builds, checks kernels on this machine's GPU, and writes docs/benchmarks-gpu.md.

    python3 scripts/gpu_report.py [--no-build] [--seconds SECONDS]

The checks are attn-run's, against the oracle in float64. What is measured runs in
one process, in the environment that scripts/peers/compare.py makes for PyTorch:
this project's kernels, cuDNN and FlexAttention through PyTorch, a kernel in Triton,
and as ceilings PyTorch's products of matrices and copies. Without a GPU it ends in
one line, and an exit code of 1.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import figures

sys.path.insert(0, str(figures.ROOT / "scripts" / "peers"))

import compare  # pylint: disable=wrong-import-position

PAGE = figures.ROOT / "docs" / "benchmarks-gpu.md"
PEER = figures.ROOT / "scripts" / "peers" / "gpu.py"
PACKAGES = ["torch", "numpy"]  # Triton comes with PyTorch.

# Clauses of what is checked: every type, head size and way to hide keys.
CHECKED = [
    (dtype, size, clauses)
    for dtype in ("f16", "bf16", "f32")
    for size in (64, 80, 128, 256)
    for clauses in (
        "",
        "mask causal",
        "score softcap(20.0) mask causal, sliding_window(50, 0)",
    )
]


def kernel(dtype, size, clauses):
    """Attention of 4 query heads and 2 of keys, of lengths that no tile has."""
    query, key = f"tensor<2x4x133x{size}x{dtype}>", f"tensor<2x2x201x{size}x{dtype}>"
    return f"""func.func @attention(%query: {query}, %key: {key}, %value: {key})
    -> {query} {{
  %init = tensor.empty() : {query}
  %output = attn.attention ins(%query, %key, %value : {query}, {key}, {key})
      outs(%init : {query}) {clauses}
  return %output : {query}
}}
"""


def run_kernel(attn_run, text):
    """None, or why attn-run did not pass."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        command = [str(attn_run), file.name, "--pipeline", "gpu"]
        command += ["--random", "1", "--check"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    lines = (result.stderr or result.stdout).strip().splitlines()
    errors = [line for line in lines if "error" in line or "failed" in line]
    return (errors or lines or ["no message"])[0]


def check(attn_run):
    """Ends the program where a kernel fails, or where there is no GPU."""
    for dtype, size, clauses in CHECKED:
        error = run_kernel(attn_run, kernel(dtype, size, clauses))
        if error and "no GPU: " in error:
            sys.exit("gpu_report.py: no GPU: " + error.split("no GPU: ", 1)[1])
        if error:
            sys.exit(f"gpu_report.py: {dtype}, size {size}, '{clauses}': {error}")
        print(f"passed: {dtype}, size {size} {clauses}", file=sys.stderr)


def measure(options):
    """The lines of JSON that the peers' program prints."""
    python = compare.make_environment("gpu", PACKAGES)
    library = options.build / "lib" / "libattn.so"
    command = [str(python), str(PEER), str(library), f"--seconds={options.seconds}"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit("gpu_report.py: nothing was measured; see above")
    return [json.loads(x) for x in result.stdout.splitlines() if x.startswith("{")]


def cell(result, digits):
    if result is None:
        return ""
    return result.get("absent") or f"{result['speed']:.{digits}f}"


def describe_family(name, unit, digits, results):
    """A table: cases and who computes them; ours as shares of the others, too."""
    ours = [x for x in results if x["family"] == name]
    cases = list(dict.fromkeys(x["case"] for x in ours))
    who = list(dict.fromkeys(x["who"] for x in ours))
    found = {(x["case"], x["who"]): x for x in ours}
    rows = []
    for case in cases:
        row = [case] + [cell(found.get((case, each)), digits) for each in who]
        mine = found.get((case, "Attn"), {}).get("speed")
        for each in who[1:]:
            theirs = (found.get((case, each)) or {}).get("speed")
            row.append(f"{mine / theirs:.2f}" if mine and theirs else "")
        rows.append(row)
    heads = [f"{name}, {unit}", *who, *(f"of {each}" for each in who[1:])]
    return figures.table(heads, rows)


def describe(results):
    """The page."""
    device = next(x for x in results if x["family"] == "device")
    ceilings = [x for x in results if x["family"] == "ceiling"]
    commit = subprocess.run(
        ["git", "-C", str(figures.ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    lines = [
        "# Speed on a GPU",
        "",
        "Written by `python3 scripts/gpu_report.py`, which first checks the kernels",
        "on the same GPU against the oracle. All in one process, one after another;",
        "medians.",
        "",
        f"{device['name']}, driver {device['driver']}, PyTorch {device['torch']}, "
        f"Triton {device['triton']}, Attn {commit or 'unknown'}, {device['date']}.",
        "",
        figures.table(
            ["Ceiling", "speed", "unit"],
            [[x["case"], f"{x['speed']:.0f}", x["unit"]] for x in ceilings],
        ),
        "",
        describe_family("prefill", "TFLOP/s", 0, results),
        "",
        describe_family("decode", "GB/s of keys and values", 0, results),
        "",
        describe_family("variant", "TFLOP/s as if nothing were hidden", 0, results),
    ]
    return "\n".join(lines) + "\n"


def self_test():
    """The page of made-up numbers has them in their places."""
    made_up = [
        {"family": "device", "name": "None", "driver": "0", "torch": "0"},
        {"family": "ceiling", "case": "copy", "speed": 10.0, "unit": "GB/s"},
        {"family": "prefill", "case": "p", "who": "Attn", "speed": 2.0},
        {"family": "prefill", "case": "p", "who": "cuDNN", "speed": 8.0},
        {"family": "prefill", "case": "p", "who": "Triton", "absent": "no"},
    ]
    made_up[0] |= {"triton": "0", "date": "never"}
    page = describe(made_up)
    assert "| copy    | 10    | GB/s |" in page, page
    row = next(line for line in page.splitlines() if line.startswith("| p "))
    cells = [x.strip() for x in row.strip("|").split("|")]
    assert cells == ["p", "2", "8", "no", "0.25", ""], cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=figures.ROOT / "build/release")
    parser.add_argument("--no-build", action="store_true", help="it is up to date")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each figure")
    parser.add_argument("--self-test", action="store_true", help="needs no GPU")
    options = parser.parse_args()
    if options.self_test:
        self_test()
        return
    if not options.no_build:
        for command in (
            ["cmake", "--preset", "release"],
            ["cmake", "--build", str(options.build), "--target", "attn-run"],
        ):
            if subprocess.run(command, cwd=figures.ROOT, check=False).returncode:
                sys.exit("gpu_report.py: it does not build; see above")
    attn_run = options.build / "bin" / "attn-run"
    if not attn_run.exists():
        sys.exit(f"gpu_report.py: there is no {attn_run}; leave out --no-build")
    check(attn_run)
    PAGE.write_text(describe(measure(options)), encoding="utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)


if __name__ == "__main__":
    main()
