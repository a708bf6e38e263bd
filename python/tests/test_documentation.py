# ===- test_documentation.py - The examples of docs/python.md ---------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The examples run one after the other, as a reader would type them in. Those that
need PyTorch are left to where it is."""

import importlib.util
import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    has_torch = importlib.util.find_spec("torch") is not None
    names = {}
    run = 0
    for example in examples:
        if has_torch or "torch" not in example:
            exec(compile(example, str(PAGE), "exec"), names)
            run += 1
    assert run >= 5
