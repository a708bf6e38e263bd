# ===- check_layering.py - Which folder may include which ------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Checks the #include lines of the tree, and what the build links.

Prints "file:line: rule" for everything that breaks a rule and exits with 1 if
there is any. RULES below is the architecture; keep it readable.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

STD = ["<std>"]
MLIR = ["mlir/", "llvm/", "llvm-c/"]
HOST = ["attn/"]

# Folder -> what its files may include: prefixes of include paths, or <std>.
# The longest folder that holds a file counts, and a file may always include its
# own folder. What is not listed may not be included.
COMPILER = ["dialect/"]
RULES = {
    "dialect": STD + MLIR,
    "lib/Plan": STD + MLIR + COMPILER + ["lib/Regions/"],
    "lib/Regions": STD + MLIR + COMPILER,
    "lib/Math": STD + MLIR,
    "lib/Kernel": STD + MLIR + COMPILER + ["lib/Math/", "lib/Regions/"],
    "lib/Layer": STD + MLIR + COMPILER,
    "lib/Memory": STD + MLIR + COMPILER + ["lib/Kernel/", "lib/Plan/"],
    "lib/Online": STD
    + MLIR
    + COMPILER
    + ["lib/Memory/", "lib/Plan/", "lib/Regions/"],
    "lib/Attention": STD
    + MLIR
    + COMPILER
    + ["lib/Layer/", "lib/Plan/", "lib/Regions/"],
    "lib/Gradient": STD
    + MLIR
    + COMPILER
    + ["lib/Layer/", "lib/Online/", "lib/Plan/", "lib/Reference/", "lib/Regions/"],
    "lib/SplitKV": STD + MLIR + COMPILER + ["lib/Online/", "lib/Plan/"],
    "lib/Projection": STD + MLIR + COMPILER + ["lib/Online/", "lib/Plan/"],
    "lib/BlockMap": STD
    + MLIR
    + COMPILER
    + ["lib/Attention/", "lib/Plan/", "lib/Regions/"],
    "lib/Raise": STD + MLIR + COMPILER,
    "lib/Reference": STD
    + MLIR
    + COMPILER
    + ["lib/Layer/", "lib/Online/", "lib/Regions/"],
    "lib/Sharding": STD
    + MLIR
    + COMPILER
    + ["lib/Kernel/", "lib/Reference/", "lib/Regions/"],
    "lib/MultiToken": STD
    + MLIR
    + COMPILER
    + ["lib/Plan/", "lib/Reference/", "lib/Regions/"],
    "lib/CPU": STD
    + MLIR
    + COMPILER
    + ["lib/Math/", "lib/Memory/", "lib/Plan/", "lib/Regions/"],
    "lib/GPU": STD
    + MLIR
    + COMPILER
    + [
        "lib/Attention/",
        "lib/Kernel/",
        "lib/Math/",
        "lib/Memory/",
        "lib/Online/",
        "lib/Plan/",
        "lib/Reference/",
        "lib/Regions/",
    ],
    "lib/Pipelines": STD + MLIR + COMPILER + ["lib/"],
    "lib/Registration": STD + MLIR + COMPILER + ["lib/"],
    "runtime/include": STD + HOST,
    "runtime/Support": STD + HOST + ["oneapi/tbb/"],
    "runtime/Emulator": STD + HOST,
    "runtime/Reference": STD + HOST,
    "runtime/Npy": STD + HOST,
    "runtime/Cache": STD + HOST + ["runtime/Support/"],
    "runtime/Builder": STD + HOST + ["runtime/Support/"],
    "runtime/Bridge": STD + MLIR + HOST,
    # Of the format, where nothing sees MLIR, and of what becomes of it.
    "runtime/ONNX": STD
    + MLIR
    + HOST
    + COMPILER
    + ["runtime/Bridge/", "onnx/", "google/protobuf/"],
    "runtime/CUDA": STD + MLIR + HOST + ["lib/", "runtime/Bridge/"],
    "runtime/MPI": STD + HOST + ["runtime/Support/Call.h"],
    "runtime/JIT": STD + MLIR + HOST + COMPILER + ["lib/", "runtime/"],
    # A user of the library like any other.
    "runtime/ONNXRuntime": STD + HOST,
    "runtime/Interpreter": STD
    + MLIR
    + HOST
    + COMPILER
    + ["lib/", "runtime/Bridge/", "runtime/Reference/"],
    "tools": STD + MLIR + HOST + COMPILER + ["lib/", "runtime/"],
    # The host API for Python.
    "python": STD + HOST + ["nanobind/"],
    # A user of the library like any other, with the oracle and files of arrays
    # beside it; its measure of the machine has to ask for tiles as kernels do.
    "tools/attn-bench": STD
    + HOST
    + [
        "examples/",
        "runtime/Npy/",
        "runtime/Reference/",
        "runtime/Support/TileState.h",
        "tools/OutputCheck.h",
        "benchmark/",
    ],
    "test": STD
    + MLIR
    + HOST
    + COMPILER
    + ["lib/", "runtime/", "examples/", "gtest/", "gmock/"],
    # What attn-run does, with text that no one would write.
    "test/Fuzz": STD
    + MLIR
    + HOST
    + COMPILER
    + ["lib/", "runtime/", "examples/", "test/", "tools/"],
    # A tool's own code, on a driver without a GPU.
    "test/GPUBench": STD
    + MLIR
    + HOST
    + ["runtime/", "test/", "tools/", "gtest/", "gmock/"],
    # Programs of a user's.
    "test/Package": STD + HOST,
    "examples": STD + HOST,
    # A compiler of a user's.
    "examples/dialect": STD + MLIR + COMPILER + ["lib/Registration/"],
    # With the library for Unicode.
    "examples/bpe": STD + HOST + ["examples/gguf/", "utf8proc.h"],
    "examples/smollm2": STD + HOST + ["examples/bpe/", "examples/gguf/"],
    "examples/train": STD + HOST + ["examples/bpe/", "examples/gguf/", "examples/smollm2/"],
}

