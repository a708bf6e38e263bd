# ===- test_torch.py - Kernels in PyTorch and transformers ------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#

import types

import attn
import attn.torch
import numpy as np
import pytest
import torch
import transformers
from reference import attend, draw
from reference import check as check_array

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
NAMES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
}


def draw_tensors(*shapes, dtype=torch.float32):
    return [torch.from_numpy(array).to(dtype) for array in draw(*shapes)]


def widen(*tensors):
    return [tensor.double().numpy() for tensor in tensors]


def check(actual, expected):
    check_array(
        actual.double().numpy(), expected, str(actual.dtype).removeprefix("torch.")
    )


def see_past(b, h, q, k):
    return k <= q


# ===------------------------------------------------------------------------===#
# Kernels on tensors
# ===------------------------------------------------------------------------===#


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_take_and_give_tensors(dtype):
    tensors = draw_tensors((2, 19, 4, 32), (2, 2, 19, 32), (2, 2, 19, 32), dtype=dtype)
    tensors[0] = tensors[0].transpose(1, 2)
    kernel = attn.compile(
        attn.Attention(
            heads=4,
            kv_heads=2,
            head_size=32,
            type=NAMES[dtype],
            mask=attn.causal(),
            log_sum_exp=True,
        )
    )
    output, log_sum_exp = kernel(*tensors)
    assert output.dtype == dtype and output.device.type == "cpu"
    assert log_sum_exp.dtype == (dtype if dtype == torch.float64 else torch.float32)
    expected = attend(*widen(*tensors), mask=see_past)
    check(output, expected[0])
    assert np.abs(log_sum_exp.double().numpy() - expected[1]).max() <= 1e-5
    out = [torch.zeros_like(output), torch.zeros_like(log_sum_exp)]
    assert kernel(*tensors, out=out)[0] is out[0]
    assert torch.equal(out[0], output)
    # Captured tensors of NumPy beside those of PyTorch, and the other way round.
    check(kernel(*tensors[:2], tensors[2].clone())[0], expected[0])


def test_tensors_that_kernels_do_not_take():
    kernel = attn.compile(attn.Attention(heads=2, head_size=8))
    good = draw_tensors(*[(1, 2, 4, 8)] * 3)
    for bad, message in [
        (
            good[0].clone().requires_grad_(),
            "its memory cannot be shared: Can't export tensors that require gradient",
        ),
        (good[0].to("meta"), "its memory cannot be shared"),
        (good[0].to_sparse(), "its memory cannot be shared"),
        (good[0].to(torch.uint8), "element type is torch.uint8, which no kernel takes"),
        (
            good[0].to(torch.float8_e4m3fnuz),
            "element type is torch.float8_e4m3fnuz, which no kernel takes",
        ),
        (
            good[0].to(torch.float8_e4m3fn),
            "argument 0 'query': element type is f8E4M3FN, expected f32",
        ),
        (
            torch._neg_view(good[0]),
            "argument 0 'query': is a view that negates its memory",
        ),
        (good[0].transpose(2, 3), "argument 0 'query'"),
        (good[0].double(), "element type is f64, expected f32"),
    ]:
        with pytest.raises(attn.Error, match=message):
            kernel(bad, *good[1:])


# ===------------------------------------------------------------------------===#
# Operators
# ===------------------------------------------------------------------------===#


def test_custom_op():
    slopes = attn.Tensor("slopes", "f32", [4])
    kernel = attn.compile(
        attn.Attention(
            heads=4,
            kv_heads=2,
            head_size=32,
            offset=attn.scalar("first", "i64"),
            score=attn.alibi(slopes) | attn.softcap(attn.scalar("cap", "f32")),
            mask=attn.causal(),
            log_sum_exp=True,
        )
    )
    op = attn.torch.custom_op("attn_test::alibi", kernel)
    query, key, value, slope = draw_tensors(
        (2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32), (4,)
    )
    arguments = (query, key, value, 18, slope, 5.0)
    expected = attend(
        *widen(query, key, value),
        offset=18,
        score=lambda s, b, h, q, k: 5
        * np.tanh((s - slope.double().numpy()[h] * abs(q - k)) / 5),
        mask=see_past,
    )
    output, log_sum_exp = op(*arguments)
    check(output, expected[0])
    torch.library.opcheck(op, arguments)

    # Its shapes are known without its numbers, and it is one call in a graph.
    compiled = torch.compile(
        lambda *a: op(*a)[0] * 2, fullgraph=True, dynamic=True, backend="aot_eager"
    )
    for length in (19, 20, 21):
        tensors = draw_tensors((2, 4, length, 32), (2, 2, 37, 32), (2, 2, 37, 32))
        assert torch.equal(
            compiled(*tensors, 18, slope, 5.0), op(*tensors, 18, slope, 5.0)[0] * 2
        )

    query.requires_grad_()
    with pytest.raises(
        RuntimeError, match="no autograd formula|not implemented|does not require grad"
    ):
        op(*arguments)[0].sum().backward()


