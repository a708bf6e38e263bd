# ===- peer_openblas.py - Matrix products of OpenBLAS ----------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""OpenBLAS's sgemm and a vectorised softmax: openblas.cpp."""

import ctypes

import numpy as np

import native
import peer


class Problem(ctypes.Structure):
    _fields_ = [
        ("query_heads", ctypes.c_long),
        ("key_heads", ctypes.c_long),
        ("length", ctypes.c_long),
        ("size", ctypes.c_long),
        ("causal", ctypes.c_bool),
        ("window", ctypes.c_long),
        ("threads", ctypes.c_int),
    ]


library = native.build("openblas.cpp", ["-ffast-math", "-lopenblas"])


def attend(case, dtype, threads):
    if dtype != "f32":
        raise peer.Absent("has no sgemm for it")
    problem = Problem(
        case.query_heads,
        case.key_heads,
        case.length,
        case.head_size,
        case.causal,
        -1 if case.window is None else case.window,
        threads,
    )
    arrays = case.inputs()
    output = np.empty_like(arrays[0])
    pointers = [native.pointer(x) for x in (*arrays, output)]

    def run(kept=arrays):
        library.attend(ctypes.byref(problem), *pointers)

    return run, lambda: output


if __name__ == "__main__":
    peer.main(peer.prefill({"OpenBLAS + softmax": attend}))
