# ===- test_group_query.py - ONNX Runtime's GroupQueryAttention -------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""GroupQueryAttention on Attn's provider, beside ONNX Runtime's own and float64."""

import unittest

import numpy as np
import onnxruntime
from onnx import helper

import provider
from provider import attend, random, to_tokens

INPUTS = ["query", "key", "value", "past_key", "past_value", "seqlens_k"]
INPUTS += ["total_sequence_length", "cos_cache", "sin_cache", "position_ids"]
INPUTS += ["attention_bias", "head_sink"]
OUTPUTS = ["output", "present_key", "present_value"]
HEADS, GROUPS, SIZE = 4, 2, 16


def build(feeds, shapes=None, outputs=tuple(OUTPUTS), **attributes):
    """A model of one node, with these inputs, and with these outputs of the node's
    as its own."""
    last = max(INPUTS.index(name) for name in feeds)
    names = [name if name in feeds else "" for name in INPUTS[: last + 1]]
    attributes = {"num_heads": HEADS, "kv_num_heads": GROUPS, **attributes}
    node = helper.make_node(
        "GroupQueryAttention",
        names,
        OUTPUTS,
        domain="com.microsoft",
        **attributes,
    )
    kind = provider.TYPES[feeds["query"].dtype]
    shapes = shapes or {}
    return provider.model(
        [node],
        [provider.value(name, x, shapes.get(name)) for name, x in feeds.items()],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
    )


def rotate(heads, cosine, sine, first, interleaved=False):
    """(B, H, S, D) in float64, from a position on that each batch has."""
    heads = heads.astype(np.float64)
    pairs = cosine.shape[1]
    positions = np.reshape(first, (-1, 1)) + np.arange(heads.shape[2])
    c, s = (np.float64(x)[positions][:, None] for x in (cosine, sine))
    result = heads.copy()
    if interleaved:
        a, b = heads[..., 0 : 2 * pairs : 2], heads[..., 1 : 2 * pairs : 2]
        result[..., 0 : 2 * pairs : 2] = a * c - b * s
        result[..., 1 : 2 * pairs : 2] = b * c + a * s
    else:
        a, b = heads[..., :pairs], heads[..., pairs : 2 * pairs]
        result[..., :pairs] = a * c - b * s
        result[..., pairs : 2 * pairs] = b * c + a * s
    return result


class Step:
    """A step of sequences of which `before` tokens each are in the past."""

    def __init__(self, before, length, room=None, dtype=np.float32, extra=()):
        self.before = np.array(before)
        batch = len(before)
        room = self.before.max() if room is None else room
        self.query = random(batch, HEADS, length, SIZE, seed=1, dtype=dtype)
        self.key = random(batch, GROUPS, length, SIZE, seed=2, dtype=dtype)
        self.value = random(batch, GROUPS, length, SIZE, seed=3, dtype=dtype)
        self.past_key = random(batch, GROUPS, room, SIZE, seed=4, dtype=dtype)
        self.past_value = random(batch, GROUPS, room, SIZE, seed=5, dtype=dtype)
        self.total = int(self.before.max()) + length
        self.extra = dict(extra)

    def feeds(self):
        return {
            "query": to_tokens(self.query),
            "key": to_tokens(self.key),
            "value": to_tokens(self.value),
            "past_key": self.past_key,
            "past_value": self.past_value,
            "seqlens_k": (self.before + self.query.shape[2] - 1).astype(np.int32),
            "total_sequence_length": np.array(self.total, np.int32),
            **self.extra,
        }

    def gather(self, past, fresh):
        """The past of each sequence and then what is new, padded with zeros."""
        result = np.zeros((*past.shape[:2], max(self.total, past.shape[2]), SIZE))
        for batch, before in enumerate(self.before):
            end = before + fresh.shape[2]
            result[batch, :, :before] = past[batch, :, :before]
            result[batch, :, before:end] = fresh[batch]
        return result

    def expect(self, tables=None, interleaved=False, **how):
        """Output and present keys and values."""
        query, key = self.query, self.key
        if tables is not None:
            query = rotate(query, *tables, self.before, interleaved)
            key = rotate(key, *tables, self.before, interleaved)
        key = self.gather(self.past_key, key)
        value = self.gather(self.past_value, self.value)
        how = {"causal": True, "offset": self.before, **how}
        visible = (x[:, :, : self.total] for x in (key, value))
        return [to_tokens(attend(query, *visible, **how)), key, value]


