# ===- onnx_models.py - Writes the ONNX models of the tests -----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes the models in test/ONNX/Inputs, and those that fuzzing starts from.

    python3 -m venv build/onnx && build/onnx/bin/pip install onnx==1.23.2
    build/onnx/bin/python scripts/onnx_models.py

The decoder that PyTorch exports is written by scripts/onnx_decoder.py.
"""

from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
INPUTS = ROOT / "test" / "ONNX" / "Inputs"
SEEDS = ROOT / "test" / "Fuzz" / "Inputs" / "AttnOnnxFuzzer"

F32, I64, I32, BOOL = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.BOOL,
)


def values(**types):
    """Values by name, as (element type, sizes)."""
    return [
        helper.make_tensor_value_info(name, element, sizes)
        for name, (element, sizes) in types.items()
    ]


def model(nodes, inputs, outputs, constants=(), opset=24, values=()):
    """A model of ONNX's own operators and those of com.microsoft."""
    graph = helper.make_graph(
        nodes,
        "graph",
        inputs,
        outputs,
        [numpy_helper.from_array(array, name) for name, array in constants],
        value_info=list(values),
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=11)


def attention():
    """All kinds of masks of one node, with a past and three-dimensional inputs."""
    node = helper.make_node(
        "Attention",
        ["Q", "K", "V", "mask", "past_key", "past_value"],
        ["Y", "present_key", "present_value", "scores"],
        name="attend",
        q_num_heads=4,
        kv_num_heads=2,
        is_causal=1,
        softcap=20.0,
        qk_matmul_output_mode=3,
    )
    return model(
        [node],
        values(
            Q=(F32, ["batch", "tokens", 64]),
            K=(F32, ["batch", "tokens", 32]),
            V=(F32, ["batch", "tokens", 16]),
            mask=(F32, [1, "tokens", "all"]),
            past_key=(F32, ["batch", 2, "past", 16]),
            past_value=(F32, ["batch", 2, "past", 8]),
        ),
        values(
            Y=(F32, ["batch", "tokens", 32]),
            present_key=(F32, ["batch", 2, "all", 16]),
            present_value=(F32, ["batch", 2, "all", 8]),
            scores=(F32, ["batch", 4, "tokens", "all"]),
        ),
    )


