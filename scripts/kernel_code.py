# ===- kernel_code.py - The machine code of kernels -------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Disassembles kernels and finds their loops, for x86-64 and AArch64.

An instruction is (address, mnemonic, operands). Other scripts use the functions.
"""

import re
import subprocess
import sys
import tempfile

# "  1a4: vmovups 0x40(%rsp), %zmm1" and "0000000000000010 <attention>:".
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
JUMP = re.compile(r"^(j\w+|b(\.\w+)?|cbn?z|tbn?z)$")
# "0x1a0 <attention+0x190>", last on AArch64.
TARGET = re.compile(r"0x([0-9a-f]+) <")


def disassemble(path, objdump):
    """The text of objdump for an object file, or for one that ends a file."""
    contents = path.read_bytes()
    start = contents.find(b"\x7fELF")
    if start < 0:
        sys.exit(f"{path}: no object file, and none in it")
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(contents[start:])
        file.flush()
        command = [objdump, "-d", "--no-show-raw-insn", file.name]
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            sys.exit(f"{objdump} not found: give the path of llvm-objdump as --objdump")
    if result.returncode != 0:
        sys.exit(f"{path}: {result.stderr.strip()}")
    return result.stdout


def functions(text):
    """Yields (name, [(address, mnemonic, operands)]) of a disassembly."""
    name, body = None, []
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            if body:
                yield name, body
            name, body = match[1], []
        elif name and (match := INSTRUCTION.match(line)):
            body.append((int(match[1], 16), match[2], match[3].split(" //")[0]))
    if body:
        yield name, body


def loops(body):
    """The (first, last) addresses of a function's loops, those of a jump back."""
    found = []
    for address, mnemonic, operands in body:
        target = TARGET.search(operands) if JUMP.match(mnemonic) else None
        if target and int(target[1], 16) <= address:
            found.append((int(target[1], 16), address))
    return found


def holds(outer, inner):
    return outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]


def innermost_loops(body):
    """Yields the instructions of the loops that hold no other loop."""
    found = loops(body)
    for loop in found:
        if not any(holds(loop, other) for other in found):
            yield [i for i in body if loop[0] <= i[0] <= loop[1]]