def test_differentiable_op():
    slopes = attn.Tensor("slopes", "f32", [4])
    op = attn.torch.differentiable_op(
        "attn_test::learn",
        attn.Attention(
            heads=4,
            kv_heads=2,
            head_size=32,
            score=attn.alibi(slopes),
            mask=attn.causal(),
            log_sum_exp=True,
        ),
    )
    inputs = draw_tensors((2, 4, 19, 32), (2, 2, 19, 32), (2, 2, 19, 32), (4,))
    for tensor in inputs:
        tensor.requires_grad_()

    def attend(query, key, value, slopes):
        key, value = (x.repeat_interleave(2, dim=1) for x in (key, value))
        position = torch.arange(19)
        distance = position[:, None] - position
        score = query @ key.transpose(-1, -2) / 32**0.5
        score = score - slopes[:, None, None] * distance.abs()
        score = score.masked_fill(distance < 0, -torch.inf)
        return torch.softmax(score, dim=-1) @ value

    doubles = [tensor.detach().double().requires_grad_() for tensor in inputs]
    expected = attend(*doubles)
    output, _ = op(*inputs)
    output.square().sum().backward()
    expected.square().sum().backward()
    for tensor, double in zip(inputs, doubles):
        error = (tensor.grad.double() - double.grad).abs().max()
        assert error <= 1e-5 * double.grad.abs().max()
    torch.library.opcheck(op, inputs)


def test_custom_op_that_updates_an_argument():
    kernel = attn.compile("""
func.func @append(%cache: tensor<?x2x?x8xf32> {bufferization.writable = true},
                  %new: tensor<?x2x?x8xf32>, %lengths: tensor<?xi32>)
    -> tensor<?x2x?x8xf32> {
  %0 = attn.cache_append ins(%new : tensor<?x2x?x8xf32>)
      outs(%cache : tensor<?x2x?x8xf32>) lengths(%lengths : tensor<?xi32>)
  return %0 : tensor<?x2x?x8xf32>
}""")
    op = attn.torch.custom_op("attn_test::append", kernel)
    cache = torch.zeros(1, 2, 4, 8)
    (new,) = draw_tensors((1, 2, 1, 8))
    lengths = torch.tensor([2], dtype=torch.int32)
    assert op(cache, new, lengths) is None
    assert torch.equal(cache[:, :, 2:3], new)
    torch.library.opcheck(op, (cache, new, lengths))


# ===------------------------------------------------------------------------===#
# transformers
# ===------------------------------------------------------------------------===#

