#!/usr/bin/env bash
#===- gpu_bundle.sh - Packs what a machine with a GPU needs ------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: gpu_bundle.sh [--folder] OUTPUT [BUILD]
# Makes OUTPUT, an archive such as attn-gpu.tar.xz of at most 64 MiB, of the build in
# BUILD (default: build/release): attn-gpu-bench and attn-run, every library that they
# need, the C library and its loader among them, and scripts/gpu_report.py. Where it is
# unpacked, there has to be a driver, and Python for the report, and nothing else.
# --folder makes OUTPUT a folder with the same, unpacked.
#
#===------------------------------------------------------------------------===#

set -euo pipefail

fail() {
  echo "gpu_bundle.sh: $*" >&2
  exit 1
}

folder=
if [[ ${1-} == --folder ]]; then
  folder=1
  shift
fi
[[ $# -eq 1 || $# -eq 2 ]] || fail "expected OUTPUT and, at most, BUILD, got $# arguments"
[[ $1 != -* ]] || fail "expected --folder, OUTPUT and, at most, BUILD, got $1"
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
output=$1 build=${2-$root/build/release}
programs=(attn-gpu-bench attn-run)
for program in "${programs[@]}"; do
  [[ -x $build/bin/$program ]] || fail "there is no $build/bin/$program; build it first"
done
if [[ $folder ]]; then
  [[ ! -e $output ]] || fail "$output: expected a folder that is not there yet"
  bundle=$output
else
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  bundle=$scratch/attn-gpu
fi
mkdir -p "$bundle"/{bin,lib,scripts/peers}

# The libraries that a program needs, and the loader, by name and path.
list_libraries() {
  LD_LIBRARY_PATH='' ldd "$1" | sed -nE 's/^\s*(\S+ => )?(\/\S+) \(0x.*/\2/p'
}
for program in "${programs[@]}"; do
  cp "$build/bin/$program" "$bundle/bin"
  while read -r library; do
    [[ -e $bundle/lib/${library##*/} ]] || cp -L "$library" "$bundle/lib"
  done < <(list_libraries "$build/bin/$program")
done
# The driver may need those that are parts of the C library by now. Another release of
# them would not go with it.
libc=$(list_libraries "$build/bin/attn-run" | grep '/libc\.so\.6$')
for library in libdl.so.2 libpthread.so.0 librt.so.1; do
  cp -L "$(dirname "$libc")/$library" "$bundle/lib"
done
loader=$(basename "$bundle"/lib/ld-linux-*)
[[ -x $bundle/lib/$loader ]] || fail "there is no loader among the libraries"
# LLVM names a solver and, by way of libxml2, tables of Unicode, and no program of the
# bundle uses them. Libraries of the same names are small: each function traps, and the
# tables are empty.
for library in "$bundle"/lib/lib{icudata,z3}.so.*; do
  [[ -e $library ]] || continue
  code=$(nm -D --defined-only --format=just-symbols "$library" |
    sed -nE -e 's/^Z3_.*/void &(void) { __builtin_trap(); }/p' \
      -e 's/^icudt.*/const char &[16] = {0};/p')
  [[ $code ]] || fail "$library: expected names of functions of Z3 or of tables of ICU"
  clang-22 <<<"$code" -shared -nostdlib -Wl,-soname,"${library##*/}" -x c -o "$library" -
done
strip --strip-unneeded "$bundle"/bin/* "$bundle"/lib/lib*.so*

cat >"$bundle/run" <<EOF
#!/bin/sh
# run PROGRAM ARGUMENTS: runs a program of bin with the libraries of lib alone, and with
# the driver's where the system has them.
here=\$(dirname -- "\$0") program=\$1
shift
exec "\$here/lib/$loader" --library-path "\$here/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" "\$here/bin/\$program" "\$@"
EOF
chmod +x "$bundle/run"
cp "$root"/scripts/{figures,gpu_report}.py "$bundle/scripts"
cp "$root"/scripts/peers/{gpu,report,triton_attention}.py "$bundle/scripts/peers"
cp "$root/LICENSE" "$bundle"
git -C "$root" describe --always --dirty >"$bundle/COMMIT" 2>/dev/null ||
  echo unknown >"$bundle/COMMIT"

# Nothing of the system's is used.
for program in "${programs[@]}"; do
  needed=$("$bundle/lib/$loader" --inhibit-cache --library-path "$bundle/lib" --list \
    "$bundle/bin/$program")
  outside=$(grep -vF -e linux-vdso -e "=> $bundle/lib/" -e "$bundle/lib/$loader" \
    -e "/$loader (" <<<"$needed" || true)
  [[ ! $outside ]] || fail "$program needs what is not in the bundle: $outside"
done
[[ ! $folder ]] || exit 0

tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner -cf - attn-gpu |
  xz --x86 --lzma2=preset=9,dict=64MiB >"$scratch/packed"
bytes=$(stat -c %s "$scratch/packed") most=$((64 << 20))
((bytes <= most)) || fail "it takes $bytes bytes packed, which are more than $most"
mv "$scratch/packed" "$output"
echo "$output: $bytes bytes, $((bytes * 100 / most)) % of what it may take"