def tables(positions=64, pairs=SIZE // 2, dtype=np.float32):
    angles = np.arange(positions)[:, None] / 10 ** (np.arange(pairs) / 2)
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


class GroupQuery(unittest.TestCase):
    def check(self, feeds, expected, own=True, shapes=None, **attributes):
        text = build(feeds, shapes, OUTPUTS[: len(expected)], **attributes)
        session = provider.session(text)
        self.assertEqual(provider.claimed(session), ["GroupQueryAttention"])
        results = session.run(None, feeds)
        for actual, wanted in zip(results, expected):
            provider.assert_close(actual, wanted)
        if own:
            others = provider.session(text, attn=False).run(None, feeds)
            for ours, theirs in zip(results, others):
                provider.assert_close(ours, theirs.astype(np.float64))

    def test_prompt(self):
        step = Step([0], 12)
        self.check(step.feeds(), step.expect())

    def test_prompt_without_past(self):
        step = Step([0, 0], 12)
        feeds = step.feeds()
        del feeds["past_key"], feeds["past_value"]
        self.check(feeds, step.expect())

    def test_padded_prompt(self):
        # What comes after a sequence's own tokens means nothing.
        step = Step([0, 0], 12)
        feeds = step.feeds()
        feeds["seqlens_k"] = np.array([11, 6], np.int32)
        session = provider.session(build(feeds))
        result = session.run(None, feeds)[0]
        expected = step.expect()[0]
        provider.assert_close(result[0], expected[0])
        provider.assert_close(result[1, :7], expected[1, :7])

    def test_steps(self):
        # One session: a prompt, a longer step, one token, and sequences that
        # differ in length.
        step = Step([0], 3)
        shapes = {name: ["b", "s", None] for name in ("query", "key", "value")}
        shapes = {
            "query": ["b", "s", HEADS * SIZE],
            "key": ["b", "s", GROUPS * SIZE],
            "value": ["b", "s", GROUPS * SIZE],
            "past_key": ["b", GROUPS, "p", SIZE],
            "past_value": ["b", GROUPS, "p", SIZE],
            "seqlens_k": ["b"],
        }
        text = build(step.feeds(), shapes)
        ours, own = provider.session(text), provider.session(text, attn=False)
        for step in (Step([0], 12), Step([12], 5), Step([17], 1), Step([3, 9], 1)):
            results = ours.run(None, step.feeds())
            others = own.run(None, step.feeds())
            for actual, theirs, wanted in zip(results, others, step.expect()):
                provider.assert_close(actual, wanted)
                provider.assert_close(actual, theirs.astype(np.float64))

    def test_shared_buffer(self):
        step = Step([5, 9], 1, room=32)
        feeds = step.feeds()
        session = provider.session(build(feeds))
        binding = session.io_binding()
        caches = {}
        for name, x in feeds.items():
            bound = onnxruntime.OrtValue.ortvalue_from_numpy(x.copy())
            binding.bind_ortvalue_input(name, bound)
            caches[name] = bound
        for name in ("key", "value"):
            binding.bind_ortvalue_output(f"present_{name}", caches[f"past_{name}"])
        binding.bind_output("output")
        session.run_with_iobinding(binding)
        key, _, output = (x.numpy() for x in binding.get_outputs())
        expected = step.expect()
        provider.assert_close(output, expected[0])
        # What was there after the new token stays.
        wanted = step.past_key.astype(np.float64)
        for batch, before in enumerate(step.before):
            wanted[batch, :, before] = step.key[batch, :, 0]
        provider.assert_close(key, wanted)

    def test_unused_present(self):
        step = Step([7], 2)
        self.check(step.feeds(), step.expect()[:1])

    def test_packed(self):
        step = Step([7], 1)
        feeds = step.feeds()
        feeds["query"] = np.concatenate(
            [feeds.pop(name) for name in ("query", "key", "value")], axis=2
        )
        feeds = {name: feeds[name] for name in INPUTS if name in feeds}
        self.check(feeds, step.expect())

    def test_rotary(self):
        for interleaved in (False, True):
            for before, length in (([0], 12), ([4, 9], 1)):
                step = Step(before, length)
                cosine, sine = tables()
                step.extra = {"cos_cache": cosine, "sin_cache": sine}
                self.check(
                    step.feeds(),
                    step.expect((cosine, sine), interleaved),
                    do_rotary=1,
                    rotary_interleaved=int(interleaved),
                )

    def test_packed_rotary(self):
        step = Step([0], 70)
        cosine, sine = tables(positions=70)
        step.extra = {"cos_cache": cosine, "sin_cache": sine}
        feeds = step.feeds()
        feeds["query"] = np.concatenate(
            [feeds.pop(name) for name in ("query", "key", "value")], axis=2
        )
        feeds = {name: feeds[name] for name in INPUTS if name in feeds}
        self.check(feeds, step.expect((cosine, sine)), do_rotary=1)

    def test_window_softcap_and_scale(self):
        step = Step([10], 6)
        expected = step.expect(left=4, scale=0.5, change=lambda s: 3 * np.tanh(s / 3))
        attributes = {"local_window_size": 5, "softcap": 3.0, "scale": 0.5}
        self.check(step.feeds(), expected, **attributes)

    def test_sinks(self):
        step = Step([10], 1)
        self.check(step.feeds(), step.expect(sink=np.zeros(HEADS)), smooth_softmax=1)
        sink = random(HEADS, seed=9)
        step.extra = {"head_sink": sink}
        self.check(step.feeds(), step.expect(sink=sink))

    def test_bias(self):
        step = Step([10], 3)
        bias = random(1, HEADS, 3, 13, seed=9)
        step.extra = {"attention_bias": bias}
        expected = step.expect(change=lambda s: s + bias)
        self.check(step.feeds(), expected)

    def test_not_causal(self):
        step = Step([4, 9], 1, room=16)
        ends = step.before + 1
        self.check(step.feeds(), step.expect(causal=False, lengths=ends), causal=0)

    def test_f16(self):
        step = Step([10], 1, dtype=np.float16)
        cosine, sine = tables(dtype=np.float16)
        step.extra = {"cos_cache": cosine, "sin_cache": sine}
        self.check(step.feeds(), step.expect((cosine, sine)), do_rotary=1)

    def test_declined(self):
        step = Step([7], 1)
        feeds = step.feeds()
        feeds |= {"cos_cache": tables()[0], "sin_cache": tables()[1]}
        feeds["position_ids"] = np.array([[7]])
        text = build(feeds, do_rotary=1)
        self.assertEqual(provider.claimed(provider.session(text)), [])

    def test_errors_of_a_call(self):
        step = Step([7], 1)
        feeds = step.feeds()
        session = provider.session(build(feeds))
        for name, number, message in (
            ("seqlens_k", [12], "seqlens_k: expected the new tokens"),
            ("seqlens_k", [-5], "seqlens_k: expected the new tokens"),
            ("total_sequence_length", 0, "total_sequence_length: expected"),
        ):
            wrong = {**feeds, name: np.array(number, np.int32)}
            with self.assertRaisesRegex(Exception, message):
                session.run(None, wrong)


if __name__ == "__main__":
    unittest.main()
