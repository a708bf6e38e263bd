# ===- __init__.py - The host API for Python --------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Attn compiles attention.

    kernel = attn.compile(attn.Attention(heads=8, kv_heads=2, head_size=64,
                                         mask=lambda b, h, q, k: k <= q))
    output = kernel(query, key, value)

`attn.torch` has the same for PyTorch and Hugging Face's transformers.
"""

from attn._attn import *
from attn._attn import (
    Attention,
    CachedAttention,
    Engine,
    Kernel,
    MultiHeadAttention,
    MultiTokenAttention,
    Tensor,
)

_engine = None


def set_engine(engine: Engine) -> None:
    """Makes `attn.compile` and `attn.torch` use an engine from now on."""
    if not isinstance(engine, Engine):
        raise TypeError(
            f"set_engine: expected an attn.Engine, got {type(engine).__name__}"
        )
    global _engine
    _engine = engine


def get_engine() -> Engine:
    """The engine of `attn.set_engine`; unless there is one, a new one, which has a
    thread for each processor and keeps kernels in memory."""
    if _engine is None:
        set_engine(Engine())
    return _engine


def summarize(tensor: Tensor, table):
    """What kernels take after `table`, the array for a `tensor.summarized(...)`, in
    as many calls as read it: `attn.Engine.summarize`."""
    return get_engine().summarize(tensor, table)


def compile(
    source: Attention | CachedAttention | MultiHeadAttention | MultiTokenAttention | str,
    **options,
) -> Kernel:
    """Compiles an `attn.Attention`, a step on caches, a layer, or a function of a
    text in MLIR.

    Options are those of `attn.Engine.compile`. The engine is that of
    `attn.get_engine`.
    """
    return get_engine().compile(source, **options)
