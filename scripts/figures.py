# ===- figures.py - Figures in the documentation ---------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs attn-bench and writes what it measured into docs/.

    python3 scripts/figures.py [prefill|dropout|neighbour|decode|serve|gradient|tangent|
                                compile] [--filter REGEX] [--min-time SECONDS]

Other scripts use its functions.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


MEASURED_ON = re.compile(r"^(?=.+, \d+ processors, \d{4}-\d\d-\d\d)", re.MULTILINE)


def merge_processors(old, new):
    """`old` with `new` in the place of what was measured on the same processor, or
    after the others: each begins with the line of `machine`."""

    def processor(part):
        return part.split(",")[0].strip()

    if not MEASURED_ON.match(new):
        return new
    parts = [part.strip() for part in MEASURED_ON.split(old) if part.strip()]
    others = [processor(part) for part in parts]
    if processor(new) in others:
        parts[others.index(processor(new))] = new
    else:
        parts.append(new)
    return "\n\n".join(parts)


def find_section(name):
    """(path, before, text, after) of what is between the marks of a section."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    for path in (ROOT / "docs").glob("benchmarks-*.md"):
        page = path.read_text(encoding="utf-8")
        if begin in page:
            before, rest = page.split(begin)
            text, after = rest.split(end)
            return path, before + begin, text, end + after
    raise LookupError(f"no page in docs has a section '{name}'")


def replace_section(name, text):
    """Puts `text` between the marks of a section, on the page that has them. What was
    measured on other processors stays."""
    path, before, old, after = find_section(name)
    text = merge_processors(old, text)
    path.write_text(f"{before}\n\n{text}\n\n{after}", encoding="utf-8")


def read_rows(name, first_line):
    """The rows of the table in a section that was measured on the processor of
    `first_line`."""
    processor = first_line.split(",")[0]
    for part in MEASURED_ON.split(find_section(name)[2]):
        if part.split(",")[0].strip() == processor:
            lines = [line for line in part.splitlines() if line.startswith("| ")]
            return [[x.strip() for x in line[2:-2].split(" | ")] for line in lines[2:]]
    return []


def publish(options, name, text):
    """Puts `text` into a section, or prints it where --print says so."""
    if options.print:
        print(text, end="\n\n")
    else:
        replace_section(name, text)


VECTOR_UNITS = ("amx_bf16", "avx512_bf16", "avx512f", "avx2")


def machine():
    """One line about where and when something was measured."""
    model, family = platform.machine(), []
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        if name == "model name":
            model = re.sub(r"\s+", " ", value)
        if name in ("cpu family", "model"):
            family.append(f"{name.removeprefix('cpu ')} {value}")
        # A virtual machine may lack what its processor has.
        if name == "flags":
            flags = value.split()
            widest = (name for name in VECTOR_UNITS if name in flags)
            family.append(f", {next(widest, 'no AVX2')}")
        if not name:
            break
    # What some makers call all of their processors says little.
    if not re.search(r"\d", model):
        model += f" ({' '.join(family).replace(' ,', ',')})"
    day = datetime.date.today().isoformat()
    return f"{model}, {os.cpu_count()} processors, {day}."


def table(heads, rows):
    """Markdown, with columns of equal width."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]

    def line(cells):
        padded = (cell.ljust(width) for cell, width in zip(cells, widths))
        return "| " + " | ".join(padded) + " |"

    return "\n".join([line(heads), line(["-" * w for w in widths]), *map(line, rows)])


