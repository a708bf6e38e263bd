# ===- profile_kernel.py - Where a kernel's time goes -----------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Profiles benchmarks, and writes a table into docs/benchmarks-prefill.md.

    python3 scripts/profile_kernel.py [--print] [BENCHMARK...]

A benchmark is one of attn-bench's without its threads, as prefill/P1/f32, that is
not compared with another kernel. It runs on one thread under `perf record`, which
samples the processor's clock and needs no hardware counters. Each sample in the
kernel is one instruction of the innermost loop around it; loops are named after
the instructions in them. A loop around loops of only one name has that name too.
For x86-64.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import figures
import kernel_code

CASES = ["P1", "P1c", "P2c", "P2", "P3w", "P4", "P6"]
BENCHMARKS = [f"prefill/{case}/f32" for case in CASES]
BENCHMARKS += [f"prefill/{case}/bf16" for case in [*CASES, "V-softcap", "V-bias"]]

EXPONENTIALS = "exponentials and sums"
PRODUCTS = "products"
SCORES = "scores, keys times queries"
OUTPUT = "output, values times weights"
ELSEWHERE = "elsewhere"
# What a loop does, by the first of these that names one of its instructions.
KINDS = {
    EXPONENTIALS: r"v(scalef|reduce|rndscale|round)ps$|vpslld$",
    PRODUCTS: r"vfn?m(add|sub)\d*p[sdh]$|vdpbf16ps$|tdp|tilestored",
    "prefetching": r"prefetch",
    "maxima and masks": r"v(max|blendm|blendv)ps$",
    "conversion between types": r"vcvtne2?ps2bf16|vcvtps2ph|vcvtph2ps|vpmov(dw|zxwd)$",
    "transposition": r"vperm[ti]2|vunpck|vshufp",
    "scaling of queries and output": r"vmulps$",
}
ROWS = [SCORES, OUTPUT, PRODUCTS, *[k for k in KINDS if k != PRODUCTS], ELSEWHERE]

# A mapping of generated code in `perf script`: [0x7f00(0x2000) @ ...]: r-xp //anon
MAPPING = re.compile(r"MMAP.*\[0x([0-9a-f]+)\(0x([0-9a-f]+)\).*r-xp //anon")
SAMPLE = re.compile(r"^\s*([0-9a-f]+)(?: |$)")


def kind_of(instructions):
    for kind, pattern in KINDS.items():
        if any(re.match(pattern, mnemonic) for _, mnemonic, _ in instructions):
            return kind
    return ELSEWHERE


def name_loops(body):
    """{(first, last): name} of a function's innermost loops."""
    names = {}
    for loop in kernel_code.innermost_loops(body):
        names[(loop[0][0], loop[-1][0])] = kind_of(loop)
    weights = [loop for loop, name in names.items() if name == EXPONENTIALS]
    if weights:
        for loop, name in names.items():
            if name == PRODUCTS:
                names[loop] = SCORES if loop < max(weights) else OUTPUT
    return names


def shares(text, samples):
    """{name: share} of {address: number of samples} in a disassembly."""
    counts, total = Counter(), sum(samples.values())
    for _, body in kernel_code.functions(text):
        names = name_loops(body)
        around = sorted(kernel_code.loops(body), key=lambda loop: loop[1] - loop[0])
        for address, _, _ in body:
            loop = next((x for x in around if x[0] <= address <= x[1]), None)
            inside = {
                name
                for inner, name in names.items()
                if inner == loop or (loop and kernel_code.holds(loop, inner))
            }
            name = inside.pop() if len(inside) == 1 else ELSEWHERE
            counts[name] += samples.get(address, 0)
    if not total or sum(counts.values()) < 0.99 * total:
        sys.exit(f"{sum(counts.values())} of {total} samples are in the kernel's file")
    return {name: count / total for name, count in counts.items()}


def run(command, needs):
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit(f"{command[0]} not found: {needs}")
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stderr.strip()}")
    return result.stdout


