# ===- peer_ggml.py - ggml on the CPU --------------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The fused attention of ggml, which llama.cpp computes with: ggml.cpp."""

import ctypes
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import decoding
import native
import peer

FOLDER = Path(find_spec("libggml").submodule_search_locations[0])
library = native.build(
    "ggml.cpp",
    [
        f"-I{FOLDER}/include",
        f"-L{FOLDER}/lib64",
        f"-Wl,-rpath,{FOLDER}/lib64",
        "-lggml-cpu",
        "-lggml-base",
    ],
)
library.attention_create.restype = ctypes.c_void_p
library.attention_create.argtypes = (
    [ctypes.c_long] * 4 + [ctypes.c_bool] + [ctypes.c_int]
)
library.attention_run.restype = ctypes.POINTER(ctypes.c_float)
library.attention_run.argtypes = [ctypes.c_void_p] * 4


def decode(step, dtype, threads):
    if dtype == "bf16":
        raise peer.Absent("is compared in f32 and f16")
    handle = library.attention_create(
        step.query_heads,
        step.key_heads,
        step.keys,
        step.head_size,
        dtype == "f16",
        threads,
    )
    output = []

    def bind(query, key, value):
        query = query.astype(np.float32)

        def run():
            output[:] = [
                library.attention_run(
                    handle, *[native.pointer(x) for x in (query, key, value)]
                )
            ]

        shape = (step.query_heads, step.head_size)
        return run, lambda: np.ctypeslib.as_array(output[0], shape)

    return bind


if __name__ == "__main__":
    peer.main(decoding.steps({"ggml": decode}))
