# ===- test_flex_attention.py - The operator FlexAttention of ONNX ----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""FlexAttention on Attn's provider, which ONNX Runtime does not know itself."""

import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import provider
from provider import attend, random


def make_graph(nodes, constants=(), sizes=("B", "H", "L", "S")):
    """A score_mod, with constants by name."""
    return helper.make_graph(
        [helper.make_node(kind, names, [to], **how) for kind, names, to, how in nodes],
        "score_mod",
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, sizes)],
        [helper.make_tensor_value_info("changed", TensorProto.FLOAT, sizes)],
        [numpy_helper.from_array(x, name) for name, x in dict(constants).items()],
    )


# What positions are made of: "rows" (L, 1) and "columns" (S).
POSITIONS = [
    ("Shape", ["scores"], "shape", {}),
    ("Gather", ["shape", "two"], "L_size", {"axis": 0}),
    ("Gather", ["shape", "three"], "S_size", {"axis": 0}),
    ("Range", ["zero", "L_size", "one"], "range", {}),
    ("Reshape", ["range", "column"], "rows", {}),
    ("Range", ["zero", "S_size", "one"], "columns", {}),
]
NUMBERS = {
    "zero": np.array(0),
    "one": np.array(1),
    "two": np.array(2),
    "three": np.array(3),
    "column": np.array([-1, 1]),
    "hidden": np.array(-np.inf, np.float32),
}


def build(feeds, score_mod=None, prob_mod=None, shapes=None, **attributes):
    if score_mod is not None:
        attributes["score_mod"] = score_mod
    if prob_mod is not None:
        attributes["prob_mod"] = prob_mod
    node = helper.make_node(
        "FlexAttention", list("QKV"), ["Y"], domain="ai.onnx.preview", **attributes
    )
    shapes = shapes or {}
    return provider.model(
        [node],
        [provider.value(name, x, shapes.get(name)) for name, x in feeds.items()],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
    )


