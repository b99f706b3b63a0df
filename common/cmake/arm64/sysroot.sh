#!/usr/bin/env bash
# sysroot.sh FOLDER: makes a folder with all that a program for 64-bit Arm needs, from Debian's packages, and
# FOLDER/g++, which compiles for it. Takes seconds; does nothing if the folder is complete.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
folder=$(realpath -m "$1")
# The packages of ./course setup, without its programs.
mapfile -t packages < <(grep -oE '[a-z0-9.+-]+-dev\b' "$here/../../../course" | sort -u)
"$here/../packages_root.sh" "$folder" arm64 libc6-dev libstdc++-12-dev "${packages[@]}"
# The compiler's own package has headers of a different C library, which the compiler would find first.
root=$folder/root headers=$folder/root/usr/include
own=$(dirname "$(aarch64-linux-gnu-g++-12 -print-libgcc-file-name)")/include
cat >"$folder/g++" <<END
#!/bin/sh
exec aarch64-linux-gnu-g++-12 "--sysroot=$root" -nostdinc -nostdinc++ "\$@" \\
  -isystem "$headers/c++/12" -isystem "$headers/aarch64-linux-gnu/c++/12" -isystem "$headers/c++/12/backward" \\
  -isystem "$own" -isystem "$headers/aarch64-linux-gnu" -isystem "$headers"
END
chmod +x "$folder/g++"
