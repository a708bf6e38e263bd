#!/usr/bin/env bash
#===- test.sh - Builds Attn and runs all tests -------------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: test.sh [--all]
# In this order: the tests of kernels, of packages and of the documentation in the
# optimised build; FileCheck and unit tests, bounded fuzz runs and random attention
# with AddressSanitizer and UndefinedBehaviorSanitizer; and the tests that use
# threads with ThreadSanitizer, which watches the runtime. Lists the tests that it
# leaves out. --all leaves out none, runs those with sanitizers in the optimised
# build, too, makes random tests eight times as long, and runs all cases of products
# of choices, of which others cover each choice or each two.
#
#===------------------------------------------------------------------------===#

set -euo pipefail

case ${1-} in
"") select=(--label-exclude 'nightly|sanitized') ;;
--all)
  select=()
  export ATTN_ALL_CASES=1
  ;;
*)
  echo "test.sh: expected no argument or --all, got '$1'" >&2
  exit 1
  ;;
esac

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
scripts/install-deps.sh
scripts/fetch-model.sh >/dev/null ||
  echo "test.sh: no weights of SmolLM2: only one layer's attention is compared, no tokens"

left_out=()
# Builds a preset's tests, and runs them.
test_preset() {
  local preset=$1 name
  shift
  scripts/build.sh "$preset" "$@"
  ctest --preset "$preset" --parallel "$(nproc)" "${select[@]}"
  [[ ${#select[@]} -gt 0 ]] || return 0
  while read -r name; do
    left_out+=("$preset: $name")
  done < <(ctest --preset "$preset" -N --label-regex nightly | sed -n 's/^ *Test *#[0-9]*: //p')
}

if [[ ${#select[@]} -gt 0 ]]; then
  test_preset release attn-gate-tests
  test_preset asan-ubsan attn-gate-tests
  test_preset tsan attn-gate-tests
  printf 'Left out, without --all (and seven eighths of the cases of random tests, and\n'
  printf 'of products of choices what meets each choice, or each two, once more):\n'
  printf '  %s\n' "${left_out[@]}"
else
  # Everything of the optimised build: tools, examples and benchmarks, too.
  test_preset release
  test_preset asan-ubsan
  test_preset tsan
fi
echo "Tested in $SECONDS s"