def layer():
    """A layer: norm, projections, rotation, cache, attention, a gated MLP."""
    rng = np.random.default_rng(1)

    def weight(*sizes):
        return (rng.standard_normal(sizes) / np.sqrt(sizes[0])).astype(np.float32)

    angles = np.outer(np.arange(64), 10000.0 ** (-np.arange(4) / 4))
    make = helper.make_node
    nodes = [
        make("RMSNormalization", ["x", "norm1"], ["n1"], axis=-1),
        make("MatMul", ["n1", "wq"], ["q"]),
        make("MatMul", ["n1", "wk"], ["k"]),
        make("MatMul", ["n1", "wv"], ["v"]),
        # Four heads of 8, in another order.
        make("Shape", ["x"], ["sizes"], start=0, end=2),
        make("Concat", ["sizes", "heads_q"], ["shape_q"], axis=0),
        make("Concat", ["sizes", "heads_kv"], ["shape_kv"], axis=0),
        make("Reshape", ["q", "shape_q"], ["q4"]),
        make("Reshape", ["k", "shape_kv"], ["k4"]),
        make("Reshape", ["v", "shape_kv"], ["v4"]),
        make("Transpose", ["q4"], ["qh"], perm=[0, 2, 1, 3]),
        make("Transpose", ["k4"], ["kh"], perm=[0, 2, 1, 3]),
        make("Transpose", ["v4"], ["vh"], perm=[0, 2, 1, 3]),
        make("RotaryEmbedding", ["qh", "cos", "sin", "positions"], ["qr"]),
        make("RotaryEmbedding", ["kh", "cos", "sin", "positions"], ["kr"]),
        make("TensorScatter", ["keys", "kr", "written"], ["new_keys"]),
        make("TensorScatter", ["values", "vh", "written"], ["new_values"]),
        make(
            "Attention",
            ["qr", "new_keys", "new_values", "", "", "", "stored"],
            ["a"],
            name="attend",
            is_causal=1,
        ),
        make("Transpose", ["a"], ["at"], perm=[0, 2, 1, 3]),
        make("Reshape", ["at", "merged"], ["am"]),
        make("MatMul", ["am", "wo"], ["o"]),
        make("Add", ["x", "o"], ["x1"]),
        make("RMSNormalization", ["x1", "norm2"], ["n2"], axis=-1),
        make("MatMul", ["n2", "wg"], ["g"]),
        make("Sigmoid", ["g"], ["sg"]),
        make("Mul", ["g", "sg"], ["silu"]),
        make("MatMul", ["n2", "wu"], ["u"]),
        make("Mul", ["silu", "u"], ["gated"]),
        make("MatMul", ["gated", "wd"], ["d"]),
        make("Add", ["x1", "d"], ["y"]),
    ]
    constants = {
        "norm1": np.linspace(0.5, 1.5, 32, dtype=np.float32),
        "norm2": np.linspace(1.5, 0.5, 32, dtype=np.float32),
        "wq": weight(32, 32),
        "wk": weight(32, 16),
        "wv": weight(32, 16),
        "wo": weight(32, 32),
        "wg": weight(32, 48),
        "wu": weight(32, 48),
        "wd": weight(48, 32),
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "heads_q": np.array([4, 8]),
        "heads_kv": np.array([2, 8]),
        "merged": np.array([0, 0, -1]),
    }
    caches = {
        name: (F32, ["batch", 2, "capacity", 8]) for name in ("keys", "values")
    }
    results = {"new_" + name: kind for name, kind in caches.items()}
    return model(
        nodes,
        values(
            x=(F32, ["batch", "tokens", 32]),
            positions=(I64, ["batch", "tokens"]),
            **caches,
            written=(I64, ["batch"]),
            stored=(I64, ["batch"]),
        ),
        values(y=(F32, ["batch", "tokens", 32]), **results),
        constants.items(),
    )


def group_query():
    """A step of com.microsoft's attention on a cache of a fixed size."""
    node = helper.make_node(
        "GroupQueryAttention",
        ["qkv", "", "", "past_key", "past_value", "last", "total", "cos", "sin"],
        ["y", "key", "value"],
        name="step",
        domain="com.microsoft",
        num_heads=4,
        kv_num_heads=2,
        do_rotary=1,
        local_window_size=20,
        softcap=30.0,
    )
    cache = (F32, ["batch", 2, "capacity", 16])
    return model(
        [node],
        values(
            qkv=(F32, ["batch", "tokens", 128]),
            past_key=cache,
            past_value=cache,
            last=(I32, ["batch"]),
            total=(I32, [1]),
            cos=(F32, [64, 8]),
            sin=(F32, [64, 8]),
        ),
        values(y=(F32, ["batch", "tokens", 64]), key=cache, value=cache),
    )


def flex_node(inputs, output, **attributes):
    return helper.make_node(
        "FlexAttention",
        inputs,
        [output],
        name="flex",
        domain="ai.onnx.preview",
        **attributes,
    )


