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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--prompt", required=True)
    for name in ("threads", "tokens", "prompts", "runs"):
        parser.add_argument(f"--{name}", type=int, required=True)
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
            }
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
