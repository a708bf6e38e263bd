# ===- check_gallery.py - What the gallery of variants says of itself ------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Holds examples/variants/README.md to the code next to it.

Every variant of gallery.h has a row with the number of its lines, at most
MOST_LINES, and is run by a test and by attn-bench. There are at least
FEWEST_VARIANTS of them. What the README of the tree says of their speed is what a
table of docs/benchmarks-variants.md has. Prints what is not so, and exits with 1 if
there is anything.
"""

import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 5
FEWEST_VARIANTS = 20
TESTS = ["VariantsTest.cpp", "MultiTokenBuilderTest.cpp"]
FUNCTION = re.compile(
    r"^inline (Attention|MultiTokenAttention) (\w+)\([^{]*\) \{\n(.*?)^\}", re.M | re.S
)
ROW = re.compile(r"^\| `(\w+)` \|.*?\| (\d+) \|", re.M)
TABLE = re.compile(r"^\| variant .*\| times ours \|\n\|[-| ]*\n((?:\|.*\n)*)", re.M)
HEADLINE = re.compile(
    r"For (\d+) published variants, PyTorch's FlexAttention takes ([\d.]+) to ([\d.]+)"
    r"\s+times as long as Attn,\s+and ([\d.]+) times at the median"
)


def count_lines(code):
    """The lines of each variant, without the function around them."""
    lines = {}
    for result, name, body in FUNCTION.findall(code):
        own = [line for line in body.splitlines() if line.strip()]
        if result == "Attention":
            own.remove("  return attention;")
        lines[name] = len(own)
    return lines


def check(code, readme, tests, benchmarks, fewest=FEWEST_VARIANTS):
    lines, rows = count_lines(code), {n: int(k) for n, k in ROW.findall(readme)}
    if len(lines) < fewest:
        yield f"gallery.h: {len(lines)} variants, fewer than {fewest}"
    for name in sorted(lines.keys() ^ rows.keys()):
        yield f"{name}: only in {'gallery.h' if name in lines else 'README.md'}"
    for name in sorted(lines.keys() & rows.keys()):
        if lines[name] != rows[name]:
            yield f"{name}: {lines[name]} lines, README.md says {rows[name]}"
    for name, number in lines.items():
        if number > MOST_LINES:
            yield f"{name}: {number} lines, more than {MOST_LINES}"
        use = re.compile(rf"gallery::{name}\b")
        if not use.search(tests):
            yield f"{name}: in none of {', '.join(TESTS)}"
        # Multi-token attention is another operation, with benchmarks of its own.
        if f"inline Attention {name}(" in code and not use.search(benchmarks):
            yield f"{name}: not in attn-bench"


def check_headline(readme, figures):
    found = HEADLINE.search(readme)
    if not found:
        yield "README.md: no headline of the form that is checked"
        return
    tables = []
    for rows in TABLE.findall(figures):
        cells = [row.split("|")[-2] for row in rows.splitlines()]
        times = [float(cell) for cell in cells if cell.strip()]
        tables.append(
            (len(times), min(times), max(times), round(statistics.median(times)))
        )
    number, least, most, median = found.groups()
    if (int(number), float(least), float(most), int(median)) not in tables:
        yield f"README.md: no table has the headline's numbers, but {tables}"


def self_test():
    """Whether what is wrong is found."""
    code = (
        "inline Attention one(Attention attention,\n"
        "                     int n = 1) {\n"
        "  attention.mask =\n"
        "      f(n);\n"
        "  return attention;\n"
        "}\n"
    )
    use = "gallery::one"
    readme = "| `one` | a | 2 | b |\n"
    planted = [
        (code, "| `one` | a | 3 | b |\n", use, use),
        (code, readme + "| `two` | a | 1 | b |\n", use, use),
        (code, "", use, use),
        (code, readme, "gallery::ones", use),
        (code, readme, use, ""),
        (
            code.replace("f(n)", "f(\n1,\n2,\n3,\n4)"),
            readme.replace("2", "6"),
            use,
            use,
        ),
        ("", "", use, use),
    ]
    missed = [case for case in planted if not list(check(*case, fewest=1))]
    headline = (
        "For 3 published variants, PyTorch's FlexAttention takes 1.5 to 12.1\n"
        "times as long as Attn, and 4 times at the median"
    )
    figures = (
        "| variant | ms | times ours |\n| - | -- | -- |\n| a | 2 | 12.1 |\n"
        "| b | 3 | |\n| c | 2 | 1.5 |\n| d | 2 | 4.2 |\n"
    )
    planted_headlines = [
        ("", figures),
        (headline, ""),
        (headline.replace("For 3", "For 4"), figures),
        (headline.replace("1.5", "1.6"), figures),
        (headline.replace("12.1", "12"), figures),
        (headline.replace("and 4", "and 3"), figures),
    ]
    missed += [case for case in planted_headlines if not list(check_headline(*case))]
    # Nothing else is wrong with these.
    few = [(code, readme, use, use, fewest) for fewest in (2, FEWEST_VARIANTS)]
    missed += [case for case in few if len(list(check(*case))) != 1]
    wrong = list(check(code, readme, use, use, fewest=1))
    wrong += check_headline(headline, figures)
    for problem in wrong + missed:
        print("self-test:", problem)
    return not wrong and not missed


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(0 if self_test() else 1)
    variants = ROOT / "examples" / "variants"
    tests = [(ROOT / "test" / "Execution" / name).read_text() for name in TESTS]
    bench = (ROOT / "tools" / "attn-bench" / "GalleryCases.cpp").read_text()
    problems = list(
        check(
            (variants / "gallery.h").read_text(),
            (variants / "README.md").read_text(),
            "".join(tests),
            bench,
        )
    )
    problems += check_headline(
        (ROOT / "README.md").read_text(),
        (ROOT / "docs" / "benchmarks-variants.md").read_text(),
    )
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
