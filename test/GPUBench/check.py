# ===- check.py - Runs a bundle for a GPU where there is nothing else ------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Makes a bundle, and runs it on a driver without a GPU.

    check.py SOURCE BUILD SCRATCH

Its programs run in a root that has the bundle and the driver alone, if this user may
make one, and the report with Python's standard library alone. The driver only writes
down what is launched, so every result is wrong, which has to be found.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

CASES = ["check/D64-S201-f16-causal", "check/D80-S201-f32-softcap-window"]
WRONG = "wrong result: some elements are no numbers"
KERNEL = """func.func @attention(%x: tensor<1x2x70x64xf32>) -> tensor<1x2x70x64xf32> {
  %init = tensor.empty() : tensor<1x2x70x64xf32>
  %output = attn.attention ins(%x, %x, %x : tensor<1x2x70x64xf32>,
      tensor<1x2x70x64xf32>, tensor<1x2x70x64xf32>)
      outs(%init : tensor<1x2x70x64xf32>) mask causal
  return %output : tensor<1x2x70x64xf32>
}
"""


def run(command, expected, **options):
    """The output of a command that ends with the expected code."""
    command = [str(part) for part in command]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, **options
    )
    if result.returncode != expected:
        print(result.stdout, result.stderr, sep="\n")
        sys.exit(f"{' '.join(command)}: ended with {result.returncode}")
    return result


def find_change_of_root():
    """How a command is run in another root; None if this user may not."""
    for command in (["chroot"], ["unshare", "-r", "chroot"]):
        program = shutil.which(command[0], path="/usr/sbin:/usr/bin:/sbin:/bin")
        if program:
            command = [program, *command[1:]]
            test = subprocess.run(
                [*command, "/", "true"], capture_output=True, check=False
            )
            if test.returncode == 0:
                return command
    return None


class Bundle:
    """A root with a bundle and a driver."""

    def __init__(self, source, build, scratch):
        shutil.rmtree(scratch, ignore_errors=True)
        self.root = scratch / "root"
        self.root.mkdir(parents=True)
        self.folder = self.root / "attn-gpu"
        run([source / "scripts/gpu_bundle.sh", "--folder", self.folder, build], 0)
        self.driver = self.root / "driver.so"
        shutil.copy(build / "lib/libAttnMockCUDADriver.so", self.driver)
        self.loader = next((self.folder / "lib").glob("ld-linux-*"))
        self.change_root = find_change_of_root()
        print("In a root of its own" if self.change_root else "With no other root")

    def path(self, path):
        """As the programs of the bundle see it."""
        return Path("/", path.relative_to(self.root)) if self.change_root else path

    def run(self, program, *arguments, expected=0):
        change = [*self.change_root, self.root] if self.change_root else []
        folder = self.path(self.folder)
        loader = [self.path(self.loader), "--library-path", folder / "lib"]
        command = [*change, *loader, folder / "bin" / program, *arguments]
        return run(command, expected, env={})

    def report(self, *arguments, expected):
        script = self.folder / "scripts/gpu_report.py"
        alone = [sys.executable, "-E", "-s", "-S", script]
        driver = f"--driver={self.driver}"
        path = {"PATH": "/usr/bin:/bin"}
        return run([*alone, driver, *arguments], expected, env=path)


def check_programs(bundle):
    driver = f"--driver={bundle.path(bundle.driver)}"
    device = json.loads(bundle.run("attn-gpu-bench", driver, "--device").stdout)
    assert device["name"] == "Mock GPU", device
    assert device["multiprocessors"] == 132, device
    output = bundle.run("attn-gpu-bench", driver, *CASES, expected=1).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    assert lines == [{"case": case, "failed": WRONG} for case in CASES], lines
    error = bundle.run("attn-gpu-bench", driver, "check/none", expected=1).stderr
    assert "expected one that --list prints, got 'check/none'" in error, error
    kernel = bundle.root / "kernel.mlir"
    kernel.write_text(KERNEL, encoding="utf-8")
    arguments = [bundle.path(kernel), "--random", "1", "--check"]
    assert "passed" in bundle.run("attn-run", *arguments).stdout


def check_report(bundle):
    """That it ends in time, goes on with what is missing, and finds what is wrong."""
    results = bundle.root / "results"
    common = [f"--results={results}", f"--page={bundle.root / 'page.md'}"]
    common += ["--only=" + "|".join(f"^{case}$" for case in CASES)]
    late = bundle.report(*common, "--minutes=0", expected=2)
    assert "out of time; call it again to go on" in late.stderr, late.stderr
    wrong = bundle.report(*common, expected=1)
    assert "2 cases failed; see the page" in wrong.stderr, wrong.stderr
    checked = results / "check.jsonl"
    before = checked.read_text(encoding="utf-8")
    page = (bundle.root / "page.md").read_text(encoding="utf-8")
    for text in ("Mock GPU (sm_90a), driver of CUDA 13.0", "2 failed", WRONG):
        assert text in page, page
    # Another driver may be another machine.
    device = results / "device.jsonl"
    same = device.read_text(encoding="utf-8")
    device.write_text(same.replace("CUDA 13.0", "CUDA 12.9"), encoding="utf-8")
    other = bundle.report(*common, expected=1).stderr
    message = "expected results with the driver 'CUDA 13.0', got those with 'CUDA 12.9'"
    assert message in other, other
    device.write_text(same, encoding="utf-8")
    # A case that the machine did not get to is all that is done again.
    first = before.splitlines()[0]
    checked.write_text(first + '\n{"case": "che', encoding="utf-8")
    again = bundle.report(*common, expected=1).stderr
    assert CASES[1] in again and CASES[0] not in again, again
    missing = bundle.report(f"--driver={bundle.root}/none.so", expected=1).stderr
    assert missing.startswith("gpu_report.py: no GPU: "), missing


def main():
    source, build, scratch = (Path(path).resolve() for path in sys.argv[1:])
    bundle = Bundle(source, build, scratch)
    check_programs(bundle)
    check_report(bundle)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    os.umask(0o022)
    main()
