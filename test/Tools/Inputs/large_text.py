# ===- large_text.py - Kernels that are too large ---------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""large_text.py KIND N prints a kernel with N of something."""

import sys


def nested_tuples(n):
    """A type of n levels, no bracket in a bracket."""
    print("!t0 = tuple<f32>")
    for i in range(1, n):
        print(f"!t{i} = tuple<!t{i - 1}>")


def nested_results(n):
    """The same of functions, whose results need no bracket."""
    print("!t0 = () -> i1")
    for i in range(1, n):
        print(f"!t{i} = () -> !t{i - 1}")


def results(n):
    types = ", ".join(["tensor<1xf32>"] * n)
    print(f"func.func @f(%x: tensor<1xf32>) -> ({types}) {{")
    print(f"  return {', '.join(['%x'] * n)} : {types}\n}}")


def arguments(n):
    names = ", ".join(f"%x{i}: i32" for i in range(n))
    print(f"func.func @f({names}) {{\n  return\n}}")


def softcaps(n):
    tensor = "tensor<1x1x4x8xf32>"
    caps = ", ".join(f"softcap({i}.0)" for i in range(1, n + 1))
    print(f"func.func @f(%x: {tensor}) -> {tensor} {{")
    print(f"  %y = attn.attention ins(%x, %x, %x : {tensor}, {tensor}, {tensor})")
    print(f"      outs(%x : {tensor}) score {caps}\n  return %y : {tensor}\n}}")


globals()[sys.argv[1].replace("-", "_")](int(sys.argv[2]))
