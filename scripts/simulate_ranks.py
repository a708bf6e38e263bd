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
bytes; links are not shared with others, and copies take no time from computing.

The layer is that of Llama 3.1 405B: 128 heads of 128 on 8 key/value heads, in bf16,
with a causal mask. With --self-test, checks the simulation instead.
"""

import argparse
import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Link:
    bandwidth: float  # Bytes per second, each way.
    latency: float  # Seconds.

    def time(self, size):
        return self.latency + size / self.bandwidth if size else 0.0


@dataclass(frozen=True)
class Machine:
    flops: float = 0.6 * 989e12
    memory: float = 3.35e12
    node: int = 8  # Ranks.
    near: Link = Link(450e9, 3e-6)
    far: Link = Link(50e9, 8e-6)

    def link(self, first, second):
        return self.near if first // self.node == second // self.node else self.far


@dataclass(frozen=True)
class Layer:
    heads: int = 128
    key_heads: int = 8
    size: int = 128
    element: int = 2
    is_causal: bool = True

    def row_bytes(self):
        """Of one row of keys and of values."""
        return 2 * self.element * self.key_heads * self.size

    def work(self, machine, pairs):
        """Seconds for so many pairs of a query and a key."""
        return 4 * self.heads * self.size * pairs / machine.flops

    def visible(self, query_piece, key_piece, rows):
        """Pairs of two pieces of so many rows."""
        if not self.is_causal or query_piece > key_piece:
            return rows * rows
        return rows * (rows + 1) // 2 if query_piece == key_piece else 0


@dataclass(frozen=True)
class Result:
    seconds: float
    work: list  # Seconds that each rank computes.
    received: list  # Bytes that come to each rank.

    def waiting(self):
        """The share of the time in which a rank does not compute, on average."""
        return max(0.0, 1 - sum(self.work) / len(self.work) / self.seconds)

    def balance(self):
        return max(self.work) * len(self.work) / sum(self.work)


def get_pieces(rank, ranks, is_zigzag):
    return [rank, 2 * ranks - 1 - rank] if is_zigzag else [rank]


def simulate_ring(machine, layer, rows, ranks, is_zigzag=True):
    """Blocks go around as attn.rank_block gives them: in each step a rank waits for
    what it receives and sends, begins with the next transfer, and computes."""
    pieces = [get_pieces(rank, ranks, is_zigzag) for rank in range(ranks)]
    count = rows // (len(pieces[0]) * ranks)
    done, here = [0.0] * ranks, [0.0] * ranks
    work, received = [0.0] * ranks, [0] * ranks
    for step in range(ranks):
        begin = [max(done[rank], here[rank]) for rank in range(ranks)]
        here = [0.0] * ranks
        for rank in range(ranks):
            keeper = (rank - step) % ranks
            pairs = sum(
                layer.visible(q, k, count) for q in pieces[rank] for k in pieces[keeper]
            )
            seconds = layer.work(machine, pairs)
            work[rank] += seconds
            done[rank] = begin[rank] + seconds
            if step + 1 == ranks:
                continue
            sender = (rank - step - 1) % ranks
            needed = sum(
                any(layer.visible(q, k, count) for q in pieces[rank]) for k in pieces[sender]
            )
            size = needed * count * layer.row_bytes()
            received[rank] += size
            end = max(begin[rank], begin[sender]) + machine.link(rank, sender).time(size)
            if size:
                here[rank] = max(here[rank], end)
                here[sender] = max(here[sender], end)
    return Result(max(done), work, received)


def simulate_gather(machine, layer, rows, ranks):
    """All keys and values come first, each once into a node, over all of its links."""
    size = rows * layer.row_bytes()
    node = min(machine.node, ranks)
    nodes = math.ceil(ranks / machine.node)
    far = (nodes - 1) / nodes * size / node
    near = (node - 1) / node * size
    seconds = max(
        machine.far.time(far) + (nodes - 1) * machine.far.latency,
        machine.near.time(near) + (node - 1) * machine.near.latency,
    )
    work = simulate_ring(free(machine), layer, rows, ranks).work
    return Result(seconds + max(work), work, [size * (ranks - 1) // ranks] * ranks)


def simulate_heads(machine, layer, rows, ranks):
    """Rows become heads and heads rows again, all to all (Ulysses); None where there
    are more ranks than heads. Key/value heads come to each rank that needs them."""
    if layer.heads % ranks:
        return None
    heads = 2 * layer.heads + 2 * max(layer.key_heads, ranks)
    size = layer.element * layer.size * heads * rows // ranks
    far = max(0, ranks - machine.node) / ranks * size
    near = (min(ranks, machine.node) - 1) / ranks * size
    # Both ways have a latency of their own.
    seconds = max(
        machine.far.time(far) + (machine.far.latency if far else 0),
        machine.near.time(near) + (machine.near.latency if near else 0),
    )
    pairs = layer.visible(0, 0, rows)
    work = [layer.work(machine, pairs) / ranks] * ranks
    return Result(seconds + work[0], work, [int(far + near)] * ranks)


def simulate_decoding(machine, layer, rows, ranks, is_tree):
    """One query: each rank reads its keys and values, and states are sent to all
    others, as attn.all_merge may do, or reduced and sent back along a tree."""
    reads = rows / ranks * layer.row_bytes() / machine.memory
    state = 4 * layer.heads * (layer.size + 1)
    node = min(machine.node, ranks)
    if is_tree:
        nodes = math.ceil(ranks / machine.node)
        return reads + 2 * (
            math.ceil(math.log2(node)) * machine.near.time(state)
            + math.ceil(math.log2(nodes)) * machine.far.time(state)
        )
    return (
        reads
        + (node - 1) * machine.near.time(state)
        + max(0, ranks - machine.node) * machine.far.time(state)
    )


def free(machine):
    """The same machine, on which nothing takes time to send."""
    link = Link(math.inf, 0.0)
    return replace(machine, near=link, far=link)


def print_prefill(machine, layer, rows):
    print("| ranks | ring (ms) | waits | in order (ms) | all-gather (ms) | heads (ms) |")
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
    print("| ranks | gathered (us) | tree (us) |\n|---|---|---|")
    for ranks in (8, 16, 32, 64, 128, 256, 512, 1024):
        times = [simulate_decoding(machine, layer, rows, ranks, tree) for tree in (False, True)]
        print(f"| {ranks} | {1e6 * times[0]:.0f} | {1e6 * times[1]:.0f} |")


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
    expect_near(simulate_decoding(machine, causal, rows, 2, is_tree=False), reads + sends)
    expect_near(simulate_decoding(machine, causal, rows, 2, is_tree=True), reads + 2 * sends)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1 << 20, help="of the prompt (default: 2^20)")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        check()
        return
    print_prefill(Machine(), Layer(), options.rows)
    print()
    print_decoding(Machine(), Layer(), options.rows)


if __name__ == "__main__":
    main()
