#!/bin/sh
# Makes a whole submission from its base's files and its patch, which must match exactly. After "--- /dev/null", the
# patch holds a whole file.
# usage: make_whole.sh BASE PATCH WHOLE
set -eu

# A patch may apply at line numbers other than those it states, but not if its lines occur more than once in the file.
is_clear() {  # PATCH FILE
  awk -v file="$2" '
    function clear(i, k, n) {
      for (i = 1; i <= lines; ++i) {
        for (k = 1; k <= old && text[i + k - 1] == want[k]; ++k) continue
        if (k > old) { ++n; if (i == at) return 1 }
      }
      return n <= 1
    }
    BEGIN { while ((getline line < file) > 0) text[++lines] = line }
    function ended() { if (old > 0 && !clear()) bad = 1; old = 0 }
    /^@@/ { ended(); split($2, start, "[-,]"); at = start[2]; next }
    /^[ -]/ && at { want[++old] = substr($0, 2) }
    END { ended(); exit bad }' "$1"
}

base=$1 own=$2 whole=$3
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
rm -rf "$whole"
mkdir -p "$whole"
cp "$base"/* "$whole"
rm -f "$whole/made"
awk -v parts="$parts" '
  /^--- / { is_whole = $2 == "/dev/null"; getline; to = parts "/" $2 (is_whole ? "" : ".patch"); next }
  !to || (is_whole && !/^\+/) { next }
  { print is_whole ? substr($0, 2) : $0 > to }' "$own"
for part in "$parts"/*; do
  name=$(basename "$part" .patch)
  [ -e "$whole/$name" ] || {
    echo "error: $own changes $name, which $base does not have"
    exit 1
  }
  case $part in
    *.patch)
      is_clear "$part" "$whole/$name" || {
        echo "error: $own fits in several places of $base/$name: give it more lines around the change"
        exit 1
      }
      patch --quiet --force --fuzz=0 --no-backup-if-mismatch --reject-file=- "$whole/$name" "$part" || {
        echo "error: $own no longer fits $base/$name"
        exit 1
      } ;;
    *) cp "$part" "$whole" ;;
  esac
done
touch "$whole/made"
