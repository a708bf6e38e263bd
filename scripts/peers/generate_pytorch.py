# ===- generate_pytorch.py - PyTorch generates text ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""A llama-style model of a GGUF file in PyTorch, in bf16, with a cache of static
size. Prints a line of JSON; called by generate.py."""

import argparse
import json
import statistics
import time
from pathlib import Path

import gguf
import torch
from torch.nn import functional

MATRICES = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down".split()


class Model:
    """Reads tokens after those before."""

    def __init__(self, path, capacity):
        reader = gguf.GGUFReader(path)
        architecture = self.field(reader, "general.architecture")
        get = lambda name: self.field(reader, f"{architecture}.{name}")
        self.heads = get("attention.head_count")
        self.kv_heads = get("attention.head_count_kv")
        self.epsilon = get("attention.layer_norm_rms_epsilon")
        self.layers = get("block_count")
        self.size = get("embedding_length") // self.heads
        self.tensors = {
            tensor.name: torch.from_numpy(
                gguf.quants.dequantize(tensor.data, tensor.tensor_type).copy()
            ).bfloat16()
            for tensor in reader.tensors
        }
        exponents = torch.arange(0, self.size, 2) / self.size
        angles = torch.outer(
            torch.arange(capacity), get("rope.freq_base") ** -exponents
        )
        self.rotation = torch.polar(torch.ones_like(angles), angles)
        shape = (self.layers, 1, self.kv_heads, capacity, self.size)
        self.keys = torch.zeros(shape, dtype=torch.bfloat16)
        self.values = torch.zeros_like(self.keys)
        self.length = 0

    @staticmethod
    def field(reader, name):
        return reader.get_field(name).contents()

    def norm(self, x, name):
        weight = self.tensors[f"{name}.weight"]
        return functional.rms_norm(x, (x.shape[-1],), weight, self.epsilon)

    def rotate(self, x, begin, end):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        turned = torch.view_as_real(pairs * self.rotation[begin:end])
        return turned.flatten(-2).bfloat16()

    def read(self, tokens):
        """The logits of the next token."""
        begin, end = self.length, self.length + len(tokens)
        self.length = end
        x = self.tensors["token_embd.weight"][tokens].unsqueeze(0)
        for layer in range(self.layers):
            prefix = f"blk.{layer}."
            query, key, value, output, gate, up, down = (
                self.tensors[f"{prefix}{name}.weight"] for name in MATRICES
            )
            normed = self.norm(x, f"{prefix}attn_norm")

            def project(weight):
                heads = functional.linear(normed, weight).unflatten(-1, (-1, self.size))
                return heads.transpose(1, 2)

            keys, values = self.keys[layer], self.values[layer]
            keys[:, :, begin:end] = self.rotate(project(key), begin, end)
            values[:, :, begin:end] = project(value)
            attended = functional.scaled_dot_product_attention(
                self.rotate(project(query), begin, end),
                keys[:, :, :end],
                values[:, :, :end],
                is_causal=begin == 0 and end > 1,
                enable_gqa=True,
            )
            x = x + functional.linear(attended.transpose(1, 2).flatten(-2), output)
            normed = self.norm(x, f"{prefix}ffn_norm")
            hidden = functional.silu(functional.linear(normed, gate))
            hidden = hidden * functional.linear(normed, up)
            x = x + functional.linear(hidden, down)
        last = self.norm(x[:, -1], "output_norm")
        return functional.linear(last, self.tensors["token_embd.weight"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--prompt", required=True)
    for name in ("threads", "tokens", "prompts", "runs"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    # Words of the prompt are a token each; which ones makes no difference here.
    prompt = [260] * len(options.prompt.split())
    model = Model(options.model, len(prompt) + options.tokens)
    firsts, speeds = [], []
    with torch.inference_mode():
        for left in range(options.prompts, 0, -1):
            model.length = 0
            start = time.perf_counter()
            token = int(model.read(prompt).argmax())
            firsts.append(time.perf_counter() - start)
            if left > options.runs:  # Tokens are written after the last ones.
                continue
            start = time.perf_counter()
            for _ in range(options.tokens - 1):
                token = int(model.read([token]).argmax())
            speeds.append((options.tokens - 1) / (time.perf_counter() - start))
    result = {
        "peer": f"PyTorch {torch.__version__}",
        "weights": "bf16",
        "first": statistics.median(firsts),
        "speed": statistics.median(speeds),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
