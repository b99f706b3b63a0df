#!/usr/bin/env bash
# in_time.sh SECONDS COMMAND...: runs a long test. Where $TESTS_END is set (seconds since 1970, as by .ci/run) and the
# test, which may take SECONDS, might end later, it is left out and fails, so that what has run is known and kept.
set -euo pipefail
seconds=$1
shift
if [[ -n ${TESTS_END:-} ]] && (($(date +%s) + seconds > TESTS_END)); then
  echo "LEFT OUT: it may take $seconds s, and the tests must end before that"
  exit 1
fi
exec "$@"
