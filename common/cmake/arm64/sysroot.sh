#!/usr/bin/env bash
# sysroot.sh FOLDER: makes a folder with all that a program for 64-bit Arm needs, from Debian's packages, and
# FOLDER/g++, which compiles for it. Takes seconds; does nothing if the folder is complete.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
folder=$(realpath -m "$1")
# The packages of ./course setup, without its programs.
mapfile -t packages < <("$here/../../../course" setup --help | grep -oE '[a-z0-9.+-]+-dev\b' | sort -u)
"$here/../packages_root.sh" "$folder" arm64 libc6-dev libstdc++-12-dev "${packages[@]}"
printf '#!/bin/sh\nexec aarch64-linux-gnu-g++-12 "--sysroot=%s" "$@"\n' "$folder/root" >"$folder/g++"
chmod +x "$folder/g++"
