# ===- test_errors.py - What is wrong with a call ---------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Each is one clear error, and nothing is written."""

import sys

import attn
import ml_dtypes
import numpy as np
import pytest
from reference import draw


@pytest.fixture(scope="module")
def kernel():
    return attn.compile(
        attn.Attention(
            heads=4,
            kv_heads=2,
            head_size=32,
            offset=attn.scalar("first", "i64"),
            score=attn.softcap(attn.scalar("cap", "f32")),
            mask=attn.causal(),
        )
    )


class OfAnotherDevice:
    """An array as a library for GPUs gives it, with a capsule of the device 2."""

    device = "cuda:0"
    dtype = "float32"

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return relabel(self.array.__dlpack__())


def relabel(capsule):
    """Writes the device "CUDA" into a capsule: DLTensor is data, device, ..."""
    import ctypes

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(capsule, b"dltensor")
    ctypes.c_int32.from_address(address + ctypes.sizeof(ctypes.c_void_p)).value = 2
    return capsule


class Refusing:
    """As tensors that have gradients are."""

    dtype = "float32"

    def __dlpack__(self, **options):
        raise BufferError("not now")


class Lying:
    dtype = "float32"

    def __dlpack__(self, **options):
        return "no capsule"


def unaligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    result = memory.view(array.dtype).reshape(array.shape)
    result[:] = array
    return result


def with_gaps(array):
    """Strides that are no number of elements."""
    record = np.zeros(array.shape, [("x", array.dtype), ("gap", "i1")])
    record["x"] = array
    return record["x"]


