#!/usr/bin/env bash
#===- tidy.sh - Runs clang-tidy over the tree --------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: tidy.sh [REGEX...]
# Checks the files whose path matches (all when none is named) with the checks
# in .clang-tidy. It builds first, because headers are generated.
#
#===------------------------------------------------------------------------===#

set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

scripts/install-deps.sh
# Sources that are compiled together have no commands of their own.
cmake --preset release -DATTN_MERGE_SOURCES=OFF > /dev/null
scripts/build.sh release
run-clang-tidy-22 -quiet -p build/release -j "$(nproc)" \
  -warnings-as-errors='*' "$@"
