# ===- finetune.py - PyTorch trains the layers of a model ------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What examples/train's finetune does, in PyTorch: trains the layers of a llama-style
model of a GGUF file in f32, on the tokens that finetune wrote. Prints the losses and
the seconds of all steps as a line of JSON; called by scripts/finetune.py."""

import argparse
import json
import time

import gguf
import numpy
import torch
from torch.nn import functional

MATRICES = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down".split()


class Model:
    """In f32, with gradients of the layers."""

    def __init__(self, path, length):
        reader = gguf.GGUFReader(path)
        architecture = reader.get_field("general.architecture").contents()
        get = lambda name: reader.get_field(f"{architecture}.{name}").contents()
        self.epsilon = get("attention.layer_norm_rms_epsilon")
        self.layers = get("block_count")
        self.size = get("embedding_length") // get("attention.head_count")
        self.tensors = {}
        for tensor in reader.tensors:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            values = torch.from_numpy(values.astype(numpy.float32))
            values.requires_grad = tensor.name.startswith("blk.")
            self.tensors[tensor.name] = values
        exponents = torch.arange(0, self.size, 2, dtype=torch.float64) / self.size
        angles = torch.outer(
            torch.arange(length, dtype=torch.float64),
            get("rope.freq_base") ** -exponents,
        )
        self.cosine, self.sine = angles.cos().float(), angles.sin().float()

    def parameters(self):
        return [x for x in self.tensors.values() if x.requires_grad]

    def norm(self, x, name):
        weight = self.tensors[f"{name}.weight"]
        return functional.rms_norm(x, (x.shape[-1],), weight, self.epsilon)

    def rotate(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        turned = (
            even * self.cosine - odd * self.sine,
            odd * self.cosine + even * self.sine,
        )
        return torch.stack(turned, dim=-1).flatten(-2)

    def loss(self, tokens):
        """The mean cross entropy of all but the first of each row of tokens."""
        x = self.tensors["token_embd.weight"][tokens[:, :-1]]
        for layer in range(self.layers):
            prefix = f"blk.{layer}."
            query, key, value, output, gate, up, down = (
                self.tensors[f"{prefix}{name}.weight"] for name in MATRICES
            )
            normed = self.norm(x, f"{prefix}attn_norm")

            def project(weight):
                heads = functional.linear(normed, weight).unflatten(-1, (-1, self.size))
                return heads.transpose(1, 2)

            attended = functional.scaled_dot_product_attention(
                self.rotate(project(query)),
                self.rotate(project(key)),
                project(value),
                is_causal=True,
                enable_gqa=True,
            )
            x = x + functional.linear(attended.transpose(1, 2).flatten(-2), output)
            normed = self.norm(x, f"{prefix}ffn_norm")
            hidden = functional.silu(functional.linear(normed, gate))
            x = x + functional.linear(hidden * functional.linear(normed, up), down)
        last = self.norm(x, "output_norm")
        logits = functional.linear(last, self.tensors["token_embd.weight"])
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", required=True, help="what finetune wrote")
    for name in ("steps", "batch", "length", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    shape = (options.steps, options.batch, options.length + 1)
    tokens = numpy.fromfile(options.tokens, dtype=numpy.int32).reshape(shape)
    model = Model(options.model, options.length)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.rate, weight_decay=0.01, fused=True
    )
    losses, seconds = [], []
    for batch in torch.from_numpy(tokens.astype(numpy.int64)):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"losses": losses, "seconds": seconds}))


if __name__ == "__main__":
    main()
