#!/usr/bin/env bash
#===- build.sh - Configures and builds a preset ------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: build.sh PRESET [TARGET...]
# Builds the targets (all when none is named) in build/PRESET. The compiler's
# output is shown when something fails. ATTN_BUILD_ONCE=1 is fastest where nothing
# was built before and nothing changes afterwards: without ccache, several files at
# a time, and without lines in what sanitizers report.
#
#===------------------------------------------------------------------------===#

set -euo pipefail

preset=${1:?usage: build.sh PRESET [TARGET...]}
shift
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {
  "$@" </dev/null >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
}

# Lets ccache share results among clones.
export CCACHE_BASEDIR=$PWD

echo "Building ${*:-everything} in build/$preset"
SECONDS=0
once=(-DATTN_CCACHE=OFF -DATTN_MERGE_SOURCES=ON -DATTN_LINE_NUMBERS=OFF)
[[ -n ${ATTN_BUILD_ONCE-} ]] || once=()
run cmake --preset "$preset" "${once[@]}"
run cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"}
echo "Built in $SECONDS s"
