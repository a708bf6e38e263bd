# ===- run_docs.py - Runs what the documentation shows ---------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the commands and the code of pages, as a reader would, and fails as one.

    python3 scripts/run_docs.py README.md docs/guide/*.md

All pages share one new folder, which looks like the top of the tree: its entries
are links to what is there, and build/release is the build folder that --build
names. From top to bottom of each page,

- a block ```sh is run by bash, and must succeed;
- a block ```text right behind it is what it prints, where "..." may be anything;
- another block is saved as the file that the paragraph above it names in `code`, if
  it names one and ends in a colon, for the commands that follow;
- any other block ```mlir is verified by attn-opt, and ```cpp is compiled alone;
- a picture that a page shows is, to the byte, what its commands wrote in a file of
  that name.

The comment <!-- not run: REASON --> right before a block leaves it out, and
<!-- needs FILE: REASON --> where that file is not there.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEEL = "build/release/test/Python/venv"
FENCE = re.compile(r"^```(\w*)$")
FILE_NAME = re.compile(r"`([\w/-]+\.(?:c|cpp|mlir|py|txt))`.*:$")
NOT_RUN = re.compile(r"^<!-- not run: \w.*-->$")
NEEDS = re.compile(r"^<!-- needs (\S+): \w.*-->$")
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
CHECKS = {
    "mlir": ["build/release/bin/attn-opt", "-o", "/dev/null", "-"],
    "cpp": "clang++-22 -std=c++20 -Wall -Wextra -Wno-unused-parameter -Werror "
    "-fsyntax-only -I runtime/include -x c++ -".split(),
}


class Failure(Exception):
    """What a reader would trip over, and the line of the page if it has one."""

    def __init__(self, message, line=None):
        super().__init__(message if line is None else f"{line}: {message}")


class Block:
    """A fenced block, and the paragraph before it as one line."""

    def __init__(self, language, line, before):
        self.language, self.line, self.before = language, line, before
        self.lines = []
        # Whether nothing but empty lines is between it and the block before.
        self.follows_block = False

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    @property
    def file_name(self):
        found = FILE_NAME.search(self.before)
        return found[1] if found else None


def parse(page):
    """The blocks of a page."""
    blocks, block, before = [], None, ""
    is_new_paragraph = True
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if block:
            if line == "```":
                blocks.append(block)
                block, before = None, "```"
            else:
                block.lines.append(line)
        elif fence:
            block = Block(fence[1], number, before)
            block.follows_block = before == "```"
        elif line.lstrip().startswith(("```", "~~~")):
            raise Failure(f"expected ``` and one word, got '{line}'", number)
        elif line.startswith("    ") and is_new_paragraph:
            raise Failure("an indented block, which is not run", number)
        elif line.strip():
            before = line if is_new_paragraph else f"{before} {line}"
        is_new_paragraph = not line.strip() or line == "```"
    if block:
        raise Failure("a block without an end", block.line)
    return blocks


def matches(expected, printed):
    """Whether `printed` is `expected`, in which "..." stands for anything."""
    pattern = ".*".join(map(re.escape, expected.strip().split("...")))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def execute(command, folder, text=""):
    """Its exit code, and all that it printed."""
    # Where a test has installed the wheel, python3 has the module.
    path = f"{folder / WHEEL / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        input=text,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def run_block(block, folder, printed):
    """Runs one block. Gives what it printed; `printed` is of the one before."""
    needs = NEEDS.match(block.before)
    if NOT_RUN.match(block.before) or (needs and not (folder / needs[1]).exists()):
        return None
    if block.language == "sh":
        code, output = execute(["bash", "-euo", "pipefail", "-c", block.text], folder)
        if code:
            raise Failure(f"exit code {code}:\n{block.text}\n{output}", block.line)
        return output
    if block.language == "text" and block.follows_block:
        # Of a command that was not run, nothing is known.
        if printed is not None and not matches(block.text, printed):
            raise Failure(f"expected\n{block.text}\ngot\n{printed}", block.line)
        return None
    if block.file_name:
        path = folder / block.file_name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Failure(f"{block.file_name} is a file of the tree", block.line)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)
    elif block.language not in CHECKS:
        raise Failure(f"nothing runs a block of '{block.language}'", block.line)
    if block.language == "mlir" or not block.file_name:
        code, output = execute(CHECKS[block.language], folder, block.text)
        if code:
            raise Failure(output, block.line)
    return None


def run_page(page, folder, pictures):
    """Runs a page's blocks in `folder`. Its pictures are relative to `pictures`."""
    printed = None
    for block in parse(page):
        printed = run_block(block, folder, printed)
    for target in PICTURE.findall(page):
        made = folder / Path(target).name
        if not made.is_file():
            raise Failure(f"no command writes {made.name}, which the page shows")
        shown = pictures / target
        if not shown.is_file() or made.read_bytes() != shown.read_bytes():
            raise Failure(f"{target} is not what the page's command writes now")


def make_folder(folder, build):
    """Makes `folder` look like the top of the tree."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith(".") and entry.name != "build":
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(build)
    # What scripts/fetch-model.sh has fetched.
    if (ROOT / "build" / "models").exists():
        (folder / "build" / "models").symlink_to(ROOT / "build" / "models")


def self_test():
    """Whether what is wrong is found."""
    fence = "```"
    echo = f"{fence}sh\necho one two\n{fence}\n"
    right = [
        echo,
        f"{echo}\n{fence}text\none ...\n{fence}\n",
        f"In `a.txt`\nis b:\n\n{fence}text\nb\n{fence}\n{fence}sh\ngrep b a.txt\n{fence}\n",
        f"<!-- not run: it fails -->\n{fence}sh\nfalse\n{fence}\n\n{fence}text\nx\n{fence}\n",
        f"<!-- needs runtime/none: a test -->\n{fence}sh\nfalse\n{fence}\n",
        f"{fence}sh\necho made > a.svg\n{fence}\n![a](a.svg)\n",
    ]
    wrong = [
        f"{fence}sh\nfalse\n{fence}\n",
        f"{fence}sh\nfalse | true\n{fence}\n",
        f"<!-- not run: -->\n{fence}sh\nfalse\n{fence}\n",
        f"<!-- needs runtime: a test -->\n{fence}sh\nfalse\n{fence}\n",
        f"{echo}\n{fence}text\none\n{fence}\n",
        f"{echo}\nOf something else:\n\n{fence}text\none two\n{fence}\n",
        f"{fence}\necho\n{fence}\n",
        f"In `a.txt`.\n\nHere:\n{fence}text\nb\n{fence}\n",
        f"{fence}python\nprint()\n{fence}\n",
        f"{fence}sh\necho\n",
        f"{fence}sh extra\necho\n{fence}\n",
        f"- A list.\n\n  {fence}sh\n  echo\n  {fence}\n",
        "    echo\n",
        f"In `link/a.txt`:\n\n{fence}text\nb\n{fence}\n",
        f"{fence}cpp\nint f() {{ return x; }}\n{fence}\n",
        f"{fence}sh\necho other > a.svg\n{fence}\n![a](a.svg)\n",
        f"{fence}sh\necho made > b.svg\n{fence}\n![b](b.svg)\n",
        "![a](a.svg)\n",
    ]
    failed = False
    for is_right, pages in (True, right), (False, wrong):
        for page in pages:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "runtime" / "include").mkdir(parents=True)
                (folder / "committed").mkdir()
                (folder / "link").symlink_to("/nowhere")
                (folder / "committed" / "a.svg").write_text("made\n")
                message = None
                try:
                    run_page(page, folder, folder / "committed")
                except Failure as failure:
                    message = failure
                if (message is None) != is_right:
                    print(f"self-test: {message or 'nothing is found'} of\n{page}")
                    failed = True
    return not failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(0 if self_test() else 1)
    if not options.pages:
        parser.error("name the pages to run")
    with tempfile.TemporaryDirectory(prefix="attn-docs-") as name:
        folder = Path(name)
        make_folder(folder, options.build.resolve())
        for page in options.pages:
            try:
                run_page(page.read_text(), folder, page.parent)
            except Failure as failure:
                sys.exit(f"{page}: {failure}")


if __name__ == "__main__":
    main()
