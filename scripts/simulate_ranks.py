# ===- simulate_ranks.py - Attention on more ranks than there are here ------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Prints what ways to split attention would take on 8 to 1024 GPUs.

The machine is nodes of eight H100 SXM. Published: 989 Tflop/s of dense bf16, 3.35
TB/s of memory, NVLink of 450 GB/s each way in a node, InfiniBand of 50 GB/s for
each GPU between nodes. Assumed: attention reaches 0.6 of the peak, however small
a block is; a message takes 3 us in a node and 8 us between nodes besides its
bytes, and a rank 0.5 us to start each of several; links are not shared with others,
and copies take no time from computing.

The layer is that of Llama 3.1 405B: 128 heads of 128 on 8 key/value heads, in bf16,
with a causal mask. With --self-test, checks the simulation instead.
"""

import argparse
import math
import os
import re
import subprocess
from dataclasses import replace

from rank_model import (
    CPU,
    Layer,
    Link,
    Machine,
    free,
    simulate_decoding,
    simulate_gather,
    simulate_heads,
    simulate_ring,
)


def print_prefill(machine, layer, rows):
    print("| ranks | ring (ms) | waits | in order (ms) | all-gather (ms) | Ulysses (ms) |")
    print("|---|---|---|---|---|---|")
    for ranks in (8, 16, 32, 64, 128, 256, 512, 1024):
        ring = simulate_ring(machine, layer, rows, ranks)
        others = [
            simulate_ring(machine, layer, rows, ranks, is_zigzag=False),
            simulate_gather(machine, layer, rows, ranks),
            simulate_heads(machine, layer, rows, ranks),
        ]
        times = [f"{1e3 * one.seconds:.1f}" if one else "" for one in others]
        print(
            f"| {ranks} | {1e3 * ring.seconds:.1f} | {100 * ring.waiting():.0f} % | "
            + " | ".join(times)
            + " |"
        )


def print_decoding(machine, layer, rows):
    ways = ("gathered", "reduced", "tree")
    print(f"| ranks | {' | '.join(f'{way} (us)' for way in ways)} |\n|---|---|---|---|")
    for ranks in (8, 16, 32, 64, 128, 256, 512, 1024):
        times = [simulate_decoding(machine, layer, rows, ranks, way) for way in ways]
        print(f"| {ranks} | {' | '.join(f'{1e6 * time:.0f}' for time in times)} |")


def check():
    """What is known without a simulation."""
    machine, causal = Machine(), Layer()
    full = replace(causal, is_causal=False)
    rows = 1 << 16

    def expect_near(got, expected):
        assert math.isclose(got, expected, rel_tol=1e-9), f"expected {expected}, got {got}"

    for ranks in (1, 2, 8, 24):
        alone = causal.work(machine, causal.visible(0, 0, rows))
        ring = simulate_ring(free(machine), causal, rows - rows % (2 * ranks), ranks)
        assert abs(ring.seconds * ranks / alone - 1) < 0.01, "zig-zag order is balanced"
        expect_near(ring.balance(), 1)
    # In the order of the rows, the last of N has almost twice the mean work.
    in_order = simulate_ring(machine, causal, rows, 16, is_zigzag=False)
    assert 1.8 < in_order.balance() < 2
    # Where sending is slow, steps take what docs/sharding.md says.
    slow = replace(machine, node=1, far=Link(1e9, 1e-3))
    ring = simulate_ring(slow, full, rows, 4, is_zigzag=False)
    block = rows // 4 * full.row_bytes()
    step = full.work(slow, (rows // 4) ** 2)
    assert slow.far.time(block) > step
    expect_near(ring.seconds, 3 * slow.far.time(block) + step)
    # Where it is not, all of it is hidden.
    fast = replace(machine, node=1, far=Link(1e15, 0))
    expect_near(simulate_ring(fast, full, rows, 4).seconds, 4 * step)
    # Rows that come: of two ranks, all of the other's and half of them.
    received = simulate_ring(machine, causal, rows, 2).received
    assert received == [rows // 2 * causal.row_bytes(), rows // 4 * causal.row_bytes()], received
    assert simulate_heads(machine, causal, rows, 256) is None
    # One rank has nobody to talk to.
    for one in (simulate_ring, simulate_gather, simulate_heads):
        result = one(machine, causal, rows, 1)
        expect_near(result.seconds, causal.work(machine, causal.visible(0, 0, rows)))
    # Two ranks of a node send each other their states, or one does and gets the sum.
    reads = rows // 2 * causal.row_bytes() / machine.memory
    sends = machine.near.time(4 * causal.heads * (causal.size + 1))
    expect_near(simulate_decoding(machine, causal, rows, 2, "gathered"), reads + sends)
    expect_near(simulate_decoding(machine, causal, rows, 2, "tree"), reads + 2 * sends)


def write_text(layer, rows, link, is_zigzag, is_shared):
    query = f"tensor<1x{layer.heads}x{rows}x{layer.size}xf32>"
    key = f"tensor<1x{layer.key_heads}x{rows}x{layer.size}xf32>"
    order = "{attn.zigzag} " if is_zigzag else ""
    said = f"latency_ns = {link.latency * 1e9:.0f}, bandwidth_mbs = {link.bandwidth * 1e-6:.0f}"
    said += ", shared = true" if is_shared else ""
    return f"""
