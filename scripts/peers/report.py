# ===- report.py - How peers report what they measured ---------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""One line of JSON for each measurement, for the program that started the peer."""

import argparse
import json
import statistics
import time


def reason(error):
    """The first line of what an exception says."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]


def attempt(result, measure):
    """Prints `result` with the entries that `measure` gives, or with "absent": why
    there are none."""
    try:
        result.update(measure())
    # A library may raise anything; the others go on.
    except Exception as error:  # pylint: disable=broad-except
        result["absent"] = reason(error)
    print(json.dumps(result), flush=True)


def time_calls(call, seconds):
    """Milliseconds of a call, the median of at least three."""
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def main(doc, measure, can_say=lambda case: True):
    """The end of a program that measures cases one after the other, as
    compare.run_pytorch expects it: `measure(case, seconds)` gives milliseconds. Cases
    that it cannot say are left out."""
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", required=True, help="with commas in between")
    parser.add_argument("--seconds", type=float, default=1, help="for each case")
    options = parser.parse_args()
    for case in filter(can_say, options.cases.split(",")):
        attempt(
            {"case": case}, lambda case=case: {"ms": measure(case, options.seconds)}
        )
