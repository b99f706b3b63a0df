#!/usr/bin/env bash
# sysroot.sh FOLDER: what a program for 64-bit Arm needs, from Debian's packages, in a folder of its own. Nothing on this
# machine changes. Also writes FOLDER/g++, which compiles for it. Takes seconds; does nothing if the folder is complete.
set -euo pipefail
folder=$(realpath -m "$1")
root=$folder/root
[[ -e $folder/complete ]] && exit 0
rm -rf "$folder"
mkdir -p "$folder"/apt/lists/partial "$folder"/apt/archives/partial "$root"
: >"$folder/apt/status"
apt=(apt-get -qq -o "Dir::State=$folder/apt" -o "Dir::State::lists=$folder/apt/lists" -o "Dir::State::status=$folder/apt/status"
  -o "Dir::Cache=$folder/apt" -o "Dir::Cache::archives=$folder/apt/archives" -o APT::Architecture=arm64
  -o APT::Architectures::=arm64 -o APT::Sandbox::User=root)
"${apt[@]}" update
# Those of ./course setup, without its programs.
mapfile -t packages < <("$(dirname "$0")/../../../course" setup --help | grep -oE '[a-z0-9.+-]+-dev\b' | sort -u)
"${apt[@]}" install -y --no-install-recommends --download-only libc6-dev libstdc++-12-dev "${packages[@]}" >/dev/null
for package in "$folder"/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
rm -rf "$folder/apt"
printf '#!/bin/sh\nexec aarch64-linux-gnu-g++-12 "--sysroot=%s" "$@"\n' "$root" >"$folder/g++"
chmod +x "$folder/g++"
touch "$folder/complete"
