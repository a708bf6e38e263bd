# ===- peer_onednn.py - oneDNN's Graph API ---------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The scaled dot-product attention pattern of oneDNN's Graph API: onednn.cpp. For
many queries, keys and values are repeated for every query head beforehand, which
is not in the time; of a decode step, the heads of a group are queries of one head.
Masks are tensors."""

import ctypes
import os
import sys

import numpy as np

import decoding
import native
import peer

library = native.build(
    "onednn.cpp",
    [
        f"-I{sys.prefix}/include",
        f"-L{sys.prefix}/lib",
        f"-Wl,-rpath,{sys.prefix}/lib",
        "-Wl,--allow-shlib-undefined",
        "-ldnnl",
    ],
)
library.attention_create.restype = ctypes.c_void_p
library.attention_create.argtypes = (
    [ctypes.c_long] * 4 + [ctypes.c_bool] + [ctypes.c_void_p] * 6
)
library.attention_run.argtypes = [ctypes.c_void_p]
library.attention_message.restype = ctypes.c_char_p


def use_processors(threads):
    """Its package runs on SYCL, which has as many threads as there are processors
    when it starts."""
    os.environ["OCL_ICD_FILENAMES"] = f"{sys.prefix}/lib/libintelocl.so"
    processors = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, processors)


def build(arrays, mask, output, bf16):
    """A function that runs the graph. Arrays are query, key, value and what scores
    are divided by."""
    query, key = arrays[:2]
    _, heads, queries, size = query.shape
    handle = library.attention_create(
        heads,
        queries,
        key.shape[2],
        size,
        bf16,
        *[native.pointer(x) for x in arrays],
        None if mask is None else native.pointer(mask),
        native.pointer(output),
    )
    if not handle:
        raise peer.Absent(library.attention_message().decode())

    def run(kept=(arrays, mask)):
        library.attention_run(handle)

    return run


def attend(case, dtype, threads):
    use_processors(threads)
    query, key, value = case.inputs()
    key, value = (peer.repeat_heads(case, x) for x in (key, value))
    arrays = [query, key, value, np.array([case.head_size**0.5], np.float32)]
    mask = None
    if case.causal:
        mask = np.where(case.visible(), 0, -np.inf).astype(np.float32)
    if dtype == "bf16":
        arrays = [peer.to_bf16(x) for x in arrays]
        mask = None if mask is None else peer.to_bf16(mask)
    output = np.empty_like(arrays[0])
    run = build(arrays, mask, output, dtype == "bf16")
    return run, lambda: peer.from_bf16(output) if dtype == "bf16" else output


def decode(step, dtype, threads):
    if dtype == "f16":
        raise peer.Absent("has no CPU kernel for it")
    use_processors(threads)
    divisor = decoding.to_type(np.array([step.head_size**0.5], np.float32), dtype)

    def bind(query, key, value):
        query = query.reshape(1, step.key_heads, step.groups, step.head_size)
        output = np.empty_like(query)
        run = build([query, key, value, divisor], None, output, dtype == "bf16")
        return run, lambda: decoding.from_type(output, dtype)

    return bind


if __name__ == "__main__":
    peer.main(
        peer.prefill({"oneDNN Graph SDPA": attend}),
        decoding.steps({"oneDNN Graph SDPA": decode}),
    )
