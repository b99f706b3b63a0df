#!/usr/bin/env bash
# The container image, end to end: built by buildah from Debian's packages alone, on a base made by debootstrap; started
# by podman, without network, with and without a fresh clone on /course. Lab 03's skeleton must get its verdicts, only
# its files may be compiled, and the first verdict must come within a minute on an idle machine. Prints seconds and
# sizes. Needs root here, for the base. Takes minutes. Exit code 77: impossible here; prints what is missing. usage:
# container_test.sh SOURCE BUILD
set -euo pipefail
source=$1 bare=$2/bare place=$2/container
skip() { echo "SKIPPED: $*"; exit 77; }
((EUID == 0)) || skip "only root can make a bare system in a folder"
for tool in apt-get debootstrap buildah podman git; do
  command -v $tool >/dev/null || skip "$tool is missing: apt-get install debootstrap buildah podman crun git"
done
store=(--root "$place/storage" --runroot "$place/run" --storage-driver)
if podman "${store[@]}" overlay info >/dev/null 2>&1; then store+=(overlay); else store+=(vfs); fi
clean() {
  podman "${store[@]}" rm -af >/dev/null 2>&1 || true
  podman "${store[@]}" rmi -af >/dev/null 2>&1 || true
  rm -rf "$place" 2>/dev/null || true
}
trap clean EXIT
clean
mkdir -p "$place"

# --- the base, as in bundle_test.sh
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if [[ ! -e $bare/complete ]]; then
  rm -rf "$bare"
  debootstrap --variant=minbase "$release" "$bare" >"$bare.log" 2>&1 || skip "debootstrap has no packages of $release: $(tail -n 1 "$bare.log")"
  touch "$bare/complete"
fi
tar -C "$bare" -c --one-file-system --exclude=./home --exclude='./var/cache/apt/archives/*.deb' --exclude=./complete . |
  podman "${store[@]}" import - localhost/bare >/dev/null 2>"$place/log" || { cat "$place/log"; exit 1; }

# --- the image, from the committed files and those that git would add
mkdir "$place/context"
(cd "$source" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp -P --parents -t "$place/context" 2>/dev/null) || true
begun=$SECONDS
buildah "${store[@]}" build --isolation chroot --pull-never -f "$place/context/.devcontainer/Dockerfile" --build-arg BASE=localhost/bare \
  --build-arg LABS=03 -t localhost/roofline-labs "$place/context" >"$place/built.log" 2>&1 || { tail -n 60 "$place/built.log"; exit 1; }
size() { podman "${store[@]}" image inspect --format '{{.Size}}' "$1"; }
echo "built in $((SECONDS - begun)) s; MB: $(($(size localhost/roofline-labs) / 1000000)), of them the base $(($(size localhost/bare) / 1000000))"
(($(size localhost/roofline-labs) < 1200000000)) || { echo "the image has grown beyond 1.2 GB"; exit 1; }

# --- grading, as a user of podman would, if this machine allows it
# container COMMAND [OPTION...]
container() {
  local command=$1
  shift
  local run=(podman "${store[@]}" run --rm --network none)
  if [[ -z ${simple:-} ]]; then
    # For a machine without some cgroups, or where root cannot raise limits, such as a CI sandbox.
    run+=(--cgroups=disabled --ulimit nofile=1024:1024 --ulimit nproc=4096:4096)
  fi
  unshare -m bash -c 'mount --make-rprivate / && { [[ $0 ]] || ! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified; } && exec "$@"' \
    "${simple:-}" "${run[@]}" "$@" localhost/roofline-labs bash -c "$command"
}
simple=yes
container true >"$place/log" 2>&1 || { simple=""; container true >"$place/log" 2>&1; } || skip "podman starts no container here: $(tail -n 1 "$place/log")"
git -c advice.detachedHead=false clone -q "$source" "$place/clone"
rm -rf "$place/clone/solutions" "$place/clone/slides"
cp -r "$place/context/." "$place/clone"  # with uncommitted files
# The table of verdicts is printed at once, when all are known. Only the student's files may be compiled.
for how in "a clone on /course" "the image's copy"; do
  mount=()
  [[ $how == the* ]] || mount=(-v "$place/clone:/course")
  begun=$SECONDS load=$(cut -d ' ' -f 1 /proc/loadavg)
  container 'touch /tmp/start; ./course lab 03 || echo "ended with $?"; find build -name "*.o" -newer /tmp/start | sed "s/^/compiled: /"' \
    "${mount[@]}" >"$place/graded.log" 2>&1 || { cat "$place/graded.log"; exit 1; }
  seconds=$((SECONDS - begun))
  echo "$how: verdicts after $seconds s, at a load of $load on $(nproc) cores"
  grep -q 'WRONG\|NOT WRITTEN\|TOO SLOW' "$place/graded.log" && grep -q '^ended with 1' "$place/graded.log" || { cat "$place/graded.log"; echo "no verdicts"; exit 1; }
  ! grep '^compiled: ' "$place/graded.log" | grep -v build/official/objects || { echo "the image's build was not taken"; exit 1; }
  awk -v s=$seconds -v load="$load" -v cores="$(nproc)" 'BEGIN { exit !(s < 60 * (1 + load / cores)) }' || { echo "that is over a minute of an idle machine"; exit 1; }
done
