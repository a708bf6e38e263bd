# ===- attn.py - This project's kernels on PyTorch's tensors ---------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""attn/attn_c.h through ctypes, for tensors of PyTorch's on any device."""

import ctypes

import torch

TYPES = {
    torch.float64: (0, "f64"),
    torch.float32: (1, "f32"),
    torch.float16: (2, "f16"),
    torch.bfloat16: (3, "bf16"),
}


class Options(ctypes.Structure):
    """attn_engine_options"""

    _fields_ = [
        ("cache_directory", ctypes.c_char_p),
        ("threads", ctypes.c_uint),
        ("parallel_for", ctypes.c_void_p),
        ("parallel_for_context", ctypes.c_void_p),
        ("cpu", ctypes.c_char_p),
        ("pipeline", ctypes.c_char_p),
        ("fall_back_to_cpu", ctypes.c_bool),
        ("gpu", ctypes.c_int),
    ]


class Tensor(ctypes.Structure):
    """attn_tensor"""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("type", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class Value(ctypes.Union):
    """The value of an attn_argument."""

    _fields_ = [
        ("tensor", Tensor),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
    ]


class Argument(ctypes.Structure):
    """attn_argument"""

    _fields_ = [("kind", ctypes.c_int), ("value", Value)]


class AttnError(Exception):
    """An error of the library, in its words."""


def view(tensor):
    """An attn_tensor of a tensor, which must live as long."""
    sizes = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
    strides = (ctypes.c_int64 * tensor.dim())(*tensor.stride())
    code, _ = TYPES[tensor.dtype]
    return Tensor(tensor.data_ptr(), code, tensor.dim(), sizes, strides)


class Library:
    """libattn.so, with an engine of one pipeline."""

    def __init__(self, path, pipeline):
        self.library = ctypes.CDLL(str(path))
        for name in ("create", "compile"):
            getattr(self.library, f"attn_engine_{name}").restype = ctypes.c_void_p
        for name in ("run", "launch"):
            getattr(self.library, f"attn_kernel_{name}").restype = ctypes.c_void_p
        self.pipeline = pipeline
        self.engine = ctypes.c_void_p()
        options = Options(pipeline=pipeline.encode())
        self.check(
            self.library.attn_engine_create(
                ctypes.byref(options), ctypes.byref(self.engine)
            )
        )

    def check(self, error):
        if not error:
            return
        text = ctypes.string_at(error).decode()
        self.library.attn_free(ctypes.c_void_p(error))
        raise AttnError(text)

    def compile(self, text):
        """A function of lists of arguments and results."""
        kernel = ctypes.c_void_p()
        self.check(
            self.library.attn_engine_compile(
                self.engine, text.encode(), ctypes.byref(kernel)
            )
        )

        def call(arguments, results):
            inputs = (Argument * len(arguments))(
                *(Argument(0, Value(tensor=view(x))) for x in arguments)
            )
            outputs = (Tensor * len(results))(*map(view, results))
            passed = [kernel, inputs, ctypes.c_size_t(len(inputs))]
            passed += [outputs, ctypes.c_size_t(len(outputs))]
            if self.pipeline == "gpu":
                stream = torch.cuda.current_stream().cuda_stream
                error = self.library.attn_kernel_launch(
                    *passed, ctypes.c_void_p(stream)
                )
            else:
                error = self.library.attn_kernel_run(*passed)
            self.check(error)

        return call


def attention_text(query, key, value, clauses):
    """A kernel for tensors of these sizes."""
    _, element = TYPES[query.dtype]

    def spell(shape):
        return "tensor<" + "".join(f"{x}x" for x in shape) + element + ">"

    output = spell([*query.shape[:-1], value.shape[-1]])
    types = ", ".join(spell(x.shape) for x in (query, key, value))
    return f"""func.func @attention(%query: {spell(query.shape)},
    %key: {spell(key.shape)}, %value: {spell(value.shape)}) -> {output} {{
  %init = tensor.empty() : {output}
  %output = attn.attention ins(%query, %key, %value : {types})
      outs(%init : {output}) {clauses}
  return %output : {output}
}}
"""