def flex():
    """A graph of scores: a slope for each head, and nothing of the future."""
    make = helper.make_node
    nodes = [
        make("Shape", ["s"], ["sizes"]),
        make("Gather", ["sizes", "two"], ["queries"]),
        make("Gather", ["sizes", "three"], ["keys"]),
        make("Range", ["zero", "queries", "one"], ["q1"]),
        make("Range", ["zero", "keys", "one"], ["k"]),
        make("Unsqueeze", ["q1", "last"], ["q"]),
        make("Sub", ["q", "k"], ["distance"]),
        make("Cast", ["distance"], ["real"], to=F32),
        make("Mul", ["real", "slopes"], ["penalty"]),
        make("Sub", ["s", "penalty"], ["sloped"]),
        make("GreaterOrEqual", ["distance", "zero"], ["causal"]),
        make("Where", ["causal", "sloped", "hidden"], ["out"]),
    ]
    constants = {
        "zero": np.array(0),
        "one": np.array(1),
        "two": np.array(2),
        "three": np.array(3),
        "last": np.array([1]),
        "slopes": np.array([0.5, 0.25, 0.125, 0.0625], np.float32).reshape(4, 1, 1),
        "hidden": np.array(-np.inf, np.float32),
    }
    scores = (F32, ["batch", 4, "tokens", "tokens"])
    graph = helper.make_graph(
        nodes,
        "scores",
        values(s=scores),
        values(out=scores),
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    node = flex_node(["Q", "K", "V"], "Y", score_mod=graph)
    rows = (F32, ["batch", 4, "tokens", 16])
    result = model([node], values(Q=rows, K=rows, V=rows), values(Y=rows), opset=26)
    result.opset_import.add(domain="ai.onnx.preview", version=1)
    return result


def mixing():
    """A graph of scores that reads those of other keys."""
    result = flex()
    graph = result.graph.node[0].attribute[0].g
    del graph.node[:]
    graph.node.append(helper.make_node("Gather", ["s", "one"], ["g"], axis=3))
    graph.node.append(helper.make_node("Unsqueeze", ["g", "axis"], ["u"]))
    graph.node.append(helper.make_node("Add", ["s", "u"], ["out"]))
    graph.initializer.append(numpy_helper.from_array(np.array([3]), "axis"))
    return result


def heads(**changes):
    """A small attention, with attributes and sizes as they are given."""
    sizes = {name: changes.pop(name, [1, 2, 3, 4]) for name in "QKV"}
    opset = changes.pop("opset", 24)
    node = helper.make_node("Attention", ["Q", "K", "V"], ["Y"], name="attend", **changes)
    return model(
        [node],
        values(**{name: (F32, size) for name, size in sizes.items()}),
        values(Y=(F32, None)),
        opset=opset,
    )


def unknown():
    nodes = [
        helper.make_node("Conv", ["x", "x"], ["a"], name="first"),
        helper.make_node("Beam", ["a"], ["y"], name="second", domain="my.domain"),
    ]
    return model(nodes, values(x=(F32, [2, 2])), values(y=(F32, [2, 2])))


def cycle():
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Neg", ["a"], ["b"], name="second"),
    ]
    return model(nodes, values(x=(F32, [2])), values(b=(F32, [2])))


def declared():
    node = helper.make_node("Neg", ["x"], ["y"], name="negate")
    return model([node], values(x=(F32, [2, 3])), values(y=(F32, [3, 2])))


def external(location):
    result = model(
        [helper.make_node("Add", ["x", "w"], ["y"], name="add")],
        values(x=(F32, [4])),
        values(y=(F32, [4])),
        [("w", np.arange(4, dtype=np.float32))],
    )
    tensor = result.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "4", "length": "16"}.items():
        tensor.external_data.add(key=key, value=value)
    return result


def short():
    result = model(
        [helper.make_node("Add", ["x", "w"], ["y"], name="add")],
        values(x=(F32, [4])),
        values(y=(F32, [4])),
        [("w", np.arange(4, dtype=np.float32))],
    )
    result.graph.initializer[0].dims[0] = 5
    return result


def function(name, inputs, outputs, nodes, **others):
    """A function of the model's own; the version of its operators is not that of the
    model's."""
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, inputs, outputs, nodes, opsets, **others)


def refer(node, name, to, kind):
    """The node, with an attribute that has the value of one of the function."""
    node.attribute.append(helper.AttributeProto(name=name, ref_attr_name=to, type=kind))
    return node


