#!/usr/bin/env bash
#===- demo.sh - Builds Attn and runs attention on real data -----------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Compiles examples/smollm2/attention.mlir, runs it on what one attention layer
# of a language model read, and compares the result with what that layer
# returned.
#
#===------------------------------------------------------------------------===#

set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/install-deps.sh"
"$root/scripts/build.sh" release attn-run

example=$root/examples/smollm2
"$root/build/release/bin/attn-run" "$example/attention.mlir" \
  --arg "$example/capture/query.npy" \
  --arg "$example/capture/key.npy" \
  --arg "$example/capture/value.npy" \
  --expect "$example/capture/output.npy"