DECODER = types.SimpleNamespace(is_causal=True)
ENCODER = types.SimpleNamespace(is_causal=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_interface_of_masks(dtype):
    query, key, value = draw_tensors(
        (2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32), dtype=dtype
    )
    (numbers,) = draw((2, 4, 19, 37))
    for mask, oracle in [
        (
            torch.from_numpy(numbers > 0),
            dict(mask=lambda b, h, q, k: numbers[b, h, q, k] > 0),
        ),
        (
            torch.from_numpy(numbers[:, :1] > 0),
            dict(mask=lambda b, h, q, k: numbers[b, 0, q, k] > 0),
        ),
        (
            torch.from_numpy(numbers[:1, :1] > 0).expand(2, 1, 19, 37),
            dict(mask=lambda b, h, q, k: numbers[0, 0, q, k] > 0),
        ),
        (
            torch.from_numpy(numbers[:, :1, :1] > 0),
            dict(mask=lambda b, h, q, k: numbers[b, 0, 0, k] > 0),
        ),
        (
            torch.from_numpy(numbers),
            dict(score=lambda s, b, h, q, k: s + numbers[b, h, q, k]),
        ),
        # Longer than the keys.
        (
            torch.from_numpy(np.concatenate([numbers, numbers], axis=3) > 0),
            dict(mask=lambda b, h, q, k: numbers[b, h, q, k] > 0),
        ),
    ]:
        output, weights = attn.torch.attention_interface(
            DECODER, query, key, value, mask
        )
        assert weights is None and output.is_contiguous() and output.dtype == dtype
        check(output.transpose(1, 2), attend(*widen(query, key, value), **oracle)[0])


def test_interface_without_a_mask():
    query, key, value = draw_tensors((2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32))
    token = query[:, :, :1]
    (sink,) = draw_tensors((4,))
    all_ = widen(query, key, value)
    one = widen(token, key, value)
    for arguments, named, expected in [
        ((DECODER, query), {}, attend(*all_, mask=see_past)),
        ((DECODER, query), dict(is_causal=False), attend(*all_)),
        ((ENCODER, query), {}, attend(*all_)),
        ((ENCODER, query), dict(is_causal=True), attend(*all_, mask=see_past)),
        ((DECODER, token), {}, attend(*one)),
        (
            (DECODER, query),
            dict(scaling=0.3, softcap=2.0),
            attend(
                *all_, scale=0.3, mask=see_past, score=lambda s, *_: 2 * np.tanh(s / 2)
            ),
        ),
        (
            (DECODER, query),
            dict(sliding_window=5),
            attend(*all_, mask=lambda b, h, q, k: (k <= q) & (k > q - 5)),
        ),
        (
            (ENCODER, query),
            dict(sliding_window=5),
            attend(*all_, mask=lambda b, h, q, k: abs(q - k) <= 5),
        ),
        (
            (DECODER, token),
            dict(sliding_window=5),
            attend(*one, mask=lambda b, h, q, k: k >= 32 + 0 * q),
        ),
        ((DECODER, query), dict(s_aux=sink), attend(*all_, mask=see_past, sink=sink)),
        (
            (DECODER, query),
            dict(
                dropout=0.0, position_bias=None, output_attentions=False, use_cache=True
            ),
            attend(*all_, mask=see_past),
        ),
    ]:
        output, _ = attn.torch.attention_interface(
            *arguments, key, value, None, **named
        )
        check(output.transpose(1, 2), expected[0])


def test_what_the_interface_refuses():
    tensors = draw_tensors(*[(1, 2, 4, 8)] * 3)
    for named in (
        dict(dropout=0.1),
        dict(position_bias=tensors[0]),
        dict(cache=object()),
        dict(output_attentions=True),
    ):
        with pytest.raises(ValueError, match=next(iter(named))):
            attn.torch.attention_interface(DECODER, *tensors, None, **named)
    with pytest.raises(
        ValueError, match="attention_mask: expected a tensor of 4 dimensions"
    ):
        attn.torch.attention_interface(DECODER, *tensors, torch.ones(1, 4))
    with pytest.raises(ValueError, match="sliding_window: expected a number of keys"):
        attn.torch.attention_interface(DECODER, *tensors, None, sliding_window=0)
    with pytest.raises(
        TypeError, match="query: element type is torch.uint8, which no kernel takes"
    ):
        attn.torch.attention_interface(DECODER, tensors[0].byte(), *tensors[1:], None)


def make_model(name, **changes):
    """A small model of random weights, of the family `name`."""
    sizes = dict(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        head_dim=16,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        **changes,
    )
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name, **sizes)
    return transformers.AutoModelForCausalLM.from_config(
        config, attn_implementation="eager"
    ).eval()


MODELS = {
    "llama": {},
    # Windows, caps of scores, and another scale.
    "gemma2": dict(
        sliding_window=8, attn_logit_softcapping=5.0, query_pre_attn_scalar=16
    ),
    # A window, and a sink for each head.
    "gpt_oss": dict(sliding_window=8, num_local_experts=2, num_experts_per_tok=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    """Logits and texts are those of eager attention, also of prompts with padding."""
    attn.torch.register()
    model = make_model(name, **MODELS[name])
    prompts = torch.from_numpy(np.random.default_rng(3).integers(3, 64, (2, 20)))
    padding = torch.ones(2, 20, dtype=torch.long)
    padding[1, :7] = 0
    results = {}
    for implementation in ("eager", "attn"):
        model.set_attn_implementation(implementation)
        with torch.no_grad():
            results[implementation] = [
                model(prompts).logits,
                model(prompts, attention_mask=padding).logits[padding.bool()],
                model.generate(
                    prompts, attention_mask=padding, max_new_tokens=12, do_sample=False
                ),
                model.generate(
                    prompts,
                    attention_mask=padding,
                    max_new_tokens=12,
                    do_sample=False,
                    cache_implementation="static",
                    disable_compile=True,
                ),
            ]
    for actual, expected in zip(results["attn"][:2], results["eager"][:2]):
        assert (actual - expected).abs().max() <= 1e-5 * expected.abs().max()
    for actual, expected in zip(results["attn"][2:], results["eager"][2:]):
        assert torch.equal(actual, expected)


def test_a_compiled_model():
    attn.torch.register()
    model = make_model("llama")
    model.set_attn_implementation("attn")
    prompts = torch.from_numpy(np.random.default_rng(3).integers(3, 64, (2, 20)))
    with torch.no_grad():
        expected = model(prompts, use_cache=False).logits
        compiled = torch.compile(model, backend="aot_eager")
        assert torch.allclose(
            compiled(prompts, use_cache=False).logits, expected, atol=1e-5
        )
