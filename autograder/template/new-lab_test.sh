#!/usr/bin/env bash
# new-lab puts the lab's own names everywhere, touches nothing but the lab's folders, and refuses harmful arguments.
# usage: new-lab_test.sh NEW-LAB
set -euo pipefail
new_lab=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$new_lab" 42 low_precision "$place" >/dev/null
[[ -f $place/labs/42_low_precision/low_precision.hpp && -f $place/solutions/42_low_precision/wrong/scalar.patch ]]
! grep -rnE 'lab00|00_topic|topic\.hpp|[Ll]ab 00' "$place"
grep -q '"42_low_precision"' "$place/labs/42_low_precision/judge/rubric.toml"
# In a checkout, through ./course: checks what git reports as changed.
source=$(cd "$(dirname "$new_lab")/../.." && pwd) checkout=$place/checkout
mkdir -p "$checkout"/{autograder,labs,solutions}
(cd "$source" && cp --parents course common/course/progress.sh "$checkout")
cp -r "$source/autograder/template" "$checkout/autograder"
cp "$source"/labs/*.* "$checkout/labs"
touch "$checkout/solutions/README.md"
git -C "$checkout" init -q && git -C "$checkout" add . && git -C "$checkout" -c user.name=test -c user.email=test@localhost commit -qm start
"$checkout/course" new-lab 42 low_precision >/dev/null
changed=$(git -C "$checkout" status --porcelain)
[[ $changed == '?? labs/42_low_precision/'$'\n''?? solutions/42_low_precision/' ]] || { echo "$changed"; exit 1; }
refuses() {
  local said
  if said=$("$new_lab" "$@" 2>&1); then echo "accepted: $*"; exit 1; fi
  echo "$said"
}
refuses 42 other "$place" | grep -q 'already'
refuses 7 topic "$place" | grep -q 'two digits'
refuses 43 'Low Precision' "$place" | grep -q 'lower-case'
refuses 43 '../escape' "$place" | grep -q 'lower-case'
refuses 43 | grep -q usage