# Passes are declared in these; what an op means does not depend on them.
PASS_HEADERS = re.compile(r"(^|/)(Passes|Transforms)\.h(\.inc)?$|^mlir/Pass/")

# They take seconds to compile, for every file that includes them.
UMBRELLAS = re.compile(
    r"^mlir/(InitAll\w+|Conversion/Passes|Target/LLVMIR/Dialect/All)\.h$"
)

# Include path -> the folders that may use it, and why nobody else.
ONLY_IN = [
    (
        re.compile(r"^(llvm|mlir)/ExecutionEngine/"),
        ["runtime/JIT", "test"],
        "only runtime/JIT touches LLVM's JIT",
    ),
    (
        re.compile(r"^(lib/GPU|runtime/CUDA|runtime/Emulator)/"),
        [
            "lib/GPU",
            "lib/Pipelines",
            "lib/Registration",
            "runtime/CUDA",
            "runtime/Emulator",
            "runtime/JIT",
            "test",
            "tools/attn-gpu-bench",
        ],
        "a build without GPUs is without it",
    ),
    (
        re.compile(r"^llvm/Support/CommandLine\.h$"),
        ["tools", "test"],
        "only tools/ parses a command line",
    ),
    (
        UMBRELLAS,
        ["lib/Registration"],
        "only lib/Registration includes umbrella headers",
    ),
    (
        PASS_HEADERS,
        ["lib", "runtime/CUDA", "runtime/JIT", "tools", "test", "examples/dialect"],
        "passes are known in lib/ and above",
    ),
]

