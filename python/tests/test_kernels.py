# ===- test_kernels.py - Kernels on arrays of NumPy -------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#

import os
import pathlib
import subprocess
import sys
import threading

import attn
import ml_dtypes
import numpy as np
import pytest
from reference import attend, check, draw

TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
}
SHAPES = (2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32)


@pytest.fixture(scope="module")
def causal():
    """A kernel of 4 heads that share 2 keys and values, of f32."""
    return attn.compile(
        attn.Attention(heads=4, kv_heads=2, head_size=32, mask=attn.causal())
    )


def see_past(b, h, q, k):
    return k <= q


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    query, key, value = draw(*SHAPES, dtype=TYPES[name])
    kernel = attn.compile(
        attn.Attention(
            heads=4,
            kv_heads=2,
            head_size=32,
            type=name,
            mask=lambda b, h, q, k: (k <= q + 18) & ((q - k) % 3 != 1),
            score=lambda s, b, h, q, k: s - abs(q - k) / 64.0,
            log_sum_exp=True,
        )
    )
    output, log_sum_exp = kernel(query, key, value)
    assert type(output) is np.ndarray
    assert output.dtype == query.dtype
    assert log_sum_exp.dtype == (np.float64 if name == "f64" else np.float32)
    expected = attend(
        query,
        key,
        value,
        mask=lambda b, h, q, k: (k <= q + 18) & ((q - k) % 3 != 1),
        score=lambda s, b, h, q, k: s - abs(q - k) / 64.0,
    )
    check(output, expected[0])
    assert np.abs(log_sum_exp - expected[1]).max() <= (1e-12 if name == "f64" else 1e-5)


def test_one_kernel_takes_all_lengths(causal):
    for length in (0, 1, 7, 130):
        query, key, value = draw(
            (1, 4, length, 32), (1, 2, length, 32), (1, 2, length, 32)
        )
        check(causal(query, key, value), attend(query, key, value, mask=see_past)[0])


def test_result_is_written_to_out(causal):
    query, key, value = draw(*SHAPES)
    out = np.zeros_like(query)
    assert causal(query, key, value, out=out) is out
    check(out, attend(query, key, value, mask=see_past)[0])
    # As one of a list, and into rows of a larger array.
    wide = np.full((2, 4, 19, 48), 7, np.float32)
    result = causal(query, key, value, out=[wide[..., :32]])
    assert np.shares_memory(result, wide)
    assert np.array_equal(wide[..., :32], out)
    assert (wide[..., 32:] == 7).all()


def test_strides_are_not_copied(causal):
    # (B, S, H, D) in memory, one head for all, and every second token.
    query, key, value = draw((2, 19, 4, 32), (2, 1, 74, 32), (2, 74, 2, 32))
    query = query.swapaxes(1, 2)
    key = np.broadcast_to(key, (2, 2, 74, 32))[:, :, ::2]
    value = value.swapaxes(1, 2)[:, :, ::2]
    check(causal(query, key, value), attend(query, key, value, mask=see_past)[0])


def test_read_only_arguments(causal):
    arrays = draw(*SHAPES)
    for array in arrays:
        array.flags.writeable = False
    check(causal(*arrays), attend(*arrays, mask=see_past)[0])


def test_captured_tensors_and_scalars():
    table = attn.Tensor("table", "f32", [None, 4])
    slopes = attn.Tensor("slopes", "f64", [4])
    near = attn.Tensor("near", "i32", [4])
    allowed = attn.Tensor("allowed", "i1", [1, None, None])
    cap = attn.scalar("cap", "f32")
    first = attn.scalar("first", "i64")
    kernel = attn.compile(
        attn.Attention(
            heads=4,
            kv_heads=2,
            head_size=32,
            offset=first,
            score=attn.score(
                lambda s, b, h, q, k: s + table[attn.min(abs(q - k), 7), h]
            )
            | attn.softcap(cap),
            mask=attn.mask(lambda b, h, q, k: abs(q - k) < near[h])
            & attn.boolean(attn.rows(allowed)),
        )
    )
    assert [argument.name for argument in kernel.arguments] == [
        "query",
        "key",
        "value",
        "first",
        "table",
        "cap",
        "near",
        "allowed",
    ]
    query, key, value, terms = draw(*SHAPES, (8, 4))
    widths = np.array([3, 11, 40, 1], np.int32)
    keep = draw((1, 19, 37))[0] > -1

    expected = attend(
        query,
        key,
        value,
        offset=18,
        score=lambda s, b, h, q, k: 5
        * np.tanh((s + terms[np.minimum(abs(q - k), 7), h]) / 5),
        mask=lambda b, h, q, k: (abs(q - k) < widths[h]) & keep,
    )[0]
    check(kernel(query, key, value, 18, terms, 5.0, widths, keep), expected)
    # By name, and of numbers of NumPy.
    named = {"cap": np.float32(5), "first": np.int32(18), "allowed": keep}
    check(kernel(query, key, value, table=terms, near=widths, **named), expected)
    del slopes


