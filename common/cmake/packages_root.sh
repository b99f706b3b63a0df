#!/usr/bin/env bash
# packages_root.sh FOLDER ARCHITECTURE PACKAGE...: unpacks packages of this machine's Debian or Ubuntu, with their
# dependencies, in FOLDER/root. Changes nothing on this machine and does not need root. Does nothing if the folder is
# complete.
set -euo pipefail
folder=$(realpath -m "$1") architecture=$2
shift 2
root=$folder/root
[[ -e $folder/complete ]] && exit 0
rm -rf "$folder"
mkdir -p "$folder"/apt/lists/partial "$folder"/apt/archives/partial "$root"
: >"$folder/apt/status"
apt=(apt-get -qq -o "Dir::State=$folder/apt" -o "Dir::State::lists=$folder/apt/lists" -o "Dir::State::status=$folder/apt/status"
  -o "Dir::Cache=$folder/apt" -o "Dir::Cache::archives=$folder/apt/archives" -o "APT::Architecture=$architecture"
  -o "APT::Architectures::=$architecture" -o APT::Sandbox::User=root)
if [[ -t 2 ]]; then  # shows the progress of a download of hundreds of megabytes
  "${apt[@]/-qq/-q}" update >&2
  "${apt[@]/-qq/-q}" install -y --no-install-recommends --download-only "$@" >&2
else
  "${apt[@]}" update
  "${apt[@]}" install -y --no-install-recommends --download-only "$@" >/dev/null
fi
for package in "$folder"/apt/archives/*.deb; do
  [[ ! -t 2 ]] || printf '\r\033[Kunpacking %.60s' "$(basename "$package")" >&2
  dpkg -x "$package" "$root"
done
[[ ! -t 2 ]] || printf '\r\033[K' >&2
rm -rf "$folder/apt"
# Make links point into the folder, not to this machine's files.
while IFS=$'\t' read -r link target; do
  ln -sfnr "$root$target" "$link"
done < <(find "$root" -type l -lname '/*' -printf '%p\t%l\n')
touch "$folder/complete"