# POSIX and compiler headers that count as the standard library.
SYSTEM = re.compile(r"^(dlfcn|elf|fcntl|getopt|link|malloc|pthread|sched|setjmp|signal|stdbool|stddef|stdint|stdio|string|ucontext|unistd|\w*intrin|arm_neon)\.h$|^(sys|sanitizer)/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
SUFFIXES = {".h", ".cpp"}
STATIC_LIBRARY = re.compile(r"\blib(?:MLIR|LLVM)\w*\.a\b")


def longest_folder(path, folders):
    """The longest of `folders` that holds the file `path`, or None."""
    holding = [f for f in folders if path.startswith(f + "/")]
    return max(holding, key=len, default=None)


def check_include(path, kind, target):
    """Yields the rules that a file breaks with one include line."""
    folder = longest_folder(path, RULES)
    if folder is None:
        yield "no rule for this folder: add one to scripts/check_layering.py"
        return
    is_std = kind == "<" and ("/" not in target and "." not in target)
    if is_std or SYSTEM.match(target):
        target_kind = "<std>"
    else:
        target_kind = target
        if "/" not in target and target not in RULES[folder]:
            yield f'"{target}": includes are paths from the top of the tree'
            return
    allowed = RULES[folder] + [folder + "/"]
    if not any(target_kind.startswith(prefix) for prefix in allowed):
        yield f"{folder}/ may not include {target}"
    for pattern, folders, why in ONLY_IN:
        if pattern.search(target) and longest_folder(path, folders) is None:
            yield f"{folder}/ may not include {target}: {why}"


def check_tree(root):
    """Yields "file:line: rule" for every violation below `root`."""
    tops = sorted({folder.split("/")[0] for folder in RULES} | {"lib", "runtime"})
    for top in tops:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            path = file.relative_to(root).as_posix()
            text = file.read_text(encoding="utf-8")
            for number, line in enumerate(text.splitlines(), 1):
                if match := INCLUDE.match(line):
                    for rule in check_include(path, *match.groups()):
                        yield f"{path}:{number}: {rule}"


def check_links(build):
    """Yields a line for every static MLIR or LLVM library that is linked."""
    ninja = build / "build.ninja"
    for number, line in enumerate(ninja.read_text(encoding="utf-8").splitlines(), 1):
        if libraries := sorted(set(STATIC_LIBRARY.findall(line))):
            names = ", ".join(libraries)
            yield f"{ninja}:{number}: links {names}; link only libMLIR.so and libLLVM.so"


def self_test():
    """Plants violations and fails unless each of them is found."""
    planted = {
        "dialect/A.cpp": '#include "lib/Attention/AttentionTile.h"',
        "dialect/B.cpp": '#include "mlir/Pass/Pass.h"',
        "dialect/C.cpp": '#include "B.h"',
        "lib/Regions/A.cpp": '#include "lib/Kernel/Transforms.h"',
        "lib/CPU/A.cpp": '#include "mlir/Conversion/Passes.h"',
        "lib/Online/A.cpp": '#include "lib/Pipelines/Pipelines.h"',
        "lib/Pipelines/A.cpp": '#include "llvm/Support/CommandLine.h"',
        "lib/Registration/A.cpp": '#include "attn/engine.h"',
        "lib/New/A.cpp": "#include <vector>",
        "runtime/include/attn/a.h": '#include "llvm/ADT/StringRef.h"',
        "runtime/Support/A.cpp": '#include "mlir/IR/MLIRContext.h"',
        "runtime/Reference/A.cpp": '#include "dialect/AttnOps.h"',
        "runtime/Interpreter/A.cpp": '#include "mlir/ExecutionEngine/ExecutionEngine.h"',
        "tools/attn-run/a.cpp": '#include "mlir/InitAllDialects.h"',
        "tools/attn-run/b.cpp": '#include "runtime/CUDA/Device.h"',
        "tools/attn-bench/a.cpp": '#include "runtime/JIT/Compiler.h"',
        "examples/a.cpp": '#include "dialect/AttnOps.h"',
    }
    fine = {
        "dialect/Fine.cpp": '#include "dialect/AttnOps.h"\n#include "mlir/IR/Builders.h"',
        "lib/Registration/Fine.cpp": '#include "mlir/InitAllDialects.h"',
        "runtime/JIT/Fine.cpp": '#include "llvm/ExecutionEngine/Orc/LLJIT.h"',
        "runtime/Support/Fine.cpp": "#include <cstdio>\n#include <unistd.h>",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in (planted | fine).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n", encoding="utf-8")
        found = {line.split(":")[0] for line in check_tree(root)}
        (root / "build.ninja").write_text("LINK_LIBRARIES = a/libMLIRIR.a -lm\n")
        links = list(check_links(root))
    wrong = found ^ set(planted)
    for name in sorted(wrong):
        print(f"self-test: {name}: {'missed' if name in planted else 'no violation'}")
    if not links:
        print("self-test: build.ninja: missed")
    return not wrong and bool(links)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, help="also check this build folder")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(0 if self_test() else 1)
    violations = list(check_tree(Path(__file__).resolve().parent.parent))
    if options.build:
        violations += check_links(options.build)
    print("\n".join(violations), end="\n" if violations else "")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
