# ===- peer_onnxruntime.py - ONNX Runtime on the CPU -----------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The operator Attention of ONNX, and ONNX Runtime's own MultiHeadAttention and
GroupQueryAttention."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import decoding
import peer


def merge_heads(array):
    """(1, heads, length, size) as (1, length, heads * size)."""
    _, heads, length, size = array.shape
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(
        1, length, heads * size
    )


def split_heads(array, heads):
    return array.reshape(1, array.shape[1], heads, -1).transpose(0, 2, 1, 3)


def create_session(text, threads, devices=()):
    """Of ONNX Runtime alone, or with the providers of devices first."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    if devices:
        options.add_provider_for_devices(devices, {})
        return onnxruntime.InferenceSession(text, options)
    return onnxruntime.InferenceSession(
        text, options, providers=["CPUExecutionProvider"]
    )


def build(domain, node, feeds, threads, devices=()):
    """A function that runs a node, its results, and the session that has it."""
    to_type = helper.np_dtype_to_tensor_dtype
    model = helper.make_model(
        helper.make_graph(
            [node],
            "attention",
            [
                helper.make_tensor_value_info(name, to_type(x.dtype), x.shape)
                for name, x in feeds.items()
            ],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
                for name in node.output
            ],
        ),
        opset_imports=[helper.make_opsetid("", 23)]
        + ([helper.make_opsetid(domain, 1)] if domain else []),
        ir_version=10,
    )
    session = create_session(model.SerializeToString(), threads, devices)
    results = []

    def run():
        results[:] = session.run([node.output[0]], feeds)

    return run, results, session


def require_f32(dtype):
    if dtype != "f32":
        raise peer.Absent("has no CPU kernel for it")


def attention(case, dtype, threads, devices=()):
    require_f32(dtype)
    query, key, value = case.inputs()
    feeds = {"query": query, "key": key, "value": value}
    if case.window is not None:
        feeds["mask"] = case.visible().copy()
    node = helper.make_node(
        "Attention",
        list(feeds),
        ["output"],
        is_causal=int(case.causal and case.window is None),
    )
    run, results, _ = build("", node, feeds, threads, devices)
    return run, lambda: results[0]


def multi_head(case, dtype, threads):
    require_f32(dtype)
    query, key, value = case.inputs()
    key, value = (peer.repeat_heads(case, x) for x in (key, value))
    feeds = {
        "query": merge_heads(query),
        "key": merge_heads(key),
        "value": merge_heads(value),
    }
    names = list(feeds)
    if case.window is not None:
        bias = np.where(case.visible(), 0, -np.inf).astype(np.float32)
        feeds["bias"] = np.ascontiguousarray(bias[None, None])
        names += ["", "", "bias"]
    node = helper.make_node(
        "MultiHeadAttention",
        names,
        ["output"],
        domain="com.microsoft",
        num_heads=case.query_heads,
        unidirectional=int(case.causal and case.window is None),
    )
    run, results, _ = build("com.microsoft", node, feeds, threads)
    return run, lambda: split_heads(results[0], case.query_heads)


def build_group_query(case, window, feeds, threads, devices):
    node = helper.make_node(
        "GroupQueryAttention",
        list(feeds),
        ["output", "present_key", "present_value"],
        domain="com.microsoft",
        num_heads=case.query_heads,
        kv_num_heads=case.key_heads,
        local_window_size=-1 if window is None else window + 1,
    )
    return build("com.microsoft", node, feeds, threads, devices)


def group_query(case, dtype, threads, devices=()):
    require_f32(dtype)
    if not case.causal:
        raise peer.Absent("is always causal")
    query, key, value = case.inputs()
    no_past = np.zeros((1, case.key_heads, 0, case.head_size), np.float32)
    feeds = {
        "query": merge_heads(query),
        "key": merge_heads(key),
        "value": merge_heads(value),
        "past_key": no_past,
        "past_value": no_past,
        "last": np.array([case.length - 1], np.int32),
        "total": np.array(case.length, np.int32),
    }
    run, results, _ = build_group_query(case, case.window, feeds, threads, devices)
    return run, lambda: split_heads(results[0], case.query_heads)


def decode(step, dtype, threads, devices=()):
    """The operator Attention on a cache, which it does not copy."""
    require_f32(dtype)
    shape = (1, step.key_heads, step.keys, step.head_size)
    feeds = {
        "query": np.zeros((1, step.query_heads, 1, step.head_size), np.float32),
        "key": np.zeros(shape, np.float32),
        "value": np.zeros(shape, np.float32),
    }
    node = helper.make_node("Attention", list(feeds), ["output"])
    run, results, _ = build("", node, feeds, threads, devices)

    def bind(query, key, value):
        def attend():
            feeds.update(query=query, key=key, value=value)
            run()

        return attend, lambda: results[0]

    return bind


def decode_group_query(step, dtype, threads, devices=()):
    """The operator GroupQueryAttention, which appends to a cache in place."""
    require_f32(dtype)
    row = np.zeros((1, 1, step.key_heads * step.head_size), np.float32)
    cache = np.zeros((1, step.key_heads, step.keys, step.head_size), np.float32)
    feeds = {
        "query": np.zeros((1, 1, step.query_heads * step.head_size), np.float32),
        "key": row,
        "value": row,
        "past_key": cache,
        "past_value": cache,
        "last": np.array([step.keys - 1], np.int32),
        "total": np.array(step.keys, np.int32),
    }
    *_, session = build_group_query(step, None, feeds, threads, devices)

    def bind(query, key, value):
        own = feeds | {
            "query": merge_heads(query),
            "key": merge_heads(key[:, :, -1:]),
            "value": merge_heads(value[:, :, -1:]),
            "past_key": key,
            "past_value": value,
        }
        values = {x: onnxruntime.OrtValue.ortvalue_from_numpy(own[x]) for x in own}
        binding = session.io_binding()
        for name, bound in values.items():
            binding.bind_ortvalue_input(name, bound)
        binding.bind_output("output")
        binding.bind_ortvalue_output("present_key", values["past_key"])
        binding.bind_ortvalue_output("present_value", values["past_value"])

        def output():
            merged = binding.get_outputs()[0].numpy()
            return split_heads(merged, step.query_heads)

        return lambda: session.run_with_iobinding(binding), output

    return bind


if __name__ == "__main__":
    peer.main(
        peer.prefill(
            {
                "ONNX Runtime Attention": attention,
                "ONNX Runtime MultiHeadAttention": multi_head,
                "ONNX Runtime GroupQueryAttention": group_query,
            }
        ),
        decoding.steps({"ONNX Runtime Attention": decode}),
    )
