# ===- test_gradients.py - Gradients of kernels ------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Gradients of kernels, along random directions, against difference quotients."""

import attn
import numpy as np
import pytest

ATTENTION = {"heads": 4, "kv_heads": 2, "head_size": 8, "type": "f64"}


def test_gradients_are_derivatives():
    random = np.random.default_rng(3)
    attention = attn.Attention(
        score=attn.alibi(attn.Tensor("slopes", "f64", [4])) | attn.softcap(3.0),
        mask=attn.causal(),
        **ATTENTION,
    )
    kernel = attn.compile(attention)
    gradient = attn.compile(attn.differentiate(attention))
    shapes = [(2, 4, 9, 8), (2, 2, 9, 8), (2, 2, 9, 8), (4,)]
    arguments = [random.standard_normal(shape) for shape in shapes]
    seed = random.standard_normal((2, 4, 9, 8))
    gradients = gradient(*arguments, seed)
    assert [given.shape for given in gradients] == shapes
    for position, given in enumerate(gradients):
        direction = random.standard_normal(given.shape)

        def move(distance):
            moved = list(arguments)
            moved[position] = moved[position] + distance * direction
            return np.vdot(kernel(*moved), seed)

        expected = (move(1e-5) - move(-1e-5)) / 2e-5
        assert np.vdot(given, direction) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_tangents_are_derivatives():
    random = np.random.default_rng(4)
    attention = attn.Attention(mask=attn.causal(), **ATTENTION)
    kernel = attn.compile(attention)
    tangent = attn.compile(attn.differentiate_forward(attention, of=["query", "value"]))
    shapes = [(2, 4, 9, 8), (2, 2, 9, 8), (2, 2, 9, 8)]
    query, key, value = (random.standard_normal(shape) for shape in shapes)
    of_query, of_value = (random.standard_normal(shapes[n]) for n in (0, 2))

    def move(time):
        return kernel(query + time * of_query, key, value + time * of_value)

    expected = (move(1e-5) - move(-1e-5)) / 2e-5
    given = tangent(query, key, value, of_query, of_value)
    np.testing.assert_allclose(given, expected, rtol=1e-6, atol=1e-6)


def test_what_is_named_and_saved():
    attention = attn.Attention(log_sum_exp=True, mask=attn.causal(), **ATTENTION)
    text = attn.differentiate(attention, of=["value"], results=[0], saved=True)
    kernel = attn.compile(text)
    assert [argument.name for argument in kernel.arguments] == [
        "query",
        "key",
        "value",
        "result_0",
        "result_1",
        "gradient",
    ]
    assert len(kernel.results) == 1


def test_errors():
    attention = attn.Attention(**ATTENTION)
    with pytest.raises(attn.Error, match="expected names of arguments, which are query"):
        attn.differentiate(attention, of=["querry"])
    with pytest.raises(TypeError, match="differentiate: expected an attn.Attention"):
        attn.differentiate(3)
