#!/usr/bin/env bash
# A submission is made of its base, its own files and its patch; one whose patch no longer fits, fits in several places, or
# has no file to fit, fails and is named.
# usage: make_whole_test.sh MAKE_WHOLE
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place"/{base,own}
seq 1 20 >"$place/base/a.cu"
echo base >"$place/base/b.cpp"
echo own >"$place/own/b.cpp"
sed 's/^7$/seven/' "$place/base/a.cu" | diff -U1 "$place/base/a.cu" - >"$place/own/a.cu.patch" || true
make() { "$1" "$place/base" "$place/own" "$place/whole"; }
echo "story" >"$place/own/expected.toml"
make "$1"
[[ $(cat "$place/whole/b.cpp") == own && $(diff "$place/base/a.cu" "$place/whole/a.cu" | tail -n 1) == '> seven' && ! -e $place/whole/expected.toml ]]
sed -i '1i 0' "$place/base/a.cu"  # lines may move,
make "$1"
sed -i 's/^8$/eight/' "$place/base/a.cu"  # but the lines around the mistake must be the same
if said=$(make "$1" 2>&1); then echo "a patch was applied that does not fit"; exit 1; fi
grep -q "error: $place/own/a.cu.patch no longer fits" <<<"$said"
[[ ! -e $place/whole/made ]]
printf '%s\n' 6 7 8 x 6 7 8 >"$place/base/a.cu"  # in several places, and in neither where it says
if said=$(make "$1" 2>&1); then echo "a patch was applied to one of two places"; exit 1; fi
grep -q "error: $place/own/a.cu.patch fits in several places" <<<"$said"
mv "$place/own/a.cu.patch" "$place/own/c.cu.patch"
if said=$(make "$1" 2>&1); then echo "a patch was applied to nothing"; exit 1; fi
grep -q "error: $place/own/c.cu.patch is for none of the files in $place/base" <<<"$said"
