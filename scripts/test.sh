#!/usr/bin/env bash
#===- test.sh - Builds Attn and runs all tests -------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# In this order: all tests of the optimised build, all tests and bounded fuzz
# runs with AddressSanitizer and UndefinedBehaviorSanitizer, and the tests that
# use threads with ThreadSanitizer.
#
#===------------------------------------------------------------------------===#

set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
scripts/install-deps.sh
scripts/fetch-model.sh >/dev/null ||
  echo "test.sh: no weights of SmolLM2: only one layer's attention is compared, no tokens"

test_preset() {
  local preset=$1
  shift
  ctest --preset "$preset" --parallel "$(nproc)" "$@"
}

scripts/build.sh release
test_preset release

scripts/build.sh asan-ubsan
test_preset asan-ubsan

scripts/build.sh tsan attn-thread-tests
test_preset tsan --label-regex threads
