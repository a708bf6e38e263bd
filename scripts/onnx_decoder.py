# ===- onnx_decoder.py - Exports a small decoder from PyTorch ---------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes test/ONNX/Inputs/decoder.onnx, and what PyTorch computes with it.

A decoder of two layers over embeddings, for any number of tokens: norms, fused
projections, rotary positions, grouped attention by PyTorch's own function, and a
gated MLP. Tokens and logits lie beside it as .npy files.

    python3 -m venv build/torch
    build/torch/bin/pip install torch==2.15.0 onnx==1.23.2 onnxscript==0.7.2
    build/torch/bin/python scripts/onnx_decoder.py
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

INPUTS = Path(__file__).resolve().parent.parent / "test" / "ONNX" / "Inputs"
WORDS, WIDTH, HEADS, GROUPS, SIZE, HIDDEN = 50, 48, 6, 2, 8, 96


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * GROUPS) * SIZE, bias=True)
        self.output = nn.Linear(HEADS * SIZE, WIDTH, bias=False)

    def forward(self, x, cosine, sine):
        batch, tokens, _ = x.shape
        sizes = [HEADS * SIZE, GROUPS * SIZE, GROUPS * SIZE]
        q, k, v = (
            part.view(batch, tokens, -1, SIZE).transpose(1, 2)
            for part in self.qkv(x).split(sizes, dim=-1)
        )
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        y = functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        )
        return self.output(y.transpose(1, 2).reshape(batch, tokens, HEADS * SIZE))


def rotate(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return torch.cat(
        (first * cosine - second * sine, second * cosine + first * sine), dim=-1
    )


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.norm1 = nn.RMSNorm(WIDTH, eps=1e-6)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, cosine, sine):
        x = x + self.attention(self.norm1(x), cosine, sine)
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.norm = nn.RMSNorm(WIDTH, eps=1e-6)
        angles = torch.outer(
            torch.arange(64), 10000.0 ** (-torch.arange(SIZE // 2) / (SIZE // 2))
        )
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens):
        length = tokens.shape[1]
        cosine, sine = self.cosine[:length], self.sine[:length]
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return self.norm(x) @ self.embedding.weight.T


def main():
    torch.manual_seed(1)
    decoder = Decoder().eval()
    tokens = torch.randint(0, WORDS, (2, 11))
    batch = torch.export.Dim("batch", min=1, max=16)
    length = torch.export.Dim("length", min=2, max=64)
    program = torch.onnx.export(
        decoder,
        (tokens,),
        input_names=["tokens"],
        output_names=["logits"],
        dynamic_shapes={"tokens": {0: batch, 1: length}},
        opset_version=23,
        dynamo=True,
        verbose=False,
    )
    model = program.model_proto
    for entry in [model.graph, *model.graph.node]:
        del entry.metadata_props[:]  # Where in PyTorch's sources each node is from.
    (INPUTS / "decoder.onnx").write_bytes(model.SerializeToString())
    with torch.no_grad():
        logits = decoder(tokens)
    np.save(INPUTS / "decoder-tokens.npy", tokens.numpy())
    np.save(INPUTS / "decoder-logits.npy", logits.numpy())


if __name__ == "__main__":
    main()
