# ===- lit.cfg.py - How the FileCheck tests run ----------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
#
# A test names its tools as a user would ("attn-opt %s"): the tools that were
# built come first on PATH, then LLVM's. lit.site.cfg.py in the build folder
# loads this file. Where no times are recorded yet, those in .lit_test_times.txt
# have the longest tests started first, not last, by their names.
#
# ===----------------------------------------------------------------------===#

import os
import pathlib
import re

import lit.formats


def has_kernels(path):
    """Whether sanitizers leave out a test, or the kernels of it."""
    text = path.read_text(encoding="utf-8")
    return bool(re.search(r"UNSUPPORTED:.*sanitizer|%run\b|leaves-kernels", text))


def host_flags():
    """The extensions of an x86 processor, by Linux's names."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line for line in file if line.startswith("flags")]
    except OSError:
        lines = []
    return lines[0].split(":")[1].split() if lines else []


config.name = "Attn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# The last two are CTest's.
config.excludes = ["Inputs", "Package", "Static"]
config.test_source_root = os.path.dirname(__file__)
# The parameter `kernels` selects tests "with" these or "without", by their names.
if wanted := lit_config.params.get("kernels"):
    names = {True: set(), False: set()}
    for path in pathlib.Path(config.test_source_root).rglob("*.*"):
        if path.suffix in config.suffixes:
            names[has_kernels(path)].add(path.name)
    if same := names[True] & names[False]:
        lit_config.fatal(f"tests with kernels and without have one name: {same}")
    config.excludes += names[wanted != "with"]
config.test_exec_root = os.path.join(config.build_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.build_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]]
)
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# For "REQUIRES: " and "UNSUPPORTED: " lines.
if config.sanitizers:
    config.available_features.add("sanitizer")
# Where kernels that other tests lower are not run as well: sanitizers would watch
# LLVM compile them, and little of this project. scripts/test.sh --all runs them.
leaves_kernels = config.sanitizers and "ATTN_ALL_CASES" not in os.environ
if leaves_kernels:
    config.available_features.add("leaves-kernels")
# Whether it compiles for GPUs, and for their emulator.
if config.gpu:
    config.available_features.add("gpu")
# Whether there is an ONNX library.
if os.path.exists(os.path.join(config.build_dir, "bin", "attn-import")):
    config.available_features.add("onnx")
# Whether this machine can run code for AVX2.
if {"avx2", "fma"} <= set(host_flags()):
    config.available_features.add("host-avx2")
# Whether it has tiles of bf16 as well.
if {"avx512_bf16", "amx_bf16"} <= set(host_flags()):
    config.available_features.add("host-amx")

# attn-run, for such kernels.
config.substitutions.append((r"%run\b", ":" if leaves_kernels else "attn-run"))

# A path may hold spaces: quote lit's own substitutions before they are made.
for name in "sStT":
    config.substitutions.append((rf"%{name}\b", f'"%{name}"'))
for name, path in (
    ("plugin", os.path.join(config.build_dir, "lib", "AttnPlugin.so")),
    ("examples", os.path.join(config.source_dir, "examples")),
    ("scripts", os.path.join(config.source_dir, "scripts")),
    ("build", config.build_dir),
):
    config.substitutions.append((rf"%{name}\b", f'"{path}"'))