def test_scalars_that_are_true_or_false():
    kernel = attn.compile(
        attn.Attention(
            heads=1,
            head_size=8,
            mask=attn.causal() | attn.mask(lambda *_: attn.scalar("all", "i1")),
        )
    )
    arrays = draw(*[(1, 1, 4, 8)] * 3)
    for yes in (True, np.True_, 1):
        check(kernel(*arrays, yes), attend(*arrays)[0])
    for no in (False, np.False_, 0):
        check(kernel(*arrays, all=no), attend(*arrays, mask=see_past)[0])
    with pytest.raises(attn.Error, match="'all'"):
        kernel(*arrays, 2)


def test_named_masks_and_scores():
    lengths = attn.Tensor("lengths", "i32", [None])
    present = attn.Tensor("present", "i1", [None, None])
    ids = attn.Tensor("ids", "i64", [None, None])
    slopes = attn.Tensor("slopes", "f32", [4])
    terms = attn.Tensor("terms", "f32", [None, None])
    query, key, value, bias = draw((2, 4, 37, 32), SHAPES[1], SHAPES[2], (37, 37))
    counts = np.array([20, 37], np.int32)
    there = draw((2, 37))[0] > -1
    documents = np.sort(np.random.default_rng(2).integers(0, 3, (2, 37)))
    slope = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
    # Static lengths compile in a moment.
    sizes = dict(heads=4, kv_heads=2, head_size=32, query_length=37, key_length=37)
    masks = [
        (
            attn.causal() & attn.sliding_window(5, -1),
            [],
            lambda b, h, q, k: (k <= q) & (k >= q - 5),
        ),
        (
            attn.prefix_lm(lengths),
            [counts],
            lambda b, h, q, k: (k < counts[b]) | (k <= q),
        ),
        (attn.key_padding(lengths), [counts], lambda b, h, q, k: k < counts[b]),
        (attn.key_padding(present), [there], lambda b, h, q, k: there[b, k]),
        (
            attn.document(ids, ids),
            [documents],
            lambda b, h, q, k: documents[b, q] == documents[b, k],
        ),
        (~attn.causal() | attn.sliding_window(0, 0), [], lambda b, h, q, k: k >= q),
    ]
    for mask, captured, function in masks:
        kernel = attn.compile(attn.Attention(mask=mask, **sizes))
        check(
            kernel(query, key, value, *captured),
            attend(query, key, value, mask=function)[0],
        )
    scores = [
        (attn.alibi(slopes), [slope], lambda s, b, h, q, k: s - slope[h] * abs(q - k)),
        (attn.bias(terms), [bias], lambda s, b, h, q, k: s + bias[q, k]),
        (attn.softcap(2.0), [], lambda s, b, h, q, k: 2 * np.tanh(s / 2)),
    ]
    for score, captured, function in scores:
        kernel = attn.compile(attn.Attention(score=score, **sizes))
        check(
            kernel(query, key, value, *captured),
            attend(query, key, value, score=function)[0],
        )


