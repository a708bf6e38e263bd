# ===- environment.py - Packages of PyPI for tests --------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""environment.py FOLDER REQUIREMENTS: makes a Python environment with what a file
names, unless the folder has it already."""

import subprocess
import sys
from pathlib import Path


def main():
    folder, requirements = Path(sys.argv[1]), Path(sys.argv[2])
    wanted = requirements.read_text(encoding="utf-8")
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--only-binary",
        ":all:",
    ]
    install += ["--requirement", requirements]
    subprocess.run([folder / "bin" / "python", *install], check=True)
    stamp.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