shard.grid @ranks(shape = ?) {{attn.link = #attn.link<{said}>}}
func.func @attention(%query: {query}, %key: {key}, %value: {key}, %init: {query}) -> {query} {{
  %s = shard.sharding @ranks split_axes = [[], [], [0]] {order}: !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : {query}
  %k = shard.shard %key to %s annotate_for_users : {key}
  %v = shard.shard %value to %s annotate_for_users : {key}
  %o = attn.attention ins(%q, %k, %v : {query}, {key}, {key})
      outs(%init : {query}) {"mask causal" if layer.is_causal else ""}
  return %o : {query}
}}
"""


def compare(compiler):
    """What attn-plan-exchange computes for the default target, and what this does."""
    flops = 8e9 * 8  # lane_gflops, and lanes of f32.
    for rows, ranks, is_causal, is_zigzag, link, is_shared in (
        (8192, 2, True, True, Link(4e9, 2e-6), True),
        (8192, 8, False, False, Link(1e9, 1e-4), False),
        (65536, 4, True, False, Link(50e9, 8e-6), False),
        (512, 4, True, True, Link(4e9, 2e-6), True),
        (1024, 4, False, False, Link(1e8, 2e-6), False),
    ):
        layer = Layer(heads=16, key_heads=8, size=64, element=4, is_causal=is_causal)
        machine = Machine(
            flops=flops,
            node=ranks,
            near=link,
            far=link,
            message=0.0,
            is_shared=is_shared,
            **CPU,
        )
        text = write_text(layer, rows, link, is_zigzag, is_shared)
        options = f"--attn-plan-exchange=ranks={ranks} explain"
        run = subprocess.run(
            [compiler, options, "-", "-o", os.devnull], input=text, check=True, text=True,
            stderr=subprocess.PIPE,
        )
        remark = re.search(
            r"a ring takes (\d+) us, gathering keys and values (\d+) us, "
            r"exchanging heads (\d+) us",
            run.stderr,
        )
        assert remark, run.stderr
        expected = [
            simulate_ring(machine, layer, rows, ranks, is_zigzag),
            simulate_gather(machine, layer, rows, ranks, is_zigzag),
            simulate_heads(machine, layer, rows, ranks),
        ]
        for got, of_model in zip(map(int, remark.groups()), expected):
            microseconds = 1e6 * of_model.seconds
            assert abs(got - microseconds) <= 1 + 0.01 * microseconds, (
                f"{rows} rows on {ranks} ranks: expected {microseconds:.0f} us, got {got} us\n{text}"
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1 << 20, help="of the prompt (default: 2^20)")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--compare", metavar="ATTN-OPT", help="with the model of attn-plan-exchange")
    options = parser.parse_args()
    if options.compare:
        compare(options.compare)
        return
    if options.self_test:
        check()
        return
    print_prefill(Machine(), Layer(), options.rows)
    print()
    print_decoding(Machine(), Layer(), options.rows)


if __name__ == "__main__":
    main()
