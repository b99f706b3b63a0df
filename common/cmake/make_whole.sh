#!/bin/sh
# Makes a submission whole: its base's files, replaced by its own or changed by its patches, which must fit to the letter.
# usage: make_whole.sh BASE OWN WHOLE
set -eu

# A patch may fit further up or down than it says; not if its lines stand in more than one place of the file.
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
rm -rf "$whole"
mkdir -p "$whole"
cp "$base"/* "$whole"
rm -f "$whole/made"
for from in "$own"/*; do
  name=$(basename "$from" .patch)
  [ "$name" != expected.toml ] || continue
  [ -e "$whole/$name" ] || {
    echo "error: $from is for none of the files in $base"
    exit 1
  }
  case $from in
    *.patch)
      is_clear "$from" "$whole/$name" || {
        echo "error: $from fits in several places of $base/$name: give it more lines around the change"
        exit 1
      }
      patch --quiet --force --fuzz=0 --no-backup-if-mismatch --reject-file=- "$whole/$name" "$from" || {
        echo "error: $from no longer fits $base/$name"
        exit 1
      } ;;
    *) cp "$from" "$whole" ;;
  esac
done
touch "$whole/made"
