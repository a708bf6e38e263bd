#!/usr/bin/env bash
#===- install-deps.sh - Installs the Debian packages that Attn needs --------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# For Debian 12 with its security updates, as root or with sudo. Asks nothing,
# and touches nothing when all packages are there.
#
#===------------------------------------------------------------------------===#

set -euo pipefail

packages=(
  # The compiler and what it builds with.
  clang-22
  lld-22
  cmake
  ninja-build
  # MLIR, its tools, FileCheck and lit.
  libmlir-22-dev
  llvm-22-dev
  llvm-22-tools
  mlir-22-tools
  # Threads for generated code.
  libtbb-dev
  # Unicode, for the tokeniser of examples/smollm2.
  libutf8proc-dev
  # ONNX models.
  libonnx-dev
  libprotobuf-dev
  # Tests, benchmarks, sanitizers, fuzzers and checks.
  clang-format-22
  clang-tidy-22
  libclang-rt-22-dev
  libbenchmark-dev
  libgmock-dev
  libgtest-dev
  python3
  # Both MPIs, for tests of several ranks: nothing is built with them.
  mpich
  openmpi-bin
  # Tests with packages of PyPI, and the wheel.
  python3-dev
  python3-venv
  # Bundles for machines with GPUs.
  xz-utils
)

fail() {
  echo "install-deps.sh: $*" >&2
  exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  fail "this is no Debian; Attn needs what these Debian packages hold: ${packages[*]}"
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
  [[ $status == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

sudo=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null ||
    fail "run this as root, or install sudo; missing packages: ${missing[*]}"
  sudo=(sudo)
fi

echo "Installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "$@" </dev/null >"$log" 2>&1 || {
    cat "$log" >&2
    fail "'$*' failed (Debian 12 with its security updates has these packages)"
  }
}
run apt-get update
run apt-get install --yes --no-install-recommends "${missing[@]}"
