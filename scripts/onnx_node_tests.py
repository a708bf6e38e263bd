# ===- onnx_node_tests.py - ONNX's own tests of nodes -----------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs ONNX's backend tests of nodes through attn-import and attn-run.

The tests are those that come with the Python package `onnx`: models of one node,
inputs, and the outputs that its reference computes. Where a node has sizes that may
be dynamic, every second test runs with these as names, and the others as they are;
with --all, each runs both ways. Results are compared as ONNX's own runner compares
them.

    python3 -m venv build/onnx && build/onnx/bin/pip install onnx==1.23.2
    build/onnx/bin/python scripts/onnx_node_tests.py --bin build/release/bin
"""

import argparse
import concurrent.futures
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx.backend.test.case import node as node_tests

# Modules of onnx.backend.test.case.node of which every test has to pass, but for
# the names in SKIPPED. Those with --all are of what stands between attention nodes.
MODULES = "attention flexattention rotaryembedding rmsnormalization tensorscatter".split()
ALL_MODULES = [
    *MODULES,
    *"abs add and_ cast castlike clip concat constant constantofshape cos div".split(),
    *"equal erf exp expand flatten gather gelu gemm greater greater_or_equal".split(),
    *"identity layernormalization less less_or_equal log matmul max min mul".split(),
    *"neg not_ or_ pow reciprocal relu reshape shape sigmoid sin slice".split(),
    *"softmax split sqrt squeeze sub tanh transpose unsqueeze where xor".split(),
]

# Patterns of names, and why those tests are not run.
SKIPPED = {
    r"_expanded": "what it computes by other nodes is tested as one",
    r"uint|_string|float8|float4|e8m0|int4|int2|FLOAT8|FLOAT4|E8M0|INT4|INT2|STRING":
        "no kernel has such elements",
    r"identity_(sequence|opt)|logical_string": "values other than tensors",
}

# Types of inputs and attributes that are refused, which is tested elsewhere.
REFUSED = [
    r"are not imported",
    r"expected floats",
    r"Pow\): input",
    r"expected positive steps",
    r"means and deviations",
]

# Inputs that have to be constants: shapes and axes, by operator.
CONSTANT = {
    "ConstantOfShape": [0],
    "Expand": [1],
    "Reshape": [1],
    "Slice": [1, 2, 3, 4],
    "Split": [1],
    "Squeeze": [1],
    "Unsqueeze": [1],
}

# Dimensions that have to be static: heads and sizes of heads of each input and
# output, by operator and rank. All others get names. (Of norms, it depends on an
# attribute.)
STATIC = {
    "Attention": {3: {2}, 4: {1, 3}},
    "FlexAttention": {4: {1, 3}},
    "RotaryEmbedding": {2: {1}, 3: {2}, 4: {1, 3}},
    "RMSNormalization": {},
    "TensorScatter": {3: {2}, 4: {1, 3}},
}


def find_normalized(node, name, rank):
    """Dimensions of X, the scale and Y that have to be static."""
    if name == node.input[1]:
        return set(range(rank))
    axis = next((a.i for a in node.attribute if a.name == "axis"), -1) % rank
    # Of rows in three dimensions, the second is that of heads.
    return set(range(axis, rank)) | ({1} if axis == 3 else set())


def to_dynamic(model, operator):
    """The model with names for sizes, or None if it has no such sizes."""
    static = STATIC[operator]
    result = onnx.ModelProto()
    result.CopyFrom(model)
    changed = False
    node = result.graph.node[0]
    for value in [*result.graph.input, *result.graph.output]:
        shape = value.type.tensor_type.shape
        kept = static.get(len(shape.dim), set())
        # A mask broadcasts where its sizes are known to be 1.
        if operator == "Attention" and len(node.input) > 3:
            if value.name == node.input[3]:
                kept = {i for i, dim in enumerate(shape.dim) if dim.dim_value == 1}
        if operator == "RMSNormalization":
            kept = find_normalized(node, value.name, len(shape.dim))
        for number, dim in enumerate(shape.dim):
            if number not in kept:
                dim.dim_param = f"{value.name}_{number}"
                changed = True
    return result if changed else None


def to_constants(case):
    """The model with the case's shapes and axes in it, and its other inputs."""
    result = onnx.ModelProto()
    result.CopyFrom(case.model)
    node = result.graph.node[0]
    names = {node.input[i] for i in CONSTANT[node.op_type] if i < len(node.input)}
    arrays = {v.name: a for v, a in zip(result.graph.input, case.data_sets[0][0])}
    for name in names - {""}:
        tensor = onnx.numpy_helper.from_array(np.asarray(arrays.pop(name)), name)
        result.graph.initializer.append(tensor)
    return result, list(arrays.values())