def test_members_of_attention():
    query, key, value, logits = draw((3, 2, 5, 16), (3, 2, 9, 16), (3, 2, 9, 24), (2,))
    first = np.array([0, 4, 2], np.int64)
    kernel = attn.compile(
        attn.Attention(
            heads=2,
            head_size=16,
            value_head_size=24,
            batch=3,
            query_length=5,
            key_length=9,
            scale=0.5,
            offset=attn.Tensor("first", "i64", [3]),
            sink=attn.Tensor("logits", "f32", [2]),
            mask=attn.causal(),
            batch_invariant=True,
        )
    )
    assert kernel.arguments[0].shape == (3, 2, 5, 16)
    assert kernel.results[0].shape == (3, 2, 5, 24)
    expected = attend(
        query,
        key,
        value,
        scale=0.5,
        sink=logits,
        offset=first.reshape(3, 1, 1, 1),
        mask=see_past,
    )[0]
    check(kernel(query, key, value, first, logits), expected)

    kernel = attn.compile(
        attn.Attention(
            heads=2,
            head_size=16,
            value_head_size=24,
            offset="bottom_right",
            mask=attn.causal(),
        )
    )
    check(
        kernel(query, key, value), attend(query, key, value, offset=4, mask=see_past)[0]
    )


def test_packed_sequences():
    ends = np.array([0, 3, 10], np.int32)
    query, key, value = draw(*[(1, 2, 10, 16)] * 3)
    kernel = attn.compile(
        attn.Attention(
            heads=2,
            head_size=16,
            mask=attn.causal(),
            sequences=(
                attn.Tensor("ends", "i32", [None]),
                attn.Tensor("ends", "i32", [None]),
            ),
        )
    )
    output = kernel(query, key, value, ends)
    for rows in (slice(0, 3), slice(3, 10)):
        part = [array[:, :, rows] for array in (query, key, value)]
        check(output[:, :, rows], attend(*part, mask=see_past)[0])


def test_dropout_depends_on_seed_and_call():
    kernel = attn.compile(
        attn.Attention(heads=1, head_size=16, dropout=attn.Dropout(0.5))
    )
    arrays = draw(*[(1, 1, 64, 16)] * 3)
    first = kernel(*arrays, seed=1, call=0)
    assert np.array_equal(first, kernel(*arrays, 1, 0))
    assert not np.array_equal(first, kernel(*arrays, seed=2, call=0))
    assert not np.array_equal(first, kernel(*arrays, seed=1, call=1))
    # What is kept is doubled.
    assert abs(first.mean() - attend(*arrays)[0].mean()) < 0.05


APPEND = """
func.func @append(%cache: tensor<?x2x?x8xf32> {bufferization.writable = true},
                  %new: tensor<?x2x?x8xf32>, %lengths: tensor<?xi32>)
    -> tensor<?x2x?x8xf32> {
  %0 = attn.cache_append ins(%new : tensor<?x2x?x8xf32>)
      outs(%cache : tensor<?x2x?x8xf32>) lengths(%lengths : tensor<?xi32>)
  return %0 : tensor<?x2x?x8xf32>
}
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
"""


def test_text_that_updates_an_argument():
    kernel = attn.compile(APPEND, entry="append", file_name="append.mlir")
    assert kernel.text == APPEND
    assert [result.updates for result in kernel.results] == [0]
    cache = np.zeros((1, 2, 4, 8), np.float32)
    (new,) = draw((1, 2, 1, 8))
    assert kernel(cache, new, np.array([2], np.int32)) is None
    assert np.array_equal(cache[:, :, 2:3], new)
    assert not cache[:, :, [0, 1, 3]].any()
    cache.flags.writeable = False
    with pytest.raises(
        attn.Error, match="'cache': is read-only, expected memory to write to"
    ):
        kernel(cache, new, np.array([2], np.int32))


def test_signature(causal):
    assert [(a.name, a.type, a.shape) for a in causal.arguments] == [
        ("query", "f32", (None, 4, None, 32)),
        ("key", "f32", (None, 2, None, 32)),
        ("value", "f32", (None, 2, None, 32)),
    ]
    assert [(r.name, r.type, r.shape) for r in causal.results] == [
        ("", "f32", (None, 4, None, 32))
    ]
    assert causal.pipeline == "cpu"
    assert repr(causal) == (
        "<attn.Kernel attention(query: ?x4x?x32xf32, key: ?x2x?x32xf32, "
        "value: ?x2x?x32xf32) -> (?x4x?x32xf32)>"
    )


def test_reference_pipeline(causal):
    slow = attn.compile(causal.text, pipeline="reference")
    assert slow.pipeline == "reference"
    arrays = draw(*SHAPES)
    check(slow(*arrays), attend(*arrays, mask=see_past)[0])