def functions():
    """A layer whose attention and norm are functions, with attributes that refer to
    those of the call, a default, a name that is used in both, and an output that is
    an input."""
    make = helper.make_node
    integer, real = helper.AttributeProto.INT, helper.AttributeProto.FLOAT
    norm = function(
        "Norm",
        ["x", "weight"],
        ["y"],
        [
            refer(
                make("RMSNormalization", ["x", "weight"], ["t"], axis=-1),
                "epsilon",
                "epsilon",
                real,
            ),
            make("Identity", ["t"], ["y"]),
        ],
        attribute_protos=[helper.make_attribute("epsilon", 0.5)],
    )
    attend = make("Attention", ["t", "t", "t"], ["y"], name="attend", kv_num_heads=2)
    refer(attend, "q_num_heads", "heads", integer)
    refer(attend, "is_causal", "causal", integer)
    refer(attend, "scale", "scale", real)
    layer = function(
        "Layer",
        ["x", "weight"],
        ["z", "x", "norm"],
        [
            make("Norm", ["x", "weight"], ["t"], domain="local", epsilon=0.25),
            make("Norm", ["t", "weight"], ["norm"], domain="local"),
            attend,
            make("Add", ["x", "y"], ["z"]),
        ],
        attributes=["heads", "causal", "scale"],
    )
    result = model(
        [
            make(
                "Layer",
                ["x", "weight"],
                ["t", "same", "n"],
                name="first",
                domain="local",
                heads=2,
                causal=1,
            ),
            make("Layer", ["t", "weight"], ["u"], name="second", domain="local", heads=2),
            make("Add", ["u", "n"], ["v"]),
            make("Add", ["v", "same"], ["y"]),
        ],
        values(x=(F32, ["batch", "tokens", 8])),
        values(y=(F32, ["batch", "tokens", 8])),
        [("weight", np.linspace(0.5, 1.5, 8, dtype=np.float32))],
    )
    result.opset_import.add(domain="local", version=1)
    result.functions.extend([norm, layer])
    return result


def recursion(**attributes):
    """A function that calls itself, or a call that does not fit to it."""
    name = "Other" if attributes else "Again"
    node = helper.make_node(
        "Again", ["x"], ["y"], name="call", domain="local", **attributes
    )
    result = model([node], values(x=(F32, [2])), values(y=(F32, [2])))
    inner = helper.make_node(name, ["x"], ["y"], name="inner", domain="local")
    result.opset_import.add(domain="local", version=1)
    result.functions.append(function("Again", ["x"], ["y"], [inner]))
    return result


def doubling():
    """Functions that each call the next one twice."""
    result = recursion()
    del result.functions[:]
    for level in range(40):
        name = f"F{level + 1}" if level < 39 else "Neg"
        domain = "local" if level < 39 else ""
        nodes = [
            helper.make_node(name, ["x"], ["t"], domain=domain),
            helper.make_node(name, ["t"], ["y"], domain=domain),
        ]
        own = "Again" if level == 0 else f"F{level}"
        result.functions.append(function(own, ["x"], ["y"], nodes))
    return result


def chain(length, name=""):
    """Functions that each call the next one, once, in nodes of one name."""
    result = recursion()
    del result.functions[:]
    for level in range(length):
        last = level == length - 1
        node = helper.make_node(
            "Neg" if last else f"F{level + 1}",
            ["x"],
            ["y"],
            name=name,
            domain="" if last else "local",
        )
        own = "Again" if level == 0 else f"F{level}"
        result.functions.append(function(own, ["x"], ["y"], [node]))
    return result


def undefined(nested):
    """A function that reads a value of its caller's, or whose graph does."""
    reading = helper.make_node("Add", ["x", "hidden"], ["y"], name="add")
    if nested:
        scores = helper.make_tensor_value_info("x", F32, [1, 1, 2, 2])
        result = helper.make_tensor_value_info("y", F32, [1, 1, 2, 2])
        graph = helper.make_graph([reading], "scores", [scores], [result])
        reading = flex_node(["x", "x", "x"], "y", score_mod=graph)
    body = function("Inner", ["x"], ["y"], [reading])
    rows = (F32, [1, 1, 2, 2])
    result = model(
        [
            helper.make_node("Neg", ["x"], ["hidden"]),
            helper.make_node("Inner", ["x"], ["y"], name="call", domain="local"),
        ],
        values(x=rows),
        values(y=rows),
        opset=26,
    )
    result.opset_import.add(domain="local", version=1)
    body.opset_import.add(domain="ai.onnx.preview", version=1)
    result.functions.append(body)
    return result


