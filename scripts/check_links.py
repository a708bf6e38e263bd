# ===- check_links.py - Where the documentation's links lead ---------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Holds links between pages, and from pages to files, to what is there.

Every link of a .md file of the tree that is not to the web leads to a file or a
folder of the tree, and after a # to a heading of that page, by the names that
GitHub gives to headings. Prints those that do not, and exits with 1 if there is one.
"""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?)\s*$", re.M)


def get_anchors(page):
    """The names of a page's headings."""
    anchors, seen = set(), {}
    for heading in HEADING.findall(FENCED.sub("", page)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = seen.get(name, 0)
        seen[name] = number + 1
        anchors.add(f"{name}-{number}" if number else name)
    return anchors


def check(path):
    """What is wrong with the links of one page."""
    page = path.read_text()
    for link in LINK.findall(CODE.sub("``", FENCED.sub("", page))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            yield f"{link}: there is no such file"
        elif anchor and anchor not in get_anchors(target.read_text()):
            yield f"{link}: there is no such heading"


def self_test():
    """Whether what is wrong is found."""
    page = "# A `b`, c\n## Two\n## Two\n```\n# d\n[x](y)\n```\n`[x](z)`\n"
    right = ["#a-b-c", "#two-1", "a.md", "a.md#two", ".", "https://example.com/#x"]
    wrong = ["#d", "#a", "#two-2", "b.md", "a.md#three", "../none/a.md"]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.md"
        for link in right + wrong:
            path.write_text(f"{page}[x]({link})\n")
            if len(list(check(path))) != int(link in wrong):
                print(f"self-test: {link}")
                failed = True
    return not failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(0 if self_test() else 1)
    # Not hidden folders, nor what is built.
    pages = [
        path
        for path in sorted(ROOT.rglob("*.md"))
        if not re.match(r"build/|\.|.*/\.", str(path.relative_to(ROOT)))
    ]
    problems = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in pages
        for problem in check(path)
    ]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