# The query is replaced by what the function makes of it.
QUERIES = {
    "no array": (
        lambda a: a.tolist(),
        "argument 0 'query': expected an array that has __dlpack__, as those of NumPy and PyTorch have, got list",
    ),
    "None": (lambda a: None, "argument 0 'query': expected an array .* got NoneType"),
    "a class": (
        lambda a: np.ndarray,
        "argument 0 'query': its memory cannot be shared: ",
    ),
    "a number": (lambda a: 3, "argument 0 'query': expected an array .* got int"),
    "another device": (
        OfAnotherDevice,
        "argument 0 'query': is memory of the device cuda:0, expected the CPU's",
    ),
    "refused": (
        lambda a: Refusing(),
        "argument 0 'query': its memory cannot be shared: not now",
    ),
    "no capsule": (
        lambda a: Lying(),
        "argument 0 'query': __dlpack__ gives str, expected a capsule of DLPack",
    ),
    "f64": (
        lambda a: a.astype(np.float64),
        "argument 0 'query': element type is f64, expected f32",
    ),
    "bf16": (
        lambda a: a.astype(ml_dtypes.bfloat16),
        "argument 0 'query': element type is bf16, expected f32",
    ),
    "u8": (
        lambda a: a.astype(np.uint8),
        "argument 0 'query': element type is uint8, which no kernel takes",
    ),
    "complex": (
        lambda a: a.astype(np.complex64),
        "argument 0 'query': element type is complex64, which no kernel takes",
    ),
    "objects": (
        lambda a: a.astype(object),
        "argument 0 'query': its memory cannot be shared: ",
    ),
    "other bytes first": (
        lambda a: a.astype(">f4"),
        "argument 0 'query': its memory cannot be shared: ",
    ),
    "gaps": (with_gaps, "argument 0 'query': its memory cannot be shared: "),
    "unaligned": (unaligned, "argument 0 'query': "),
    "rank 3": (lambda a: a[0], "argument 0 'query': rank is 3, expected 4"),
    "rank 9": (
        lambda a: a.reshape(a.shape + (1,) * 5),
        "argument 0 'query': the view has more than 8 dimensions",
    ),
    "heads": (lambda a: a[:, :3], "argument 0 'query': dimension 1 is 3, expected 4"),
    "batch": (lambda a: a[:1], "dimension 0 is 2, expected 1"),
    "reversed": (
        lambda a: a[:, :, ::-1],
        "argument 0 'query': stride of dimension 2 is negative; pass a copy, as numpy.ascontiguousarray makes it",
    ),
    "reversed rows": (
        lambda a: a[..., ::-1],
        "argument 0 'query': stride of dimension 3 is negative",
    ),
    "columns first": (
        lambda a: np.asfortranarray(a),
        "argument 0 'query': stride of the last dimension is 152, expected 1",
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_arguments(kernel, name):
    change, message = QUERIES[name]
    query, key, value, out = draw(
        (2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32), (2, 4, 19, 32)
    )
    before = out.copy()
    with pytest.raises(attn.Error, match=message):
        kernel(change(query), key, value, 0, 5.0, out=out)
    assert np.array_equal(out, before)


OUTPUTS = {
    "no array": (lambda a: 3, attn.Error, "result 0: expected an array .* got int"),
    "read-only": (
        lambda a: np.broadcast_to(a[:1], a.shape),
        attn.Error,
        "result 0: is read-only, expected memory to write to",
    ),
    "f64": (
        lambda a: a.astype(np.float64),
        attn.Error,
        "result 0: element type is f64, expected f32",
    ),
    "size": (
        lambda a: a[:, :, 1:],
        attn.Error,
        "result 0: dimension 2 is 18, expected 19",
    ),
    "reversed": (
        lambda a: a[:, ::-1],
        attn.Error,
        "result 0: stride of dimension 1 is negative",
    ),
    "overlap": (
        lambda a: np.lib.stride_tricks.as_strided(a, a.shape, (0, *a.strides[1:])),
        attn.Error,
        "result 0",
    ),
    "two": (lambda a: [a, a], TypeError, "attention: expected 1 array as out, got 2"),
    "none": (lambda a: (), TypeError, "attention: expected 1 array as out, got 0"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(kernel, name):
    change, error, message = OUTPUTS[name]
    query, key, value, out = draw(
        (2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32), (2, 4, 19, 32)
    )
    before = out.copy()
    with pytest.raises(error, match=message):
        kernel(query, key, value, 0, 5.0, out=change(out))
    assert np.array_equal(out, before)


def test_output_that_overlaps_an_argument(kernel):
    query, key, value = draw((2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32))
    before = query.copy()
    with pytest.raises(attn.Error, match="result 0 overlaps argument 0 'query'"):
        kernel(query, key, value, 0, 5.0, out=query)
    assert np.array_equal(query, before)


NUMBERS = {
    "text": ("2", 5.0, "argument 3 'first': expected an integer for i64, got str"),
    "a fraction": (
        2.5,
        5.0,
        "argument 3 'first': expected an integer for i64, got float",
    ),
    "an array": (
        np.zeros(2, np.int64),
        5.0,
        "argument 3 'first': expected an integer for i64, got ndarray",
    ),
    "too large": (
        2**63,
        5.0,
        "argument 3 'first': expected an integer of 64 bits, got 9223372036854775808",
    ),
    "text as a real": (0, "5", "argument 4 'cap': expected a number for f32, got str"),
    "a value that is no cap": (0, -1.0, "cap"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(kernel, name):
    first, cap, message = NUMBERS[name]
    arrays = draw((2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32))
    with pytest.raises(attn.Error, match=message):
        kernel(*arrays, first, cap)


def test_counts_and_names(kernel):
    arrays = draw((2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32))
    expected = r"attention\(query, key, value, first, cap\): expected 5 arguments, got "
    for arguments, named, got in [
        (arrays, {}, "no 'first'"),
        (arrays, {"cap": 5.0}, "no 'first'"),
        ([*arrays, 0, 5.0, 1], {}, "6"),
        ([*arrays, 0], {"first": 0, "cap": 5.0}, "'first' twice"),
        ([*arrays, 0, 5.0], {"mask": 1}, "one called 'mask'"),
    ]:
        with pytest.raises(TypeError, match=expected + got):
            kernel(*arguments, **named)


def test_errors_of_a_running_kernel():
    table = attn.Tensor("table", "f32", [None])
    kernel = attn.compile(
        attn.Attention(
            heads=1, head_size=8, score=lambda s, b, h, q, k: s + table[q + k]
        )
    )
    arrays = draw(*[(1, 1, 4, 8)] * 3)
    kernel(*arrays, np.zeros(7, np.float32))
    with pytest.raises(attn.Error, match="table"):
        kernel(*arrays, np.zeros(6, np.float32))


ATTENTIONS = {
    "heads": (
        dict(heads=8, kv_heads=3),
        attn.Error,
        "^heads: expected a multiple of kv_heads, which is 3, got 8$",
    ),
    "no heads": (dict(heads=0), attn.Error, "^heads: expected at least 1, got 0$"),
    "kv_heads": (
        dict(kv_heads=0),
        attn.Error,
        "^kv_heads: expected at least 1, got 0$",
    ),
    "head_size": (
        dict(head_size=5000),
        attn.Error,
        "^head_size: expected 1 to 4096, got 5000$",
    ),
    "value_head_size": (
        dict(value_head_size=0),
        attn.Error,
        "^value_head_size: expected 1 to 4096, got 0$",
    ),
    "batch": (
        dict(batch=-3),
        attn.Error,
        "^batch: expected at least 0, or None, got -3$",
    ),
    "query_length": (
        dict(query_length=-3),
        attn.Error,
        "^query_length: expected at least 0",
    ),
    "key_length": (dict(key_length=-3), attn.Error, "^key_length: expected at least 0"),
    "type": (
        dict(type="float32"),
        ValueError,
        "type: expected f64, f32, f16, bf16, .* as type, got 'float32'",
    ),
    "type of integers": (
        dict(type="i8"),
        attn.Error,
        "^type: expected f64, f32, f16 or bf16, got i8$",
    ),
    "scale": (
        dict(scale="1"),
        TypeError,
        "scale: expected a number or an attn.scalar of one, got str",
    ),
    "infinite scale": (
        dict(scale=float("inf")),
        attn.Error,
        "^scale: expected a finite number",
    ),
    "offset": (
        dict(offset="top_left"),
        TypeError,
        "offset: expected an int, .* got 'top_left'",
    ),
    "large offset": (
        dict(offset=2**62),
        attn.Error,
        "^offset: expected at most 2\\^61 in magnitude",
    ),
    "larger offset": (dict(offset=2**70), OverflowError, "int"),
    "tensor of offsets": (
        dict(offset=attn.Tensor("a", "f32", [2])),
        TypeError,
        "offset: expected a Tensor of 1 dimension of integers, got 'a' of 1 dimension of f32",
    ),
    "sink": (
        dict(sink=attn.Tensor("a", "i32", [2])),
        TypeError,
        "sink: expected a Tensor of 1 dimension of floating-point numbers, got 'a' of 1 dimension of i32",
    ),
    "size of the sink": (
        dict(sink=attn.Tensor("a", "f32", [3])),
        attn.Error,
        "^sink: expected one number for each of the 1 query heads",
    ),
    "sequences": (
        dict(sequences=(attn.Tensor("a", "i64", [2]),) * 2),
        TypeError,
        "sequences: expected a Tensor of 1 dimension of i32",
    ),
    "dropout": (
        dict(dropout=attn.Dropout(1.5)),
        attn.Error,
        "^dropout: expected a rate from 0 up to, but not, 1, got 1.5$",
    ),
    "window": (
        dict(mask=attn.sliding_window(-2, 0)),
        attn.Error,
        "expected sizes from 0 to 2\\^61, or -1 for no bound",
    ),
    "cap": (
        dict(score=attn.softcap(0.0)),
        attn.Error,
        "expected a positive, finite number",
    ),
    "name": (
        dict(mask=attn.key_padding(attn.Tensor("a b", "i32", [None]))),
        attn.Error,
        "argument 'a b': expected a name of letters",
    ),
    "name of the kernel's": (
        dict(mask=attn.key_padding(attn.Tensor("key", "i32", [None]))),
        attn.Error,
        "argument 'key': expected a name that is not one of the kernel's own",
    ),
    "one name for two": (
        dict(
            mask=attn.key_padding(attn.Tensor("headSize", "i32", [None]))
            & attn.prefix_lm(attn.Tensor("headSize", "i64", [None]))
        ),
        attn.Error,
        "argument 'headSize': expected one type for one name",
    ),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attentions(name):
    members, error, message = ATTENTIONS[name]
    with pytest.raises(error, match=message):
        attn.Attention(**{"heads": 1, "head_size": 8, **members}).text()


def test_attention_takes_names_only():
    with pytest.raises(TypeError):
        attn.Attention(8, 64)
    with pytest.raises(TypeError):
        attn.Attention(heads=8)
    with pytest.raises(TypeError):
        attn.Attention(heads=8, head_size=64, no_such_member=1)


TENSORS = {
    "type": (
        lambda: attn.Tensor("a", "float", [1]),
        ValueError,
        "Tensor: expected f64, .* got 'float'",
    ),
    "rank 0": (
        lambda: attn.Tensor("a", "f32", []),
        TypeError,
        "Tensor: expected 1 to 8 dimensions, got 0",
    ),
    "rank 9": (
        lambda: attn.Tensor("a", "f32", [1] * 9),
        TypeError,
        "Tensor: expected 1 to 8 dimensions, got 9",
    ),
    "scalar": (
        lambda: attn.scalar("a", "u8"),
        ValueError,
        "scalar: expected f64, .* got 'u8'",
    ),
    "prefix_lm": (
        lambda: attn.prefix_lm(attn.Tensor("a", "f32", [1])),
        TypeError,
        "prefix_lm: expected a Tensor of 1 dimension of integers",
    ),
    "key_padding": (
        lambda: attn.key_padding(attn.Tensor("a", "f32", [1])),
        TypeError,
        "key_padding: expected a Tensor of 1 dimension of integers, or one of 2 dimensions of i1",
    ),
    "key_padding of bits": (
        lambda: attn.key_padding(attn.Tensor("a", "i1", [1])),
        TypeError,
        "key_padding: expected a Tensor of 2 dimensions of i1, or one of 1 dimension of integers",
    ),
    "document": (
        lambda: attn.document(
            attn.Tensor("a", "i32", [1, 1]), attn.Tensor("b", "i64", [1, 1])
        ),
        TypeError,
        "document: expected two Tensors of one type",
    ),
    "boolean": (
        lambda: attn.boolean(attn.Tensor("a", "f32", [1])),
        TypeError,
        "boolean: expected a Tensor of 1 dimension of i1",
    ),
    "wide boolean": (
        lambda: attn.boolean(attn.rows(attn.Tensor("a", "i1", [1] * 5))),
        TypeError,
        "boolean: expected a Tensor of 4 dimensions of i1, got 'a' of 5 dimensions",
    ),
    "bias": (
        lambda: attn.bias(attn.Tensor("a", "i1", [1])),
        TypeError,
        "bias: expected a Tensor of 1 dimension of floating-point",
    ),
    "alibi": (
        lambda: attn.alibi(attn.Tensor("a", "f32", [1, 1])),
        TypeError,
        "alibi: expected a Tensor of 1 dimension of floating-point",
    ),
    "softcap": (
        lambda: attn.softcap("2"),
        TypeError,
        "softcap: expected a number, got str",
    ),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name):
    make, error, message = TENSORS[name]
    with pytest.raises(error, match=message):
        make()


def test_errors_of_the_compiler():
    with pytest.raises(attn.Error) as caught:
        attn.compile("func.func @f() {\n  attn.nonsense\n}", file_name="f.mlir")
    error = caught.value.diagnostics[0]
    assert (error.severity, error.file, error.line, error.column) == (
        "error",
        "f.mlir",
        2,
        3,
    )
    assert "attn.nonsense" in error.message
    assert error.message in str(caught.value)
    assert str(error) == f"f.mlir:2:3: error: {error.message}"

    text = attn.Attention(heads=1, head_size=8).text()
    with pytest.raises(attn.Error, match="nowhere"):
        attn.compile(text, entry="nowhere")
    with pytest.raises(attn.Error, match="nonsense"):
        attn.compile(text, pipeline="nonsense")
    with pytest.raises(
        TypeError,
        match="compile: expected an attn.Attention, a layer or text in MLIR, got int",
    ):
        attn.compile(3)
    with pytest.raises(TypeError):
        attn.compile(text, no_such_option=1)


def test_nothing_is_kept_after_a_call(kernel):
    arrays = draw((2, 4, 19, 32), (2, 2, 37, 32), (2, 2, 37, 32))
    out = np.empty_like(arrays[0])
    before = [sys.getrefcount(array) for array in (*arrays, out)]
    kernel(*arrays, 0, 5.0, out=out)
    with pytest.raises(attn.Error):
        kernel(*arrays, 0, -5.0, out=out)
    with pytest.raises(attn.Error):
        kernel(arrays[0], arrays[1], out, 0, 5.0)
    assert [sys.getrefcount(array) for array in (*arrays, out)] == before