def captures():
    """Two functions with graphs of scores, called with a tensor whose name is that of
    a value in both graphs. One function has the graph in itself, the other one as an
    attribute of the call; and one has a constant as an attribute."""
    make = helper.make_node
    attribute = helper.AttributeProto
    scores = (F32, [1, 2, "tokens", "tokens"])

    def graph(bias):
        return helper.make_graph(
            [
                make("Neg", ["s"], ["t"]),
                make("Mul", ["t", "half"], ["u"]),
                make("Add", ["u", bias], ["out"]),
            ],
            "scores",
            values(s=scores),
            values(out=scores),
            [numpy_helper.from_array(np.array(0.5, np.float32), "half")],
        )

    own = function(
        "Own",
        ["Q", "bias"],
        ["Y"],
        [flex_node(["Q", "Q", "Q"], "Y", score_mod=graph("bias"))],
    )
    given = function(
        "Given",
        ["Q"],
        ["Y"],
        [
            refer(make("Constant", [], ["c"]), "value", "scale", attribute.TENSOR),
            make("Mul", ["Q", "c"], ["t"]),
            refer(
                flex_node(["t", "Q", "Q"], "Y"), "score_mod", "scores", attribute.GRAPH
            ),
        ],
        attributes=["scale", "scores"],
    )
    rows = (F32, [1, 2, "tokens", 8])
    scale = numpy_helper.from_array(np.array(2, np.float32))
    result = model(
        [
            make("Own", ["Q", "t"], ["half"], name="first", domain="local"),
            make(
                "Given",
                ["half"],
                ["Y"],
                name="second",
                domain="local",
                scale=scale,
                scores=graph("slopes"),
            ),
        ],
        values(Q=rows, t=(F32, [2, 1, 1]), slopes=(F32, [2, 1, 1])),
        values(Y=rows),
        opset=26,
    )
    result.opset_import.add(domain="local", version=1)
    result.opset_import.add(domain="ai.onnx.preview", version=1)
    for body in (own, given):
        body.opset_import.add(domain="ai.onnx.preview", version=1)
        result.functions.append(body)
    return result


def reshapes():
    """Batch and tokens as one dimension, and apart again; and what is left of both."""
    make = helper.make_node
    nodes = [
        make("Shape", ["x"], ["sizes"], start=0, end=2),
        make("Reshape", ["x", "rows"], ["flat"], name="flatten"),
        make("MatMul", ["flat", "weight"], ["product"]),
        make("Concat", ["sizes", "heads"], ["apart"], axis=0),
        make("Reshape", ["product", "apart"], ["y"], name="part"),
        make("Shape", ["x"], ["batch"], start=0, end=1),
        make("Concat", ["batch", "rest"], ["left"], axis=0),
        make("Reshape", ["product", "left"], ["z"], name="leave"),
    ]
    constants = {
        "rows": np.array([-1, 6]),
        "heads": np.array([2, 4]),
        "rest": np.array([-1, 8]),
        "weight": np.arange(48, dtype=np.float32).reshape(6, 8) / 48,
    }
    return model(
        nodes,
        values(x=(F32, ["batch", "tokens", 6])),
        values(
            y=(F32, ["batch", "tokens", 2, 4]), z=(F32, ["batch", "tokens", 8])
        ),
        constants.items(),
    )


def regrouped():
    """A matrix in the sizes of another one."""
    nodes = [
        helper.make_node("Shape", ["like"], ["sizes"]),
        helper.make_node("Reshape", ["x", "sizes"], ["t"], name="regroup"),
        helper.make_node("Add", ["t", "like"], ["y"]),
    ]
    return model(
        nodes,
        values(x=(F32, ["rows", "columns"]), like=(F32, ["others", "more"])),
        values(y=(F32, ["others", "more"])),
    )


