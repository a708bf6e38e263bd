# ===- test_documentation.py - The examples of docs/onnxruntime.md ----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The examples run beside a model and the library, as a reader would type them in:
that in C++ where ONNX Runtime's headers are, which PyPI does not have."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import onnxruntime
from onnx import helper

PAGE = Path(__file__).resolve().parents[2] / "docs" / "onnxruntime.md"


# What stands around the statements of the example in C++.
PROGRAM = """
#include <onnxruntime_cxx_api.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

int main() {
%s
  std::vector<float> rows(80, 1);
  std::array<std::int64_t, 4> shape = {1, 2, 5, 8};
  auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  Ort::Value input = Ort::Value::CreateTensor<float>(memory, rows.data(), rows.size(),
                                                     shape.data(), shape.size());
  const char *inputs[] = {"rows"}, *outputs[] = {"output"};
  auto results = session.Run(Ort::RunOptions(), inputs, &input, 1, outputs, 1);
  std::printf("%%zu %%g", devices.size(), results[0].GetTensorData<float>()[79]);
}
"""
HEADERS = os.environ.get("ATTN_ONNXRUNTIME_INCLUDE")


class Documentation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, "/")
        os.chdir(folder.name)
        Path("libattn-onnxruntime.so").symlink_to(os.environ["ATTN_PROVIDER"])
        Path("model.onnx").write_bytes(model())

    def read_example(self, language):
        (example,) = re.findall(
            rf"^```{language}\n(.*?)^```",
            PAGE.read_text(encoding="utf-8"),
            re.DOTALL | re.MULTILINE,
        )
        return example

    @unittest.skipUnless(HEADERS, "ONNX Runtime's headers are not installed")
    def test_cpp(self):
        Path("example.cpp").write_text(PROGRAM % self.read_example("cpp"))
        folder = Path(onnxruntime.__file__).parent / "capi"
        library = next(folder.glob("libonnxruntime.so.*"))
        subprocess.run(
            [
                os.environ["CXX"],
                "-std=c++20",
                "example.cpp",
                "-oexample",
                "-isystem",
                HEADERS,
                library,
                f"-Wl,-rpath,{folder}",
            ],
            check=True,
        )
        output = subprocess.run("./example", check=True, capture_output=True, text=True)
        self.assertEqual(output.stdout, "1 1")

    def test_python(self):
        names = {}
        exec(compile(self.read_example("python"), str(PAGE), "exec"), names)
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
