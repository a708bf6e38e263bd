# ===- test_caches.py - Caches in pages -------------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What is appended to a PagedCache is what kernels attend to."""

import gc

import attn
import ml_dtypes
import numpy as np
import pytest
from reference import attend, check, draw

TYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def causal(b, h, q, k):
    return k <= q


def attention(name="f32"):
    return attn.Attention(
        heads=4, kv_heads=2, head_size=16, type=name, mask=attn.causal()
    )


def create_kernel(name="f32", **cache):
    return attn.compile(
        attn.CachedAttention(
            attention(name), cache=attn.LayerCache(page_size=4, **cache)
        )
    )


@pytest.fixture(scope="module")
def kernel():
    return create_kernel()


@pytest.fixture
def cache():
    return attn.PagedCache(pages=8, page_size=4, kv_heads=2, head_size=16)


def run(kernel, cache, sequences, query, key, value):
    with cache.append(sequences, [query.shape[2]] * len(sequences)) as step:
        return kernel(
            query, key, value, cache.keys(), cache.values(), step.lengths, step.table
        )


@pytest.mark.parametrize("name", TYPES)
def test_steps(name):
    kernel = create_kernel(name)
    cache = attn.PagedCache(pages=8, page_size=4, kv_heads=2, head_size=16, type=name)
    shapes = (1, 4, 11, 16), (1, 2, 11, 16), (1, 2, 11, 16)
    query, key, value = draw(*shapes, dtype=TYPES[name])
    expected, _ = attend(query, key, value, mask=causal)
    sequence = cache.create_sequence()
    for first, last in ((0, 6), (6, 7), (7, 11)):
        rows = slice(first, last)
        output = run(
            kernel,
            cache,
            [sequence],
            *(np.ascontiguousarray(x[:, :, rows]) for x in (query, key, value)),
        )
        check(output, expected[:, :, rows])
        assert cache.length(sequence) == last
    assert cache.free_pages == 5
    assert cache.keys().dtype == TYPES[name]


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
        ("f8E5M2", ml_dtypes.float8_e5m2),
    ],
)
def test_floats_of_8_bits(name, dtype):
    kernel = create_kernel(type=name)
    cache = attn.PagedCache(pages=8, page_size=4, kv_heads=2, head_size=16, type=name)
    query, key, value = draw((1, 4, 5, 16), (1, 2, 5, 16), (1, 2, 5, 16))
    output = run(kernel, cache, [cache.create_sequence()], query, key, value)
    key, value = (x.astype(dtype).astype(np.float32) for x in (key, value))
    expected, _ = attend(query, key, value, mask=causal)
    check(output, expected)
    assert cache.keys().dtype == dtype


def test_integers_have_scales():
    kernel = create_kernel(type="i8")
    cache = attn.PagedCache(pages=8, page_size=4, kv_heads=2, head_size=16, type="i8")
    query, key, value = draw((1, 4, 5, 16), (1, 2, 5, 16), (1, 2, 5, 16))
    sequence = cache.create_sequence()
    with cache.append([sequence], [5]) as step:
        output = kernel(
            query,
            key,
            value,
            cache.keys(),
            cache.values(),
            cache.key_scales(),
            cache.value_scales(),
            step.lengths,
            step.table,
        )
    expected, _ = attend(query, key, value, mask=causal)
    assert np.abs(output - expected).max() < 2e-2 * np.abs(expected).max()
    scales = cache.key_scales()[step_pages(cache, sequence)[0], :, 0]
    np.testing.assert_allclose(
        scales, np.abs(key[0, :, 0]).max(axis=1) / 127, rtol=1e-6
    )


def step_pages(cache, sequence):
    step = cache.append([sequence], [0])
    pages = step.table[0]
    step.drop()
    return pages


def test_fork_and_truncate(kernel, cache):
    query, key, value = draw((1, 4, 6, 16), (1, 2, 6, 16), (1, 2, 6, 16))
    first = cache.create_sequence()
    run(kernel, cache, [first], query, key, value)
    second = cache.fork(first, 4)
    assert cache.length(second) == 4
    assert cache.free_pages == 6
    more = draw((2, 4, 1, 16), (2, 2, 1, 16), (2, 2, 1, 16), seed=2)
    assert cache.count_new_pages([first, second], [1, 1]) == 1
    output = run(kernel, cache, [first, second], *more)
    for entry, stored in ((0, 6), (1, 4)):
        keys, values = (
            np.concatenate([old[:, :, :stored], new[entry : entry + 1]], axis=2)
            for old, new in ((key, more[1]), (value, more[2]))
        )
        expected, _ = attend(more[0][entry : entry + 1], keys, values)
        check(output[entry : entry + 1], expected)
    cache.truncate(first, 0)
    cache.free(second)
    assert cache.free_pages == 8
    with pytest.raises(attn.Error, match="sequence"):
        cache.length(second)


def test_an_exception_changes_nothing(kernel, cache):
    sequence = cache.create_sequence()
    with pytest.raises(attn.Error, match="argument 0 'query'"):
        run(kernel, cache, [sequence], *draw((1, 3, 2, 16), (1, 2, 2, 16), (1, 2, 2, 16)))
    assert cache.length(sequence) == 0
    step = cache.append([sequence], [3])
    with pytest.raises(attn.Error, match="use"):
        cache.append([sequence], [1])
    del step
    assert cache.append([sequence], [1]).counts.tolist() == [1]


def test_arrays_outlive_what_they_are_of(cache):
    sequence = cache.create_sequence()
    keys = cache.keys()
    step = cache.append([sequence], [5])
    table, lengths = step.table, step.new_lengths
    step.commit()
    del cache, step
    gc.collect()
    keys[:] = 1
    assert keys.sum() == keys.size
    assert sorted(table[0]) == [0, 1]
    assert lengths.tolist() == [5]


def test_layers_have_memory_of_their_own():
    cache = attn.PagedCache(pages=2, layers=2, head_size=8, value_head_size=4)
    assert cache.keys().shape == (2, 1, 16, 8)
    assert cache.values(1).shape == (2, 1, 16, 4)
    cache.keys(0)[:] = 1
    assert not cache.keys(1).any()
    assert cache.keys(0).all()
    with pytest.raises(attn.Error, match="layer: expected 0 to 1, got 2"):
        cache.keys(2)
    with pytest.raises(attn.Error, match="f32, and has no scales"):
        cache.key_scales()


def test_errors(cache):
    with pytest.raises(attn.Error, match="pages"):
        attn.PagedCache(pages=0, head_size=8)
    with pytest.raises(ValueError, match="type"):
        attn.PagedCache(pages=1, head_size=8, type="f31")
    sequence = cache.create_sequence()
    with pytest.raises(attn.Error, match="pages"):
        cache.append([sequence], [100])
    with pytest.raises(attn.Error):
        cache.append([sequence, sequence], [1, 1])
    with pytest.raises(attn.Error):
        cache.append([sequence], [-1])
    step = cache.append([sequence], [1])
    step.commit()
    with pytest.raises(attn.Error, match="the step is over"):
        step.commit()
    with pytest.raises(attn.Error, match="the step is over"):
        step.table
    bad = attn.CachedAttention(
        attention(), cache=attn.LayerCache(page_size=4, ring=True)
    )
    with pytest.raises(attn.Error, match="ring: expected false with pages"):
        bad.text()
