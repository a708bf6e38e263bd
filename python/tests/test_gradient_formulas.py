# ===- test_gradient_formulas.py - Gradients against formulas ---------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Gradients of each op against their formulas in float64, written out by hand."""

import attn
import numpy as np
import pytest

TOLERANCE = 1e-11


def run(text, of, *arguments):
    """What the function of a text gives, and its gradients, of numbers that follow the
    arguments: a function of the gradient of its result."""
    output = attn.compile(text)(*arguments)
    gradient = attn.compile(attn.differentiate(text, of=of))

    def differentiate(seed):
        given = gradient(*arguments, seed)
        return given if isinstance(given, tuple) else (given,)

    return output, differentiate


def check(actual, expected):
    assert len(actual) == len(expected)
    for given, wanted in zip(actual, expected):
        assert given.shape == wanted.shape
        scale = np.abs(wanted).max()
        assert scale > 0
        assert np.abs(given - wanted).max() <= TOLERANCE * scale


def draw(*shapes):
    random = np.random.default_rng(7)
    return [random.standard_normal(shape) for shape in shapes]


# ===----------------------------------------------------------------------===#
# The formulas
# ===----------------------------------------------------------------------===#


def to_heads(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def from_heads(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def rotate(x, cosine, sine, interleaved):
    """Of all elements of rows at positions from 0 on."""
    pairs = cosine.shape[1]
    a, b = (
        (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :pairs], x[..., pairs:])
    )
    turned = a * cosine - b * sine, b * cosine + a * sine
    if interleaved:
        return np.stack(turned, axis=-1).reshape(x.shape)
    return np.concatenate(turned, axis=-1)


def attend(query, key, value, kept, sink, gradient):
    """Causal attention with a sink and scores 3 tanh(t / 3), whose probabilities are
    multiplied by `kept`: the output, and the gradients of query, key, value and sink."""
    group = query.shape[1] // key.shape[1]
    keys, values = (np.repeat(x, group, axis=1) for x in (key, value))
    scale = query.shape[-1] ** -0.5
    tanh = np.tanh(scale * query @ keys.swapaxes(2, 3) / 3)
    weights = np.where(np.tri(*tanh.shape[2:], dtype=bool), np.exp(3 * tanh), 0)
    sinks = np.exp(sink)[:, None, None]
    total = weights.sum(axis=-1, keepdims=True) + sinks
    weights = weights / total
    output = (weights * kept) @ values

    of_weights = kept * (gradient @ values.swapaxes(2, 3))
    means = (weights * of_weights).sum(axis=-1, keepdims=True)
    of_scores = weights * (of_weights - means) * (1 - tanh**2) * scale

    def share(x):  # Sums over the query heads of a key head.
        return x.reshape(x.shape[0], key.shape[1], group, *x.shape[2:]).sum(axis=2)

    return output, (
        of_scores @ keys,
        share(of_scores.swapaxes(2, 3) @ query),
        share((weights * kept).swapaxes(2, 3) @ gradient),
        -(sinks / total * means).sum(axis=(0, 2, 3)),
    )


# ===----------------------------------------------------------------------===#
# The ops
# ===----------------------------------------------------------------------===#


@pytest.mark.parametrize("pairing", ["half_split", "interleaved"])
def test_rope(pairing):
    text = f"""
      !x = tensor<2x3x5x8xf64>
      !t = tensor<5x4xf64>
      func.func @f(%x: !x, %c: !t, %s: !t) -> !x {{
        %0 = tensor.empty() : !x
        %y = attn.rope {pairing} ins(%x, %c, %s : !x, !t, !t) outs(%0 : !x)
        return %y : !x
      }}"""
    x, cosine, sine, seed = draw((2, 3, 5, 8), (5, 4), (5, 4), (2, 3, 5, 8))
    output, differentiate = run(text, ["x"], x, cosine, sine)
    interleaved = pairing == "interleaved"
    check([output], [rotate(x, cosine, sine, interleaved)])
    check(differentiate(seed), [rotate(seed, cosine, -sine, interleaved)])


def test_projection_with_bias():
    text = """
      !y = tensor<2x3x5x4xf64>
      func.func @f(%x: tensor<2x5x6xf64>, %w: tensor<6x12xf64>, %b: tensor<12xf64>)
          -> !y {
        %0 = tensor.empty() : !y
        %y = attn.projection ins(%x, %w : tensor<2x5x6xf64>, tensor<6x12xf64>)
            outs(%0 : !y) bias(%b : tensor<12xf64>)
        return %y : !y
      }"""
    x, weight, bias, seed = draw((2, 5, 6), (6, 12), (12,), (2, 3, 5, 4))
    output, differentiate = run(text, ["x", "w", "b"], x, weight, bias)
    check([output], [to_heads(x @ weight + bias, 3)])
    rows = from_heads(seed)
    check(
        differentiate(seed),
        [
            rows @ weight.T,
            np.einsum("bsk,bsn->kn", x, rows),
            rows.sum(axis=(0, 1)),
        ],
    )


def test_head_norm():
    text = """
      !x = tensor<2x3x5x8xf64>
      func.func @f(%x: !x, %w: tensor<3x8xf64>) -> !x {
        %0 = tensor.empty() : !x
        %y = attn.head_norm ins(%x, %w : !x, tensor<3x8xf64>) outs(%0 : !x)
            epsilon(1.0e-2) layer(2)
        return %y : !x
      }"""
    x, weight, seed = draw((2, 3, 5, 8), (3, 8), (2, 3, 5, 8))
    output, differentiate = run(text, ["x", "w"], x, weight)
    scale = 1 - (0.8 - 0.6 * np.exp(-0.6))
    root = np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-2)
    weights = scale * weight[:, None]
    check([output], [weights * x / root])
    weighted = weights * seed
    mean = (weighted * x).mean(axis=-1, keepdims=True)
    check(
        differentiate(seed),
        [
            weighted / root - x * mean / root**3,
            (scale * seed * x / root).sum(axis=(0, 2)),
        ],
    )


