# ===- test_session.py - Attn's provider in a session -----------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Graphs of more than attention, options, and threads."""

import os
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import provider
from provider import attend, random, to_heads, to_tokens

WIDTH, HEADS = 32, 4


def layer():
    """Projections, attention, and a branch that has attention in it, too."""
    weights = [random(WIDTH, WIDTH, seed=i) / 6 for i in range(3)]
    feeds = {"x": random(2, 20, WIDTH, seed=7), "again": np.array(True)}
    how = {"q_num_heads": HEADS, "kv_num_heads": HEADS}
    again = helper.make_graph(
        [helper.make_node("Attention", ["a", "a", "a"], ["twice"], **how)],
        "again",
        [],
        [helper.make_tensor_value_info("twice", TensorProto.FLOAT, None)],
    )
    once = helper.make_graph(
        [helper.make_node("Identity", ["a"], ["same"])],
        "once",
        [],
        [helper.make_tensor_value_info("same", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("MatMul", ["x", f"w{i}"], [name])
        for i, name in enumerate("qkv")
    ]
    nodes += [
        helper.make_node("Attention", list("qkv"), ["a"], is_causal=1, **how),
        helper.make_node("If", ["again"], ["b"], then_branch=again, else_branch=once),
        helper.make_node("Add", ["b", "x"], ["y"]),
    ]
    text = provider.model(
        nodes,
        [provider.value(name, x) for name, x in feeds.items()],
        [provider.value("y", feeds["x"])],
        initializers=[
            numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)
        ],
    )

    def run(x, again):
        qkv = [to_heads(x.astype(np.float64) @ w, HEADS) for w in weights]
        a = attend(*qkv, causal=True)
        if again:
            a = attend(a, a, a)
        return to_tokens(a) + x

    return text, feeds, run


def one_node():
    feeds = {name: random(2, 4, 40, 16, seed=i) for i, name in enumerate("QKV")}
    node = helper.make_node("Attention", list("QKV"), ["Y"], is_causal=1)
    text = provider.model(
        [node],
        [provider.value(name, x) for name, x in feeds.items()],
        [provider.value("Y", feeds["Q"])],
    )
    return text, feeds


class Session(unittest.TestCase):
    def test_other_nodes(self):
        text, feeds, run = layer()
        session = provider.session(text)
        self.assertEqual(provider.claimed(session), ["Attention", "Attention"])
        for again in (False, True):
            feeds["again"] = np.array(again)
            provider.assert_close(session.run(None, feeds)[0], run(**feeds))

    def test_one_tensor_for_all(self):
        x = random(1, 2, 9, 16)
        node = helper.make_node("Attention", ["x", "x", "x"], ["y"])
        text = provider.model(
            [node], [provider.value("x", x)], [provider.value("y", x)]
        )
        actual = provider.session(text).run(None, {"x": x})[0]
        provider.assert_close(actual, attend(x, x, x))

    def test_constants(self):
        query, key, value = (random(1, 2, 9, 16, seed=i) for i in range(3))
        node = helper.make_node("Attention", ["q", "k", "v"], ["y"])
        text = provider.model(
            [node],
            [provider.value("q", query)],
            [provider.value("y", query)],
            initializers=[
                numpy_helper.from_array(key, "k"),
                numpy_helper.from_array(value, "v"),
            ],
        )
        session = provider.session(text)
        self.assertEqual(provider.claimed(session), ["Attention"])
        actual = session.run(None, {"q": query})[0]
        provider.assert_close(actual, attend(query, key, value))

    def test_threads(self):
        # As many as there are, the results are the same to the bit.
        text, feeds = one_node()
        sessions = [
            provider.session(text),
            provider.session(text, session_threads=3),
            provider.session(text, session_threads=3, threads="2"),
        ]
        first, *others = [s.run(None, feeds)[0] for s in sessions]
        for other in others:
            np.testing.assert_array_equal(other, first)

    def test_calls_at_the_same_time(self):
        text, feeds = one_node()
        session = provider.session(text, session_threads=2)
        expected = session.run(None, feeds)[0]
        with ThreadPoolExecutor(4) as pool:
            for result in pool.map(lambda _: session.run(None, feeds)[0], range(40)):
                np.testing.assert_array_equal(result, expected)

    def test_cache(self):
        text, feeds = one_node()
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            for _ in range(2):
                session = provider.session(text, cache_dir=folder)
                provider.assert_close(
                    session.run(None, feeds)[0], attend(*feeds.values(), causal=True)
                )
                self.assertTrue(os.listdir(folder))

    def test_wrong_options(self):
        text, _ = one_node()
        for options, message in (
            ({"thread": "1"}, "option 'thread': expected 'threads' or 'cache_dir'"),
            ({"threads": "two"}, "option 'threads': expected a number of threads"),
            ({"threads": "-1"}, "option 'threads': expected a number of threads"),
            ({"cache_dir": "/dev/null/x"}, "/dev/null/x"),
        ):
            with self.assertRaisesRegex(Exception, message):
                provider.session(text, **options)


if __name__ == "__main__":
    unittest.main()
