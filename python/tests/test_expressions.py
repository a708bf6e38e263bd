# ===- test_expressions.py - Masks and scores as functions ------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each function is written down once with symbols, for a kernel, and computed with
arrays of NumPy, to compare. Where both have other names for the same, `of` is the
namespace."""

import math
import types

import attn
import numpy as np
import pytest
from reference import attend, check, draw

NUMPY = types.SimpleNamespace(
    select=np.where,
    min=np.minimum,
    max=np.maximum,
    erf=np.vectorize(math.erf),
    round=lambda x: np.trunc(x + np.copysign(0.5, x)),
    to_index=lambda x: np.trunc(x).astype(np.int64),
    **{
        name: getattr(np, name)
        for name in "exp exp2 log log2 sin cos tanh sqrt floor ceil".split()
    },
)

MASKS = {
    "add": lambda of, b, h, q, k: 3 + q + 1 > k + 2 + h,
    "sub": lambda of, b, h, q, k: 9 - q - 1 < 5 - k,
    "mul": lambda of, b, h, q, k: 2 * q * 3 >= k * b * 5,
    "floordiv": lambda of, b, h, q, k: (q - 9) // 4 <= (k - 5) // 4,
    "floordiv of a number": lambda of, b, h, q, k: 20 // (q + 1) <= k,
    "mod": lambda of, b, h, q, k: (k - q) % 4 == 1,
    "mod of a number": lambda of, b, h, q, k: 20 % (k + 1) != q,
    "neg, pos, abs": lambda of, b, h, q, k: abs(-k + +q) < 6,
    "bits": lambda of, b, h, q, k: ((q & 6) | (k ^ 3)) & 2 == 2,
    "bits of a number": lambda of, b, h, q, k: (6 & q) ^ (1 | k) > 3,
    "shifts": lambda of, b, h, q, k: (q << 1) >> 2 == (64 >> k) + (1 << h),
    "and, or, not": lambda of, b, h, q, k: (k <= q) & ~(k == 3) | (q == 0),
    "literals": lambda of, b, h, q, k: (True & (k <= q)) | np.bool_(False),
    "all": lambda of, b, h, q, k: True,
    "min, max": lambda of, b, h, q, k: of.min(q, 9) >= of.max(k, 2),
    "select": lambda of, b, h, q, k: of.select(h == 0, k <= q, k >= q),
    "select of numbers": lambda of, b, h, q, k: of.select(h == 0, q, 11) >= k,
    "to_index": lambda of, b, h, q, k: of.to_index((q - 9) / 2) <= k - 7,
    "real": lambda of, b, h, q, k: q / 3 + 0.25 > k * 0.5,
    "numbers of NumPy": lambda of, b, h, q, k: np.int64(2) * q + np.int32(1) > k,
}

SCORES = {
    "add, sub": lambda of, s, b, h, q, k: 1 + s - 0.5 + q - k,
    "mul, truediv": lambda of, s, b, h, q, k: 2.0 * s / (1 + abs(q - k)),
    "truediv of numbers": lambda of, s, b, h, q, k: s - 3 / (q + 1) - 1 / 3,
    "pow": lambda of, s, b, h, q, k: s - (q - k) ** 2 / 64 + 2.0**-s + abs(s) ** 0.5,
    "neg, pos, abs": lambda of, s, b, h, q, k: -s + +abs(s),
    "comparisons": lambda of, s, b, h, q, k: of.select(
        (s < 0.5) & (s >= -1) | (s > 2) & (s <= 3) | (s == 0) & (s != 1), s, s / 2
    ),
    "functions": lambda of, s, b, h, q, k: of.exp(-abs(s))
    + of.exp2(-abs(s))
    + of.log(1 + abs(s))
    + of.log2(2 + abs(s))
    + of.sin(s)
    + of.cos(s)
    + of.tanh(s)
    + of.erf(s)
    + of.sqrt(abs(s)),
    "rounding": lambda of, s, b, h, q, k: of.floor(4 * s) / 4
    + of.ceil(s) / 8
    + of.round(s) / 8,
    "min, max": lambda of, s, b, h, q, k: of.max(of.min(s, 1.5), -0.5) + of.min(q, 2.5),
    "an index": lambda of, s, b, h, q, k: of.min(q, k),
    "a number": lambda of, s, b, h, q, k: 1.5,
    "numbers of NumPy": lambda of, s, b, h, q, k: np.float32(0.5) * s
    + np.float64(0.25) * q,
}


@pytest.fixture(scope="module")
def arrays():
    """In float64, so that what is rounded to an integer is the same in both."""
    return draw(*[(2, 2, 12, 16)] * 3, dtype="float64")


@pytest.mark.parametrize("name", MASKS)
def test_masks(name, arrays):
    function = MASKS[name]
    kernel = attn.compile(
        attn.Attention(
            heads=2, head_size=16, type="f64", mask=lambda *p: function(attn, *p)
        )
    )
    expected = attend(*arrays, mask=lambda *p: function(NUMPY, *p))[0]
    check(kernel(*arrays), expected)


@pytest.mark.parametrize("name", SCORES)
def test_scores(name, arrays):
    function = SCORES[name]
    kernel = attn.compile(
        attn.Attention(
            heads=2, head_size=16, type="f64", score=lambda *p: function(attn, *p)
        )
    )

    def compute(s, *positions):
        return np.broadcast_to(function(NUMPY, s, *positions), s.shape).astype(float)

    check(kernel(*arrays), attend(*arrays, score=compute)[0])


# What is no mask or score is an error where it is written, of Python's own kind.
TABLE = attn.Tensor("table", "f32", [None, 4])
BITS = attn.Tensor("bits", "i1", [None])
WRONG = {
    "if": (
        lambda b, h, q, k: k if k < q else q,
        r"use attn.select\(condition, a, b\) instead of if",
    ),
    "and": (
        lambda b, h, q, k: k < q and k > 3,
        "& and | and ~ instead of and, or and not",
    ),
    "chain": (lambda b, h, q, k: 0 <= k <= q, "&, | and ~ instead of and"),
    "min of Python": (lambda b, h, q, k: min(q, k) > 2, "attn.min and attn.max"),
    "a number as truth": (lambda b, h, q, k: not k, "compare it, as in k % 4 == 0"),
    "a number as mask": (
        lambda b, h, q, k: q - k,
        "mask: expected a function that gives a Bool, such as k <= q, got Index",
    ),
    "nothing": (lambda b, h, q, k: None, "mask: expected a function .* got NoneType"),
    "compared with text": (
        lambda b, h, q, k: q == "x",
        "'==': expected two numbers, got Index and str",
    ),
    "compared Bools": (
        lambda b, h, q, k: (q < k) == (k < q),
        "expected two numbers, got Bool",
    ),
    "added Bools": (lambda b, h, q, k: (q < k) + (k < q) > 1, "unsupported operand"),
    "mixed": (lambda b, h, q, k: (q < k) & k, "unsupported operand"),
    "mod of a Real": (lambda b, h, q, k: (q / 2) % 2 == 1, "unsupported operand"),
    "floordiv of a Real": (lambda b, h, q, k: (q / 2) // 2 == 1, "unsupported operand"),
    "math": (lambda b, h, q, k: math.exp(k) > 2, "use the functions of attn"),
    "numpy": (lambda b, h, q, k: np.exp(k) > 2, "'Index' does not support ufuncs"),
    "a list": (lambda b, h, q, k: [1, 2][q] < k, "attn.Tensor for arrays"),
    "an array added": (
        lambda b, h, q, k: q + np.arange(4) < k,
        "does not support ufuncs",
    ),
    "range": (lambda b, h, q, k: any(i == k for i in range(q)), "has no value"),
    "select": (
        lambda b, h, q, k: attn.select(q, k, q) < 3,
        "select: expected a Bool as condition, such as k <= q, got Index",
    ),
    "select of two kinds": (
        lambda b, h, q, k: attn.select(k < q, k < q, q),
        "select: expected two numbers, or two Bools where it takes them, got Bool and Index",
    ),
    "exp of a Bool": (
        lambda b, h, q, k: attn.exp(k < q) > 1,
        "exp: expected a number, got Bool",
    ),
    "too few indices": (
        lambda b, h, q, k: TABLE[q] > 1,
        "'table': expected an index for each of 2 dimensions, got 1",
    ),
    "a Real as index": (
        lambda b, h, q, k: TABLE[q / 2, h] > 1,
        "'table': expected indices that are an Index or an int, got Real",
    ),
    "a Tensor in a loop": (
        lambda b, h, q, k: any(x == k for x in TABLE),
        "not iterable",
    ),
    "a Tensor as truth of a mask": (lambda b, h, q, k: BITS, "got Tensor"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_masks(name):
    function, message = WRONG[name]
    with pytest.raises(TypeError, match=message):
        attn.mask(function)


def test_wrong_functions():
    with pytest.raises(TypeError, match="positional argument"):
        attn.mask(lambda b, h: True)
    with pytest.raises(IndexError):
        attn.mask(lambda b, h, q, k: np.arange(4)[q] < k)
    with pytest.raises(ZeroDivisionError):
        attn.mask(lambda b, h, q, k: q // (1 // 0))
    with pytest.raises(OverflowError):
        attn.mask(lambda b, h, q, k: q < 2**70)
    with pytest.raises(
        TypeError, match="score: expected a function that gives a number, .* got Bool"
    ):
        attn.score(lambda s, b, h, q, k: s > 1)
    with pytest.raises(
        TypeError, match="mask: expected a Mask or a function of .* got int"
    ):
        attn.Attention(heads=1, head_size=8, mask=3)
    with pytest.raises(
        TypeError, match="score: expected a Score or a function of .* got Mask"
    ):
        attn.Attention(heads=1, head_size=8, score=attn.causal())
    with pytest.raises(TypeError, match="use &, | and ~"):
        attn.causal() and attn.causal()
    with pytest.raises(TypeError, match="unsupported operand"):
        attn.causal() & attn.softcap(2.0)
    # What only shows with the values is an error of the Attention that uses it.
    with pytest.raises(attn.Error, match="q % 0"):
        attn.Attention(heads=1, head_size=8, mask=lambda b, h, q, k: q % 0 == 1).text()


def test_deep_expressions():
    """An expression that no compiler would survive is an error."""

    def deep(s, b, h, q, k):
        for _ in range(100_000):
            s = s + 1
        return s

    with pytest.raises(attn.Error, match="1000"):
        attn.Attention(heads=1, head_size=8, score=deep).text()
