# ===- check_ranks.py - Kernels of several ranks ----------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs the gallery, attn-run, a host and a model under both mpiruns.

Prints what is not as it should be, and exits with 1 if there is anything.
"""

import argparse
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
VARIANTS = HERE / "Inputs" / "variants.mlir"
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Ranks that share a core give it up while they wait.
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
failures = []


def launch(mpirun, ranks, command, limit=120, environment=None, errors=None):
    """The exit code, the output and the seconds of a program on ranks. What goes to
    stderr is part of the output, unless `errors` is the file for it."""
    options = ["--oversubscribe"] if "openmpi" in mpirun else []
    begin = time.monotonic()
    process = subprocess.Popen(
        [mpirun, *options, "-n", str(ranks), *map(str, command)],
        env=ENVIRONMENT | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=errors or subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return "none in time", output, limit
    return process.returncode, output, time.monotonic() - begin


def expect(name, condition, output):
    if not condition:
        failures.append(name)
        print(f"failed: {name}\n{output}")


# Seconds in which what is refused at once ends on a machine that is busy, too: half of
# what a rank waits for another one.
SOON = 60


def run_all(check, cases):
    """Calls `check` for each case, two at a time: ranks mostly start and wait."""
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda case: check(*case), cases):
            pass


def check_gallery(options):
    """Every variant on 1 to 4 ranks: by rows, of each variant in the order that its
    mask asks for, or of all in zig-zag order, with each way to exchange keys, and
    decoding by keys. Where not all cases are run, each quarter of the variants meets
    one or two of these."""
    runs = [
        (options.open_mpi, 1, "sequence", 0),
        (options.open_mpi, 2, "zigzag", 1),
        (options.open_mpi, 3, "keys", 2),
        (options.mpich, 4, "sequence", 3),
        (options.mpich, 3, "gather", 0),
        (options.open_mpi, 2, "ulysses", 1),
    ]
    for mpirun, ranks, split, quarter in runs:
        quarters = {"GTEST_TOTAL_SHARDS": "4", "GTEST_SHARD_INDEX": str(quarter)}
        command = [options.gallery, "--gtest_brief=1"]
        if split == "ulysses":
            # Which have one key/value head.
            command.append("--gtest_filter=-*.MultiQuery*")
        with tempfile.TemporaryDirectory() as cache:
            code, output, _ = launch(
                mpirun,
                ranks,
                command,
                limit=300,
                environment={"ATTN_TEST_SPLIT": split, "ATTN_TEST_CACHE": cache}
                | ({} if "ATTN_ALL_CASES" in os.environ else quarters),
            )
        expect(f"the gallery by {split} on {ranks} ranks", code == 0, output)


def run(options, mpirun, ranks, entry, arguments, *more):
    command = [options.attn_run, VARIANTS, "--mpi", "--entry", entry, "--random=1"]
    for argument in arguments:
        command += ["--arg", argument]
    return launch(mpirun, ranks, [*command, *more])


def save(path, *rows):
    """A tensor of i32, (len(row)) or, of several rows, (rows, len(row))."""
    shape = (len(rows), len(rows[0]))[len(rows) == 1 :]
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"  # 128 bytes with what comes before.
    numbers = [number for row in rows for number in row]
    path.write_bytes(
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(numbers)}i", *numbers)
    )
    return path


def get_step(stored):
    """Arguments of @step, with caches of 50 positions."""
    return ["-", "-", "-", "2x2x50x16", "2x2x50x16", stored]


def get_paged(stored, counts, table):
    """Arguments of @paged, with twelve pages of eight positions."""
    caches = ["12x2x8x16", "12x2x8x16", "12x2x8", "12x2x8"]
    return ["2x4x7x16", "2x2x7x16", "2x2x7x16", *caches, table, stored, counts, "45:i64"]


def select_runs(runs):
    """All runs, or, where not all cases are run, as many as it takes for several ranks
    to run each entry with its arguments, for each number of ranks with each MPI, and
    for each way to split what has gradients, dropout, both or neither."""
    if "ATTN_ALL_CASES" in os.environ:
        return runs

    def get_parts(run):
        mpirun, ranks, entry, arguments, split, *more = run
        if ranks == 1:
            return {(mpirun, ranks)}
        kind = "dropout" in entry or entry == "kept", "gradient" in f"{entry}{more}"
        return {(entry, *map(str, arguments), *more), (mpirun, ranks), (*kind, split)}

    left, selected = set().union(*map(get_parts, runs)), []
    while left:
        best = max(runs, key=lambda run: len(get_parts(run) & left))
        left -= get_parts(best)
        selected.append(best)
    return selected


def check_variants(options, folder):
    """What moves with a part: fused code against float64."""
    documents = save(
        folder / "documents.npy",
        [i // 40 for i in range(150)],
        [(i + 23) // 60 for i in range(150)],
    )
    counts = save(folder / "counts.npy", [40, 101])
    offsets = save(folder / "offsets.npy", [10, -30])
    of_queries = save(folder / "of_queries.npy", [3, 20, 20, 90, 140])
    of_keys = save(folder / "of_keys.npy", [0, 50, 60, 130, 170])
    stored = save(folder / "stored.npy", [10, 20])
    new = save(folder / "new.npy", [3, 7])
    both = ["2x4x150x16", "2x2x170x16"]
    layer = ["2x7x24", *["-"] * 9, stored, new]
    # Rows of both sides of where parts of 32 positions meet, and of 17.
    meeting = save(folder / "meeting.npy", [28, 57])
    by_keys = ["2x7x24", *["-"] * 9, meeting, new]
    step = get_step(save(folder / "step.npy", [16, 33]))
    # The first two pages of each sequence are of the first four, and so on.
    table = save(folder / "table.npy", [1, 0, 5, 4, 9, 8], [3, 2, 7, 6, 11, 10])
    paged = get_paged(
        save(folder / "paged.npy", [14, 30]), save(folder / "added.npy", [5, 7]), table
    )
    packed = ["1x4x150x16", "1x2x170x16", "-", of_queries, of_keys]
    gradients = [*both, "-", "2x4x150x16", "2x4x150"]
    of_packed = [*packed[:3], "1x4x150x16", *packed[3:]]
    random = ["77:i64", "3:i32"]
    of_dropout = [*both, "-", "2x4x150x16", *random]
    dropout = [*both, "-", *random]
    of_documents = [both[0], "2x2x150x16", "-", documents, documents]
    openmpi, mpich = options.open_mpi, options.mpich
    cache = folder / "cache"
    runs = [
        (openmpi, 2, "sink", both, "sequence"),
        (openmpi, 2, "dropout", dropout, "sequence"),
        (openmpi, 3, "dropout", dropout, "zigzag"),
        (mpich, 3, "dropout", dropout, "keys"),
        (openmpi, 2, "dropout", dropout, "heads"),
        (mpich, 2, "dropout", dropout, "batch"),
        (openmpi, 2, "kept", dropout, "zigzag"),
        (mpich, 3, "kept", dropout, "sequence"),
        (openmpi, 3, "kept", dropout, "keys"),
        (mpich, 2, "kept", dropout, "heads"),
        (openmpi, 2, "kept", dropout, "batch"),
        (mpich, 3, "kept", dropout, "gather"),
        (openmpi, 2, "kept", dropout, "ulysses"),
        (mpich, 3, "alibi", [*both, "-", "-", offsets], "sequence"),
        (openmpi, 2, "bias", [*both, "-", "2x4x170x170"], "heads"),
        (mpich, 4, "documents", of_documents, "sequence"),
        (openmpi, 2, "bias", [*both, "-", "2x4x170x170"], "sequence"),
        (openmpi, 2, "documents", of_documents, "zigzag"),
        (openmpi, 3, "counts", [*both, "-", counts], "sequence"),
        (mpich, 2, "counts", [*both, "-", counts], "batch"),
        (openmpi, 3, "packed", packed, "sequence"),
        (mpich, 3, "packed", packed, "zigzag"),
        (mpich, 2, "packed", packed, "heads"),
        (openmpi, 2, "sink", both, "gather"),
        (mpich, 2, "sink", both, "ulysses"),
        (openmpi, 2, "sink", both, "ulysses", "--gradient"),
        (openmpi, 3, "dropout", dropout, "gather"),
        (mpich, 2, "dropout", dropout, "ulysses"),
        (mpich, 4, "alibi", [*both, "-", "-", offsets], "gather"),
        (openmpi, 2, "bias", [*both, "-", "2x4x170x170"], "ulysses"),
        (openmpi, 3, "documents", of_documents, "gather"),
        (mpich, 2, "documents", of_documents, "ulysses"),
        (openmpi, 2, "counts", [*both, "-", counts], "gather"),
        (openmpi, 2, "counts", [*both, "-", counts], "ulysses"),
        (mpich, 2, "packed", packed, "gather"),
        (openmpi, 2, "packed", packed, "ulysses"),
        (openmpi, 4, "gathered_pieces", [], None),
        (mpich, 4, "ulysses_of_pieces", [], None),
        (openmpi, 3, "gathered_dropout", dropout, None),
        (mpich, 3, "prompt", ["1x150x32"], "gather"),
        (openmpi, 2, "prompt", ["1x150x32"], "ulysses"),
        (openmpi, 4, "heads_and_rows", both, None),
        (openmpi, 2, "static", [], None),
        (openmpi, 4, "heads_and_pieces", [], None),
        (openmpi, 2, "layer", layer, "heads"),
        (mpich, 2, "layer", layer, "batch"),
        (openmpi, 2, "layer", by_keys, "keys"),
        (openmpi, 1, "step", step, None),
        (openmpi, 3, "step", step, None),
        (mpich, 4, "step", step, None),
        (openmpi, 1, "paged", paged, None),
        (mpich, 3, "paged", paged, None),
        (mpich, 2, "prompt", ["1x150x32"], "heads"),
        (openmpi, 3, "prompt", ["1x150x32"], "sequence"),
        (openmpi, 4, "prompt", ["1x150x32"], "zigzag"),
        (openmpi, 3, "rotated", ["2x2x150x16", "-", "-"], None),
        (openmpi, 2, "gradients", gradients, "sequence"),
        (mpich, 3, "gradients", gradients, "zigzag"),
        (openmpi, 4, "gradients", gradients, "sequence"),
        (mpich, 3, "gradients", gradients, "keys"),
        (openmpi, 2, "gradients", gradients, "heads"),
        (mpich, 2, "gradients", gradients, "batch"),
        (openmpi, 2, "dropout_gradients", of_dropout, "sequence"),
        (mpich, 3, "dropout_gradients", of_dropout, "zigzag"),
        (openmpi, 3, "dropout_gradients", of_dropout, "keys"),
        (mpich, 2, "dropout_gradients", of_dropout, "heads"),
        (openmpi, 2, "dropout_gradients", of_dropout, "batch"),
        (mpich, 2, "packed_dropout", [*of_packed, *random], "zigzag"),
        (openmpi, 3, "packed_dropout", [*of_packed, *random], "sequence"),
        (openmpi, 2, "packed_dropout", [*of_packed, *random], "heads"),
        (openmpi, 2, "gradients", gradients, "gather"),
        (mpich, 3, "gradients", gradients, "gather"),
        (openmpi, 2, "gradients", gradients, "ulysses"),
        (openmpi, 3, "dropout_gradients", of_dropout, "gather"),
        (mpich, 2, "dropout_gradients", of_dropout, "ulysses"),
        (openmpi, 2, "packed_dropout", [*of_packed, *random], "gather"),
        (mpich, 2, "packed_dropout", [*of_packed, *random], "ulysses"),
        (openmpi, 4, "gradients_of_pieces", [], None),
        (openmpi, 2, "narrow_gradients", [*both, "-", "2x4x150x16"], "sequence"),
        (mpich, 3, "narrow_gradients", [*both, "-", "2x4x150x16"], "zigzag"),
        (openmpi, 2, "narrow_gradients", [*both, "-", "2x4x150x16"], "heads"),
        (openmpi, 2, "sink", both, "sequence", "--gradient"),
        (openmpi, 3, "packed_gradients", of_packed, "sequence"),
        (mpich, 2, "packed_gradients", of_packed, "zigzag"),
        (openmpi, 3, "gradients_of_rows", [*gradients[:3], "2x4x150x16", "2x4x150"], None),
        (mpich, 2, "network", ["2x9x24"], None),
        (openmpi, 4, "network", ["2x9x24"], None),
        # Its sums are large enough for ranks to share them.
        (mpich, 4, "network", ["2x2000x24"], None),
    ]

    def check(mpirun, ranks, entry, arguments, split, *options_of_run):
        more = ["--check", f"--cache-dir={cache}", *options_of_run]
        more += [f"--split={split}"] if split else []
        code, output, _ = run(options, mpirun, ranks, entry, arguments, *more)
        expect(
            f"@{entry} by {split} on {ranks} ranks",
            code == 0 and "failed:" not in output and "passed:" in output,
            output,
        )

    run_all(check, select_runs(runs))


def check_mistakes(options, folder):
    """What attn-run refuses, by name, and leaves no file of."""
    both = ["2x4x150x16", "2x2x170x16"]
    full = get_step(save(folder / "full.npy", [16, 50]))
    few = save(folder / "few.npy", [3, 3])
    # The first page of a sequence is one of the second rank.
    foreign = save(folder / "foreign.npy", [6, 0, 7, 8], [1, 2, 9, 10])
    mistakes = [
        (2, "step", full, [], "that the cache has room for, in the parts of all"),
        (2, "paged", get_paged(few, few, foreign), [], "is 6, of 6 pages"),
        (3, "sink", both, ["--split=heads"], "heads that 3 ranks can share evenly"),
        (3, "sink", both, ["--split=batch"], "multiple of the 3 ranks"),
        (2, "sink", both, ["--split=rows"], "expected 'batch', 'heads'"),
        (3, "sink", both, ["--split=ulysses"], "expected key/value heads that 3 ranks"),
        (2, "sink", both, [], "has no shard.shard"),
        (3, "heads_and_rows", both, [], "expected a multiple of 2 ranks, got 3"),
        (2, "captured", both, [], "whole on every rank"),
        (2, "sink", ["2x4x150x8"], ["--split=sequence"], "dimension 3"),
        (2, "sink", [folder / "missing.npy"], ["--split=sequence"], "missing.npy"),
    ]

    def check(ranks, entry, arguments, more, message):
        # A folder of its own, since another one is checked at the same time.
        with tempfile.TemporaryDirectory(dir=folder) as own:
            out = Path(own) / "out.npy"
            code, output, seconds = run(
                options, options.open_mpi, ranks, entry, arguments, f"--out={out}", *more
            )
            is_written = out.exists()
        expect(
            f"{message}: expected as an error of @{entry}",
            code not in (0, "none in time")
            and message in output
            and seconds < SOON
            and not is_written,
            output,
        )

    run_all(check, mistakes)
    code, output, _ = launch(
        options.open_mpi, 1, [options.attn_run, VARIANTS, "--split=heads"]
    )
    expect("--split without --mpi", code != 0 and "expected --mpi" in output, output)


def check_hosts(options):
    """A host that starts MPI; and ranks that are late, killed or different."""
    for mpirun, library in [
        (options.open_mpi, "libmpi.so.40"),
        (options.mpich, "libmpich.so.12"),
    ]:
        code, output, _ = launch(mpirun, 3, [options.host, library, "well"])
        expect(f"a host with {library}", code == 0, output)
        sent = dict(re.findall(r"rank (\d) sent (\d+) bytes", output))
        # Of parts of 40, 41 and 42 rows, queries see the last 30 before them, and
        # all after. A row of keys and values is 2 x (2, 2, 16) of f32, in two calls;
        # 3 sizes, of i64, go to each other rank: of batches, queries and keys.
        rows = {"0": 30, "1": 41 + 30, "2": 42 + 42}
        ideal = {rank: str(2 * (512 * n + 2 * 24)) for rank, n in rows.items()}
        expect(f"bytes with {library}: {ideal}", sent == ideal, output)
        code, output, _ = launch(mpirun, 3, [options.host, library, "causal"])
        expect(f"a causal host with {library}", code == 0, output)
        sent = dict(re.findall(r"rank (\d) sent (\d+) bytes", output))
        # In zig-zag order, of pieces of 20, 21, 21, 21, 20 and 20 rows: each goes to
        # the two other ranks unless it follows all that they have.
        rows = {"0": 20 + 20, "1": 21 + 21 + 20, "2": 42 + 42}
        ideal = {rank: str(2 * (512 * n + 2 * 24)) for rank, n in rows.items()}
        expect(f"bytes of a causal {library}: {ideal}", sent == ideal, output)
        for mode, message in [
            ("late", "rank 2 of 3 did not"),
            ("slice", "expected one size of dimension 0"),
            ("kernel", "rank 2 has another kernel than rank 0"),
            ("killed", "rank 2 of 3 did not|signal 9|KILLED BY SIGNAL: 9|exit code 9"),
        ]:
            code, output, seconds = launch(mpirun, 3, [options.host, library, mode])
            expect(
                f"{mode} rank with {library}",
                code not in (0, "none in time")
                and re.search(message, output)
                and seconds < SOON,
                f"{code} after {seconds:.1f} s\n{output}",
            )


def check_sums(options):
    """Both ways to add the parts of ranks give the same bits."""
    for mpirun, library in [
        (options.open_mpi, "libmpi.so.40"),
        (options.mpich, "libmpich.so.12"),
    ]:
        code, output, _ = launch(mpirun, 4, [options.sums, library])
        expect(
            f"sums with {library}",
            code == 0 and output.count("the sums are right") == 4,
            output,
        )


def check_model(options, folder):
    """Tokens of SmolLM2 by heads, which are those of one process: three heads of
    keys are shared by three ranks, and with a fourth one of zeros by two. Without
    the weights, which scripts/fetch-model.sh gets, there is nothing to check."""
    if not Path(options.model).exists():
        print(f"not checked: {options.model} is not there")
        return
    command = [options.smollm2, "--tokens=24", "--threads=1", options.model]
    command += [f"--cache-dir={folder}/model", "The capital of France is"]

    def generate(mpirun, ranks, *more):
        # mpirun forwards stdout and stderr each in its own time.
        with open(Path(folder) / "stderr.txt", "w+", encoding="utf-8") as errors:
            code, text, _ = launch(
                mpirun, ranks, [*command, *more], limit=200, errors=errors
            )
            errors.seek(0)
            return code, text.strip(), f"{text}\n{errors.read()}"

    code, text, output = generate(options.open_mpi, 1)
    expect("SmolLM2 in one process", code == 0 and len(text) > 60, output)
    for mpirun, ranks in [(options.open_mpi, 2), (options.mpich, 3)]:
        code, of_ranks, output = generate(mpirun, ranks, "--mpi")
        expect(f"SmolLM2 on {ranks} ranks: {text}", code == 0 and of_ranks == text, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=["gallery", "run", "sums", "model"])
    parser.add_argument("--gallery")
    parser.add_argument("--attn-run")
    parser.add_argument("--host")
    parser.add_argument("--sums")
    parser.add_argument("--smollm2")
    parser.add_argument("--model")
    parser.add_argument("--open-mpi", required=True)
    parser.add_argument("--mpich", required=True)
    options = parser.parse_args()
    if options.what == "gallery":
        check_gallery(options)
    elif options.what == "sums":
        check_sums(options)
    elif options.what == "model":
        with tempfile.TemporaryDirectory() as folder:
            check_model(options, folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            check_variants(options, Path(folder))
            check_mistakes(options, Path(folder))
        check_hosts(options)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
