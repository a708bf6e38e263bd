# ===- rank_model.py - What attention of several ranks takes ----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What ways to split attention take, in seconds, by what ranks compute in a second and
what messages take between them.

With one link for all ranks, it is the model of the compiler's attn-plan-exchange
(lib/Sharding/ExchangeModel.cpp), which simulate_ranks.py compares it with.
"""

import math
from dataclasses import dataclass, replace


# What `#attn.target` and `#attn.link` say where nothing else is written, in seconds and
# bytes per second: kernel_ns, memory_gbs, and step_ns.
CPU = {"kernel": 20e-6, "merging": 32e9, "step": 20e-6}


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
    message: float = 0.5e-6  # Seconds of a rank to start a message.
    step: float = 0.0  # Seconds of a block of another rank, besides computing, and of
    # any other exchange, besides its messages.
    kernel: float = 0.0  # Seconds of an attention, besides its products.
    merging: float = math.inf  # Bytes per second, of states that are merged.
    is_shared: bool = False  # What computes copies messages, too.

    def link(self, first, second):
        return self.near if first // self.node == second // self.node else self.far

    def exchange(self, ranks, far, near, times=1):
        """Seconds of so many exchanges in a row, in each of which a rank starts a message
        to each other one: of so many bytes in all to other nodes, and in its own."""
        if ranks == 1:
            return 0.0
        latency = (self.far if ranks > self.node else self.near).latency
        started = times * (latency + self.step + (ranks - 2) * self.message)
        return started + max(far / self.far.bandwidth, near / self.near.bandwidth)


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

    def state_bytes(self):
        """Of the output and the log-sum-exp of a row, read and written in f32."""
        return 2 * 4 * self.heads * (self.size + 1)

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
    what it receives and sends, begins with the next transfer, and computes an attention
    for each pair of pieces, which is merged with the state before it."""
    pieces = [get_pieces(rank, ranks, is_zigzag) for rank in range(ranks)]
    count = rows // (len(pieces[0]) * ranks)
    done, here = [0.0] * ranks, [0.0] * ranks
    work, received = [0.0] * ranks, [0] * ranks
    for step in range(ranks):
        begin = [max(done[rank], here[rank]) for rank in range(ranks)]
        here = [0.0] * ranks
        for rank in range(ranks):
            keeper = (rank - step) % ranks
            seen = [layer.visible(q, k, count) for q in pieces[rank] for k in pieces[keeper]]
            attentions = sum(pairs > 0 for pairs in seen)
            seconds = layer.work(machine, sum(seen)) + attentions * machine.kernel
            # In the order of the rows, a rank's own keys come first.
            if step or is_zigzag:
                seconds += attentions * count * layer.state_bytes() / machine.merging
            if step and attentions:
                seconds += machine.step
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
            if machine.is_shared:
                done[rank] += size / machine.link(rank, sender).bandwidth
            if size:
                here[rank] = max(here[rank], end)
                here[sender] = max(here[sender], end)
    return Result(max(done), work, received)


def simulate_gather(machine, layer, rows, ranks, is_zigzag=True):
    """All keys and values come first, each once into a node, over all of its links."""
    size = rows * layer.row_bytes()
    node = min(machine.node, ranks)
    nodes = math.ceil(ranks / machine.node)
    # Keys, and then values.
    seconds = machine.exchange(
        ranks, (nodes - 1) / nodes * size / node, (node - 1) / node * size, times=2
    )
    work = simulate_ring(free(machine), layer, rows, ranks, is_zigzag).work
    # One attention for each piece.
    seconds += machine.kernel * len(get_pieces(0, ranks, is_zigzag))
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
    # Query, key, value and output.
    seconds = machine.exchange(ranks, far, near, times=4)
    pairs = layer.visible(0, 0, rows)
    work = [layer.work(machine, pairs) / ranks + machine.kernel] * ranks
    return Result(seconds + work[0], work, [int(far + near)] * ranks)


def simulate_decoding(machine, layer, rows, ranks, way):
    """One query: each rank reads its keys and values. Then states are 'gathered', all by
    all ranks, or maxima and sums 'reduced', each rank its share of them, as
    attn.all_merge does, or reduced and sent back along a 'tree'."""
    reads = rows / ranks * layer.row_bytes() / machine.memory
    state = 4 * layer.heads * (layer.size + 1)
    node = min(machine.node, ranks)
    if way == "tree":
        nodes = math.ceil(ranks / machine.node)
        return reads + 2 * (
            math.ceil(math.log2(node)) * machine.near.time(state)
            + math.ceil(math.log2(nodes)) * machine.far.time(state)
        )
    others = (max(0, ranks - machine.node), node - 1)
    if way == "gathered":
        return reads + machine.exchange(ranks, *(count * state for count in others))
    # Shares of both there and back.
    sent = 2 * (state + 4 * layer.heads) / ranks
    return reads + machine.exchange(ranks, *(count * sent for count in others), times=4)


def free(machine):
    """The same machine, on which nothing takes time but products."""
    link = Link(math.inf, 0.0)
    return replace(
        machine, near=link, far=link, message=0.0, step=0.0, kernel=0.0, merging=math.inf
    )
