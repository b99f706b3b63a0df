#!/bin/sh
# Makes a submission whole: its base's files, replaced by its own or changed by its patches, which must fit to the letter.
# usage: make_whole.sh BASE OWN WHOLE
set -eu
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
      patch --quiet --force --fuzz=0 --no-backup-if-mismatch --reject-file=- "$whole/$name" "$from" || {
        echo "error: $from no longer fits $base/$name"
        exit 1
      } ;;
    *) cp "$from" "$whole" ;;
  esac
done
touch "$whole/made"
