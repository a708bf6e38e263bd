# ===- gpu_report.py - Checks and measures kernels on a GPU ----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Checks kernels on this machine's GPU and measures them, in pieces of minutes.

    python3 scripts/gpu_report.py [--minutes MINUTES] [--results FOLDER] [--no-build]

Needs Python alone. It lies in a bundle of scripts/gpu_bundle.sh, beside all that it
runs, or in a checkout, which it builds. What attn-gpu-bench finds, and PyTorch,
Triton and a ptxas where they are there, goes into a folder, a line for each case as
soon as it is done: --minutes after its start it ends, and the next call goes on. At its
end it writes a page of tables of what is there. Ends with 0 if all is done and right, 1
if something is wrong, or there is no GPU, and 2 if there was not enough time.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import figures

BUNDLE = figures.ROOT / "run"  # It starts the programs of a bundle.
PEERS = figures.ROOT / "scripts" / "peers" / "gpu.py"
MEASURED = {
    "prefill": ("TFLOP/s", 0),
    "decode": ("GB/s of keys and values", 0),
    "variant": ("TFLOP/s of what is seen", 0),
}
OURS = "Attn"
OTHERS = ["cuDNN", "FlexAttention", "Triton"]
CEILINGS = ["matmul", "copy"]
LONGEST = 150  # Seconds for one case: to compile it for FlexAttention takes a minute.


class NoTime(Exception):
    """There are no minutes left."""


class Results:
    """Lines of JSON, one for each case, in a file for each phase."""

    def __init__(self, folder, phase):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{phase}.jsonl"
        self.found = {}
        if self.path.exists():
            text = self.path.read_text(encoding="utf-8")
            for line in text.splitlines():
                self.keep(parse(line))
            if text and not text.endswith("\n"):
                with self.path.open("a", encoding="utf-8") as file:
                    file.write("\n")

    def keep(self, result):
        if result:
            self.found[result["case"]] = result

    def add(self, result):
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        self.keep(result)

    def missing(self, names):
        return [name for name in names if name not in self.found]


def parse(line):
    """An object with a case, or None: the machine may have gone in mid-line."""
    try:
        result = json.loads(line)
    except json.JSONDecodeError:
        return None
    return result if isinstance(result, dict) and "case" in result else None


def run_until(command, end, take, given=""):
    """Runs a program, whose lines `take` gets as they come. Gives its exit code and
    the end of what it says on stderr; raises NoTime, and ends it, at `end`. One that
    prints nothing for too long, as where the GPU never comes back, is ended, too."""
    if time.monotonic() >= end:
        raise NoTime
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        errors, last = [], [time.monotonic()]

        def watch():
            while process.poll() is None:
                now = time.monotonic()
                if now >= end or now - last[0] > LONGEST:
                    process.kill()
                    errors.append(f"it printed nothing for {LONGEST} seconds")
                    return
                time.sleep(0.1)

        threads = [
            threading.Thread(target=lambda: errors.extend(process.stderr)),
            threading.Thread(target=watch),
        ]
        for thread in threads:
            thread.start()
        try:
            process.stdin.write(given)
            process.stdin.close()
        except BrokenPipeError:
            pass  # It ended before, and says why.
        for line in process.stdout:
            last[0] = time.monotonic()
            take(line)
        code = process.wait()
        for thread in threads:
            thread.join()
    if code != 0 and time.monotonic() >= end:
        raise NoTime
    lines = [line.strip() for line in errors if line.strip()]
    return code, (lines or [f"ended with {code}"])[-1][:500]


def run_cases(results, names, make_command, end):
    """Runs a program on the cases that have no result, in their order, and again on
    what is left where it ends early. A case that ends it by a signal, or with which it
    begins and ends, is one that failed."""
    while missing := results.missing(names):
        before = len(results.found)

        def take(line):
            if result := parse(line):
                results.add(result)
                show(result)

        command, given = make_command(missing)
        code, error = run_until(command, end, take, given)
        has_begun = len(results.found) > before
        if not has_begun and "no GPU: " in error:
            sys.exit("gpu_report.py: no GPU: " + error.split("no GPU: ", 1)[1])
        missing = results.missing(names)
        if missing and (code < 0 or not has_begun):
            reason = error if code else "it printed nothing"
            results.add({"case": missing[0], "failed": reason})
            show(results.found[missing[0]])


