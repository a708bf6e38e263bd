# ===- onnx_runtime_tests.py - Attention nodes of ONNX Runtime's own --------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs GroupQueryAttention and MultiHeadAttention through attn-import and attn-run.

Compares what they give with what ONNX Runtime gives on its CPU.

    python3 -m venv build/onnx && build/onnx/bin/pip install -r test/requirements.txt
    build/onnx/bin/python scripts/onnx_runtime_tests.py --bin build/release/bin
"""

import argparse
import concurrent.futures
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx_node_tests import run_tool, save_array

BATCH, HEADS, SIZE = 2, 4, 16
# Largest absolute difference, of standard normal inputs.
TOLERANCE = {"float32": 1e-4, "float16": 2e-2}


@dataclass
class Test:
    """One node, its inputs by name, and the shapes of its outputs by name."""

    name: str
    node: onnx.NodeProto
    inputs: dict
    outputs: dict
    # How many tokens of each sequence are valid, of the output and of caches.
    tokens: list | None = None
    cached: list | None = None


def normal(*sizes):
    return np.random.standard_normal(sizes).astype(np.float32)


def group_query(
    name,
    tokens,
    cache=None,
    past=(0, 0),
    packed=False,
    rotary=False,
    positions=False,
    bias=False,
    sink=False,
    grows=False,
    valid=None,
    element=np.float32,
    **attributes,
):
    """A test of GroupQueryAttention: `past` tokens in a cache of `cache` rows."""
    groups = HEADS // 2
    inputs = {}
    if packed:
        inputs["query"] = normal(BATCH, tokens, (HEADS + 2 * groups) * SIZE)
    else:
        inputs["query"] = normal(BATCH, tokens, HEADS * SIZE)
        inputs["key"] = normal(BATCH, tokens, groups * SIZE)
        inputs["value"] = normal(BATCH, tokens, groups * SIZE)
    if cache is not None:
        inputs["past_key"] = normal(BATCH, groups, cache, SIZE)
        inputs["past_value"] = normal(BATCH, groups, cache, SIZE)
    lengths = np.array(valid or [p + tokens for p in past], dtype=np.int32)
    total = max(int(lengths.max()), tokens)
    inputs["last"] = lengths - 1
    inputs["total"] = np.array([total], dtype=np.int32)
    if rotary:
        angles = np.outer(np.arange(64), 1e4 ** (-np.arange(SIZE // 2) / SIZE * 2))
        inputs["cos"] = np.cos(angles).astype(np.float32)
        inputs["sin"] = np.sin(angles).astype(np.float32)
        attributes["do_rotary"] = 1
    if positions:
        inputs["positions"] = np.stack([np.arange(tokens) + p for p in past])
    if bias:
        inputs["bias"] = normal(BATCH, 1, tokens, total)
    if sink:
        inputs["sink"] = normal(HEADS)
    inputs = {
        key: array.astype(element) if array.dtype == np.float32 else array
        for key, array in inputs.items()
    }
    order = "query key value past_key past_value last total cos sin positions bias sink"
    names = [key if key in inputs else "" for key in order.split()]
    rows = (cache or 0) + tokens if cache is None or grows else cache
    node = helper.make_node(
        "GroupQueryAttention",
        names,
        ["y", "present_key", "present_value"],
        domain="com.microsoft",
        num_heads=HEADS,
        kv_num_heads=groups,
        **attributes,
    )
    present = [BATCH, groups, rows, SIZE]
    outputs = {"y": [BATCH, tokens, HEADS * SIZE]}
    outputs |= {"present_key": present, "present_value": present}
    seen = None if valid is None else [int(n) for n in lengths]
    return Test(name, node, inputs, outputs, seen, [int(n) for n in lengths])


def multi_head(
    name,
    tokens=4,
    keys=6,
    value_size=SIZE,
    past=None,
    by_heads=False,
    bias=False,
    padding=None,
    terms=None,
    **attributes,
):
    """A test of MultiHeadAttention."""
    inputs = {"query": normal(BATCH, tokens, HEADS * SIZE)}
    if by_heads:
        inputs["key"] = normal(BATCH, HEADS, keys, SIZE)
        inputs["value"] = normal(BATCH, HEADS, keys, value_size)
    else:
        inputs["key"] = normal(BATCH, keys, HEADS * SIZE)
        inputs["value"] = normal(BATCH, keys, HEADS * value_size)
    total = keys + (past or 0)
    if bias:
        inputs["bias"] = normal(HEADS * (2 * SIZE + value_size))
    if padding == "lengths":
        inputs["padding"] = np.array([total - 2, total - 1], dtype=np.int32)
    elif padding:
        sizes = {"keys": (total,), "rows": (tokens, total)}[padding]
        inputs["padding"] = np.random.randint(0, 2, (BATCH, *sizes), dtype=np.int32)
    if terms:
        inputs["terms"] = normal(*terms, tokens, total)
    outputs = {"y": [BATCH, tokens, HEADS * value_size]}
    if past is not None:
        inputs["past_key"] = normal(BATCH, HEADS, past, SIZE)
        inputs["past_value"] = normal(BATCH, HEADS, past, value_size)
        outputs["present_key"] = [BATCH, HEADS, total, SIZE]
        outputs["present_value"] = [BATCH, HEADS, total, value_size]
    order = "query key value bias padding terms past_key past_value"
    node = helper.make_node(
        "MultiHeadAttention",
        [key if key in inputs else "" for key in order.split()],
        list(outputs),
        domain="com.microsoft",
        num_heads=HEADS,
        **attributes,
    )
    return Test(name, node, inputs, outputs)


def create_tests():
    np.random.seed(1)
    gqa, mha = group_query, multi_head
    cached = {"cache": 12, "past": (7, 3)}
    return [
        gqa("a prompt", 5),
        gqa("a packed prompt", 5, packed=True, rotary=True),
        gqa("interleaved", 5, rotary=True, rotary_interleaved=1),
        gqa("padding", 5, valid=[3, 5]),
        gqa("a step", 1, rotary=True, **cached),
        gqa("a window", 1, rotary=True, softcap=3.0, local_window_size=4, **cached),
        gqa("a window of a prompt", 8, local_window_size=3),
        gqa("a cache that grows", 1, cache=6, past=(6, 6), grows=True),
        gqa("a prompt with a cache", 5, cache=12),
        gqa("positions", 1, rotary=True, positions=True, **cached),
        gqa("a bias", 4, bias=True, softcap=2.0),
        gqa("a bias of a step", 1, cache=9, past=(8, 8), bias=True),
        gqa("smooth softmax", 4, smooth_softmax=1),
        gqa("sinks", 4, sink=True),
        gqa("a scale", 4, scale=0.3),
        gqa("f16", 5, element=np.float16),
        mha("plain"),
        mha("another size of values", value_size=8),
        mha("a bias of projections", bias=True),
        mha("padding by keys", padding="keys"),
        mha("padding by rows", padding="rows"),
        mha("lengths", padding="lengths"),
        mha("weak padding", padding="keys", mask_filter_value=-1.0),
        mha("terms", terms=(BATCH, HEADS)),
        mha("terms that broadcast", terms=(1, 1)),
        mha("a past", past=5, padding="keys"),
        mha("a past with terms", past=5, terms=(BATCH, HEADS), padding="rows"),
        mha("causal", keys=4, past=3, unidirectional=1),
        mha("cross attention", by_heads=True),
        mha("a scale", scale=0.2),
    ]


def compare(test, number, expected, path):
    """Nothing, or how an output differs."""
    got = np.load(path)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype}{got.shape} for {expected.dtype}{expected.shape}"
    # What belongs to no token is not specified.
    valid = test.cached if number else test.tokens
    for sequence, count in enumerate(valid or []):
        rows = (sequence, slice(None), slice(count, None))
        rows = rows if number else (sequence, slice(count, None))
        got[rows] = expected[rows] = 0
    error = np.abs(got.astype(np.float64) - expected).max()
    return None if error < TOLERANCE[str(got.dtype)] else f"differs by {error:.2g}"


def run(tools, test):
    """Nothing, or why a test fails."""

    def values(shapes, element=None):
        return [
            helper.make_tensor_value_info(
                key, element or helper.np_dtype_to_tensor_dtype(array.dtype), shape
            )
            for key, (array, shape) in shapes.items()
        ]

    inputs = values({k: (a, list(a.shape)) for k, a in test.inputs.items()})
    element = helper.np_dtype_to_tensor_dtype(test.inputs["query"].dtype)
    outputs = values({k: (None, s) for k, s in test.outputs.items()}, element)
    model = helper.make_model(
        helper.make_graph([test.node], "graph", inputs, outputs),
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10,
    )
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    expected = session.run(None, test.inputs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(model, folder / "model.onnx")
        text = folder / "model.mlir"
        command = [tools / "attn-import", folder / "model.onnx", "-o", text]
        if problem := run_tool(command):
            return problem
        command = [tools / "attn-run", text]
        for key, array in test.inputs.items():
            save_array(folder / f"{key}.npy", array)
            command += ["--arg", folder / f"{key}.npy"]
        for key in test.outputs:
            command += ["--out", folder / f"{key}.out.npy"]
        if problem := run_tool(command):
            return problem
        for number, (key, array) in enumerate(zip(test.outputs, expected)):
            if problem := compare(test, number, array, folder / f"{key}.out.npy"):
                return f"{key} {problem}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True, help="folder of the tools")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    tests = create_tests()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        problems = pool.map(lambda test: run(options.bin, test), tests)
        for test, problem in zip(tests, problems):
            if problem:
                failed += 1
                print(f"FAIL {test.node.op_type}, {test.name}: {problem}")
    print(f"{len(tests) - failed} of {len(tests)} passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
