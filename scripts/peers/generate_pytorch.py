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

    def __init__(self, path, capacity, sequences=1):
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
        shape = (self.layers, sequences, self.kv_heads, capacity, self.size)
        self.keys = torch.zeros(shape, dtype=torch.bfloat16)
        self.values = torch.zeros_like(self.keys)
        self.lengths = [0] * sequences

    @staticmethod
    def field(reader, name):
        return reader.get_field(name).contents()

    def norm(self, x, name):
        weight = self.tensors[f"{name}.weight"]
        return functional.rms_norm(x, (x.shape[-1],), weight, self.epsilon)

    @staticmethod
    def rotate(x, rotation):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * rotation).flatten(-2).bfloat16()

    def read(self, tokens, sequence=0):
        """Reads tokens of one sequence. The logits of the next one."""
        begin = self.lengths[sequence]
        end = self.lengths[sequence] = begin + len(tokens)

        def attend(query, key, value, layer):
            keys = self.keys[layer, sequence : sequence + 1]
            values = self.values[layer, sequence : sequence + 1]
            keys[:, :, begin:end] = self.rotate(key, self.rotation[begin:end])
            values[:, :, begin:end] = value
            return functional.scaled_dot_product_attention(
                self.rotate(query, self.rotation[begin:end]),
                keys[:, :, :end],
                values[:, :, :end],
                is_causal=begin == 0 and end > 1,
                enable_gqa=True,
            )

        x = self.tensors["token_embd.weight"][tokens].unsqueeze(0)
        return self.run_layers(x, attend)

    def read_one_of_each(self, tokens):
        """Reads a token of every sequence. The logits of the next ones."""
        rows = torch.arange(len(tokens))
        places = torch.tensor(self.lengths)
        self.lengths = [length + 1 for length in self.lengths]
        end = max(self.lengths)
        mask = (torch.arange(end) <= places[:, None])[:, None, None]
        rotation = self.rotation[places][:, None, None]

        def attend(query, key, value, layer):
            keys, values = self.keys[layer], self.values[layer]
            keys[rows, :, places] = self.rotate(key, rotation)[:, :, 0]
            values[rows, :, places] = value[:, :, 0]
            return functional.scaled_dot_product_attention(
                self.rotate(query, rotation),
                keys[:, :, :end],
                values[:, :, :end],
                attn_mask=mask,
                enable_gqa=True,
            )

        x = self.tensors["token_embd.weight"][tokens].unsqueeze(1)
        return self.run_layers(x, attend)

    def run_layers(self, x, attend):
        for layer in range(self.layers):
            prefix = f"blk.{layer}."
            query, key, value, output, gate, up, down = (
                self.tensors[f"{prefix}{name}.weight"] for name in MATRICES
            )
            normed = self.norm(x, f"{prefix}attn_norm")

            def project(weight):
                heads = functional.linear(normed, weight).unflatten(-1, (-1, self.size))
                return heads.transpose(1, 2)

            attended = attend(project(query), project(key), project(value), layer)
            x = x + functional.linear(attended.transpose(1, 2).flatten(-2), output)
            normed = self.norm(x, f"{prefix}ffn_norm")
            hidden = functional.silu(functional.linear(normed, gate))
            hidden = hidden * functional.linear(normed, up)
            x = x + functional.linear(hidden, down)
        last = self.norm(x[:, -1], "output_norm")
        return functional.linear(last, self.tensors["token_embd.weight"])


def measure_together(options):
    """Tokens per second that are written of several prompts at once, the time in
    which these are read included."""
    lengths = [int(length) for length in options.together.split(",")]
    model = Model(options.model, max(lengths) + options.tokens, len(lengths))
    speeds = []
    for _ in range(options.runs + 1):
        model.lengths = [0] * len(lengths)
        start = time.perf_counter()
        tokens = [
            int(model.read([260] * length, i).argmax())
            for i, length in enumerate(lengths)
        ]
        for _ in range(options.tokens - 1):
            tokens = model.read_one_of_each(tokens).argmax(-1).tolist()
        seconds = time.perf_counter() - start
        speeds.append(len(lengths) * options.tokens / seconds)
    return statistics.median(speeds[1:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--prompt", required=True)
    for name in ("threads", "tokens", "prompts", "runs"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--together", required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    # Words of the prompt are a token each; which ones makes no difference here.
    prompt = [260] * len(options.prompt.split())
    model = Model(options.model, len(prompt) + options.tokens)
    firsts, speeds = [], []
    with torch.inference_mode():
        for left in range(options.prompts, 0, -1):
            model.lengths = [0]
            start = time.perf_counter()
            token = int(model.read(prompt).argmax())
            firsts.append(time.perf_counter() - start)
            if left > options.runs:  # Tokens are written after the last ones.
                continue
            start = time.perf_counter()
            for _ in range(options.tokens - 1):
                token = int(model.read([token]).argmax())
            speeds.append((options.tokens - 1) / (time.perf_counter() - start))
        together = measure_together(options)
    result = {
        "peer": f"PyTorch {torch.__version__}",
        "weights": "bf16",
        "first": statistics.median(firsts),
        "speed": statistics.median(speeds),
        "together": together,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