def profile(name, options):
    """The shares of a benchmark's loops, and its share of the peak."""
    perf = "it is in Debian's package linux-perf"
    with tempfile.TemporaryDirectory() as folder:
        data, cache = f"{folder}/perf.data", Path(folder) / "cache"
        record = ["perf", "record", "-e", "cpu-clock:u", "-F", "5000", "-o", data]
        bench = [str(options.bench), f"--benchmark_filter=^{name}/threads:1/"]
        bench += [f"--benchmark_min_time={options.min_time}", f"--cache-dir={cache}"]
        bench += ["--alone"]
        out = run([*record, "--", *bench, "--benchmark_format=json"], perf)
        benchmarks = json.loads(out)["benchmarks"] if out else []
        if len(benchmarks) != 1:
            sys.exit(f"{name}: expected one benchmark, got {len(benchmarks)}")
        if benchmarks[0].get("error_occurred"):
            sys.exit(f"{name}: {benchmarks[0]['error_message']}")
        kernels = list(cache.iterdir())
        if len(kernels) != 1:
            sys.exit(f"{name}: runs {len(kernels)} kernels, only one can be profiled")
        script = ["perf", "script", "-i", data, "-F", "ip", "--show-mmap-events"]
        lines = run(script, perf).splitlines()
        text = kernel_code.disassemble(kernels[0], options.objdump)
    mappings = [match for line in lines if (match := MAPPING.search(line))]
    if len(mappings) != 1:
        sys.exit(f"{name}: expected one mapping of a kernel, got {len(mappings)}")
    start, size = (int(number, 16) for number in mappings[0].groups())
    addresses = (int(match[1], 16) for line in lines if (match := SAMPLE.match(line)))
    samples = Counter(a - start for a in addresses if start <= a < start + size)
    open("/tmp/prof_me.txt","w").write(text); import pickle; pickle.dump(samples,open("/tmp/prof_me.pkl","wb"))
    return shares(text, samples), benchmarks[0]["real_time"]


def table(names, profiles):
    rows = []
    for kind in ROWS:
        if any(kind in found for found, _ in profiles):
            cells = [f"{p*found.get(kind,0):.3f}" for found, p in profiles]
            rows.append([kind, *cells])
    speeds = ["share of peak", *[f"{peak:.3f}" for _, peak in profiles]]
    products = [found.get(SCORES, 0) + found.get(OUTPUT, 0) for found, _ in profiles]
    inside = [
        f"{peak / product:.3f}" if product else ""
        for product, (_, peak) in zip(products, profiles)
    ]
    rows += [speeds, ["share of peak / share of products", *inside]]
    heads = [" ".join(name.split("/")[1:]) for name in names]
    return figures.table(["percent of the kernel's time", *heads], rows)


def self_test():
    """Whether loops get their names and samples."""
    text = """0000000000000000 <f>:
       0:      \tvaddps\t%zmm0, %zmm1, %zmm2
       4:      \tvmovups\t%zmm0, (%rax)
       8:      \tvfmadd231ps\t%zmm0, %zmm1, %zmm2
       c:      \tjb\t0x8 <f+0x8>
      10:      \tjb\t0x4 <f+0x4>
      14:      \tvfmadd213ps\t%zmm0, %zmm1, %zmm2
      18:      \tvscalefps\t%zmm0, %zmm1, %zmm2
      1c:      \tjb\t0x14 <f+0x14>
      20:      \ttdpbf16ps\t%tmm2, %tmm1, %tmm0
      24:      \tjb\t0x20 <f+0x20>
      28:      \tjb\t0x0 <f>
"""
    samples = {0x0: 1, 0x4: 2, 0x8: 3, 0x14: 4, 0x20: 9, 0x28: 1}
    expected = {SCORES: 0.25, EXPONENTIALS: 0.2, OUTPUT: 0.45, ELSEWHERE: 0.1}
    found = shares(text, samples)
    if found != expected:
        print(f"self-test: expected {expected}\ngot {found}")
    return found == expected


def main():
    parser = figures.create_parser(__doc__, min_time=3)
    parser.add_argument("benchmark", nargs="*", default=BENCHMARKS)
    parser.add_argument("--objdump", default="llvm-objdump-22")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(0 if self_test() else 1)
    # A table for each type.
    types = dict.fromkeys(name.split("/")[-1] for name in options.benchmark)
    text = figures.machine()
    for dtype in types:
        names = [name for name in options.benchmark if name.endswith(f"/{dtype}")]
        text += "\n\n" + table(names, [profile(name, options) for name in names])
    figures.publish(options, "profile", text)


if __name__ == "__main__":
    main()
