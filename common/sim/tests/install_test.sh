#!/usr/bin/env bash
# Once installed, simcc and its programs need neither the source nor the build tree; and the project configures without the course.
# install_test.sh SOURCE BUILD CMAKE [OPTIONS]
set -euo pipefail
source=$1 build=$2 cmake=$3
shift 3
folder=$(mktemp -d)  # outside both trees
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
"$cmake" --install "$build" --component sim --prefix "$prefix" >"$folder/log" || { cat "$folder/log"; exit 1; }

cp "$source/tests/programs/vector_add.cu" "$folder"
cd "$folder"
CXX='' "$prefix/bin/simcc" -v -MD -MF depends vector_add.cu -o vector_add 2>said
SIM_DEVICE=a100 SIM_REPORT=1 SIM_SEE=page.html ./vector_add >account 2>&1 || { cat account; exit 1; }
grep -q 'vector_add.cu:' account && grep -q A100 account && grep -q '<script>' page.html || { cat account; exit 1; }
grep -q "$prefix/lib/sim/include/cuda_runtime.h" depends
strip -o simcc "$prefix/bin/simcc"
strip vector_add
for tree in "$source" "$build"; do
  for file in said depends account simcc vector_add "$prefix/bin/simcc.profile"; do
    if grep -aF "$tree" "$file"; then echo "$file names $tree"; exit 1; fi
  done
done

generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")  # make may be missing
"$cmake" -G "$generator" -S "$source" -B configured "$@" >log 2>&1 || { cat log; exit 1; }