def run_bench(binary, pattern, min_time):
    """The benchmarks that match, as Google Benchmark's JSON describes them."""
    result = subprocess.run(
        [
            str(binary),
            f"--benchmark_filter={pattern}",
            f"--benchmark_min_time={min_time}",
            "--benchmark_format=json",
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return json.loads(result.stdout)["benchmarks"] if result.stdout else []


def number(benchmark, counter, digits):
    value = None if benchmark.get("error_occurred") else benchmark.get(counter)
    return "" if value is None else f"{value:.{digits}f}"


def create_parser(doc, min_time=1):
    """Of options that all have who run attn-bench; `doc` is the script's."""
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--bench", type=Path, default=ROOT / "build" / "release" / "bin" / "attn-bench"
    )
    parser.add_argument(
        "--min-time", type=float, default=min_time, help="seconds for each"
    )
    parser.add_argument("--print", action="store_true", help="leave the page alone")
    return parser


# Counters of a family: the heads of their columns, their names, digits.
COLUMNS = {
    "prefill": [
        ("ms", "real_time", 2),
        ("GFLOP/s", "gflops", 0),
        ("share of peak", "fraction_of_peak", 3),
        ("compile ms", "compile_ms", 0),
    ],
    "decode": [
        ("ms", "real_time", 3),
        ("GB/s", "gbps", 1),
        ("share of streams", "fraction_of_stream", 3),
        ("streams, GB/s", "stream_gbps", 1),
        ("share of peak", "fraction_of_peak", 3),
        ("compile ms", "compile_ms", 0),
    ],
}
COLUMNS["gradient"] = COLUMNS["prefill"]
COLUMNS["tangent"] = COLUMNS["prefill"]
COLUMNS["dropout"] = COLUMNS["prefill"]
COLUMNS["serve"] = COLUMNS["decode"]
# What other kernels a kernel is compared with.
COMPARED = {
    "vs_P1c": "of P1c",
    "vs_dense": "of dense heads",
    "vs_f32": "of f32",
    "vs_1_thread": "of 1 thread",
    "vs_forward": "of forward",
    "times_forward": "of its time",
    "vs_plain": "of plain",
    "vs_D3": "of D3",
    "vs_unshared": "of unshared",
    "vs_static": "of the static kernel's time",
    "vs_contiguous": "of one piece's",
    "vs_linear": "of linear time",
    "vs_apart": "of separate calls",
    "vs_any_order": "of any order's time",
}


def family_table(columns, benchmarks):
    rows = []
    for benchmark in benchmarks:
        _, case, dtype, threads, *_ = benchmark["name"].split("/")
        row = [case, dtype, threads.removeprefix("threads:")]
        if benchmark.get("error_occurred"):
            blanks = [""] * len(columns)
            rows.append([*row, *blanks, benchmark["error_message"]])
            continue
        remarks = [
            f"{number(benchmark, key, 2)} {text}"
            for key, text in COMPARED.items()
            if key in benchmark
        ]
        if benchmark["processors"] < 0.9 * int(row[-1]):
            remarks.append(f"{number(benchmark, 'processors', 1)} processors")
        row += [number(benchmark, key, digits) for _, key, digits in columns]
        rows.append([*row, ", ".join(remarks)])
    heads = [head for head, *_ in columns]
    return table(["case", "type", "threads", *heads, "speed"], rows)


def compile_table(benchmarks):
    """A row for each kernel: its stages on one thread, and all of it."""
    kernels = {}
    for benchmark in benchmarks:
        _, case, dtype, way, *_ = benchmark["name"].split("/")
        kernels.setdefault((case, dtype), {})[way] = benchmark
    rows = []
    for (case, dtype), ways in kernels.items():
        alone = ways.get("threads:1", {})
        row = [case, dtype, number(alone, "real_time", 0)]
        row.append(number(ways.get("threads:2", {}), "real_time", 0))
        for stage in ("passes_ms", "optimize_ms", "codegen_ms"):
            row.append(number(alone, stage, 0))
        rows.append([*row, number(ways.get("cached", {}), "real_time", 2)])
    heads = ["case", "type", "1 thread, ms", "2 threads, ms", "MLIR", "optimizing"]
    return table([*heads, "code generation", "from the cache, ms"], rows)


def neighbour_table(benchmarks):
    """A row for each size: shares of the peak of each type, static and dynamic."""
    ways = ["f32", "f32 dynamic", "bf16", "bf16 dynamic"]
    shares = {}
    for benchmark in benchmarks:
        _, case, dtype, *_ = benchmark["name"].split("/")
        heads, key_heads, size, queries, *dynamic = case.split("-")
        where = (f"{heads[1:]} of {key_heads}", size[1:], queries[1:])
        way = " ".join([dtype, *dynamic])
        shares.setdefault(where, {})[way] = number(benchmark, "fraction_of_peak", 3)
    rows = [[*where, *(row.get(way, "") for way in ways)] for where, row in shares.items()]
    return table(["heads", "head size", "queries", *ways], rows)


def main():
    parser = create_parser(__doc__)
    families = [*COLUMNS, "neighbour", "compile"]
    parser.add_argument("family", nargs="?", default="prefill", choices=families)
    parser.add_argument("--filter", help="of benchmarks (default: the family)")
    options = parser.parse_args()
    pattern = options.filter or f"^{options.family}/"
    benchmarks = run_bench(options.bench, pattern, options.min_time)
    if options.family == "compile":
        rows = compile_table(benchmarks)
    elif options.family == "neighbour":
        rows = neighbour_table(benchmarks)
    else:
        rows = family_table(COLUMNS[options.family], benchmarks)
    publish(options, options.family, f"{machine()}\n\n{rows}")


if __name__ == "__main__":
    main()