def rest():
    """What is left beside a size that a call gives."""
    make = helper.make_node
    nodes = [
        make("Shape", ["like"], ["columns"]),
        make("Concat", ["left", "columns"], ["sizes"], axis=0),
        make("Reshape", ["x", "sizes"], ["t"], name="leave"),
        make("Transpose", ["t"], ["u"]),
        make("MatMul", ["u", "t"], ["y"]),
    ]
    return model(
        nodes,
        values(x=(F32, ["m", "n"]), like=(F32, ["columns"])),
        values(y=(F32, ["columns", "columns"])),
        [("left", np.array([-1]))],
    )


def no_rest():
    """Any size is left beside one of 0."""
    node = helper.make_node(
        "Reshape", ["x", "sizes"], ["y"], name="leave", allowzero=1
    )
    return model(
        [node],
        values(x=(F32, ["m", "n"])),
        values(y=(F32, ["m", 0])),
        [("sizes", np.array([-1, 0]))],
    )


def linear():
    node = helper.make_node("LinearAttention", ["q", "k", "v"], ["y"], name="recur")
    inputs = values(**{name: (F32, [1, 2, 3, 4]) for name in "qkv"})
    return model([node], inputs, values(y=(F32, None)), opset=27)


def quantized():
    """A cache of i8 with one scale for all."""
    result = group_query()
    node = result.graph.node[0]
    node.input.extend(["", "", "", "k_scale", "v_scale"])
    for name, value in {
        "k_quant_type": "PER_TENSOR",
        "v_quant_type": "PER_TENSOR",
        "kv_cache_bit_width": 8,
    }.items():
        node.attribute.append(helper.make_attribute(name, value))
    for value in result.graph.input:
        if value.name.startswith("past"):
            value.type.tensor_type.elem_type = TensorProto.INT8
    result.graph.input.extend(values(k_scale=(F32, [1]), v_scale=(F32, [1])))
    return result


def main():
    INPUTS.mkdir(parents=True, exist_ok=True)
    SEEDS.mkdir(parents=True, exist_ok=True)
    models = {
        "attention": attention(),
        "layer": layer(),
        "group-query": group_query(),
        "flex": flex(),
        "mixing": mixing(),
        "cycle": cycle(),
        "declared": declared(),
        "external": external("weights.bin"),
        "external-outside": external("../weights.bin"),
        "heads": heads(Q=[1, 3, 3, 4]),
        "one-head": heads(
            Q=["batch", "queries", 12],
            K=["batch", "keys", 4],
            V=["batch", "keys", 4],
            q_num_heads=3,
            kv_num_heads=1,
        ),
        "old": heads(opset=22),
        "new": heads(opset=99),
        "attribute": heads(sharpness=1.0),
        "softcap": heads(softcap=-1.0),
        "short": short(),
        "unknown": unknown(),
        "functions": functions(),
        "recursion": recursion(),
        "function-attribute": recursion(speed=1),
        "doubling": doubling(),
        "chain": chain(99),
        "long-names": chain(3, name=2000 * "n"),
        "undefined": undefined(nested=False),
        "undefined-nested": undefined(nested=True),
        "captures": captures(),
        "reshapes": reshapes(),
        "regrouped": regrouped(),
        "rest": rest(),
        "no-rest": no_rest(),
        "linear": linear(),
        "quantized": quantized(),
        "tokens": heads(
            Q=[2, 60, 64], K=[2, 50, 64], V=[2, 50, 32], q_num_heads=4, kv_num_heads=4
        ),
        "tokens-dynamic": heads(
            Q=["batch", "queries", 64],
            K=["batch", "keys", 64],
            V=["batch", "keys", 32],
            q_num_heads=4,
            kv_num_heads=4,
        ),
        "empty": ModelProto(),
    }
    for name, proto in models.items():
        (INPUTS / f"{name}.onnx").write_bytes(proto.SerializeToString())
    for name in ("attention", "flex", "group-query", "layer", "external", "functions", "unknown"):
        (SEEDS / f"{name}.onnx").write_bytes(models[name].SerializeToString())


if __name__ == "__main__":
    main()