def show(result):
    """A line for whoever waits."""
    what = result.get("failed") or result.get("absent")
    if not what and "speed" in result:
        what = f"{result['speed']:.1f} {result['unit']}"
    print(f"{result['case']}: {what or 'right'}", file=sys.stderr, flush=True)


class Report:
    """What is run, with which programs."""

    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + 60 * options.minutes
        bench = options.build / "bin" / "attn-gpu-bench"
        self.bench = [BUNDLE, "attn-gpu-bench"] if BUNDLE.exists() else [bench]
        if not BUNDLE.exists() and not bench.exists():
            sys.exit(f"gpu_report.py: there is no {bench}; leave out --no-build")
        self.driver = [f"--driver={options.driver}"] if options.driver else []
        self.cases = []

    def results(self, phase):
        return Results(self.options.results, phase)

    def list_cases(self):
        def take(line):
            if case := parse(line):
                self.cases.append(case)

        code, error = run_until([*self.bench, "--list"], self.end, take)
        if code != 0:
            sys.exit(f"gpu_report.py: {error}")
        only = re.compile(self.options.only)
        self.cases = [case for case in self.cases if only.search(case["case"])]

    def names(self, family):
        return [x["case"] for x in self.cases if x["family"] == family]

    def find_device(self):
        """What the GPU is, now, and who compiles: results of another GPU, driver,
        ptxas or commit are not gone on with."""
        lines = []
        command = [*self.bench, "--device", *self.driver]
        code, error = run_until(command, self.end, lines.append)
        if code != 0:
            no_gpu = "no GPU: " in error
            reason = error.split("no GPU: ", 1)[1] if no_gpu else error
            sys.exit("gpu_report.py: " + ("no GPU: " if no_gpu else "") + reason)
        device = {"case": "device", **json.loads(lines[0]), "commit": commit()}
        results = self.results("device")
        before = results.found.get("device")
        if not before:
            results.add(device | {"date": datetime.date.today().isoformat()})
            return
        for name, value in device.items():
            if before.get(name) != value:
                sys.exit(
                    f"gpu_report.py: {self.options.results}: expected results with "
                    f"the {name} {value!r}, got those with {before.get(name)!r}: name "
                    "another folder with --results"
                )

    def run_family(self, family):
        options = self.options

        def command(missing):
            seconds = f"--seconds={options.seconds}"
            return [*self.bench, *self.driver, seconds, *missing], ""

        run_cases(self.results(family), self.names(family), command, self.end)

    def run_peers(self):
        """Others through PyTorch, on the same cases, where there is one."""
        results = self.results("peers")
        wanted = [
            f"{who} {x['case']}"
            for x in self.cases
            for who in OTHERS
            if x["family"] in MEASURED
        ]
        wanted = [*CEILINGS, *wanted]
        if results.missing(wanted):
            test = "import torch; torch.zeros(1, device='cuda')"
            code, error = run_until([sys.executable, "-c", test], self.end, print)
            if code != 0:
                for name in results.missing(wanted):
                    results.add({"case": name, "absent": f"no PyTorch: {error}"})
                print(f"no PyTorch: {error}", file=sys.stderr)
                return
        lines = {x["case"]: json.dumps(x) for x in self.cases}

        def command(missing):
            of_case = {
                name: lines.get(name.partition(" ")[2], "{}") for name in missing
            }
            given = "".join(f"{name}\t{line}\n" for name, line in of_case.items())
            return [sys.executable, PEERS, f"--seconds={self.options.seconds}"], given

        run_cases(results, wanted, command, self.end)

    def run(self):
        """Whether all is done."""
        try:
            self.list_cases()
            self.find_device()
            for family in ("check", "prefill", "decode", "variant", "long"):
                self.run_family(family)
            self.run_peers()
        except NoTime:
            return False
        return True

    def failures(self):
        families = dict.fromkeys(x["family"] for x in self.cases)
        found = [x for each in families for x in self.results(each).found.values()]
        return [x for x in found if "failed" in x]

    def write_page(self):
        device = self.results("device").found.get("device")
        if not device:
            return
        found = {x["case"]: x for f in MEASURED for x in self.results(f).found.values()}
        peers = self.results("peers").found
        checked = [self.results(x).found.values() for x in ("check", "long")]
        page = describe(device, self.cases, found, peers, sum(map(list, checked), []))
        self.options.page.write_text(page, encoding="utf-8")
        print(f"wrote {self.options.page}", file=sys.stderr)