def test_prepare(tmp_path, causal):
    kernel = attn.Engine(cache_directory=tmp_path).compile(causal.text)
    assert len(list(tmp_path.iterdir())) == 1
    kernel.prepare()
    files = len(list(tmp_path.iterdir()))
    assert files > 1
    for length in 1, 100:
        query, key, value = (
            np.ones((*shape[:2], length, shape[3]), np.float32) for shape in SHAPES
        )
        assert np.allclose(kernel(query, key, value), 1)
    assert len(list(tmp_path.iterdir())) == files


def test_remarks():
    attention = attn.Attention(
        heads=1, head_size=16, type="f64", score=attn.softcap(2.0)
    )
    remark = attn.compile(attention, file_name="wide.mlir").remarks[0]
    assert (remark.severity, remark.file) == ("remark", "wide.mlir")
    assert "evaluated position by position" in remark.message
    assert (
        attention.text()
        .splitlines()[remark.line - 1][remark.column - 1 :]
        .startswith("softcap")
    )
    place = f"wide.mlir:{remark.line}:{remark.column}"
    assert str(remark) == f"{place}: remark: {remark.message}"


def test_block_pictures(causal):
    blocks = causal.blocks(query_length=64, key_length=64)
    assert blocks.text == repr(blocks)
    assert "attention" in blocks.text
    assert blocks._repr_svg_() == blocks.svg
    assert blocks.svg.startswith("<svg") and blocks.svg.rstrip().endswith("</svg>")
    with pytest.raises(attn.Error, match="length"):
        causal.blocks(query_length=64)


def test_kernels_are_cached(tmp_path):
    directory = tmp_path / "cache"
    attention = attn.Attention(heads=1, head_size=8)
    engine = attn.Engine(cache_directory=directory)
    assert engine.compile(attention).stats.source == "compiler"
    assert engine.compile(attention).stats.source == "memory cache"
    assert (
        attn.Engine(cache_directory=str(directory)).compile(attention).stats.source
        == "disk cache"
    )
    directory.chmod(0o777)
    with pytest.raises(
        attn.Error,
        match="expected a directory that only its user may write, got mode 0777",
    ):
        attn.Engine(cache_directory=directory)


def test_results_do_not_depend_on_threads(causal):
    arrays = draw(*SHAPES)
    alone = attn.Engine(threads=1).compile(causal.text)
    assert np.array_equal(alone(*arrays), causal(*arrays))


def test_engine_of_another_processor(causal):
    kernel = attn.Engine(cpu="x86-64-v3").compile(causal.text)
    arrays = draw(*SHAPES)
    check(kernel(*arrays), attend(*arrays, mask=see_past)[0])
    assert kernel.blocks(query_length=8, key_length=8).text
    with pytest.raises(attn.Error, match="nonsense"):
        attn.Engine(cpu="nonsense")


def test_set_engine(causal):
    previous = attn._engine
    try:
        attn.set_engine(attn.Engine())
        assert attn.compile(causal.text).stats.source == "compiler"
    finally:
        attn.set_engine(previous)
    with pytest.raises(TypeError, match="set_engine: expected an attn.Engine, got str"):
        attn.set_engine("cpu")


def test_several_threads_call_one_kernel(causal):
    arrays = draw(*SHAPES)
    expected = causal(*arrays)
    results = [None] * 4

    def work(index):
        for _ in range(50):
            results[index] = causal(*arrays)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, expected) for result in results)


def test_the_interpreter_goes_on_while_a_kernel_compiles():
    """The lock of the interpreter is free: another thread counts meanwhile."""
    counts, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counts[0] += 1
            done.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counts[0]
    stats = attn.Engine().compile(attn.Attention(heads=3, head_size=48)).stats
    seen = counts[0] - before
    done.set()
    thread.join()
    assert stats.total_ms > 10
    assert seen >= 2


def test_kernels_outlive_engines():
    kernel = attn.Engine().compile(attn.Attention(heads=1, head_size=8))
    arrays = draw(*[(1, 1, 4, 8)] * 3)
    check(kernel(*arrays), attend(*arrays)[0])
