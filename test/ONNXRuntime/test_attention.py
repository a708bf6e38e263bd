# ===- test_attention.py - The operator Attention of ONNX -------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Attention on Attn's provider, beside ONNX Runtime's own and float64."""

import unittest

import numpy as np
from onnx import TensorProto, helper

import provider
from provider import attend, random, to_tokens

INPUTS = ["Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"]
OUTPUTS = ["Y", "present_key", "present_value"]


def build(
    feeds,
    shapes=None,
    outputs=("Y",),
    opset=provider.OPSET,
    unused=(),
    **attributes,
):
    """A model of one node, with these inputs and outputs, of which some are no
    outputs of the model."""
    last = max(INPUTS.index(name) for name in feeds)
    names = [name if name in feeds else "" for name in INPUTS[: last + 1]]
    node = helper.make_node("Attention", names, list(outputs), **attributes)
    shapes = shapes or {}
    types = provider.TYPES[feeds["Q"].dtype]
    return provider.model(
        [node],
        [provider.value(name, x, shapes.get(name)) for name, x in feeds.items()],
        [
            helper.make_tensor_value_info(name, types, None)
            for name in outputs
            if name not in unused
        ],
        opset,
    )


class Attention(unittest.TestCase):
    def check(self, feeds, expected, own=True, tolerance=None, **how):
        """Runs a node on Attn, and as ONNX Runtime's own if that has a kernel."""
        text = build(feeds, **how)
        session = provider.session(text)
        self.assertEqual(provider.claimed(session), ["Attention"])
        results = session.run(None, feeds)
        provider.assert_close(results[0], expected, tolerance)
        if own:
            others = provider.session(text, attn=False).run(None, feeds)
            for ours, theirs in zip(results, others):
                provider.assert_close(ours, theirs.astype(np.float64), tolerance)
        return results

    def inputs(self, batch=2, heads=(6, 2), lengths=(10, 10), sizes=(16, 16), **how):
        shapes = [(heads[0], lengths[0], sizes[0]), (heads[1], lengths[1], sizes[0])]
        shapes.append((heads[1], lengths[1], sizes[1]))
        return {
            name: random(batch, *shape, seed=i, **how)
            for i, (name, shape) in enumerate(zip("QKV", shapes))
        }

    def test_plain(self):
        feeds = self.inputs(sizes=(16, 24))
        self.check(feeds, attend(*feeds.values()))

    def test_scale_and_softcap(self):
        feeds = self.inputs()
        cap = lambda s: 2 * np.tanh(s / 2)
        expected = attend(*feeds.values(), scale=0.7, change=cap)
        self.check(feeds, expected, scale=0.7, softcap=2.0)

    def test_tokens(self):
        heads = self.inputs(sizes=(16, 8))
        feeds = {name: to_tokens(x) for name, x in heads.items()}
        expected = to_tokens(attend(*heads.values(), causal=True))
        self.check(feeds, expected, q_num_heads=6, kv_num_heads=2, is_causal=1)

    def test_causal_of_more_keys(self):
        feeds = self.inputs(lengths=(5, 12))
        self.check(feeds, attend(*feeds.values(), causal=True), is_causal=1)

    def test_dynamic(self):
        feeds = self.inputs()
        shapes = {name: ["b", None, "s", None] for name in "QKV"}
        shapes = {"Q": ["b", "h", "q", "d"], "K": ["b", "g", "k", "d"]}
        shapes["V"] = ["b", "g", "k", "e"]
        session = provider.session(build(feeds, shapes, is_causal=1))
        self.assertEqual(provider.claimed(session), ["Attention"])
        for batch, query, key in ((2, 10, 10), (1, 1, 33), (3, 17, 4), (1, 0, 3)):
            feeds = self.inputs(batch, lengths=(query, key))
            expected = attend(*feeds.values(), causal=True)
            provider.assert_close(session.run(None, feeds)[0], expected)

    def test_boolean_masks(self):
        feeds = self.inputs()
        for shape in ((10, 10), (2, 1, 1, 10), (2, 6, 10, 10)):
            keep = random(*shape, seed=5) > 0.3
            keep[..., 0] = True
            expected = attend(*feeds.values(), keep=keep)
            # ONNX Runtime wants masks to have all rows.
            own = shape[-2] != 1
            self.check({**feeds, "attn_mask": keep}, expected, own=own)

    def test_empty_rows(self):
        feeds = self.inputs()
        keep = random(10, 10, seed=5) > 0.3
        keep[3] = False
        expected = attend(*feeds.values(), keep=keep)
        self.assertEqual(np.abs(expected[:, :, 3]).max(), 0)
        self.check({**feeds, "attn_mask": keep}, expected, own=False)

    def test_added_masks(self):
        feeds = self.inputs()
        mask = random(1, 6, 10, 10, seed=5)
        mask[mask > 1] = -np.inf
        expected = attend(*feeds.values(), change=lambda s: s + mask)
        self.check({**feeds, "attn_mask": mask}, expected)

    def test_masks_of_dynamic_shapes(self):
        feeds = {**self.inputs(), "attn_mask": np.ones((1, 1), bool)}
        shapes = {name: ["b", h, name, 16] for name, h in zip("QKV", (6, 2, 2))}
        shapes["K"] = shapes["V"] = ["b", 2, "k", 16]
        shapes["attn_mask"] = ["x", "y"]
        session = provider.session(build(feeds, shapes))
        self.assertEqual(provider.claimed(session), ["Attention"])
        # All rows, one for all, and fewer keys, of which the others are hidden.
        for shape in ((7, 12), (1, 12), (7, 9)):
            feeds = self.inputs(lengths=(7, 12))
            keep = random(*shape, seed=5) > 0
            keep[:, 0] = True
            padded = np.pad(keep, ((0, 0), (0, 12 - shape[1])))
            actual = session.run(None, {**feeds, "attn_mask": keep})[0]
            provider.assert_close(actual, attend(*feeds.values(), keep=padded))

    def test_past(self):
        feeds = self.inputs(lengths=(3, 3))
        past = {"past_key": random(2, 2, 8, 16, seed=7)}
        past["past_value"] = random(2, 2, 8, 16, seed=8)
        key, value = (
            np.concatenate([past[f"past_{name}"], feeds[x]], axis=2)
            for name, x in (("key", "K"), ("value", "V"))
        )
        expected = attend(feeds["Q"], key, value, causal=True, offset=8)
        feeds |= past
        shapes = {name: [2, 2, "p", 16] for name in past}
        results = self.check(
            feeds, expected, shapes=shapes, outputs=OUTPUTS, is_causal=1
        )
        np.testing.assert_array_equal(results[1], key)
        np.testing.assert_array_equal(results[2], value)
        how = {"outputs": OUTPUTS, "unused": OUTPUTS[1:], "is_causal": 1}
        self.check(feeds, expected, **how)

    def test_past_of_tokens(self):
        heads = self.inputs(lengths=(3, 3))
        past = {"past_key": random(2, 2, 8, 16, seed=7)}
        past["past_value"] = random(2, 2, 8, 16, seed=8)
        key = np.concatenate([past["past_key"], heads["K"]], axis=2)
        value = np.concatenate([past["past_value"], heads["V"]], axis=2)
        mask = random(3, 11, seed=9)
        expected = attend(heads["Q"], key, value, change=lambda s: s + mask)
        feeds = {name: to_tokens(x) for name, x in heads.items()}
        feeds |= {"attn_mask": mask, **past}
        how = {"q_num_heads": 6, "kv_num_heads": 2, "outputs": OUTPUTS}
        results = self.check(feeds, to_tokens(expected), **how)
        np.testing.assert_array_equal(results[1], key)

    def test_lengths_of_keys(self):
        feeds = self.inputs(lengths=(4, 12))
        counts = np.array([5, 12])
        expected = attend(
            *feeds.values(), lengths=counts, causal=True, offset=counts - 4
        )
        feeds["nonpad_kv_seqlen"] = counts
        self.check(feeds, expected, is_causal=1)

    def test_types(self):
        for dtype in (np.float16, np.float64):
            feeds = self.inputs(dtype=dtype)
            expected = attend(*feeds.values(), causal=True)
            self.check(feeds, expected, own=dtype != np.float64, is_causal=1)

    def test_bf16(self):
        # Others convert, because NumPy has no bf16.
        def cast(name, to, kind):
            return helper.make_node("Cast", [name], [to], to=kind)

        feeds = self.inputs()
        nodes = [cast(x, x + "16", TensorProto.BFLOAT16) for x in "QKV"]
        nodes.append(helper.make_node("Attention", ["Q16", "K16", "V16"], ["Y16"]))
        nodes.append(cast("Y16", "Y", TensorProto.FLOAT))
        text = provider.model(
            nodes,
            [provider.value(name, x) for name, x in feeds.items()],
            [provider.value("Y", feeds["Q"])],
        )
        session = provider.session(text)
        self.assertEqual(provider.claimed(session), ["Attention"])
        actual = session.run(None, feeds)[0]
        provider.assert_close(actual, attend(*feeds.values()), tolerance=2e-2)

    def test_windows(self):
        feeds = self.inputs(lengths=(9, 12))
        expected = attend(*feeds.values(), left=3, right=1)
        how = {"opset": 25, "left_window_size": 3, "right_window_size": 1}
        self.check(feeds, expected, **how)

    def test_declined(self):
        feeds = self.inputs()
        for outputs, attributes in (
            (["Y", "", "", "products"], {}),
            (["Y"], {"softmax_precision": TensorProto.DOUBLE}),
        ):
            text = build(feeds, outputs=outputs, unused=[""], **attributes)
            self.assertEqual(provider.claimed(provider.session(text)), [])

    def test_first_version(self):
        feeds = self.inputs()
        mask = random(10, 10, seed=5)
        change = lambda s: 2 * np.tanh(s / 2) + mask
        expected = attend(*feeds.values(), change=change, causal=True)
        how = {"opset": 23, "softcap": 2.0, "is_causal": 1}
        self.check({**feeds, "attn_mask": mask}, expected, **how)

    def test_errors_of_a_call(self):
        feeds = self.inputs()
        shapes = {name: [None] * 4 for name in "QKV"}
        session = provider.session(build(feeds, shapes))
        feeds["V"] = random(2, 2, 9, 16)
        with self.assertRaisesRegex(Exception, "length of V: expected 10, got 9"):
            session.run(None, feeds)


if __name__ == "__main__":
    unittest.main()