def save_array(path, array):
    if isinstance(array, onnx.TensorProto):
        array = onnx.numpy_helper.to_array(array)
    array = np.asarray(array)
    # Files have no bfloat16: a tool rounds float32 for it, and writes it.
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    np.save(path, np.ascontiguousarray(array).reshape(array.shape))


def run_tool(command):
    """Nothing, or what is wrong."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return done.stderr.strip() or f"exit code {done.returncode}"


def compare(expected, path, case):
    """Nothing, or how an output differs, as onnx.backend.test.runner has it."""
    if isinstance(expected, onnx.TensorProto):
        expected = onnx.numpy_helper.to_array(expected)
    expected = np.asarray(expected)
    got = np.load(path)
    rtol = case.rtol
    if expected.dtype.name == "bfloat16":
        rtol = max(rtol, 2**-6)
        expected = expected.astype(np.float32)
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{got.shape} for {expected.dtype}{expected.shape}"
    try:
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=case.atol)
    except AssertionError as error:
        return str(error).strip()
    return None


def run_case(tools, case, model, inputs, pipeline):
    """Nothing, or why the test fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(model, folder / "model.onnx")
        text = folder / "model.mlir"
        if problem := run_tool(
            [tools / "attn-import", folder / "model.onnx", "-o", text]
        ):
            return problem
        command = [tools / "attn-run", text, "--pipeline", pipeline]
        for number, array in enumerate(inputs):
            save_array(folder / f"in{number}.npy", array)
            command += ["--arg", folder / f"in{number}.npy"]
        outputs = case.data_sets[0][1]
        for number in range(len(outputs)):
            command += ["--out", folder / f"out{number}.npy"]
        if problem := run_tool(command):
            return problem
        for number, expected in enumerate(outputs):
            path = folder / f"out{number}.npy"
            if problem := compare(expected, path, case):
                return f"output {number}: {problem}"
    return None


def collect(pattern, modules, both_ways):
    """Tests as (name, case, model, inputs)."""

    def import_modules(package):
        for module in modules:
            importlib.import_module(f"{package.__name__}.{module}")

    # All of them would take long: tests are made when their module is imported.
    node_tests.import_recursive = import_modules
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = node_tests.collect_testcases(None)
    result, num_dynamic = [], 0
    for case in cases:
        nodes = case.model.graph.node
        if any(re.search(skipped, case.name) for skipped in SKIPPED):
            continue
        if not re.search(pattern, case.name):
            continue
        model, inputs = case.model, case.data_sets[0][0]
        if nodes[0].op_type in CONSTANT:
            model, inputs = to_constants(case)
        ways = [(case.name, case, model, inputs)]
        if len(nodes) == 1 and nodes[0].op_type in STATIC:
            if dynamic := to_dynamic(case.model, nodes[0].op_type):
                ways.append((case.name + " (dynamic)", case, dynamic, inputs))
                num_dynamic += 1
        if len(ways) == 2 and not both_ways:
            ways = [ways[num_dynamic % 2]]
        result += ways
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True, help="folder of the tools")
    parser.add_argument("--all", action="store_true", help="with elementwise nodes, both ways")
    parser.add_argument("--filter", default="", help="pattern of names")
    parser.add_argument("--pipeline", default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true", help="name every test")
    options = parser.parse_args()
    start = time.monotonic()
    modules = ALL_MODULES if options.all else MODULES
    tests = collect(options.filter, modules, options.all or "ATTN_ALL_CASES" in os.environ)
    if not tests:
        sys.exit(f"no test has a name like '{options.filter}'")

    def run(test):
        _, case, model, inputs = test
        return run_case(options.bin, case, model, inputs, options.pipeline)

    failed = refused = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (name, *_), problem in zip(tests, pool.map(run, tests)):
            if problem and options.all and any(re.search(p, problem) for p in REFUSED):
                refused += 1
            elif problem:
                failed += 1
                print(f"FAIL {name}: {problem}")
            elif options.verbose:
                print(f"pass {name}")
    seconds = time.monotonic() - start
    count = len(tests) - refused
    print(f"{count - failed} of {count} passed, {refused} refused, in {seconds:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
