#!/usr/bin/env bash
# ./course bundle, end to end: packed here, unpacked in a bare Debian without a compiler, CMake or libraries, where a user
# without root or network grades lab 03's solution. Needs root here, for the bare Debian. Takes minutes. Exit code 77:
# impossible here; prints what is missing. usage: bundle_test.sh SOURCE BUILD
set -euo pipefail
source=$1 bare=$2/bare
skip() { echo "SKIPPED: $*"; exit 77; }
((EUID == 0)) || skip "only root can make a bare system in a folder"
for tool in apt-get debootstrap unshare; do
  command -v $tool >/dev/null || skip "$tool is missing: apt-get install debootstrap util-linux"
done
unshare -n -m -p true 2>/dev/null || skip "this machine does not allow a namespace without network"

(cd "$source" && ./course bundle 03 --solutions --output "$bare.tar.gz")
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [[ ! -e $bare/complete ]]; then
  rm -rf "$bare"
  debootstrap --variant=minbase "$release" "$bare" >"$bare.log" 2>&1 || skip "debootstrap has no packages of $release: $(tail -n 1 "$bare.log")"
  touch "$bare/complete"
fi
home="$bare/home/ann/courses"
rm -rf "$bare/home/ann"
mkdir -p "$home"
tar -xzf "$bare.tar.gz" -C "$home"
chown -R 12345:12345 "$bare/home/ann"
status=0
unshare -n -m -p -f bash -c '
  mount --make-rprivate / && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp" && chmod 1777 "$0/tmp"
  exec chroot --userspec=12345:12345 "$0" env -i HOME=/home/ann PATH=/usr/bin:/bin bash -c "$1"
' "$bare" '
  ! command -v g++ cmake ninja || exit 9  # otherwise this test proves nothing
  cd "/home/ann/courses/roofline-labs"
  ./course doctor
  time ./course lab 03 --submission solution' >"$bare.log" 2>&1 || status=$?
cat "$bare.log"
# Exit code 1: a busy machine may leave timed items open.
((status <= 1)) || { echo "ended with $status"; exit 1; }
grep -qE 'transpose_tiled is coalesced on both sides +PASS' "$bare.log"
