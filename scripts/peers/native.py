# ===- native.py - Peers written in C++ ------------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Builds a C++ file of this folder for this machine and loads it."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def build(source, options):
    """The library that `source` makes, kept in the environment's folder."""
    path = Path(__file__).resolve().parent / source
    library = Path(sys.prefix) / (path.stem + ".so")
    compiler = os.environ.get("CXX", "clang++-22")
    command = [compiler, "-std=c++20", "-O3", "-march=native", "-shared", "-fPIC"]
    result = subprocess.run(
        command + [str(path), "-o", str(library)] + options,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        sys.exit(result.stderr)
    return ctypes.CDLL(str(library))
