# ===- check_spills.py - No register spills in hot loops --------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Checks that the innermost loops of kernels spill no vector registers.

Takes object files, and files or folders of a kernel cache (`attn-run
--cache-dir`), for x86-64 or AArch64. Looks at every innermost loop that multiplies
and adds vectors or tiles, and prints each instruction in it that moves a vector to
or from a fixed place on the stack. Exits with 1 if there is one, or if there is no
such loop.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import kernel_code


@dataclass
class Machine:
    """What to look for in the disassembly of one architecture."""

    multiply_add: re.Pattern  # Name of a vector multiply-add.
    vector: re.Pattern  # A vector register among the operands.
    stack: str  # A fixed place on the stack; FRAME stands for its registers.
    stack_pointer: str
    # An instruction that makes another register point to the stack.
    frame: re.Pattern


X86 = Machine(
    multiply_add=re.compile(r"^vfn?m(add|sub)\d*p[sdh]$|^vdpbf16ps$|^tdp"),
    vector=re.compile(r"%[xyzt]mm\d"),
    # An index register makes it an array, but tiles are always moved with one.
    stack=r"\(%(?:FRAME)\)|\(%(?:FRAME),[^)]*\), %tmm|%tmm\d, .*\(%(?:FRAME),",
    stack_pointer="rsp",
    frame=re.compile(r"^movq? %rsp, %(\w+)$"),
)
AARCH64 = Machine(
    multiply_add=re.compile(r"^f(mla|mls|madd|msub)$|^bf(dot|mmla)$"),
    vector=re.compile(r"\b[vqz]\d"),
    stack=r"\[(?:FRAME)(?:, #[^\]]*)?\]",
    stack_pointer="sp",
    frame=re.compile(r"^(?:mov|add) (x29|x19), sp(?:, #.*)?$"),
)


def stack_pattern(body, machine):
    """What a fixed place on the stack looks like in a function."""
    registers = {machine.stack_pointer}
    for _, mnemonic, operands in body:
        if match := machine.frame.match(f"{mnemonic} {operands}"):
            registers.add(match[1])
    return re.compile(machine.stack.replace("FRAME", "|".join(sorted(registers))))


@dataclass
class Loop:
    """An innermost loop that multiplies and adds vectors."""

    function: str
    instructions: list
    multiply_adds: int
    spills: list  # Instructions.

    @property
    def share(self):
        return self.multiply_adds / len(self.instructions)

    def __str__(self):
        first, last = self.instructions[0][0], self.instructions[-1][0]
        return (
            f"{self.function}: {first:x} to {last:x}: "
            f"{self.multiply_adds} multiply-adds in {len(self.instructions)} "
            f"instructions, {len(self.spills)} spills"
        )


def hot_loops(text):
    """The loops of a disassembly that are worth a look."""
    machine = AARCH64 if "aarch64" in text.split("Disassembly", 1)[0] else X86
    loops = []
    for name, body in kernel_code.functions(text):
        stack = stack_pattern(body, machine)
        for instructions in kernel_code.innermost_loops(body):
            vectors = [i for i in instructions if machine.vector.search(i[2])]
            multiply_adds = sum(bool(machine.multiply_add.match(i[1])) for i in vectors)
            spills = [i for i in vectors if stack.search(i[2])]
            if multiply_adds:
                loops.append(Loop(name, instructions, multiply_adds, spills))
    return loops


def self_test():
    """Whether loops with and without spills are told apart."""
    x86 = "x: file format elf64-x86-64\n\nDisassembly of section .text:\n\n"
    arm = "x: file format elf64-littleaarch64\n\nDisassembly of section .text:\n\n"
    # Disassembly -> number of loops, number of spills.
    cases = {
        # A spill before the loop, a scalar and an array in it.
        x86
        + """0000000000000000 <f>:
       0:      \tvmovups\t%zmm0, 0x40(%rsp)
       8:      \tvfmadd231ps\t0x40(%rsp,%rax,4), %zmm1, %zmm2
       c:      \tmovq\t0x8(%rsp), %rcx
      10:      \tjne\t0x8 <f+0x8>
""": (1, 0),
        # In the outer loop, not in the inner one, which has no multiplication.
        x86
        + """0000000000000000 <f>:
       0:      \tvmovups\t%zmm0, 0x40(%rsp)
       8:      \tvaddps\t%zmm0, %zmm1, %zmm2
      10:      \tjne\t0x8 <f+0x8>
      18:      \tvfmadd231ps\t%zmm0, %zmm1, %zmm2
      20:      \tjne\t0x0 <f>
""": (0, 0),
        x86
        + """0000000000000000 <f>:
       0:      \tmovq\t%rsp, %rbp
       8:      \tvfmadd231ps\t-0x40(%rbp), %ymm1, %ymm2
      10:      \tvmovups\t%ymm2, (%rsp)
      18:      \tjb\t0x8 <f+0x8>
""": (1, 2),
        # Without a frame, %rbp is a register like any other.
        x86
        + """0000000000000000 <f>:
       8:      \tvfmadd231ps\t-0x40(%rbp), %ymm1, %ymm2
      18:      \tjb\t0x8 <f+0x8>
""": (1, 0),
        x86
        + """0000000000000000 <f>:
       8:      \tvmovups\t0x40(%rsp), %zmm1
      10:      \ttdpbf16ps\t%tmm2, %tmm1, %tmm0
      18:      \tjb\t0x8 <f+0x8>
""": (1, 1),
        # A tile of an array, and two on the stack.
        x86
        + """0000000000000000 <f>:
       0:      \ttileloadd\t(%rbp,%r12), %tmm6
       8:      \ttileloadd\t0x400(%rsp,%rax), %tmm1
      10:      \ttdpbf16ps\t%tmm6, %tmm1, %tmm0
      18:      \ttilestored\t%tmm0, 0x800(%rsp,%rax)
      20:      \tjb\t0x0 <f>
""": (1, 2),
        arm
        + """0000000000000000 <f>:
       0:      \tldr\tq7, [sp, #0x10]
       4:      \tfmla\tv7.4s, v16.4s, v18.s[0]
       8:      \tldp\tq1, q2, [sp]
       c:      \tldr\tq3, [x0], #0x10
      10:      \tcbnz\tx1, 0x0 <f>
""": (1, 2),
    }
    passed = True
    for text, (loops, spills) in cases.items():
        found = hot_loops(text)
        if (len(found), sum(len(loop.spills) for loop in found)) != (loops, spills):
            print(f"self-test: expected {loops} loops and {spills} spills in")
            print(f"{text}got", *found)
            passed = False
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("object", type=Path, nargs="*")
    parser.add_argument("--objdump", default="llvm-objdump", help="path of llvm-objdump")
    parser.add_argument(
        "--share",
        type=float,
        default=0,
        help="leave out loops where fewer of the instructions multiply and add",
    )
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(0 if self_test() else 1)
    files = []
    for path in options.object:
        files += sorted(path.iterdir()) if path.is_dir() else [path]
    if not files:
        parser.error("expected an object file")
    failed = False
    for path in files:
        loops = hot_loops(kernel_code.disassemble(path, options.objdump))
        loops = [loop for loop in loops if loop.share >= options.share]
        print(f"{path.name}: {len(loops)} hot loops")
        failed |= not loops
        for loop in loops:
            print(f"  {loop}")
            failed |= bool(loop.spills)
            for address, mnemonic, operands in loop.spills:
                print(f"    {address:x}: {mnemonic} {operands}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
