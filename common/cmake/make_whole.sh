#!/bin/sh
# Makes a submission whole: of each file its own or its base's, with its patch, which must fit to the letter.
# usage: make_whole.sh BASE OWN WHOLE FILE...
set -eu
base=$1 own=$2 whole=$3
shift 3
rm -rf "$whole"
mkdir -p "$whole"
for file; do
  [ -e "$own/$file" ] && cp "$own/$file" "$whole" || cp "$base/$file" "$whole"
  [ ! -e "$own/$file.patch" ] ||
    patch --quiet --force --fuzz=0 --no-backup-if-mismatch --reject-file=- "$whole/$file" "$own/$file.patch" || {
      echo "error: $own/$file.patch no longer fits $base/$file"
      exit 1
    }
done
touch "$whole/made"
