# ===- provider.py - What tests of the provider share -----------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Sessions with and without Attn's provider, and attention in float64."""

import os

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

PROVIDER = "AttnExecutionProvider"
TYPES = {
    np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.bool_): TensorProto.BOOL,
}
# The opset of ONNX that a model is of.
OPSET = 24

onnxruntime.register_execution_provider_library("attn", os.environ["ATTN_PROVIDER"])


def value(name, array, shape=None):
    """The declaration of a value like an array, of another shape if that is given."""
    shape = array.shape if shape is None else shape
    return helper.make_tensor_value_info(name, TYPES[array.dtype], shape)


def model(nodes, inputs, outputs, opset=OPSET, initializers=()):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(initializers))
    versions = {"": opset, "com.microsoft": 1, "ai.onnx.preview": 1}
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(*version) for version in versions.items()],
        ir_version=10,
    ).SerializeToString()


def session(text, attn=True, session_threads=1, **of_provider):
    """With Attn's provider, and options of it, or of ONNX Runtime alone."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = session_threads
    options.log_severity_level = 4
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if attn:
        devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == PROVIDER]
        options.add_provider_for_devices(devices, of_provider)
    return onnxruntime.InferenceSession(text, options)


def claimed(of):
    """The types of the nodes that Attn runs."""
    return sorted(
        node.op_type
        for subgraph in of.get_provider_graph_assignment_info()
        if subgraph.ep_name == PROVIDER
        for node in subgraph.get_nodes()
    )


def random(*shape, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def attend(
    query,
    key,
    value,
    scale=None,
    change=None,
    keep=None,
    causal=False,
    left=-1,
    right=-1,
    offset=0,
    lengths=None,
    sink=None,
):
    """Attention of (B, H, S, D) in float64. `change` is a function of the scores,
    `keep` is where they count, `offset` is how many tokens are before the first
    query, for all batches or for each, and `lengths` are those of the keys."""
    query, key, value = (np.asarray(x, np.float64) for x in (query, key, value))
    groups = query.shape[1] // key.shape[1]
    key, value = (np.repeat(x, groups, axis=1) for x in (key, value))
    scores = query @ key.swapaxes(2, 3)
    scores *= 1 / np.sqrt(query.shape[3]) if scale is None else scale
    if change is not None:
        scores = change(scores)
    rows = np.arange(query.shape[2])[None, None, :, None]
    rows = rows + np.reshape(offset, (-1, 1, 1, 1))
    columns = np.arange(key.shape[2])[None, None, None, :]
    visible = np.ones(scores.shape, bool)
    if keep is not None:
        visible &= keep
    if causal:
        visible &= columns <= rows
    if left >= 0:
        visible &= columns >= rows - left
    if right >= 0:
        visible &= columns <= rows + right
    if lengths is not None:
        visible &= columns < np.reshape(lengths, (-1, 1, 1, 1))
    scores = np.where(visible, scores, -np.inf)
    top = scores.max(axis=3, keepdims=True, initial=-np.inf)
    if sink is not None:
        top = np.maximum(top, np.reshape(sink, (1, -1, 1, 1)))
    top = np.where(np.isfinite(top), top, 0)
    weights = np.exp(scores - top)
    total = weights.sum(axis=3, keepdims=True)
    if sink is not None:
        total = total + np.exp(np.reshape(sink, (1, -1, 1, 1)) - top)
    return weights @ value / np.where(total == 0, 1, total)


def to_tokens(heads):
    """(B, H, S, D) as (B, S, H * D)."""
    batch, _, length, _ = heads.shape
    return np.ascontiguousarray(heads.swapaxes(1, 2)).reshape(batch, length, -1)


def to_heads(tokens, heads):
    """(B, S, H * D) as (B, H, S, D)."""
    batch, length, _ = tokens.shape
    return tokens.reshape(batch, length, heads, -1).swapaxes(1, 2)


# Of the largest number that is expected.
TOLERANCES = {np.float64: 1e-12, np.float32: 5e-6, np.float16: 3e-3}


def assert_close(actual, expected, tolerance=None):
    if tolerance is None:
        tolerance = TOLERANCES[actual.dtype.type]
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    actual = actual.astype(np.float64)
    error = np.abs(actual - expected).max(initial=0)
    largest = np.abs(expected).max(initial=0)
    assert error <= tolerance * max(largest, 1e-30), f"{error} of {largest}"
