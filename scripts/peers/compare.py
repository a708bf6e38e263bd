# ===- compare.py - Other libraries beside this one ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures attn-bench and its peers in one run, on the same shapes.

    python3 scripts/peers/compare.py [prefill|decode] [--only pytorch,openblas]
                                     [--cases P1,P1c]

Installs each peer in a Python environment of its own in build/peers, measures it
there, and writes a table, of prefill with a plot, into docs/benchmarks-peers.md. A peer
that cannot be had, or cannot do a case, is named with the reason; the others go on.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import figures  # pylint: disable=wrong-import-position

ENVIRONMENTS = figures.ROOT / "build" / "peers"
PLOT = figures.ROOT / "docs" / "peers.svg"

# Peer -> the packages of PyPI that it needs. Its file is peer_<name>.py.
PEERS = {
    "pytorch": ["torch", "numpy", "gguf", "pyyaml"],  # The last two to read models.
    "onnxruntime": ["onnxruntime", "onnx", "numpy"],
    "openvino": ["openvino", "numpy"],
    "onednn": ["onednn-devel", "numpy"],
    "openblas": ["numpy"],  # And Debian's libopenblas-dev.
    "iree": ["iree-base-compiler", "iree-base-runtime", "numpy"],
    "ggml": ["libggml-python", "numpy"],
}


@dataclass(frozen=True)
class Family:
    """What is measured of a family of attn-bench's."""

    peers: str
    cases: str
    dtypes: str
    share: str  # The counter that is compared,
    speed: str  # and that of the speed.


FAMILIES = {
    "prefill": Family(
        peers="pytorch,onnxruntime,openvino,onednn,openblas,iree",
        cases="P1,P1c,P2,P2c,P3w,P5,P6",
        dtypes="f32,bf16",
        share="fraction_of_peak",
        speed="gflops",
    ),
    "decode": Family(
        peers="ggml,onednn,onnxruntime",
        cases="D1",
        dtypes="f32,f16,bf16",
        share="fraction_of_stream",
        speed="gbps",
    ),
}
PLOT_PACKAGES = ["matplotlib"]

INSTALL_SECONDS = 1800


def make_environment(name, packages, variables=None):
    """The Python of an environment with these packages, built with these environment
    variables."""
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
            env=dict(os.environ, **(variables or {})),
        )
        if result.returncode != 0:
            raise RuntimeError(last_line(result.stderr))
    stamp.write_text(wanted, encoding="utf-8")
    return python


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1][:200]


def run_pytorch(script, cases, seconds):
    """{case: milliseconds, or why there are none} of a program for PyTorch."""
    try:
        python = make_environment("pytorch", PEERS["pytorch"])
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return {case: f"cannot be installed: {error}" for case in cases}
    command = [str(python), str(HERE / script), f"--cases={','.join(cases)}"]
    command += [f"--seconds={seconds}"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = [json.loads(x) for x in result.stdout.splitlines() if x.startswith("{")]
    return {x["case"]: x.get("ms", x.get("absent")) for x in lines}


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
    family = FAMILIES[options.family]
    cases = "|".join(options.cases.split(","))
    benchmarks = figures.run_bench(
        options.build / "bin" / "attn-bench",
        f"^{options.family}/({cases})/{dtype}/threads:{threads}/",
        options.seconds,
    )
    results = []
    for benchmark in benchmarks:
        result = {"peer": "Attn", "case": benchmark["name"].split("/")[1]}
        if benchmark.get("error_occurred"):
            result["absent"] = benchmark["error_message"]
        else:
            result[family.speed] = benchmark[family.speed]
            result["share"] = benchmark[family.share]
            if "stream_gbps" in benchmark:
                result["stream_gbps"] = benchmark["stream_gbps"]
        results.append(dict(result, dtype=dtype, threads=threads))
    return results


def describe_absent(results):
    """Lines that say what is missing, and why."""
    measured = {r["peer"] for r in results if "share" in r}
    reasons = {}
    for r in results:
        if "absent" in r:
            reasons.setdefault((r["peer"], r["absent"]), []).append(r.get("case"))
    lines = []
    for (name, reason), missing in reasons.items():
        where = "absent"
        if name in measured and None not in missing:
            where = "no " + ", ".join(missing)
        lines.append(f"- {name}: {where}: {reason}")
    return ["\n".join(lines)] if lines else []


def describe_type(results, cases):
    """Of one type and number of threads: a table of the shares of the peak."""
    shares = {(r["peer"], r["case"]): r["share"] for r in results if "share" in r}
    rows = []
    for name in dict.fromkeys(name for name, _ in shares):
        cells = [shares.get((name, case)) for case in cases]
        rows.append([name, *("-" if x is None else f"{100 * x:.0f}" for x in cells)])
    dtype, threads = results[0]["dtype"], results[0]["threads"]
    count = f"{threads} thread" + ("s" if threads > 1 else "")
    parts = [f"{dtype}, {count}, percent of the peak:", figures.table(["", *cases], rows)]
    return "\n\n".join([*parts, *describe_absent(results)])


def describe_steps(results):
    """A table of the speeds and shares of all types and numbers of threads."""
    rows = []
    for r in results:
        if "share" in r:
            numbers = [f"{r['gbps']:.1f}", f"{r['stream_gbps']:.1f}", f"{r['share']:.2f}"]
            rows.append([r["case"], r["dtype"], r["threads"], r["peer"], *numbers])
    heads = ["case", "type", "threads", "", "GB/s", "streams, GB/s", "share of streams"]
    # What is missing is so for a type, and for any number of threads.
    threads = results[0]["threads"]
    types = [dict(r, case=r["dtype"]) for r in results if r["threads"] == threads]
    return "\n\n".join([figures.table(heads, rows), *describe_absent(types)])


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
    parser.add_argument("family", nargs="?", default="prefill", choices=[*FAMILIES])
    parser.add_argument("--only", help="these peers")
    parser.add_argument("--cases")
    parser.add_argument("--dtypes")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=1, help="for each case")
    parser.add_argument("--timeout", type=float, default=300, help="for each peer")
    parser.add_argument(
        "--build", type=Path, default=figures.ROOT / "build" / "release"
    )
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    options = parser.parse_args()
    family = FAMILIES[options.family]
    options.cases = options.cases or family.cases
    peers = family.peers if options.only is None else options.only

    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    results, sections = [], []
    for threads in map(int, options.threads.split(",")):
        for dtype in (options.dtypes or family.dtypes).split(","):
            found = run_ours(dtype, threads, options)
            for name in filter(None, peers.split(",")):
                print(f"{name}, {dtype}, {threads} threads", file=sys.stderr)
                found += run_peer(name, dtype, threads, options)
            results += found
            if found and options.family == "prefill":
                sections.append(describe_type(found, options.cases.split(",")))
    if results and options.family == "decode":
        sections.append(describe_steps(results))
    (ENVIRONMENTS / "results.json").write_text(json.dumps(results), encoding="utf-8")
    text = "\n\n".join([figures.machine(), *sections])
    if options.print:
        print(text)
    elif options.family == "decode":
        figures.replace_section("decode-peers", text)
    else:
        draw(results)
        figures.replace_section("peers", f"{text}\n\n![The same as bars](peers.svg)")


if __name__ == "__main__":
    main()
