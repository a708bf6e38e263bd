# ===- test_layers.py - Layers, and what an engine does beside compiling ----===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#

import sys

import attn
import numpy as np
import pytest
from reference import attend, check, draw


def split(rows, heads):
    batch, length, width = rows.shape
    return rows.reshape(batch, length, heads, width // heads).swapaxes(1, 2)


def merge(heads):
    batch, count, length, size = heads.shape
    return heads.swapaxes(1, 2).reshape(batch, length, count * size)


def causal(b, h, q, k):
    return k <= q


def layer(**options):
    return attn.MultiHeadAttention(
        attn.Attention(heads=4, kv_heads=2, head_size=16, mask=attn.causal()),
        width=64,
        **options,
    )


def weights():
    rows, fused, last = draw((2, 9, 64), (64, 128), (64, 64))
    return rows, fused / 8, last / 8


def compute(rows, fused, last, rotate=lambda heads: heads):
    query, key, value = (
        split(part, heads)
        for part, heads in zip(
            np.split(rows.astype(np.float64) @ fused, [64, 96], axis=2),
            (4, 2, 2),
            strict=True,
        )
    )
    output, _ = attend(rotate(query), rotate(key), value, mask=causal)
    return merge(output) @ last


def test_layer():
    rows, fused, last = weights()
    kernel = attn.compile(layer())
    assert [x.name for x in kernel.arguments] == ["input", "qkv_weight", "output_weight"]
    check(kernel(rows, fused, last), compute(rows, fused, last))


def test_weights_apart_with_biases():
    rows, fused, last = weights()
    kernel = attn.compile(layer(fused=False, bias=True, output_bias=True))
    biases = draw((64,), (32,), (32,), (64,), seed=3)
    parts = [np.ascontiguousarray(x) for x in np.split(fused, [64, 96], axis=1)]
    result = kernel(
        input=rows,
        query_weight=parts[0],
        query_weight_bias=biases[0],
        key_weight=parts[1],
        key_weight_bias=biases[1],
        value_weight=parts[2],
        value_weight_bias=biases[2],
        output_weight=last,
        output_weight_bias=biases[3],
    )
    ones = np.ones((2, 9, 1), np.float32)
    expected = compute(
        np.concatenate([rows, ones], axis=2),
        np.concatenate([fused, np.concatenate(biases[:3])[None]]),
        last,
    )
    check(result, expected + biases[3])


def test_rotary_layer_on_pages():
    rows, fused, last = weights()
    angles = np.outer(np.arange(32), 10000.0 ** (-np.arange(8) / 8))
    cosine, sine = np.cos(angles), np.sin(angles)

    def rotate(heads):
        c, s = cosine[: heads.shape[2]], sine[: heads.shape[2]]
        x, y = heads[..., :8], heads[..., 8:]
        return np.concatenate([x * c - y * s, y * c + x * s], axis=3)

    kernel = attn.compile(
        layer(rotary=attn.Rotary(16), cache=attn.LayerCache(page_size=4))
    )
    cache = attn.PagedCache(pages=6, page_size=4, kv_heads=2, head_size=16)
    sequences = [cache.create_sequence() for _ in range(2)]
    expected = compute(rows, fused, last, rotate)
    for first, end in ((0, 5), (5, 6), (6, 9)):
        with cache.append(sequences, [end - first] * 2) as step:
            output = kernel(
                input=np.ascontiguousarray(rows[:, first:end]),
                qkv_weight=fused,
                output_weight=last,
                cosine=cosine.astype(np.float32),
                sine=sine.astype(np.float32),
                key_cache=cache.keys(),
                value_cache=cache.values(),
                lengths=step.lengths,
                table=step.table,
            )
        check(output, expected[:, first:end])


def test_projection():
    """A part of a layer, as text."""
    kernel = attn.compile(
        """
        func.func @project(%x: tensor<?x?x64xf32>, %w: tensor<64x128xf32>)
            -> tensor<?x?x128xf32> {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %b = tensor.dim %x, %c0 : tensor<?x?x64xf32>
          %s = tensor.dim %x, %c1 : tensor<?x?x64xf32>
          %init = tensor.empty(%b, %s) : tensor<?x?x128xf32>
          %y = attn.projection ins(%x, %w : tensor<?x?x64xf32>, tensor<64x128xf32>)
              outs(%init : tensor<?x?x128xf32>)
          return %y : tensor<?x?x128xf32>
        }
        """
    )
    rows, fused, _ = weights()
    check(kernel(rows, fused), rows.astype(np.float64) @ fused)


def test_multi_token():
    attention = attn.Attention(heads=4, head_size=16, mask=attn.causal())
    plain = attn.compile(attention)
    kernel = attn.compile(
        attn.MultiTokenAttention(
            attention, before=attn.MultiTokenStages(queries=2, keys=3)
        )
    )
    query, key, value = draw(*[(1, 4, 7, 16)] * 3)
    # A kernel that takes the score itself changes nothing.
    weight = np.zeros((4, 2, 3), np.float32)
    weight[:, 1, 1] = 1
    names = [x.name for x in kernel.arguments]
    assert len(names) == 4
    check(kernel(query, key, value, weight), plain(query, key, value).astype(np.float64))


def test_errors():
    with pytest.raises(ValueError, match="gate: expected 'heads', 'elements' or None"):
        layer(gate="all")
    with pytest.raises(ValueError, match="weights"):
        layer(weights="i7")
    with pytest.raises(attn.Error, match="source_width"):
        layer(source_width=-1).text()
    with pytest.raises(TypeError, match="an attn.Attention, a layer or text"):
        attn.compile(3)
    with pytest.raises(TypeError):
        attn.CachedAttention("text")
    page_size = "page_size: expected a positive int, 'any' or None, got "
    for size in (0, -1, -(2**63)):
        with pytest.raises(ValueError, match=f"{page_size}{size}$"):
            attn.LayerCache(page_size=size)
    with pytest.raises(ValueError, match=page_size + "'all'"):
        attn.LayerCache(page_size="all")
    with pytest.raises(TypeError, match=page_size + "float"):
        attn.LayerCache(page_size=4.5)
    attn.LayerCache(page_size=np.int32(16))
    with pytest.raises(TypeError, match="progress: expected a function .*, got int"):
        attn.TuningOptions(progress=3)


def tune_until_called(tune, function=None):
    """What ``tune`` gives with TuningOptions in which a plan is tried, and the steps that
    ``progress`` was called with: a busy machine needs some time to compile the first."""
    for seconds in (0.25, 2, 16, 128):
        steps = []

        def progress(step):
            steps.append(step)
            if function:
                function(step)

        found = tune(attn.TuningOptions(seconds=seconds, progress=progress))
        if steps:
            break
    assert steps
    return found, steps


def test_tuning(tmp_path):
    query, key, value = draw((1, 4, 40, 16), (1, 2, 40, 16), (1, 2, 40, 16))
    attention = attn.Attention(heads=4, kv_heads=2, head_size=16, mask=attn.causal())
    engine = attn.Engine(threads=1, cache_directory=tmp_path / "kernels")
    found, steps = tune_until_called(
        lambda tuning: engine.tune(attention, [query, key, value], tuning=tuning)
    )
    expected, _ = attend(query, key, value, mask=causal)
    check(found.kernel(query, key, value), expected)
    assert len(found.plans) == 1
    assert "attn.attention" in found.text
    assert found.times_faster >= 1
    assert found.num_tried == len(steps) > 0
    assert all(step.plan.startswith("#attn.plan<") for step in steps)
    # Who compiles it from now on has it.
    check(engine.compile(attention)(query, key, value), expected)
    with pytest.raises(attn.Error, match="argument 2 'value'"):
        engine.tune(attention, {"query": query, "key": key, "value": 3})
    with pytest.raises(TypeError, match="no 'value'"):
        engine.tune(attention, [query, key])


def test_tuning_survives_what_progress_raises(monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda x: raised.append(str(x.exc_value)))

    def fail(step):
        raise RuntimeError("as it was told to")

    query, key, value = draw(*[(1, 2, 16, 16)] * 3)
    engine = attn.Engine(threads=1)
    found, steps = tune_until_called(
        lambda tuning: engine.tune(
            attn.Attention(heads=2, head_size=16),
            {"query": query, "value": value, "key": key},
            tuning=tuning,
        ),
        fail,
    )
    assert set(raised) == {"as it was told to"} and len(raised) == len(steps)
    check(found.kernel(query, key, value), attend(query, key, value)[0])


def test_engines_that_tune():
    def compile_tuned(tuning):
        engine = attn.Engine(threads=1, tuning=tuning)
        return engine.compile(attn.Attention(heads=2, head_size=16))

    query, key, value = draw(*[(1, 2, 16, 16)] * 3)
    kernel, _ = tune_until_called(compile_tuned)
    check(kernel(query, key, value), attend(query, key, value)[0])


def test_emit():
    engine = attn.Engine()
    attention = attn.Attention(heads=2, head_size=16)
    assert "llvm.func" in engine.emit(attention, "mlir")
    assert "define" in engine.emit(attention, "llvm")
    assert "attn_entry" in engine.emit(attention, "asm")
    assert engine.emit(attention, "obj").startswith(b"\x7fELF")
    with pytest.raises(ValueError, match="form: expected 'mlir'"):
        engine.emit(attention, "text")


def test_compile_to_object():
    code, header = attn.compile_to_object(
        attn.Attention(heads=2, head_size=16), name="my_attention"
    )
    assert code.startswith(b"\x7fELF")
    assert "my_attention(" in header


def test_summaries():
    ids = attn.Tensor("ids", "i32", [1, None]).summarized(1, 32)
    kernel = attn.compile(
        attn.Attention(heads=2, head_size=16, mask=attn.document(ids, ids))
    )
    query, key, value = draw(*[(1, 2, 80, 16)] * 3)
    table = np.repeat(np.arange(4, dtype=np.int32), 20)[None]
    summary = attn.summarize(ids, table)
    assert summary.shape == (2, 1, 3)
    assert summary[:, 0].tolist() == [[0, 1, 3], [1, 3, 3]]
    with pytest.raises(ValueError, match="read-only"):
        summary[0, 0, 0] = 1

    def same(b, h, q, k):
        return table[0][q] == table[0][k]

    check(
        kernel(query, key, value, table, summary),
        attend(query, key, value, mask=same)[0],
    )
    with pytest.raises(TypeError, match="expected a tensor of integers or i1"):
        attn.Tensor("bias", "f32", [None]).summarized(32)
    assert attn.summarize(ids.summarized(1, 64), table).tolist() == [[[0, 3]], [[3, 3]]]
    with pytest.raises(TypeError, match="'ids': expected sizes of .* ints, got str"):
        attn.Tensor("ids", "i32", [1, None]).summarized(1, "x")
    with pytest.raises(TypeError, match="each of 2 dimensions, got 1"):
        attn.Tensor("ids", "i32", [1, None]).summarized(32)