def commit():
    """Which sources the programs are of."""
    bundled = figures.ROOT / "COMMIT"
    if bundled.exists():
        return bundled.read_text(encoding="utf-8").strip()
    git = ["git", "-C", str(figures.ROOT)]
    result = subprocess.run(
        [*git, "describe", "--always"], capture_output=True, text=True, check=False
    )
    # The page that is written here makes no other programs.
    command = [*git, "diff", "--quiet", "HEAD", "--", ".", ":!docs/benchmarks-gpu.md"]
    is_dirty = subprocess.run(command, capture_output=True, check=False).returncode == 1
    return (result.stdout.strip() or "unknown") + "-dirty" * is_dirty


def cell(result, digits):
    if not result:
        return ""
    if "speed" in result:
        return f"{result['speed']:.{digits}f}"
    return result.get("absent") or "failed"


def describe_family(family, cases, found, peers):
    """A table: cases and who computes them; ours as shares of the others, too."""
    unit, digits = MEASURED[family]
    rows = []
    ceiling = peers.get("copy" if family == "decode" else "matmul", {})
    for case in cases:
        name = case["case"]
        ours = found.get(name)
        theirs = [peers.get(f"{who} {name}") for who in OTHERS] + [ceiling]
        row = [name.partition("/")[2], cell(ours, digits)]
        row += [cell(each, digits) for each in theirs]
        for each in theirs:
            both = ours and each and "speed" in ours and "speed" in each
            row.append(f"{ours['speed'] / each['speed']:.2f}" if both else "")
        rows.append(row)
    others = [*OTHERS, "copy" if family == "decode" else "matmul"]
    heads = [f"{family}, {unit}", OURS, *others, *(f"of {x}" for x in others)]
    return figures.table(heads, rows)


def describe(device, cases, found, peers, checked):
    """The page."""
    failed = [x for x in [*checked, *found.values()] if "failed" in x]
    rows = sum(x.get("rows", 0) for x in [*checked, *found.values()])
    names = {x["case"] for x in [*checked, *found.values()]}
    missing = sum(case["case"] not in names for case in cases)
    remarks = {y for x in [*checked, *found.values()] for y in x.get("remarks", [])}
    ceilings = [(name, peers.get(name, {})) for name in CEILINGS]
    lines = [
        "# Speed on a GPU",
        "",
        "Written by `python3 scripts/gpu_report.py`. A figure is what the GPU takes",
        "for a call, the median, without the time in which the CPU launches it.",
        "",
        f"{device['name']} ({device['architecture']}), driver of {device['driver']}, "
        f"machine code by {device['assembler']}, Attn {device['commit']}, "
        f"{device['date']}.",
        "",
        f"{len(checked) + len(found) - len(failed)} kernels are right, in {rows} rows "
        f"that were compared with the float64 oracle, and {len(failed)} failed."
        + (f" {missing} have no result yet." if missing else ""),
        "",
        *(f"- {x['case']}: {x['failed']}" for x in failed),
        *(f"- The compiler says: {x}" for x in sorted(remarks)),
        *([""] if failed or remarks else []),
        figures.table(
            ["Ceiling", "speed", "unit"],
            [[name, cell(x, 0), x.get("unit", "")] for name, x in ceilings],
        ),
    ]
    for family in MEASURED:
        of_family = [x for x in cases if x["family"] == family]
        lines += ["", describe_family(family, of_family, found, peers)]
    return "\n".join(lines) + "\n"


