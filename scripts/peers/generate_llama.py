# ===- generate_llama.py - llama.cpp generates text ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""llama.cpp with a model's weights as they are, and as f16, bf16 and Q8_0, which
it makes of them. Prints a line of JSON for each; called by generate.py."""

import argparse
import ctypes
import json
import statistics
import tempfile
import time
from pathlib import Path

import llama_cpp
import numpy as np

TYPES = {
    "f16": llama_cpp.LLAMA_FTYPE_MOSTLY_F16,
    "bf16": llama_cpp.LLAMA_FTYPE_MOSTLY_BF16,
    "Q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0,
}


def convert(model, name, folder):
    """The file of the same weights in another type."""
    path = Path(folder) / f"{name}.gguf"
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = TYPES[name]
    parameters.allow_requantize = True
    if llama_cpp.llama_model_quantize(
        str(model).encode(), str(path).encode(), ctypes.byref(parameters)
    ):
        raise RuntimeError(f"cannot convert {model} to {name}")
    return path


def measure(path, options):
    """Seconds to the first token, and tokens per second after it."""
    model = llama_cpp.Llama(
        str(path),
        n_ctx=1024,
        n_batch=512,
        n_threads=options.threads,
        n_threads_batch=options.threads,
        verbose=False,
    )
    prompt = model.tokenize(options.prompt.encode(), add_bos=False)
    logits = llama_cpp.llama_get_logits
    vocabulary = model.n_vocab()

    def most_likely():
        return int(np.argmax(np.ctypeslib.as_array(logits(model.ctx), (vocabulary,))))

    firsts, speeds = [], []
    for left in range(options.prompts, 0, -1):
        model.reset()
        start = time.perf_counter()
        model.eval(prompt)
        token = most_likely()
        firsts.append(time.perf_counter() - start)
        if left > options.runs:  # Tokens are written after the last ones.
            continue
        start = time.perf_counter()
        for _ in range(options.tokens - 1):
            model.eval([token])
            token = most_likely()
        speeds.append((options.tokens - 1) / (time.perf_counter() - start))
    return statistics.median(firsts), statistics.median(speeds), len(prompt)


def fill(batch, parts):
    """Makes (sequence, position, tokens) a batch, with logits after each one's last."""
    places = []
    batch.n_tokens = 0
    for sequence, position, tokens in parts:
        for i, token in enumerate(tokens):
            at = batch.n_tokens
            batch.token[at], batch.pos[at] = token, position + i
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, sequence
            batch.logits[at] = i + 1 == len(tokens)
            batch.n_tokens += 1
        places.append(batch.n_tokens - 1)
    return places


def measure_together(path, options):
    """Tokens per second that are written of several prompts at once, the time in
    which these are read included."""
    lengths = [int(length) for length in options.together.split(",")]
    model = llama_cpp.llama_model_load_from_file(
        str(path).encode(), llama_cpp.llama_model_default_params()
    )
    parameters = llama_cpp.llama_context_default_params()
    parameters.n_seq_max = len(lengths)
    parameters.n_ctx = len(lengths) * 256 * -(-(max(lengths) + options.tokens) // 256)
    parameters.n_batch = parameters.n_ubatch = max(512, sum(lengths))
    parameters.n_threads = parameters.n_threads_batch = options.threads
    context = llama_cpp.llama_init_from_model(model, parameters)
    vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    batch = llama_cpp.llama_batch_init(parameters.n_batch, 0, 1)
    memory = llama_cpp.llama_get_memory(context)

    def read(parts):
        places = fill(batch, parts)
        if llama_cpp.llama_decode(context, batch):
            raise RuntimeError("llama_decode failed")
        rows = (llama_cpp.llama_get_logits_ith(context, place) for place in places)
        return [int(np.argmax(np.ctypeslib.as_array(r, (vocabulary,)))) for r in rows]

    speeds = []
    for _ in range(options.runs + 1):
        llama_cpp.llama_memory_clear(memory, True)
        start = time.perf_counter()
        tokens = read([(i, 0, [260] * n) for i, n in enumerate(lengths)])
        for step in range(options.tokens - 1):
            tokens = read(
                [(i, n + step, [tokens[i]]) for i, n in enumerate(lengths)]
            )
        seconds = time.perf_counter() - start
        speeds.append(len(lengths) * options.tokens / seconds)
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return statistics.median(speeds[1:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--prompt", required=True)
    for name in ("threads", "tokens", "prompts", "runs"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--together", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ["f16", "bf16", "Q4_1", "Q8_0"]:
            path = options.model
            if name in TYPES:
                path = convert(options.model, name, folder)
            first, speed, tokens = measure(path, options)
            result = {
                "peer": f"llama.cpp {llama_cpp.__version__}",
                "weights": name,
                "prompt": tokens,
                "first": first,
                "speed": speed,
                "together": measure_together(path, options),
            }
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
