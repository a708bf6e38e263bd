# ===- peer_onednn.py - oneDNN's Graph API ---------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The scaled dot-product attention pattern of oneDNN's Graph API: onednn.cpp. Keys
and values are repeated for every query head beforehand, which is not in the
time; masks are tensors."""

import ctypes
import os
import sys

import numpy as np

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
    [ctypes.c_long] * 3 + [ctypes.c_bool] + [ctypes.c_void_p] * 6
)
library.attention_run.argtypes = [ctypes.c_void_p]
library.attention_message.restype = ctypes.c_char_p


def attend(case, dtype, threads):
    # Its package runs on SYCL, which has as many threads as there are processors
    # when it starts.
    os.environ["OCL_ICD_FILENAMES"] = f"{sys.prefix}/lib/libintelocl.so"
    processors = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, processors)
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
    handle = library.attention_create(
        case.query_heads,
        case.length,
        case.head_size,
        dtype == "bf16",
        *[native.pointer(x) for x in arrays],
        None if mask is None else native.pointer(mask),
        native.pointer(output),
    )
    if not handle:
        raise peer.Absent(library.attention_message().decode())

    def run(kept=(arrays, mask)):
        library.attention_run(handle)

    return run, lambda: peer.from_bf16(output) if dtype == "bf16" else output


if __name__ == "__main__":
    peer.main({"oneDNN Graph SDPA": attend})
