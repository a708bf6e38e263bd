# ===- compare.py - Other libraries beside this one ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures attn-bench and its peers in one run, on the same shapes.

    python3 scripts/peers/compare.py [--only pytorch,openblas] [--cases P1,P1c]

Installs each peer in a Python environment of its own in build/peers, measures it
there, and writes a table and a plot into docs/benchmarks.md. A peer that cannot
be had, or cannot do a case, is named with the reason; the others go on.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import figures  # pylint: disable=wrong-import-position

ENVIRONMENTS = figures.ROOT / "build" / "peers"
PLOT = figures.ROOT / "docs" / "peers.svg"

# Peer -> the packages of PyPI that it needs. Its file is peer_<name>.py.
PEERS = {
    "pytorch": ["torch", "numpy"],
    "onnxruntime": ["onnxruntime", "onnx", "numpy"],
    "openvino": ["openvino", "numpy"],
    "onednn": ["onednn-devel", "numpy"],
    "openblas": ["numpy"],  # And Debian's libopenblas-dev.
    "iree": ["iree-base-compiler", "iree-base-runtime", "numpy"],
}
PLOT_PACKAGES = ["matplotlib"]

INSTALL_SECONDS = 1800


def make_environment(name, packages):
    """The Python of an environment with these packages."""
    folder = ENVIRONMENTS / name
    python = folder / "bin" / "python"
    stamp = folder / "installed"
    wanted = " ".join(packages)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"{name}: installing {wanted}", file=sys.stderr)
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", *packages],
    ):
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_SECONDS,
        )
        if result.returncode != 0:
            raise RuntimeError(last_line(result.stderr))
    stamp.write_text(wanted, encoding="utf-8")
    return python


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1][:200]


def run_peer(name, dtype, threads, options):
    """The results of one peer; {"peer", "absent"} if there are none."""
    try:
        python = make_environment(name, PEERS[name])
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return [{"peer": name, "absent": f"cannot be installed: {error}"}]
    command = [
        str(python),
        str(HERE / f"peer_{name}.py"),
        f"--cases={options.cases}",
        f"--dtype={dtype}",
        f"--threads={threads}",
        f"--seconds={options.seconds}",
        f"--peak-library={options.build / 'lib' / 'libattn-peak.so'}",
    ]
    environment = dict(
        os.environ,
        OMP_NUM_THREADS=str(threads),
        # Where some packages of PyPI put the libraries that they need.
        LD_LIBRARY_PATH=str(ENVIRONMENTS / name / "lib"),
    )
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        output, errors = process.communicate(timeout=options.timeout)
        ended = last_line(errors) if process.returncode else ""
        if process.returncode < 0:
            ended = f"ended with signal {-process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        ended = f"took longer than {options.timeout} s"
    results = [json.loads(x) for x in output.splitlines() if x.startswith("{")]
    if ended:
        results.append({"peer": name, "absent": ended})
    for result in results:
        result.update(dtype=dtype, threads=threads)
    return results


def run_ours(dtype, threads, options):
    cases = "|".join(options.cases.split(","))
    benchmarks = figures.run_bench(
        options.build / "bin" / "attn-bench",
        f"^prefill/({cases})/{dtype}/threads:{threads}/",
        options.seconds,
    )
    results = []
    for benchmark in benchmarks:
        result = {"peer": "Attn", "case": benchmark["name"].split("/")[1]}
        if benchmark.get("error_occurred"):
            result["absent"] = benchmark["error_message"]
        else:
            result["gflops"] = benchmark["gflops"]
            result["share"] = benchmark["fraction_of_peak"]
        results.append(dict(result, dtype=dtype, threads=threads))
    return results


def describe(results, cases):
    """A table of the shares of the peak, and why some are missing."""
    shares = {(r["peer"], r["case"]): r["share"] for r in results if "share" in r}
    names = dict.fromkeys(name for name, _ in shares)
    rows = []
    for name in names:
        cells = [shares.get((name, case)) for case in cases]
        rows.append([name, *("-" if x is None else f"{100 * x:.0f}" for x in cells)])
    dtype, threads = results[0]["dtype"], results[0]["threads"]
    count = f"{threads} thread" + ("s" if threads > 1 else "")
    parts = [f"{dtype}, {count}, percent of the peak:", figures.table(["", *cases], rows)]

    reasons = {}
    for r in results:
        if "absent" in r:
            reasons.setdefault((r["peer"], r["absent"]), []).append(r.get("case"))
    lines = []
    for (name, reason), missing in reasons.items():
        where = "absent"
        if name in names and None not in missing:
            where = "no " + ", ".join(missing)
        lines.append(f"- {name}: {where}: {reason}")
    return "\n\n".join([*parts, "\n".join(lines)] if lines else parts)


def draw(results):
    python = make_environment("plot", PLOT_PACKAGES)
    subprocess.run(
        [str(python), str(HERE / "plot.py"), str(PLOT)],
        input=json.dumps(results),
        text=True,
        check=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default=",".join(PEERS), help="these peers")
    parser.add_argument("--cases", default="P1,P1c,P2,P2c,P3w,P5,P6")
    parser.add_argument("--dtypes", default="f32,bf16")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=1, help="for each case")
    parser.add_argument("--timeout", type=float, default=300, help="for each peer")
    parser.add_argument(
        "--build", type=Path, default=figures.ROOT / "build" / "release"
    )
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    options = parser.parse_args()

    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    results, sections = [], []
    for threads in map(int, options.threads.split(",")):
        for dtype in options.dtypes.split(","):
            found = run_ours(dtype, threads, options)
            for name in filter(None, options.only.split(",")):
                print(f"{name}, {dtype}, {threads} threads", file=sys.stderr)
                found += run_peer(name, dtype, threads, options)
            results += found
            if found:
                sections.append(describe(found, options.cases.split(",")))
    (ENVIRONMENTS / "results.json").write_text(json.dumps(results), encoding="utf-8")
    text = "\n\n".join([figures.machine(), *sections])
    if options.print:
        print(text)
        return
    draw(results)
    figures.replace_section("peers", f"{text}\n\n![The same as bars](peers.svg)")


if __name__ == "__main__":
    main()