class FlexAttention(unittest.TestCase):
    def setUp(self):
        self.feeds = {
            "Q": random(2, 6, 9, 16, seed=1),
            "K": random(2, 2, 12, 16, seed=2),
            "V": random(2, 2, 12, 8, seed=3),
        }
        self.tensors = list(self.feeds.values())

    def check(self, expected, score_mod=None, **how):
        session = provider.session(build(self.feeds, score_mod, **how))
        self.assertEqual(provider.claimed(session), ["FlexAttention"])
        provider.assert_close(session.run(None, self.feeds)[0], expected)

    def test_plain(self):
        self.check(attend(*self.tensors, scale=0.3), scale=0.3)

    def test_softcap(self):
        graph = make_graph(
            [
                ("Div", ["scores", "cap"], "small", {}),
                ("Tanh", ["small"], "bent", {}),
                ("Mul", ["bent", "cap"], "changed", {}),
            ],
            {"cap": np.array(2, np.float32)},
        )
        expected = attend(*self.tensors, change=lambda s: 2 * np.tanh(s / 2))
        self.check(expected, graph)

    def test_causal(self):
        graph = make_graph(
            [
                *POSITIONS,
                ("GreaterOrEqual", ["rows", "columns"], "seen", {}),
                ("Where", ["seen", "scores", "hidden"], "changed", {}),
            ],
            NUMBERS,
        )
        self.check(attend(*self.tensors, causal=True), graph)

    def test_causal_of_dynamic_sizes(self):
        graph = make_graph(
            [
                *POSITIONS,
                ("GreaterOrEqual", ["rows", "columns"], "seen", {}),
                ("Where", ["seen", "scores", "hidden"], "changed", {}),
            ],
            NUMBERS,
        )
        shapes = {"Q": ["b", 6, "q", 16], "K": ["b", 2, "k", 16]}
        shapes["V"] = ["b", 2, "k", 8]
        session = provider.session(build(self.feeds, graph, shapes=shapes))
        self.assertEqual(provider.claimed(session), ["FlexAttention"])
        for length in (1, 20):
            feeds = {**self.feeds, "Q": random(2, 6, length, 16, seed=1)}
            expected = attend(*feeds.values(), causal=True)
            provider.assert_close(session.run(None, feeds)[0], expected)

    def test_combined_masks(self):
        # Every fourth key, those near by, and not the last one of all.
        graph = make_graph(
            [
                *POSITIONS,
                ("Sub", ["rows", "columns"], "distance", {}),
                ("Abs", ["distance"], "far", {}),
                ("Less", ["far", "three"], "near", {}),
                ("Mod", ["columns", "four"], "rest", {}),
                ("Equal", ["rest", "zero"], "fourth", {}),
                ("Or", ["near", "fourth"], "either", {}),
                ("Where", ["either", "scores", "hidden"], "some", {}),
                ("Equal", ["columns", "last"], "is_last", {}),
                ("Where", ["is_last", "hidden", "nothing"], "added", {}),
                ("Add", ["some", "added"], "changed", {}),
            ],
            {
                **NUMBERS,
                "four": np.array(4),
                "last": np.array(11),
                "nothing": np.array(0, np.float32),
            },
        )
        rows, columns = np.arange(9)[:, None], np.arange(12)
        keep = (np.abs(rows - columns) < 3) | (columns % 4 == 0)
        self.check(attend(*self.tensors, keep=keep & (columns != 11)), graph)

    def test_biases(self):
        # ALiBi, with the slopes in the graph, and a change of the scores that
        # depends on them.
        slopes = 2.0 ** -np.arange(6, dtype=np.float32)
        graph = make_graph(
            [
                *POSITIONS,
                ("Sub", ["columns", "rows"], "distance", {}),
                ("Cast", ["distance"], "real", {"to": TensorProto.FLOAT}),
                ("Mul", ["real", "slopes"], "term", {}),
                ("Add", ["scores", "term"], "sloped", {}),
                ("Greater", ["sloped", "half"], "high", {}),
                ("Where", ["high", "sloped", "half"], "changed", {}),
            ],
            {
                **NUMBERS,
                "slopes": slopes[:, None, None],
                "half": np.array(0.5, np.float32),
            },
        )
        distance = np.arange(12) - np.arange(9)[:, None]
        change = lambda s: np.maximum(s + distance * slopes[:, None, None], 0.5)
        self.check(attend(*self.tensors, change=change), graph)

    def test_captured_tensors(self):
        # One is an input of the model, one a constant of it.
        keep = random(9, 12, seed=5) > 0
        keep[:, 0] = True
        bias = random(2, 1, 1, 12, seed=6)
        graph = make_graph(
            [
                ("Add", ["scores", "bias"], "sum", {}),
                ("Where", ["keep", "sum", "hidden"], "changed", {}),
            ],
            {"hidden": NUMBERS["hidden"]},
        )
        node = helper.make_node(
            "FlexAttention",
            list("QKV"),
            ["Y"],
            domain="ai.onnx.preview",
            score_mod=graph,
        )
        feeds = {**self.feeds, "keep": keep}
        text = provider.model(
            [node],
            [provider.value(name, x) for name, x in feeds.items()],
            [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
            initializers=[numpy_helper.from_array(bias, "bias")],
        )
        session = provider.session(text)
        self.assertEqual(provider.claimed(session), ["FlexAttention"])
        expected = attend(*self.tensors, keep=keep, change=lambda s: s + bias)
        provider.assert_close(session.run(None, feeds)[0], expected)

    def test_known_sizes(self):
        # ONNX Runtime may compute what does not depend on scores beforehand.
        graph = make_graph(
            [
                *POSITIONS,
                ("GreaterOrEqual", ["rows", "columns"], "seen", {}),
                ("Where", ["seen", "scores", "hidden"], "changed", {}),
            ],
            NUMBERS,
            sizes=[2, 6, 9, 12],
        )
        self.check(attend(*self.tensors, causal=True), graph)

    def test_wrong_sizes(self):
        graph = make_graph(
            [("Add", ["scores", "terms"], "changed", {})],
            {"terms": np.zeros((9, 13), np.float32)},
        )
        session = provider.session(build(self.feeds, graph))
        with self.assertRaisesRegex(Exception, "dimension 3 .*expected 12, got 13"):
            session.run(None, self.feeds)

    def test_computed_slopes(self):
        # What is computed of a tensor that is captured, and then moved to the heads,
        # is not taken over; moved first, it is.
        feeds = {**self.feeds, "slopes": random(6, seed=5)}
        exp = ("Exp", ["slopes"], "big", {})
        add = ("Add", ["scores", "terms"], "changed", {})
        for nodes, is_claimed in (
            ([exp, ("Unsqueeze", ["big", "axes"], "terms", {}), add], False),
            (
                [
                    ("Unsqueeze", ["slopes", "axes"], "wide", {}),
                    ("Exp", ["wide"], "terms", {}),
                    add,
                ],
                True,
            ),
        ):
            node = helper.make_node(
                "FlexAttention",
                list("QKV"),
                ["Y"],
                domain="ai.onnx.preview",
                score_mod=make_graph(nodes, {"axes": np.array([1, 2])}),
            )
            text = provider.model(
                [node],
                [provider.value(name, x) for name, x in feeds.items()],
                [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
            )
            if not is_claimed:
                with self.assertRaisesRegex(Exception, "does not run this"):
                    provider.session(text)
                continue
            session = provider.session(text)
            terms = np.exp(feeds["slopes"].astype(np.float64))[:, None, None]
            expected = attend(*self.tensors, change=lambda s: s + terms)
            provider.assert_close(session.run(None, feeds)[0], expected)

    def test_declined(self):
        # Nobody else has a kernel.
        softmax = make_graph([("Softmax", ["scores"], "changed", {"axis": -1})])
        double = make_graph([("Add", ["scores", "scores"], "changed", {})])
        for how in ({"score_mod": softmax}, {"prob_mod": double}):
            with self.assertRaisesRegex(Exception, "does not run this FlexAttention"):
                provider.session(build(self.feeds, **how))


if __name__ == "__main__":
    unittest.main()
