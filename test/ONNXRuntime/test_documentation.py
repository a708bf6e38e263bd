# ===- test_documentation.py - The example of docs/onnxruntime.md -----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The example in Python runs beside a model and the library, as a reader would type
it in."""

import os
import re
import tempfile
import unittest
from pathlib import Path

from onnx import helper

PAGE = Path(__file__).resolve().parents[2] / "docs" / "onnxruntime.md"


class Documentation(unittest.TestCase):
    def test_python(self):
        library = os.environ["ATTN_PROVIDER"]
        text = PAGE.read_text(encoding="utf-8")
        (example,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            Path("libattn-onnxruntime.so").symlink_to(library)
            Path("model.onnx").write_bytes(model())
            names = {}
            exec(compile(example, str(PAGE), "exec"), names)
            os.chdir("/")
        self.assertEqual(len(names["devices"]), 1)
        self.assertIn("AttnExecutionProvider", names["session"].get_providers())


def model():
    """Attention of one input to itself."""
    rows = helper.make_tensor_value_info("rows", 1, [1, 2, 5, 8])
    output = helper.make_tensor_value_info("output", 1, [1, 2, 5, 8])
    node = helper.make_node("Attention", ["rows", "rows", "rows"], ["output"])
    graph = helper.make_graph([node], "test", [rows], [output])
    opset = [helper.make_opsetid("", 24)]
    return helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()


if __name__ == "__main__":
    unittest.main()
