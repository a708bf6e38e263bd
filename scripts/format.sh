#!/usr/bin/env bash
#===- format.sh - Formats the C and C++ files with clang-format ------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: format.sh [--check]
# --check changes nothing and fails when a file is not formatted.
#
#===------------------------------------------------------------------------===#

set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

mode=(-i)
if [[ ${1:-} == --check ]]; then
  mode=(--dry-run -Werror --ferror-limit=1)
fi
find dialect examples lib python runtime test tools cmake \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print0 |
  xargs -0 clang-format-22 "${mode[@]}"