# Prints a result for each case that it is given, and is ended by one called "ends".
ENDS_EARLY = """
import json, os, sys
for case in sys.argv[1:]:
    if case == "ends":
        os.abort()
    print(json.dumps({"case": case, "run": len(sys.argv)}), flush=True)
"""


def self_test():
    """A case that ends the program is tried once, and the page of made-up numbers has
    them in their places."""
    with tempfile.TemporaryDirectory() as folder:
        results = Results(Path(folder), "check")

        def command(missing):
            return [sys.executable, "-c", ENDS_EARLY, *missing], ""

        run_cases(results, ["a", "ends", "b"], command, time.monotonic() + 60)
        assert results.found["ends"]["failed"] == "ended with -6", results.found
        assert results.found["a"]["run"] == 4, results.found
        assert results.found["b"]["run"] == 2, results.found
    device = {"name": "None", "architecture": "sm_0", "driver": "CUDA 0.0"}
    device |= {"assembler": "nobody", "commit": "0", "date": "never"}
    cases = [{"case": "prefill/p", "family": "prefill"}]
    found = {"prefill/p": {"case": "prefill/p", "speed": 2.0, "rows": 3}}
    peers = {
        "copy": {"case": "copy", "speed": 10.0, "unit": "GB/s"},
        "matmul": {"case": "matmul", "absent": "no"},
        "cuDNN prefill/p": {"case": "cuDNN prefill/p", "speed": 8.0},
        "Triton prefill/p": {"case": "Triton prefill/p", "failed": "it broke"},
    }
    checked = [{"case": "check/c", "failed": "wrong"}]
    page = describe(device, cases, found, peers, checked)
    assert "| copy    | 10    | GB/s |" in page, page
    assert "1 kernels are right, in 3 rows" in page, page
    assert "- check/c: wrong" in page, page
    row = next(line for line in page.splitlines() if line.startswith("| p "))
    cells = [x.strip() for x in row.strip("|").split("|")]
    assert cells == ["p", "2", "8", "", "failed", "no", "0.25", "", "", ""], cells


def build(folder):
    for command in (
        ["cmake", "--preset", "release"],
        ["cmake", "--build", str(folder), "--target", "attn-gpu-bench"],
    ):
        if subprocess.run(command, cwd=figures.ROOT, check=False).returncode:
            sys.exit("gpu_report.py: it does not build; see above")


def main():
    folder = figures.ROOT / "gpu-results"
    page = folder if BUNDLE.exists() else figures.ROOT / "docs"
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=9, help="until it ends")
    parser.add_argument("--results", type=Path, default=folder, help="their folder")
    parser.add_argument("--page", type=Path, default=page / "benchmarks-gpu.md")
    parser.add_argument("--only", default="", help="cases that match this regex")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each figure")
    parser.add_argument("--driver", help="the driver's library, if not the system's")
    parser.add_argument("--build", type=Path, default=figures.ROOT / "build/release")
    parser.add_argument("--no-build", action="store_true", help="it is up to date")
    parser.add_argument("--self-test", action="store_true", help="needs no GPU")
    options = parser.parse_args()
    if options.self_test:
        self_test()
        return
    if not options.no_build and not BUNDLE.exists():
        build(options.build)
    report = Report(options)
    is_done = report.run()
    report.write_page()
    if not is_done:
        print("gpu_report.py: out of time; call it again to go on", file=sys.stderr)
        sys.exit(2)
    if failures := report.failures():
        sys.exit(f"gpu_report.py: {len(failures)} cases failed; see the page")


if __name__ == "__main__":
    main()