def test_dropout():
    text = """
      !x = tensor<2x5x8xf64>
      func.func @f(%x: !x, %seed: i64, %call: i32) -> !x {
        %0 = tensor.empty() : !x
        %y = attn.dropout ins(%x : !x) outs(%0 : !x) rate(0.4, %seed, %call)
        return %y : !x
      }"""
    x, seed = draw((2, 5, 8), (2, 5, 8))
    output, differentiate = run(text, ["x"], x, 3, 4)
    kept = attn.compile(text)(np.ones_like(x), 3, 4)
    assert set(np.unique(kept.round(12))) == {0, round(1 / 0.6, 12)}
    check([output], [x * kept])
    check(differentiate(seed), [seed * kept])


CLAUSES = "mask causal score softcap(3.0)"


def find_kept(heads, size, probability_rate):
    """What dropout multiplies probabilities by: the output where each is 1 / n for n
    keys that are seen, and values are unit vectors."""
    text = f"""
      !x = tensor<2x{heads}x{size}x{size}xf64>
      func.func @f(%q: !x, %v: !x, %seed: i64, %call: i32) -> !x {{
        %0 = tensor.empty() : !x
        %y = attn.attention ins(%q, %q, %v : !x, !x, !x) outs(%0 : !x)
            dropout({probability_rate}, %seed, %call)
        return %y : !x
      }}"""
    shape = (2, heads, size, size)
    unit = np.broadcast_to(np.eye(size), shape).copy()
    return size * attn.compile(text)(np.zeros(shape), unit, 3, 4)


def test_attention():
    text = f"""
      !q = tensor<2x4x5x8xf64>
      !k = tensor<2x2x5x8xf64>
      func.func @f(%q: !q, %k: !k, %v: !k, %z: tensor<4xf64>, %seed: i64, %call: i32)
          -> !q {{
        %0 = tensor.empty() : !q
        %y = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%0 : !q)
            sink(%z : tensor<4xf64>) dropout(0.3, %seed, %call) {CLAUSES}
        return %y : !q
      }}"""
    tensors = draw((2, 4, 5, 8), (2, 2, 5, 8), (2, 2, 5, 8), (4,), (2, 4, 5, 8))
    query, key, value, sink, seed = tensors
    output, differentiate = run(text, list("qkvz"), query, key, value, sink, 3, 4)
    kept = find_kept(4, 5, 0.3)
    assert (kept == 0).any()
    expected, gradients = attend(query, key, value, kept, sink, seed)
    check([output], [expected])
    check(differentiate(seed), gradients)


def test_layer_with_gate():
    text = f"""
      !x = tensor<2x5x6xf64>
      !t = tensor<5x4xf64>
      func.func @f(%x: !x, %w: tensor<6x64xf64>, %b: tensor<64xf64>,
                   %o: tensor<32x6xf64>, %g: tensor<6x32xf64>, %z: tensor<4xf64>,
                   %c: !t, %s: !t) -> !x {{
        %0 = tensor.empty() : !x
        %y = attn.multi_head_attention heads(4, 2) sizes(8, 8) ins(%x : !x)
            outs(%0 : !x) qkv(%w, %b : tensor<6x64xf64>, tensor<64xf64>)
            output(%o : tensor<32x6xf64>) gate elements(%g : tensor<6x32xf64>)
            rope half_split(%c, %s : !t, !t) sink(%z : tensor<4xf64>) {CLAUSES}
        return %y : !x
      }}"""
    shapes = [(2, 5, 6), (6, 64), (64,), (32, 6), (6, 32), (4,), (5, 4), (5, 4)]
    *arguments, seed = draw(*shapes, (2, 5, 6))
    x, weight, bias, output_weight, gate_weight, sink, cosine, sine = arguments
    output, differentiate = run(text, list("xwbogz"), *arguments)

    projected = x @ weight + bias
    query, key, value = (
        to_heads(part, heads)
        for part, heads in zip(np.split(projected, [32, 48], axis=-1), (4, 2, 2))
    )
    query, key = (rotate(part, cosine, sine, False) for part in (query, key))
    gate = 1 / (1 + np.exp(-(x @ gate_weight)))
    of_gated = seed @ output_weight.T
    kept = np.ones((2, 4, 5, 5))
    attended, of_parts = attend(
        query, key, value, kept, sink, to_heads(of_gated * gate, 4)
    )
    attended = from_heads(attended)
    check([output], [attended * gate @ output_weight])

    of_query, of_key, of_value, of_sink = of_parts
    of_query, of_key = (
        rotate(part, cosine, -sine, False) for part in (of_query, of_key)
    )
    of_projected = np.concatenate(
        [from_heads(part) for part in (of_query, of_key, of_value)], axis=-1
    )
    of_gate = of_gated * attended * gate * (1 - gate)

    def sum_products(left, right):
        return np.einsum("bsk,bsn->kn", left, right)

    check(
        differentiate(seed),
        [
            of_projected @ weight.T + of_gate @ gate_weight.T,
            sum_products(x, of_projected),
            of_projected.sum(axis=(0, 1)),
            sum_products(attended * gate, seed),
            sum_products(x, of_gate),
            of_sink,
        ],
    )
