#!/usr/bin/env bash
# make_whole.sh builds a submission from its base and its patch. It must fail and name the patch if the patch no longer fits,
# fits in several places, or has no file to apply to.
# usage: make_whole_test.sh MAKE_WHOLE
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/base"
seq 1 20 >"$place/base/a.cu"
echo base >"$place/base/b.cpp"
{
  printf '%s\n' 'story = "--- 7"' '[items]'
  sed 's/^7$/seven/' "$place/base/a.cu" | diff -U1 --label a.cu --label a.cu "$place/base/a.cu" - || true
  printf '%s\n' '--- /dev/null' '+++ b.cpp' '@@ -0,0 +1,2 @@' '+own' '++two'
} >"$place/own.patch"
make() { "$1" "$place/base" "$place/own.patch" "$place/whole"; }
make "$1"
[[ $(cat "$place/whole/b.cpp") == $'own\n+two' && $(diff "$place/base/a.cu" "$place/whole/a.cu" | tail -n 1) == '> seven' ]]
[[ $(ls "$place/whole") == $'a.cu\nb.cpp\nmade' ]]
sed -i '1i 0' "$place/base/a.cu"  # line numbers may shift,
make "$1"
sed -i 's/^8$/eight/' "$place/base/a.cu"  # but the lines around the change must be the same
if said=$(make "$1" 2>&1); then echo "a patch was applied that does not fit"; exit 1; fi
grep -q "error: $place/own.patch no longer fits $place/base/a.cu" <<<"$said"
[[ ! -e $place/whole/made ]]
printf '%s\n' 6 7 8 x 6 7 8 >"$place/base/a.cu"  # fits in two places, neither at its line number
if said=$(make "$1" 2>&1); then echo "a patch was applied to one of two places"; exit 1; fi
grep -q "error: $place/own.patch fits in several places" <<<"$said"
mv "$place/base/a.cu" "$place/base/c.cu"
if said=$(make "$1" 2>&1); then echo "a patch was applied to nothing"; exit 1; fi
grep -q "error: $place/own.patch changes a.cu, which $place/base does not have" <<<"$said"
