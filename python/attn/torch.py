# ===- torch.py - Kernels in PyTorch and transformers ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Attn's kernels as operators of PyTorch, which torch.compile does not look into,
and as attention of Hugging Face's transformers. On the CPU.
"""

import functools
import keyword
import operator

import attn
import torch

_TYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "i1": torch.bool,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


def _detach(argument):
    """The same memory, of which it is not recorded what happens to it: operators are
    called without gradients, but with parameters that have them."""
    return argument.detach() if isinstance(argument, torch.Tensor) else argument


def _name_arguments(kernel):
    """Names of arguments for Python, which does not have all that MLIR may have."""
    return [
        (
            f"argument{index}"
            if keyword.iskeyword(argument.name) or not argument.name.isidentifier()
            else argument.name
        )
        for index, argument in enumerate(kernel.arguments)
    ]


def _write_schema(kernel, names, updated):
    """Arguments and results of a kernel, as PyTorch declares them."""
    arguments = []
    for index, (name, argument) in enumerate(zip(names, kernel.arguments)):
        if argument.shape is not None:
            kind = f"Tensor(a{index}!)" if index in updated else "Tensor"
        elif argument.type == "i1":
            kind = "bool"
        else:
            kind = "SymInt" if argument.type.startswith("i") else "float"
        arguments.append(f"{kind} {name}")
    results = ["Tensor" for result in kernel.results if result.updates < 0]
    given = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(arguments)}) -> {given}"


def _allocate_results(kernel, arguments):
    """What a call gives, without its numbers."""

    def size_of(term):
        argument = arguments[term.argument]
        size = argument if term.dimension < 0 else argument.shape[term.dimension]
        return term.coefficient * size

    results = []
    for result, sizes in zip(kernel.results, kernel.result_sizes):
        if result.updates < 0:
            shape = [size.constant + sum(map(size_of, size.terms)) for size in sizes]
            results.append(torch.empty(shape, dtype=_TYPES[result.type]))
    return results


def custom_op(name: str, kernel: attn.Kernel) -> torch.library.CustomOpDef:
    """A kernel as an operator of PyTorch, called `name`, as "mylib::attend".

    It takes the kernel's arguments, tensors of the CPU and numbers, by position or
    by name, and gives new tensors; those that the kernel updates in place, it
    changes. torch.compile and fake tensors know the shapes of its results. It has
    no derivative: going backward through it is an error, see `differentiable_op`.
    """
    names = _name_arguments(kernel)
    updated = [result.updates for result in kernel.results if result.updates >= 0]
    op = torch.library.custom_op(
        name,
        lambda *arguments: kernel(*map(_detach, arguments)),
        mutates_args=[names[index] for index in updated],
        device_types="cpu",
        schema=_write_schema(kernel, names, updated),
    )

    @op.register_fake
    def _(*arguments):
        results = _allocate_results(kernel, arguments)
        return results[0] if len(results) == 1 else tuple(results) or None

    return op


def differentiable_op(
    name: str, source: attn.Attention | str, of: list[str] | None = None
) -> torch.library.CustomOpDef:
    """A kernel with its gradient as an operator of PyTorch, see `custom_op`.

    `source` is what `attn.compile` takes. Going backward gives the gradients of the
    arguments named in `of`, or of all tensors of floats; the others have none. An
    attention that gives its log-sum-exp, with `log_sum_exp=True`, is not computed
    again for it.
    """
    forward = attn.compile(source)
    if of is None:
        of = [
            argument.name
            for argument in forward.arguments
            if argument.shape is not None and not argument.type.startswith("i")
        ]
    op = custom_op(name, forward)
    backward = custom_op(
        f"{name}_backward",
        attn.compile(attn.differentiate(source, of=of, saved=True)),
    )
    positions = {argument.name: i for i, argument in enumerate(forward.arguments)}

    def save(ctx, inputs, output):
        results = output if isinstance(output, tuple) else (output,)
        ctx.is_tensor = [isinstance(value, torch.Tensor) for value in inputs]
        ctx.numbers = [value for value in inputs if not isinstance(value, torch.Tensor)]
        ctx.save_for_backward(
            *(value for value in inputs if isinstance(value, torch.Tensor)), *results
        )

    def differentiate(ctx, *gradients):
        tensors, numbers = iter(ctx.saved_tensors), iter(ctx.numbers)
        inputs = [next(tensors if known else numbers) for known in ctx.is_tensor]
        gradients = [gradient.contiguous() for gradient in gradients]
        given = backward(*inputs, *tensors, *gradients)
        given = given if isinstance(given, tuple) else (given,)
        of_inputs = [None] * len(inputs)
        for argument, gradient in zip(of, given):
            of_inputs[positions[argument]] = gradient
        return tuple(of_inputs)

    op.register_autograd(differentiate, setup_context=save)
    return op


def _name_type(what, tensor):
    name = _NAMES.get(tensor.dtype)
    if name is None:
        raise TypeError(
            f"{what}: element type is {tensor.dtype}, which no kernel takes"
        )
    return name


@functools.cache
def _compile(mask, sink, softcap, is_causal, window, **members):
    """The kernel of one form of `_attention`: `mask` is its type and its sizes, and
    `sink` its type."""
    scores, masks = [], []
    if softcap is not None:
        scores.append(attn.softcap(softcap))
    if mask is not None:
        rows = attn.rows(attn.Tensor("mask", *mask))
        if mask[0] == "i1":
            masks.append(attn.boolean(rows))
        else:
            scores.append(attn.bias(rows))
    if is_causal:
        masks.append(attn.causal())
    if window is not None:
        masks.append(attn.sliding_window(*window))
    return attn.compile(
        attn.Attention(
            score=functools.reduce(operator.or_, scores) if scores else None,
            mask=functools.reduce(operator.and_, masks) if masks else None,
            sink=attn.Tensor("sink", sink, [members["heads"]]) if sink else None,
            **members,
        )
    )


@torch.library.custom_op("attn::attention", mutates_args=(), device_types="cpu")
def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    sink: torch.Tensor | None,
    scale: float | None,
    softcap: float | None,
    is_causal: bool,
    sliding_window: int | None,
) -> torch.Tensor:
    """Attention of tensors (B, H, S, D), as (B, S, H, D)."""
    batch, heads, length, head_size = query.shape
    form, window, offset = None, None, None
    if mask is not None:  # It says all. A size of 1 stands for any.
        extents = (batch, heads, length, key.shape[2])
        sizes = tuple(
            1 if size == 1 and extent != 1 else None
            for size, extent in zip(mask.shape, extents)
        )
        form = _name_type("attention_mask", mask), sizes
        is_causal = False
    elif sliding_window is not None:
        window = (sliding_window - 1, 0) if is_causal else (sliding_window,) * 2
    if is_causal and length == 1:  # The last token, which follows all keys.
        is_causal, offset = False, "bottom_right" if window else None
    kernel = _compile(
        mask=form,
        sink=None if sink is None else _name_type("s_aux", sink),
        softcap=softcap,
        is_causal=is_causal,
        window=window,
        type=_name_type("query", query),
        heads=heads,
        kv_heads=key.shape[1],
        head_size=head_size,
        value_head_size=value.shape[3],
        scale=scale,
        offset=offset,
    )
    arguments = [query, key, value, sink, mask]
    arguments = [_detach(tensor) for tensor in arguments if tensor is not None]
    output = query.new_empty(batch, length, heads, value.shape[3])
    kernel(*arguments, out=output.transpose(1, 2))
    return output


@_attention.register_fake
def _(query, key, value, *_):
    batch, heads, length, _ = query.shape
    return query.new_empty(batch, length, heads, value.shape[3])


def attention_interface(
    module,
    query,
    key,
    value,
    attention_mask,
    scaling=None,
    dropout=0.0,
    is_causal=None,
    sliding_window=None,
    softcap=None,
    s_aux=None,
    **others,
):
    """Attention as transformers calls it, see `register`.

    Takes query (B, heads, S, D), key and value (B, kv_heads, Skv, D), which need not
    be contiguous, and gives the output (B, S, heads, D) and None. `attention_mask` is
    (B, heads, S, Skv), with sizes of 1 for any: True where a query attends to a key, or
    numbers that are added to the scores. It says all; without one, attention of a
    module that `is_causal` is, from the first key on or, of one query, up to the last,
    and `sliding_window` keys are seen. `softcap` bounds scores, `s_aux` is a sink for
    each head. What else changes the result is an error: dropout, biases of positions,
    a cache in pages, and weights as a second result.
    """
    refused = {"dropout": dropout, **others}
    for name in ("dropout", "position_bias", "cache", "output_attentions", "head_mask"):
        given = refused.get(name)
        if given is not None and (isinstance(given, torch.Tensor) or given):
            raise ValueError(f"attn: {name} is not supported, use another attention")
    if attention_mask is not None:
        if not isinstance(attention_mask, torch.Tensor) or attention_mask.dim() != 4:
            raise ValueError(
                "attention_mask: expected a tensor of 4 dimensions, as that of "
                "attn.torch.register"
            )
        # Of static caches, masks may be longer than keys.
        attention_mask = attention_mask[..., : key.shape[2]]
    if sliding_window is not None and sliding_window < 1:
        raise ValueError(
            f"sliding_window: expected a number of keys, got {sliding_window}"
        )
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    output = _attention(
        query,
        key,
        value,
        attention_mask,
        s_aux,
        scaling,
        softcap,
        is_causal,
        sliding_window,
    )
    return output, None


def register(name: str = "attn") -> None:
    """Makes `attn_implementation=name` of models of transformers be Attn's, with masks
    as those of "sdpa". Without masks of its own, an attention would see padding."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(name, attention_interface)
    AttentionMaskInterface.register(name, sdpa_mask)
