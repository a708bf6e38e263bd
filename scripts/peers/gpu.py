# ===- gpu.py - Kernels on a GPU, and PyTorch's beside them ----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Measures attention on a GPU; scripts/gpu_report.py runs it.

Prints a line of JSON for the device, each ceiling, and each case of who computes
it: a speed, or "absent" with the reason. Whoever is further from cuDNN's result, or
where there is none from FlexAttention's, than rounding explains is absent.
"""

import argparse
import datetime
import json
import statistics
import subprocess

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import attn
import report

TOLERANCE = 2e-2  # Of the largest element, for f16 and bf16.


def causal(b, h, p, j):
    return j <= p


VARIANTS = {
    "softcap": (
        "score softcap(30.0) mask causal",
        lambda s, b, h, p, j: 30.0 * torch.tanh(s / 30.0),
        causal,
    ),
    "window": (
        "mask causal, sliding_window(1023, 0)",
        None,
        lambda b, h, p, j: (j <= p) & (p - j <= 1023),
    ),
    "prefix": (
        """mask (%b, %h, %p, %j) {
        %count = arith.constant 1024 : index
        %early = arith.cmpi slt, %j, %count : index
        %past = arith.cmpi sle, %j, %p : index
        %keep = arith.ori %early, %past : i1
        attn.yield %keep : i1
      }""",
        None,
        lambda b, h, p, j: (j <= p) | (j < 1024),
    ),
    "dilated": (
        """mask (%b, %h, %p, %j) {
        %distance = arith.subi %p, %j : index
        %four = arith.constant 4 : index
        %zero = arith.constant 0 : index
        %rest = arith.remsi %distance, %four : index
        %on = arith.cmpi eq, %rest, %zero : index
        %past = arith.cmpi sle, %j, %p : index
        %keep = arith.andi %on, %past : i1
        attn.yield %keep : i1
      }""",
        None,
        lambda b, h, p, j: (j <= p) & ((p - j) % 4 == 0),
    ),
}


def show(**values):
    print(json.dumps(values), flush=True)


def measure(function, seconds):
    """The median of the milliseconds that `function` takes on the GPU."""
    for _ in range(3):
        function()
    torch.cuda.synchronize()
    times, total = [], 0.0
    while total < 1000 * seconds or len(times) < 5:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
        total += times[-1]
    return statistics.median(times)


def ceilings(seconds):
    """{unit: speed} of products of matrices and of copies."""
    x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.float16) for _ in "xy")
    matmul = 2 * 8192**3 / measure(lambda: x @ y, seconds) / 1e9
    show(family="ceiling", case="matmul f16, 8192", speed=matmul, unit="TFLOP/s")
    source = torch.empty(1 << 30, device="cuda", dtype=torch.int8)
    target = torch.empty_like(source)
    copy = 2 * (1 << 30) / measure(lambda: target.copy_(source), seconds) / 1e6
    show(family="ceiling", case="copy of 1 GiB", speed=copy, unit="GB/s")
    return matmul, copy


class Case:
    """One attention, whoever computes it."""

    def __init__(self, shape, dtype, clauses="", score=None, keep=None):
        batch, heads, kv_heads, queries, keys, size = shape
        torch.manual_seed(1)

        def make(count, length):
            return torch.randn(batch, count, length, size, device="cuda", dtype=dtype)

        self.query = make(heads, queries)
        self.key, self.value = make(kv_heads, keys), make(kv_heads, keys)
        self.is_grouped = heads != kv_heads
        self.clauses, self.score, self.keep = clauses, score, keep
        self.is_causal = clauses == "mask causal"

    def attn(self, library):
        text = attn.attention_text(self.query, self.key, self.value, self.clauses)
        call = library.compile(text)
        output = torch.empty_like(self.query)

        def run():
            call([self.query, self.key, self.value], [output])
            return output

        return run

    def cudnn(self, _):
        if self.clauses and not self.is_causal:
            raise ValueError("not a mask that cuDNN has")
        attend = torch.nn.functional.scaled_dot_product_attention

        def run():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return attend(
                    self.query,
                    self.key,
                    self.value,
                    is_causal=self.is_causal,
                    enable_gqa=self.is_grouped,
                )

        return run

    def flex(self, _):
        torch._dynamo.reset()
        options = {"enable_gqa": self.is_grouped, "score_mod": self.score}
        if self.keep:
            options["block_mask"] = create_block_mask(
                self.keep, None, None, self.query.shape[2], self.key.shape[2]
            )
        attend = torch.compile(flex_attention, dynamic=False)
        return lambda: attend(self.query, self.key, self.value, **options)

    def triton(self, _):
        import triton_attention  # pylint: disable=import-outside-toplevel

        if (self.clauses and not self.is_causal) or self.is_grouped:
            raise ValueError("not a case of the kernel's")
        return lambda: triton_attention.attend(
            self.query, self.key, self.value, self.is_causal
        )


def compare(family, name, case, work, library, seconds):
    """Measures everybody. `work` over milliseconds is the speed."""
    expected = None
    found = {}
    for who, make in (
        ("cuDNN", case.cudnn),
        ("FlexAttention", case.flex),
        ("Triton", case.triton),
        ("Attn", case.attn),
    ):
        try:
            run = make(library)
            result = run().float()
            expected = result if expected is None else expected
            error = (result - expected).abs().max() / expected.abs().max()
            if not error <= TOLERANCE:
                raise ValueError(f"wrong by {error:.2g}")
            found[who] = {"speed": work / measure(run, seconds)}
        except Exception as error:  # pylint: disable=broad-exception-caught
            found[who] = {"absent": report.reason(error)}
    for who in ("Attn", "cuDNN", "FlexAttention", "Triton"):
        show(family=family, case=name, who=who, **found[who])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library")
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    library = attn.Library(options.library, "gpu")
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    show(
        family="device",
        name=torch.cuda.get_device_name(),
        driver=driver[0] if driver else "unknown",
        torch=torch.__version__,
        triton=__import__("triton").__version__,
        date=datetime.date.today().isoformat(),
    )
    matmul, copy = ceilings(options.seconds)
    half = {"f16": torch.float16, "bf16": torch.bfloat16}
    # 16k tokens of 2048 elements, as the papers on FlashAttention have them.
    for size in (64, 128, 256):
        for length in (2048, 8192):
            shape = (16384 // length, *[2048 // size] * 2, length, length, size)
            for dtype, clauses in (("f16", ""), ("f16", "mask causal"), ("bf16", "")):
                name = f"D{size} S{length} {dtype} {clauses.removeprefix('mask ')}"
                work = 4 * 16384 * 2048 * length / (2 if clauses else 1) / 1e9
                case = Case(shape, half[dtype], clauses, keep=causal if clauses else None)
                compare("prefill", name, case, work, library, options.seconds)
                show(family="prefill", case=name, who="matmul", speed=matmul)
    for length in (4096, 16384):
        name = f"D128, 32 heads of 8, {length} keys"
        case = Case((16, 32, 8, 1, length, 128), torch.float16)
        work = 2 * 16 * 8 * length * 128 * 2 / 1e6
        compare("decode", name, case, work, library, options.seconds)
        show(family="decode", case=name, who="copy", speed=copy)
    for name, (clauses, score, keep) in VARIANTS.items():
        case = Case((2, 16, 16, 8192, 8192, 128), torch.float16, clauses, score, keep)
        work = 4 * 2 * 16 * 8192 * 8192 * 128 / 1e9
        compare("variant", name, case, work, library, options.seconds)


if __name__ == "__main__":
    main()
